//! The constant cost of an epoch, told from the cost of an iteration.
//!
//! An epoch of n iterations takes a + n·b: a for the clock reads, the call and the loop's entry, b for an
//! iteration. Two epochs of n and one of 2n give both: a = t₁(n) + t₂(n) − t(2n), and b from t(2n) minus the
//! mean of the two. Each such triple yields one of each; the medians and their sign-test intervals are the
//! answer.
//!
//! Two against one, and not twice the time of one: an epoch is interrupted the more often the longer it is.
//! Of 2·t₁(n) − t(2n) the right term is disturbed twice as often as the left, which moves the median below
//! the truth, far below 0 where every tenth epoch is interrupted. Two epochs of n are open to interruption
//! for as long as one of 2n. If interruptions come at a constant rate, both sums have the same distribution
//! but for a, their difference is symmetric about a, and the sign test is exact.
//!
//! Nothing is clamped. An overhead that cannot be told from zero has negative values among its pairs,
//! often a negative median, and an interval around zero, and that is what is reported. To clamp, or to
//! subtract and forget the interval, hides exactly this case (hyperfine 1.x and its shell time).

use super::order::Ordered;
use super::sign::Estimate;

/// Two epochs of n iterations and one of 2n, from neighbouring blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Doubling {
    /// n: the iterations of each shorter epoch.
    pub iterations: u64,
    /// Times of the two whole epochs of n iterations, in any unit.
    pub once: [f64; 2],
    /// Time of the whole epoch of 2n iterations, in the same unit.
    pub twice: f64,
}

impl Doubling {
    /// The constant part of an epoch, in the unit of the times. It may be negative.
    pub fn overhead(&self) -> f64 {
        self.once[0] + self.once[1] - self.twice
    }

    /// The time of one iteration, in the unit of the times. It may be negative.
    pub fn slope(&self) -> f64 {
        (self.twice - 0.5 * (self.once[0] + self.once[1])) / self.iterations as f64
    }
}

/// Intercept and slope of time over iterations.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct EpochCost {
    /// The constant part of an epoch, in the unit of the times.
    pub overhead: Estimate,
    /// The time of one iteration, in the unit of the times.
    pub slope: Estimate,
}

/// The line of time over iterations through `pairs`, each interval at `level` by itself.
///
/// None if there are no pairs, or if one has no iterations or a time that is not finite.
pub fn epoch_cost(pairs: &[Doubling], level: f64) -> Option<EpochCost> {
    if pairs.iter().any(|pair| {
        pair.iterations == 0 || ![pair.once[0], pair.once[1], pair.twice].iter().all(|time| time.is_finite())
    }) {
        return None;
    }
    let estimate =
        |of: fn(&Doubling) -> f64| Some(Estimate::of(&Ordered::new(pairs.iter().map(of).collect())?, level));
    Some(EpochCost { overhead: estimate(Doubling::overhead)?, slope: estimate(Doubling::slope)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_without_noise_is_found_exactly() {
        let time = |iterations: u64| 40.0 + 3.0 * iterations as f64;
        let pairs = [64, 128, 256, 512, 1024, 2048].map(|iterations| Doubling {
            iterations,
            once: [time(iterations); 2],
            twice: time(2 * iterations),
        });
        let fitted = epoch_cost(&pairs, 0.05).unwrap();
        assert_eq!(fitted.overhead.median, 40.0);
        assert_eq!(fitted.slope.median, 3.0);
        let interval = fitted.overhead.interval.unwrap().interval;
        assert_eq!((interval.low, interval.high), (40.0, 40.0));
    }

    #[test]
    fn a_negative_overhead_and_one_of_few_pairs_are_reported() {
        for (count, twice, overhead, high) in [(6, 203.0, -3.0, Some(-3.0)), (5, 190.0, 10.0, None)] {
            let pairs = vec![Doubling { iterations: 10, once: [100.0; 2], twice }; count];
            let fitted = epoch_cost(&pairs, 0.05).unwrap().overhead;
            let fitted_high = fitted.interval.map(|it| it.interval.high);
            assert_eq!((fitted.median, fitted_high), (overhead, high), "{count}");
        }
    }

    #[test]
    fn pairs_that_are_none_have_no_line() {
        assert_eq!(epoch_cost(&[], 0.05), None);
        for (iterations, once, twice) in
            [(0, [1.0; 2], 2.0), (1, [1.0, f64::NAN], 2.0), (1, [1.0; 2], f64::INFINITY)]
        {
            assert_eq!(epoch_cost(&[Doubling { iterations, once, twice }], 0.05), None);
        }
    }
}
