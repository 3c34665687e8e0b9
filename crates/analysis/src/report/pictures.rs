//! Pictures of samples: which ratios are known and how well, how costs are distributed, and what a ratio did
//! while it was measured.

use tenbin_document::interval::{outward, show};
use tenbin_document::{Axis, Block, Chart, Curve, Document, Estimate, Intervals, Samples, Style, Unit};
use tenbin_model::words::capitalised;
use tenbin_model::{
    Answer, Cell, Comparison, Descriptor, Evidence, Interval, Quantity, Sample, Trial, VariantIndex, Verdict,
};
use tenbin_stats::order::Ordered;

use crate::analysis::{Analysis, Basis};
use crate::verdict::sentence::{briefly, range};
use crate::verdict::{self, Time};

/// So many ratios stand below each other; there are tables for more of them.
const RATIOS: usize = 16;

/// So many points of a distribution, or pairs of points of a course, are drawn.
const POINTS: usize = 150;

/// What a browser can show besides of a trial whose answers these are: every ratio, unless [`ratios`] has
/// them, and single values. Empty where its analysis draws for itself.
pub(super) fn pictures(analysis: &dyn Analysis, trial: &Trial, answers: &[&Answer]) -> Document {
    let mut document = Document::new();
    if analysis.basis() == Basis::Cells {
        return document;
    }
    let timed = || trial.cells.iter().filter(|cell| !cell.samples.is_empty());
    let Some(cell) = timed().find(|cell| cell.arrangement.headline).or_else(|| timed().next()) else {
        return document;
    };
    let every = intervals(trial, answers.iter().copied());
    let count = every.rows.len();
    if count == 1 {
        document.push(Block::Intervals(every));
    } else if count > RATIOS || count > 1 && trial.cells.len() > 1 {
        let all = Document { blocks: vec![Block::Intervals(every)] };
        document.push(Block::Folded { title: format!("All {count} ratios"), document: all });
    }
    let mut beside = Document::new();
    beside.push(Block::Chart(distributions(analysis.time(cell), &trial.descriptor, cell)));
    if let (Basis::Ratios, Some(comparison)) = (analysis.basis(), cell.arrangement.comparisons.first()) {
        beside.push(Block::Chart(course(analysis.time(cell), &trial.descriptor, cell, comparison)));
    }
    let label = &cell.arrangement.label;
    let place = if label.is_empty() { String::new() } else { format!(": {label}") };
    document.push(Block::Folded { title: format!("How single values lie{place}"), document: beside });
    document
}

/// The ratios of these answers, one below the other. None where they are fewer than two, as a picture of one
/// says no more than its figures.
pub fn ratios<'a>(trial: &Trial, answers: impl IntoIterator<Item = &'a Answer>) -> Option<Block> {
    let mut drawn = intervals(trial, answers);
    drawn.rows.truncate(RATIOS);
    (drawn.rows.len() > 1).then_some(Block::Intervals(drawn))
}

/// A row for each of these answers that has a ratio. Where all weigh the same pair in several cells, it
/// stands above, and they are named by their cells.
fn intervals<'a>(trial: &Trial, answers: impl IntoIterator<Item = &'a Answer>) -> Intervals {
    let quantity = trial.descriptor.quantity;
    let several = trial.cells.len() > 1;
    let weighed = answers.into_iter().filter_map(|answer| {
        // Of no cell it stands for one that has a row.
        let evidence = answer.evidence.as_ref().filter(|_| !several || !answer.cell.is_empty())?;
        Some((answer, evidence))
    });
    let weighed: Vec<(&Answer, &Evidence)> = weighed.collect();
    let pair = |(_, evidence): &(&Answer, &Evidence)| (evidence.left.clone(), evidence.right.clone());
    let mut pairs = weighed.iter().map(pair);
    let first = pairs.next().unwrap_or_default();
    let is_one_pair = several && pairs.all(|pair| pair == first);
    let row = |(answer, evidence): (&Answer, &Evidence)| {
        let Evidence { left, right, .. } = evidence;
        let name = match (is_one_pair, several) {
            (true, _) => answer.cell.clone(),
            (false, true) => format!("{left} : {right}, {}", answer.cell),
            (false, false) => format!("{left} : {right}"),
        };
        estimate(name, figure(quantity, evidence), evidence, answer.verdict)
    };
    let (left, right) = match &first {
        (left, right) if is_one_pair => (left.as_str(), right.as_str()),
        _ => ("left", "the right one"),
    };
    let whose = if is_one_pair { left } else { "the left one" };
    Intervals {
        title: format!("{} of {right}, as a multiple of that of {whose}", name(quantity)),
        sides: sides(quantity).map(|side| format!("{left} {side}")),
        rows: weighed.into_iter().filter_map(row).collect(),
        marked: String::new(),
    }
}

