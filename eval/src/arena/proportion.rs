//! An exact interval for a proportion.
//!
//! tenbin has one too, and xtask builds against nothing of tenbin: the arena would otherwise judge the
//! instrument by its own arithmetic.

/// The 95 % interval of C. J. Clopper and E. S. Pearson, "The Use of Confidence or Fiducial Limits
/// Illustrated in the Case of the Binomial" (1934), for the probability behind `count` in `of`.
pub(super) fn interval(count: usize, of: usize) -> (f64, f64) {
    const HALF: f64 = 0.025;
    let low = if count == 0 { 0.0 } else { crossing(|chance| at_least(count, of, chance) - HALF) };
    let high = if count == of { 1.0 } else { crossing(|chance| HALF - at_most(count, of, chance)) };
    (low, high)
}

/// Where a function that rises with the chance is zero, by halving.
fn crossing(rising: impl Fn(f64) -> f64) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        if rising(middle) < 0.0 { low = middle } else { high = middle }
    }
    (low + high) / 2.0
}

/// The probability of `count` or more of `of`.
fn at_least(count: usize, of: usize, chance: f64) -> f64 {
    probabilities(of, chance).skip(count).sum()
}

/// The probability of `count` or fewer of `of`.
fn at_most(count: usize, of: usize, chance: f64) -> f64 {
    probabilities(of, chance).take(count + 1).sum()
}

/// The probability of each number from 0 to `of`. Carried on as logarithms: those of a long arena do
/// not fit a float.
fn probabilities(of: usize, chance: f64) -> impl Iterator<Item = f64> {
    let odds = chance.ln() - (1.0 - chance).ln();
    let first = of as f64 * (1.0 - chance).ln();
    let later = (1..=of).scan(first, move |ln, count| {
        *ln += ((of - count + 1) as f64 / count as f64).ln() + odds;
        Some(*ln)
    });
    std::iter::once(first).chain(later).map(f64::exp)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_intervals_are_found() {
        // The quantiles of beta distributions, by SciPy 1.10.1.
        for (count, of, low, high) in [
            (0, 10, 0.0, 0.308_497_107_818_760_8),
            (10, 10, 0.691_502_892_181_239_2, 1.0),
            (1, 1, 0.025, 1.0),
            (5, 10, 0.187_086_028_447_398_55, 0.812_913_971_552_601_5),
            (2, 45, 0.005_428_488_700_250_948, 0.151_492_900_243_339_14),
            (21, 45, 0.316_600_822_997_423_6, 0.621_279_983_912_535_6),
            (2_500, 5_000, 0.486_044_374_000_926_54, 0.513_955_625_999_073_4),
        ] {
            let found = interval(count, of);
            assert!((found.0 - low).abs() < 1e-9, "{count} of {of}: {found:?}");
            assert!((found.1 - high).abs() < 1e-9, "{count} of {of}: {found:?}");
        }
    }
}
