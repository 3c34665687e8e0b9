//! The judge of lateness: how late each way of being called is, its tails included, and whether two of them
//! differ.
//!
//! A sample is one event, and its time is how late that was. Of each variant there are the middle, with its
//! exact interval, and the tails as far as the count of events can tell them; for the comparisons the ratio
//! of the two, block by block, as anywhere else. The first comparison of a cell answers for it, and its
//! sentence says the times as well: a ratio of two latenesses alone would not say whether either matters.

mod view;

use tenbin_model::verdict::Grid;
use tenbin_model::{
    Answer, Cell, Descriptor, Figure, Interval, Machine, Picoseconds, Trial, VariantIndex, Verdict, order,
};

use tenbin_analysis::verdict::{comparisons, sentence, votes, whole_epoch};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::words::{comma, percent};
use tenbin_stats::LEVEL;
use tenbin_stats::order::Ordered;

use super::SLACK;

/// Blocks whose events tell the 99th percentile ([`tells_tail`]): 300 of each variant.
const BLOCKS_FOR_TAILS: u32 = 150;

/// A tail is told where this much confidence can be had that it does not lie beyond everything that was seen.
const CONFIDENCE: f64 = 0.95;

/// How late one variant was in a cell, over all its events. Times are in nanoseconds.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Late {
    pub(super) variant: VariantIndex,
    pub(super) name: String,
    /// How many events there were: at least 1.
    pub(super) count: usize,
    pub(super) median: f64,
    /// Where the median lies, at the level of an experiment. None where there are too few events.
    pub(super) within: Option<Interval>,
    /// The 5th, the 95th and the 99th percentile. None where there are too few events to tell it.
    pub(super) p5: Option<f64>,
    pub(super) p95: Option<f64>,
    pub(super) p99: Option<f64>,
    pub(super) least: f64,
    pub(super) worst: f64,
}

/// Whether `count` events tell a tail that holds this part of all: with [`CONFIDENCE`], at least one of them
/// lies in it.
///
/// S. S. Wilks, "Determination of Sample Sizes for Setting Tolerance Limits" (1941), for one side: 59 events
/// for a twentieth, 299 for a hundredth.
fn tells_tail(count: usize, tail: f64) -> bool {
    (1.0 - tail).powf(count as f64) <= 1.0 - CONFIDENCE
}

impl Late {
    /// Every variant of `cell` that was timed, in its order.
    pub(super) fn all(trial: &Trial, cell: &Cell) -> Vec<Self> {
        cell.arrangement.variants.iter().filter_map(|&variant| Self::of(trial, cell, variant)).collect()
    }

    fn of(trial: &Trial, cell: &Cell, variant: VariantIndex) -> Option<Self> {
        let samples = cell.samples.iter().filter(|sample| sample.variant == variant);
        let events = Ordered::new(samples.map(|sample| sample.elapsed.as_nanos()).collect())?;
        let tail = |quantile: f64| {
            let part = quantile.min(1.0 - quantile);
            events.quantile(quantile).filter(|_| tells_tail(events.count(), part))
        };
        Some(Self {
            variant,
            name: trial.variant(variant)?.name.clone(),
            count: events.count(),
            median: events.median(),
            within: events.quantile_interval(0.5, LEVEL).map(|within| within.interval),
            p5: tail(0.05),
            p95: tail(0.95),
            p99: tail(0.99),
            least: *events.values().first()?,
            worst: *events.values().last()?,
        })
    }

    fn in_words(&self) -> String {
        let Self { name, count, .. } = self;
        let (median, least, worst) = (time(self.median), time(self.least), time(self.worst));
        let upper = self.p99.map(|p99| ("p99", p99)).or(self.p95.map(|p95| ("p95", p95)));
        let spread = match (self.p5, upper) {
            (Some(p5), Some((title, upper))) => {
                format!("median of {count}; p5 {} to {title} {}, worst {worst}", time(p5), time(upper))
            }
            _ => format!("median; the smallest of {count} is {least}, the largest {worst}"),
        };
        format!("{median} late with {name} ({spread})")
    }
}

/// Nanoseconds with the unit that fits.
pub(super) fn time(nanoseconds: f64) -> String {
    Picoseconds((nanoseconds * 1e3).round() as u64).to_string()
}

