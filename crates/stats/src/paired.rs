//! From epochs to paired log ratios: one number for each block.
//!
//! A block holds each variant twice, mirrored (A B … B A), or once, in a random order. In a mirrored one a
//! drift that is linear over the block, in the logarithm of time, adds the same to both variants and leaves
//! the ratio alone. One of single epochs is for what is disturbed now and then by much: of four epochs one
//! is disturbed more often than of two, and a mean is no better than its worst part. What is common to a
//! block, such as a clock rate or a neighbour, cancels in both. So the noise that is left is that between
//! epochs, and the block is the unit of repetition (Kalibera & Jones, "Rigorous Benchmarking in Reasonable
//! Time", 2013: repeat at the level that varies). Which variant comes first is drawn by a fair coin for
//! each block: so where they are equal the sign of its ratio is one too, whatever disturbs it.

use std::collections::BTreeMap;

use tenbin_model::Interval;

/// The four epochs of two variants in one block: times for one iteration, in any unit, as long as it
/// is the same one. The first of each pair came first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Block {
    /// Both epochs of the first variant.
    pub left: [f64; 2],
    /// Both epochs of the second variant.
    pub right: [f64; 2],
}

impl Block {
    /// The logarithm of cost of `right` over cost of `left`: mean of the logarithms of the one minus
    /// mean of the logarithms of the other. Swapping the variants changes its sign and nothing else.
    ///
    /// Finite exactly if all four times are positive and finite.
    pub fn log_ratio(&self) -> f64 {
        let sum = |times: [f64; 2]| times[0].ln() + times[1].ln();
        0.5 * (sum(self.right) - sum(self.left))
    }
}

/// Which of the two variants.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The first one: its cost is below the fraction line.
    Left,
    /// The second one: its cost is above the fraction line.
    Right,
}

/// One epoch of one of the two variants.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Epoch {
    /// The block that it belongs to.
    pub block: u32,
    /// The variant.
    pub side: Side,
    /// Time for one iteration, in a unit common to all epochs.
    pub time: f64,
}

/// Log ratios of all blocks that have one.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LogRatios {
    /// One log ratio for each complete block, in the order of the blocks' numbers.
    pub values: Vec<f64>,
    /// The number of each of these blocks.
    pub blocks: Vec<u32>,
    /// Blocks left out: without exactly as many epochs of each variant as a block has, or with a time that
    /// is not positive and finite. Neither reason looks at which variant is the faster one.
    pub skipped: usize,
}

/// The log ratio of each block. Epochs of one block may stand anywhere in the sequence; within a block
/// and a variant they are taken in the order given.
pub fn log_ratios(epochs: impl IntoIterator<Item = Epoch>) -> LogRatios {
    let mut blocks: BTreeMap<u32, [Vec<f64>; 2]> = BTreeMap::new();
    for epoch in epochs {
        let [left, right] = blocks.entry(epoch.block).or_default();
        match epoch.side {
            Side::Left => left.push(epoch.time),
            Side::Right => right.push(epoch.time),
        }
    }
    let mut ratios = LogRatios::default();
    // Of a mirrored block that lost epochs one of each is no block.
    let once = blocks.values().flatten().all(|times| times.len() < 2);
    for (number, [left, right]) in blocks {
        match log_ratio(&left, &right, once) {
            Some(ratio) if ratio.is_finite() => {
                ratios.values.push(ratio);
                ratios.blocks.push(number);
            }
            _ => ratios.skipped += 1,
        }
    }
    ratios
}

/// None unless there are two epochs of each variant or, where blocks hold each `once`, one.
fn log_ratio(left: &[f64], right: &[f64], once: bool) -> Option<f64> {
    match (left, right) {
        (&[left], &[right]) if once => Some(right.ln() - left.ln()),
        _ => Some(Block { left: left.try_into().ok()?, right: right.try_into().ok()? }.log_ratio()),
    }
}

/// An interval of log ratios as an interval of ratios. Exact in coverage, as the exponential is monotone.
pub fn as_ratios(log_ratios: Interval) -> Interval {
    Interval { low: log_ratios.low.exp(), high: log_ratios.high.exp() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn epoch(block: u32, side: Side, time: f64) -> Epoch {
        Epoch { block, side, time }
    }

    #[test]
    fn a_drift_that_is_linear_in_the_logarithm_cancels() {
        let drift = |place: i32, time: f64| time * 1.1_f64.powi(place);
        let block = Block { left: [drift(0, 10.0), drift(3, 10.0)], right: [drift(1, 12.0), drift(2, 12.0)] };
        assert!((block.log_ratio() - 1.2_f64.ln()).abs() < 1e-14);
    }

    #[test]
    fn incomplete_and_impossible_blocks_are_skipped_and_counted() {
        use Side::{Left, Right};
        let epochs = [
            // complete, with the epochs of another block in between
            epoch(7, Left, 1.0),
            epoch(7, Right, 2.0),
            epoch(8, Left, 1.0),
            epoch(7, Right, 2.0),
            epoch(7, Left, 1.0),
            // one epoch of the second variant only
            epoch(8, Right, 1.0),
            epoch(8, Left, 1.0),
            // three epochs of the first variant
            epoch(9, Left, 1.0),
            epoch(9, Left, 1.0),
            epoch(9, Left, 1.0),
            epoch(9, Right, 1.0),
            epoch(9, Right, 1.0),
            // a clock that stood still
            epoch(10, Left, 0.0),
            epoch(10, Right, 1.0),
            epoch(10, Right, 1.0),
            epoch(10, Left, 1.0),
        ];
        let ratios = log_ratios(epochs);
        assert_eq!((ratios.values, ratios.blocks), (vec![2.0_f64.ln()], vec![7]));
        assert_eq!(ratios.skipped, 3);
    }

    #[test]
    fn blocks_hold_each_variant_twice_or_all_of_them_once() {
        use Side::{Left, Right};
        let single = [epoch(0, Left, 1.0), epoch(0, Right, 2.0), epoch(1, Right, 3.0), epoch(1, Left, 1.0)];
        let ratios = log_ratios(single.into_iter().chain([epoch(2, Left, 1.0)]));
        assert_eq!((ratios.values, ratios.blocks), (vec![2.0_f64.ln(), 3.0_f64.ln()], vec![0, 1]));
        assert_eq!(ratios.skipped, 1);
        // Beside a mirrored block one of each is what is left of one.
        let mirrored =
            [3, 3].into_iter().flat_map(|block| [epoch(block, Left, 1.0), epoch(block, Right, 4.0)]);
        let ratios = log_ratios(single.into_iter().chain(mirrored));
        assert_eq!((ratios.values, ratios.skipped), (vec![4.0_f64.ln()], 2));
    }

    #[test]
    fn a_time_that_is_no_time_gives_no_finite_ratio() {
        for wrong in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            for block in [
                Block { left: [wrong, 1.0], right: [1.0, 1.0] },
                Block { left: [1.0, 1.0], right: [wrong, wrong] },
                Block { left: [wrong, 1.0], right: [wrong, 1.0] },
            ] {
                assert!(!block.log_ratio().is_finite());
            }
        }
    }

    #[test]
    fn no_change_in_log_ratio_is_a_ratio_of_one() {
        assert_eq!(as_ratios(Interval { low: 0.0, high: 0.0 }), Interval { low: 1.0, high: 1.0 });
    }
}
