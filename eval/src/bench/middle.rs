//! The middle of what several rounds gave, and how sure it is.

use std::fmt;

use tenbin_stats::order::Ordered;
use tenbin_stats::sign::Estimate;

/// The level of the intervals, as the chance that one of them misses.
const MISS: f64 = 0.05;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Middle {
    pub(super) value: f64,
    /// `None` where there are too few rounds for one.
    interval: Option<(f64, f64)>,
}

impl fmt::Display for Middle {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            Some((low, high)) => write!(formatter, "{:.2} ({low:.2} to {high:.2})", self.value),
            None => write!(formatter, "{:.2} (too few rounds for an interval)", self.value),
        }
    }
}

/// The median, with the exact interval of the sign test.
pub(super) fn middle(values: &[f64]) -> Option<Middle> {
    let Estimate { median, interval } = Estimate::of(&Ordered::new(values.to_vec())?, MISS);
    Some(Middle { value: median, interval: interval.map(|it| (it.interval.low, it.interval.high)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        let upto = |count: u32| (1..=count).rev().map(f64::from).collect::<Vec<_>>();
        // The ranks of the 95 % interval in tables of the sign test.
        for (count, value, interval) in [
            (1, 1.0, None),
            (5, 3.0, None),
            (6, 3.5, Some((1.0, 6.0))),
            (15, 8.0, Some((4.0, 12.0))),
            (20, 10.5, Some((6.0, 15.0))),
        ] {
            assert_eq!(middle(&upto(count)), Some(Middle { value, interval }), "{count}");
        }
        assert_eq!(middle(&[]), None);
    }
}
