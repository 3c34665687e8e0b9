//! Many comparisons at once.
//!
//! The verdicts of a run are intervals, and each must hold beside all others. Bonferroni gives that for
//! intervals under any dependence. Step-down procedures such as Holm's reject more but give p-values
//! and no simple intervals, so there is none here.

use super::is_level;

/// The level for each of `family` intervals, so that all of them hold together except with probability
/// `level`. None if the family is empty or `level` is no level.
///
/// O. J. Dunn, "Multiple Comparisons Among Means" (1961), with Bonferroni's inequality.
pub fn bonferroni(level: f64, family: usize) -> Option<f64> {
    (is_level(level) && family > 0).then(|| level / family as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_family_shares_the_level_equally() {
        assert_eq!(bonferroni(0.05, 1), Some(0.05));
        assert_eq!(bonferroni(0.5, 8), Some(0.0625));
        assert_eq!(bonferroni(0.05, 0), None);
        assert_eq!(bonferroni(0.0, 1), None);
        assert_eq!(bonferroni(f64::NAN, 1), None);
    }
}
