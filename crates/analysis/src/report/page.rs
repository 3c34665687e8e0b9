//! A run as a page.

use tenbin_document::words::comma;
use tenbin_document::{Block, Document, Mark, Page, Section, Summary};
use tenbin_model::{Answer, CheckReport, Run};

use super::claims;
use super::machine::{chosen, machine};
use super::pictures::{pictures, samples};
use super::text::{instrument, with_caveat};
use crate::analysis::{Analyses, Reported};

/// The tables of more cells than these are folded.
const CELLS: usize = 1;

/// A run and what it came to: the answers, then a part for each experiment with its pictures and tables, and
/// with every sample if they are asked for.
pub fn as_page(analyses: &Analyses, run: &Run, reported: &Reported, has_samples: bool) -> Page {
    let report = &reported.report;
    let names = run.trials.iter().map(|trial| trial.descriptor.name.as_str());
    let mut page = Page {
        title: format!("tenbin: {}", comma(names)),
        about: about(run, report.run.as_deref()),
        remarks: instrument(report),
        ..Page::default()
    };
    page.remarks.push(folded("All that is known of the machine", machine(&run.machine)));
    let mut checked = Vec::new();
    for (place, (trial, sheet)) in run.trials.iter().zip(&reported.sheets).enumerate() {
        let descriptor = &trial.descriptor;
        let own = |answer: &&Answer| answer.experiment == descriptor.name;
        let answers: Vec<&Answer> = report.answers.iter().filter(own).collect();
        for answer in answers.iter().filter(|answer| answer.headline) {
            page.summaries.push(Summary {
                section: place,
                name: descriptor.name.clone(),
                mark: Mark::Verdict(answer.verdict),
                sentence: with_caveat(answer),
            });
        }
        let analysis = analyses.of(descriptor);
        if let Some(question) = analysis.and_then(|analysis| analysis.claims(trial)) {
            page.summaries.extend(claims::summaries(place, &question));
            checked.push(question);
        }
        let mut document = sheet.answer.clone();
        let mut all = Vec::new();
        if let Some(analysis) = analysis {
            document.append(pictures(analysis, trial, &answers));
            if has_samples {
                all = samples(analysis, trial);
            }
        }
        if trial.cells.len() > CELLS {
            document.push(folded("Tables, checks and what others published", sheet.detail.clone()));
        } else {
            document.append(sheet.detail.clone());
        }
        page.sections.push(Section {
            name: descriptor.name.clone(),
            about: descriptor.question.clone(),
            document,
            samples: all,
        });
    }
    if !checked.is_empty() {
        page.title =
            format!("tenbin check: {}", comma(checked.iter().map(|question| question.name.as_str())));
        page.lead = claims::claim_counts(&CheckReport::of(checked));
    }
    page
}

pub(super) fn folded(title: &str, document: Document) -> Block {
    Block::Folded { title: title.into(), document }
}

/// When it was measured, by what, and on what.
fn about(run: &Run, id: Option<&str>) -> Vec<(String, String)> {
    const SHOWN: [&str; 5] = ["CPU model", "CPUs usable", "virtualisation", "kernel", "load"];
    let mut about = vec![("measured".to_owned(), started(run))];
    about.extend(id.map(|id| ("run".to_owned(), short(id).to_owned())));
    let build = run.provenance.build.as_ref().map_or_else(String::new, |build| format!(" ({build})"));
    about.push(("by".into(), format!("tenbin {}{build}", run.provenance.version)));
    if !run.provenance.arguments.is_empty() {
        about.push(("asked".into(), format!("tenbin {}", shell_words::join(&run.provenance.arguments))));
    }
    about.extend(chosen(&run.machine, &SHOWN));
    about
}

/// When a run was begun, to the second.
pub(super) fn started(run: &Run) -> String {
    match run.provenance.started.split_once('.') {
        Some((seconds, _)) => format!("{seconds}Z"),
        None => run.provenance.started.clone(),
    }
}

/// The first digits of a run's name.
pub(super) fn short(id: &str) -> &str {
    id.get(..12).unwrap_or(id)
}
