//! What several runs of one question say together: the run is the unit, and not the block.
//!
//! Blocks of one run share a process: where its memory lies, which clock rate it met, who its neighbours
//! were. What varies from run to run no block of one run can show, so an interval over blocks does not cover
//! it (T. Kalibera and R. Jones, "Rigorous Benchmarking in Reasonable Time", 2013: repeat at the highest
//! level that varies). Here a run is one number, the log ratio that it measured.
//!
//! Two methods, neither of which assumes a shape of what varies. Such spreads are often of two states and not
//! normal, so there is no t test: three runs a side that happened to meet one state each would be sure of a
//! difference that is none.
//!
//! - [`shift`]: several runs a side, the rank-sum test of Wilcoxon (1945) and Mann and Whitney (1947) turned
//!   into an exact interval for the shift between the sides (J. L. Hodges and E. L. Lehmann, "Estimates of
//!   Location Based on Rank Tests", 1963). It assumes that runs are independent, and that both sides vary
//!   alike.
//! - [`reach`]: one run a side, held against how far runs that are known lie apart. If the two and those that
//!   are known come in no particular order, each of their pairs is as likely to be the two that are asked
//!   about, so at most the stated part of all pairs is ever called different. That is exact and modest: among
//!   few runs nothing is rare.

use tenbin_model::Interval;

use super::is_level;
use super::order::Ordered;

/// The most runs that a side may have.
pub const MOST: usize = 100;

/// By how much one side lies above the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shift {
    /// The median of all differences between a value of the one and a value of the other.
    pub estimate: f64,
    /// Where the shift lies.
    pub interval: Interval,
    /// The probability to miss it, at most what was asked.
    pub level: f64,
}

/// By how much `right` lies above `left`, exactly: with probability at least `1 - level` the interval holds
/// the shift, whatever the distribution, if both sides have the same but for it. Ties can only raise that
/// probability, as both ends belong to it.
///
/// None if the sides are too small for the level (see [`least_each`]), a value is NaN, a side has more than
/// [`MOST`] values, or `level` is no level.
pub fn shift(left: &[f64], right: &[f64], level: f64) -> Option<Shift> {
    if !is_level(level) || left.len().max(right.len()) > MOST {
        return None;
    }
    let differences = right.iter().flat_map(|right| left.iter().map(move |left| right - left)).collect();
    let differences = Ordered::new(differences)?;
    let below = rank_sums(left.len(), right.len());
    let mut tail = 0.0;
    // How many differences may lie outside on either side: as long as so few would be rare.
    let mut outside = 0;
    while tail + below.get(outside)? <= level / 2.0 {
        tail += below[outside];
        outside += 1;
    }
    let (low, high) = (outside.checked_sub(1)?, differences.count() - outside);
    let values = differences.values();
    Some(Shift {
        estimate: differences.median(),
        interval: Interval { low: values[low], high: values[high] },
        level: 2.0 * tail,
    })
}

/// The probability of each count of pairs in which the right one is the smaller, if both sides are alike: of
/// 0 such pairs, of 1, and so on.
///
/// The largest of all values is on either side with a probability that the sizes give; without it the sides
/// are one smaller (Mann and Whitney 1947).
pub(crate) fn rank_sums(left: usize, right: usize) -> Vec<f64> {
    // Of so many on the left, for each number on the right; the row of 0 on the left holds no pair.
    let mut rows: Vec<Vec<f64>> = vec![vec![1.0]; right + 1];
    for lefts in 1..=left {
        let mut next: Vec<Vec<f64>> = Vec::with_capacity(right + 1);
        next.push(vec![1.0]);
        for rights in 1..=right {
            let of = (lefts + rights) as f64;
            let mut counts = vec![0.0; lefts * rights + 1];
            // The largest is on the left: every right one is below it.
            for (count, probability) in rows[rights].iter().enumerate() {
                counts[count + rights] += lefts as f64 / of * probability;
            }
            // The largest is on the right: below no left one.
            for (count, probability) in next[rights - 1].iter().enumerate() {
                counts[count] += rights as f64 / of * probability;
            }
            next.push(counts);
        }
        rows = next;
    }
    rows.pop().unwrap_or_default()
}

