//! What the methods promise about error and power, counted over seeded runs of simulated noise.
//!
//! Run with `--nocapture` to see the rates. The seeds are fixed, so an outcome never changes by chance.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::Interval;

use super::order::Ordered;
use super::paired::Block;
use super::proportion::clopper_pearson;
use super::sequential::Plan;
use super::sign::{self, Signs};
use super::{detectable, overhead};

const LEVEL: f64 = 0.05;
const RUNS: u64 = 4_000;

/// Where a rate may lie, given what was counted.
fn rate(hits: u64, runs: u64) -> Interval {
    clopper_pearson(hits, runs, 0.01).unwrap()
}

struct Noise(Pcg64Mcg);

impl Noise {
    fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    fn cauchy(&mut self) -> f64 {
        (std::f64::consts::PI * (self.uniform() - 0.5)).tan()
    }

    fn laplace(&mut self) -> f64 {
        let size = -(1.0 - self.uniform()).ln();
        if self.0.random() { size } else { -size }
    }
}

/// Time of one epoch, about 1, from the noise of the machine and a state that outlives the epoch.
type Shape = fn(&mut Noise, &mut f64) -> f64;

const SHAPES: [(&str, Shape); 4] = [
    ("normal", |noise, _| (0.02 * noise.normal()).exp()),
    ("Cauchy", |noise, _| 1.0 + 0.02 * noise.cauchy().abs()),
    ("bimodal", |noise, _| if noise.uniform() < 0.3 { 1.4 } else { 1.0 } + 0.01 * noise.uniform()),
    ("drifting", |noise, drift| {
        *drift += 0.03 * noise.normal();
        (*drift + 0.01 * noise.normal()).exp()
    }),
];

/// One block of two variants that are the same thing, and the time it took.
fn identical_block(noise: &mut Noise, shape: Shape, state: &mut f64) -> (Block, f64) {
    let times: [f64; 4] = std::array::from_fn(|_| shape(noise, state));
    let (outer, inner) = ([times[0], times[3]], [times[1], times[2]]);
    // Which variant comes first is drawn, as the engine draws it.
    let left_first: bool = noise.0.random();
    let (left, right) = if left_first { (outer, inner) } else { (inner, outer) };
    (Block { left, right }, times.iter().sum())
}

fn count(signs: &mut Signs, log_ratio: f64) {
    match log_ratio {
        ratio if ratio > 0.0 => signs.positive += 1,
        ratio if ratio < 0.0 => signs.negative += 1,
        _ => signs.zero += 1,
    }
}

/// Whether somebody who stops at the first significant look calls this run different. `level_at` gives
/// the level at an interim count, where there is a look, and `last` that at the end of the time.
fn alarms(
    budget: f64,
    mut block: impl FnMut() -> (f64, f64),
    level_at: impl Fn(usize) -> Option<f64>,
    last: f64,
) -> bool {
    let (mut signs, mut spent, mut blocks) = (Signs::default(), 0.0, 0);
    while spent < budget {
        let (log_ratio, time) = block();
        count(&mut signs, log_ratio);
        spent += time;
        blocks += 1;
        // By duality this is the same as: the interval at that level excludes zero.
        if level_at(blocks).is_some_and(|level| signs.p_value() <= level) {
            return true;
        }
    }
    signs.p_value() <= last
}

/// Time for somewhere between 8 and about 300 blocks of four epochs.
fn budget(noise: &mut Noise) -> f64 {
    4.0 * 8.0 * 40.0_f64.powf(noise.uniform())
}

fn false_alarms(seed: u64, shape: Shape, level_at: impl Fn(usize) -> Option<f64>, last: f64) -> u64 {
    let run = |run| {
        let mut noise = Noise::new(seed + run);
        let mut drift = 0.0;
        let budget = budget(&mut noise);
        let block = || {
            let (block, time) = identical_block(&mut noise, shape, &mut drift);
            (block.log_ratio(), time)
        };
        alarms(budget, block, &level_at, last)
    };
    (0..RUNS).filter(|&number| run(number)).count() as u64
}

#[test]
fn stopping_when_significant_keeps_the_false_alarm_rate() {
    let plan = Plan::new(LEVEL, 1).unwrap();
    for (index, (name, shape)) in SHAPES.into_iter().enumerate() {
        let alarms = false_alarms(
            1_000_000 * (index as u64 + 1),
            shape,
            |blocks| plan.level_at(plan.is_look(blocks)?),
            plan.final_level(),
        );
        let bound = rate(alarms, RUNS);
        println!("{name}: {alarms} false alarms in {RUNS} runs; {:.4} to {:.4}", bound.low, bound.high);
        assert!(bound.high <= LEVEL, "{name}: the rate is not shown to be at most {LEVEL}: {bound:?}");
    }
}