/// Each comparison by its ratio, beside how late each variant is: the middle and the tails of its samples, an
/// event each.
#[derive(Debug)]
pub(super) struct Lateness;

impl Analysis for Lateness {
    fn name(&self) -> &'static str {
        "lateness"
    }

    /// A cell that can have as many takes them, as its tail is part of the answer; others say how many they
    /// take.
    fn least_blocks(&self, descriptor: &Descriptor, family: usize) -> u32 {
        votes(descriptor.level, family).max(BLOCKS_FOR_TAILS)
    }

    fn may_end_early(&self) -> bool {
        false
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        // What was taken before a cell was refused is kept with it, and is no figure.
        let late = |cell: &Cell| if cell.refusal.is_some() { Vec::new() } else { Late::all(trial, cell) };
        let cells: Vec<(&Cell, Vec<Late>)> = trial.cells.iter().map(|cell| (cell, late(cell))).collect();
        let of_cell = |(cell, late): &(&Cell, Vec<Late>)| {
            let mut answers = of_cell(machine, trial, cell, late);
            if let Some(first) = answers.first_mut().filter(|first| first.headline && !late.is_empty()) {
                first.grids = grids(&cells);
            }
            answers
        };
        let answers: Vec<Answer> = cells.iter().flat_map(of_cell).collect();
        Judged { view: view::view(&cells, trial, &answers), answers, findings: Vec::new() }
    }
}

fn of_cell(machine: &Machine, trial: &Trial, cell: &Cell, late: &[Late]) -> Vec<Answer> {
    let mut answers = comparisons::of_cell(whole_epoch, machine, trial, cell);
    if late.is_empty() {
        return answers;
    }
    let with_times = sentence(trial, cell, late, &answers);
    if let Some(first) = answers.first_mut() {
        first.sentence = with_times.unwrap_or_else(|| std::mem::take(&mut first.sentence));
        first.figures = late.iter().flat_map(figures).collect();
        first.brief = brief(cell, late).unwrap_or_default();
    }
    answers
}

/// The times of the two variants that are weighed first, in a few words.
fn brief(cell: &Cell, late: &[Late]) -> Option<String> {
    let comparison = cell.arrangement.comparisons.first()?;
    let weighed = late.iter().filter(|late| [comparison.left, comparison.right].contains(&late.variant));
    let each = weighed.map(|late| format!("{} late with {}", time(late.median), late.name));
    Some(format!("{}, {}", comma(each), cell.arrangement.label))
}

/// The times of the two variants that are weighed first, what came of it, and what slack has to do with it.
fn sentence(trial: &Trial, cell: &Cell, late: &[Late], answers: &[Answer]) -> Option<String> {
    let comparison = cell.arrangement.comparisons.first()?;
    let find = |variant: VariantIndex| late.iter().find(|late| late.variant == variant);
    let (left, right) = (find(comparison.left)?, find(comparison.right)?);
    let (subject, label) = (&trial.descriptor.subject, &cell.arrangement.label);
    let (times, answer) = (format!("{} and {}", left.in_words(), right.in_words()), answers.first()?);
    let weighed = weighed(trial, answer);
    let slack = slack(trial, cell, late, answers).map(|sentence| format!(" {sentence}"));
    Some(format!("{subject} {label} fires {times}{weighed}{}", slack.unwrap_or_default()))
}

/// What the comparison came to, from the mark before it to its full stop.
fn weighed(trial: &Trial, answer: &Answer) -> String {
    let quantity = trial.descriptor.quantity;
    match (answer.verdict, &answer.evidence, &answer.refusal) {
        (Verdict::Different, Some(evidence), _) => {
            let (difference, range) =
                (sentence::difference(quantity, evidence), sentence::range(quantity, evidence));
            format!("; {difference} ({range}).")
        }
        (Verdict::Equivalent, Some(evidence), _) => {
            let (margin, ratio) = (percent(evidence.margin), sentence::equivalence(evidence));
            format!("; both are equally late within {margin} ({ratio}).")
        }
        (_, _, Some(refusal)) => {
            let refused = sentence::refusal(refusal);
            format!(". Which is less late was refused: {}", refused.trim_start_matches("Refused: "))
        }
        _ => ".".into(),
    }
}

