//! One buffer: what can be said of data that hold a single column.
//!
//! So were the seed's figures taken: every core reads a buffer of core 0, and core 0 repeats. A far core and a slow
//! one look the same here, so "distant" is no possible answer. "Alike" is: if nothing is slower, nothing is far.

use serde::Serialize;

use super::middle::{median, variance};
use super::{COARSEST, DEVIATIONS, FINEST, MAD, Outcome, Why};
use crate::stats::detectable::normal_quantile;

/// Values that each of the two series needs: fewer show neither a range nor a deviation.
pub const LEAST_VALUES: usize = 6;

/// What one column says.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Column {
    /// The answer: alike or undecided, never distant.
    pub outcome: Outcome,
    /// How many cores were compared.
    pub cores: usize,
    /// How often one of them repeated.
    pub repeats: usize,
    /// The slowest core over the fastest, less 1.
    pub spread: f64,
    /// The slowest repetition of one core over its fastest, less 1.
    pub repeat: f64,
    /// The largest gap that shows between two groups of at least two cores, as a fraction. None if none shows.
    pub gap: Option<f64>,
    /// The median absolute deviation of the repetitions, or of the cores if that is larger, as a fraction.
    pub deviation: f64,
    /// The smallest gap between two groups of cores that such data show nine times of ten, as a fraction.
    pub detectable: f64,
}

/// Judges the times of `cores`, one each, against the times of `repeats`, all of one core.
///
/// Alike needs a spread of the cores within that of the repetitions and a smallest gap that would have shown of
/// at most [`COARSEST`]. A gap shows if it exceeds the range of the repetitions and [`DEVIATIONS`] times the deviation within
/// its two groups, of which the smaller may have two cores.
pub fn one_column(cores: &[f64], repeats: &[f64]) -> Column {
    let mut column = Column {
        outcome: Outcome::Undecided(Why::TooFewValues),
        cores: cores.len(),
        repeats: repeats.len(),
        spread: 0.0,
        repeat: 0.0,
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
    let deviation = deviation(&cores).max(deviation(&repeats)).max(MAD * FINEST);
    column.spread = range(&cores).exp_m1();
    column.repeat = range(&repeats).exp_m1();
    let shown = cuts(&cores).filter(|cut| cut.shows(range(&repeats))).map(|cut| cut.gap.exp_m1());
    column.gap = shown.max_by(f64::total_cmp);
    column.deviation = deviation.exp_m1();
    column.detectable = detectable(cores.len(), range(&repeats), deviation).exp_m1();
    column.outcome = if column.spread > column.repeat {
        Outcome::Undecided(Why::OneBuffer)
    } else if column.detectable > COARSEST {
        Outcome::Undecided(Why::TooCoarse)
    } else {
        Outcome::Alike
    };
    column
}

/// Logarithms in ascending order.
fn logarithms(times: &[f64]) -> Vec<f64> {
    let mut values: Vec<f64> = times.iter().map(|time| time.ln()).collect();
    values.sort_unstable_by(f64::total_cmp);
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

/// Sorted cores, cut in two.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cut {
    /// From the middle of the lower to that of the upper group, in logarithms.
    gap: f64,
    /// The median distance of a core from the middle of its group, in logarithms.
    deviation: f64,
}

impl Cut {
    /// Whether the gap exceeds the range of the repetitions and [`DEVIATIONS`] deviations.
    fn shows(self, range: f64) -> bool {
        self.gap > range && self.gap >= DEVIATIONS * self.deviation
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
/// What it must reach is the larger of the `range` of the repetitions and [`DEVIATIONS`] times the `deviation`. It lies above
/// that by what chance takes: from the difference of two medians, and from the deviation within the groups,
/// whose standard error over n values is 0.784 standard deviations over √n (see `contrast`). There are two limits
/// to miss, so each may be missed one time in twenty.
fn detectable(cores: usize, range: f64, deviation: f64) -> f64 {
    const OF_DEVIATION: f64 = 0.784;
    const EACH: f64 = 0.95;
    let one = deviation / MAD;
    let of_gap = one * (variance(2) + variance(cores - 2)).sqrt();
    let of_limit = DEVIATIONS * OF_DEVIATION * one / (cores as f64).sqrt();
    range.max(DEVIATIONS * deviation) + normal_quantile(EACH) * of_gap.hypot(of_limit)
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    const PUBLISHED: &str = include_str!("../../../../fixtures/published/numa_sc2a11.csv");

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
        assert_eq!(column.gap, None);
        assert!(column.detectable > column.repeat && column.detectable < 0.04, "{column:?}");
    }

    /// Cores that are repetitions of the published core, some of them farther by the smallest gap that would have shown.
    #[test]
    fn the_smallest_gap_is_found_nine_times_of_ten() {
        const RUNS: u64 = 2_000;
        let (cores, repeats) = (series("core"), series("repeat"));
        let column = one_column(&cores, &repeats);
        let range = column.repeat.ln_1p();
        let mut chance = Pcg64Mcg::seed_from_u64(24);
        for (far, gap, least) in [
            (2, column.detectable, 0.9),
            (6, column.detectable, 0.9),
            (12, column.detectable, 0.9),
            (22, column.detectable, 0.9),
            (12, 0.0, 0.0),
        ] {
            let mut shown = 0;
            for _ in 0..RUNS {
                let times = (0..cores.len()).map(|core| {
                    let time = repeats[chance.random_range(0..repeats.len())];
                    if core < far { time * (1.0 + gap) } else { time }
                });
                let values = logarithms(&times.collect::<Vec<_>>());
                shown += u64::from(cuts(&values).any(|cut| cut.shows(range)));
            }
            println!("{far} of 24 farther by {:.2} %: shown in {shown} of {RUNS}", gap * 100.0);
            assert!(shown as f64 >= least * RUNS as f64, "{far} far: {shown} of {RUNS}");
            assert!(gap > 0.0 || shown == 0, "{shown} gaps where there are none");
        }
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
