//! One buffer: what can be said of data that hold a single column.
//!
//! So were the published figures taken: every core reads a buffer of core 0, and core 0 repeats. A far core
//! and a slow one look the same here, so "distant" is no possible answer. "Alike" is one, with what it leaves
//! open: a far core that is faster by just as much takes the time of a near one, and no single buffer can
//! show that.
//!
//! A core is one value, and what it is held against are values of one core that came about in the same way:
//! each the median of as many epochs ([`of_as_many`]). Single epochs spread more than medians do, and their
//! range grows with every epoch, so that cores would look more alike the longer one measures.
//!
//! Counted over seeded machines that are made up, 24 cores with 1.2 % of noise on an epoch and one in 50 half
//! as long again (`tests`): of 1 600 with 2, 6, 12 or 22 cores farther by 6 %, none was called alike; of 400
//! flat ones, 383 were.

use super::middle::{median, shamos, variance};
use super::{COARSEST, DEVIATIONS, FINEST, MAD, Outcome, Why};
use tenbin_model::Order;
use tenbin_stats::LEVEL;
use tenbin_stats::detectable::normal_quantile;

/// Values that each of the two series needs: fewer show neither a range nor a deviation.
pub(super) const LEAST_VALUES: usize = 6;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Column {
    /// The answer: alike or undecided, never distant.
    pub outcome: Outcome,
    pub cores: usize,
    pub repeats: usize,
    /// The slowest core over the fastest, less 1.
    pub spread: f64,
    /// The slowest repetition of one core over its fastest, less 1.
    pub repeat: f64,
    /// The spread that repetition alone explains among as many cores, as a fraction.
    pub explained: f64,
    /// The largest gap that shows between two groups of at least two cores, as a fraction. None if none
    /// shows.
    pub gap: Option<f64>,
    /// The median absolute deviation of the repetitions, or of the cores if that is larger, as a fraction.
    pub deviation: f64,
    /// The smallest gap between two groups of cores that such data show nine times of ten, as a fraction.
    pub detectable: f64,
}

/// One value of each core, and values of the core that repeated that are medians of as many epochs.
///
/// `cores` holds the epochs of each core in order, `repeats` those of each variant that repeated. A value is
/// the median of as many epochs as every core has; further epochs of a core are left out, and a variant that
/// repeated more often gives several values, each of epochs that follow one another.
pub(crate) fn of_as_many(cores: &[Vec<f64>], repeats: &[Vec<f64>]) -> (Vec<f64>, Vec<f64>) {
    let epochs = cores.iter().map(Vec::len).min().unwrap_or(0);
    if epochs == 0 {
        return (Vec::new(), Vec::new());
    }
    let middle = |of: &[f64]| median(of.iter().copied());
    let values = cores.iter().map(|of| middle(&of[..epochs])).collect();
    (values, repeats.iter().flat_map(|of| of.chunks_exact(epochs)).map(middle).collect())
}

/// Judges the times of `cores`, one each, against the times of `repeats`, all of one core, each of as many
/// epochs as that of a core ([`of_as_many`]).
///
/// Alike needs a spread of the cores that repetition explains and a smallest gap that would have shown of at
/// most [`COARSEST`]. A gap shows if it exceeds what repetition explains and [`DEVIATIONS`] times the
/// deviation within its two groups, of which the smaller may have two cores.
pub(crate) fn one_column(cores: &[f64], repeats: &[f64]) -> Column {
    let mut column = Column {
        outcome: Outcome::Undecided(Why::TooFewValues),
        cores: cores.len(),
        repeats: repeats.len(),
        spread: 0.0,
        repeat: 0.0,
        explained: 0.0,
        gap: None,
        deviation: 0.0,
        detectable: f64::INFINITY,
    };
    let usable = |times: &[f64]| {
        times.len() >= LEAST_VALUES && times.iter().all(|time| time.is_finite() && *time > 0.0)
    };
    if !usable(cores) || !usable(repeats) {
        return column;
    }
    let [cores, repeats] = [cores, repeats].map(logarithms);
    let explained = explained(cores.len(), &repeats);
    let deviation = deviation(&cores).max(deviation(&repeats)).max(MAD * FINEST);
    column.spread = range(&cores).exp_m1();
    column.repeat = range(&repeats).exp_m1();
    column.explained = explained.exp_m1();
    let shown = cuts(&cores).filter(|cut| cut.shows(explained)).map(|cut| cut.gap.exp_m1());
    column.gap = shown.max_by(f64::total_cmp);
    column.deviation = deviation.exp_m1();
    column.detectable = detectable(cores.len(), explained, deviation).exp_m1();
    column.outcome = if column.spread > column.explained {
        Outcome::Undecided(Why::OneBuffer)
    } else if column.detectable > COARSEST {
        Outcome::Undecided(Why::TooCoarse)
    } else {
        Outcome::Alike
    };
    column
}

