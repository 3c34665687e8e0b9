//! How much a remedy changes times, as anywhere else, and how much their spread: in each block the two epochs
//! of a variant differ by some factor, and of the two factors one is larger.

use tenbin_analysis::verdict::comparisons;
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::interval::show;
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::words::{comma, percent};
use tenbin_model::{Answer, Cell, Finding, Interval, Machine, Trial, VariantIndex, Verdict};
use tenbin_stats::order::Ordered;
use tenbin_stats::sign;

use super::{WITH, WITHOUT};
use crate::environment::median;

pub(super) struct Effects;

impl Analysis for Effects {
    fn name(&self) -> &'static str {
        "remedies"
    }

    fn scope(&self) -> &'static str {
        "Intervals cover what varied while remedies were taken and undone; another hour of this machine may find another ratio."
    }

    /// What varies takes as many blocks as there is time for.
    fn may_end_early(&self) -> bool {
        false
    }

    /// What is as it was is said of all together.
    fn is_summary(&self, answer: &Answer, _: bool) -> bool {
        answer.headline || answer.verdict != Verdict::Equivalent
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let mut answers = comparisons::answers(|cell| self.time(cell), machine, trial);
        for answer in &mut answers {
            let cell = trial.cells.iter().find(|cell| cell.arrangement.label == answer.cell);
            answer.sentence = cell
                .and_then(|cell| in_words(answer, cell))
                .unwrap_or_else(|| format!("{}: {}", answer.cell, answer.sentence));
            answer.brief.clone_from(&answer.sentence);
            answer.headline = false;
        }
        // What changes something is the answer, where anything does.
        let telling = answers.iter().position(|answer| answer.verdict == Verdict::Different);
        if let Some(answer) = answers.get_mut(telling.unwrap_or(0)) {
            answer.headline = true;
        }
        let findings = findings(trial, &answers);
        let mut view = Document::new();
        view.table(table(trial, &answers));
        Judged { answers, findings, view }
    }
}

/// What is known of the time. None where it is refused.
fn in_words(answer: &Answer, cell: &Cell) -> Option<String> {
    let evidence = answer.evidence.as_ref()?;
    let (remedy, work) = answer.cell.split_once(": ")?;
    let (without, with) = (median(cell, WITHOUT)?, median(cell, WITH)?);
    match answer.verdict {
        Verdict::Different => Some(format!(
            "{remedy} changes {work}: with it one takes {}x as long as without it ({with} and {without}).",
            show(evidence.ratio, evidence.interval)
        )),
        Verdict::Equivalent => Some(format!(
            "With {remedy} {work} takes as long as without it, within {} ({without}).",
            percent(evidence.margin)
        )),
        Verdict::Refused => None,
    }
}

/// How many times as much the times with a remedy differ from each other as those without: the middle, and
/// where it lies. None where there are too few blocks.
fn spread(cell: &Cell, level: f64) -> Option<(f64, Interval)> {
    let mut ratios = Vec::new();
    for block in cell.samples.chunk_by(|one, other| one.block == other.block) {
        let differ = |variant: VariantIndex| {
            let of_variant = block.iter().filter(|sample| sample.variant == variant);
            let mut times = of_variant.map(|sample| sample.elapsed.0 as f64);
            let factor = (times.next()? / times.next()?).ln().abs();
            (factor > 0.0).then_some(factor)
        };
        if let (Some(with), Some(without)) = (differ(WITH), differ(WITHOUT)) {
            ratios.push((with / without).ln());
        }
    }
    let ratios = Ordered::new(ratios)?;
    let interval = sign::interval(&ratios, level)?.interval;
    Some((ratios.median().exp(), Interval { low: interval.low.exp(), high: interval.high.exp() }))
}

/// The level of each of these intervals: they share it.
fn level(trial: &Trial) -> f64 {
    trial.descriptor.level / trial.cells.len().max(1) as f64
}

fn in_interval((middle, Interval { low, high }): (f64, Interval)) -> String {
    let [middle, low, high] = [middle, low, high].map(three_digits);
    format!("{middle}x ({low} to {high})")
}

fn table(trial: &Trial, answers: &[Answer]) -> Table {
    let row = |answer: &Answer| {
        let cell = trial.cells.iter().find(|cell| cell.arrangement.label == answer.cell)?;
        let time = |variant| median(cell, variant).map_or_else(String::new, |time| time.to_string());
        let evidence = answer.evidence.as_ref();
        Some(vec![
            answer.cell.clone(),
            time(WITHOUT),
            time(WITH),
            evidence.map_or_else(String::new, |evidence| in_interval((evidence.ratio, evidence.interval))),
            spread(cell, level(trial)).map_or_else(String::new, in_interval),
        ])
    };
    let header = ["remedy: work", "as it is", "with it", "time", "spread"];
    Table::new(header, answers.iter().filter_map(row).collect())
}

