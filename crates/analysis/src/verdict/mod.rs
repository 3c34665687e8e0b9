//! From a run to its answers: different, equivalent, or refused.
//!
//! The method, for every comparison: one log ratio a block, the exact sign-test interval of their
//! median, at a level that is shared by all comparisons of the experiment (Bonferroni) and by all
//! looks at the data (alpha spending). See [`crate::stats`] for each piece.

mod across;
mod caveat;
mod decide;
mod overhead;
mod sentence;

pub(crate) use decide::percent;
pub(crate) use sentence::{outward, show};

use tenbin_model::verdict::CheckedVariant;
use tenbin_model::{Answer, Cell, Comparison, Descriptor, Machine, Refusal, Report, Run, Trial, Verdict};

pub use across::{Across, Shared, across};
pub use decide::{LEVEL, decided, least_blocks};
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
        answers: Vec::new(),
        findings: Vec::new(),
        checks: Vec::new(),
    };
    for trial in &run.trials {
        report.answers.extend(answers(&run.machine, trial));
        report.findings.extend(trial.cells.iter().filter_map(|cell| overhead::finding(trial, cell)));
        report.findings.extend(trial.findings.iter().cloned());
        report.checks.extend(checks(trial));
    }
    report
}

/// The answers of one experiment on `machine`, cell by cell, in the order of their plan.
pub fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    if let Some(refusal) = &trial.refusal {
        return vec![refused(&trial.descriptor, "", true, refusal)];
    }
    let family = trial.family();
    trial
        .cells
        .iter()
        .flat_map(|cell| {
            let comparisons = cell.arrangement.comparisons.iter().enumerate();
            match &cell.refusal {
                // One answer stands for the cell: it was refused as a whole.
                Some(refusal) => {
                    let label = &cell.arrangement.label;
                    vec![refused(&trial.descriptor, label, cell.arrangement.headline, refusal)]
                }
                None => comparisons
                    .map(|(place, comparison)| {
                        let headline = cell.arrangement.headline && place == 0;
                        let answer = answer(&trial.descriptor, family, cell, comparison, headline);
                        let caveat = caveat::of(machine, trial, cell, &answer, place == 0);
                        Answer { caveat, ..answer }
                    })
                    .collect(),
            }
        })
        .collect()
}

fn answer(
    descriptor: &Descriptor,
    family: usize,
    cell: &Cell,
    comparison: &Comparison,
    headline: bool,
) -> Answer {
    let label = &cell.arrangement.label;
    let outcome = decide::decide(descriptor, family, cell, comparison);
    Answer {
        experiment: descriptor.name.clone(),
        question: descriptor.question.clone(),
        cell: label.clone(),
        headline,
        verdict: outcome.verdict,
        sentence: sentence::of(descriptor, label, &outcome),
        caveat: None,
        evidence: outcome.evidence,
        refusal: outcome.refusal,
    }
}

fn refused(descriptor: &Descriptor, label: &str, headline: bool, refusal: &Refusal) -> Answer {
    Answer {
        experiment: descriptor.name.clone(),
        question: descriptor.question.clone(),
        cell: label.into(),
        headline,
        verdict: Verdict::Refused,
        sentence: sentence::refusal(refusal),
        caveat: None,
        evidence: None,
        refusal: Some(refusal.clone()),
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

#[cfg(test)]
mod tests;
