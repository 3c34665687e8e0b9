//! How often laws are told as they are, counted over seeded runs of made-up costs.
//!
//! Run with `--nocapture` to see the rates.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::*;
use tenbin_analysis::specimen::normal;
use tenbin_stats::proportion::clopper_pearson;

const PAGES: [f64; 5] = [0.0, 1024.0, 4096.0, 16384.0, 65536.0];
const MARGIN: f64 = 0.05;

/// Intervals of a trial like the real one: 11 ways of 5 sizes, 8 comparisons.
const FAMILY: usize = 8 + 11 * (2 + 2 * 5);

/// Picoseconds: 60 µs, and 7 ns a page.
const CONSTANT: f64 = 60e6;
const SLOPE: f64 = 7e3;

/// How a made-up machine disturbs an epoch.
#[derive(Clone, Copy, Debug)]
struct Disturbance {
    /// Standard deviation of the logarithm of an epoch's time.
    noise: f64,
    /// The part of the epochs that take thirty times as long.
    preempted: f64,
    /// Standard deviation of the logarithm of what is common to a block.
    common: f64,
}

const DISTURBANCES: [Disturbance; 5] = [
    Disturbance { noise: 0.02, preempted: 0.0, common: 0.0 },
    Disturbance { noise: 0.02, preempted: 0.05, common: 0.0 },
    Disturbance { noise: 0.05, preempted: 0.05, common: 0.05 },
    Disturbance { noise: 0.1, preempted: 0.05, common: 0.0 },
    Disturbance { noise: 0.1, preempted: 0.05, common: 0.2 },
];

/// So many blocks of two epochs of each size, at the cost that `cost` says.
fn blocks(seed: u64, count: usize, disturbance: Disturbance, cost: impl Fn(f64) -> f64) -> Vec<Vec<Point>> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let Disturbance { noise, preempted, common } = disturbance;
    (0..count)
        .map(|_| {
            let shared = common * normal(&mut random);
            let mut epoch = |&size: &f64| {
                let stretch = if random.random::<f64>() < preempted { 30.0 } else { 1.0 };
                Point { size, cost: cost(size) * (shared + noise * normal(&mut random)).exp() * stretch }
            };
            PAGES.iter().chain(PAGES.iter().rev()).map(&mut epoch).collect()
        })
        .collect()
}

fn sizes() -> Vec<Size> {
    let size = |&pages: &f64| Size { memory: Bytes(pages as u64 * 4096), pages, median: 0.0 };
    PAGES.iter().map(size).collect()
}

fn judged(seed: u64, count: usize, disturbance: Disturbance, cost: impl Fn(f64) -> f64) -> Fitted {
    let level = bonferroni(LEVEL, FAMILY);
    fitted(&blocks(seed, count, disturbance, cost), &sizes(), level, MARGIN).unwrap()
}

/// How often each of several things was so in `runs` runs.
fn counts<const N: usize>(runs: u64, what: impl Fn(u64) -> [bool; N]) -> [u64; N] {
    let mut hits = [0; N];
    for run in 0..runs {
        hits.iter_mut().zip(what(run)).for_each(|(hits, hit)| *hits += u64::from(hit));
    }
    hits
}

/// The upper end of the exact interval of a rate, at 99 %.
fn at_most(hits: u64, runs: u64) -> f64 {
    clopper_pearson(hits, runs, 0.01).unwrap().high
}

/// At a level of 1 % for each by itself, over 25 blocks: the slope lies in its interval as often as promised.
///
/// So does the constant where nothing is preempted. Whatever preempts lengthens, at every size: of a time
/// that is stretched once in twenty, the median lies a fifteenth of a deviation above that of a time
/// undisturbed, and the constant's interval is about that median. The slope is a difference, so it is spared.
#[test]
fn intervals_hold_constant_and_slope_as_often_as_they_say() {
    const RUNS: u64 = 3_000;
    for (index, disturbance) in DISTURBANCES.into_iter().enumerate() {
        for (place, slope) in [0.0, SLOPE, 10.0 * SLOPE].into_iter().enumerate() {
            let outside = |interval: Interval, truth: f64| truth < interval.low || truth > interval.high;
            let [missed, off] = counts(RUNS, |run| {
                let seed = 1_000_000 * (10 * index + place) as u64 + run;
                let law = law(&blocks(seed, 25, disturbance, |size| CONSTANT + slope * size), LEVEL).unwrap();
                [
                    outside(law.slope.interval.unwrap().interval, slope),
                    outside(law.constant.interval.unwrap().interval, CONSTANT),
                ]
            });
            println!("{disturbance:?}, slope {slope}: slope missed {missed}, constant {off} of {RUNS}");
            assert!(at_most(missed, RUNS) <= 0.012, "{disturbance:?}, slope {slope}: {missed} of {RUNS}");
            let promised = if disturbance.preempted > 0.0 { 0.025 } else { 0.012 };
            assert!(
                at_most(off, RUNS) <= promised,
                "{disturbance:?}, slope {slope}: constant {off} of {RUNS}"
            );
        }
    }
}

