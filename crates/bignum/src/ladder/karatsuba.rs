//! The second rung: three products of half the length instead of four.
//!
//! With both factors cut at h limbs, a = a1 B + a0 and b = b1 B + b0, the middle term is
//! a1 b0 + a0 b1 = a0 b0 + a1 b1 - (a0 - a1)(b0 - b1): the third product is of differences, which do not
//! grow by a bit as sums would. A. Karatsuba and Yu. Ofman, 1962; in this form in D. E. Knuth, The Art of
//! Computer Programming, volume 2, section 4.3.3.

use super::Ladder;
use crate::span::{self, Limb};

/// The smallest size whose middle term fits between the ends of the result.
pub(super) const LEAST: usize = 4;

/// As [`Ladder::multiply`], for factors of one length of at least [`LEAST`] limbs.
pub(super) fn multiply(
    ladder: &Ladder,
    result: &mut [Limb],
    left: &[Limb],
    right: &[Limb],
    scratch: &mut [Limb],
) {
    let half = left.len().div_ceil(2);
    let (left_low, left_high) = left.split_at(half);
    let (right_low, right_high) = right.split_at(half);
    let (middle, scratch) = scratch.split_at_mut(2 * half);
    // The differences stand where the result will, because they are needed only once.
    let (one, rest) = result.split_at_mut(half);
    let other = &mut rest[..half];
    let turned = span::distance(one, left_low, left_high) != span::distance(other, right_low, right_high);
    ladder.multiply(middle, one, other, scratch);
    let (low, high) = result.split_at_mut(2 * half);
    ladder.multiply(low, left_low, right_low, scratch);
    ladder.multiply(high, left_high, right_high, scratch);
    add_middle(result, middle, turned);
}

/// As [`Ladder::square`], for a root of at least [`LEAST`] limbs.
pub(super) fn square(ladder: &Ladder, result: &mut [Limb], root: &[Limb], scratch: &mut [Limb]) {
    let half = root.len().div_ceil(2);
    let (root_low, root_high) = root.split_at(half);
    let (middle, scratch) = scratch.split_at_mut(2 * half);
    let difference = &mut result[..half];
    span::distance(difference, root_low, root_high);
    ladder.square(middle, difference, scratch);
    let (low, high) = result.split_at_mut(2 * half);
    ladder.square(low, root_low, scratch);
    ladder.square(high, root_high, scratch);
    add_middle(result, middle, false);
}

/// Adds the middle term to `result`, which holds the low product and above it the high one. `middle`
/// holds the product of the differences, which is negative where one of them was `turned`.
fn add_middle(result: &mut [Limb], middle: &mut [Limb], turned: bool) {
    let length = middle.len();
    let (low, high) = result.split_at(length);
    // The middle term is at most 2 (B - 1)^2, so it has one bit above `middle`, and is not negative.
    let mut above = 0;
    if turned {
        above += i8::from(span::add(middle, low));
    } else {
        above -= i8::from(span::subtract_from(middle, low));
    }
    above += i8::from(span::add(middle, high));
    debug_assert!((0..=1).contains(&above), "the middle term of a product is {above} limbs long");
    let place = &mut result[length / 2..];
    span::add(place, middle);
    span::carry_into(&mut place[length..], above == 1);
}
