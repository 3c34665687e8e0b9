//! The judge of laws: from times over resident memory to a line for each way, with what one page more costs.
//!
//! A line *lies level* where the whole interval of its slope is so near to 0 that even the largest size costs
//! no more than the margin beyond none. A way *costs the same at any size* where its line lies level and each
//! of its sizes, block by block, lies within the margin of the constant with its whole interval: an
//! equivalence, with its margin said. A way *grows*, or *falls*, where the interval of its slope excludes 0
//! and reaches beyond what lies level. What is neither is refused. Beside that stands whether the line is
//! one: a size whose median lies beyond [`BENT`] of the line of its block, with its whole interval, is no
//! part of it, and that is said instead of the line.
//!
//! All intervals of a trial share its level with its comparisons (Bonferroni): two for each way, and two for
//! each size of it. What was taken is judged once, at the end, so there are no looks to pay for. See
//! [`tenbin_stats::law`].

mod view;
mod words;

use std::collections::BTreeMap;

use tenbin_model::{
    Answer, Arrangement, Bytes, Cell, Descriptor, Figure, Grid, Interval, Machine, Order, Refusal, Role,
    Sample, Trial, Variant, VariantIndex, Verdict, order,
};

use tenbin_analysis::verdict::comparisons::{self, empty, refused};
use tenbin_analysis::verdict::{sentence, votes, whole_epoch};
use tenbin_analysis::{Analysis, Basis, Judged};
use tenbin_stats::LEVEL;
use tenbin_stats::law::{Deviation, Law, Point, law};
use tenbin_stats::multiple::bonferroni;
use tenbin_stats::order::Ordered;
use tenbin_stats::sign::{Estimate, least_pairs};

use super::lines::{HUGE, PAGES, WAY};

/// A size that surely lies further from the line than this, as a part of what the line says, is no part of
/// it.
const BENT: f64 = 0.1;

/// Epochs whose tenth and ninetieth percentile are further apart than this factor were disturbed.
const RESTLESS: f64 = 2.0;

/// Fewer sizes than these show no law: through two there is always a line.
const FEWEST_SIZES: usize = 3;

/// A way over all its sizes, in one kind of pages.
pub(super) struct LawLine {
    /// What its variant with the least memory is called.
    pub(super) name: String,
    /// The same for both kinds of pages.
    way: u64,
    huge: bool,
    /// Smallest first.
    pub(super) sizes: Vec<Size>,
    pub(super) fitted: Result<Fitted, Refusal>,
}

pub(super) struct Size {
    pub(super) memory: Bytes,
    pages: f64,
    /// In picoseconds.
    pub(super) median: f64,
}

/// What the blocks of a line came to. Times are picoseconds, slopes picoseconds a page.
pub(super) struct Fitted {
    law: Law,
    constant: Interval,
    slope: Interval,
    /// A slope nearer to 0 than this makes the largest size cost no more than the margin beyond none. 0 where
    /// none costs nothing or less by the line.
    negligible: f64,
    growth: Growth,
    shape: Shape,
}

impl Fitted {
    pub(super) fn page(&self) -> f64 {
        self.law.slope.median
    }

    pub(super) fn page_within(&self) -> String {
        words::nanoseconds(self.slope)
    }

    /// Whether some size surely is no part of the line.
    pub(super) fn is_bent(&self) -> bool {
        matches!(self.shape, Shape::Bent { .. })
    }

    /// What more memory does, in a word for a table.
    pub(super) fn trend(&self) -> &'static str {
        match self.growth {
            Growth::Grows => "grows",
            Growth::Falls => "falls",
            Growth::Same if !self.is_bent() => "stays",
            Growth::Same | Growth::Uneven { .. } | Growth::Open => "refused",
        }
    }
}

/// What more memory does.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Growth {
    Grows,
    Falls,
    /// Every size costs the same, within the margin.
    Same,
    /// The line lies level, but this size is not surely within the margin: so far off the constant, as a part
    /// of it.
    Uneven {
        memory: Bytes,
        interval: Interval,
    },
    /// It may be either.
    Open,
}

/// Whether the line is one.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Shape {
    /// Every size lies within [`BENT`] of it, surely; the furthest by so much at the most.
    Straight(f64),
    /// A size surely lies further. `nothing`: the line says that it costs nothing or less.
    Bent { memory: Bytes, part: f64, interval: Interval, nothing: bool },
    /// Neither.
    Unsure { memory: Bytes, interval: Interval },
}

impl LawLine {
    fn at(&self, memory: Bytes) -> Option<&Size> {
        self.sizes.iter().find(|size| size.memory == memory)
    }
}