/// The sabotage: the same observer without the plan. If this did not fail, the test above would prove nothing.
#[test]
fn stopping_when_significant_without_a_plan_does_not() {
    let (name, shape) = SHAPES[0];
    let alarms = false_alarms(9_000_000, shape, |_| Some(LEVEL), LEVEL);
    let bound = rate(alarms, RUNS);
    println!("{name}, no plan: {alarms} false alarms in {RUNS} runs; {:.4} to {:.4}", bound.low, bound.high);
    assert!(bound.low > 2.0 * LEVEL);
}

/// Beyond what the argument covers: the median ratio is 1, but whenever `right` is the slower one, it
/// is slower by far, so sign and elapsed time are related as strongly as they can be.
#[test]
fn a_sign_that_is_related_to_time_costs_little() {
    let plan = Plan::new(LEVEL, 1).unwrap();
    let run = |run| {
        let mut noise = Noise::new(7_000_000 + run);
        let budget = budget(&mut noise);
        let block = || if noise.0.random() { (1.0, 13.0) } else { (-0.01, 3.98) };
        alarms(budget, block, |blocks| plan.level_at(plan.is_look(blocks)?), plan.final_level())
    };
    let alarms = (0..RUNS).filter(|&number| run(number)).count() as u64;
    let bound = rate(alarms, RUNS);
    println!("sign and time related: {alarms} in {RUNS} runs; {:.4} to {:.4}", bound.low, bound.high);
    assert!(bound.high <= LEVEL);
}

#[test]
fn intervals_cover_the_median_as_often_as_they_say() {
    for (index, count) in [6_usize, 17, 60].into_iter().enumerate() {
        let mut noise = Noise::new(42 + index as u64);
        let missed = (0..RUNS)
            .filter(|_| {
                let values = Ordered::new((0..count).map(|_| noise.cauchy()).collect()).unwrap();
                let found = sign::interval(&values, LEVEL).unwrap().interval;
                found.low > 0.0 || found.high < 0.0
            })
            .count() as u64;
        let achieved = super::order::Ranks::of(count, 0.5, LEVEL).unwrap().level;
        let bound = rate(missed, RUNS);
        println!("n = {count}: missed {missed} of {RUNS}; achieved level {achieved:.4}");
        assert!(bound.low <= achieved && achieved <= bound.high);
    }
}

#[test]
fn an_effect_of_the_detectable_size_is_found_about_nine_times_of_ten() {
    const TRIES: u64 = 1_500;
    type Draw = fn(&mut Noise) -> f64;
    let shapes: [(&str, Draw); 2] = [("normal", Noise::normal), ("Laplace", Noise::laplace)];
    for (index, (name, draw)) in shapes.into_iter().enumerate() {
        for count in [32, 200] {
            let mut noise = Noise::new(100 + index as u64);
            let mut sample =
                |shift: f64| Ordered::new((0..count).map(|_| shift + draw(&mut noise)).collect()).unwrap();
            let found = (0..TRIES)
                .filter(|_| {
                    // One measurement says what it could have found; another one, like it, tries.
                    let first = sample(0.0);
                    let said = sign::interval(&first, LEVEL).unwrap();
                    let effect =
                        detectable::smallest(first.median(), said.interval, said.ranks.level).unwrap();
                    sign::interval(&sample(effect), LEVEL).unwrap().interval.low > 0.0
                })
                .count() as u64;
            let power = found as f64 / TRIES as f64;
            println!("{name}, n = {count}: found {found} of {TRIES}, {power:.3}");
            assert!((0.80..=0.97).contains(&power), "{name} {count}: {power}");
        }
    }
}

#[test]
fn overhead_is_recovered_from_noisy_epochs() {
    let mut noise = Noise::new(5);
    let missed = (0..500)
        .filter(|_| {
            let mut epoch = |n: f64| (35.0 + 2.0 * n) * (1.0 + 0.01 * noise.cauchy().abs());
            let pairs: Vec<_> = (0..40)
                .map(|_| overhead::Doubling { iterations: 20, once: epoch(20.0), twice: epoch(40.0) })
                .collect();
            let slope = overhead::line(&pairs, LEVEL).unwrap().slope.interval.unwrap().interval;
            // The noise multiplies, so the medians are those of the distorted times: near, not exact.
            slope.low > 2.2 || slope.high < 1.8
        })
        .count();
    assert_eq!(missed, 0);
}