/// A ratio and its interval in words.
pub(super) fn figure(quantity: Quantity, evidence: &Evidence) -> String {
    match briefly(quantity, evidence) {
        Some(figure) => format!("{figure} ({})", range(quantity, evidence)),
        None => format!("{}x ({})", show(evidence.ratio, evidence.interval), outward(evidence.interval)),
    }
}

/// A ratio as a row of a picture. None where its interval has no ends that could be drawn.
pub(super) fn estimate(
    name: String,
    figure: String,
    evidence: &Evidence,
    verdict: Verdict,
) -> Option<Estimate> {
    let Interval { low, high } = evidence.interval;
    let is_drawn = low > 0.0 && high.is_finite();
    is_drawn.then_some(Estimate { name, ratio: evidence.ratio, low, high, figure, verdict })
}

/// What a ratio below 1 says of the left one, and one above it.
const fn sides(quantity: Quantity) -> [&'static str; 2] {
    match quantity {
        Quantity::BytesPerSecond => ["carries less", "carries more"],
        Quantity::NanosecondsPerOperation => ["is dearer", "is cheaper"],
        Quantity::Lateness => ["is later", "is less late"],
        Quantity::WallTime => ["is slower", "is faster"],
        _ => ["needs more", "needs less"],
    }
}

/// What a ratio is of.
fn name(quantity: Quantity) -> String {
    capitalised(match quantity {
        Quantity::Lateness => "lateness",
        _ => quantity.of_command().unwrap_or("time"),
    })
}

/// Every sample of a trial: for each cell the costs of its variants, in the order in which they were taken.
pub(super) fn samples(analysis: &dyn Analysis, trial: &Trial) -> Vec<Samples> {
    let (unit, name) = cost(trial.descriptor.quantity);
    let of_cell = |cell: &Cell| {
        let time = analysis.time(cell);
        let series = |variant: &VariantIndex| {
            let values = costs(time, cell, *variant).collect();
            (trial.descriptor[*variant].name.clone(), values)
        };
        let label = &cell.arrangement.label;
        let place = if label.is_empty() { String::new() } else { format!(", {label}") };
        Samples {
            title: format!("All {} samples{place}: {name}", cell.samples.len()),
            unit,
            series: cell.arrangement.variants.iter().map(series).collect(),
        }
    };
    trial.cells.iter().filter(|cell| !cell.samples.is_empty()).map(of_cell).collect()
}

/// What a variant cost in each of its epochs, an operation.
fn costs(time: Time, cell: &Cell, variant: VariantIndex) -> impl Iterator<Item = f64> {
    let work = cell.arrangement.work as f64;
    let own = cell.samples.iter().filter(move |sample| sample.variant == variant);
    own.map(move |sample| time(sample) / work)
}

/// What a cost is: its unit and its name.
fn cost(quantity: Quantity) -> (Unit, &'static str) {
    let noun = quantity.of_command().unwrap_or_default();
    match quantity {
        Quantity::PeakMemory => (Unit::Bytes, noun),
        Quantity::Lateness => (Unit::Time, "lateness"),
        Quantity::BytesPerSecond => (Unit::Time, "time of a byte"),
        Quantity::NanosecondsPerOperation => (Unit::Time, "time of an operation"),
        Quantity::WallTime | Quantity::UserTime | Quantity::KernelTime | Quantity::CpuTime => {
            (Unit::Time, "time of a run")
        }
        _ => (Unit::Number, noun),
    }
}

/// How many epochs of each variant cost no more than so much.
fn distributions(time: Time, descriptor: &Descriptor, cell: &Cell) -> Chart {
    let (unit, name) = cost(descriptor.quantity);
    let curve = |&variant: &VariantIndex| {
        // A logarithm has no place for what took nothing.
        let costs = costs(time, cell, variant).filter(|cost| *cost > 0.0).collect();
        let points = cumulative(&Ordered::new(costs)?);
        Some(Curve { name: descriptor[variant].name.clone(), points, style: Style::Steps })
    };
    Chart {
        title: "Share of the epochs that cost no more than this".into(),
        x: Axis { name: name.into(), unit, is_logarithmic: true },
        y: Axis { name: "share of all epochs".into(), unit: Unit::Share, is_logarithmic: false },
        curves: cell.arrangement.variants.iter().filter_map(curve).collect(),
    }
}

