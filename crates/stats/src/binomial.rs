//! Tails of the binomial distribution, accurate in relative terms from one trial to millions.
//!
//! `statrs` has the incomplete beta function, but its continued fraction stops after 140 steps and its
//! prefactor is a difference of log gammas of the size of the number of trials. At 10⁶ trials that
//! leaves too few digits to decide a rank by. Here a tail is a sum of positive terms, so nothing cancels.
//!
//! Source of the first term: C. Loader, "Fast and Accurate Computation of Binomial Probabilities" (2000).

use std::f64::consts::PI;

/// Up to this many trials a tail is the plain sum of its terms. All coefficients are then integers
/// below 2⁵³, so for a chance like 1/2 or 1/4 the result has no rounding while its bits fit in a double.
pub(super) const PLAIN: u64 = 56;

/// The tails of the distribution of successes in `trials` trials.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Binomial {
    trials: u64,
    /// Chance of success.
    chance: f64,
    /// Chance of failure. Kept, because `1 - chance` has lost digits when `chance` is small.
    failure: f64,
}

impl Binomial {
    /// `trials` independent trials, each a success with probability `chance`.
    ///
    /// None unless `chance` lies strictly between 0 and 1.
    pub fn new(trials: u64, chance: f64) -> Option<Self> {
        (chance > 0.0 && chance < 1.0).then_some(Self { trials, chance, failure: 1.0 - chance })
    }

    /// Probability of `successes` or fewer.
    pub fn lower_tail(&self, successes: u64) -> f64 {
        if successes >= self.trials {
            return 1.0;
        }
        self.mirrored().upper_tail(self.trials - successes)
    }

    /// Probability of `successes` or more.
    pub fn upper_tail(&self, successes: u64) -> f64 {
        if successes == 0 {
            return 1.0;
        }
        if successes > self.trials {
            return 0.0;
        }
        if self.trials <= PLAIN {
            return self.plain_upper_tail(successes);
        }
        // Terms shrink away from the mean. On the near side of it the other tail is the short one.
        if (successes as f64) < self.trials as f64 * self.chance {
            return 1.0 - self.mirrored().summed_upper_tail(self.trials - successes + 1);
        }
        self.summed_upper_tail(successes)
    }

    /// Natural logarithm of the probability of `successes` or more, and its derivative with respect to
    /// the logarithm of the chance. It does not underflow. `successes` lies between 1 and the trials.
    pub(super) fn ln_upper_tail(&self, successes: u64) -> (f64, f64) {
        let (first, sum) = (self.ln_probability(successes), self.upward_sum(successes));
        // d/dp of the tail is k/p times its first term, so on logarithms it is k over the relative sum.
        (first + sum.ln(), successes as f64 / sum)
    }

    /// The same distribution seen by its failures.
    pub(super) fn mirrored(&self) -> Self {
        Self { trials: self.trials, chance: self.failure, failure: self.chance }
    }

    fn plain_upper_tail(&self, successes: u64) -> f64 {
        let power = |base: f64, exponent: u64| base.powi(exponent as i32);
        let mut ways = 1_u128;
        let mut tail = 0.0;
        for failures in 0..=self.trials - successes {
            tail += ways as f64 * power(self.chance, self.trials - failures) * power(self.failure, failures);
            ways = ways * u128::from(self.trials - failures) / u128::from(failures + 1);
        }
        tail.min(1.0)
    }

    fn summed_upper_tail(&self, successes: u64) -> f64 {
        (self.ln_probability(successes).exp() * self.upward_sum(successes)).min(1.0)
    }

    /// The tail from `successes` upwards, relative to its first term.
    fn upward_sum(&self, successes: u64) -> f64 {
        let odds = self.chance / self.failure;
        let (mut term, mut sum) = (1.0, 1.0);
        for count in successes..self.trials {
            let ratio = (self.trials - count) as f64 / (count + 1) as f64 * odds;
            term *= ratio;
            sum += term;
            // Ratios fall, so the rest is at most a geometric series with this one.
            if ratio < 1.0 && term * ratio <= sum * 1e-17 * (1.0 - ratio) {
                break;
            }
        }
        sum
    }

    /// Natural logarithm of the probability of exactly `successes`.
    fn ln_probability(&self, successes: u64) -> f64 {
        let (n, k) = (self.trials as f64, successes as f64);
        if successes == 0 {
            return n * ln_of_chance(self.failure, self.chance);
        }
        if successes == self.trials {
            return n * ln_of_chance(self.chance, self.failure);
        }
        let failures = n - k;
        stirling_error(self.trials)
            - stirling_error(successes)
            - stirling_error(self.trials - successes)
            - deviance(k, n * self.chance)
            - deviance(failures, n * self.failure)
            - 0.5 * (2.0 * PI * k * (failures / n)).ln()
    }
}