fn findings(trial: &Trial, answers: &[Answer]) -> Vec<Finding> {
    let finding = |sentence: String, evidence: &str, confidence: String| Finding {
        experiment: trial.descriptor.name.clone(),
        sentence,
        evidence: evidence.into(),
        confidence,
    };
    let mut findings = Vec::new();
    let same = answers.iter().filter(|answer| answer.verdict == Verdict::Equivalent);
    let same = comma(same.map(|answer| &answer.cell));
    if !same.is_empty() {
        let margin = percent(trial.descriptor.margin);
        findings.push(finding(
            format!("As long with it as without it, within {margin}: {same}."),
            "the intervals of the table",
            format!("a probability of {} that one of all is wrong", percent(trial.descriptor.level)),
        ));
    }
    let changed = trial.cells.iter().filter_map(|cell| {
        let (middle, interval) = spread(cell, level(trial))?;
        let is_changed = interval.low > 1.0 || interval.high < 1.0;
        is_changed.then(|| format!("{} {}", cell.arrangement.label, in_interval((middle, interval))))
    });
    let changed = comma(changed);
    if !changed.is_empty() {
        findings.push(finding(
            format!("How far times differ from each other changes with it: {changed}."),
            "of the factors by which two epochs of a block differ, with the remedy over without it, the median",
            format!("intervals by the sign test; a probability of {} that one of all is wrong", percent(trial.descriptor.level)),
        ));
    }
    findings
}

#[cfg(test)]
mod tests {
    use tenbin_analysis::specimen;
    use tenbin_model::{Ended, Machine, Picoseconds, Quantity};

    use super::*;

    /// Blocks of two and two; the two epochs of a variant are a factor apart, around its time in
    /// microseconds.
    fn cell(label: &str, (without, with): (f64, f64), spreads: fn(u32) -> (f64, f64)) -> Cell {
        let mut cell = specimen::cell(60, 1.0, 0.5, Ended::Budget, 1);
        assert_eq!(cell.arrangement.variants, [WITHOUT, WITH]);
        let mut met = [0_u32; 2];
        for sample in &mut cell.samples {
            let place = usize::from(sample.variant == WITH);
            let (of_without, of_with) = spreads(sample.block);
            let (time, factor) = [(without, of_without), (with, of_with)][place];
            met[place] += 1;
            let half = if met[place].is_multiple_of(2) { factor.sqrt() } else { 1.0 / factor.sqrt() };
            sample.iterations = 1;
            sample.elapsed = Picoseconds((time * 1e6 * half) as u64);
        }
        cell.arrangement.label = label.into();
        cell
    }

    #[test]
    fn the_spread_is_how_far_two_epochs_of_a_block_are_apart() {
        let (middle, interval) = spread(&cell("x: y", (100.0, 100.0), |_| (1.2, 1.05)), 0.01).unwrap();
        let expected = 1.05_f64.ln() / 1.2_f64.ln();
        assert!((middle - expected).abs() < 1e-3, "{middle}");
        assert!(interval.low <= middle && middle <= interval.high && interval.high < 1.0, "{interval:?}");
        let few = specimen::cell(3, 1.0, 0.5, Ended::Budget, 1);
        assert!(spread(&few, 0.01).is_none());
    }

    #[test]
    fn each_remedy_has_its_answer_and_the_rest_is_said_at_once() {
        let descriptor = super::super::describe();
        assert_eq!(descriptor.quantity, Quantity::NanosecondsPerOperation);
        let trial = Trial {
            descriptor,
            cells: vec![
                // As often more as less.
                cell("timer-slack: a sleep", (120.0, 70.0), |block| match block % 2 {
                    0 => (1.02, 1.01),
                    _ => (1.01, 1.02),
                }),
                cell("governor: a loop", (20.0, 20.0), |_| (1.01, 1.001)),
            ],
            findings: Vec::new(),
            refusal: None,
        };
        let judged = Effects.judge(&Machine::unobserved("a test"), &trial);
        let sentences: Vec<&str> = judged.answers.iter().map(|answer| answer.sentence.as_str()).collect();
        let findings: Vec<&str> = judged.findings.iter().map(|finding| finding.sentence.as_str()).collect();
        insta::assert_snapshot!(format!(
            "{}\n\n{}\n\n{}",
            sentences.join("\n"),
            findings.join("\n"),
            judged.view.text(100)
        ));
    }
}
