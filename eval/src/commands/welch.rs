//! Welch's t test, by which hyperfine's repository has two of its exports compared
//! (`scripts/welch_ttest.py`, which asks `ttest_ind` of SciPy with `equal_var=False`).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// What is known of the values of one side.
pub(super) struct Moments {
    pub(super) mean: f64,
    /// Of a value.
    pub(super) variance: f64,
    pub(super) count: f64,
}

/// The two-sided probability of means as far apart as these if both populations had one mean. None of fewer
/// than two values a side, and where no value differs from another of its side.
pub(super) fn probability(left: &[f64], right: &[f64]) -> Option<f64> {
    probability_of(&moments(left)?, &moments(right)?)
}

/// The same by the moments.
///
/// B. L. Welch, "The generalization of 'Student's' problem when several different population variances are
/// involved" (1947).
pub(super) fn probability_of(left: &Moments, right: &Moments) -> Option<f64> {
    let square = |side: &Moments| side.variance / side.count;
    let error = square(left) + square(right);
    let shares = square(left).powi(2) / (left.count - 1.0) + square(right).powi(2) / (right.count - 1.0);
    let student = StudentsT::new(0.0, 1.0, error.powi(2) / shares).ok()?;
    Some(2.0 * student.sf((right.mean - left.mean).abs() / error.sqrt()))
}

fn moments(values: &[f64]) -> Option<Moments> {
    if values.len() < 2 {
        return None;
    }
    let count = values.len() as f64;
    let mean = mean(values);
    let squares = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>();
    Some(Moments { mean, variance: squares / (count - 1.0), count })
}

pub(super) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_the_tail_of_student_s_density() {
        // The density at 1.897 and 5.88 degrees of freedom, and at 8.660 and 7.02, by Simpson's rule.
        let (left, right) = ([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 4.0, 6.0, 8.0, 10.0]);
        let probability = |left: &[f64], right: &[f64]| probability(left, right).expect("they vary");
        assert!((probability(&left, &right) - 0.107_531_194_930_561_93).abs() < 1e-9);
        assert_eq!(probability(&left, &right), probability(&right, &left));
        assert!((probability(&left, &left) - 1.0).abs() < 1e-12);
        let (left, right) = ([10.1, 10.2, 10.15, 10.05], [10.4, 10.6, 10.5, 10.45, 10.55, 10.5]);
        assert!((probability(&left, &right) - 5.370_616_207e-5).abs() < 1e-12);
    }

    #[test]
    fn too_few_values_and_values_without_noise_have_none() {
        for (left, right) in [(&[][..], &[1.0, 2.0][..]), (&[1.0], &[1.0, 2.0]), (&[1.0, 1.0], &[2.0, 2.0])] {
            assert_eq!(probability(left, right), None, "{left:?} {right:?}");
        }
    }
}