/// The steps of an empirical distribution: of very many values as many as can be seen, always with the ends.
fn cumulative(values: &Ordered) -> Vec<(f64, f64)> {
    let count = values.count();
    let shown = count.min(POINTS);
    let ranks = (1..=shown).map(|step| (step * count).div_ceil(shown));
    let first = (values.values()[0], 0.0);
    let steps = ranks.map(|rank| (values.values()[rank - 1], rank as f64 / count as f64));
    std::iter::once(first).chain(steps).collect()
}

/// The ratio of each block over the running time of the cell: where the machine changed, it can be seen.
fn course(time: Time, descriptor: &Descriptor, cell: &Cell, comparison: &Comparison) -> Chart {
    let ratios = verdict::paired(time, &cell.samples, comparison);
    let ends = ends(&cell.samples);
    let place = |(&block, ratio): (&u32, &f64)| Some((*ends.get(block as usize)?, ratio.exp()));
    let points = ratios.blocks.iter().zip(&ratios.values).filter_map(place);
    let (left, right) = (&descriptor[comparison.left].name, &descriptor[comparison.right].name);
    Chart {
        title: format!("{left} : {right}, one dot per block, over the time they were measured"),
        x: Axis { name: "running time".into(), unit: Unit::Time, is_logarithmic: false },
        y: Axis { name: "ratio".into(), unit: Unit::Ratio, is_logarithmic: true },
        curves: vec![Curve { name: String::new(), points: thinned(points.collect()), style: Style::Dots }],
    }
}

/// The running time at the end of each block, in picoseconds.
fn ends(samples: &[Sample]) -> Vec<f64> {
    let mut ends = Vec::new();
    let mut running = 0.0;
    for sample in samples {
        running += sample.elapsed.0 as f64;
        ends.resize(sample.block as usize + 1, running);
        if let Some(last) = ends.last_mut() {
            *last = running;
        }
    }
    ends
}

/// Of very many points the lowest and the highest of each stretch: an outlier is never lost.
fn thinned(points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    if points.len() <= 2 * POINTS {
        return points;
    }
    let stretch = points.len().div_ceil(POINTS);
    let extremes = |stretch: &[(f64, f64)]| {
        let by_height = |one: &&(f64, f64), other: &&(f64, f64)| one.1.total_cmp(&other.1);
        let lowest = stretch.iter().min_by(by_height).copied();
        let highest = stretch.iter().max_by(by_height).copied();
        lowest.into_iter().chain(highest)
    };
    points.chunks(stretch).flat_map(extremes).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Comparisons;
    use crate::specimen::{cell, comparing, trial};
    use tenbin_model::{Ended, Machine};

    #[test]
    fn a_distribution_of_very_many_values_keeps_its_ends() {
        let values = Ordered::new((1..=100_000).map(f64::from).collect()).unwrap();
        let points = cumulative(&values);
        assert_eq!(points.len(), POINTS + 1);
        assert_eq!((points[0], points[POINTS]), ((1.0, 0.0), (100_000.0, 1.0)));
        assert!(points.windows(2).all(|pair| pair[0].0 <= pair[1].0 && pair[0].1 < pair[1].1));
        let two = cumulative(&Ordered::new(vec![2.0, 1.0]).unwrap());
        assert_eq!(two, [(1.0, 0.0), (1.0, 0.5), (2.0, 1.0)]);
    }

    #[test]
    fn an_outlier_of_a_long_course_is_drawn() {
        let mut points: Vec<(f64, f64)> = (0..100_000).map(|at| (f64::from(at), 1.0)).collect();
        points[77_777].1 = 9.0;
        let drawn = thinned(points);
        assert!(drawn.len() <= 2 * POINTS + 2);
        assert!(drawn.contains(&(77_777.0, 9.0)));
    }

    #[test]
    fn a_comparison_is_drawn_three_times() {
        let trial = trial(Quantity::NanosecondsPerOperation, vec![cell(200, 2.0, 0.01, Ended::Budget, 7)]);
        let judged = comparing().judge(&Machine::unobserved("a test"), &trial);
        let answers: Vec<&Answer> = judged.answers.iter().collect();
        let document = pictures(&Comparisons, &trial, &answers);
        let [Block::Intervals(intervals), Block::Folded { document: beside, .. }] = &document.blocks[..]
        else {
            panic!("{document:?}");
        };
        assert_eq!((intervals.rows.len(), intervals.rows[0].verdict), (1, Verdict::Different));
        let [Block::Chart(distributions), Block::Chart(course)] = &beside.blocks[..] else {
            panic!("{beside:?}");
        };
        assert_eq!(distributions.curves.len(), 2);
        assert_eq!(course.curves[0].points.len(), 200);
        assert!(course.curves[0].points.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}
