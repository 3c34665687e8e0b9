//! The tables of `strace -c` and `-C`: columns as `count.c` of strace 7.2 names them, in the order that `-U`
//! gave them.

use tenbin_model::words::and;

use super::clock::{number, seconds};

/// A column, by its title in [`TITLES`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Column {
    Percent,
    /// In the kernel on a CPU, or with `-w` from begin to end.
    Seconds,
    Average,
    Shortest,
    Longest,
    Calls,
    /// None is written as nothing.
    Errors,
    Name,
    /// From begin to end (since 7.1).
    WallTotal,
    WallAverage,
    WallShortest,
    WallLongest,
}

/// Titles as strace writes them, and their columns.
const TITLES: [(&[u8], Column); 12] = [
    (b"%", Column::Percent),
    (b"seconds", Column::Seconds),
    (b"usecs/call", Column::Average),
    (b"shortest", Column::Shortest),
    (b"longest", Column::Longest),
    (b"calls", Column::Calls),
    (b"errors", Column::Errors),
    (b"syscall", Column::Name),
    (b"wall-total", Column::WallTotal),
    (b"wall-avg", Column::WallAverage),
    (b"wall-min", Column::WallShortest),
    (b"wall-max", Column::WallLongest),
];

/// Rows of one name that a table may have: as many names as a log.
const ROWS: usize = super::NAMES;

/// What a table says of a call. Times are nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Row {
    pub(super) name: String,
    pub(super) calls: u64,
    pub(super) errors: u64,
    pub(super) seconds: u64,
    pub(super) longest: u64,
    pub(super) wall: u64,
    pub(super) wall_longest: u64,
}

/// The tables of a file: a table for each kind of system calls that the command made (64 bits, 32 bits).
#[derive(Default)]
pub(super) struct Tables {
    pub(super) columns: Vec<Column>,
    pub(super) rows: Vec<Row>,
    pub(super) begun: u64,
    /// Tables of which the last row, their sum, is there.
    pub(super) ended: u64,
    within: bool,
}

impl Tables {
    /// Whether a line may be of a table that was begun.
    pub(super) fn within(&self) -> bool {
        self.within
    }

    pub(super) fn has(&self, column: Column) -> bool {
        self.columns.contains(&column)
    }

    /// Whether there is a time from begin to end beside the one on a CPU.
    pub(super) fn has_wall(&self) -> bool {
        self.has(Column::WallTotal) || (self.has(Column::WallAverage) && self.has(Column::Calls))
    }

    /// Whether there is the time of all calls of a name, or it can be computed.
    pub(super) fn has_seconds(&self) -> bool {
        self.has(Column::Seconds) || (self.has(Column::Average) && self.has(Column::Calls))
    }

    pub(super) fn titles(&self) -> String {
        and(self.columns.iter().map(|column| {
            let title = TITLES.iter().find(|(_, known)| known == column).map_or(&b""[..], |(title, _)| title);
            let title = if title == b"%" { b"% time" } else { title };
            format!("`{}`", String::from_utf8_lossy(title))
        }))
    }

    /// Whether the rows say how much of the time was on a CPU: with `-w` they have the same time twice.
    pub(super) fn splits(&self) -> bool {
        let twice = self.rows.iter().all(|row| row.seconds == row.wall);
        self.has_wall() && self.has_seconds() && !twice
    }

    /// Takes a line, if it is one of a table.
    pub(super) fn takes(&mut self, line: &[u8]) -> bool {
        let line = line.trim_ascii_end();
        if self.begins(line) {
            return true;
        }
        let rules = line.first() == Some(&b'-') && line.iter().all(|byte| matches!(byte, b'-' | b' '));
        let heads = line.starts_with(b"System call usage summary for ");
        self.within && (rules || self.row(line)) || heads
    }

    fn begins(&mut self, line: &[u8]) -> bool {
        if line.len() > 200 {
            return false;
        }
        let mut columns = Vec::new();
        for title in words(line) {
            match TITLES.iter().find(|(known, _)| *known == title) {
                Some((_, column)) => columns.push(*column),
                // The second word of `% time`.
                None if title == b"time" && columns.last() == Some(&Column::Percent) => {}
                None => return false,
            }
        }
        if !columns.contains(&Column::Name) {
            return false;
        }
        (self.columns, self.within) = (columns, true);
        self.begun += 1;
        true
    }

    fn row(&mut self, line: &[u8]) -> bool {
        let cells: Vec<&[u8]> = words(line).take(self.columns.len() + 1).collect();
        let without_errors = cells.len() + 1 == self.columns.len() && self.has(Column::Errors);
        if cells.len() != self.columns.len() && !without_errors {
            return false;
        }
        let columns = self.columns.iter().filter(|&&column| !(without_errors && column == Column::Errors));
        let (mut row, mut average, mut wall_average) = (Row::default(), 0, 0);
        for (column, cell) in columns.zip(cells) {
            let whole = || number(cell).filter(|&(_, digits)| digits == cell.len()).map(|(value, _)| value);
            let time = || seconds(cell).filter(|&(_, _, length)| length == cell.len()).map(|(time, ..)| time);
            let value = match column {
                Column::Calls | Column::Errors | Column::Average | Column::WallAverage => whole(),
                Column::Name => Some(0),
                _ => time(),
            };
            let Some(value) = value else { return false };
            match column {
                Column::Seconds => row.seconds = value,
                Column::Average => average = value.saturating_mul(1_000),
                Column::Longest => row.longest = value,
                Column::Calls => row.calls = value,
                Column::Errors => row.errors = value,
                Column::WallTotal => row.wall = value,
                Column::WallAverage => wall_average = value.saturating_mul(1_000),
                Column::WallLongest => row.wall_longest = value,
                Column::Name => row.name = String::from_utf8_lossy(cell).into_owned(),
                Column::Percent | Column::Shortest | Column::WallShortest => {}
            }
        }
        if !self.has(Column::Seconds) {
            row.seconds = average.saturating_mul(row.calls);
        }
        if !self.has(Column::WallTotal) {
            row.wall = wall_average.saturating_mul(row.calls);
        }
        self.keep(row)
    }

    fn keep(&mut self, row: Row) -> bool {
        if row.name == "total" {
            self.ended += 1;
            self.within = false;
            return true;
        }
        let is_name =
            row.name.len() <= 64 && row.name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if !is_name {
            return false;
        }
        let is_full = self.rows.len() == ROWS;
        match self.rows.iter_mut().find(|known| known.name == row.name) {
            Some(known) => {
                known.calls = known.calls.saturating_add(row.calls);
                known.errors = known.errors.saturating_add(row.errors);
                known.seconds = known.seconds.saturating_add(row.seconds);
                known.wall = known.wall.saturating_add(row.wall);
                known.longest = known.longest.max(row.longest);
                known.wall_longest = known.wall_longest.max(row.wall_longest);
            }
            None if is_full => return false,
            None => self.rows.push(row),
        }
        true
    }
}

fn words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty())
}
