//! Answers as text.

use tenbin_model::unit::three_digits;
use tenbin_model::verdict::CheckedVariant;
use tenbin_model::{Answer, Cell, Descriptor, Finding, Judge, Report, Role, Run, Trial};

use super::{late, pictured, table};
use crate::verdict::{Across, Processes, percent};

/// The column in which sentences begin.
const INDENT: usize = 10;

/// One answer an experiment: its name, then the sentence, folded at `width` columns.
pub fn survey(report: &Report, width: usize) -> String {
    let headlines = report.answers.iter().filter(|answer| answer.headline);
    headlines.map(|answer| entry(&answer.experiment, &said(answer), width)).collect()
}

/// What the intervals do not cover, and what is known of the instrument's errors where the report was measured, or how to come to
/// know it.
pub fn instrument(report: &Report, width: usize) -> String {
    const UNKNOWN: &str = "How often this instrument errs on that machine is not known yet: `tenbin calibrate` \
         measures it there in five minutes.";
    // What is found by looking has no error rate.
    if report.answers.is_empty() {
        return String::new();
    }
    let scope = report.scope.as_deref().map_or_else(String::new, |scope| folded(scope, 0, width));
    format!("\n{scope}{}", folded(report.instrument.as_deref().unwrap_or(UNKNOWN), 0, width))
}

/// The reasons for exit status 4, a paragraph each: every check that did not come out as it should. None if there is none.
pub fn faults(report: &Report, width: usize) -> Option<String> {
    let wrong = report.checks.iter().filter(|checked| !checked.check.as_expected());
    let lines: String = wrong
        .map(|CheckedVariant { experiment, cell, variant, check }| {
            let said = if check.sabotage {
                format!("Fault of tenbin: the planted fault `{variant}` of `{experiment}`, {cell}, passed the check: {}. Please report it.", check.seen)
            } else {
                format!("Fault: `{variant}` of `{experiment}`, {cell}, broke the specification: {}.", check.seen)
            };
            folded(&said, 0, width)
        })
        .collect();
    (!lines.is_empty()).then_some(lines)
}

/// Everything about one experiment of a run: question, tables, sentences, findings, what others found.
pub fn trial(run: &Run, report: &Report, name: &str, width: usize) -> String {
    let Some(trial) = run.trials.iter().find(|trial| trial.descriptor.name == name) else {
        return String::new();
    };
    let descriptor = &trial.descriptor;
    let ours = |experiment: &str| experiment == name;
    let answers: Vec<&Answer> = report.answers.iter().filter(|answer| ours(&answer.experiment)).collect();
    let mut text = entry(name, &descriptor.question, width);
    if trial.cells.is_empty() {
        text.extend(answers.iter().map(|answer| folded(&answer.sentence, INDENT, width)));
    } else {
        text.push_str(&match descriptor.judge {
            Judge::Comparisons | Judge::Thrashing => cell_by_cell(trial, &answers, width),
            Judge::Capacities => pictured::capacities(run, trial, &answers, width),
            Judge::Distances => pictured::distances(trial, &answers, width),
            Judge::Transfers => pictured::transfers(run, trial, &answers, width),
            Judge::Lateness => late::lateness(trial, &answers, width),
            Judge::Laws => pictured::laws(run, trial, &answers, width),
        });
    }
    let findings: Vec<&Finding> =
        report.findings.iter().filter(|finding| ours(&finding.experiment)).collect();
    if !findings.is_empty() {
        text.push_str(if trial.cells.is_empty() { "\n" } else { "\nFound beside\n" });
        for finding in findings {
            text.push_str(&found(finding, width));
        }
    }
    let measured: Vec<&str> = trial.cells.iter().map(|cell| cell.arrangement.label.as_str()).collect();
    if let Some(table) = table::published(descriptor, &measured) {
        text.push_str(&format!("\n{table}"));
    }
    text
}

/// A finding: its sentence, then what was seen. Evidence of several lines keeps them, each as far in as it stands, and
/// what does not fit into a line goes on further in.
fn found(finding: &Finding, width: usize) -> String {
    const FURTHER: usize = 4;
    let mut text = folded(&finding.sentence, 2, width);
    if !finding.evidence.contains('\n') {
        text.push_str(&folded(&format!("{} ({})", finding.evidence, finding.confidence), 4, width));
        return text;
    }
    for line in finding.evidence.lines() {
        let words = line.trim_start();
        let indent = 4 + line.len() - words.len();
        let whole = folded(words, indent, width.saturating_sub(FURTHER));
        let mut parts = whole.split_inclusive('\n');
        text.extend(parts.next());
        text.extend(parts.map(|part| format!("{}{part}", " ".repeat(FURTHER))));
    }
    text.push_str(&folded(&format!("({})", finding.confidence), 4, width));
    text
}

