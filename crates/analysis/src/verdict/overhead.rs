//! The constant cost of an epoch, where a cell ran every second block at twice the length.

use std::collections::BTreeMap;

use tenbin_model::unit::three_digits;
use tenbin_model::{Arrangement, Cell, Finding, Sample, Trial};

use super::decide::{LEVEL, percent};
use crate::stats::overhead::{Doubling, Line, line};

/// The overhead's interval may reach this part of an epoch to either side before measuring stops:
/// 100 ns of 100 µs, a few readings of a clock.
const KNOWN_TO: f64 = 0.001;

/// Whether the overhead is known well enough to be told; also where nobody asks for it.
///
/// This is asked at planned looks only, whose levels are spent whether measuring goes on or not, so
/// waiting for it costs no false alarms.
pub(super) fn known(arrangement: &Arrangement, samples: &[Sample]) -> bool {
    if !arrangement.doubling {
        return true;
    }
    let (line, _) = fitted(arrangement, samples);
    let interval = line.and_then(|line| line.overhead.interval).map(|found| found.interval);
    let widest = 2.0 * KNOWN_TO * arrangement.epoch.as_nanos();
    interval.is_some_and(|interval| interval.high - interval.low <= widest)
}

/// The line through epochs of n and 2n iterations of the first variant, and from how many pairs of blocks.
///
/// Blocks come in pairs of n and 2n iterations; the difference of the two is the iterations' share,
/// what is left of the first is the epoch's own.
fn fitted(arrangement: &Arrangement, samples: &[Sample]) -> (Option<Line>, usize) {
    let first = arrangement.variants.first().copied();
    let mut blocks: BTreeMap<u32, Vec<(u64, f64)>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| Some(sample.variant) == first) {
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
    (line(&pairs, LEVEL), pairs.len())
}

/// What an epoch costs beyond its iterations, by the first variant of a cell that doubles.
///
/// None where the cell does not double, or has too few pairs for an interval.
pub(super) fn finding(trial: &Trial, cell: &Cell) -> Option<Finding> {
    if !cell.arrangement.doubling {
        return None;
    }
    let (line, pairs) = fitted(&cell.arrangement, &cell.samples);
    let line = line?;
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
        evidence: format!("{pairs} pairs of blocks of n and 2n iterations"),
        confidence: format!("exact sign-test intervals, each at a level of {}", percent(LEVEL)),
    })
}
