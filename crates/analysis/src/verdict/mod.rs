//! From a run to its answers: different, equivalent, or refused.
//!
//! The method, for every comparison: one log ratio a block, the exact sign-test interval of their
//! median, at a level that is shared by all comparisons of the experiment (Bonferroni) and by all
//! looks at the data (alpha spending). See `tenbin_stats` for each piece.

mod across;
pub(crate) mod capacities;
mod caveat;
mod comparisons;
mod decide;
mod distances;
pub(crate) mod lateness;
pub(crate) mod laws;
mod overhead;
mod processes;
mod regimes;
mod sentence;
mod thrashing;
pub(crate) mod transfers;

pub(crate) use decide::time;
pub(crate) use sentence::{briefly, range};

use tenbin_model::verdict::CheckedVariant;
use tenbin_model::{Answer, Finding, Judge, Machine, Report, Run, Sizes, Trial};

pub use across::{Across, Compared, Kept, MOST_OTHERS, across};
pub use decide::{decided, depends, least_blocks};
pub use processes::{OverProcesses, Processes, processes};
pub use sentence::refusal as refused_in_words;

/// Computes every answer of a run. `id` is the run's name in the store, if it was kept.
///
/// The same run gives the same report, whenever and wherever it is computed.
pub fn report(run: &Run, id: Option<&str>) -> Report {
    let mut report = Report {
        schema: Report::SCHEMA.into(),
        run: id.map(str::to_owned),
        provenance: run.provenance.clone(),
        machine: run.machine.clone(),
        instrument: None,
        scope: None,
        answers: Vec::new(),
        findings: Vec::new(),
        checks: Vec::new(),
    };
    for trial in &run.trials {
        report.answers.extend(answers(&run.machine, trial));
        report.findings.extend(trial.cells.iter().filter_map(|cell| overhead::finding(trial, cell)));
        report.findings.extend(findings(&run.machine, trial));
        report.findings.extend(trial.findings.iter().cloned());
        report.checks.extend(checks(trial));
    }
    report.scope = processes::scope(&report.answers);
    report
}

/// The answers of one experiment on `machine`, by the judge that it names.
pub fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    if let Some(refusal) = &trial.refusal {
        return vec![comparisons::refused(&trial.descriptor, "", true, refusal)];
    }
    match trial.descriptor.judge {
        Judge::Comparisons => comparisons::answers(machine, trial),
        Judge::Thrashing => thrashing::answers(machine, trial),
        Judge::Transfers => transfers::answers(machine, trial),
        Judge::Capacities => capacities::answers(machine, trial),
        Judge::Distances => distances::answers(machine, trial),
        Judge::Lateness => lateness::answers(machine, trial),
        Judge::Laws => laws::answers(machine, trial),
    }
}

fn checks(trial: &Trial) -> impl Iterator<Item = CheckedVariant> {
    trial.cells.iter().flat_map(move |cell| {
        cell.checks.iter().map(move |check| CheckedVariant {
            experiment: trial.descriptor.name.clone(),
            cell: cell.arrangement.label.clone(),
            variant: trial.descriptor.variants[check.variant as usize].name.clone(),
            check: check.clone(),
        })
    })
}

/// What the samples of one experiment show beside its answers.
fn findings(machine: &Machine, trial: &Trial) -> Vec<Finding> {
    match trial.descriptor.judge {
        Judge::Capacities => capacities::findings(machine, trial),
        Judge::Thrashing => thrashing::taken_apart(machine, trial)
            .into_iter()
            .chain(thrashing::footnote(machine, trial))
            .chain(thrashing::counters(machine, trial))
            .collect(),
        _ => Vec::new(),
    }
}

/// What is known of cache sizes on `machine` after `caches` has been measured there, or before.
pub fn sizes(machine: &Machine, caches: Option<&Trial>) -> Sizes {
    capacities::sizes(machine, caches)
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
