//! What verdicts on pairs whose truth is known amount to.

use tenbin_model::{Evidence, Interval, Verdict};
use tenbin_stats::order::Ordered;
use tenbin_stats::proportion::clopper_pearson;

/// The part of all equal pairs that may be called different.
const LEVEL: f64 = 0.01;

/// The chance that an interval in a table misses.
const MISS: f64 = 0.05;

/// The heads of the columns that [`Tally::cells`] fills, and the line below them.
pub(crate) const COLUMNS: [&str; 2] = [
    "right | wrong | 95 % of wrong | same | refused | failed | median, s | 90 %, s |",
    "--- | --- | --- | --- | --- | --- | --- | --- |",
];

/// What a tool makes of two sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Finding {
    /// The side in this place, 0 or 1, takes longer.
    Slower(usize),
    /// They are equivalent, or not called different.
    Same,
    Refused,
}

/// A verdict in a word.
pub(crate) fn word(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Different => "different",
        Verdict::Equivalent => "equivalent",
        Verdict::Refused => "refused",
    }
}

impl Finding {
    /// What a verdict of tenbin's amounts to; none where there are no figures of a difference.
    pub(crate) fn of(verdict: Verdict, evidence: Option<&Evidence>) -> Option<Self> {
        Some(match verdict {
            // The cost of the second side over that of the first.
            Verdict::Different => Self::Slower(usize::from(evidence?.ratio > 1.0)),
            Verdict::Equivalent => Self::Same,
            Verdict::Refused => Self::Refused,
        })
    }
}

/// What a finding is worth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    Right,
    Wrong,
    Same,
    Refused,
    /// No finding: the tool had no answer.
    Failed,
}

impl Outcome {
    /// `slower` is the place of the slower side; none of equals, of which nothing may be called slower.
    pub(crate) fn of(finding: Finding, slower: Option<usize>) -> Self {
        match finding {
            Finding::Slower(place) if Some(place) == slower => Self::Right,
            Finding::Slower(_) => Self::Wrong,
            Finding::Same => Self::Same,
            Finding::Refused => Self::Refused,
        }
    }
}

/// How often each outcome came, and what a verdict took.
#[derive(Debug, PartialEq)]
pub(crate) struct Tally {
    outcomes: Vec<Outcome>,
    seconds: Vec<f64>,
}

impl Tally {
    /// Of outcomes, and of the seconds that each took.
    pub(crate) fn of(rows: impl Iterator<Item = (Outcome, f64)>) -> Self {
        let (outcomes, seconds) = rows.unzip();
        Self { outcomes, seconds }
    }

    fn count(&self, outcome: Outcome) -> usize {
        self.outcomes.iter().filter(|it| **it == outcome).count()
    }

    /// How many are wrong, of how many that have a finding, and the exact interval of the part.
    pub(crate) fn wrong(&self) -> (usize, usize, Option<Interval>) {
        let (wrong, of) = (self.count(Outcome::Wrong), self.outcomes.len() - self.count(Outcome::Failed));
        (wrong, of, clopper_pearson(wrong as u64, of as u64, MISS))
    }

    /// Whether more are wrong than the level allows, and chance does not explain it.
    pub(crate) fn exceeds_the_level(&self) -> bool {
        self.wrong().2.is_some_and(|interval| interval.low > LEVEL)
    }

    /// Outcomes and seconds, as cells of a table.
    pub(crate) fn cells(&self, equals: bool) -> String {
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

pub(crate) fn median(values: Vec<f64>) -> Option<f64> {
    Ordered::new(values).map(|values| values.median())
}

/// "0.0 to 16.8 %".
pub(crate) fn in_per_cent(interval: Option<Interval>) -> String {
    interval.map_or_else(
        || "–".into(),
        |Interval { low, high }| format!("{:.1} to {:.1} %", low * 100.0, high * 100.0),
    )
}

/// Figures of a pair, for tests.
#[cfg(test)]
pub(crate) fn evidence(left: &str, right: &str, ratio: f64) -> Evidence {
    Evidence {
        left: left.into(),
        right: right.into(),
        ratio,
        interval: Interval { low: ratio, high: ratio },
        family_level: 0.01,
        family: 1,
        level: 0.01,
        blocks: 20,
        detectable: 0.01,
        margin: 0.01,
        regimes: Vec::new(),
    }
}

/// Who measured, for tests.
#[cfg(test)]
pub(crate) fn provenance() -> tenbin_model::Provenance {
    tenbin_model::Provenance {
        version: "9.9.9".into(),
        build: None,
        started: "2000-01-01T00:00:00Z".into(),
        seed: 1,
        effort: tenbin_model::Effort::Quick,
        arguments: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_a_finding_by_the_side_that_takes_longer() {
        for (verdict, ratio, expected) in [
            (Verdict::Different, 1.01, Finding::Slower(1)),
            (Verdict::Different, 0.99, Finding::Slower(0)),
            (Verdict::Equivalent, 1.001, Finding::Same),
            (Verdict::Refused, 1.0, Finding::Refused),
        ] {
            assert_eq!(Finding::of(verdict, Some(&evidence("a", "b", ratio))), Some(expected));
        }
        assert_eq!(Finding::of(Verdict::Refused, None), Some(Finding::Refused));
        assert_eq!(Finding::of(Verdict::Different, None), None);
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
    fn more_than_the_level_is_what_chance_does_not_explain() {
        let exceeds = |wrong, same| {
            let outcomes = [(Outcome::Wrong, wrong), (Outcome::Same, same)];
            let rows = outcomes.into_iter().flat_map(|(outcome, count)| vec![(outcome, 1.0); count]);
            Tally::of(rows).exceeds_the_level()
        };
        // The lower ends are 0.0055 and 0.0111.
        assert!(!exceeds(4, 196) && exceeds(6, 194));
        assert!(!exceeds(0, 0));
    }
}
