//! The constant cost of an epoch, where a cell ran every second block at twice the length.

use std::collections::BTreeMap;

use tenbin_model::unit::three_digits;
use tenbin_model::{Arrangement, Cell, Finding, Sample, Trial};

use tenbin_document::words::percent;
use tenbin_stats::LEVEL;
use tenbin_stats::overhead::{Doubling, EpochCost, epoch_cost};

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
    let (cost, _) = fitted(arrangement, samples);
    let interval = cost.and_then(|cost| cost.overhead.interval).map(|overhead| overhead.interval);
    let widest = 2.0 * KNOWN_TO * arrangement.epoch.as_nanos();
    interval.is_some_and(|interval| interval.high - interval.low <= widest)
}

/// The line through epochs of n and 2n iterations of the first variant, and from how many pairs of blocks.
///
/// Blocks come in pairs of n and 2n iterations, each with two epochs of the variant. Both of n are held
/// against one of 2n, the first of its block and the last in turns, so that neither side comes later than the
/// other.
fn fitted(arrangement: &Arrangement, samples: &[Sample]) -> (Option<EpochCost>, usize) {
    let first = arrangement.variants.first().copied();
    let mut blocks: BTreeMap<u32, Vec<(u64, f64)>> = BTreeMap::new();
    for sample in samples.iter().filter(|sample| Some(sample.variant) == first) {
        blocks.entry(sample.block).or_default().push((sample.iterations, sample.elapsed.as_nanos()));
    }
    let pairs: Vec<Doubling> = blocks
        .iter()
        .filter(|(block, _)| *block % 2 == 0)
        .filter_map(|(block, once)| {
            let &[(iterations, one), (_, other)] = once.as_slice() else { return None };
            let &[(_, early), (_, late)] = blocks.get(&(block + 1))?.as_slice() else { return None };
            let twice = if block % 4 == 0 { early } else { late };
            Some(Doubling { iterations, once: [one, other], twice })
        })
        .collect();
    (epoch_cost(&pairs, LEVEL), pairs.len())
}

/// What an epoch costs beyond its iterations, by the first variant of a cell that doubles.
///
/// None where the cell does not double, or has too few pairs for an interval.
pub(crate) fn finding(trial: &Trial, cell: &Cell) -> Option<Finding> {
    if !cell.arrangement.doubling {
        return None;
    }
    let (epoch, pairs) = fitted(&cell.arrangement, &cell.samples);
    let epoch = epoch?;
    let overhead = epoch.overhead.interval?.interval;
    let slope = epoch.slope.interval?.interval;
    let [range, slope] =
        [overhead, slope].map(|of| format!("({} to {})", three_digits(of.low), three_digits(of.high)));
    let (cost, slope_cost) = (three_digits(epoch.overhead.median), three_digits(epoch.slope.median));
    let iteration = format!("an iteration costs {slope_cost} ns {slope}");
    // Nothing is clamped, and nothing impossible is claimed.
    let sentence = if overhead.high < 0.0 {
        format!(
            "Refused: an epoch came out at {cost} ns beyond its iterations {range}, and no cost is below 0: \
             epochs of n and of 2n iterations were not equally disturbed. Measure again on a quieter \
             machine; {iteration}."
        )
    } else {
        format!("An epoch costs {cost} ns beyond its iterations {range}; {iteration}.")
    };
    Some(Finding {
        experiment: trial.descriptor.name.clone(),
        sentence,
        evidence: format!("{pairs} times two epochs of n iterations against one of 2n"),
        confidence: format!("exact sign-test intervals, each at a level of {}", percent(LEVEL)),
    })
}

#[cfg(test)]
mod tests {
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;
    use tenbin_model::{Ended, Picoseconds, Quantity};

    use super::*;
    use crate::specimen;

    /// What an epoch of the simulation costs beyond its iterations, in nanoseconds.
    const COST: f64 = 25.0;

    /// A cell that doubles: epochs of 100 and of 200 us with noise of up to 100 ns to either side,
    /// interrupted as often for each unit of time (`rate` times in 100 us), each time for about 1 ms.
    fn interrupted(rate: f64, seed: u64) -> (Option<EpochCost>, usize) {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let mut cell = specimen::cell(200, 1.0, 0.0, Ended::Budget, seed);
        cell.arrangement.doubling = true;
        for sample in &mut cell.samples {
            let scale = 1 + u64::from(sample.block % 2);
            let mut elapsed = COST + 100_000.0 * scale as f64 + random.random_range(-100.0..100.0);
            // The gaps of a Poisson process are exponential.
            let mut gap = || -(1.0 - random.random::<f64>()).ln();
            let mut at = gap();
            while at < rate * scale as f64 {
                elapsed += 1_000_000.0 * gap();
                at += gap();
            }
            sample.iterations = 1_000 * scale;
            sample.elapsed = Picoseconds((elapsed * 1e3) as u64);
        }
        fitted(&cell.arrangement, &cell.samples)
    }

    /// What is found of epochs of n and 2n iterations of 100 ns, which take these picoseconds beside them.
    fn sentence(once: u64, twice: u64) -> String {
        let mut cell = specimen::cell(200, 1.0, 0.0, Ended::Budget, 1);
        cell.arrangement.doubling = true;
        for sample in &mut cell.samples {
            let scale = 1 + u64::from(sample.block % 2);
            sample.iterations = 1_000 * scale;
            sample.elapsed = Picoseconds(100_000_000 * scale + if scale == 1 { once } else { twice });
        }
        let trial = specimen::trial(Quantity::NanosecondsPerOperation, vec![cell]);
        finding(&trial, &trial.cells[0]).unwrap().sentence
    }

    #[test]
    fn overhead_is_read_from_blocks_of_n_and_2n() {
        let words = "An epoch costs 25.0 ns beyond its iterations (25.0 to 25.0); an iteration costs 100 ns (100 to 100).";
        assert_eq!(sentence(25_000, 25_000), words);
    }

    #[test]
    fn a_cost_below_0_is_refused_and_not_claimed() {
        let sentence = sentence(0, 700_000);
        assert!(sentence.starts_with("Refused: an epoch came out"), "{sentence}");
        assert!(sentence.contains("-700 ns"), "{sentence}");
    }

    #[test]
    fn interruptions_do_not_make_an_epoch_cost_less_than_nothing() {
        for rate in [0.0, 0.02, 0.1, 0.3, 1.0] {
            const RUNS: u64 = 1_000;
            let intervals: Vec<_> = (0..RUNS)
                .map(|seed| interrupted(rate, seed).0.unwrap().overhead.interval.unwrap().interval)
                .collect();
            let negative = intervals.iter().filter(|interval| interval.high < 0.0).count();
            let missed = intervals.iter().filter(|it| it.high < COST || COST < it.low).count();
            println!("{rate} interruptions in 100 us: {negative} below 0, {missed} without the truth");
            // A level of 1 % is passed by 20 of 1000 in 999 of 1000; below 0 lies at most one side of it.
            assert!(negative <= 10, "{rate}: {negative} of {RUNS} wholly below 0");
            assert!(missed <= 20, "{rate}: {missed} of {RUNS} without the truth");
        }
    }
}
