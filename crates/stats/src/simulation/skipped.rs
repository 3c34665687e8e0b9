//! Blocks that lost an epoch: they are skipped, and more of them for one variant than for the other.

use super::noise::{Host, SHAPES};
use super::{Frequency, Stopper};
use crate::LEVEL;
use crate::order::Ordered;
use crate::paired::{Epoch, LogRatios, Side, log_ratios};
use crate::sign::Signs;

/// Whether an epoch is lost, from whose it is, its time, and a draw between 0 and 1.
type Loss = fn(Side, f64, f64) -> bool;

/// One run of equal variants: the alarm, what was found, and how many blocks are complete and how
/// many left any epoch at all.
fn run(seed: u64, lost: Loss) -> (bool, LogRatios, usize, usize) {
    let mut host = Host::new(seed, SHAPES[0].1);
    let blocks = (host.budget(40.0) / 4.0) as usize;
    let mut stopper = Stopper::new(LEVEL, 1);
    let (mut epochs, mut complete, mut seen) = (Vec::new(), 0, 0);
    let signs = |epochs: &[Epoch]| {
        Ordered::new(log_ratios(epochs.iter().copied()).values).map_or_else(Signs::default, |v| Signs::of(&v))
    };
    for number in 0..blocks {
        let (block, _) = host.block(1.0);
        let before = epochs.len();
        for (side, times) in [(Side::Left, block.left), (Side::Right, block.right)] {
            for time in times {
                if !lost(side, time, host.noise.uniform()) {
                    epochs.push(Epoch { block: number as u32, side, time });
                }
            }
        }
        complete += usize::from(epochs.len() == before + 4);
        // Of a block that lost all four nothing is left to count.
        seen += usize::from(epochs.len() > before);
        // Looks go by what was measured, with the blocks that have to be skipped.
        if stopper.plan.is_look(number + 1).is_some() {
            stopper.look(number + 1, &signs(&epochs));
        }
    }
    (stopper.end(&signs(&epochs)), log_ratios(epochs), complete, seen)
}

/// Losses that do not know which variant is ahead take blocks away and no more.
#[test]
fn epochs_lost_in_one_variant_keep_the_false_alarm_rate() {
    let losses: [(&str, Loss); 3] = [
        ("never and 10 %", |side, _, draw| side == Side::Right && draw < 0.1),
        ("2 % and 20 %", |side, _, draw| draw < if side == Side::Left { 0.02 } else { 0.2 }),
        ("15 % and 5 %", |side, _, draw| draw < if side == Side::Left { 0.15 } else { 0.05 }),
    ];
    for (index, (name, lost)) in losses.into_iter().enumerate() {
        let (mut kept, mut skipped) = (0, 0);
        let observed = Frequency::of((0..8_000).map(|number| {
            let (alarm, blocks, complete, seen) = run(60_000_000 + 100_000 * index as u64 + number, lost);
            assert_eq!((blocks.values.len(), blocks.skipped), (complete, seen - complete));
            kept += blocks.values.len();
            skipped += blocks.skipped;
            alarm
        }));
        println!("epochs lost {name}, {kept} blocks kept and {skipped} skipped: {observed}");
        assert!(observed.is_at_most(LEVEL), "{name}: {observed}");
    }
}

/// The sabotage: a loss that does know. Slow epochs of one variant vanish, as when a timeout drops them.
/// The engine therefore drops nothing by its time.
#[test]
fn losing_the_slow_epochs_of_one_variant_raises_false_alarms() {
    let lost: Loss = |side, time, _| side == Side::Right && time > 1.01;
    let observed = Frequency::of((0..1_000).map(|number| run(70_000_000 + number, lost).0));
    println!("slow epochs of one variant lost: {observed}");
    assert!(observed.is_above(2.0 * LEVEL));
}
