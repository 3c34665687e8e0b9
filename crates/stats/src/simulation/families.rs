//! False alarms of a whole cell: many variants, each weighed against the same baseline.

use rand::RngExt;

use super::noise::Noise;
use super::{Frequency, Stopper};
use crate::LEVEL;
use crate::paired::Block;
use crate::sign::Signs;

/// A mirrored block of variants that are all the same thing: the two epochs of each.
///
/// The machine wanders from epoch to epoch, and one epoch in fifty is preempted.
fn block(noise: &mut Noise, drift: &mut f64, places: &mut [usize], epochs: &mut [[f64; 2]]) {
    // Fisher and Yates, as in the engine's schedule.
    for last in (1..places.len()).rev() {
        places.swap(last, noise.0.random_range(0..=last));
    }
    let mut epoch = || {
        *drift += 0.004 * (noise.uniform() - 0.5);
        let draw = noise.uniform();
        let stretch = if draw < 0.02 { 30.0 } else { 1.0 };
        (1.0 + *drift + 0.02 * draw) * stretch
    };
    places.iter().for_each(|&variant| epochs[variant][0] = epoch());
    places.iter().rev().for_each(|&variant| epochs[variant][1] = epoch());
}

/// Of all comparisons of a family, the one that is furthest ahead. They have equally many blocks and no
/// ties, so it has the smallest p-value, and there is an alarm in the family exactly if it raises one.
fn furthest(family: &[Signs]) -> &Signs {
    family.iter().max_by_key(|signs| signs.positive.max(signs.negative)).unwrap()
}

/// One run: whether a stopper who shares the level among `shares` raised an alarm for any comparison.
fn any_alarm(seed: u64, family: usize, shares: usize) -> bool {
    let mut noise = Noise::new(seed);
    let blocks = (18.0 * 3.0_f64.powf(noise.uniform())) as usize;
    let mut stopper = Stopper::new(LEVEL, shares);
    let mut signs = vec![Signs::default(); family];
    let mut places: Vec<_> = (0..=family).collect();
    let mut epochs = vec![[0.0; 2]; family + 1];
    let mut drift = 0.0;
    for measured in 1..=blocks {
        block(&mut noise, &mut drift, &mut places, &mut epochs);
        for (signs, &right) in std::iter::zip(&mut signs, &epochs[1..]) {
            super::tally(signs, Block { left: epochs[0], right }.log_ratio());
        }
        if stopper.plan.is_look(measured).is_some() {
            stopper.look(measured, furthest(&signs));
        }
    }
    stopper.end(furthest(&signs))
}

/// Comparisons of one cell share the epochs of their baseline. One preempted epoch of it moves all of
/// them the same way, so their errors come together: about half of the spread of each log ratio is that
/// of the baseline. Bonferroni's inequality holds under any dependence; this shows what is left of it.
#[test]
fn a_family_with_one_baseline_keeps_the_false_alarm_rate() {
    for (family, runs) in [(2, 8_000), (5, 8_000), (10, 8_000), (20, 6_000), (50, 5_000)] {
        let seed = 100_000_000 * family as u64;
        let observed = Frequency::of((0..runs).map(|number| any_alarm(seed + number, family, family)));
        println!("any of {family} against one baseline: {observed}");
        assert!(observed.is_at_most(LEVEL), "{family}: {observed}");
    }
}

/// The sabotage: the same family, in which each comparison takes the whole level for itself.
#[test]
fn a_family_that_does_not_share_the_level_raises_more() {
    let observed = Frequency::of((0..1_000).map(|number| any_alarm(90_000_000 + number, 20, 1)));
    println!("any of 20 that do not share the level: {observed}");
    assert!(observed.is_above(2.0 * LEVEL));
}
