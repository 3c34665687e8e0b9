//! Figures that others published, as the files in `fixtures/published` hold them.

use std::collections::BTreeMap;

/// A row of a published table: the text of each column by its title. Empty columns are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(BTreeMap<String, String>);

impl Row {
    /// The text in `column`, or nothing where it is empty.
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// The number in `column`, if there is one.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok()
    }
}

/// The rows of a table in CSV (RFC 4180) with titles in its first line; lines that begin with `#`
/// name the source and are passed over.
///
/// # Panics
/// If the table is malformed. It is part of this program, and a test reads every one.
pub fn rows(table: &str) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(table.as_bytes());
    reader
        .deserialize::<BTreeMap<String, String>>()
        .map(|row| {
            let mut row = row.expect("a published table is well formed");
            row.retain(|_, text| !text.is_empty());
            Row(row)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_published_table_can_be_read() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/published");
        let mut read = 0;
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let text = std::fs::read_to_string(&path).unwrap();
            assert!(text.starts_with("# seed "), "{}: names no source", path.display());
            assert!(rows(&text).len() > 4, "{}", path.display());
            read += 1;
        }
        assert_eq!(read, 8);
    }

    #[test]
    fn quotes_hold_commas_and_empty_columns_are_absent() {
        let rows = rows("# source\nname,cpus,seconds\nA,\"0,4\",0.5\nB,,\n");
        assert_eq!(rows[0].text("cpus"), "0,4");
        assert_eq!(rows[0].number("seconds"), Some(0.5));
        assert_eq!((rows[1].text("cpus"), rows[1].number("seconds")), ("", None));
    }
}