/// The spread of so many `cores` that repetition alone explains, in logarithms: but for one time in a hundred
/// if the deviation were known, and for a few as it is an estimate from some two dozen values.
///
/// The largest of the differences between two of n normal values stays within √2 z(1 − level/n(n−1)) standard
/// deviations (Bonferroni over the pairs). The deviation is that of the `repeats`, by [`shamos`].
fn explained(cores: usize, repeats: &[f64]) -> f64 {
    let deviation = shamos([repeats]).unwrap_or(0.0).max(FINEST);
    let pairs = (cores * (cores - 1)) as f64;
    std::f64::consts::SQRT_2 * -normal_quantile(LEVEL / pairs) * deviation
}

/// In ascending order.
fn logarithms(times: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = times.iter().map(|time| time.ln()).collect();
    values.order_by(f64::total_cmp);
    values
}

/// From the first to the last of ascending values.
fn range(values: &[f64]) -> f64 {
    values.first().zip(values.last()).map_or(0.0, |(first, last)| last - first)
}

fn deviation(values: &[f64]) -> f64 {
    let middle = median(values.iter().copied());
    median(values.iter().map(|value| (value - middle).abs()))
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    /// From the middle of the lower to that of the upper group, in logarithms.
    gap: f64,
    /// The median distance of a core from the middle of its group, in logarithms.
    deviation: f64,
}

impl Cut {
    /// Whether the gap exceeds what repetition explains and [`DEVIATIONS`] deviations.
    fn shows(self, explained: f64) -> bool {
        self.gap > explained && self.gap >= DEVIATIONS * self.deviation
    }
}

/// Every cut of ascending `values` that leaves two on each side.
fn cuts(values: &[f64]) -> impl Iterator<Item = Cut> + '_ {
    (2..values.len().saturating_sub(1)).map(|at| {
        let (lower, upper) = values.split_at(at);
        let middle = |group: &[f64]| median(group.iter().copied());
        let (low, high) = (middle(lower), middle(upper));
        let distances = lower.iter().map(|value| (value - low).abs());
        Cut {
            gap: high - low,
            deviation: median(distances.chain(upper.iter().map(|value| (value - high).abs()))),
        }
    })
}