/// How many intervals share the level of a trial with so many comparisons.
fn family(descriptor: &Descriptor, comparisons: usize) -> usize {
    let measured = descriptor.variants.iter().filter(|variant| variant.role == Role::Measured);
    let sizes: Vec<(u64, bool)> = measured.filter_map(place).map(|(line, _)| line).collect();
    comparisons + 2 * order::distinct(&sizes).len() + 2 * sizes.len()
}

/// The line that a variant is a point of, and its pages.
fn place(variant: &Variant) -> Option<((u64, bool), u64)> {
    let line = (variant.coordinate(WAY)?, variant.coordinate(HUGE)? > 0);
    Some((line, variant.coordinate(PAGES)?))
}

/// The lines of a cell that was timed, in the order of its variants.
pub(super) fn lines(machine: &Machine, trial: &Trial, cell: &Cell) -> Vec<LawLine> {
    let of_line = |&number: &VariantIndex| {
        let (line, _) = trial.variant(number).and_then(place)?;
        Some((line, number))
    };
    let lines = order::grouped(cell.arrangement.variants.iter().filter_map(of_line));
    let level = bonferroni(LEVEL, family(&trial.descriptor, trial.family()));
    let line = |((way, huge), mut variants): ((u64, bool), Vec<VariantIndex>)| {
        let pages = |number: &VariantIndex| place(&trial.descriptor[*number]).map_or(0, |(_, pages)| pages);
        variants.order_by_key(pages);
        let size = |number: &VariantIndex| {
            let costs = cell.samples.iter().filter(|sample| sample.variant == *number).map(cost);
            Some(Size {
                memory: Bytes(pages(number).saturating_mul(machine.page_size.0)),
                pages: pages(number) as f64,
                median: Ordered::new(costs.collect())?.median(),
            })
        };
        let sizes: Vec<Size> = variants.iter().filter_map(size).collect();
        let blocks = points(trial, cell, (way, huge), |_| true);
        let name = variants.first().map(|&number| trial.descriptor[number].name.clone());
        LawLine {
            name: name.unwrap_or_default(),
            way,
            huge,
            fitted: fitted(&blocks, &sizes, level, trial.descriptor.margin),
            sizes,
        }
    };
    lines.into_iter().map(line).collect()
}

/// The points of one line in these blocks of a cell, block by block.
fn points(trial: &Trial, cell: &Cell, line: (u64, bool), wanted: impl Fn(u32) -> bool) -> Vec<Vec<Point>> {
    let mut blocks: BTreeMap<u32, Vec<Point>> = BTreeMap::new();
    for sample in cell.samples.iter().filter(|sample| wanted(sample.block)) {
        if let Some(pages) = pages(trial, sample, line) {
            blocks.entry(sample.block).or_default().push(Point { size: pages as f64, cost: cost(sample) });
        }
    }
    blocks.into_values().collect()
}

/// Pages of a sample of this line; none of another line's.
fn pages(trial: &Trial, sample: &Sample, line: (u64, bool)) -> Option<u64> {
    let at = trial.variant(sample.variant).and_then(place);
    at.filter(|(of, _)| *of == line).map(|(_, pages)| pages)
}

/// Picoseconds for one child.
fn cost(sample: &Sample) -> f64 {
    sample.elapsed.0 as f64 / sample.iterations as f64
}

fn fitted(blocks: &[Vec<Point>], sizes: &[Size], level: Option<f64>, margin: f64) -> Result<Fitted, Refusal> {
    let largest = sizes.last().map_or(0.0, |size| size.pages);
    if sizes.len() < FEWEST_SIZES {
        return Err(Refusal {
            reached: format!("{} sizes were measured", sizes.len()),
            needs: format!("{FEWEST_SIZES}, as there is always a line through two"),
            remedy: "ask for more sizes".into(),
        });
    }
    let law = level.and_then(|level| law(blocks, level));
    let intervals = law.and_then(|law| {
        let (constant, slope) = (law.constant.interval?.interval, law.slope.interval?.interval);
        let each = |read: fn(&Deviation) -> Estimate| -> Option<Vec<Interval>> {
            law.deviations.iter().map(|deviation| Some(read(deviation).interval?.interval)).collect()
        };
        let (deviations, off) = (each(|deviation| deviation.part)?, each(|deviation| deviation.of_constant)?);
        Some((constant, slope, deviations, off, law))
    });
    let Some((constant, slope, deviations, off, law)) = intervals else {
        let needed = level.and_then(least_pairs).map_or_else(|| "more".into(), |blocks| blocks.to_string());
        return Err(Refusal {
            reached: format!("{} blocks were measured", blocks.len()),
            needs: format!("{needed}, before any interval exists at this level"),
            remedy: "give it more time (--thorough)".into(),
        });
    };
    let negligible = (margin * law.constant.median / largest).max(0.0);
    let is_level = law.constant.median > 0.0 && slope.low >= -negligible && slope.high <= negligible;
    let growth = if is_level {
        even(&law, sizes, &off, margin)
    } else if slope.low > 0.0 {
        Growth::Grows
    } else if slope.high < 0.0 {
        Growth::Falls
    } else {
        Growth::Open
    };
    let shape = shape(&law, sizes, &deviations);
    Ok(Fitted { law, constant, slope, negligible, growth, shape })
}