/// The least number of runs, the same on both sides, for which [`shift`] has an interval at `level`. None
/// beyond [`MOST`].
pub fn least_each(level: f64) -> Option<usize> {
    // Of all ways to draw one side out of both, two are the extremes.
    let mut ways = 1.0;
    (1..=MOST).find(|&each| {
        let each = each as f64;
        ways *= 2.0 * (2.0 * each - 1.0) / each;
        is_level(level) && 2.0 / ways <= level
    })
}

/// How far two runs of one kind may lie apart before it is called a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Reach {
    /// The distance that at most `level` of all pairs of runs exceed.
    pub distance: f64,
    /// Pairs of runs that it was read from.
    pub pairs: usize,
}

/// How far apart `values` lie, those that are asked about among them: at most the part `level` of their pairs
/// is farther apart than the answer.
///
/// None if there are too few (see [`least_known`]), a value is NaN, or `level` is no level.
pub fn reach(values: &[f64], level: f64) -> Option<Reach> {
    if !is_level(level) {
        return None;
    }
    let distances = values
        .iter()
        .enumerate()
        .flat_map(|(place, one)| values[..place].iter().map(move |other| (one - other).abs()))
        .collect();
    let distances = Ordered::new(distances)?;
    let pairs = distances.count();
    let beyond = (level * pairs as f64).floor() as usize;
    (beyond > 0).then(|| Reach { distance: distances.values()[pairs - 1 - beyond], pairs })
}