/// The smallest gap that shows nine times of ten between two of `cores` and the rest, in logarithms.
///
/// What it must reach is the larger of what repetition has `explained` and [`DEVIATIONS`] times the
/// `deviation`. It lies above that by what chance takes: from the difference of two medians, and from the
/// deviation within the groups, whose standard error over n values is 0.784 standard deviations over √n (see
/// `contrast`). There are two limits to miss, so each may be missed one time in twenty.
fn detectable(cores: usize, explained: f64, deviation: f64) -> f64 {
    const OF_DEVIATION: f64 = 0.784;
    const EACH: f64 = 0.95;
    let one = deviation / MAD;
    let of_gap = one * (variance(2) + variance(cores - 2)).sqrt();
    let of_limit = DEVIATIONS * OF_DEVIATION * one / (cores as f64).sqrt();
    explained.max(DEVIATIONS * deviation) + normal_quantile(EACH) * of_gap.hypot(of_limit)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use tenbin_analysis::specimen::normal;

    use super::*;

    const PUBLISHED: &str = include_str!("../../../../../published/numa_sc2a11.csv");

    fn series(name: &str) -> Vec<f64> {
        let rows = PUBLISHED.lines().map(|line| line.split(',').collect::<Vec<_>>());
        rows.filter(|row| row[0] == name).map(|row| row[2].parse().unwrap()).collect()
    }

    #[test]
    fn the_published_columns_are_alike() {
        let (cores, repeats) = (series("core"), series("repeat"));
        let column = one_column(&cores, &repeats);
        println!("{column:#?}\n{}", column.in_words());
        assert_eq!((column.outcome, column.cores, column.repeats), (Outcome::Alike, 24, 24));
        assert!((column.spread - 0.0186).abs() < 0.0001, "{column:?}");
        assert!((column.repeat - 0.0231).abs() < 0.0001, "{column:?}");
        assert!(column.explained > column.repeat && column.explained < 0.045, "{column:?}");
        assert_eq!(column.gap, None);
        assert!(column.detectable > column.explained && column.detectable < 0.06, "{column:?}");
    }

    /// Cores that are repetitions of the published core, some of them farther by the smallest gap that would
    /// have shown.
    #[test]
    fn the_smallest_gap_is_found_nine_times_of_ten() {
        const RUNS: u64 = 2_000;
        let (cores, repeats) = (series("core"), series("repeat"));
        let would = one_column(&cores, &repeats).detectable;
        let mut chance = Pcg64Mcg::seed_from_u64(24);
        for (far, gap) in [(2, would), (6, would), (12, would), (22, would), (0, 0.0)] {
            let mut alike = 0;
            for _ in 0..RUNS {
                let mut draw = || repeats[chance.random_range(0..repeats.len())];
                let times = (0..cores.len()).map(|core| draw() * if core < far { 1.0 + gap } else { 1.0 });
                let (times, again) =
                    (times.collect::<Vec<_>>(), repeats.iter().map(|_| draw()).collect::<Vec<_>>());
                alike += u64::from(one_column(&times, &again).outcome == Outcome::Alike);
            }
            println!("{far} of 24 farther by {:.2} %: alike in {alike} of {RUNS}", gap * 100.0);
            let held = if far > 0 { alike <= RUNS / 10 } else { alike >= RUNS * 9 / 10 };
            assert!(held, "{far} far by {gap}: alike in {alike} of {RUNS}");
        }
    }

    /// A machine that is made up: `epochs` of each of 24 cores, the first `far` of them farther by `gap`, and
    /// of one core that repeats in `variants` variants of `repeats` epochs each. 1.2 % of noise, and one
    /// epoch in 50 half as long again.
    fn judged(
        far: usize,
        gap: f64,
        epochs: usize,
        (variants, repeats): (usize, usize),
        seed: u64,
    ) -> Outcome {
        let mut chance = Pcg64Mcg::seed_from_u64(seed);
        let mut epoch = |time: f64| {
            let longer = if chance.random::<f64>() < 0.02 { 1.5 } else { 1.0 };
            time * longer * (0.012 * normal(&mut chance)).exp()
        };
        let cores: Vec<Vec<f64>> = (0..24)
            .map(|core| {
                (0..epochs).map(|_| epoch(if core < far { 37.0 * (1.0 + gap) } else { 37.0 })).collect()
            })
            .collect();
        let again: Vec<Vec<f64>> =
            (0..variants).map(|_| (0..repeats).map(|_| epoch(37.0)).collect()).collect();
        let (cores, again) = of_as_many(&cores, &again);
        one_column(&cores, &again).outcome
    }

    #[test]
    fn a_gap_in_one_column_is_not_alike_however_long_one_measures() {
        const RUNS: u64 = 100;
        for (epochs, repeated) in [(12, (24, 12)), (40, (32, 40)), (200, (24, 200)), (200, (1, 4_800))] {
            let alike = |far: usize, gap: f64| {
                let alike = |seed: &u64| judged(far, gap, epochs, repeated, *seed) == Outcome::Alike;
                (0..RUNS).filter(alike).count()
            };
            // The flat machines show that the others are not refused for want of something else.
            let flat = alike(0, 0.0);
            println!("{epochs} epochs, repeated {repeated:?}: {flat} of {RUNS} flat machines alike");
            assert!(flat >= RUNS as usize * 9 / 10, "{epochs} epochs, {repeated:?}: {flat} of {RUNS}");
            for far in [2, 6, 12, 22] {
                assert_eq!(alike(far, 0.06), 0, "{far} far, {epochs} epochs, {repeated:?}");
            }
        }
    }

    #[test]
    fn what_is_compared_are_medians_of_as_many_epochs() {
        let cores = [vec![3.0, 1.0, 2.0], vec![6.0, 4.0, 5.0, 99.0]];
        let repeats = [vec![1.0, 9.0, 2.0, 7.0, 7.0, 8.0, 50.0], vec![5.0, 5.0]];
        assert_eq!(of_as_many(&cores, &repeats), (vec![2.0, 5.0], vec![2.0, 7.0]));
        assert_eq!(of_as_many(&[vec![], vec![1.0]], &repeats), (vec![], vec![]));
        assert_eq!(of_as_many(&[], &repeats), (vec![], vec![]));
        // The published columns keep one value for each figure.
        let published = (vec![37.3, 37.5], vec![37.0, 37.1, 37.2]);
        assert_eq!(of_as_many(&[vec![37.3], vec![37.5]], &[vec![37.0, 37.1, 37.2]]), published);
    }

    #[test]
    fn one_buffer_cannot_tell_slow_from_far() {
        let repeats: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i % 3) * 0.3).collect();
        let cores: Vec<f64> = (0..12).map(|core| if core < 6 { 100.0 } else { 142.0 }).collect();
        let column = one_column(&cores, &repeats);
        assert_eq!(column.outcome, Outcome::Undecided(Why::OneBuffer));
        assert!((column.gap.unwrap() - 0.42).abs() < 0.005, "{column:?}");
        assert!(column.refusal().unwrap().reached.contains("42"), "{:?}", column.refusal());
    }

    #[test]
    fn what_is_too_little_or_too_coarse_is_undecided() {
        let times: Vec<f64> = (0..12).map(|i| 100.0 + f64::from(i)).collect();
        for (cores, repeats) in [(&times[..5], &times[..]), (&times[..], &times[..5]), (&[][..], &[][..])] {
            assert_eq!(one_column(cores, repeats).outcome, Outcome::Undecided(Why::TooFewValues));
        }
        let mut broken = times.clone();
        broken[3] = 0.0;
        assert_eq!(one_column(&broken, &times).outcome, Outcome::Undecided(Why::TooFewValues));
        assert_eq!(one_column(&times, &times).outcome, Outcome::Undecided(Why::TooCoarse));
    }
}
