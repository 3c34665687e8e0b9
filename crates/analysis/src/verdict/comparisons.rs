//! The judge of comparisons: every pair of every cell by the ratio of its two variants.

use tenbin_model::{Answer, Cell, Descriptor, Interval, Machine, Quantity, Refusal, Trial, Verdict};

use super::decide::{self, Time};
use super::{caveat, sentence};
use tenbin_document::words::percent;
use tenbin_model::unit::three_digits;

/// The answers of a trial, cell by cell, in the order of their plan.
pub fn answers(time: impl Fn(&Cell) -> Time, machine: &Machine, trial: &Trial) -> Vec<Answer> {
    trial.cells.iter().flat_map(|cell| of_cell(time(cell), machine, trial, cell)).collect()
}

/// The answers of one cell, in the order of its comparisons.
pub fn of_cell(time: Time, machine: &Machine, trial: &Trial, cell: &Cell) -> Vec<Answer> {
    of_cell_among(trial.family(), time, machine, trial, cell)
}

/// The same where so many intervals share the level.
pub fn of_cell_among(
    family: usize,
    time: Time,
    machine: &Machine,
    trial: &Trial,
    cell: &Cell,
) -> Vec<Answer> {
    let Trial { descriptor, .. } = trial;
    if let Some(refusal) = &cell.refusal {
        // One answer stands for the cell: it was refused as a whole.
        return vec![refused(descriptor, &cell.arrangement.label, cell.arrangement.headline, refusal)];
    }
    let comparisons = cell.arrangement.comparisons.iter().enumerate();
    comparisons
        .map(|(place, comparison)| {
            let (label, headline) = (&cell.arrangement.label, cell.arrangement.headline && place == 0);
            let outcome = decide::decide(time, machine, descriptor, family, cell, comparison);
            let mut answer = Answer {
                verdict: outcome.verdict,
                sentence: sentence::of(descriptor, label, &outcome),
                evidence: outcome.evidence,
                refusal: outcome.refusal,
                ..empty(descriptor, label, headline)
            };
            // The cores of a guest are its host's, who lends them to others as well.
            if machine.is_guest() {
                let sway = cell.arrangement.sway.unwrap_or(descriptor.sway);
                beyond(&mut answer, descriptor.quantity, sway, OVER_RUNS);
            }
            let caveat = caveat::of(machine, trial, cell, &answer);
            Answer { caveat, ..answer }
        })
        .collect()
}

/// What settles a difference that another run on a shared machine may not have.
const OVER_RUNS: &str =
    "weigh it over several processes (--processes 10), or where nobody else uses the cores";

/// Takes back a "different" whose interval reaches to within `distance` of 1, a fraction.
///
/// What others do on the same core, or with the same cache, changes what one instruction costs beside another
/// one; and it may last for all of a run. An interval over the blocks of this run knows nothing of the next:
/// `docs/method.md`.
pub fn beyond(answer: &mut Answer, quantity: Quantity, distance: f64, remedy: &str) {
    let Some(evidence) = answer.evidence.as_ref().filter(|_| answer.verdict == Verdict::Different) else {
        return;
    };
    let Interval { low, high } = evidence.interval;
    if distance == 0.0 || low >= 1.0 + distance || high <= 1.0 / (1.0 + distance) {
        return;
    }
    let within = if distance > evidence.margin {
        let beyond = match distance {
            ..1.0 => format!("{} of it", percent(distance)),
            _ => format!("{}x", three_digits(1.0 + distance)),
        };
        format!(
            "an interval within {} of 1, or beyond {beyond}, by which runs on a shared machine may differ,",
            percent(evidence.margin)
        )
    } else {
        format!("an interval within {} of 1, or beyond that", percent(evidence.margin))
    };
    let claim = sentence::alone(quantity, evidence, Verdict::Different);
    let refusal = Refusal {
        reached: format!("in this run {claim} {}", answer.cell),
        needs: format!("{within} as a whole"),
        remedy: remedy.into(),
    };
    answer.verdict = Verdict::Refused;
    answer.caveat = None;
    answer.sentence = sentence::refusal(&refusal);
    answer.refusal = Some(refusal);
}

/// An answer that refuses.
pub fn refused(descriptor: &Descriptor, label: &str, headline: bool, refusal: &Refusal) -> Answer {
    Answer {
        sentence: sentence::refusal(refusal),
        refusal: Some(refusal.clone()),
        ..empty(descriptor, label, headline)
    }
}

/// An answer to the experiment's question in the cell of this label that says nothing yet.
pub fn empty(descriptor: &Descriptor, label: &str, headline: bool) -> Answer {
    Answer {
        experiment: descriptor.name.clone(),
        question: descriptor.question.clone(),
        cell: label.into(),
        headline,
        ..Answer::default()
    }
}
