//! False alarms of two variants that are the same thing, whoever stops the run and whatever the noise.

use super::noise::{COARSE, Host, Noise, SHAPES, SHARED, Shape};
use super::{Frequency, LEVELS, Stopper, tally};
use crate::sign::Signs;

/// One run of equal variants: whether the stopper raised an alarm, at each of the levels.
fn run(seed: u64, shape: Shape) -> [bool; 2] {
    let mut host = Host::new(seed, shape);
    let budget = host.budget(130.0);
    let mut stoppers = LEVELS.map(|level| Stopper::new(level, 1));
    let (mut signs, mut spent, mut blocks) = (Signs::default(), 0.0, 0);
    while spent < budget {
        let (block, time) = host.block(1.0);
        tally(&mut signs, block.log_ratio());
        spent += time;
        blocks += 1;
        stoppers.iter_mut().for_each(|stopper| stopper.look(blocks, &signs));
    }
    stoppers.map(|stopper| stopper.end(&signs))
}

fn hold_the_level(seed: u64, shapes: &[(&str, Shape)]) {
    const RUNS: u64 = 8_000;
    for (index, &(name, shape)) in shapes.iter().enumerate() {
        let mut observed = [Frequency::default(); 2];
        for number in 0..RUNS {
            let alarms = run(seed + 1_000_000 * index as u64 + number, shape);
            std::iter::zip(&mut observed, alarms).for_each(|(observed, alarm)| observed.count(alarm));
        }
        for (level, observed) in std::iter::zip(LEVELS, observed) {
            println!("stop when significant, {name}, level {level}: {observed}");
            assert!(observed.is_at_most(level), "{name}: not shown to be at most {level}: {observed}");
        }
    }
}

#[test]
fn stopping_when_significant_keeps_the_false_alarm_rate() {
    hold_the_level(1_000_000, &SHAPES);
}

#[test]
fn the_noise_of_shared_machines_keeps_the_false_alarm_rate() {
    hold_the_level(20_000_000, &SHARED);
    hold_the_level(28_000_000, &[COARSE]);
}

/// The sabotage: the same observer without the plan. If this did not fail, the tests above would prove
/// nothing.
#[test]
fn stopping_when_significant_without_a_plan_does_not() {
    let (name, shape) = SHAPES[0];
    for level in LEVELS {
        let observed = Frequency::of((0..2_000).map(|number| {
            let mut host = Host::new(9_000_000 + number, shape);
            let mut signs = Signs::default();
            (0..100).any(|_| {
                tally(&mut signs, host.block(1.0).0.log_ratio());
                signs.p_value() <= level
            })
        }));
        println!("no plan, {name}, level {level}: {observed}");
        assert!(observed.is_above(2.0 * level));
    }
}

/// Beyond what the argument covers: the median ratio is 1, but whenever `right` is the slower one, it
/// is slower by far, so sign and elapsed time are related as strongly as they can be.
#[test]
fn a_sign_that_is_related_to_time_costs_little() {
    for level in LEVELS {
        let observed = Frequency::of((0..8_000).map(|number| {
            let mut noise = Noise::new(7_000_000 + number);
            let budget = 4.0 * 8.0 * 40.0_f64.powf(noise.uniform());
            let (mut stopper, mut signs) = (Stopper::new(level, 1), Signs::default());
            let (mut spent, mut blocks) = (0.0, 0);
            while spent < budget {
                let (log_ratio, time) = if noise.coin() { (1.0, 13.0) } else { (-0.01, 3.98) };
                tally(&mut signs, log_ratio);
                spent += time;
                blocks += 1;
                stopper.look(blocks, &signs);
            }
            stopper.end(&signs)
        }));
        println!("sign and time related, level {level}: {observed}");
        assert!(observed.is_at_most(level));
    }
}
