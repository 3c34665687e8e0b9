//! Two runs side by side.
//!
//! Epochs of two runs were never interleaved, so their times cannot be weighed against each other.
//! Their *ratios* can: each was measured within its own run. Two ratios differ when their intervals
//! do not meet; each interval misses with at most its level, so the two together with at most the sum.

use serde::Serialize;
use tenbin_model::{Evidence, Interval, Run, Verdict};

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
}

/// One comparison that both runs made.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Shared {
    /// Name of the experiment.
    pub experiment: String,
    /// Label of the cell.
    pub cell: String,
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
    let key = |evidence: &Evidence, experiment: &str, cell: &str| {
        (experiment.to_owned(), cell.to_owned(), evidence.left.clone(), evidence.right.clone())
    };
    let measured = |run: &Run| -> Vec<_> {
        run.trials
            .iter()
            .flat_map(|trial| answers(&run.machine, trial))
            .filter_map(|answer| {
                let evidence = answer.evidence?;
                Some((key(&evidence, &answer.experiment, &answer.cell), evidence))
            })
            .collect()
    };
    let (ours, theirs) = (measured(first), measured(second));
    let shared: Vec<Shared> = ours
        .iter()
        .filter_map(|(key, one)| {
            let (_, other) = theirs.iter().find(|(their_key, _)| their_key == key)?;
            let (experiment, cell, left, right) = key.clone();
            Some(Shared {
                experiment,
                cell,
                variants: (left, right),
                first: (one.ratio, one.interval),
                second: (other.ratio, other.interval),
                verdict: meet(one, other),
            })
        })
        .collect();
    Across {
        machines: compare(&first.machine, &second.machine),
        unshared: ours.len() + theirs.len() - 2 * shared.len(),
        shared,
    }
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
