//! What the intervals of a run cannot cover, said where it applies.

use tenbin_model::machine::Virtualisation;
use tenbin_model::{Finding, Machine, Trial};

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