/// Each cell with its tables, its first answer and its checks.
fn cell_by_cell(trial: &Trial, answers: &[&Answer], width: usize) -> String {
    let mut text = String::new();
    for cell in &trial.cells {
        let here: Vec<&Answer> =
            answers.iter().copied().filter(|answer| answer.cell == cell.arrangement.label).collect();
        text.push_str(&format!("\n{} (workers on CPU {})\n", cell.arrangement.label, places(cell)));
        let tables = table::variants(&trial.descriptor, cell);
        for table in tables.into_iter().chain(table::comparisons(&trial.descriptor, cell, &here)) {
            text.push('\n');
            text.push_str(&table);
        }
        text.push('\n');
        if let Some(first) = here.first() {
            text.push_str(&folded(&said(first), 2, width));
        }
        text.push_str(&checked(trial, std::slice::from_ref(cell), width));
    }
    text
}

/// The CPUs of a cell's workers, in order; of many, the first and the last.
fn places(cell: &Cell) -> String {
    const SHOWN: usize = 8;
    let cpus: Vec<String> = cell.arrangement.cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    match cpus.as_slice() {
        [first @ .., last] if cpus.len() > SHOWN => format!("{}, …, {last}", first[..SHOWN - 1].join(", ")),
        _ => cpus.join(", "),
    }
}

/// What the checks of these cells came to, all together. Nothing of figures that others measured.
pub(super) fn checked(trial: &Trial, cells: &[Cell], width: usize) -> String {
    let checks = || cells.iter().flat_map(|cell| &cell.checks);
    if checks().next().is_none() {
        // What others published ended in no way that is known here.
        let published = cells.iter().all(|cell| cell.ended.is_none() && cell.refusal.is_none());
        return if published { String::new() } else { folded("Nothing was checked.", 2, width) };
    }
    let met = checks().filter(|check| !check.sabotage && check.met).count();
    let measured = checks().filter(|check| !check.sabotage).count();
    let caught = checks().filter(|check| check.sabotage && !check.met).count();
    let each = trial.descriptor.variants.iter().filter(|variant| variant.role == Role::Sabotage).count();
    let planted = each * cells.iter().filter(|cell| !cell.checks.is_empty()).count();
    let said = format!(
        "Checked: {met} of {measured} variants met the specification ({}); {caught} of {planted} planted \
         faults were caught.",
        trial.descriptor.specification
    );
    folded(&said, 2, width)
}

/// An answer's sentence, and what is to be kept in mind with it.
pub(super) fn said(answer: &Answer) -> String {
    match &answer.caveat {
        Some(caveat) => format!("{} {caveat}", answer.sentence),
        None => answer.sentence.clone(),
    }
}

/// The experiments, a line each.
pub fn listed(descriptors: &[Descriptor]) -> String {
    descriptors
        .iter()
        .map(|descriptor| format!("{:INDENT$}{}\n", descriptor.name, descriptor.question))
        .collect()
}

/// An experiment's description: what it asks, how, and what can be set.
pub fn described(descriptor: &Descriptor, width: usize) -> String {
    let mut text = entry(&descriptor.name, &descriptor.question, width);
    for (title, body) in [
        ("why", &descriptor.requirement),
        ("must", &descriptor.specification),
        ("needs", &descriptor.privileges),
        ("touches", &descriptor.touches),
    ] {
        text.push_str(&entry(title, body, width));
    }
    let sample = match descriptor.judge {
        Judge::Lateness => "a sample is one firing".to_owned(),
        _ => format!("epochs of {}", descriptor.epoch),
    };
    let margin = format!("{sample}; equivalent means within {} %", three_digits(descriptor.margin * 100.0));
    text.push_str(&entry("scale", &margin, width));
    text.push_str("\nvariants\n");
    for variant in &descriptor.variants {
        let planted = if variant.role == Role::Sabotage { " (planted: must fail the check)" } else { "" };
        text.push_str(&folded(&format!("{}: {}{planted}", variant.name, variant.what), 2, width));
    }
    if !descriptor.parameters.is_empty() {
        text.push_str("\n--set\n");
    }
    for parameter in &descriptor.parameters {
        let line = format!("{}={}: {}", parameter.name, parameter.default, parameter.what);
        text.push_str(&folded(&line, 2, width));
    }
    text.push_str("\nsources\n");
    for source in &descriptor.sources {
        text.push_str(&folded(&format!("{}: {}", source.title, source.taken), 2, width));
    }
    text
}

