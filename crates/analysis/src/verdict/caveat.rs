//! What the intervals of a run cannot cover, said where it applies.

use tenbin_model::machine::Virtualisation;
use tenbin_model::{Cell, Finding, Machine, Trial};

use super::decide::{LEVEL, paired};
use super::sentence::outward;
use crate::stats::multiple::bonferroni;
use crate::stats::order::Ordered;
use crate::stats::paired::as_ratios;
use crate::stats::sign;

/// On a virtual machine the distance between two CPUs is the host's to choose, now and again later.
///
/// Seen in practice: the same comparison on two virtual CPUs gave 1.3 and 2.4 in runs seconds apart, each
/// with an interval of a few per cent, whatever the address and the order. An interval covers what
/// varied while the run lasted; it cannot cover what changes after it.
pub(super) fn placement(machine: &Machine, trial: &Trial) -> Option<Finding> {
    let Virtualisation::Hypervisor(name) = &machine.virtualisation else { return None };
    let several = trial.cells.iter().filter(|cell| {
        let mut cpus = cell.arrangement.cpus.clone();
        cpus.sort_unstable();
        cpus.dedup();
        cpus.len() > 1 && !cell.samples.is_empty()
    });
    let cells = several.count();
    (cells > 0).then(|| Finding {
        experiment: trial.descriptor.name.clone(),
        sentence: "This is a virtual machine: its host decides how near two CPUs are, and may decide anew. \
                   Ratios between CPUs hold for the time of this run; run again later and `tenbin compare`."
            .into(),
        evidence: format!("{cells} cells used more than one CPU; virtualised by {name}"),
        confidence: "what could move was not observed, only that it can".into(),
    })
}

/// A ratio that was one thing in the first half of a cell and another in the second.
///
/// Blocks are then not repetitions of one experiment, and the interval of the whole is between two
/// truths. Both halves of each cell's first comparison get an exact interval; all of them together
/// raise a false alarm with probability at most the level. None if the halves agree.
pub(super) fn drift(trial: &Trial, cell: &Cell) -> Option<String> {
    let comparison = cell.arrangement.comparisons.first()?;
    let ratios = paired(&cell.samples, comparison).values;
    let (early, late) = ratios.split_at(ratios.len() / 2);
    let level = bonferroni(LEVEL, 2 * trial.cells.len())?;
    let interval = |half: &[f64]| Some(sign::interval(&Ordered::new(half.to_vec())?, level)?.interval);
    let (early, late) = (interval(early)?, interval(late)?);
    // Halves that differ by less than what counts as equal are not worth a word.
    let margin = trial.descriptor.margin.ln_1p();
    if early.low - late.high <= margin && late.low - early.high <= margin {
        return None;
    }
    Some(format!(
        "It changed while it was measured: {} in the first half, {} in the second.",
        outward(as_ratios(early)),
        outward(as_ratios(late))
    ))
}
