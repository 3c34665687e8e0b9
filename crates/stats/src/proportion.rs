//! An exact interval for a proportion.

use tenbin_model::Interval;

use super::binomial::Binomial;
use super::is_level;

/// The Clopper–Pearson interval for the probability behind `successes` in `trials`: a pair of
/// proportions without unit. It misses with probability at most `level`, at most half of it on either
/// side. The lower end is exactly 0 if nothing succeeded, the upper one exactly 1 if everything did.
///
/// None if there are no trials or fewer than `successes`, or if `level` is no level.
///
/// C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits Illustrated in the Case
/// of the Binomial" (1934). The ends are found by Newton's method on the tails and not by an inverse
/// beta function: that of `statrs` inherits the limits named in [`super::binomial`].
pub fn clopper_pearson(successes: u64, trials: u64, level: f64) -> Option<Interval> {
    if !is_level(level) || trials == 0 || successes > trials {
        return None;
    }
    let failures = trials - successes;
    let ln_half = (level / 2.0).ln();
    let low = match (successes, failures) {
        (0, _) => 0.0,
        (_, 0) => (ln_half / trials as f64).exp(),
        _ => lower_end(successes, trials, ln_half),
    };
    let high = match (successes, failures) {
        (_, 0) => 1.0,
        (0, _) => -(ln_half / trials as f64).exp_m1(),
        _ => upper_end(successes, trials, ln_half),
    };
    Some(Interval { low, high })
}

/// The chance at which `successes` or more have the probability exp(`ln_half`).
///
/// The logarithm of this tail is concave and rising in the logarithm of the chance, so every Newton
/// step lands at or below the solution and the next ones climb.
fn lower_end(successes: u64, trials: u64, ln_half: f64) -> f64 {
    let start = successes as f64 / trials as f64;
    newton(start, |chance| {
        let (ln_tail, slope) = Binomial::new(trials, chance)?.ln_upper_tail(successes);
        Some((ln_half - ln_tail) / slope)
    })
}

/// The chance at which `successes` or fewer have the probability exp(`ln_half`).
///
/// The logarithm of this tail is concave and falling in the logarithm of the chance, so every Newton
/// step lands at or above the solution and the next ones descend.
fn upper_end(successes: u64, trials: u64, ln_half: f64) -> f64 {
    let start = successes as f64 / trials as f64;
    newton(start, |chance| {
        let failing = Binomial::new(trials, chance)?.mirrored();
        // The slope is that in the logarithm of the chance of failure; the chain rule turns it.
        let (ln_tail, slope) = failing.ln_upper_tail(trials - successes);
        Some((ln_tail - ln_half) * (1.0 - chance) / (slope * chance))
    })
}

/// Follows `step`, which is a step in the logarithm of the chance, until it is lost in rounding.
fn newton(start: f64, step: impl Fn(f64) -> Option<f64>) -> f64 {
    let mut chance = start;
    for _ in 0..200 {
        let Some(step) = step(chance) else { break };
        let mut next = chance * step.exp();
        if next >= 1.0 {
            // Beyond the end of the range: halfway there instead.
            next = chance.midpoint(1.0);
        }
        let change = (next / chance - 1.0).abs();
        chance = next;
        if change < 4e-16 {
            break;
        }
    }
    chance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_and_everything_have_exact_ends() {
        let none = clopper_pearson(0, 45, 0.05).unwrap();
        assert_eq!(none.low, 0.0);
        assert!((none.high - (1.0 - 0.025_f64.powf(1.0 / 45.0))).abs() < 1e-15);
        let all = clopper_pearson(45, 45, 0.05).unwrap();
        assert_eq!(all.high, 1.0);
        assert!((all.low - (1.0 - none.high)).abs() < 1e-15);
    }

    #[test]
    fn the_ends_solve_their_equations() {
        for (successes, trials) in [(1, 2), (1, 100_000), (3, 7), (50_000, 100_000), (99_999, 100_000)] {
            for level in [0.5, 0.05, 1e-9] {
                let interval = clopper_pearson(successes, trials, level).unwrap();
                let above = Binomial::new(trials, interval.low).unwrap().upper_tail(successes);
                let below = Binomial::new(trials, interval.high).unwrap().lower_tail(successes);
                // A double near 1 cannot say its distance from 1 to more digits than this.
                let spacing = (trials - successes) as f64 * f64::EPSILON / (1.0 - interval.high);
                let off = |tail: f64| (tail / (level / 2.0) - 1.0).abs();
                assert!(off(above) < 1e-9, "{successes} {trials} {level} {above}");
                assert!(off(below) < 1e-9 + spacing, "{successes} {trials} {level} {below}");
            }
        }
    }

    #[test]
    fn what_is_no_proportion_has_no_interval() {
        assert_eq!(clopper_pearson(0, 0, 0.05), None);
        assert_eq!(clopper_pearson(3, 2, 0.05), None);
        assert_eq!(clopper_pearson(1, 2, 0.0), None);
        assert_eq!(clopper_pearson(1, 2, 1.0), None);
    }
}