/// Runs of two sides: the answer, then their machines, then every comparison.
pub fn compared(across: &Across, width: usize) -> String {
    let mut text = folded(&across.sentence, 0, width);
    text.push_str(&folded(&across.machines.sentence, 0, width));
    for difference in &across.machines.differences {
        let line = format!("{}: {} | {}", difference.name, difference.left, difference.right);
        text.push_str(&folded(&line, 2, width));
    }
    text.push('\n');
    for compared in &across.comparisons {
        text.push_str(&entry(&compared.experiment, &compared.sentence, width));
    }
    if across.unshared > 0 {
        let comparisons = if across.unshared == 1 { "comparison was" } else { "comparisons were" };
        text.push_str(&format!("{} {comparisons} made on one side only.\n", across.unshared));
    }
    if !across.uncompared.is_empty() {
        let named = match across.uncompared.as_slice() {
            [all @ .., last] if !all.is_empty() => format!("{} and {last}", all.join(", ")),
            all => all.concat(),
        };
        text.push_str(&folded(&format!("What {named} answers is no ratio, and was not compared."), 0, width));
    }
    for remark in [&across.remedy, &across.remark].into_iter().flatten() {
        text.push_str(&folded(remark, 0, width));
    }
    if !across.comparisons.is_empty() {
        text.push_str(&folded(
            "Ratios are compared and times are not: epochs of two runs were never interleaved.",
            0,
            width,
        ));
    }
    text
}

/// What several processes answered together, an entry a comparison: first those that stand for their experiment.
pub fn over_processes(processes: &Processes, width: usize) -> String {
    let (first, rest): (Vec<_>, Vec<_>) = processes.answers.iter().partition(|answer| answer.headline);
    let entries = first.into_iter().chain(rest);
    let mut text: String = entries.map(|answer| entry(&answer.experiment, &answer.sentence, width)).collect();
    text.extend(processes.refused.iter().map(|refused| folded(refused, 0, width)));
    if !processes.not_ratios.is_empty() {
        let names = processes.not_ratios.join(", ");
        let line = format!(
            "No ratio, and so without an interval over processes: {names}. `tenbin show` has each run."
        );
        text.push_str(&folded(&line, 0, width));
    }
    let level = percent(processes.level);
    let line = format!(
        "Intervals are over {} processes, exact, at {level} for each experiment.",
        processes.processes
    );
    text.push_str(&format!("\n{}", folded(&line, 0, width)));
    text
}

/// A name in the margin and a text beside it.
pub(super) fn entry(name: &str, text: &str, width: usize) -> String {
    let folded = folded(text, INDENT, width);
    let margin = format!("{name:INDENT$}");
    // A name that fills the margin gets a line of its own.
    if name.chars().count() < INDENT {
        folded.replacen(&" ".repeat(INDENT), &margin, 1)
    } else {
        format!("{name}\n{folded}")
    }
}

/// `text` folded between words so that no line is wider than `width`, indented by `indent`.
pub(super) fn folded(text: &str, indent: usize, width: usize) -> String {
    let room = width.saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in unbroken(text) {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= room);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
            None => lines.push(word),
        }
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}\n")).collect()
}

/// The words of `text`; a per cent sign stays with its figure.
fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(figure) if word.starts_with('%') => {
                figure.push(' ');
                figure.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_folded_between_words_and_keeps_its_margin() {
        let text = entry("pipe", "vmsplice of constant pages carries more", 30);
        assert_eq!(text, "pipe      vmsplice of constant\n          pages carries more\n");
        assert_eq!(folded("from twenty words 5 % (9)", 0, 20), "from twenty words\n5 % (9)\n");
        assert_eq!(folded("a-word-longer-than-any-line-here", 2, 10), "  a-word-longer-than-any-line-here\n");
    }
}
