//! Blocks of one epoch of each variant, as of commands: the order is all that is drawn, and enough.

use super::noise::{Host, NEIGHBOUR, SHAPES, SHARED};
use super::{Frequency, LEVELS, alarm};
use crate::LEVEL;

/// Equal variants: no noise that goes on from one epoch to the next turns an order that was drawn by a coin.
#[test]
fn single_epochs_keep_the_false_alarm_rate() {
    let shapes = SHAPES.into_iter().chain(SHARED).chain([NEIGHBOUR]);
    for (index, (name, shape)) in shapes.enumerate() {
        for level in LEVELS {
            let observed = Frequency::of((0..24_000).map(|number| {
                let mut host = Host::new(100_000_000 + 1_000_000 * index as u64 + number, shape);
                let blocks = (host.budget(130.0) / 2.0) as usize;
                alarm(level, (0..blocks).map(|_| host.single(1.0).0))
            }));
            println!("single epochs, {name}, level {level}: {observed}");
            assert!(observed.is_at_most(level), "{name}: not shown to be at most {level}: {observed}");
        }
    }
}

/// What they are for: beside a neighbour the same number of epochs finds 0.3 % more often in blocks of two
/// than in blocks of four.
#[test]
fn single_epochs_find_more_beside_a_neighbour() {
    const BLOCKS: usize = 128;
    let detected = |once: bool| {
        Frequency::of((0..400).map(|number| {
            let mut host = Host::new(97_000_000 + number, NEIGHBOUR.1);
            let blocks = if once { 2 * BLOCKS } else { BLOCKS };
            let ratios = (0..blocks)
                .map(|_| if once { host.single(1.003).0 } else { host.block(1.003).0.log_ratio() });
            alarm(LEVEL, ratios)
        }))
    };
    let (single, mirrored) = (detected(true), detected(false));
    println!("0.3 % beside a neighbour: single epochs {single}; mirrored blocks {mirrored}");
    assert!(single.bound().low > mirrored.bound().high, "{single}; {mirrored}");
}
