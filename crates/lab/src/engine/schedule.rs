//! In which order the variants of a block run.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::hash::hashed;

/// Draws the order of one block after another.
///
/// A block is a random permutation of the variants followed by its mirror image: every variant runs
/// twice, the two places of each add up to the same, so a drift that is linear over the block falls
/// out of every ratio (ABBA for two), and the permutation is drawn anew for each block, so that what
/// a variant leaves behind for the next one falls on all alike. Where each variant is to run once, the mirror
/// image is left out.
pub(super) struct Schedule {
    random: Pcg64Mcg,
    places: Vec<usize>,
}

impl Schedule {
    pub(super) fn new(seed: u64, variants: usize) -> Self {
        let places = (0..variants).collect();
        Self { random: Pcg64Mcg::seed_from_u64(seed), places }
    }

    /// The next block, as indices into the variants.
    pub(super) fn block(&mut self) -> &[usize] {
        let count = self.places.len() / if self.mirrored() { 2 } else { 1 };
        self.places.truncate(count);
        // Fisher and Yates, as in Knuth, TAOCP volume 2, algorithm P.
        for last in (1..count).rev() {
            self.places.swap(last, self.random.random_range(0..=last));
        }
        self.places.extend_from_within(..);
        self.places[count..].reverse();
        &self.places
    }

    /// Whether `places` already holds a block and its mirror image.
    fn mirrored(&self) -> bool {
        self.places.len() > 1 && self.places.first() == self.places.last()
    }
}

/// A seed of its own for each cell, so that a cell's order does not depend on the cells before it.
///
/// The hash of the name, then of the seed and the index.
pub(crate) fn cell_seed(seed: u64, name: &str, index: usize) -> u64 {
    hashed(None, name.bytes().chain(seed.to_le_bytes()).chain((index as u64).to_le_bytes()))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_block_is_a_permutation_and_its_mirror(seed: u64, count in 1_usize..20) {
            let mut schedule = Schedule::new(seed, count);
            for _ in 0..5 {
                let block = schedule.block().to_vec();
                prop_assert_eq!(block.len(), 2 * count);
                let mut first = block[..count].to_vec();
                prop_assert!(block[count..].iter().rev().eq(&first));
                first.sort_unstable();
                prop_assert!(first.into_iter().eq(0..count));
            }
        }
    }

    #[test]
    fn all_orders_of_three_come_up_alike() {
        let mut schedule = Schedule::new(7, 3);
        let mut seen = BTreeMap::new();
        for _ in 0..6_000 {
            *seen.entry(schedule.block()[..3].to_vec()).or_insert(0_u32) += 1;
        }
        assert_eq!(seen.len(), 6);
        // 1000 expected each; five standard deviations are 144.
        assert!(seen.values().all(|&count| (856..=1144).contains(&count)), "{seen:?}");
    }

    #[test]
    fn the_same_seed_draws_the_same_order_and_cells_differ() {
        let draw = |seed| {
            let mut schedule = Schedule::new(seed, 4);
            (0..50).flat_map(|_| schedule.block().to_vec()).collect::<Vec<_>>()
        };
        assert_eq!(draw(cell_seed(1, "null", 0)), draw(cell_seed(1, "null", 0)));
        assert_ne!(draw(cell_seed(1, "null", 0)), draw(cell_seed(1, "null", 1)));
        assert_ne!(draw(cell_seed(1, "null", 0)), draw(cell_seed(2, "null", 0)));
    }
}
