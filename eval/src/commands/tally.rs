//! What verdicts on pairs whose truth is known amount to.

use std::fmt;

use tenbin_model::Interval;
use tenbin_stats::order::Ordered;
use tenbin_stats::proportion::clopper_pearson;

/// The part of all equal pairs that may be called different.
pub(super) const LEVEL: f64 = 0.01;

/// The chance that an interval in a table misses.
const MISS: f64 = 0.05;

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

/// What a tool makes of two commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Finding {
    /// The command in this place, 0 or 1, takes longer.
    Slower(usize),
    /// They are equivalent, or not called different.
    Same,
    Refused,
}

/// What a finding is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    Right,
    Wrong,
    Same,
    Refused,
    /// No finding: the tool had no answer.
    Failed,
}

impl Outcome {
    /// `slower` is the place of the slower command; none of equals, of which nothing may be called slower.
    pub(super) fn of(finding: Finding, slower: Option<usize>) -> Self {
        match finding {
            Finding::Slower(place) if Some(place) == slower => Self::Right,
            Finding::Slower(_) => Self::Wrong,
            Finding::Same => Self::Same,
            Finding::Refused => Self::Refused,
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

/// How often each outcome came, and what a verdict took.
#[derive(Debug, PartialEq)]
pub(super) struct Tally {
    outcomes: Vec<Outcome>,
    seconds: Vec<f64>,
}

impl Tally {
    pub(super) fn of<'a>(rows: impl Iterator<Item = &'a Row>) -> Self {
        let (outcomes, seconds) = rows.map(|row| (row.outcome, row.seconds)).unzip();
        Self { outcomes, seconds }
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.outcomes.iter().filter(|it| **it == outcome).count()
    }

    /// How many are wrong, of how many that have a finding, and the exact interval of the part.
    pub(super) fn wrong(&self) -> (usize, usize, Option<Interval>) {
        let (wrong, of) = (self.count(Outcome::Wrong), self.outcomes.len() - self.count(Outcome::Failed));
        (wrong, of, clopper_pearson(wrong as u64, of as u64, MISS))
    }

    /// Whether more are wrong than the level allows, and chance does not explain it.
    pub(super) fn exceeds_the_level(&self) -> bool {
        self.wrong().2.is_some_and(|interval| interval.low > LEVEL)
    }

    /// Outcomes and seconds, as cells of a table.
    fn cells(&self, equals: bool) -> String {
        let (wrong, _, interval) = self.wrong();
        let right = if equals { "–".into() } else { self.count(Outcome::Right).to_string() };
        let counts = [Outcome::Same, Outcome::Refused, Outcome::Failed].map(|it| self.count(it).to_string());
        let times = Ordered::new(self.seconds.clone());
        let time = |fraction: f64| {
            let time = times.as_ref().and_then(|times| times.quantile(fraction));
            time.map_or_else(|| "–".into(), |time| format!("{time:.1}"))
        };
        let cells = [right, wrong.to_string(), in_per_cent(interval)];
        cells.into_iter().chain(counts).chain([time(0.5), time(0.9)]).collect::<Vec<_>>().join(" | ")
    }
}

/// "0.0 to 16.8 %".
pub(super) fn in_per_cent(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "–".into(),
        |Interval { low, high }| format!("{:.1} to {:.1} %", low * 100.0, high * 100.0),
    )
}

/// A line for each question and tool, and one for all equal pairs of each tool.
pub(super) fn table(questions: &[Question], tools: &[Tool], rows: &[Row]) -> String {
    let mut text = String::from(
        "| a run | slower by | busy for each CPU | tool | right | wrong | 95 % of wrong | same | refused | failed | median, s | 90 %, s |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for question in questions {
        for &tool in tools {
            let its = rows.iter().filter(|row| row.question == *question && row.tool == tool);
            let cells = Tally::of(its).cells(question.is_of_equals());
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
    Tally::of(rows.iter().filter(|row| row.tool == tool && row.question.is_of_equals()))
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
    fn only_the_slower_side_of_a_pair_may_be_named() {
        for (finding, slower, expected) in [
            (Finding::Slower(1), Some(1), Outcome::Right),
            (Finding::Slower(0), Some(1), Outcome::Wrong),
            (Finding::Slower(0), None, Outcome::Wrong),
            (Finding::Same, None, Outcome::Same),
            (Finding::Same, Some(0), Outcome::Same),
            (Finding::Refused, Some(0), Outcome::Refused),
        ] {
            assert_eq!(Outcome::of(finding, slower), expected, "{finding:?} {slower:?}");
        }
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

    #[test]
    fn more_than_the_level_is_what_chance_does_not_explain() {
        let exceeds = |wrong, same| {
            let mut all = rows(EQUALS, Outcome::Wrong, wrong);
            all.extend(rows(EQUALS, Outcome::Same, same));
            all.extend(rows(PLANTED, Outcome::Wrong, 100));
            of_equals(&all, Tool::Tenbin).exceeds_the_level()
        };
        // The lower ends are 0.0055 and 0.0111.
        assert!(!exceeds(4, 196) && exceeds(6, 194));
        assert!(!exceeds(0, 0));
    }
}
