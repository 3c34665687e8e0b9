//! The rising curve nearest to what was measured.
//!
//! A larger buffer cannot be faster to walk: where a smaller one took longer, that was noise. Isotonic
//! regression by pooling adjacent violators takes such neighbours together. Blocks are pooled by the median
//! of all their samples, which minimises the sum of absolute errors, so that a size whose samples were mostly
//! disturbed is outvoted by its neighbour.
//!
//! Source: Barlow, Bartholomew, Bremner and Brunk, "Statistical Inference under Order Restrictions" (1972);
//! with medians: Robertson and Waltman, "On Estimating Monotone Parameters" (1968).

use tenbin_stats::order::Ordered;

/// Neighbours that share one value.
struct Pool {
    samples: Vec<f64>,
    median: f64,
    members: usize,
}

/// For each of `sizes`, the median of its samples after neighbours that fall were pooled: never falling, in
/// the unit of the samples. None if a size has no samples, or one that is not a number.
pub(crate) fn rising(sizes: &[&[f64]]) -> Option<Vec<f64>> {
    let mut pools: Vec<Pool> = Vec::with_capacity(sizes.len());
    for samples in sizes {
        let mut pool = Pool { samples: samples.to_vec(), median: median(samples)?, members: 1 };
        while let Some(before) = pools.pop_if(|before| before.median > pool.median) {
            pool.samples.extend(before.samples);
            pool.members += before.members;
            pool.median = median(&pool.samples)?;
        }
        pools.push(pool);
    }
    Some(pools.iter().flat_map(|pool| std::iter::repeat_n(pool.median, pool.members)).collect())
}

pub(super) fn median(samples: &[f64]) -> Option<f64> {
    Ordered::new(samples.to_vec()).map(|ordered| ordered.median())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(sizes: &[&[f64]]) -> Vec<f64> {
        rising(sizes).unwrap()
    }

    #[test]
    fn what_rises_stays_and_what_falls_is_pooled() {
        assert_eq!(of(&[&[1.0], &[2.0], &[3.0]]), [1.0, 2.0, 3.0]);
        assert_eq!(of(&[&[1.0], &[3.0], &[2.0], &[4.0]]), [1.0, 2.5, 2.5, 4.0]);
        assert_eq!(of(&[&[3.0], &[2.0], &[1.0]]), [2.0, 2.0, 2.0]);
        assert_eq!(of(&[]), [0.0; 0]);
    }

    #[test]
    fn a_size_that_was_mostly_disturbed_is_outvoted() {
        let disturbed: &[f64] = &[1.0, 1.1, 9.0, 9.0, 9.0];
        let quiet: &[f64] = &[1.0, 1.1, 1.2, 1.3, 1.1];
        assert_eq!(of(&[disturbed, quiet]), [1.15, 1.15]);
    }

    #[test]
    fn a_size_without_a_number_has_no_curve() {
        assert_eq!(rising(&[&[1.0], &[]]), None);
        assert_eq!(rising(&[&[1.0], &[f64::NAN]]), None);
    }

    proptest! {
        #[test]
        fn the_curve_never_falls_and_keeps_what_did_not_either(
            values in prop::collection::vec(0.5_f64..50.0, 1..40),
        ) {
            let sizes: Vec<&[f64]> = values.iter().map(std::slice::from_ref).collect();
            let curve = of(&sizes);
            prop_assert_eq!(curve.len(), values.len());
            prop_assert!(curve.is_sorted());
            let mut sorted = values.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            let each: Vec<&[f64]> = sorted.iter().map(std::slice::from_ref).collect();
            prop_assert_eq!(of(&each), sorted);
        }
    }
}
