//! Held against another library, against identities, and against faults that were planted.

use num_bigint::BigUint;
use proptest::prelude::*;

use crate::Natural;
use crate::fibonacci;
use crate::ladder::{Ladder, Steps};

/// What the other library makes of the same limbs.
fn theirs(number: &Natural) -> BigUint {
    BigUint::from_bytes_le(&bytes(number))
}

fn ours(number: &BigUint) -> Natural {
    Natural::from_le_bytes(&number.to_bytes_le())
}

fn bytes(number: &Natural) -> Vec<u8> {
    number.limbs().iter().flat_map(|limb| limb.to_le_bytes()).collect()
}

/// A ladder whose rungs begin as low as they can, so that small numbers climb all of it.
const STEEP: Ladder = {
    let steps = Steps { karatsuba: 0, toom3: 0 };
    Ladder { multiply: steps, square: steps }
};

/// Halves only.
const HALVES: Ladder = {
    let steps = Steps { karatsuba: 0, toom3: usize::MAX };
    Ladder { multiply: steps, square: steps }
};

const LADDERS: [Ladder; 4] = [Ladder::SCHOOLBOOK, HALVES, STEEP, Ladder::MEASURED];

/// Limbs that carry: all ones, all zeros, and anything.
fn limbs(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(
        prop_oneof![3 => Just(u64::MAX), 2 => Just(0), 1 => Just(1), 1 => Just(1 << 63), 5 => any::<u64>()],
        length,
    )
}

fn natural(length: impl Into<prop::collection::SizeRange>) -> impl Strategy<Value = Natural> {
    limbs(length).prop_map(Natural::from_limbs)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_differences_and_order_are_theirs(left in natural(0..40), right in natural(0..40)) {
        let (a, b) = (theirs(&left), theirs(&right));
        prop_assert_eq!(&left + &right, ours(&(&a + &b)));
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
        prop_assert_eq!(left.checked_sub(&right), (a >= b).then(|| ours(&(&a - &b))));
        prop_assert_eq!(left.shl1(), ours(&(&a << 1)));
        prop_assert_eq!(left.bits(), a.bits());
    }

    #[test]
    fn every_ladder_gives_their_product(left in natural(0..90), right in natural(0..90)) {
        let product = ours(&(theirs(&left) * theirs(&right)));
        for ladder in &LADDERS {
            prop_assert_eq!(&left.multiply_on(&right, ladder), &product, "{:?}", ladder);
        }
    }

    #[test]
    fn every_ladder_gives_their_square(root in natural(0..120)) {
        let square = ours(&theirs(&root).pow(2));
        for ladder in &LADDERS {
            prop_assert_eq!(&root.square_on(ladder), &square, "{:?}", ladder);
        }
    }

    #[test]
    fn quotient_and_remainder_are_theirs(dividend in natural(0..60), divisor in natural(0..30)) {
        let found = dividend.checked_div_rem(&divisor);
        if divisor.is_zero() {
            prop_assert_eq!(found, None);
        } else {
            let (a, b) = (theirs(&dividend), theirs(&divisor));
            prop_assert_eq!(found, Some((ours(&(&a / &b)), ours(&(&a % &b)))));
        }
    }

    #[test]
    fn digits_are_theirs(number in natural(0..130)) {
        prop_assert_eq!(number.to_string(), theirs(&number).to_string());
        prop_assert_eq!(format!("{number:x}"), format!("{:x}", theirs(&number)));
        prop_assert_eq!(format!("{number:#040x}"), format!("{:#040x}", theirs(&number)));
    }

    #[test]
    fn billions_are_digits_from_the_low_end(digits in prop::collection::vec(0..1_000_000_000_u32, 0..400)) {
        let text = digits.iter().rev().map(|digit| format!("{digit:09}")).collect::<String>();
        let wanted = text.trim_start_matches('0');
        let wanted = if wanted.is_empty() { "0" } else { wanted };
        prop_assert_eq!(Natural::from_billions(&digits).unwrap().to_string(), wanted);
    }

    #[test]
    fn bytes_and_limbs_are_the_same_number(bytes in prop::collection::vec(any::<u8>(), 0..50)) {
        let number = Natural::from_le_bytes(&bytes);
        prop_assert_eq!(theirs(&number), BigUint::from_bytes_le(&bytes));
        prop_assert_ne!(number.limbs().last(), Some(&0));
    }
}

/// F(n) by additions of the other library, for all n up to `last`.
fn by_additions(last: u64) -> impl Iterator<Item = (u64, BigUint)> {
    let first = (BigUint::ZERO, BigUint::from(1_u8));
    let pairs = std::iter::successors(Some(first), |(a, b)| Some((b.clone(), a + b)));
    (0..=last).zip(pairs.map(|(current, _)| current))
}

#[test]
fn every_way_to_a_fibonacci_number_agrees_with_additions_up_to_2000() {
    for (n, wanted) in by_additions(2_000) {
        let wanted = ours(&wanted);
        assert_eq!(fibonacci::iterative(n), wanted, "F({n})");
        for ladder in &LADDERS {
            assert_eq!(fibonacci::doubling_on(n, ladder), wanted, "F({n}) by {ladder:?}");
        }
    }
}
