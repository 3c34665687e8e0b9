//! Answers as text.

use tenbin_document::words::{and, comma, counted, percent};
use tenbin_document::{Block, Document};
use tenbin_model::order::grouped;
use tenbin_model::unit::three_digits;
use tenbin_model::verdict::CheckedVariant;
use tenbin_model::{Answer, Cell, Descriptor, Finding, Order, Quantity, Report, Role, Trial, Verdict};

use super::brief::{mark, measured_on};
use super::pictures::ratios;
use super::table;
use crate::across::Across;
use crate::analysis::Analysis;
use crate::processes::Processes;
use crate::verdict::Time;
use crate::verdict::caveat::PLACEMENT;

/// The columns of a name in a list.
const NAME: usize = 10;

/// What is printed below the answers of a run: how far they may be trusted, and on what they were measured.
pub fn tail(report: &Report) -> Document {
    let mut document = instrument(report);
    if document.blocks.is_empty() {
        document.space();
    }
    document.append(measured_on(report));
    document
}

/// What the intervals do not cover, and what is known of the instrument's errors where the report was
/// measured, or how to come to know it.
pub fn instrument(report: &Report) -> Document {
    const UNKNOWN: &str = "How often tenbin errs on the machine of this run is not known yet: `tenbin \
         calibrate`, run there, measures it in ten minutes.";
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

/// What people read of one experiment of a run.
#[derive(Clone, Debug)]
pub struct Sheet {
    /// Its name and its question; nothing of what is a user's, who knows what he asked.
    pub title: Document,
    /// The answers, and of several ratios a picture. Of what is a user's they stand in the detail.
    pub answer: Document,
    /// What they rest on: tables, checks, findings, what others published.
    pub detail: Document,
}

impl Sheet {
    /// All of it as text, folded at `width` columns.
    pub fn text(&self, width: usize) -> String {
        [&self.title, &self.answer, &self.detail].map(|part| part.text(width)).concat()
    }
}

/// The sheet of a trial. `view` is what its analysis shows of it.
pub(crate) fn sheet(
    analysis: Option<&dyn Analysis>,
    trial: &Trial,
    answers: &[Answer],
    findings: &[Finding],
    view: Document,
) -> Sheet {
    let descriptor = &trial.descriptor;
    let [mut title, mut answer, mut detail] = [Document::new(), Document::new(), view];
    if !descriptor.is_of_user() {
        title.entry(&descriptor.name, &descriptor.question);
        let (summary, rest) = summed_up(analysis, answers);
        answer = answered(trial, &summary, answers);
        detail.append(left_open(&rest));
        let checked = checked(trial, &trial.cells);
        if !checked.blocks.is_empty() {
            detail.space().append(checked);
        }
    }
    if !findings.is_empty() {
        detail.space();
        if !trial.cells.is_empty() {
            detail.line("Also observed");
        }
        for finding in findings {
            beside(&mut detail, finding);
        }
    }
    for (source, table) in table::published(trial, answers) {
        detail.space().line(format!("Published: {source}")).space().table(table);
    }
    Sheet { title, answer, detail }
}

/// The answer of an experiment, and others that say more than a picture of their ratios, each with its mark;
/// what is to be kept in mind with all of them; the picture.
fn answered(trial: &Trial, summary: &[&Answer], answers: &[Answer]) -> Document {
    let mut document = Document::new();
    if summary.is_empty() {
        return document;
    }
    let several = trial.cells.len() > 1;
    let mut drawn: Vec<&Answer> = if several { summary.to_vec() } else { answers.iter().collect() };
    drawn.order_by_key(|answer| trial.cells.iter().position(|cell| cell.arrangement.label == answer.cell));
    let picture = ratios(trial, drawn);
    let is_drawn = |answer: &Answer| {
        let in_words = answer.headline || answer.verdict == Verdict::Refused || answer.evidence.is_none();
        picture.is_some() && !in_words
    };
    document.space();
    let mut is_placed = false;
    let paragraphs = summary.iter().filter_map(|answer| {
        let whole = with_caveat(answer);
        let words = whole.strip_suffix(PLACEMENT).inspect(|_| is_placed = true).unwrap_or(&whole);
        let is_said = is_drawn(answer) && words.trim_end() == answer.sentence;
        (!is_said).then(|| (format!("{} {}", mark(answer), words.trim_end()), ()))
    });
    // One that was not measured says no more than that: it says it once for all of them.
    for (mut text, all) in grouped(paragraphs) {
        if all.len() > 1 {
            text += &format!(" ({} answers)", all.len());
        }
        document.push(Block::Paragraph { indent: 2, hang: 2, text });
    }
    if is_placed {
        document.paragraph(4, PLACEMENT);
    }
    if let Some(picture) = picture {
        document.space().push(picture);
    }
    document
}

/// The answers that are read before all tables, that of the experiment first; and all others.
fn summed_up<'a>(
    analysis: Option<&dyn Analysis>,
    answers: &'a [Answer],
) -> (Vec<&'a Answer>, Vec<&'a Answer>) {
    let mut seen = Vec::new();
    let (mut summary, rest): (Vec<&Answer>, _) = answers.iter().partition(|answer| {
        let is_first = !seen.contains(&answer.cell);
        seen.push(answer.cell.clone());
        analysis.is_none_or(|analysis| analysis.is_summary(answer, is_first))
    });
    summary.order_by_key(|answer| !answer.headline);
    (summary, rest)
}

