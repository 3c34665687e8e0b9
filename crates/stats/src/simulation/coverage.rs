//! How often intervals contain the truth, and which side they err to, where there is a difference.

use super::Frequency;
use super::noise::{COARSE, Host, Noise, SHAPES, SHARED, Shape};
use crate::LEVEL;
use crate::order::{Ordered, Ranks};
use crate::sequential::Plan;
use crate::{overhead, sign};

/// What happened to the intervals of one run, over all its looks.
#[derive(Default)]
struct IntervalErrors {
    /// One of them does not contain the true ratio.
    missed: bool,
    /// One of them lies wholly on the wrong side of 1.
    wrong_sign: bool,
    /// The last one excludes 1 on the right side.
    detected: bool,
}

/// A run of two variants, the second of which costs `ratio` times the first, for the time of `blocks`.
fn run(seed: u64, shape: Shape, ratio: f64, blocks: f64) -> IntervalErrors {
    let plan = Plan::new(LEVEL, 1).unwrap();
    let mut host = Host::new(seed, shape);
    let budget = 2.0 * (1.0 + ratio) * blocks;
    let (mut run, mut values, mut spent) = (IntervalErrors::default(), Vec::<f64>::new(), 0.0);
    let mut judge = |values: &[f64], level: f64| {
        let Some(detected) = sign::interval(&Ordered::new(values.to_vec()).unwrap(), level) else { return };
        let (interval, truth) = (detected.interval, ratio.ln());
        run.missed |= truth < interval.low || truth > interval.high;
        run.wrong_sign |= interval.high < 0.0;
        run.detected = interval.low > 0.0;
    };
    while spent < budget {
        let (block, time) = host.block(ratio);
        let value = block.log_ratio();
        // In order already, so that sorting them again for each look is cheap.
        values.insert(values.partition_point(|&other| other < value), value);
        spent += time;
        if let Some(level) = plan.is_look(values.len()).and_then(|look| plan.level_at(look)) {
            judge(&values, level);
        }
    }
    judge(&values, plan.final_level());
    run
}

/// Whoever stops when, at least 99 of 100 runs show intervals that all contain the truth. What moves an
/// epoch by a factor moves the log ratio of a difference as it moves that of equals, so the interval
/// covers 3 as well as it covers 1.
///
/// A difference above the noise is never told the wrong way round. One of 0.2 % is a tenth of the noise
/// here in most rows, far below what forty blocks can detect. Then a sign that is found at all is found by
/// chance, and can be the wrong one (A. Gelman and J. Carlin, "Beyond Power Calculations", 2014). The
/// interval promises only that this is rarer than half the level, and that is what is shown.
#[test]
fn true_differences_lie_in_their_intervals() {
    const RUNS: u64 = 2_500;
    const RATIOS: [f64; 3] = [1.002, 1.05, 3.0];
    let mut wrong_below_noise = Frequency::default();
    for (index, (name, shape)) in SHAPES.into_iter().chain(SHARED).enumerate() {
        let mut missed_at_any = Frequency::default();
        for (place, ratio) in RATIOS.into_iter().enumerate() {
            let [mut missed, mut wrong, mut detected] = [Frequency::default(); 3];
            for number in 0..RUNS {
                let seed = 80_000_000 + 1_000_000 * index as u64 + 100_000 * place as u64 + number;
                let run = run(seed, shape, ratio, 40.0);
                missed.count(run.missed);
                wrong.count(run.wrong_sign);
                detected.count(run.detected);
            }
            println!("{name}, {ratio}: missed {missed}; wrong sign {wrong}; found {detected}");
            missed_at_any = missed_at_any.with(missed);
            if place == 0 {
                wrong_below_noise = wrong_below_noise.with(wrong);
            } else {
                assert_eq!(wrong.hits, 0, "{name}, {ratio}");
            }
        }
        // Over the three ratios together, so that this many runs can show it.
        assert!(missed_at_any.is_at_most(LEVEL), "{name}: {missed_at_any}");
    }
    println!("wrong signs of a difference far below the noise: {wrong_below_noise}");
    assert!(wrong_below_noise.is_at_most(LEVEL / 2.0));
}

/// A limit: an interval covers the median of what the clock *says*. With noise below a step, that is a
/// whole number of half steps, and with many blocks the interval shrinks to that one value: it misses
/// nearly every difference that lies between two of them, but by less than a step. So the product asks
/// for a clock whose step is 0.05 % of an epoch, far below every margin of equivalence.
#[test]
fn a_coarse_clock_is_wrong_by_less_than_its_step() {
    const STEP: f64 = 0.01;
    let truth = 1.002_f64.ln();
    let mut by_a_step = Frequency::default();
    let missed = Frequency::of((0..150).map(|number| {
        let mut host = Host::new(94_000_000 + number, COARSE.1);
        let values = (0..2_000).map(|_| host.block(1.002).0.log_ratio()).collect();
        let interval = sign::interval(&Ordered::new(values).unwrap(), LEVEL).unwrap().interval;
        by_a_step.count(truth < interval.low - STEP || truth > interval.high + STEP);
        truth < interval.low || truth > interval.high
    }));
    println!("{}, 1.002, 2000 blocks: missed {missed}; by a step {by_a_step}", COARSE.0);
    assert!(missed.is_above(0.5));
    assert_eq!(by_a_step.hits, 0);
}

#[test]
fn intervals_cover_the_median_as_often_as_they_say() {
    const RUNS: u64 = 4_000;
    for (index, count) in [6_usize, 17, 60].into_iter().enumerate() {
        let mut noise = Noise::new(42 + index as u64);
        let missed = Frequency::of((0..RUNS).map(|_| {
            let values = Ordered::new((0..count).map(|_| noise.cauchy()).collect()).unwrap();
            let interval = sign::interval(&values, 0.05).unwrap().interval;
            interval.low > 0.0 || interval.high < 0.0
        }));
        let (achieved, bound) = (Ranks::of(count, 0.5, 0.05).unwrap().level, missed.bound());
        println!("n = {count}: missed {missed}; achieved level {achieved:.4}");
        assert!(bound.low <= achieved && achieved <= bound.high);
    }
}

#[test]
fn overhead_is_recovered_from_noisy_epochs() {
    let mut noise = Noise::new(5);
    let missed = (0..500)
        .filter(|_| {
            let mut epoch = |n: f64| (35.0 + 2.0 * n) * (1.0 + 0.01 * noise.cauchy().abs());
            let pairs: Vec<_> = (0..40)
                .map(|_| {
                    let once = [epoch(20.0), epoch(20.0)];
                    overhead::Doubling { iterations: 20, once, twice: epoch(40.0) }
                })
                .collect();
            let slope = overhead::epoch_cost(&pairs, 0.05).unwrap().slope.interval.unwrap().interval;
            // The noise multiplies, so the medians are those of the distorted times: near, not exact.
            slope.low > 2.2 || slope.high < 1.8
        })
        .count();
    assert_eq!(missed, 0);
}
