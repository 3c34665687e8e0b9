//! Two runs side by side.
//!
//! Epochs of two runs were never interleaved, so their times cannot be weighed against each other.
//! Their *ratios* can: each was measured within its own run. Two ratios differ when their intervals
//! do not meet; each interval misses with at most its level, so the two together with at most the sum.

use serde::Serialize;
use tenbin_model::{Answer, Evidence, Interval, Judge, Quantity, Run, Trial, Verdict};

use super::answers;
use crate::comparable::{Comparability, compare};

/// What two runs have to say to each other.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Across {
    /// Whether their machines are comparable at all, with every difference by name.
    pub machines: Comparability,
    /// The comparisons that both runs made.
    pub shared: Vec<Shared>,
    /// How many comparisons only one of them made.
    pub unshared: usize,
    /// Experiments of either run whose own answer is no ratio, such as a law or a size: it is made of times, which two runs
    /// have no common measure for, or of what was seen.
    pub uncompared: Vec<String>,
}

/// One comparison that both runs made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// Name of the experiment.
    pub experiment: String,
    /// Label of the cell.
    pub cell: String,
    /// What is measured, and so what a ratio says.
    pub quantity: Quantity,
    /// The variants, left then right.
    pub variants: (String, String),
    /// The ratio in the first run, with its interval.
    pub first: (f64, Interval),
    /// The ratio in the second run, with its interval.
    pub second: (f64, Interval),
    /// Different when the intervals do not meet, equivalent when both lie within the margin of each
    /// other's every value, refused otherwise.
    pub verdict: Verdict,
}

/// Compares two runs: first their machines, then every comparison that both made.
pub fn across(first: &Run, second: &Run) -> Across {
    let (ours, theirs) = (measured(first), measured(second));
    let shared: Vec<Shared> = ours
        .iter()
        .filter_map(|one| {
            let other = theirs.iter().find(|other| other.same_question(one))?;
            let variants = (one.evidence.left.clone(), one.evidence.right.clone());
            Some(Shared {
                experiment: one.answer.experiment.clone(),
                cell: one.answer.cell.clone(),
                quantity: one.quantity,
                variants,
                first: (one.evidence.ratio, one.evidence.interval),
                second: (other.evidence.ratio, other.evidence.interval),
                verdict: meet(&one.evidence, &other.evidence),
            })
        })
        .collect();
    Across {
        machines: compare(&first.machine, &second.machine),
        unshared: ours.len() + theirs.len() - 2 * shared.len(),
        uncompared: uncompared(&[first, second]),
        shared,
    }
}

/// The experiments of these runs that are judged by more than ratios, each once, in their order.
fn uncompared(runs: &[&Run]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for descriptor in runs.iter().flat_map(|run| &run.trials).map(|trial| &trial.descriptor) {
        let is_ratio = matches!(descriptor.judge, Judge::Comparisons | Judge::Thrashing | Judge::Lateness);
        if !is_ratio && !names.contains(&descriptor.name) {
            names.push(descriptor.name.clone());
        }
    }
    names
}

/// One measured comparison, with what makes it the same question elsewhere.
struct Measured {
    answer: Answer,
    evidence: Evidence,
    quantity: Quantity,
    /// The cell's parameters: runs that were set differently asked different questions.
    parameters: Vec<(String, String)>,
}

impl Measured {
    fn same_question(&self, other: &Self) -> bool {
        let named = |measured: &Self| (measured.evidence.left.clone(), measured.evidence.right.clone());
        self.answer.experiment == other.answer.experiment
            && self.answer.cell == other.answer.cell
            && self.parameters == other.parameters
            && named(self) == named(other)
    }
}

fn measured(run: &Run) -> Vec<Measured> {
    let of_trial = |trial: &Trial| {
        let parameters = |label: &str| {
            let cell = trial.cells.iter().find(|cell| cell.arrangement.label == label);
            cell.map_or_else(Vec::new, |cell| cell.arrangement.parameters.clone())
        };
        answers(&run.machine, trial)
            .into_iter()
            .filter_map(|answer| {
                Some(Measured {
                    evidence: answer.evidence.clone()?,
                    quantity: trial.descriptor.quantity,
                    parameters: parameters(&answer.cell),
                    answer,
                })
            })
            .collect::<Vec<_>>()
    };
    run.trials.iter().flat_map(of_trial).collect()
}

fn meet(one: &Evidence, other: &Evidence) -> Verdict {
    let (a, b) = (one.interval, other.interval);
    let low = (b.low / a.high).ln();
    let high = (b.high / a.low).ln();
    let margin = one.margin.max(other.margin).ln_1p();
    if low > 0.0 || high < 0.0 {
        Verdict::Different
    } else if low >= -margin && high <= margin {
        Verdict::Equivalent
    } else {
        Verdict::Refused
    }
}
