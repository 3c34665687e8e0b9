//! Tables in CSV (RFC 4180), with the line and the column of whatever is wrong in them.
//!
//! Titles stand in the first line. Lines that begin with `#` say where figures are from and are passed over.

use std::fmt;

use crate::unit::Cpu;
use crate::words::comma;

/// A table: its titles, and at least one row below them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rows {
    titles: Vec<String>,
    rows: Vec<Row>,
}

/// A row of a table: the text of each column by its title, without the space around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    line: u64,
    cells: Vec<(String, String)>,
}

/// What is wrong in a table, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongCell {
    /// Counted from 1, as editors do.
    pub line: u64,
    /// The title of the column; none where it is the whole line.
    pub column: Option<String>,
    /// What is wrong there.
    pub what: String,
}

impl fmt::Display for WrongCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, column, what } = self;
        match column {
            Some(column) => write!(f, "line {line}, column `{column}`: {what}"),
            None => write!(f, "line {line}: {what}"),
        }
    }
}

impl std::error::Error for WrongCell {}

impl Rows {
    /// Reads a table.
    ///
    /// # Errors
    /// A row has more or fewer fields than there are titles, two columns share a title or have none, or there
    /// is no row.
    pub fn read(text: &str) -> Result<Self, WrongCell> {
        let mut text = text.trim_start_matches('\u{feff}').replace("\r\n", "\n");
        // The reader counts a line when it has ended.
        if !text.ends_with('\n') {
            text.push('\n');
        }
        let mut reader = csv::ReaderBuilder::new()
            .comment(Some(b'#'))
            .has_headers(false)
            .flexible(true)
            .terminator(csv::Terminator::Any(b'\n'))
            .from_reader(text.as_bytes());
        let mut records: Vec<(u64, Vec<String>)> = Vec::new();
        let mut record = csv::StringRecord::new();
        loop {
            let line = |reader: &csv::Reader<_>| reader.position().line();
            let wrong = |line, error: csv::Error| WrongCell { line, column: None, what: error.to_string() };
            if !reader.read_record(&mut record).map_err(|error| wrong(line(&reader), error))? {
                break;
            }
            // It stands where the next one begins, less its own lines; comments before it are not its own.
            // Of a quote that is never closed nobody knows where the row ends.
            let own = 1 + record.iter().map(|field| field.matches('\n').count() as u64).sum::<u64>();
            let fields = record.iter().map(|field| field.trim().to_owned()).collect();
            records.push((line(&reader).saturating_sub(own).max(1), fields));
        }
        Self::of(records)
    }

    fn of(records: Vec<(u64, Vec<String>)>) -> Result<Self, WrongCell> {
        let wrong = |line, what| Err(WrongCell { line, column: None, what });
        let mut records = records.into_iter();
        let Some((first, titles)) = records.next() else {
            return wrong(1, "there is no line of titles".to_owned());
        };
        if let Some(place) = titles.iter().position(String::is_empty) {
            return wrong(first, format!("column {} has no title", place + 1));
        }
        let is_double = |(place, title): &(usize, &String)| titles[..*place].contains(title);
        if let Some((_, title)) = titles.iter().enumerate().find(is_double) {
            return wrong(first, format!("two columns have the title `{title}`"));
        }
        let mut rows = Vec::new();
        for (line, fields) in records {
            if fields.len() != titles.len() {
                return wrong(line, format!("{} fields below {} titles", fields.len(), titles.len()));
            }
            rows.push(Row { line, cells: titles.iter().cloned().zip(fields).collect() });
        }
        if rows.is_empty() {
            return wrong(first, "there is no row below the titles".to_owned());
        }
        Ok(Self { titles, rows })
    }

    /// The titles, in their order.
    pub fn titles(&self) -> &[String] {
        &self.titles
    }

    /// Whether each of these is a title.
    pub fn has(&self, titles: &[&str]) -> bool {
        titles.iter().all(|title| self.titles.iter().any(|known| known == title))
    }

    /// The rows, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Row> {
        self.rows.iter()
    }

    /// The row that has these texts in these columns, the first of several.
    pub fn find(&self, wanted: &[(&str, &str)]) -> Option<&Row> {
        self.iter().find(|row| wanted.iter().all(|(column, text)| row.text(column) == *text))
    }
}

impl<'a> IntoIterator for &'a Rows {
    type Item = &'a Row;
    type IntoIter = std::slice::Iter<'a, Row>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl Row {
    /// The text in `column`; empty where there is no such column.
    pub fn text(&self, column: &str) -> &str {
        self.cells.iter().find(|(title, _)| title == column).map_or("", |(_, text)| text)
    }

