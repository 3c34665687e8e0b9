//! The judge of comparisons: every pair of every cell by the ratio of its two variants.

use tenbin_model::{Answer, Cell, Comparison, Descriptor, Machine, Refusal, Trial, Verdict};

use super::{caveat, decide, sentence};

/// The answers of a trial, cell by cell, in the order of their plan.
pub(super) fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    trial.cells.iter().flat_map(|cell| of_cell(machine, trial, cell)).collect()
}

/// The answers of one cell, in the order of its comparisons.
pub(super) fn of_cell(machine: &Machine, trial: &Trial, cell: &Cell) -> Vec<Answer> {
    of_cell_among(trial.family(), machine, trial, cell)
}

/// The same where so many intervals share the level.
pub(super) fn of_cell_among(family: usize, machine: &Machine, trial: &Trial, cell: &Cell) -> Vec<Answer> {
    let Trial { descriptor, .. } = trial;
    if let Some(refusal) = &cell.refusal {
        // One answer stands for the cell: it was refused as a whole.
        return vec![refused(descriptor, &cell.arrangement.label, cell.arrangement.headline, refusal)];
    }
    let comparisons = cell.arrangement.comparisons.iter().enumerate();
    comparisons
        .map(|(place, comparison)| {
            let headline = cell.arrangement.headline && place == 0;
            let answer = answer(machine, descriptor, family, cell, comparison, headline);
            let caveat = caveat::of(machine, trial, cell, &answer);
            Answer { caveat, ..answer }
        })
        .collect()
}

fn answer(
    machine: &Machine,
    descriptor: &Descriptor,
    family: usize,
    cell: &Cell,
    comparison: &Comparison,
    headline: bool,
) -> Answer {
    let label = &cell.arrangement.label;
    let outcome = decide::decide(machine, descriptor, family, cell, comparison);
    Answer {
        verdict: outcome.verdict,
        sentence: sentence::of(descriptor, label, &outcome),
        evidence: outcome.evidence,
        refusal: outcome.refusal,
        ..empty(descriptor, label, headline)
    }
}

/// An answer that refuses.
pub(super) fn refused(descriptor: &Descriptor, label: &str, headline: bool, refusal: &Refusal) -> Answer {
    Answer {
        sentence: sentence::refusal(refusal),
        refusal: Some(refusal.clone()),
        ..empty(descriptor, label, headline)
    }
}

/// An answer to the experiment's question in the cell of this label that says nothing yet.
pub(super) fn empty(descriptor: &Descriptor, label: &str, headline: bool) -> Answer {
    Answer {
        experiment: descriptor.name.clone(),
        question: descriptor.question.clone(),
        cell: label.into(),
        headline,
        verdict: Verdict::Refused,
        sentence: String::new(),
        caveat: None,
        evidence: None,
        refusal: None,
        figures: Vec::new(),
        grids: Vec::new(),
    }
}
