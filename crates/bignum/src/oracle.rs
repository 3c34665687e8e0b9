//! Held against another library, against identities, and against faults that were planted.

use num_bigint::BigUint;
use proptest::prelude::*;

use crate::Natural;
use crate::division;
use crate::fibonacci;
use crate::ladder::{Ladder, Steps};

/// What the other library makes of the same limbs.
fn theirs(number: &Natural) -> BigUint {
    BigUint::from_bytes_le(&number.limbs().iter().flat_map(|limb| limb.to_le_bytes()).collect::<Vec<_>>())
}

fn ours(number: &BigUint) -> Natural {
    Natural::from_le_bytes(&number.to_bytes_le())
}

/// What is left of a number when a smaller one was taken away.
fn less(number: &Natural, other: &Natural) -> Natural {
    ours(&(theirs(number) - theirs(other)))
}

/// A ladder whose rungs begin as low as they can, so that small numbers climb all of it.
const STEEP: Ladder = Ladder::alike(Steps { karatsuba: 0, toom3: 0 });

/// Halves only.
const HALVES: Ladder = Ladder::alike(Steps { karatsuba: 0, toom3: usize::MAX });

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
    #![proptest_config(ProptestConfig { cases: 150, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn sums_and_order_are_theirs(left in natural(0..40), right in natural(0..40)) {
        let (a, b) = (theirs(&left), theirs(&right));
        prop_assert_eq!(&left + &right, ours(&(&a + &b)));
        prop_assert_eq!(left.cmp(&right), a.cmp(&b));
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
    fn quotient_and_remainder_are_theirs(dividend in natural(0..90), divisor in natural(0..40)) {
        let (a, b) = (theirs(&dividend), theirs(&divisor));
        let wanted = (!divisor.is_zero()).then(|| (ours(&(&a / &b)), ours(&(&a % &b))));
        for halves_from in [2, 3, 5, 60] {
            let quotient_and_rest = division::divide_from(&dividend, &divisor, halves_from);
            prop_assert_eq!(quotient_and_rest.as_ref(), wanted.as_ref(), "in halves from {}", halves_from);
        }
    }

    #[test]
    fn a_dividend_is_its_quotient_times_the_divisor_and_the_rest(
        quotient in natural(1..40),
        divisor in natural(1..40),
        rest in natural(0..40),
    ) {
        // Built from the answer, so that quotients of all ones and remainders just below the divisor come up.
        prop_assume!(!divisor.is_zero());
        let rest = if rest < divisor { rest } else { less(&divisor, &Natural::from(1_u64)) };
        let dividend = &(&quotient * &divisor) + &rest;
        for halves_from in [2, 3, 5, 60] {
            let quotient_and_rest = division::divide_from(&dividend, &divisor, halves_from);
            prop_assert_eq!(quotient_and_rest, Some((quotient.clone(), rest.clone())), "in halves from {}", halves_from);
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
fn every_way_to_f_n_agrees_with_additions_up_to_2000() {
    for (n, wanted) in by_additions(2_000) {
        let wanted = ours(&wanted);
        assert_eq!(fibonacci::iterative(n), wanted, "F({n})");
        for ladder in &LADDERS {
            assert_eq!(fibonacci::doubling_on(n, ladder), wanted, "F({n}) by {ladder:?}");
        }
    }
}

#[test]
fn the_largest_factors_carry_as_far_as_they_can() {
    // (B^n - 1)(B^m - 1) = B^(n + m) - B^n - B^m + 1.
    let ones = |length| Natural::from_limbs(vec![u64::MAX; length]);
    let power = |length| {
        let mut limbs = vec![0; length];
        limbs.push(1);
        Natural::from_limbs(limbs)
    };
    for (n, m) in
        (1..64).flat_map(|n| (1..64).map(move |m| (n, m))).chain([(300, 300), (301, 299), (1_000, 7)])
    {
        let mut sum = power(n + m);
        sum += &Natural::from(1_u64);
        let wanted = less(&sum, &(&power(n) + &power(m)));
        for ladder in &LADDERS {
            assert_eq!(ones(n).multiply_on(&ones(m), ladder), wanted, "{n} by {m} limbs, {ladder:?}");
            if n == m {
                assert_eq!(ones(n).square_on(ladder), wanted, "{n} limbs squared, {ladder:?}");
            }
        }
    }
}

#[test]
fn random_fibonacci_numbers_up_to_100_000_are_theirs() {
    let theirs = |n: u64| {
        let (mut a, mut b) = (BigUint::ZERO, BigUint::from(1_u8));
        for bit in (0..u64::BITS - n.leading_zeros()).rev() {
            let even = &a * ((&b << 1) - &a);
            let odd = &a * &a + &b * &b;
            (a, b) = if n >> bit & 1 == 1 { (odd.clone(), even + odd) } else { (even, odd) };
        }
        a
    };
    let mut n = 0x9e37_79b9_u64;
    for _ in 0..60 {
        // A linear congruence, only to spread the indices.
        n = n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let index = (n >> 33) % 100_001;
        assert_eq!(crate::fibonacci(index), ours(&theirs(index)), "F({index})");
    }
}

#[test]
fn digits_of_a_number_that_is_cut_many_times_are_theirs() {
    let number = crate::fibonacci(100_000);
    let text = number.to_string();
    assert_eq!(text, theirs(&number).to_string());
    assert!(text.starts_with("259740693472217") && text.ends_with("3428746875"), "{text}");
    let mut digits = text.clone().into_bytes();
    digits.reverse();
    let billions = digits
        .chunks(9)
        .map(|chunk| chunk.iter().rev().fold(0, |number, digit| 10 * number + u32::from(digit - b'0')));
    assert_eq!(Natural::from_billions(&billions.collect::<Vec<_>>()), Some(number));
}

#[test]
fn powers_of_ten_and_their_neighbours_have_their_digits() {
    let ten = Natural::from(10_u64);
    let mut power = Natural::from(1_u64);
    for zeros in 0..1_300 {
        let below = less(&power, &Natural::from(1_u64));
        assert_eq!(power.to_string(), format!("1{}", "0".repeat(zeros)));
        assert_eq!(below.to_string(), if zeros == 0 { "0".into() } else { "9".repeat(zeros) });
        power = &power * &ten;
    }
}

#[test]
fn text_obeys_what_a_format_asks() {
    let number = Natural::from_limbs(vec![0, 1]);
    assert_eq!(
        format!("{number:>25}|{number:<25}|{number:025}"),
        "     18446744073709551616|18446744073709551616     |0000018446744073709551616"
    );
    assert_eq!(
        format!("{number:x} {number:#x} {:x} {:#x}", Natural::ZERO, Natural::ZERO),
        "10000000000000000 0x10000000000000000 0 0x0"
    );
}

#[test]
fn a_digit_of_a_billion_is_none() {
    assert_eq!(Natural::from_billions(&[0, 1_000_000_000]), None);
    assert_eq!(Natural::from_billions(&[]), Some(Natural::ZERO));
    assert_eq!(Natural::from_billions(&[999_999_999, 0, 0]), Some(Natural::from(999_999_999_u64)));
}

/// What must hold of numbers that claim to be F(0), F(1), ... , without knowing one of them; the first
/// identity that does not, by name.
fn broken(claimed: impl Fn(u64) -> Natural) -> Option<&'static str> {
    let indices =
        [0, 1, 2, 3, 46, 47, 92, 93, 94, 95, 186, 187, 188, 1_000, 1_023, 1_024, 2_047, 5_000, 7_001];
    for n in indices {
        let (here, next, after) = (claimed(n), claimed(n + 1), claimed(n + 2));
        if &here + &next != after {
            return Some("recurrence");
        }
        // Cassini: F(n + 1)^2 = F(n) F(n + 2) + (-1)^n.
        let (mut square, mut product) = (next.square(), &here * &after);
        let odd_one = if n % 2 == 0 { &mut product } else { &mut square };
        *odd_one += &Natural::from(1_u64);
        if square != product {
            return Some("Cassini");
        }
        for m in [1, 2, 13, 377] {
            // d'Ocagne, with all terms positive: F(m + n + 1) = F(m) F(n) + F(m + 1) F(n + 1).
            let sum = &(&claimed(m) * &here) + &(&claimed(m + 1) * &next);
            if sum != claimed(m + n + 1) {
                return Some("d'Ocagne");
            }
            // gcd(F(m), F(n)) = F(gcd(m, n)).
            if gcd(claimed(m), here.clone()) != claimed(gcd_of_indices(m, n)) {
                return Some("divisors");
            }
        }
    }
    None
}

fn gcd(mut left: Natural, mut right: Natural) -> Natural {
    while let Some((_, rest)) = left.checked_div_rem(&right) {
        left = std::mem::replace(&mut right, rest);
    }
    left
}

fn gcd_of_indices(left: u64, right: u64) -> u64 {
    if right == 0 { left } else { gcd_of_indices(right, left % right) }
}

#[test]
fn the_identities_hold() {
    assert_eq!(broken(fibonacci::doubling), None);
    assert_eq!(broken(fibonacci::iterative), None);
    assert_eq!(broken(|n| fibonacci::doubling_on(n, &STEEP)), None);
}

#[test]
fn planted_faults_break_an_identity() {
    let flipped = |n: u64, at: u64, limb: fn(usize) -> usize, bit: u32| {
        let mut limbs = fibonacci::doubling(n).limbs().to_vec();
        if n == at {
            let place = limb(limbs.len());
            limbs[place] ^= 1 << bit;
        }
        Natural::from_limbs(limbs)
    };
    // One bit of one number: at the low end, in the middle, at the high end.
    assert!(broken(|n| flipped(n, 1_001, |_| 0, 0)).is_some());
    assert!(broken(|n| flipped(n, 5_001, |length| length / 2, 17)).is_some());
    assert!(broken(|n| flipped(n, 7_003, |length| length - 1, 0)).is_some());
    // The sign of the last step forgotten, for indices that are 3 modulo 4.
    let four = Natural::from(4_u64);
    let signed = |n: u64| {
        let number = fibonacci::doubling(n);
        if n > 93 && n % 4 == 3 { &number + &four } else { number }
    };
    assert!(broken(signed).is_some());
    // Numbers shifted by one satisfy the recurrence, and nothing else.
    assert_eq!(broken(|n| fibonacci::doubling(n + 1)), Some("Cassini"));
    // Twice each number, too.
    let twice = |number: Natural| &number + &number;
    assert_eq!(broken(|n| twice(fibonacci::doubling(n))), Some("Cassini"));
}
