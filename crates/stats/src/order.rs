//! Order statistics, and the distribution-free interval for a quantile that they give.
//!
//! Source: W. J. Conover, "Practical Nonparametric Statistics" (3rd edition, 1999), section 3.2; the
//! argument goes back to W. R. Thompson (1936).

use tenbin_model::Interval;

use super::binomial::{Binomial, PLAIN};
use super::is_level;

/// A sample in ascending order: never empty, never with a NaN.
#[derive(Clone, Debug, PartialEq)]
pub struct Ordered(Vec<f64>);

impl Ordered {
    /// Sorts `values`. None if there are none or one of them is NaN. Infinities keep their place.
    pub fn new(mut values: Vec<f64>) -> Option<Self> {
        if values.is_empty() || values.iter().any(|value| value.is_nan()) {
            return None;
        }
        values.sort_unstable_by(f64::total_cmp);
        Some(Self(values))
    }

    /// The values of this sample and of `other` as one.
    #[must_use]
    pub fn with(&self, other: &Self) -> Self {
        let mut values = [self.values(), other.values()].concat();
        // Two ascending runs: the stable sort merges them.
        values.sort_by(f64::total_cmp);
        Self(values)
    }

    /// The values in ascending order.
    pub fn values(&self) -> &[f64] {
        &self.0
    }

    /// How many values there are: at least 1.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// An interval that covers the `quantile` of the distribution with probability at least
    /// `1 - level`, whatever the distribution. See [`Ranks::of`] for when it is None.
    pub fn quantile_interval(&self, quantile: f64, level: f64) -> Option<QuantileInterval> {
        let ranks = Ranks::of(self.count(), quantile, level)?;
        let interval = Interval { low: self.0[ranks.low - 1], high: self.0[ranks.high - 1] };
        Some(QuantileInterval { interval, ranks })
    }
}

/// An interval for a quantile, in the unit of the sample, and how it came about.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QuantileInterval {
    /// The interval, both ends included.
    pub interval: Interval,
    /// The order statistics at its ends, and the level that was achieved.
    pub ranks: Ranks,
}

/// The two order statistics between which a quantile lies.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranks {
    /// Rank of the lower end, from 1.
    pub low: usize,
    /// Rank of the upper end, above `low` and at most the number of values.
    pub high: usize,
    /// The level achieved: the probability to miss, at most what was asked. It is exact for a
    /// continuous distribution and an upper bound where values can tie.
    pub level: f64,
}

impl Ranks {
    /// The narrowest ranks that miss `quantile` on either side with probability at most `level / 2`.
    ///
    /// The smallest of `count` values lies above the quantile only if none of them falls at or below
    /// it, and so on inwards: the probabilities are tails of a binomial. Ties can only lower them, as
    /// the ends belong to the interval.
    ///
    /// None if `count` is too small for `level`, or if `quantile` or `level` is not strictly between 0
    /// and 1.
    pub fn of(count: usize, quantile: f64, level: f64) -> Option<Self> {
        if !is_level(level) {
            return None;
        }
        let below = Binomial::new(count as u64, quantile)?;
        let low = outermost(count, |outside| reaches(below.lower_tail(outside - 1), level, count))?;
        let from_above =
            outermost(count, |outside| reaches(below.upper_tail(count as u64 + 1 - outside), level, count))?;
        let high = count + 1 - from_above;
        let achieved = below.lower_tail(low as u64 - 1) + below.upper_tail(high as u64);
        Some(Self { low, high, level: achieved })
    }
}

/// Whether a `tail` over `count` trials is certainly at most half of `level`.
///
/// Up to [`PLAIN`] trials the tail is as good as a double can be, and equality counts. Beyond, its
/// last digits are in doubt, and the doubt goes against the narrower interval.
pub(super) fn reaches(tail: f64, level: f64, count: usize) -> bool {
    const DOUBT: f64 = 1e-12;
    let bound = if count as u64 <= PLAIN { tail } else { tail * (1.0 + DOUBT) };
    bound <= level / 2.0
}

/// The largest rank, counted from outside, at which `allowed` still holds. None if it fails at 1.
/// `allowed` holds up to some rank and never after it.
fn outermost(count: usize, allowed: impl Fn(u64) -> bool) -> Option<usize> {
    let (mut held, mut failed) = (0_u64, count as u64 + 1);
    while failed - held > 1 {
        let middle = held.midpoint(failed);
        if allowed(middle) {
            held = middle;
        } else {
            failed = middle;
        }
    }
    (held > 0).then_some(held as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_for_the_median_are_those_of_the_tables() {
        // Conover's and Gibbons' tables: n, level, lower rank; the upper one is its mirror image.
        for (count, level, low) in [(6, 0.05, 1), (10, 0.05, 2), (16, 0.05, 4), (25, 0.05, 8), (50, 0.05, 18)]
        {
            let ranks = Ranks::of(count, 0.5, level).unwrap();
            assert_eq!((ranks.low, ranks.high), (low, count + 1 - low));
            assert!(ranks.level <= level);
        }
    }

    #[test]
    fn a_level_that_is_met_exactly_counts_as_met() {
        assert_eq!(Ranks::of(2, 0.5, 0.5), Some(Ranks { low: 1, high: 2, level: 0.5 }));
        assert_eq!(Ranks::of(2, 0.5, 0.499), None);
    }

    #[test]
    fn what_cannot_be_answered_is_none() {
        assert_eq!(Ranks::of(0, 0.5, 0.05), None);
        assert_eq!(Ranks::of(5, 0.5, 0.05), None);
        assert_eq!(Ranks::of(100, 0.999, 0.05), None);
        for wrong in [0.0, 1.0, -0.1, 2.0, f64::NAN] {
            assert_eq!(Ranks::of(100, 0.5, wrong), None);
            assert_eq!(Ranks::of(100, wrong, 0.05), None);
        }
        assert_eq!(Ordered::new(vec![]), None);
        assert_eq!(Ordered::new(vec![1.0, f64::NAN]), None);
    }

    #[test]
    fn infinities_are_values_like_others() {
        let values = Ordered::new(vec![f64::INFINITY, 1.0, f64::NEG_INFINITY, 2.0, 3.0, 4.0]).unwrap();
        let interval = values.quantile_interval(0.5, 0.05).unwrap().interval;
        assert_eq!(interval, Interval { low: f64::NEG_INFINITY, high: f64::INFINITY });
    }

    #[test]
    fn a_million_values_have_ranks_near_the_normal_approximation() {
        let ranks = Ranks::of(1_000_000, 0.5, 0.05).unwrap();
        assert!(ranks.low.abs_diff(499_020) <= 2, "{ranks:?}");
        assert_eq!(ranks.low + ranks.high, 1_000_001);
        assert!(ranks.level <= 0.05 && ranks.level > 0.0497, "{ranks:?}");
    }
}