/// The least number of runs, the two that are asked about among them, for which [`reach`] has an answer at
/// `level`.
pub fn least_known(level: f64) -> Option<usize> {
    (2..10_000).find(|&runs: &usize| is_level(level) && level * (runs * (runs - 1) / 2) as f64 >= 1.0)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::*;

    /// Critical values of Mann and Whitney's U, two-sided: Conover, "Practical Nonparametric Statistics"
    /// (1999), table A7, and every introductory table since.
    #[test]
    fn rank_sums_are_those_of_the_tables() {
        for (left, right, level, critical) in
            [(5, 5, 0.05, 2), (10, 10, 0.05, 23), (8, 12, 0.05, 22), (7, 7, 0.01, 4), (10, 10, 0.01, 16)]
        {
            let sums = rank_sums(left, right);
            let tail = |to: usize| 2.0 * sums[..=to].iter().sum::<f64>();
            assert!((sums.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            assert!(tail(critical) <= level, "{left} {right}: {}", tail(critical));
            assert!(tail(critical + 1) > level, "{left} {right}: {}", tail(critical + 1));
        }
    }

    #[test]
    fn a_shift_has_as_many_runs_as_its_level_needs() {
        // 2 of 252 ways for 5 and 5, 2 of 70 for 4 and 4.
        assert_eq!(least_each(0.01), Some(5));
        assert_eq!(least_each(0.002), Some(7));
        let (left, right) = ([1.0, 2.0, 3.0, 4.0, 5.0], [11.0, 12.0, 13.0, 14.0, 15.0]);
        let shifted = shift(&left, &right, 0.01).unwrap();
        assert_eq!((shifted.estimate, shifted.interval), (10.0, Interval { low: 6.0, high: 14.0 }));
        assert!((shifted.level - 2.0 / 252.0).abs() < 1e-12);
        assert_eq!(shift(&left[..4], &right[..4], 0.01), None);
        assert_eq!(shift(&[], &right, 0.01), None);
        assert_eq!(shift(&left, &[f64::NAN; 5], 0.01), None);
        assert_eq!(shift(&left, &right, 0.0), None);
        assert_eq!(shift(&vec![0.0; MOST + 1], &right, 0.01), None);
        assert!(shift(&[0.0; MOST], &[1.0; MOST], 0.01).is_some());
    }

    #[test]
    fn how_far_runs_lie_apart_needs_as_many_as_the_level_says() {
        assert_eq!(least_known(0.01), Some(15));
        let values: Vec<f64> = (0..15).map(f64::from).collect();
        // 105 pairs, of which one may lie beyond: the farthest, 14 apart.
        assert_eq!(reach(&values, 0.01), Some(Reach { distance: 13.0, pairs: 105 }));
        assert_eq!(reach(&values[..14], 0.01), None);
        assert_eq!(reach(&[], 0.01), None);
        assert_eq!(reach(&values, 1.0), None);
    }

    proptest! {
        /// Whatever the values are: of all pairs of equal runs no more than the level are called different.
        #[test]
        fn at_most_the_level_of_all_pairs_lies_beyond(
            values in proptest::collection::vec(-3.0_f64..3.0, 15..40), level in 0.01_f64..0.2,
        ) {
            let reach = reach(&values, level).unwrap();
            let pairs = (0..values.len()).flat_map(|one| (0..one).map(move |other| (one, other)));
            let apart = |(one, other): (usize, usize)| (values[one] - values[other]).abs();
            let beyond = pairs.filter(|&pair| apart(pair) > reach.distance).count();
            prop_assert!(beyond as f64 <= level * reach.pairs as f64);
        }

        #[test]
        fn sides_that_change_places_change_the_sign(
            left in proptest::collection::vec(-3.0_f64..3.0, 5..12),
            right in proptest::collection::vec(-3.0_f64..3.0, 5..12),
        ) {
            let (one, other) = (shift(&left, &right, 0.01).unwrap(), shift(&right, &left, 0.01).unwrap());
            prop_assert!((one.estimate + other.estimate).abs() < 1e-12);
            prop_assert!((one.interval.low + other.interval.high).abs() < 1e-12);
        }
    }

    /// The log ratio of one run, by how runs differ: by a normal deviate, by one of two states, by a Cauchy
    /// deviate.
    fn run(kind: usize, random: &mut Pcg64Mcg) -> f64 {
        let mut uniform = || 1.0 - random.random::<f64>();
        let normal = (-2.0 * uniform().ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        match kind {
            0 => 0.1 * normal,
            1 => 0.01 * normal + if uniform() < 0.3 { 0.5 } else { 0.0 },
            2 => 0.02 * (std::f64::consts::PI * (uniform() - 0.5)).tan(),
            _ => 0.01 * normal + if uniform() < 0.05 { 0.5 } else { 0.0 },
        }
    }

    #[test]
    fn equal_sides_differ_no_more_often_than_the_level() {
        const RUNS: u64 = 2_000;
        for (kind, name) in ["normal", "two states", "Cauchy", "rarely another state"].into_iter().enumerate()
        {
            for (each, level) in [(5, 0.01), (10, 0.01), (10, 0.01 / 6.0)] {
                let count = |apart: f64| {
                    (0..RUNS)
                        .filter(|&seed| {
                            let mut random = Pcg64Mcg::seed_from_u64(seed);
                            let mut side = |by: f64| -> Vec<f64> {
                                (0..each).map(|_| by + run(kind, &mut random)).collect()
                            };
                            let (left, right) = (side(0.0), side(apart));
                            let interval = shift(&left, &right, level).unwrap().interval;
                            interval.low > 0.0 || interval.high < 0.0
                        })
                        .count()
                };
                let (alarms, power) = (count(0.0), count(1.3_f64.ln()));
                println!(
                    "{name}, {each} a side, level {level:.4}: {alarms} of {RUNS} alarms; 1.3x found {power} times"
                );
                // A rule of 1 % passes 36 of 2000 in 999 of 1000.
                assert!(alarms <= 36, "{name} {each}: {alarms}");
                // Runs that vary by a tenth, ten a side: 1.3x is found nine times of ten also in a family of
                // six.
                assert!(kind != 0 || each < 10 || power * 10 >= 9 * RUNS as usize, "{power}");
            }
        }
    }
}
