//! The constant cost of an epoch, where a cell ran every second block at twice the length.

use std::collections::BTreeMap;

use tenbin_model::unit::three_digits;
use tenbin_model::{Cell, Finding, Trial};

use super::decide::{LEVEL, percent};
use crate::stats::overhead::{Doubling, line};

/// What an epoch costs beyond its iterations, by the first variant of a cell that doubles.
///
/// Blocks come in pairs of n and 2n iterations; the difference of the two is the iterations' share,
/// what is left of the first is the epoch's own. None where the cell does not double, or has too few
/// pairs for an interval.
pub(super) fn finding(trial: &Trial, cell: &Cell) -> Option<Finding> {
    if !cell.arrangement.doubling {
        return None;
    }
    let variant = *cell.arrangement.variants.first()?;
    let mut blocks: BTreeMap<u32, Vec<(u64, f64)>> = BTreeMap::new();
    for sample in cell.samples.iter().filter(|sample| sample.variant == variant) {
        blocks.entry(sample.block).or_default().push((sample.iterations, sample.elapsed.as_nanos()));
    }
    let mean = |epochs: &[(u64, f64)]| epochs.iter().map(|(_, time)| time).sum::<f64>() / epochs.len() as f64;
    let pairs: Vec<Doubling> = blocks
        .iter()
        .filter(|(block, _)| *block % 2 == 0)
        .filter_map(|(block, once)| {
            let twice = blocks.get(&(block + 1))?;
            Some(Doubling { iterations: once[0].0, once: mean(once), twice: mean(twice) })
        })
        .collect();
    let line = line(&pairs, LEVEL)?;
    let overhead = line.overhead.interval?.interval;
    let slope = line.slope.interval?.interval;
    let shown = three_digits;
    Some(Finding {
        experiment: trial.descriptor.name.clone(),
        sentence: format!(
            "An epoch costs {} ns beyond its iterations ({} to {}); an iteration costs {} ns ({} to {}).",
            shown(line.overhead.median),
            shown(overhead.low),
            shown(overhead.high),
            shown(line.slope.median),
            shown(slope.low),
            shown(slope.high)
        ),
        evidence: format!("{} pairs of blocks of n and 2n iterations", pairs.len()),
        confidence: format!("exact sign-test intervals, each at a level of {}", percent(LEVEL)),
    })
}
