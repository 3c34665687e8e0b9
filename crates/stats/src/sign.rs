//! The sign test: an exact interval for a median, and its p-value.
//!
//! It needs no shape of the noise. If nothing differs, the sign of each log ratio is a fair coin, and
//! that is all that is used. Ties and zeros are handled so that they can only widen an answer:
//!
//! - both ends belong to the interval, so tied values can only raise its coverage;
//! - a zero counts against whichever sign is in the majority, so it can only raise the p-value. (The
//!   usual advice, to drop zeros, would let two blocks of a thousand decide.)
//!
//! With these two rules, the interval at a level excludes zero exactly if the p-value is at most that
//! level.
//!
//! Source: J. Arbuthnot (1710); Conover, "Practical Nonparametric Statistics" (1999), sections 3.2, 3.4.

use super::binomial::Binomial;
use super::is_level;
use super::order::{Ordered, QuantileInterval, reaches};

/// The sign-test interval for the median: an exact interval for the quantile at 1/2.
///
/// It misses the median with probability at most `level`. None if there are fewer than
/// [`least_pairs`] values, or if `level` is no level.
pub fn interval(values: &Ordered, level: f64) -> Option<QuantileInterval> {
    values.quantile_interval(0.5, level)
}

/// A median and its sign-test interval, in the unit of the sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The median of the sample.
    pub median: f64,
    /// Where the median of the distribution lies. None if there is too little data for the level.
    pub interval: Option<QuantileInterval>,
}

impl Estimate {
    /// The median of `values` and its interval at `level`.
    pub fn of(values: &Ordered, level: f64) -> Self {
        Self { median: values.median(), interval: interval(values, level) }
    }
}

/// How many values lie on either side of zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Signs {
    /// Values above zero.
    pub positive: usize,
    /// Values below zero.
    pub negative: usize,
    /// Values equal to zero.
    pub zero: usize,
}

impl Signs {
    /// Counts the signs of `values`.
    pub fn of(values: &Ordered) -> Self {
        let negative = values.values().partition_point(|&value| value < 0.0);
        let positive = values.count() - values.values().partition_point(|&value| value <= 0.0);
        Self { positive, negative, zero: values.count() - negative - positive }
    }

    /// The two-sided exact p-value of the sign test for a median of zero: the probability, with fair
    /// coins, of a majority as large as this one. Zeros are counted with the minority. 1 if there is
    /// no value at all; 0 where the probability is below the smallest double.
    pub fn p_value(&self) -> f64 {
        let count = self.positive + self.negative + self.zero;
        let majority = self.positive.max(self.negative);
        Binomial::new(count as u64, 0.5)
            .map_or(1.0, |coin| (2.0 * coin.lower_tail((count - majority) as u64)).min(1.0))
    }
}

/// The least number of pairs for which an interval at `level` exists: the least n with
/// 2 · (1/2)ⁿ ≤ `level`. None if `level` is no level.
pub fn least_pairs(level: f64) -> Option<usize> {
    if !is_level(level) {
        return None;
    }
    // The smallest double is 2⁻¹⁰⁷⁴, so the search ends.
    (1..=1_100_usize).find(|&count| {
        Binomial::new(count as u64, 0.5).is_some_and(|coin| reaches(coin.lower_tail(0), level, count))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_number_of_pairs_is_where_intervals_begin() {
        assert_eq!(least_pairs(0.05), Some(6));
        assert_eq!(least_pairs(0.5), Some(2));
        assert_eq!(least_pairs(0.01), Some(8));
        assert_eq!(least_pairs(0.0), None);
        assert_eq!(least_pairs(1.0), None);
        for power in 1..300 {
            for level in [10_f64.powi(-power), 2_f64.powi(-power)] {
                let least = least_pairs(level).unwrap();
                let values = |count| Ordered::new(vec![1.0; count]).unwrap();
                assert!(interval(&values(least), level).is_some(), "{level}");
                assert!(least == 1 || interval(&values(least - 1), level).is_none(), "{level}");
            }
        }
    }

    #[test]
    fn p_values_of_a_few_coins() {
        let p = |positive, negative, zero| Signs { positive, negative, zero }.p_value();
        assert_eq!(p(0, 0, 0), 1.0);
        assert_eq!(p(5, 0, 0), 0.0625);
        assert_eq!(p(0, 5, 0), 0.0625);
        assert_eq!(p(8, 2, 0), 112.0 / 1024.0);
        assert_eq!(p(8, 1, 1), 112.0 / 1024.0);
        assert_eq!(p(3, 3, 0), 1.0);
        assert_eq!(p(0, 0, 9), 1.0);
    }

    #[test]
    fn zeros_never_help() {
        for zero in 0..40 {
            let signs = Signs { positive: 30, negative: 5, zero };
            let more = Signs { zero: zero + 1, ..signs };
            assert!(more.p_value() >= signs.p_value());
        }
    }
}
