//! The ways to F(n) against the sum, and the plans.

use super::oracle::{Base, Table, Walk};
use super::user::samples;

#[test]
fn the_oracle_knows_the_numbers_that_everybody_knows() {
    let mut words = Walk::new(Base::Words);
    let first: Vec<u64> =
        [0, 1, 2, 10, 93].map(|n| words.to(n)).iter().map(|bytes| little(bytes, 8)[0]).collect();
    assert_eq!(first, [0, 1, 1, 55, 12_200_160_415_121_876_738]);
    // The published list ends there, in its own digits.
    let mut billions = Walk::new(Base::Billions);
    assert_eq!(little(&billions.to(44), 4), [701_408_733]);
    assert_eq!(little(&billions.to(99), 4), [555_169_026, 922_995_834, 218]);
    assert_eq!(
        little(&words.to(99), 8),
        [(218_922_995_834_555_169_026_u128 & u128::from(u64::MAX)) as u64, 11]
    );
}

/// Digits of so many bytes; 0 stands for none.
fn little(bytes: &[u8], width: usize) -> Vec<u64> {
    let digit = |digit: &[u8]| digit.iter().rev().fold(0_u64, |sum, &byte| sum << 8 | u64::from(byte));
    if bytes.is_empty() { vec![0] } else { bytes.chunks(width).map(digit).collect() }
}

#[test]
fn a_table_holds_all_up_to_a_place_and_samples_beyond_once() {
    let table = Table::of(Base::Words, 5, &[9, 3, 7, 9]);
    assert_eq!(table.rows().map(|(place, _)| place).collect::<Vec<_>>(), [0, 1, 2, 3, 4, 5, 7, 9]);
    assert_eq!(table.number(9), Some(&34_u64.to_le_bytes()[..]));
    assert_eq!((table.number(0), table.number(8)), (Some(&[][..]), None));
}

#[test]
fn samples_lie_in_their_range_and_follow_the_seed() {
    let drawn = samples(7, 100..200, 50);
    assert!(drawn.len() == 50 && drawn.iter().all(|place| (100..200).contains(place)), "{drawn:?}");
    assert_eq!(drawn, samples(7, 100..200, 50));
    assert_ne!(drawn, samples(8, 100..200, 50));
    assert!(samples(7, 5..5, 50).is_empty());
}