    /// The number in `column`, if there is one.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok().filter(|number: &f64| number.is_finite())
    }

    /// The number above 0 in `column`: a time, a size, a count.
    ///
    /// # Errors
    /// There is none.
    pub fn positive(&self, column: &str) -> Result<f64, WrongCell> {
        match self.number(column) {
            Some(number) if number > 0.0 => Ok(number),
            _ => Err(self.wrong(column, format!("{} is not a number above 0", quoted(self.text(column))))),
        }
    }

    /// The whole number in `column`: bytes, threads, which repetition.
    ///
    /// # Errors
    /// There is none.
    pub fn whole(&self, column: &str) -> Result<u64, WrongCell> {
        let text = self.text(column);
        text.parse().map_err(|_| self.wrong(column, format!("{} is no whole number", quoted(text))))
    }

    /// The CPU whose number is in `column`. No machine has more than 4096, and a map of as many is as much as
    /// can be read.
    ///
    /// # Errors
    /// There is none.
    pub fn cpu(&self, column: &str) -> Result<Cpu, WrongCell> {
        let number = self.whole(column)?;
        let cpu = u32::try_from(number).ok().filter(|number| *number < 4096).map(Cpu);
        cpu.ok_or_else(|| self.wrong(column, format!("there is no CPU {number}: the last is 4095 at most")))
    }

    /// The text in `column`, which must be one of these.
    ///
    /// # Errors
    /// It is another one.
    pub fn one_of(&self, column: &str, known: &[&str]) -> Result<&str, WrongCell> {
        let text = self.text(column);
        let wrong = || self.wrong(column, format!("{} is none of: {}", quoted(text), comma(known)));
        known.contains(&text).then_some(text).ok_or_else(wrong)
    }

    /// What is wrong in `column` of this row.
    pub fn wrong(&self, column: &str, what: String) -> WrongCell {
        WrongCell { line: self.line, column: Some(column.into()), what }
    }
}

fn quoted(text: &str) -> String {
    if text.is_empty() { "nothing".into() } else { format!("`{text}`") }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn wrong(text: &str) -> String {
        Rows::read(text).unwrap_err().to_string()
    }

    #[test]
    fn quotes_hold_commas_and_empty_cells_are_no_numbers() {
        let rows = Rows::read("# source\nname, cpus,seconds\r\nA,\"0,4\", 0.5\r\nB,,\n").unwrap();
        let [a, b] = [0, 1].map(|place| rows.iter().nth(place).unwrap());
        assert_eq!((a.text("cpus"), a.number("seconds")), ("0,4", Some(0.5)));
        assert_eq!((b.text("cpus"), b.number("seconds")), ("", None));
        let wrong = b.positive("seconds").unwrap_err().to_string();
        assert_eq!(wrong, "line 4, column `seconds`: nothing is not a number above 0");
        assert!(rows.has(&["cpus", "name"]) && !rows.has(&["core"]));
        assert_eq!(rows.find(&[("name", "B")]), Some(b));
    }

    #[test]
    fn what_is_no_table_is_named_with_its_line() {
        assert_eq!(wrong(""), "line 1: there is no line of titles");
        assert_eq!(wrong("# only a remark"), "line 1: there is no line of titles");
        assert_eq!(wrong("a,b\n"), "line 1: there is no row below the titles");
        assert_eq!(wrong("#\n\na,b\n1,2\n\n1\n"), "line 6: 1 fields below 2 titles");
        assert_eq!(wrong("a,a\n1,2"), "line 1: two columns have the title `a`");
        assert_eq!(wrong("a,\n1,2"), "line 1: column 2 has no title");
        assert_eq!(wrong("a,b\n\"1\n\n\",2\n3\n"), "line 5: 1 fields below 2 titles");
    }

    #[test]
    fn numbers_that_are_none_are_refused() {
        let rows = Rows::read("ns,core\nnan,-1\ninf,1.5\n-3,x\n0,\n").unwrap();
        for row in &rows {
            assert!(row.positive("ns").is_err() && row.whole("core").is_err(), "{row:?}");
        }
    }

    proptest! {
        /// Whatever stands in fields comes back, and every row knows its line among remarks and blank lines.
        #[test]
        fn fields_and_lines_come_back(
            table in prop::collection::vec((prop::collection::vec("[a-z\",\n]{0,4}", 3), 0..3_usize), 1..8)
        ) {
            let mut text = String::from("# source\nx,y,z\n");
            let mut expected = Vec::new();
            for (fields, remarks) in &table {
                text.push_str(&"# remark\n\n".repeat(*remarks));
                let line = 1 + text.matches('\n').count() as u64;
                let quoted: Vec<String> =
                    fields.iter().map(|field| format!("\"{}\"", field.replace('"', "\"\""))).collect();
                text.push_str(&format!("{}\n", quoted.join(",")));
                expected.push((line, fields.iter().map(|field| field.trim().to_owned()).collect::<Vec<_>>()));
            }
            let rows = Rows::read(&text).unwrap();
            let read: Vec<(u64, Vec<String>)> = rows
                .iter()
                .map(|row| (row.line, ["x", "y", "z"].map(|title| row.text(title).to_owned()).to_vec()))
                .collect();
            prop_assert_eq!(read, expected);
        }

        /// No text makes it fail otherwise than by naming a line that there is.
        #[test]
        fn any_text_is_a_table_or_wrong_somewhere(text in "[a-c0-9,\"#\n\r .]{0,60}") {
            if let Err(wrong) = Rows::read(&text) {
                prop_assert!(wrong.line >= 1 && wrong.line <= 2 + text.matches('\n').count() as u64, "{}", wrong);
            }
        }
    }
}
