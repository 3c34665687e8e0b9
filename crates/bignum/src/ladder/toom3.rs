//! The third rung: five products of a third of the length instead of nine.
//!
//! Both factors are polynomials of degree 2 in B; their product, of degree 4, is known by its values at
//! 0, 1, -1, 2 and infinity. A. L. Toom, 1963; the order in which the values become coefficients, with
//! one exact division by 3, is the one of M. Bodrato, "Towards optimal Toom-Cook multiplication for
//! univariate and multivariate polynomials in characteristic 2 and 0", WAIFI 2007.

use super::Ladder;
use crate::span::{self, Limb};

/// The smallest size whose thirds, the last one being the shortest, all have a limb, and whose
/// coefficients fit into the result.
pub(super) const LEAST: usize = 9;

/// 1/3 modulo 2^64.
const THIRD: Limb = 0xaaaa_aaaa_aaaa_aaab;

/// A factor in three parts, least first; the first two are of one length.
struct Thirds<'a> {
    parts: [&'a [Limb]; 3],
}

impl<'a> Thirds<'a> {
    fn of(factor: &'a [Limb], length: usize) -> Self {
        let (low, rest) = factor.split_at(length);
        let (middle, high) = rest.split_at(length);
        Self { parts: [low, middle, high] }
    }

    /// The value at 1, in one limb more than a part.
    fn at_one(&self, value: &mut [Limb]) {
        let [low, middle, high] = self.parts;
        copy(value, low);
        span::add(value, high);
        span::add(value, middle);
    }

    /// The distance from 0 of the value at -1, and whether it is negative.
    fn at_minus_one(&self, value: &mut [Limb]) -> bool {
        let [low, middle, high] = self.parts;
        copy(value, low);
        span::add(value, high);
        if span::compare(value, middle).is_lt() {
            let (first, above) = value.split_at_mut(middle.len());
            span::subtract_from(first, middle);
            // The value was smaller than a part, so nothing is above; and nothing is after this.
            debug_assert_eq!(span::significant(above), 0);
            true
        } else {
            span::subtract(value, middle);
            false
        }
    }

    /// The value at 2, which is at most seven times what a part can hold.
    fn at_two(&self, value: &mut [Limb]) {
        let [low, middle, high] = self.parts;
        copy(value, high);
        span::shift_left(value, 1);
        span::add(value, middle);
        span::shift_left(value, 1);
        span::add(value, low);
    }
}

/// `place = value`, with zeros above it.
fn copy(place: &mut [Limb], value: &[Limb]) {
    let (low, high) = place.split_at_mut(value.len());
    low.copy_from_slice(value);
    high.fill(0);
}

/// How many limbs of scratch this rung takes for itself: see [`Room`].
pub(super) fn scratch(limbs: usize) -> usize {
    8 * (limbs.div_ceil(3) + 1)
}

/// As [`Ladder::multiply`], for factors of one length of at least [`LEAST`] limbs.
pub(super) fn multiply(
    ladder: &Ladder,
    result: &mut [Limb],
    left: &[Limb],
    right: &[Limb],
    scratch: &mut [Limb],
) {
    let length = left.len().div_ceil(3);
    let (lefts, rights) = (Thirds::of(left, length), Thirds::of(right, length));
    let Room { one, other, at_one, at_minus_one, at_two, scratch } = Room::of(scratch, length + 1);

    lefts.at_one(one);
    rights.at_one(other);
    ladder.multiply(at_one, one, other, scratch);
    let negative = lefts.at_minus_one(one) != rights.at_minus_one(other);
    ladder.multiply(at_minus_one, one, other, scratch);
    lefts.at_two(one);
    rights.at_two(other);
    ladder.multiply(at_two, one, other, scratch);
    ladder.multiply(&mut result[..2 * length], lefts.parts[0], rights.parts[0], scratch);
    ladder.multiply(&mut result[4 * length..], lefts.parts[2], rights.parts[2], scratch);

    interpolate(result, at_one, at_minus_one, negative, at_two);
}

/// As [`Ladder::square`], for a root of at least [`LEAST`] limbs.
pub(super) fn square(ladder: &Ladder, result: &mut [Limb], root: &[Limb], scratch: &mut [Limb]) {
    let length = root.len().div_ceil(3);
    let thirds = Thirds::of(root, length);
    let Room { one, at_one, at_minus_one, at_two, scratch, .. } = Room::of(scratch, length + 1);

    thirds.at_one(one);
    ladder.square(at_one, one, scratch);
    thirds.at_minus_one(one);
    ladder.square(at_minus_one, one, scratch);
    thirds.at_two(one);
    ladder.square(at_two, one, scratch);
    ladder.square(&mut result[..2 * length], thirds.parts[0], scratch);
    ladder.square(&mut result[4 * length..], thirds.parts[2], scratch);

    interpolate(result, at_one, at_minus_one, false, at_two);
}

