//! How evenly workers shared something.

/// Jain's index of fairness: (Σx)² / (n Σx²). It has no unit and lies between 1/n, where one worker
/// got everything, and 1, where all got the same. If k of n workers share equally, it is k/n.
///
/// None if there are no shares, if all are zero, or if one is negative or not finite.
///
/// R. Jain, D. Chiu and W. Hawe, "A Quantitative Measure of Fairness and Discrimination for Resource
/// Allocation in Shared Computer Systems", DEC-TR-301 (1984).
pub fn jain(shares: &[f64]) -> Option<f64> {
    if shares.iter().any(|share| !share.is_finite() || *share < 0.0) {
        return None;
    }
    let largest = shares.iter().copied().fold(0.0, f64::max);
    if largest == 0.0 {
        return None;
    }
    // The index does not depend on the unit. In units of the largest share no square overflows.
    let scaled = || shares.iter().map(|share| share / largest);
    let (sum, squares) = (scaled().sum::<f64>(), scaled().map(|share| share * share).sum::<f64>());
    Some((sum * sum / (shares.len() as f64 * squares)).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_shares_are_fair_and_a_single_winner_is_one_in_n() {
        assert_eq!(jain(&[3.0; 7]), Some(1.0));
        assert_eq!(jain(&[0.0, 0.0, 5.0, 0.0]), Some(0.25));
        assert_eq!(jain(&[1.0, 1.0, 0.0, 0.0]), Some(0.5));
        assert_eq!(jain(&[1e300, 1e300]), Some(1.0));
    }

    #[test]
    fn shares_that_are_none_have_no_index() {
        for shares in [&[] as &[f64], &[0.0, 0.0], &[-1.0, 2.0], &[f64::NAN], &[f64::INFINITY]] {
            assert_eq!(jain(shares), None);
        }
    }
}
