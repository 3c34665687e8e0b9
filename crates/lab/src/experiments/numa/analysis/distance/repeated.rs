//! From observations to one table, and to how well it repeats.

use std::collections::BTreeMap;

use tenbin_model::{Cpu, order};

use super::middle::{lower_median, median, shamos};
use super::polish::Table;
use super::{FINEST, Observation};

/// Logarithms of times by block, reader and home, without what a whole block has in common.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Repeated {
    /// The rows, in ascending order.
    pub(super) readers: Vec<Cpu>,
    /// The columns, in ascending order; each is a reader too.
    pub(super) homes: Vec<Cpu>,
    /// One table for each block that holds all pairs.
    pub(super) blocks: Vec<Table>,
    /// Blocks left out: a pair is missing, or one of their times is not positive and finite.
    pub(super) skipped: usize,
}

impl Repeated {
    /// Sorts `observations` into tables.
    ///
    /// A buffer whose home is no reader is left out, since nobody is known to be near it. Where the
    /// pairs of a block were measured more than once, the shortest of the first k times is taken, k
    /// being the least that any pair of any block has: so no pair gains by more tries.
    pub(super) fn of(observations: &[Observation]) -> Self {
        let readers = order::distinct(observations.iter().map(|one| one.reader));
        let mut homes = order::distinct(observations.iter().map(|one| one.home));
        homes.retain(|home| readers.binary_search(home).is_ok());
        let mut times: BTreeMap<u32, Vec<Vec<f64>>> = BTreeMap::new();
        for one in observations {
            let (Ok(row), Ok(column)) = (readers.binary_search(&one.reader), homes.binary_search(&one.home))
            else {
                continue;
            };
            let cells = times.entry(one.block).or_insert_with(|| vec![vec![]; readers.len() * homes.len()]);
            cells[row * homes.len() + column].push(one.time);
        }
        let all = times.len();
        times.retain(|_, cells| {
            cells.iter().all(|of| !of.is_empty() && of.iter().all(|time| time.is_finite() && *time > 0.0))
        });
        let tries = times.values().flatten().map(Vec::len).min().unwrap_or(0);
        let best = |of: &Vec<f64>| of.iter().take(tries).copied().fold(f64::INFINITY, f64::min).ln();
        let table = |cells: &Vec<Vec<f64>>| Table::new(homes.len(), cells.iter().map(best).collect());
        let mut blocks: Vec<Table> = times.values().map(table).collect();
        remove_common(&mut blocks);
        Self { readers, skipped: all - blocks.len(), homes, blocks }
    }

    /// One value for each pair: the lower median over the blocks.
    pub(super) fn table(&self) -> Table {
        Table::new(self.homes.len(), middles(&self.blocks))
    }

    /// The standard deviation of one value of [`Self::table`] that repetition alone explains, in logarithms.
    ///
    /// From the distances between two blocks of the same pair, over all pairs and all twos of blocks
    /// ([`shamos`]). A median of n values has √(π/2n) of their deviation. Never less than [`FINEST`].
    pub(super) fn noise(&self) -> f64 {
        let pairs = self.blocks.first().map_or(0, |block| block.cells.len());
        let of_pair = |pair: usize| self.blocks.iter().map(|block| block.cells[pair]).collect();
        let series: Vec<Vec<f64>> = (0..pairs).map(of_pair).collect();
        let Some(one_block) = shamos(series.iter().map(Vec::as_slice)) else { return FINEST };
        (one_block * (std::f64::consts::FRAC_PI_2 / self.blocks.len() as f64).sqrt()).max(FINEST)
    }
}

/// Takes from each block what all its pairs have in common: the middle distance from what the same pairs took
/// in the other blocks. Compared pair by pair, cores of very different speed do not blur it. A second round
/// is enough, as the first one has removed the drift that blurred the middle of each pair.
fn remove_common(blocks: &mut [Table]) {
    const ROUNDS: usize = 2;
    for _ in 0..ROUNDS {
        let middle = middles(blocks);
        for block in blocks.iter_mut() {
            let common = median(block.cells.iter().zip(&middle).map(|(cell, middle)| cell - middle));
            block.cells.iter_mut().for_each(|cell| *cell -= common);
        }
    }
}

/// The lower median of each pair over `blocks`.
fn middles(blocks: &[Table]) -> Vec<f64> {
    let pairs = blocks.first().map_or(0, |block| block.cells.len());
    (0..pairs).map(|pair| lower_median(blocks.iter().map(|block| block.cells[pair]))).collect()
}
