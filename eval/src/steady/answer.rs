//! One answer of a report, as far as its steadiness is concerned.

use std::fmt;

use tenbin_model::{Evidence, Figure, Verdict};

/// What was asked: two answers are about the same thing if their keys are equal.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) experiment: String,
    /// The label of the cell. A buffer whose size follows what the run itself measured names that size: of
    /// another size another thing was asked.
    pub(super) cell: String,
    /// The two variants in alphabetical order, where two were weighed.
    pub(super) pair: Option<(String, String)>,
}

impl fmt::Display for Key {
    /// Cell and pair: a table has the experiment above it.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { cell, pair, .. } = self;
        match (cell.as_str(), pair) {
            ("", None) => write!(formatter, "as a whole"),
            (cell, None) => write!(formatter, "{cell}"),
            ("", Some((one, other))) => write!(formatter, "{one} / {other}, as a whole"),
            (cell, Some((one, other))) => write!(formatter, "{one} / {other}, {cell}"),
        }
    }
}

/// A verdict on what was asked.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Answer {
    pub(super) key: Key,
    pub(super) verdict: Verdict,
    /// The second of the pair over the first: on which side of 1 a difference lies.
    pub(super) ratio: Option<f64>,
    pub(super) sentence: String,
}

impl Answer {
    /// Whether it is a refusal because the machine changed between states that disagree.
    pub(super) fn depends(&self) -> bool {
        self.verdict == Verdict::Refused && self.sentence.to_lowercase().contains("it depends")
    }

    /// Whether it is a refusal that may stand for any pair of its cell.
    pub(super) fn names_no_pair(&self) -> bool {
        self.verdict == Verdict::Refused && self.key.pair.is_none()
    }
}

/// Every answer of a report of `tenbin run --json`.
///
/// A comparison that was refused before anything was weighed has no evidence, and so does not name its
/// pair. Several of them in one cell are one refusal here.
///
/// Fails if there is no answer, if one lacks a part, or if two verdicts are about the same thing: then
/// nobody could tell which of them another run confirms.
pub(super) fn read(answers: &[tenbin_model::Answer]) -> Result<Vec<Answer>, String> {
    if answers.is_empty() {
        return Err("the report holds no answer".into());
    }
    let mut kept: Vec<Answer> = Vec::new();
    for answer in answers.iter().map(one) {
        match kept.iter().find(|earlier| earlier.key == answer.key) {
            None => kept.push(answer),
            Some(earlier) if earlier.names_no_pair() && answer.names_no_pair() => {}
            Some(_) => {
                return Err(format!("two answers of {} are about {}", answer.key.experiment, answer.key));
            }
        }
    }
    Ok(kept)
}

fn one(answer: &tenbin_model::Answer) -> Answer {
    let (pair, ratio) = match &answer.evidence {
        // By name, so that a run that weighs them the other way round is about the same pair.
        Some(Evidence { left, right, ratio, .. }) if left <= right => {
            (Some((left.clone(), right.clone())), Some(*ratio))
        }
        Some(Evidence { left, right, ratio, .. }) => {
            (Some((right.clone(), left.clone())), Some(ratio.recip()))
        }
        None => (None, knee_over_stated(&answer.figures)),
    };
    let key = Key { experiment: answer.experiment.clone(), cell: answer.cell.clone(), pair };
    Answer { key, verdict: answer.verdict, ratio, sentence: answer.sentence.clone() }
}

/// `caches` weighs no pair: its difference is on the side on which the knee is of what firmware says.
fn knee_over_stated(figures: &[Figure]) -> Option<f64> {
    let figure = |name: &str| figures.iter().find(|figure| figure.name == name).map(|figure| figure.value);
    let ratio = figure("knee")? / figure("stated")?;
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::tally::evidence;

    /// An answer as tenbin gives it, about a pair with its ratio, or about none.
    pub(in crate::steady) fn answered(
        experiment: &str,
        cell: &str,
        verdict: Verdict,
        pair: Option<(&str, &str, f64)>,
    ) -> tenbin_model::Answer {
        tenbin_model::Answer {
            experiment: experiment.into(),
            question: "Does it?".into(),
            cell: cell.into(),
            headline: false,
            verdict,
            sentence: "So.".into(),
            brief: String::new(),
            caveat: None,
            evidence: pair.map(|(left, right, ratio)| evidence(left, right, ratio)),
            refusal: None,
            figures: Vec::new(),
            grids: Vec::new(),
        }
    }

    fn weighed(left: &str, right: &str, ratio: f64) -> tenbin_model::Answer {
        answered("faults", "at 1 thread", Verdict::Different, Some((left, right, ratio)))
    }

    #[test]
    fn a_pair_is_the_same_pair_whichever_comes_first() {
        let one = read(&[weighed("a", "b", 4.0)]).expect("a report");
        let other = read(&[weighed("b", "a", 0.25)]).expect("a report");
        assert_eq!(one, other);
        assert_eq!(one[0].ratio, Some(4.0));
        assert_eq!(one[0].key.to_string(), "a / b, at 1 thread");
    }

    #[test]
    fn a_buffer_of_another_size_is_another_question() {
        let key = |cell: &str| one(&answered("thrash", cell, Verdict::Refused, None)).key;
        let label = "in case A (16 KiB, which fits into L1) on CPU 0 and CPU 1, which share one L3";
        for (from, to) in [("16 KiB", "8 KiB"), ("case A", "case C"), ("CPU 1", "CPU 12")] {
            assert_ne!(key(label), key(&label.replace(from, to)), "{to}");
        }
        assert_eq!(key(label).cell, label);
    }

    #[test]
    fn a_knee_lies_on_one_side_of_what_firmware_says() {
        let mut answer = answered("caches", "L2 of CPU 0", Verdict::Different, None);
        let figures = |stated| [Figure::new("stated", stated, "B"), Figure::new("knee", 4096.0, "B")].into();
        answer.figures = figures(1024.0);
        assert_eq!(one(&answer).ratio, Some(4.0));
        answer.figures = figures(0.0);
        assert_eq!(one(&answer).ratio, None);
        assert_eq!(one(&answered("caches", "L3 of CPU 0", Verdict::Refused, None)).ratio, None);
    }

    #[test]
    fn refusals_that_name_no_pair_are_one() {
        let silent = answered("faults", "at 1 thread", Verdict::Refused, None);
        let answers = read(&[weighed("a", "b", 2.0), silent.clone(), silent]).expect("a report");
        assert_eq!(answers.iter().map(Answer::names_no_pair).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_cannot_be_compared_is_not_read() {
        let twice = [Verdict::Equivalent, Verdict::Different]
            .map(|verdict| answered("numa", "by a chase", verdict, None));
        assert!(read(&twice).is_err_and(|reason| reason.contains("by a chase")));
        assert!(read(&[]).is_err());
    }
}
