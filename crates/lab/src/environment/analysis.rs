//! What an environment costs, of runs of the same inside and outside: a row for the start and for each kind
//! of work.

use tenbin_analysis::report::{checked, ratios};
use tenbin_analysis::verdict::{comparisons, refused_in_words};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::interval::{outward, show};
use tenbin_document::words::percent;
use tenbin_document::{Document, Table};
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{
    Answer, Cell, Machine, Picoseconds, Purpose, Reading, Refusal, Trial, VariantIndex, Verdict,
};
use tenbin_stats::order::Ordered;

use super::{NAME, SAME_FILE_SYSTEM};

/// The end of the names of work that is done in memory.
const IN_MEMORY: &str = " in memory";

/// Environments, weighed.
pub const ENVIRONMENT: &dyn Analysis = &Environment;

struct Environment;

impl Analysis for Environment {
    fn name(&self) -> &'static str {
        NAME
    }

    fn scope(&self) -> &'static str {
        "Intervals cover what varied while work was done in turns here and inside, by one process on each side; an environment that \
         is made anew may find another ratio."
    }

    fn calibrated_by(&self) -> Purpose {
        Purpose::Command
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let mut answers = comparisons::answers(|cell| self.time(cell), machine, trial);
        let (mut parts, mut undecided) = (Vec::new(), Vec::new());
        let (mut refusals, mut is_short) = (Document::new(), false);
        for answer in &mut answers {
            let cell = trial.cells.iter().find(|cell| cell.arrangement.label == answer.cell);
            let elsewhere = cell.and_then(|cell| elsewhere(answer, cell));
            let is_elsewhere = elsewhere.is_some();
            if let Some(refusal) = elsewhere {
                answer.verdict = Verdict::Refused;
                answer.caveat = None;
                answer.sentence = refused_in_words(&refusal);
                answer.refusal = Some(refusal);
            }
            if let Some(phrase) = phrase(trial, answer, cell) {
                answer.sentence = format!("Inside, {phrase}.");
                answer.brief = phrase.clone();
                parts.push(phrase);
                continue;
            }
            undecided.push(about(answer));
            if answer.evidence.is_none() || is_elsewhere {
                refusals.paragraph(0, answer.sentence.clone());
            } else {
                is_short = true;
            }
        }
        if !undecided.is_empty() {
            parts.push(format!("not decided: {}", comma(undecided)));
        }
        let mut view = Document::new();
        if !parts.is_empty() {
            view.paragraph(0, format!("Inside, {}.", semicolon(parts)));
        }
        view.append(refusals);
        if is_short {
            view.paragraph(0, "What else is not decided needs more time (--thorough) or a quieter machine.");
        }
        // It is that of the machine, and so of all of them.
        if let Some(caveat) = answers.iter().find_map(|answer| answer.caveat.as_ref()) {
            view.paragraph(0, caveat.clone());
        }
        if let Some(picture) = ratios(trial, &answers) {
            view.space().push(picture);
        }
        if let Some(table) = table(trial, &answers) {
            view.space().table(table);
        }
        view.space().append(checked(trial, &trial.cells));
        Judged { answers, findings: Vec::new(), view }
    }
}

/// Why a difference is none of the environment: on both sides files lie in the same file system, at other
/// places of it.
fn elsewhere(answer: &Answer, cell: &Cell) -> Option<Refusal> {
    let is_same = cell
        .gauges
        .iter()
        .any(|it| it.name == SAME_FILE_SYSTEM && matches!(it.reading, Reading::Count(count) if count > 0.0));
    let evidence = answer.evidence.as_ref()?;
    let is_file_work = is_same && !evidence.left.ends_with(IN_MEMORY);
    (is_file_work && answer.verdict == Verdict::Different).then(|| Refusal {
        reached: format!(
            "{} takes {} times as long inside, and on both sides it is done in the same file system, where it matters \
             where files lie",
            about(answer),
            outward(evidence.interval)
        ),
        needs: "file systems that are told apart by the environment".into(),
        remedy: "see the same in memory, or name another folder on one side (env TMPDIR=FOLDER)".into(),
    })
}

fn about(answer: &Answer) -> String {
    let work = answer.cell.strip_prefix("for ").unwrap_or(&answer.cell);
    let is_in_memory = answer.evidence.as_ref().is_some_and(|evidence| evidence.left.ends_with(IN_MEMORY));
    if is_in_memory { format!("{work}{IN_MEMORY}") } else { work.into() }
}

/// What is known, as part of a sentence that begins with "Inside". None where nothing is.
fn phrase(trial: &Trial, answer: &Answer, cell: Option<&Cell>) -> Option<String> {
    let about = about(answer);
    let (inside, here) = times(trial, answer, cell?)?;
    let evidence = answer.evidence.as_ref()?;
    match answer.verdict {
        Verdict::Different => {
            let ratio = show(evidence.ratio, evidence.interval);
            Some(format!("{about} takes {ratio}x as long as here ({inside} and {here})"))
        }
        Verdict::Equivalent => {
            Some(format!("{about} takes as long as here, within {} ({inside})", percent(evidence.margin)))
        }
        Verdict::Refused => None,
    }
}

/// The times inside and here that an answer compares.
fn times(trial: &Trial, answer: &Answer, cell: &Cell) -> Option<(Picoseconds, Picoseconds)> {
    let evidence = answer.evidence.as_ref()?;
    let of = |name: &str| {
        let place = trial.descriptor.variants.iter().position(|variant| variant.name == name)?;
        median(cell, VariantIndex::from(place))
    };
    Some((of(&evidence.right)?, of(&evidence.left)?))
}

/// The middle of a variant's times for one start, or one piece of work.
pub(crate) fn median(cell: &Cell, variant: VariantIndex) -> Option<Picoseconds> {
    let of_variant = cell.samples.iter().filter(|sample| sample.variant == variant);
    let times = of_variant.map(|sample| sample.elapsed.0 as f64 / sample.iterations.max(1) as f64);
    Some(Picoseconds(Ordered::new(times.collect())?.median() as u64))
}

/// A row for each cell that was timed.
fn table(trial: &Trial, answers: &[Answer]) -> Option<Table> {
    let rows: Vec<Vec<String>> = answers
        .iter()
        .filter_map(|answer| {
            let cell = trial.cells.iter().find(|cell| cell.arrangement.label == answer.cell)?;
            let evidence = answer.evidence.as_ref()?;
            let (inside, here) = times(trial, answer, cell)?;
            Some(vec![
                about(answer),
                here.to_string(),
                inside.to_string(),
                format!("{}x", show(evidence.ratio, evidence.interval)),
                outward(evidence.interval),
                match answer.verdict {
                    Verdict::Different => "different",
                    Verdict::Equivalent => "equivalent",
                    Verdict::Refused => "refused",
                }
                .into(),
                evidence.blocks.to_string(),
            ])
        })
        .collect();
    let header = ["", "here", "inside", "inside takes", "interval", "verdict", "blocks"];
    (!rows.is_empty()).then(|| Table::new(header, rows))
}