/// Room for two values of the factors and three of the product, and what is left for the products.
struct Room<'a> {
    one: &'a mut [Limb],
    other: &'a mut [Limb],
    at_one: &'a mut [Limb],
    at_minus_one: &'a mut [Limb],
    at_two: &'a mut [Limb],
    scratch: &'a mut [Limb],
}

impl<'a> Room<'a> {
    fn of(scratch: &'a mut [Limb], value: usize) -> Self {
        let (one, scratch) = scratch.split_at_mut(value);
        let (other, scratch) = scratch.split_at_mut(value);
        let (at_one, scratch) = scratch.split_at_mut(2 * value);
        let (at_minus_one, scratch) = scratch.split_at_mut(2 * value);
        let (at_two, scratch) = scratch.split_at_mut(2 * value);
        Self { one, other, at_one, at_minus_one, at_two, scratch }
    }
}

/// Makes the product from its values. `result` holds the coefficient of degree 0 at its low end and that of
/// degree 4 at its high end; what lies between them has no meaning yet. The value at -1 is `negative` or
/// not; the other two never are, nor is anything that is computed below, which the coefficients c0 to c4
/// beside each line show.
fn interpolate(
    result: &mut [Limb],
    at_one: &mut [Limb],
    at_minus_one: &mut [Limb],
    negative: bool,
    at_two: &mut [Limb],
) {
    let length = at_one.len() / 2 - 1;
    let (low, rest) = result.split_at_mut(2 * length);
    let (between, high) = rest.split_at_mut(2 * length);
    between.fill(0);
    // at_two - at_minus_one = 3 c1 + 3 c2 + 9 c3 + 15 c4
    // at_one - at_minus_one = 2 c1 + 2 c3
    if negative {
        span::add(at_two, at_minus_one);
        span::add(at_minus_one, at_one);
    } else {
        span::subtract(at_two, at_minus_one);
        span::subtract_from(at_minus_one, at_one);
    }
    divide_by_three(at_two); // c1 + c2 + 3 c3 + 5 c4
    span::shift_right(at_minus_one, 1); // c1 + c3
    span::subtract(at_one, low); // c1 + c2 + c3 + c4
    span::subtract(at_two, at_one); // 2 c3 + 4 c4
    span::shift_right(at_two, 1); // c3 + 2 c4
    span::subtract(at_one, at_minus_one); // c2 + c4
    span::subtract(at_one, high); // c2
    span::subtract(at_two, high);
    span::subtract(at_two, high); // c3
    span::subtract(at_minus_one, at_two); // c1
    // The highest limbs of a coefficient may be zeros that would stand outside the result.
    span::add(&mut result[length..], span::trimmed(at_minus_one));
    span::add(&mut result[2 * length..], span::trimmed(at_one));
    span::add(&mut result[3 * length..], span::trimmed(at_two));
}

/// Divides a multiple of 3 by 3, from the low end: each limb of the quotient is the limb that is left
/// times 1/3 modulo 2^64, and what three of it carry is owed by the next limb.
fn divide_by_three(multiple: &mut [Limb]) {
    let owed = span::carried(multiple, 0, |limb, owed| {
        let (rest, borrow) = limb.overflowing_sub(owed);
        let quotient = rest.wrapping_mul(THIRD);
        *limb = quotient;
        // The high limb of 3 * quotient: 0, 1 or 2.
        let carried = Limb::from(quotient > Limb::MAX / 3) + Limb::from(quotient > Limb::MAX / 3 * 2);
        carried + Limb::from(borrow)
    });
    debug_assert_eq!(owed, 0, "the number was not a multiple of 3");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The quotients where three times a limb begins to carry more, and their neighbours. Random numbers do
    /// not meet these.
    #[test]
    fn three_times_any_number_is_divided_by_three() {
        let third = Limb::MAX / 3;
        let edges = [0, 1, third - 1, third, third + 1, 2 * third - 1, 2 * third, 2 * third + 1, Limb::MAX];
        for low in edges {
            for middle in edges {
                for high in edges {
                    let wanted = [low, middle, high, 0];
                    let mut number = wanted;
                    span::scale(&mut number, 3, 0);
                    divide_by_three(&mut number);
                    assert_eq!(number, wanted);
                }
            }
        }
    }
}