/// Whether every size of a line that lies level costs the same, within the margin.
///
/// A line through sizes of which one stands apart can be as level as any, so the slope alone shows nothing.
fn even(law: &Law, sizes: &[Size], off: &[Interval], margin: f64) -> Growth {
    let each = law.deviations.iter().zip(off);
    match each.max_by(|(_, one), (_, other)| reach(one).total_cmp(&reach(other))) {
        Some((deviation, &interval)) if reach(&interval) > margin => {
            Growth::Uneven { memory: memory_of(sizes, deviation.size), interval }
        }
        _ => Growth::Same,
    }
}

/// The end of an interval that is further from 0.
fn reach(interval: &Interval) -> f64 {
    interval.high.abs().max(interval.low.abs())
}

fn memory_of(sizes: &[Size], pages: f64) -> Bytes {
    sizes.iter().find(|size| size.pages == pages).map_or(Bytes(0), |size| size.memory)
}

fn shape(law: &Law, sizes: &[Size], deviations: &[Interval]) -> Shape {
    let each = || law.deviations.iter().zip(deviations);
    let bent = each().filter(|(_, interval)| interval.low > BENT || interval.high < -BENT);
    let furthest =
        bent.max_by(|(one, _), (other, _)| one.part.median.abs().total_cmp(&other.part.median.abs()));
    if let Some((deviation, &interval)) = furthest {
        return Shape::Bent {
            memory: memory_of(sizes, deviation.size),
            part: deviation.part.median,
            interval,
            nothing: law.constant.median + law.slope.median * deviation.size <= 0.0,
        };
    }
    match each().max_by(|(_, one), (_, other)| reach(one).total_cmp(&reach(other))) {
        Some((deviation, interval)) if reach(interval) > BENT => {
            Shape::Unsure { memory: memory_of(sizes, deviation.size), interval: *interval }
        }
        Some((_, interval)) => Shape::Straight(reach(interval)),
        None => Shape::Straight(0.0),
    }
}

/// Times over resident memory, by way: whether each grows, as which law.
#[derive(Debug)]
pub(super) struct Laws;

impl Analysis for Laws {
    fn name(&self) -> &'static str {
        "laws"
    }

    fn least_blocks(&self, descriptor: &Descriptor, comparisons: usize) -> u32 {
        votes(descriptor.level, family(descriptor, comparisons))
    }

    fn basis(&self) -> Basis {
        Basis::Cells
    }

    /// The ways of a cell stand below each other in a table.
    fn is_summary(&self, answer: &Answer, _: bool) -> bool {
        answer.headline
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let (mut timed, mut answers) = (Vec::new(), Vec::new());
        for cell in &trial.cells {
            if let Some(refusal) = &cell.refusal {
                let Arrangement { label, headline, .. } = &cell.arrangement;
                answers.push(refused(&trial.descriptor, label, *headline, refusal));
                continue;
            }
            let lines = lines(machine, trial, cell);
            answers.extend(of_cell(machine, trial, cell, &lines));
            timed.push((cell, lines));
        }
        Judged { view: view::view(&timed, trial, &answers), answers, findings: Vec::new() }
    }
}

/// The law of the first way, which answers for the experiment, those of the others, then the comparisons.
fn of_cell(machine: &Machine, trial: &Trial, cell: &Cell, lines: &[LawLine]) -> Vec<Answer> {
    let Trial { descriptor, .. } = trial;
    let page = machine.page_size;
    let mut answers: Vec<Answer> = lines.iter().map(|line| of_line(descriptor, line, page)).collect();
    if let (Some(answer), Some(first)) = (answers.first_mut(), lines.first()) {
        answer.headline = cell.arrangement.headline;
        if answer.verdict != Verdict::Refused {
            answer.sentence = words::of_all(lines, page, descriptor.margin);
            answer.brief = words::brief(first);
        }
        let caveats = [changed(trial, cell, first, page), restless(trial, cell, first)];
        answer.caveat = caveats.into_iter().flatten().reduce(|one, other| format!("{one} {other}"));
        answer.grids = vec![grid(lines)];
    }
    let family = family(descriptor, trial.family());
    let compared = comparisons::of_cell_among(family, whole_epoch, machine, trial, cell);
    answers.extend(compared.into_iter().map(|answer| Answer { headline: false, ..answer }));
    answers
}

