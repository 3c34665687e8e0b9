//! The smallest effect that an interval would have found.
//!
//! A verdict that says "no difference" is worth nothing without it.

use statrs::distribution::{ContinuousCDF, Normal};
use tenbin_model::Interval;

/// How often an effect of the stated size is found: nine times of ten.
pub const POWER: f64 = 0.9;

/// The smallest effect, in the unit of the interval, that data like this finds nine times of ten.
///
/// "Found" means that an interval at `level` excludes zero. Its half-width is about
/// z(1 − level/2) standard errors. To exclude zero with probability 0.9, the effect must lie
/// z(0.9) standard errors further out. So it is half-width × (1 + z(0.9) / z(1 − level/2)), where z is
/// the quantile of the standard normal distribution. The half-width is the longer of the two sides of
/// the `estimate`: a sign-test interval is not symmetric, and the direction of an effect is not known
/// beforehand.
///
/// `level` is best the level that the interval achieved ([`super::order::Ranks::level`]): with few
/// blocks that is well below the one asked for. The normal distribution enters only here, for the
/// spread of a median over repetitions; the interval itself does not rest on it.
///
/// None if `level` is no level, or if the estimate lies outside the interval or anything is not finite.
///
/// H. S. Bloom, "Minimum Detectable Effects: A Simple Way to Report the Statistical Power of
/// Experimental Designs" (1995).
pub fn smallest(estimate: f64, interval: Interval, level: f64) -> Option<f64> {
    let half_width = (estimate - interval.low).max(interval.high - estimate);
    let inside = interval.low <= estimate && estimate <= interval.high;
    if !super::is_level(level) || !inside || !half_width.is_finite() {
        return None;
    }
    Some(half_width * (1.0 + normal_quantile(POWER) / -normal_quantile(level / 2.0)))
}

/// A difference of log ratios as a fraction: 0.01 for one per cent more.
pub fn as_fraction(log_effect: f64) -> f64 {
    log_effect.exp_m1()
}

/// The quantile of the standard normal distribution at `probability`: infinite at 0 and 1. NaN if
/// `probability` lies outside of them.
pub fn normal_quantile(probability: f64) -> f64 {
    if (0.0..=1.0).contains(&probability) { Normal::standard().inverse_cdf(probability) } else { f64::NAN }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn at_five_per_cent_it_is_the_half_width_and_two_thirds() {
        let effect = smallest(0.0, Interval { low: -1.0, high: 1.0 }, 0.05).unwrap();
        // 1 + 1.2815515655 / 1.9599639845
        assert!((effect - 1.653_864_854_483_713).abs() < 1e-12, "{effect}");
    }

    #[test]
    fn the_longer_side_counts() {
        let skewed = smallest(0.0, Interval { low: -0.5, high: 2.0 }, 0.05);
        assert_eq!(skewed, smallest(0.0, Interval { low: -2.0, high: 0.5 }, 0.05));
        assert_eq!(skewed, smallest(0.0, Interval { low: -2.0, high: 2.0 }, 0.05));
    }

    #[test]
    fn an_interval_that_is_none_detects_nothing() {
        let unit = Interval { low: -1.0, high: 1.0 };
        assert_eq!(smallest(2.0, unit, 0.05), None);
        assert_eq!(smallest(f64::NAN, unit, 0.05), None);
        assert_eq!(smallest(0.0, Interval { low: -1.0, high: f64::INFINITY }, 0.05), None);
        assert_eq!(smallest(0.0, unit, 0.0), None);
        assert_eq!(smallest(0.0, unit, 1.0), None);
    }

    #[test]
    fn a_small_log_effect_is_about_its_fraction() {
        assert!((as_fraction(1.01_f64.ln()) - 0.01).abs() < 1e-15);
    }
}