/// `ln(chance)`, computed from the complement where that keeps more digits.
fn ln_of_chance(chance: f64, complement: f64) -> f64 {
    if chance > 0.5 { (-complement).ln_1p() } else { chance.ln() }
}

/// `ln(n!)` minus Stirling's formula for it: Loader's δ(n). `n` is at least 1.
fn stirling_error(n: u64) -> f64 {
    // Computed with 60 decimal digits from the definition.
    const SMALL: [f64; 16] = [
        0.08106146679532726,
        0.0413406959554093,
        0.02767792568499834,
        0.020790672103765093,
        0.016644691189821193,
        0.013876128823070748,
        0.01189670994589177,
        0.010411265261972096,
        0.009255462182712733,
        0.00833056343336287,
        0.007573675487951841,
        0.00694284010720953,
        0.006408994188004207,
        0.0059513701127588475,
        0.005554733551962801,
        0.0052076559196096404,
    ];
    if let Some(&value) = n.checked_sub(1).and_then(|index| SMALL.get(index as usize)) {
        return value;
    }
    let inverse = 1.0 / n as f64;
    let square = inverse * inverse;
    // Bernoulli numbers over j(j - 1). The next term is below 1e-17 from n = 17 on.
    const SERIES: [f64; 6] =
        [1.0 / 12.0, -1.0 / 360.0, 1.0 / 1260.0, -1.0 / 1680.0, 1.0 / 1188.0, -691.0 / 360_360.0];
    inverse * SERIES.iter().rev().fold(0.0, |sum, coefficient| sum * square + coefficient)
}

/// `x ln(x / mean) + mean - x`: Loader's bd0. By a series near the mean, where the terms would cancel.
fn deviance(x: f64, mean: f64) -> f64 {
    let difference = x - mean;
    if difference.abs() >= 0.1 * (x + mean) {
        return x * (x / mean).ln() - difference;
    }
    let v = difference / (x + mean);
    let square = v * v;
    let mut sum = difference * v;
    let mut power = 2.0 * x * v;
    for odd in (3..1_000_u32).step_by(2) {
        power *= square;
        let next = sum + power / f64::from(odd);
        if next == sum {
            break;
        }
        sum = next;
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_tails_of_a_fair_coin_have_no_rounding() {
        let coin = Binomial::new(10, 0.5).unwrap();
        assert_eq!(coin.lower_tail(0), 1.0 / 1024.0);
        assert_eq!(coin.lower_tail(2), 56.0 / 1024.0);
        assert_eq!(coin.upper_tail(9), 11.0 / 1024.0);
        assert_eq!(coin.upper_tail(0), 1.0);
        assert_eq!(coin.upper_tail(11), 0.0);
    }

    #[test]
    fn the_plain_sum_and_the_series_agree_where_both_apply() {
        for trials in 1..=PLAIN {
            for chance in [0.01, 0.3, 0.5, 0.9] {
                let distribution = Binomial::new(trials, chance).unwrap();
                for successes in 1..=trials {
                    let plain = distribution.plain_upper_tail(successes);
                    let series = distribution.summed_upper_tail(successes);
                    let off = (plain / series - 1.0).abs();
                    assert!(off < 1e-13, "{trials} {chance} {successes} {off}");
                }
            }
        }
    }

    #[test]
    fn a_tail_of_a_million_trials_keeps_fourteen_digits() {
        // Computed with 50 decimal digits. SciPy 1.10 is off by 1.5e-11 here.
        let distribution = Binomial::new(1_000_000, 0.1).unwrap();
        let both = distribution.lower_tail(99_411) + distribution.upper_tail(100_589);
        assert!((both / 0.049_801_044_778_722_96 - 1.0).abs() < 1e-14, "{both}");
    }

    #[test]
    fn tails_meet_at_one_for_a_million_trials() {
        let coin = Binomial::new(1_000_000, 0.5).unwrap();
        for successes in [498_000, 499_999, 500_000, 500_001, 502_500] {
            let total = coin.lower_tail(successes) + coin.upper_tail(successes + 1);
            assert!((total - 1.0).abs() < 1e-12, "{total}");
        }
    }

    #[test]
    fn a_certain_or_impossible_success_has_no_tails() {
        assert_eq!(Binomial::new(3, 0.0), None);
        assert_eq!(Binomial::new(3, 1.0), None);
        assert_eq!(Binomial::new(3, f64::NAN), None);
    }
}
