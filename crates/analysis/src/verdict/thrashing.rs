//! The judge of thrashing: does a shared buffer cost many times what a buffer each costs?
//!
//! The first comparison of a cell weighs private (left) against shared (right) and is judged by a threshold of
//! its own; the others are ordinary comparisons.

use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Cell, Comparison, Evidence, Figure, Machine, Refusal, Trial, Verdict};

use super::comparisons::{self, empty};
use super::decide::paired;
use super::sentence::{self, outward, show};
use crate::stats::order::Ordered;

/// Sharing thrashes when it costs at least this many times as much. Seed 002 looks for losses of tens of
/// times and passes over "a few times"; its own grid has nothing between 1.6 and 7.9.
const THRASHING: f64 = 5.0;

/// The interval of a ratio that is called thrashing lies above this.
const SURELY_MORE: f64 = 3.0;

pub(super) fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    let judged = |cell: &Cell| {
        let mut answers = match (&cell.refusal, cell.ended) {
            // Published figures ended in no way that is known here: one run of each, and no second.
            (None, None) => Vec::new(),
            _ => comparisons::of_cell(machine, trial, cell),
        };
        match answers.first_mut() {
            Some(first) => {
                if let Some(evidence) = first.evidence.clone() {
                    by_threshold(first, &evidence);
                }
            }
            None => answers.extend(by_one_run(trial, cell)),
        }
        answers
    };
    trial.cells.iter().flat_map(judged).collect()
}

/// Judges anew an answer whose ratio has an interval.
fn by_threshold(answer: &mut Answer, evidence: &Evidence) {
    let label = &answer.cell;
    let ratio = show(evidence.ratio, evidence.interval);
    let range = outward(evidence.interval);
    let figures = format!("{ratio}x what {} costs ({range})", evidence.left);
    answer.figures = vec![Figure::new("cost of sharing", evidence.ratio, "1")];
    answer.refusal = None;
    (answer.verdict, answer.sentence) = if thrashes(evidence) {
        (Verdict::Different, format!("Thrashing: {} costs {figures} {label}.", evidence.right))
    } else if evidence.interval.high < THRASHING {
        let from = three_digits(THRASHING);
        let sentence =
            format!("No thrashing: {} costs {figures} {label}; it would be from {from}x.", evidence.right);
        (Verdict::Equivalent, sentence)
    } else {
        let refusal = Refusal {
            reached: format!("{} costs {figures} {label}", evidence.right),
            needs: format!(
                "at least {THRASHING}x and an interval above {SURELY_MORE}x, or one below {THRASHING}x"
            ),
            remedy: "give it more time (--thorough) or a quieter machine".into(),
        };
        answer.refusal = Some(refusal.clone());
        (Verdict::Refused, sentence::refusal(&refusal))
    };
}

fn thrashes(evidence: &Evidence) -> bool {
    evidence.ratio >= THRASHING && evidence.interval.low > SURELY_MORE
}

/// Judges a cell of which one run of each variant was published: the ratio as it stands.
fn by_one_run(trial: &Trial, cell: &Cell) -> Option<Answer> {
    let comparison: &Comparison = cell.arrangement.comparisons.first()?;
    let ratio = Ordered::new(paired(&cell.samples, comparison).values)?.median().exp();
    let name = |variant: u32| &trial.descriptor.variants[variant as usize].name;
    let (left, right) = (name(comparison.left), name(comparison.right));
    let (verdict, word) = if ratio >= THRASHING {
        (Verdict::Different, "Thrashing")
    } else {
        (Verdict::Equivalent, "No thrashing")
    };
    let label = &cell.arrangement.label;
    let sentence = format!("{word}: {right} costs {}x what {left} costs {label}.", three_digits(ratio));
    Some(Answer {
        verdict,
        sentence,
        caveat: Some("One run of each was published, so the ratio has no interval.".into()),
        figures: vec![Figure::new("cost of sharing", ratio, "1")],
        ..empty(&trial.descriptor, label, cell.arrangement.headline)
    })
}
