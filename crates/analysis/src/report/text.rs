//! Answers as text.

use tenbin_document::words::{and, comma, counted, percent};
use tenbin_document::{Block, Document};
use tenbin_model::unit::three_digits;
use tenbin_model::verdict::CheckedVariant;
use tenbin_model::{Answer, Cell, Descriptor, Finding, Quantity, Report, Role, Trial};

use super::table;
use crate::across::Across;
use crate::processes::Processes;
use crate::verdict::Time;

/// The column in which sentences begin.
const INDENT: usize = 10;

/// What the intervals do not cover, and what is known of the instrument's errors where the report was
/// measured, or how to come to know it.
pub fn instrument(report: &Report) -> Document {
    const UNKNOWN: &str = "How often this instrument errs on that machine is not known yet: `tenbin calibrate` \
         measures it there in ten minutes.";
    let mut document = Document::new();
    // What is found by looking has no error rate.
    if report.answers.is_empty() {
        return document;
    }
    document.space();
    for sentence in
        report.scope.as_deref().into_iter().chain([report.instrument.as_deref().unwrap_or(UNKNOWN)])
    {
        document.paragraph(0, sentence);
    }
    document
}

/// The reasons for exit status 4, a paragraph each: every check that did not come out as it should. None if
/// there is none.
pub fn faults(report: &Report) -> Option<Document> {
    let mut document = Document::new();
    for CheckedVariant { experiment, cell, variant, check } in &report.checks {
        if check.as_expected() {
            continue;
        }
        // A user's commands have no arrangement that would have to be named.
        let of = if cell.is_empty() { String::new() } else { format!(" of `{experiment}`, {cell},") };
        document.paragraph(
            0,
            if check.sabotage {
                format!("Fault of tenbin: the planted fault `{variant}`{of} passed the check: {}. Please report it.", check.seen)
            } else {
                format!("Fault: `{variant}`{of} broke the specification: {}.", check.seen)
            },
        );
    }
    (!document.blocks.is_empty()).then_some(document)
}

/// Everything about one experiment of a run: question, what its analysis shows of it, findings, what others
/// published.
pub fn page(trial: &Trial, answers: &[Answer], findings: &[Finding], view: Document) -> Document {
    let mut document = Document::new();
    let descriptor = &trial.descriptor;
    // Of what is a user's the answer comes first.
    if !descriptor.is_of_user() {
        document.entry(&descriptor.name, &descriptor.question);
    }
    if trial.cells.is_empty() {
        for answer in answers {
            document.paragraph(INDENT, &answer.sentence);
        }
    } else {
        document.append(view);
    }
    if !findings.is_empty() {
        document.space();
        if !trial.cells.is_empty() {
            document.line("Found beside");
        }
        for finding in findings {
            beside(&mut document, finding);
        }
    }
    let measured: Vec<&str> = trial.cells.iter().map(|cell| cell.arrangement.label.as_str()).collect();
    if let Some(table) = table::published(descriptor, &measured) {
        document.space().table(table);
    }
    document
}

/// A finding: its sentence, then what was seen. Evidence of several lines keeps them, each as far in as it
/// stands, and what does not fit into a line goes on further in.
fn beside(document: &mut Document, finding: &Finding) {
    const FURTHER: usize = 4;
    document.paragraph(2, &finding.sentence);
    if !finding.evidence.contains('\n') {
        document.paragraph(4, format!("{} ({})", finding.evidence, finding.confidence));
        return;
    }
    for line in finding.evidence.lines() {
        let words = line.trim_start();
        let indent = 4 + line.len() - words.len();
        document.push(Block::Paragraph { indent, hang: FURTHER, text: words.into() });
    }
    document.paragraph(4, format!("({})", finding.confidence));
}

/// Each cell with its tables, its first answer and its checks.
pub fn cell_by_cell(time: impl Fn(&Cell) -> Time, trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for cell in &trial.cells {
        let here: Vec<&Answer> =
            answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
        document.space().line(format!("{} (workers on CPU {})", cell.arrangement.label, places(cell)));
        let tables = table::variants(time(cell), &trial.descriptor, cell);
        for table in tables.into_iter().chain(table::comparisons(&trial.descriptor, cell, &here)) {
            document.space().table(table);
        }
        document.space();
        if let Some(first) = here.first() {
            document.paragraph(2, with_caveat(first));
        }
        document.append(checked(trial, std::slice::from_ref(cell)));
    }
    document
}

/// The CPUs of a cell's workers, in order; of many, the first and the last.
fn places(cell: &Cell) -> String {
    const SHOWN: usize = 8;
    let cpus: Vec<String> = cell.arrangement.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    match cpus.as_slice() {
        [first @ .., last] if cpus.len() > SHOWN => format!("{}, …, {last}", comma(&first[..SHOWN - 1])),
        _ => comma(&cpus),
    }
}

