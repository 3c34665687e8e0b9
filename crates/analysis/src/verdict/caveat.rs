//! What the intervals of a run cannot cover, said where it applies.

use tenbin_model::machine::Virtualisation;
use tenbin_model::{Answer, Cell, Evidence, Interval, Machine, Trial, Verdict};

use super::decide::{LEVEL, paired};
use super::sentence::range;
use crate::stats::multiple::bonferroni;
use crate::stats::order::Ordered;
use crate::stats::paired::as_ratios;
use crate::stats::sign;

/// Halves whose intervals are nearer to each other than this, as a log ratio, are not worth a word.
const WORTH_A_WORD: f64 = 0.1;

/// What goes with an answer beyond its interval, in words. None if nothing does.
///
/// `first` says whether the answer is to the first comparison of its cell, which drift is judged by.
pub(super) fn of(
    machine: &Machine,
    trial: &Trial,
    cell: &Cell,
    answer: &Answer,
    first: bool,
) -> Option<String> {
    let evidence = answer.evidence.as_ref()?;
    // What was refused claims nothing that could cease to hold.
    let placement = placement(machine, cell).filter(|_| answer.verdict != Verdict::Refused);
    let drift = if first { drift(trial, cell, evidence) } else { None };
    let caveats: Vec<String> = drift.into_iter().chain(placement).collect();
    (!caveats.is_empty()).then(|| caveats.join(" "))
}

/// On a virtual machine the distance between two CPUs is the host's to choose, now and again later.
///
/// Seen in practice: the same comparison on two virtual CPUs gave 1.3 and 2.4 in runs seconds apart, each
/// with an interval of a few per cent, and once both within a run. An interval covers what varied while
/// the run lasted; it cannot cover what changes after it.
pub(super) fn placement(machine: &Machine, cell: &Cell) -> Option<String> {
    let Virtualisation::Hypervisor(_) = &machine.virtualisation else { return None };
    let first = cell.arrangement.cpus.first()?;
    let apart = cell.arrangement.cpus.iter().any(|cpu| cpu != first);
    apart.then(|| "Holds while the host leaves these virtual CPUs where they are.".into())
}

/// A ratio that was one thing in the first half of a cell and another in the second.
///
/// Blocks are then not repetitions of one experiment, and the interval of the whole is between two
/// truths. Both halves of each cell's first comparison get an exact interval; all of them together
/// raise a false alarm with probability at most the level. None if the halves agree.
fn drift(trial: &Trial, cell: &Cell, evidence: &Evidence) -> Option<String> {
    let comparison = cell.arrangement.comparisons.first()?;
    let ratios = paired(trial.descriptor.judge, &cell.samples, comparison).values;
    let (early, late) = ratios.split_at(ratios.len() / 2);
    let level = bonferroni(LEVEL, 2 * trial.cells.len())?;
    let interval = |half: &[f64]| Some(sign::interval(&Ordered::new(half.to_vec())?, level)?.interval);
    let (early, late) = (interval(early)?, interval(late)?);
    if early.low - late.high <= WORTH_A_WORD && late.low - early.high <= WORTH_A_WORD {
        return None;
    }
    let said = |half: Interval| {
        range(trial.descriptor.quantity, &Evidence { interval: as_ratios(half), ..evidence.clone() })
    };
    Some(format!(
        "It changed while it was measured: {} in the first half, {} in the second.",
        said(early),
        said(late)
    ))
}
