//! The middle of a few values. Everything here is finite: times were checked before their logarithms were
//! taken.

use tenbin_stats::order::Ordered;

/// The median: the middle value, or the mean of the two middle ones. NaN of no values.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> f64 {
    Ordered::new(values.into_iter().collect()).map_or(f64::NAN, |values| values.median())
}

/// The middle value, or the lower of the two middle ones. NaN of no values.
///
/// A preemption can only lengthen a time. So of two middle values the lower one is the safer, and the
/// bias that it brings is the same for every pair of as many blocks: it cancels in a difference.
pub(super) fn lower_median(values: impl IntoIterator<Item = f64>) -> f64 {
    let ordered = Ordered::new(values.into_iter().collect());
    ordered.map_or(f64::NAN, |values| values.values()[(values.count() - 1) / 2])
}

/// Variance of a median of `count` values, over that of one of them: π/2 over the count for normal
/// values; up to two of them, the median is the mean.
pub(super) fn variance(count: usize) -> f64 {
    let loss = if count > 2 { std::f64::consts::FRAC_PI_2 } else { 1.0 };
    loss / count as f64
}

/// The standard deviation of one value, from series that may have different middles. None if no series has
/// two values.
///
/// From the median distance between two values of the same series: M. I. Shamos (1976); 1.0483 makes it a
/// standard deviation for normal noise (P. J. Rousseeuw & C. Croux, "Alternatives to the Median Absolute
/// Deviation", 1993). It needs no estimate of the middle, which few values would place too near to
/// themselves.
pub(super) fn shamos<'a>(series: impl IntoIterator<Item = &'a [f64]>) -> Option<f64> {
    const NORMAL: f64 = 1.0483;
    let mut distances = Vec::new();
    for values in series {
        for (index, one) in values.iter().enumerate() {
            distances.extend(values[index + 1..].iter().map(|other| (one - other).abs()));
        }
    }
    (!distances.is_empty()).then(|| NORMAL * median(distances))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_is_the_middle() {
        for (values, middle, lower) in [
            (vec![3.0], 3.0, 3.0),
            (vec![4.0, 1.0], 2.5, 1.0),
            (vec![9.0, 1.0, 2.0], 2.0, 2.0),
            (vec![9.0, 1.0, 2.0, 4.0], 3.0, 2.0),
        ] {
            assert_eq!((median(values.clone()), lower_median(values)), (middle, lower));
        }
        assert!(median([]).is_nan() && lower_median([]).is_nan());
    }
}
