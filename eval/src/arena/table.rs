//! The table, for a reader and for a program.

use std::fmt::Write;

use tenbin_model::words::comma;
use tenbin_stats::proportion::clopper_pearson;

use super::Entrant;
use super::record::Row;
use super::stage::Stage;
use super::surroundings::Surroundings;
use super::tally::{Count, Tally, tally};
use super::tool::Answer;
use crate::tally::in_per_cent;

/// A tool that was chosen and could not be asked.
pub(super) struct Absence {
    pub(super) tool: &'static str,
    pub(super) reason: String,
}

pub(super) struct Table<'a> {
    pub(super) surroundings: &'a Surroundings,
    pub(super) stage: &'a Stage<'a>,
    pub(super) seed: u64,
    /// Rounds that are over.
    pub(super) rounds: u64,
    pub(super) planned: u64,
    pub(super) effects: &'a [f64],
    pub(super) ready: &'a [Entrant],
    pub(super) absent: &'a [Absence],
    pub(super) rows: &'a [Row],
}

impl Table<'_> {
    /// For a reader.
    pub(super) fn markdown(&self) -> String {
        let works = comma(self.stage.works.iter().map(|work| &work.name));
        let effects = comma(self.effects.iter().map(|&effect| per_cent(effect)));
        let mut text = format!(
            "# Arena\n\n{}- rounds: {} of {}, seed {}; works: {works}; effects: {effects}; {} s for a verdict\n\n",
            self.surroundings.lines(),
            self.rounds,
            self.planned,
            self.seed,
            self.stage.seconds,
        );
        text.push_str(&line(&self.columns()));
        text.push_str(&line(&vec!["---".to_owned(); self.columns().len()]));
        for entrant in self.ready {
            text.push_str(&line(&self.cells(entrant)));
        }
        for Absence { tool, .. } in self.absent {
            let mut cells = vec![String::new(); self.columns().len()];
            cells[0] = (*tool).into();
            cells[1] = "not weighed".into();
            text.push_str(&line(&cells));
        }
        text.push_str(
            "\nA false alarm: two sides that are the same, called different; with the 95 % interval of Clopper and \
             Pearson,\nwhich takes verdicts for independent. Found: called different, and the slower side named. \
             Error: of the ratio\nagainst the ratio of operations. Seconds: all of a verdict. A tool has the time \
             above to measure in; what its\nown programs take to start and to compare comes on top.\n\n## Rules\n\n",
        );
        for Entrant { tool, .. } in self.ready {
            let _ = writeln!(text, "- {}: {}", tool.name, tool.rule);
        }
        if !self.absent.is_empty() {
            text.push_str("\n## Not weighed\n\n");
        }
        for Absence { tool, reason } in self.absent {
            let _ = writeln!(text, "- {tool}: {}", one_line(reason));
        }
        text.push_str(&self.failures());
        text
    }

    /// For a program.
    pub(super) fn csv(&self) -> String {
        let mut writer = csv::Writer::from_writer(Vec::new());
        let mut lines = vec![[self.columns(), vec!["rule".into()]].concat()];
        lines.extend(self.ready.iter().map(|it| [self.cells(it), vec![it.tool.rule.into()]].concat()));
        for Absence { tool, reason } in self.absent {
            let mut cells = vec![String::new(); self.columns().len() + 1];
            cells[0] = (*tool).into();
            cells[1] = format!("not weighed: {}", one_line(reason));
            lines.push(cells);
        }
        for line in lines {
            // Into memory, where nothing can fail; lines of one length.
            let _ = writer.write_record(line);
        }
        String::from_utf8(writer.into_inner().unwrap_or_default()).unwrap_or_default()
    }

    fn columns(&self) -> Vec<String> {
        let planted = self.effects.iter().filter(|effect| **effect != 0.0);
        let mut columns = ["tool", "version", "false alarms", "95 % interval"].map(String::from).to_vec();
        columns.extend(planted.map(|&effect| format!("{} found", per_cent(effect))));
        let last = ["wrong signs", "median error", "seconds", "refused", "failed"];
        columns.extend(last.map(String::from));
        columns
    }

    fn cells(&self, Entrant { tool, ready }: &Entrant) -> Vec<String> {
        let tally = tally(self.rows.iter().filter(|row| row.tool == tool.name), self.effects);
        let mut cells = vec![tool.name.to_owned(), ready.version.clone()];
        cells.extend(figures(&tally));
        cells
    }

    /// Why tools failed: one reason for each, the last.
    fn failures(&self) -> String {
        let mut text = String::new();
        for Entrant { tool, .. } in self.ready {
            let mut rows =
                self.rows.iter().filter(|row| row.tool == tool.name && row.answer == Answer::Failed);
            if let Some(last) = rows.next_back() {
                let _ = writeln!(text, "- {} (and {} more): {}", tool.name, rows.count(), last.note);
            }
        }
        if text.is_empty() { text } else { format!("\n## Failed\n\n{text}") }
    }
}

fn figures(tally: &Tally) -> Vec<String> {
    let figure = |value: Option<f64>, write: &dyn Fn(f64) -> String| value.map_or_else(|| "–".into(), write);
    let mut cells = vec![share(tally.alarms), interval(tally.alarms)];
    cells.extend(tally.named.iter().map(|(_, count)| share(*count)));
    cells.push(share(tally.wrong_signs));
    cells.push(figure(tally.error, &|error| format!("{:.3} %", error * 100.0)));
    cells.push(figure(tally.seconds, &|seconds| format!("{seconds:.2}")));
    cells.push(tally.refused.to_string());
    cells.push(tally.failed.to_string());
    cells
}

fn share(Count { count, of }: Count) -> String {
    format!("{count} of {of}")
}

fn interval(Count { count, of }: Count) -> String {
    in_per_cent(clopper_pearson(count as u64, of as u64, 0.05))
}

/// "1 %", "0.2 %": without the digits that binary fractions add.
fn per_cent(effect: f64) -> String {
    format!("{} %", (effect * 1e8).round() / 1e6)
}

fn line(cells: &[String]) -> String {
    format!("| {} |\n", cells.join(" | "))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_stand_in_the_order_of_the_columns() {
        let tally = Tally {
            alarms: Count { count: 2, of: 45 },
            named: vec![(0.01, Count { count: 40, of: 45 })],
            wrong_signs: Count { count: 1, of: 45 },
            error: Some(0.000_02),
            seconds: Some(2.046),
            refused: 3,
            failed: 4,
        };
        let expected = ["2 of 45", "0.5 to 15.1 %", "40 of 45", "1 of 45", "0.002 %", "2.05", "3", "4"]
            .map(String::from);
        assert_eq!(figures(&tally), expected);
    }

    #[test]
    fn what_was_never_asked_has_no_figure() {
        let expected = ["0 of 0", "–", "0 of 0", "–", "–", "0", "0"].map(String::from);
        assert_eq!(figures(&Tally::default()), expected);
    }

    #[test]
    fn effects_are_written_as_a_person_would() {
        let written = [0.0, 0.01, 0.002, 0.07, 0.000_001].map(per_cent);
        assert_eq!(written, ["0 %", "1 %", "0.2 %", "7 %", "0.0001 %"]);
    }
}