/// What the checks of these cells came to, all together. Nothing of figures that others measured.
pub fn checked(trial: &Trial, cells: &[Cell]) -> Document {
    let mut document = Document::new();
    let checks = || cells.iter().flat_map(|cell| &cell.checks);
    if checks().next().is_none() {
        // What others published ended in no way that is known here.
        let published = cells.iter().all(|cell| cell.ended.is_none() && cell.refusal.is_none());
        if !published {
            document.paragraph(2, "Nothing was checked.");
        }
        return document;
    }
    let met = checks().filter(|check| !check.sabotage && check.met).count();
    let measured = checks().filter(|check| !check.sabotage).count();
    let caught = checks().filter(|check| check.sabotage && !check.met).count();
    let each = trial.descriptor.variants.iter().filter(|variant| variant.role == Role::Sabotage).count();
    let planted = each * cells.iter().filter(|cell| !cell.checks.is_empty()).count();
    let summary = format!(
        "Checked: {met} of {measured} variants met the specification ({}); {caught} of {planted} planted \
         faults were caught.",
        trial.descriptor.specification
    );
    document.paragraph(2, summary);
    document
}

/// An answer's sentence, and what is to be kept in mind with it.
pub fn with_caveat(answer: &Answer) -> String {
    match &answer.caveat {
        Some(caveat) => format!("{} {caveat}", answer.sentence),
        None => answer.sentence.clone(),
    }
}

/// The experiments, a line each.
pub fn listed(descriptors: &[Descriptor]) -> Document {
    let mut document = Document::new();
    for descriptor in descriptors {
        document.line(format!("{:INDENT$}{}", descriptor.name, descriptor.question));
    }
    document
}

/// An experiment's description: what it asks, how, and what can be set.
pub fn described(descriptor: &Descriptor) -> Document {
    let mut document = Document::new();
    document
        .entry(&descriptor.name, &descriptor.question)
        .entry("why", &descriptor.requirement)
        .entry("must", &descriptor.specification)
        .entry("needs", &descriptor.privileges)
        .entry("touches", &descriptor.touches);
    let sample = match descriptor.quantity {
        Quantity::Lateness => "a sample is one firing".to_owned(),
        _ => format!("epochs of {}", descriptor.epoch),
    };
    document.entry(
        "scale",
        format!("{sample}; equivalent means within {} %", three_digits(descriptor.margin * 100.0)),
    );
    document.space().line("variants");
    for variant in &descriptor.variants {
        let planted = if variant.role == Role::Sabotage { " (planted: must fail the check)" } else { "" };
        document.paragraph(2, format!("{}: {}{planted}", variant.name, variant.what));
    }
    if !descriptor.parameters.is_empty() {
        document.space().line("--set");
    }
    for parameter in &descriptor.parameters {
        document.paragraph(2, format!("{}={}: {}", parameter.name, parameter.default, parameter.what));
    }
    document.space().line("sources");
    for source in &descriptor.sources {
        document.paragraph(2, format!("{}: {}", source.title, source.taken));
    }
    document
}

/// Runs of two sides: the answer, then their machines, then every comparison.
pub fn compared(across: &Across) -> Document {
    let mut document = Document::new();
    document.paragraph(0, &across.sentence).paragraph(0, &across.machines.sentence);
    for difference in &across.machines.differences {
        document.paragraph(2, format!("{}: {} | {}", difference.name, difference.left, difference.right));
    }
    document.space();
    for compared in &across.comparisons {
        document.entry(&compared.experiment, &compared.sentence);
    }
    if across.unshared > 0 {
        let were = if across.unshared == 1 { "was" } else { "were" };
        document.line(format!("{} {were} made on one side only.", counted(across.unshared, "comparison")));
    }
    if !across.uncompared.is_empty() {
        let named = and(&across.uncompared);
        document.paragraph(0, format!("What {named} answers is no ratio, and was not compared."));
    }
    for remark in [&across.remedy, &across.remark].into_iter().flatten() {
        document.paragraph(0, remark);
    }
    if !across.comparisons.is_empty() {
        document.paragraph(
            0,
            "Ratios are compared and times are not: epochs of two runs were never interleaved.",
        );
    }
    document
}

/// What several processes answered together, an entry a comparison: first those that stand for their
/// experiment.
pub fn over_processes(processes: &Processes) -> Document {
    let mut document = Document::new();
    let (first, rest): (Vec<_>, Vec<_>) = processes.answers.iter().partition(|answer| answer.headline);
    for answer in first.into_iter().chain(rest) {
        document.entry(&answer.experiment, &answer.sentence);
    }
    for refused in &processes.refused {
        document.paragraph(0, refused);
    }
    if !processes.not_ratios.is_empty() {
        let names = comma(&processes.not_ratios);
        document.paragraph(
            0,
            format!(
                "No ratio, and so without an interval over processes: {names}. `tenbin show` has each run."
            ),
        );
    }
    let level = percent(processes.level);
    document.space().paragraph(
        0,
        format!(
            "Intervals are over {} processes, exact, at {level} for each experiment.",
            processes.processes
        ),
    );
    document
}
