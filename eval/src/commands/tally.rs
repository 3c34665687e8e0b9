//! What verdicts on pairs of commands amount to: a table.

use std::fmt;

use crate::tally::{COLUMNS, Outcome, Tally, in_per_cent};

/// A pair that is asked about again and again.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Question {
    /// About how long a run of the faster command takes, in milliseconds; none for `true`.
    pub(super) time: Option<u32>,
    /// By which part the slower command takes longer, in per cent; 0 is a pair of equals.
    pub(super) effect: f64,
    /// Busy processes for each CPU.
    pub(super) load: u16,
}

impl Question {
    pub(super) fn is_of_equals(&self) -> bool {
        self.effect == 0.0
    }
}

impl fmt::Display for Question {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.time {
            Some(time) => write!(formatter, "{time} ms | {} %", self.effect)?,
            None => write!(formatter, "`true` | {} %", self.effect)?,
        }
        write!(formatter, " | {}", self.load)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tool {
    Tenbin,
    Hyperfine,
    Multitime,
}

impl Tool {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Tenbin => "tenbin",
            Self::Hyperfine => "hyperfine",
            Self::Multitime => "multitime",
        }
    }
}

/// A verdict.
pub(super) struct Row {
    pub(super) question: Question,
    pub(super) tool: Tool,
    pub(super) outcome: Outcome,
    pub(super) seconds: f64,
}

/// A line for each question and tool, and one for all equal pairs of each tool.
pub(super) fn table(questions: &[Question], tools: &[Tool], rows: &[Row]) -> String {
    let [heads, line] = COLUMNS;
    let mut text = format!(
        "| a run | slower by | busy for each CPU | tool | {heads}\n| --- | --- | --- | --- | {line}\n"
    );
    for question in questions {
        for &tool in tools {
            let its = rows.iter().filter(|row| row.question == *question && row.tool == tool);
            let cells = tally(its).cells(question.is_of_equals());
            text.push_str(&format!("| {question} | {} | {cells} |\n", tool.name()));
        }
    }
    text.push('\n');
    for &tool in tools {
        let (wrong, of, interval) = of_equals(rows, tool).wrong();
        text.push_str(&format!(
            "- {}: {wrong} of {of} equal pairs were called different (95 % interval {})\n",
            tool.name(),
            in_per_cent(interval)
        ));
    }
    text
}

/// All equal pairs that a tool was asked about.
pub(super) fn of_equals(rows: &[Row], tool: Tool) -> Tally {
    tally(rows.iter().filter(|row| row.tool == tool && row.question.is_of_equals()))
}

fn tally<'a>(rows: impl Iterator<Item = &'a Row>) -> Tally {
    Tally::of(rows.map(|row| (row.outcome, row.seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const EQUALS: Question = Question { time: Some(10), effect: 0.0, load: 2 };
    const PLANTED: Question = Question { effect: 0.5, ..EQUALS };

    fn rows(question: Question, outcome: Outcome, count: usize) -> Vec<Row> {
        let row = |place: usize| Row { question, tool: Tool::Tenbin, outcome, seconds: place as f64 };
        (1..=count).map(row).collect()
    }

    #[test]
    fn a_table_counts_by_question_and_all_equals_together() {
        let mut all = rows(EQUALS, Outcome::Wrong, 1);
        all.extend(rows(EQUALS, Outcome::Same, 8));
        all.extend(rows(EQUALS, Outcome::Failed, 1));
        all.extend(rows(PLANTED, Outcome::Right, 3));
        let text = table(&[EQUALS, PLANTED], &[Tool::Tenbin, Tool::Hyperfine], &all);
        for expected in [
            "| 10 ms | 0 % | 2 | tenbin | – | 1 | 0.3 to 48.2 % | 8 | 0 | 1 | 3.5 | 7.1 |\n",
            "| 10 ms | 0.5 % | 2 | tenbin | 3 | 0 | 0.0 to 70.8 % | 0 | 0 | 0 | 2.0 | 2.8 |\n",
            "| 10 ms | 0 % | 2 | hyperfine | – | 0 | – | 0 | 0 | 0 | – | – |\n",
            "- tenbin: 1 of 9 equal pairs were called different (95 % interval 0.3 to 48.2 %)\n",
        ] {
            assert!(text.contains(expected), "{expected}{text}");
        }
    }
}