/// What would decide the comparisons that were refused and of which tables say no more than that.
fn left_open(rest: &[&Answer]) -> Document {
    let weighed = rest.iter().filter(|answer| answer.evidence.is_some());
    let remedies = grouped(weighed.filter_map(|answer| Some((&answer.refusal.as_ref()?.remedy, ()))));
    let mut document = Document::new();
    if !remedies.is_empty() {
        document.space();
    }
    for (remedy, all) in remedies {
        let comparisons = counted(all.len(), "comparison");
        let was = if all.len() == 1 { "was" } else { "were" };
        document.paragraph(2, format!("In the tables {comparisons} {was} refused: {remedy}."));
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

/// Each cell with its tables.
pub fn cell_by_cell(time: impl Fn(&Cell) -> Time, trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for cell in &trial.cells {
        let here: Vec<&Answer> =
            answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
        let tables = table::variants(time(cell), &trial.descriptor, cell);
        let mut tables = tables.into_iter().chain(table::comparisons(&trial.descriptor, &here)).peekable();
        if tables.peek().is_some() {
            document.space().line(format!("{} (workers on CPU {})", cell.arrangement.label, places(cell)));
        }
        for table in tables {
            document.space().table(table);
        }
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
        // What others published ended in no way that is known here. Of no cell nothing is expected.
        let published = cells.iter().all(|cell| cell.ended.is_none() && cell.refusal.is_none());
        if !published {
            document.paragraph(2, "Nothing was checked.");
        }
        return document;
    }
    let met = checks().filter(|check| !check.sabotage && check.met).count();
    let measured = checks().filter(|check| !check.sabotage).count();
    let caught = checks().filter(|check| check.sabotage && !check.met).count();
    let each = trial.descriptor.planted_faults().count();
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
        document.line(format!("{:NAME$}{}", descriptor.name, descriptor.question));
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
    let margin = three_digits(descriptor.margin * 100.0);
    document.entry("scale", format!("{sample}; equivalent means within {margin} %"));
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
        document.paragraph(0, format!("What {named} answers is not a ratio, and was not compared."));
    }
    for remark in [&across.remedy, &across.remark].into_iter().flatten() {
        document.paragraph(0, remark);
    }
    if !across.comparisons.is_empty() {
        let remark = "Ratios are compared and times are not: epochs of two runs were never interleaved.";
        document.paragraph(0, remark);
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
        let remark =
            format!("No ratio, and so no interval over processes: {names}. `tenbin show` has each run.");
        document.paragraph(0, remark);
    }
    let (count, level) = (processes.processes, percent(processes.level));
    let remark = format!("Intervals are over {count} processes, exact, at {level} for each experiment.");
    document.space().paragraph(0, remark);
    document
}
