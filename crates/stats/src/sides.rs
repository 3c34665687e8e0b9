//! By how much one of two independent samples lies above the other, where nobody knows in which order they
//! were taken.
//!
//! The rank sums of [`runs::shift`](super::runs::shift), for any number of values. Up to 10 000 pairs their
//! probabilities are exact. Beyond, the normal distribution stands for them, with the correction for counts:
//! the tails of a rank sum are thinner than its tails, so that the interval is rather too wide (E. L.
//! Lehmann, "Nonparametrics: Statistical Methods Based on Ranks", 1975, section 1.3).

use statrs::distribution::{ContinuousCDF, Normal};
use tenbin_model::Interval;

use super::detectable::normal_quantile;
use super::is_level;
use super::order::Ordered;
use super::runs::{MOST, Shift, rank_sums};

/// By how much `right` lies above `left`: with probability at least `1 - level` the interval holds the shift,
/// if both sides have the same distribution but for it.
///
/// None if the sides are too small for the level (see [`least_each`](super::runs::least_each)), a value is no
/// finite number, or `level` is no level.
pub fn shift(left: &[f64], right: &[f64], level: f64) -> Option<Shift> {
    if !is_level(level) || left.iter().chain(right).any(|value| !value.is_finite()) {
        return None;
    }
    let sides = Sides { left: Ordered::new(left.to_vec())?, right: Ordered::new(right.to_vec())? };
    let pairs = left.len() * right.len();
    let (outside, tail) = if pairs <= MOST * MOST {
        exact(left.len(), right.len(), level)?
    } else {
        approximate(left.len(), right.len(), level)?
    };
    let middle = sides.difference((pairs - 1) / 2).midpoint(sides.difference(pairs / 2));
    let interval = Interval { low: sides.difference(outside - 1), high: sides.difference(pairs - outside) };
    Some(Shift { estimate: middle, interval, level: 2.0 * tail })
}

/// How many differences may lie outside on either side, one at least, and how probable more are.
fn exact(left: usize, right: usize, level: f64) -> Option<(usize, f64)> {
    let (mut outside, mut tail) = (0, 0.0);
    for probability in rank_sums(left, right) {
        if tail + probability > level / 2.0 {
            break;
        }
        tail += probability;
        outside += 1;
    }
    (outside > 0).then_some((outside, tail))
}

fn approximate(left: usize, right: usize, level: f64) -> Option<(usize, f64)> {
    let (left, right) = (left as f64, right as f64);
    let mean = left * right / 2.0;
    let deviation = (left * right * (left + right + 1.0) / 12.0).sqrt();
    let most = (mean + deviation * normal_quantile(level / 2.0) - 0.5).floor();
    let tail = Normal::standard().cdf((most + 0.5 - mean) / deviation);
    (most >= 0.0).then_some((most as usize + 1, tail))
}

struct Sides {
    left: Ordered,
    right: Ordered,
}

impl Sides {
    /// The difference of a right and a left value that has so many below it, among all of them. They are
    /// counted and never listed: a thousand values a side have a million.
    fn difference(&self, rank: usize) -> f64 {
        // Halving all numbers that there are takes 64 steps, whatever the values.
        let (mut low, mut high) = (0, u64::MAX);
        while low < high {
            let middle = low.midpoint(high);
            if self.at_most(number(middle)) > rank {
                high = middle;
            } else {
                low = middle + 1;
            }
        }
        number(low)
    }

    /// How many differences are no larger.
    fn at_most(&self, bound: f64) -> usize {
        let (left, right) = (self.left.values(), self.right.values());
        let mut larger = 0;
        let mut count = 0;
        for value in right {
            while larger < left.len() && value - left[larger] > bound {
                larger += 1;
            }
            count += left.len() - larger;
        }
        count
    }
}

/// The number at a place among all of them in ascending order; those beyond the infinities are these.
fn number(place: u64) -> f64 {
    const SIGN: u64 = 1 << 63;
    let is_negative = place < SIGN;
    let number = f64::from_bits(if is_negative { !place } else { place ^ SIGN });
    match (number.is_nan(), is_negative) {
        (false, _) => number,
        (true, false) => f64::INFINITY,
        (true, true) => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};
    use rand_pcg::Pcg64Mcg;

    use super::super::runs;
    use super::*;

    proptest! {
        #[test]
        fn few_values_have_the_interval_of_few_runs(
            left in proptest::collection::vec(-3.0_f64..3.0, 5..15),
            right in proptest::collection::vec(-3.0_f64..3.0, 5..15),
        ) {
            prop_assert_eq!(shift(&left, &right, 0.01), runs::shift(&left, &right, 0.01));
        }
    }

    #[test]
    fn the_approximation_leaves_no_more_outside_than_the_exact_rule() {
        for (left, right) in [(5, 5), (5, 100), (20, 20), (30, 100), (100, 100)] {
            for level in [0.05, 0.01, 0.001, 1e-4] {
                let outside = |rule: Option<(usize, f64)>| rule.map_or(0, |(outside, _)| outside);
                let (one, other) = (exact(left, right, level), approximate(left, right, level));
                assert!(outside(other) <= outside(one), "{left} {right} {level}: {one:?} {other:?}");
            }
        }
        let (one, other) = (exact(100, 100, 0.01).unwrap(), approximate(100, 100, 0.01).unwrap());
        assert!(one.0 - other.0 <= 10, "{one:?} {other:?}");
    }

    #[test]
    fn what_has_no_answer_has_none() {
        let five = [1.0, 2.0, 3.0, 4.0, 5.0];
        assert_eq!(shift(&five[..4], &five, 0.001), None);
        assert_eq!(shift(&[], &five, 0.01), None);
        assert_eq!(shift(&five, &[f64::NEG_INFINITY; 5], 0.01), None);
        assert_eq!(shift(&five, &five, 0.0), None);
        let same = shift(&[0.0; 500], &[0.0; 500], 0.01).unwrap();
        assert_eq!((same.estimate, same.interval), (0.0, Interval { low: 0.0, high: 0.0 }));
    }

    /// Times that are skewed, as times are, beyond what is exact.
    #[test]
    fn many_equal_values_differ_no_more_often_than_the_level() {
        const ROUNDS: u64 = 1_000;
        let count = |apart: f64| {
            (0..ROUNDS)
                .filter(|&seed| {
                    let mut random = Pcg64Mcg::seed_from_u64(seed);
                    let mut side = |count: usize, by: f64| -> Vec<f64> {
                        (0..count).map(|_| by - (1.0 - random.random::<f64>()).ln() / 20.0).collect()
                    };
                    let (left, right) = (side(120, 0.0), side(150, apart));
                    let interval = shift(&left, &right, 0.05).unwrap().interval;
                    interval.low > 0.0 || interval.high < 0.0
                })
                .count()
        };
        let (alarms, power) = (count(0.0), count(0.03));
        println!("{alarms} of {ROUNDS} alarms; 3 % seen {power} times");
        // A rule of 5 % passes 73 of 1000 in 999 of 1000.
        assert!(alarms <= 73 && power > 900, "{alarms} {power}");
    }
}
