//! One answer of a report, as far as its steadiness is concerned.

use std::fmt;

use serde_json::Value;

/// What tenbin says, in a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    Different,
    Equivalent,
    Refused,
}

impl fmt::Display for Verdict {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Different => "different",
            Self::Equivalent => "equivalent",
            Self::Refused => "refused",
        })
    }
}

/// What was asked: two answers are about the same thing if their keys are equal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) experiment: String,
    /// The label of the cell. A buffer whose size follows what the run itself measured names that size: of another size
    /// another thing was asked.
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
pub(super) fn read(report: &Value) -> Result<Vec<Answer>, String> {
    let answers = report["answers"].as_array().filter(|answers| !answers.is_empty());
    let answers = answers.ok_or("the report holds no answer")?;
    let mut kept: Vec<Answer> = Vec::new();
    for answer in answers {
        let answer = one(answer)?;
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

fn one(answer: &Value) -> Result<Answer, String> {
    let word = |name: &str| {
        let word = answer[name].as_str().map(str::to_owned);
        word.ok_or_else(|| format!("an answer has no {name}: {answer}"))
    };
    let experiment = word("experiment")?;
    let verdict = match word("verdict")?.as_str() {
        "different" => Verdict::Different,
        "equivalent" => Verdict::Equivalent,
        "refused" => Verdict::Refused,
        other => return Err(format!("the verdict `{other}` is not known")),
    };
    let cell = word("cell")?;
    let evidence = &answer["evidence"];
    let sides = evidence["left"].as_str().zip(evidence["right"].as_str());
    let (pair, ratio) = match sides {
        // By name, so that a run that weighs them the other way round is about the same pair.
        Some((left, right)) if left <= right => {
            (Some((left.to_owned(), right.to_owned())), evidence["ratio"].as_f64())
        }
        Some((left, right)) => {
            (Some((right.to_owned(), left.to_owned())), evidence["ratio"].as_f64().map(f64::recip))
        }
        None => (None, knee_over_stated(answer)),
    };
    Ok(Answer { key: Key { experiment, cell, pair }, verdict, ratio, sentence: word("sentence")? })
}

/// `caches` weighs no pair: its difference is on the side on which the knee is of what firmware says.
fn knee_over_stated(answer: &Value) -> Option<f64> {
    let figure = |name: &str| {
        let figures = answer["figures"].as_array()?;
        figures.iter().find(|figure| figure["name"] == name)?["value"].as_f64()
    };
    let ratio = figure("knee")? / figure("stated")?;
    ratio.is_finite().then_some(ratio)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn report(answers: &[Value]) -> Value {
        json!({ "answers": answers })
    }

    fn weighed(left: &str, right: &str, ratio: f64) -> Value {
        json!({"experiment": "faults", "cell": "at 1 thread", "verdict": "different", "sentence": "It is.",
               "evidence": {"left": left, "right": right, "ratio": ratio}, "figures": []})
    }

    fn plain(experiment: &str, cell: &str, verdict: &str) -> Value {
        json!({"experiment": experiment, "cell": cell, "verdict": verdict, "sentence": "So.", "evidence": null})
    }

    #[test]
    fn a_pair_is_the_same_pair_whichever_comes_first() {
        let one = read(&report(&[weighed("a", "b", 4.0)])).expect("a report");
        let other = read(&report(&[weighed("b", "a", 0.25)])).expect("a report");
        assert_eq!(one, other);
        assert_eq!(one[0].ratio, Some(4.0));
        assert_eq!(one[0].key.to_string(), "a / b, at 1 thread");
    }

    #[test]
    fn a_buffer_of_another_size_is_another_question() {
        let key =
            |cell: &str| read(&report(&[plain("thrash", cell, "refused")])).expect("a report")[0].key.clone();
        let label = "in case A (16 KiB, which fits into L1) on CPU 0 and CPU 1, which share one L3";
        for (from, to) in [("16 KiB", "8 KiB"), ("case A", "case C"), ("CPU 1", "CPU 12")] {
            assert_ne!(key(label), key(&label.replace(from, to)), "{to}");
        }
        assert_eq!(key(label).cell, label);
    }

    #[test]
    fn a_knee_lies_on_one_side_of_what_firmware_says() {
        let mut answer = plain("caches", "L2 of CPU 0", "different");
        answer["figures"] = json!([{"name": "stated", "value": 1024.0}, {"name": "knee", "value": 4096.0}]);
        let ratio = |answer: &Value| read(&report(std::slice::from_ref(answer))).expect("a report")[0].ratio;
        assert_eq!(ratio(&answer), Some(4.0));
        answer["figures"] = json!([{"name": "stated", "value": 0.0}, {"name": "knee", "value": 4096.0}]);
        assert_eq!(ratio(&answer), None);
        assert_eq!(ratio(&plain("caches", "L3 of CPU 0", "refused")), None);
    }

    #[test]
    fn refusals_that_name_no_pair_are_one() {
        let silent = plain("faults", "at 1 thread", "refused");
        let answers = read(&report(&[weighed("a", "b", 2.0), silent.clone(), silent])).expect("a report");
        assert_eq!(answers.iter().map(Answer::names_no_pair).collect::<Vec<_>>(), [false, true]);
    }

    #[test]
    fn what_cannot_be_compared_is_not_read() {
        let twice = [plain("numa", "by a chase", "equivalent"), plain("numa", "by a chase", "different")];
        assert!(read(&report(&twice)).is_err_and(|reason| reason.contains("by a chase")));
        assert!(read(&report(&[])).is_err());
        assert!(read(&json!({})).is_err());
        assert!(read(&report(&[plain("numa", "", "perhaps")])).is_err());
        assert!(read(&report(&[json!({"experiment": "numa", "verdict": "refused"})])).is_err());
    }
}