fn of_line(descriptor: &Descriptor, line: &LawLine, page: Bytes) -> Answer {
    let unanswered = empty(descriptor, &line.name, false);
    let fitted = match &line.fitted {
        Ok(fitted) => fitted,
        Err(refusal) => return refused(descriptor, &line.name, false, refusal),
    };
    let refusal = words::open(line, fitted, page, descriptor.margin);
    let verdict = match (fitted.growth, &refusal) {
        (_, Some(_)) => Verdict::Refused,
        (Growth::Same, None) => Verdict::Equivalent,
        (_, None) => Verdict::Different,
    };
    Answer {
        verdict,
        sentence: refusal
            .as_ref()
            .map_or_else(|| words::of(line, fitted, page, descriptor.margin), sentence::refusal),
        refusal,
        figures: figures(line, fitted, page),
        ..unanswered
    }
}

fn figures(line: &LawLine, fitted: &Fitted, page: Bytes) -> Vec<Figure> {
    let time = |name: &str, picoseconds: f64| Figure::new(name, picoseconds / 1e3, "ns");
    let furthest =
        fitted.law.deviations.iter().map(|deviation| deviation.part.median.abs()).fold(0.0, f64::max);
    vec![
        time("constant", fitted.law.constant.median),
        time("constant, low end", fitted.constant.low),
        time("constant, high end", fitted.constant.high),
        time("a resident page", fitted.page()),
        time("a resident page, low end", fitted.slope.low),
        time("a resident page, high end", fitted.slope.high),
        time("a resident page, what counts as none", fitted.negligible),
        Figure::new("size of a page", page.0 as f64, "B"),
        Figure::new("largest size", line.sizes.last().map_or(0.0, |size| size.memory.0 as f64), "B"),
        Figure::new("largest deviation of a size from the line", furthest, "1"),
        Figure::new("blocks", fitted.law.blocks as f64, "1"),
    ]
}

/// Every size of these lines once, ascending.
fn sizes(lines: &[LawLine]) -> Vec<Bytes> {
    order::distinct(lines.iter().flat_map(|line| &line.sizes).map(|size| size.memory))
}

/// Medians, a row a way and a column a size.
fn grid(lines: &[LawLine]) -> Grid {
    let sizes = sizes(lines);
    let median = |line: &LawLine, memory| Some(line.at(memory)?.median / 1e3);
    Grid {
        name: "median cost".into(),
        unit: "ns".into(),
        rows: lines.iter().map(|line| line.name.clone()).collect(),
        columns: sizes.iter().map(words::memory).collect(),
        values: lines.iter().map(|line| sizes.iter().map(|&size| median(line, size)).collect()).collect(),
    }
}

/// A slope that was one thing in the first half of a cell and another in the second, in words.
///
/// As for comparisons: the interval of the whole is then between two truths. None if the halves agree.
fn changed(trial: &Trial, cell: &Cell, line: &LawLine, page: Bytes) -> Option<String> {
    let whole = line.fitted.as_ref().ok()?;
    let middle = cell.samples.last().map_or(0, |sample| sample.block / 2);
    let level = bonferroni(LEVEL, 2 * trial.cells.len())?;
    let half = |late: bool| {
        let blocks = points(trial, cell, (line.way, line.huge), |block| (block > middle) == late);
        Some(law(&blocks, level)?.slope.interval?.interval)
    };
    let (early, late) = (half(false)?, half(true)?);
    let apart = (early.low - late.high).max(late.low - early.high);
    (apart > BENT * whole.page().abs() && apart > whole.negligible).then(|| {
        let [early, late] = [early, late].map(words::nanoseconds);
        format!(
            "It changed while it was measured: a page of {page} cost {early} ns in the first half, {late} ns in the second."
        )
    })
}

/// Whether epochs at the largest size differed by more than [`RESTLESS`], in words. None if they did not.
///
/// Where others want the CPU, a long call is stopped in its middle and a short one is not: the law is then
/// that of the waiting as well, and no interval says so.
fn restless(trial: &Trial, cell: &Cell, line: &LawLine) -> Option<String> {
    let largest = line.sizes.last()?;
    let stands = |sample: &&Sample| {
        pages(trial, sample, (line.way, line.huge)).is_some_and(|pages| pages as f64 == largest.pages)
    };
    let costs = Ordered::new(cell.samples.iter().filter(stands).map(cost).collect())?;
    let (low, high) = (costs.quantile(0.1)?, costs.quantile(0.9)?);
    (high > RESTLESS * low).then(|| {
        format!(
            "The machine was not quiet: with {} one epoch in ten took less than {} and one in ten more than {} for a child.",
            words::memory(&largest.memory),
            words::time(low),
            words::time(high)
        )
    })
}

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
