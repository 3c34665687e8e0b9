//! What was published against the sum.

use num_bigint::BigUint;
use proptest::prelude::*;

use super::*;
use crate::{Natural, fibonacci};

/// Rounds as published that change nothing.
const IDLE_ROUNDS: u32 = 32;

fn starts() -> [Start; 2] {
    [Start::AsPublished, Start::Corrected]
}

/// The number that has these digits to the base of 10⁹.
fn number(digits: &[u32]) -> BigUint {
    digits.iter().rev().fold(BigUint::ZERO, |sum, &digit| sum * 1_000_000_000_u32 + digit)
}

fn right(n: u32) -> BigUint {
    let limbs = fibonacci::iterative(n.into());
    BigUint::from_bytes_le(&limbs.limbs().iter().flat_map(|limb| limb.to_le_bytes()).collect::<Vec<_>>())
}

/// The buffers that the published way sizes once are never too small, and both ways to start agree with the
/// sum.
#[test]
fn digits_are_right_up_to_ten_thousand() {
    for n in 0..=1_500 {
        for start in starts() {
            let digits = decimal::fibonacci(n, start);
            assert_eq!(number(&digits), right(n), "F({n}), {start:?}");
            assert_ne!(digits.last(), Some(&0), "F({n}), {start:?}");
        }
    }
    for n in (1_501..10_000_u32).step_by(97) {
        assert_eq!(number(&decimal::fibonacci(n, Start::Corrected)), right(n), "F({n})");
    }
}

#[test]
fn a_word_holds_every_number_up_to_its_last() {
    for n in 0..=words::LARGEST {
        for start in starts() {
            assert_eq!(BigUint::from(words::with_a_branch(n, start)), right(n), "F({n}), {start:?}");
            assert_eq!(BigUint::from(words::without_a_branch(n, start)), right(n), "F({n}), {start:?}");
        }
    }
    let next: Natural = fibonacci::iterative(u64::from(words::LARGEST) + 1);
    assert_eq!(next.limbs().len(), 2, "the next one takes two words");
}

proptest! {
    /// The published start comes 32 rounds early, whatever n is; they double zero.
    #[test]
    fn the_published_start_is_thirty_two_rounds_early(n in 1..=u32::MAX) {
        let rounds = |start: Start| start.mask(n).ilog2() + 1;
        prop_assert_eq!(rounds(Start::AsPublished), rounds(Start::Corrected) + IDLE_ROUNDS);
        prop_assert_eq!(u64::from(n) & !(2 * Start::Corrected.mask(n) - 1), 0);
    }
}
