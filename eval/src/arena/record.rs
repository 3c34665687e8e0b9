//! The file of verdicts: a line for each, complete as soon as it is written.

use std::fs::{self, File};
use std::path::Path;

use super::tool::Answer;
use xtask::failure::Failure;

const NAME: &str = "verdicts.csv";
const COLUMNS: &[&str] = &["round", "tool", "work", "effect", "truth", "ratio", "verdict", "seconds", "note"];

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Row {
    /// Counted from 1.
    pub(super) round: u64,
    pub(super) tool: &'static str,
    pub(super) work: String,
    /// By which part the right side should do more operations.
    pub(super) effect: f64,
    /// Operations of the right side over those of the left; none if the tool failed.
    pub(super) truth: Option<f64>,
    /// The tool's figure for it, if it gave one.
    pub(super) ratio: Option<f64>,
    pub(super) answer: Answer,
    /// From asking to the answer, everything counted in.
    pub(super) seconds: f64,
    pub(super) note: String,
}

pub(super) struct Record {
    writer: csv::Writer<File>,
}

impl Record {
    /// A new file in `folder`, which is made if need be. An old one is not overwritten.
    pub(super) fn create(folder: &Path) -> Result<Self, Failure> {
        let path = folder.join(NAME);
        let file = fs::create_dir_all(folder).and_then(|()| File::create_new(&path));
        let file = file.map_err(|error| {
            Failure::new(format!("create {}", path.display()), error, "choose another folder with --output")
        })?;
        let mut record = Self { writer: csv::Writer::from_writer(file) };
        record.line(COLUMNS.iter().map(|&column| column.to_owned()))?;
        Ok(record)
    }

    /// Add a line, and have it in the file before anything else is done.
    pub(super) fn add(&mut self, row: &Row) -> Result<(), Failure> {
        self.line(cells(row).into_iter())
    }

    fn line(&mut self, cells: impl Iterator<Item = String>) -> Result<(), Failure> {
        let written = self.writer.write_record(cells.collect::<Vec<_>>());
        let flushed = written.and_then(|()| Ok(self.writer.flush()?));
        flushed.map_err(|error| Failure::new(format!("write to {NAME}"), error, "make room there"))
    }
}

fn cells(row: &Row) -> [String; 9] {
    let figure = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
    [
        row.round.to_string(),
        row.tool.into(),
        row.work.clone(),
        row.effect.to_string(),
        figure(row.truth),
        figure(row.ratio),
        row.answer.word().into(),
        format!("{:.3}", row.seconds),
        row.note.clone(),
    ]
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// A verdict of a tool called "planted", for the tests of what is computed from verdicts.
    pub(in crate::arena) fn row(effect: f64, ratio: Option<f64>, answer: Answer, seconds: f64) -> Row {
        Row {
            round: 1,
            tool: "planted",
            work: "alu".into(),
            effect,
            truth: (answer != Answer::Failed).then_some(1.0 + effect),
            ratio,
            answer,
            seconds,
            note: String::new(),
        }
    }

    #[test]
    fn a_row_is_a_line_with_a_cell_for_each_column() {
        let mut row = row(0.01, Some(1.0125), Answer::Different, 2.0);
        assert_eq!(cells(&row).join(","), "1,planted,alu,0.01,1.01,1.0125,different,2.000,");
        assert_eq!(cells(&row).len(), COLUMNS.len());
        row = Row { ratio: None, truth: None, answer: Answer::Failed, note: "why".into(), ..row };
        assert_eq!(cells(&row).join(","), "1,planted,alu,0.01,,,failed,2.000,why");
    }
}