/// What the second variant does with less timer slack, if that was weighed, and whether slack explains its
/// lateness.
///
/// It does where three things hold: the second is the later one, taking its slack away makes it less late by
/// about as much as it had, and what is left is nearer to the first than to where it was.
fn slack(trial: &Trial, cell: &Cell, late: &[Late], answers: &[Answer]) -> Option<String> {
    let of = |variant: VariantIndex| trial.variant(variant)?.coordinate(SLACK);
    let find = |variant: VariantIndex| late.iter().find(|late| late.variant == variant);
    let first = cell.arrangement.comparisons.first()?;
    let mut others = cell.arrangement.comparisons.iter().zip(answers).skip(1);
    let (second, answer) = others.find(|(other, _)| {
        other.right == first.right && of(other.left).is_some_and(|less| Some(less) < of(other.right))
    })?;
    let (had, has) = (of(second.right)?, of(second.left)?);
    let (beside, before, after) = (find(first.left)?, find(second.right)?, find(second.left)?);
    let (gained, rest) = (before.median - after.median, (after.median - beside.median).abs());
    let is_later = |answer: Option<&Answer>| {
        let evidence = answer?.evidence.as_ref()?;
        Some(answer?.verdict == Verdict::Different && evidence.ratio > 1.0)
    };
    let slack = had as f64;
    let explains = is_later(answers.first()) == Some(true)
        && is_later(Some(answer)) == Some(true)
        && (0.5 * slack..=1.5 * slack).contains(&gained)
        && rest < 0.5 * gained;
    let (name, left) = (&before.name, time(after.median));
    Some(if explains {
        format!(
            "Timer slack of {} explains it: with {} of slack, {name} is {left} late.",
            whole(had),
            whole(has)
        )
    } else {
        format!("With {} of slack instead of {}, {name} is {left} late.", whole(has), whole(had))
    })
}

/// Nanoseconds as somebody sets them.
fn whole(nanoseconds: u64) -> String {
    match nanoseconds {
        0 => "0 ns".into(),
        whole if whole.is_multiple_of(1_000) => format!("{} µs", whole / 1_000),
        other => format!("{other} ns"),
    }
}

fn figures(late: &Late) -> Vec<Figure> {
    let Late { name, count, median, within, p5, p95, p99, worst, .. } = late;
    let known = [
        ("median lateness", Some(*median)),
        ("median lateness, low end", within.map(|within| within.low)),
        ("median lateness, high end", within.map(|within| within.high)),
        ("p5", *p5),
        ("p95", *p95),
        ("p99", *p99),
        ("worst", Some(*worst)),
    ];
    let known = known.into_iter().filter_map(|(what, value)| Some((what, value?)));
    std::iter::once(Figure::new(&format!("{name}: firings"), *count as f64, "1"))
        .chain(known.map(|(what, value)| Figure::new(&format!("{name}: {what}"), value, "ns")))
        .collect()
}

/// The medians and the worst of every cell that was timed to its end: a row a variant, a column a cell.
fn grids(cells: &[(&Cell, Vec<Late>)]) -> Vec<Grid> {
    let cells: Vec<&(&Cell, Vec<Late>)> = cells.iter().filter(|(_, late)| !late.is_empty()).collect();
    let rows = order::firsts(cells.iter().flat_map(|(_, late)| late).map(|late| late.name.as_str()));
    let grid = |name: &str, read: fn(&Late) -> f64| {
        let value = |row: &str, late: &[Late]| late.iter().find(|late| late.name == row).map(read);
        Grid {
            name: name.into(),
            unit: "ns".into(),
            rows: rows.iter().map(|&row| row.to_owned()).collect(),
            columns: cells.iter().map(|(cell, _)| cell.arrangement.label.clone()).collect(),
            values: rows.iter().map(|row| cells.iter().map(|(_, late)| value(row, late)).collect()).collect(),
        }
    };
    vec![grid("median lateness", |late| late.median), grid("worst lateness", |late| late.worst)]
}

#[cfg(test)]
mod tests;