/// What does not grow is never said to, nor to fall; and with time enough it is found to be the same.
#[test]
fn what_is_flat_does_not_grow() {
    const RUNS: u64 = 1_000;
    for (index, disturbance) in DISTURBANCES.into_iter().enumerate() {
        let [wrong, same, bent] = counts(RUNS, |run| {
            let fitted = judged(20_000_000 * (1 + index as u64) + run, 60, disturbance, |_| CONSTANT);
            let grows = matches!(fitted.growth, Growth::Grows | Growth::Falls);
            [grows, fitted.growth == Growth::Same, fitted.is_bent()]
        });
        println!("{disturbance:?}: {wrong} grow, {same} the same, {bent} bent of {RUNS}");
        assert!(at_most(wrong, RUNS) <= LEVEL, "{disturbance:?}: {wrong} of {RUNS}");
        assert_eq!(bent, 0, "{disturbance:?}");
        assert!(disturbance.noise > 0.02 || same >= RUNS * 99 / 100, "{disturbance:?}: {same} of {RUNS}");
    }
}

/// A step beyond the margin is never said to cost the same at any size, wherever it stands and whatever the
/// line makes of it.
#[test]
fn a_step_beyond_the_margin_is_never_the_same() {
    const RUNS: u64 = 300;
    for (index, disturbance) in DISTURBANCES.into_iter().enumerate() {
        for (place, first) in [1024.0, 4096.0, 65536.0].into_iter().enumerate() {
            let step = |size: f64| if size >= first { 1.09 * CONSTANT } else { CONSTANT };
            let [same] = counts(RUNS, |run| {
                let seed = 700_000_000 + 1_000_000 * (10 * index + place) as u64 + run;
                [judged(seed, 60, disturbance, step).growth == Growth::Same]
            });
            println!("{disturbance:?}, step at {first}: {same} of {RUNS} the same");
            assert!(at_most(same, RUNS) <= 0.02, "{disturbance:?}, step at {first}: {same} of {RUNS}");
        }
    }
}

/// A line that grows is found to, in 24 blocks, and is not called bent.
#[test]
fn what_grows_is_found_and_is_a_line() {
    const RUNS: u64 = 500;
    for (index, disturbance) in DISTURBANCES.into_iter().enumerate() {
        let [grow, bent] = counts(RUNS, |run| {
            let seed = 300_000_000 + 1_000_000 * index as u64 + run;
            let fitted = judged(seed, 24, disturbance, |size| CONSTANT + SLOPE * size);
            [fitted.growth == Growth::Grows, fitted.is_bent()]
        });
        println!("{disturbance:?}: {grow} grow, {bent} bent of {RUNS}");
        assert!(grow >= RUNS * 99 / 100, "{disturbance:?}: {grow} of {RUNS}");
        assert!(at_most(bent, RUNS) <= 0.011, "{disturbance:?}: {bent} of {RUNS}");
    }
}

#[test]
fn what_is_no_line_is_called_bent() {
    const RUNS: u64 = 200;
    let knee: fn(f64) -> f64 = |size| CONSTANT + SLOPE * size + 2.0 * SLOPE * (size - 16384.0).max(0.0);
    let square: fn(f64) -> f64 = |size| CONSTANT + SLOPE * size * size / 65536.0 * 4.0;
    let step: fn(f64) -> f64 = |size| if size > 1024.0 { 2.0 * CONSTANT } else { CONSTANT };
    for (index, disturbance) in DISTURBANCES.into_iter().enumerate() {
        for (name, cost) in [("knee", knee), ("square", square), ("step", step)] {
            let seed = |run: u64| 500_000_000 + 1_000_000 * index as u64 + run;
            let [bent] = counts(RUNS, |run| [judged(seed(run), 60, disturbance, cost).is_bent()]);
            println!("{disturbance:?}, {name}: {bent} of {RUNS} bent");
            assert!(disturbance.noise > 0.05 || bent == RUNS, "{disturbance:?}, {name}: {bent} of {RUNS}");
            assert!(bent >= RUNS * 9 / 10, "{disturbance:?}, {name}: {bent} of {RUNS}");
        }
    }
}
