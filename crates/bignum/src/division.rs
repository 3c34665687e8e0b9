//! Division with remainder: by the method of the hand, and in halves where both numbers are large.
//!
//! Each limb of a quotient is estimated from the highest three limbs of what is left and two of the
//! divisor, by a reciprocal that is computed once: N. Möller and T. Granlund, "Improved division by
//! invariant integers", IEEE Transactions on Computers 60(2), 2011. Such an estimate is too large by at
//! most one. The rest is algorithm D of D. E. Knuth, The Art of Computer Programming, volume 2, section
//! 4.3.1.
//!
//! In halves, the quotient is estimated half by half from the divisor's upper half, and corrected by a
//! product with its lower half, which the ladder makes: C. Burnikel and J. Ziegler, "Fast recursive
//! division", MPI-I-98-1-022, 1998.

use crate::ladder::Ladder;
use crate::natural::Natural;
use crate::span::{self, Limb, split};

/// A limb with its highest bit set, and what is needed to divide by it without a division.
#[derive(Clone, Copy)]
pub(crate) struct Divisor {
    limb: Limb,
    /// (2^128 - 1) / limb - 2^64, rounded down.
    reciprocal: Limb,
}

impl Divisor {
    pub(crate) fn new(limb: Limb) -> Self {
        debug_assert!(limb.leading_zeros() == 0, "the highest bit of a divisor is set");
        let (reciprocal, _) = split(u128::MAX / u128::from(limb));
        Self { limb, reciprocal }
    }

    /// Quotient and remainder of two limbs, where the high one is less than the divisor: algorithm 4 of
    /// the article.
    fn divide(self, high: Limb, low: Limb) -> (Limb, Limb) {
        let estimate = u128::from(self.reciprocal) * u128::from(high) + join(high, low);
        let (fraction, quotient) = split(estimate);
        let mut quotient = quotient.wrapping_add(1);
        let mut rest = low.wrapping_sub(quotient.wrapping_mul(self.limb));
        if rest > fraction {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(self.limb);
        }
        if rest >= self.limb {
            quotient = quotient.wrapping_add(1);
            rest -= self.limb;
        }
        (quotient, rest)
    }
}

/// Two limbs of which the higher one has its highest bit set.
#[derive(Clone, Copy)]
struct TwoLimbs {
    limbs: u128,
    /// (2^192 - 1) / limbs - 2^64, rounded down.
    reciprocal: Limb,
}

impl TwoLimbs {
    /// Algorithm 6 of the article: from the reciprocal of the higher limb.
    fn new(high: Limb, low: Limb) -> Self {
        let mut reciprocal = Divisor::new(high).reciprocal;
        let mut rest = high.wrapping_mul(reciprocal).wrapping_add(low);
        if rest < low {
            reciprocal = reciprocal.wrapping_sub(1);
            if rest >= high {
                reciprocal = reciprocal.wrapping_sub(1);
                rest = rest.wrapping_sub(high);
            }
            rest = rest.wrapping_sub(high);
        }
        let (product_low, product_high) = split(u128::from(reciprocal) * u128::from(low));
        let (rest, carry) = rest.overflowing_add(product_high);
        let limbs = join(high, low);
        if carry {
            reciprocal = reciprocal.wrapping_sub(1);
            if join(rest, product_low) >= limbs {
                reciprocal = reciprocal.wrapping_sub(1);
            }
        }
        Self { limbs, reciprocal }
    }

    /// The quotient of three limbs, of which the higher two are less than the divisor: algorithm 5 of the
    /// article, without the remainder.
    fn quotient(self, high: u128, low: Limb) -> Limb {
        let (middle, highest) = split(high);
        let estimate = u128::from(self.reciprocal) * u128::from(highest) + high;
        let (fraction, quotient) = split(estimate);
        let (divisor_low, divisor_high) = split(self.limbs);
        let first = middle.wrapping_sub(quotient.wrapping_mul(divisor_high));
        let product = u128::from(quotient) * u128::from(divisor_low);
        let mut rest = join(first, low).wrapping_sub(product).wrapping_sub(self.limbs);
        let mut quotient = quotient.wrapping_add(1);
        if split(rest).1 >= fraction {
            quotient = quotient.wrapping_sub(1);
            rest = rest.wrapping_add(self.limbs);
        }
        if rest >= self.limbs {
            quotient = quotient.wrapping_add(1);
        }
        quotient
    }
}

/// Two limbs as one number.
fn join(high: Limb, low: Limb) -> u128 {
    u128::from(high) << Limb::BITS | u128::from(low)
}

/// From how many limbs of divisor and quotient on halves pay: fewer instructions on x86-64.
const HALVES_FROM: usize = 60;

impl Natural {
    /// Quotient and remainder of `self` by `divisor`, or `None` where the divisor is 0.
    #[must_use]
    pub fn checked_div_rem(&self, divisor: &Self) -> Option<(Self, Self)> {
        divide_from(self, divisor, HALVES_FROM)
    }
}

/// As [`Natural::checked_div_rem`], in halves from a number of limbs that is at least 2. The answer does not
/// depend on it.
pub(crate) fn divide_from(
    dividend: &Natural,
    divisor: &Natural,
    halves_from: usize,
) -> Option<(Natural, Natural)> {
    let &highest = divisor.limbs().last()?;
    if dividend < divisor {
        return Some((Natural::ZERO, dividend.clone()));
    }
    // Both are shifted until the divisor's highest bit is set, which leaves the quotient as it is.
    let shift = highest.leading_zeros();
    let mut rest = dividend.limbs().to_vec();
    let carry = span::shift_left(&mut rest, shift);
    rest.push(carry);
    let mut divisor = divisor.limbs().to_vec();
    span::shift_left(&mut divisor, shift);
    let quotient = match divisor[..] {
        [limb] => {
            // Its remainder is the lowest limb of the rest.
            let mut quotient = rest.clone();
            rest[0] = divide_in_place(&mut quotient, Divisor::new(limb));
            quotient
        }
        _ => divide_by_many(&mut rest, &divisor, halves_from),
    };
    rest.truncate(divisor.len());
    span::shift_right(&mut rest, shift);
    Some((Natural::from_limbs(quotient), Natural::from_limbs(rest)))
}

/// Leaves the remainder in the lowest limbs of `rest`, whose highest limb is less than the divisor's; the
/// quotient. The divisor has two limbs or more, and its highest bit is set.
fn divide_by_many(rest: &mut [Limb], divisor: &[Limb], halves_from: usize) -> Vec<Limb> {
    let length = divisor.len();
    let mut quotient = vec![0; rest.len() - length];
    let by_hand = quotient.len().min(length) < halves_from;
    let room = if by_hand { 0 } else { length + Ladder::MEASURED.scratch(length / 2) };
    let mut halves = Halves { from: halves_from, room: vec![0; room] };
    // From the high end, in pieces that are not longer than the divisor.
    let mut end = quotient.len();
    while end > 0 {
        let start = (end - 1) / length * length;
        halves.divide(&mut quotient[start..end], &mut rest[start..end + length], divisor);
        end = start;
    }
    quotient
}

/// Division in halves down to a size, and room for the products.
///
/// What all methods have in common: the quotient's length is at most the divisor's; `rest` is as long as both
/// together; its highest limbs, as many as the divisor has, are less than the divisor, whose highest bit is
/// set. The remainder is left in the lowest limbs of `rest`, and the others become 0.
struct Halves {
    from: usize,
    room: Vec<Limb>,
}

impl Halves {
    fn divide(&mut self, quotient: &mut [Limb], rest: &mut [Limb], divisor: &[Limb]) {
        let length = quotient.len();
        if length < self.from {
            by_hand(quotient, rest, divisor);
        } else if length < divisor.len() {
            self.by_upper_part(quotient, rest, divisor);
        } else {
            let (low, high) = quotient.split_at_mut(length / 2);
            self.divide(high, &mut rest[length / 2..], divisor);
            self.divide(low, &mut rest[..length + length / 2], divisor);
        }
    }

    /// For a quotient that is shorter than the divisor: divides by as many of the divisor's highest limbs,
    /// and corrects what the others make of it.
    fn by_upper_part(&mut self, quotient: &mut [Limb], rest: &mut [Limb], divisor: &[Limb]) {
        let lower = divisor.len() - quotient.len();
        let (divisor_low, divisor_high) = divisor.split_at(lower);
        if span::compare(&rest[divisor.len()..], divisor_high).is_lt() {
            self.divide(quotient, &mut rest[lower..], divisor_high);
        } else {
            // They are equal, and the largest quotient B - 1 is right or too large: what is left of the
            // upper part is itself less B times the divisor's, plus the divisor's.
            quotient.fill(Limb::MAX);
            rest[divisor.len()..].fill(0);
            span::add(&mut rest[lower..], divisor_high);
        }
        let (product, scratch) = self.room.split_at_mut(divisor.len());
        Ladder::MEASURED.multiply(product, quotient, divisor_low, scratch);
        let mut negative = span::subtract(rest, product);
        // At most twice, because the divisor's highest bit is set.
        while negative {
            span::borrow_from(quotient, true);
            negative = !span::add(rest, divisor);
        }
    }
}

/// The method of the hand, limb by limb: see [`Halves`] for what holds before and after. The divisor has two
/// limbs or more.
fn by_hand(quotient: &mut [Limb], rest: &mut [Limb], divisor: &[Limb]) {
    let length = divisor.len();
    let pair = TwoLimbs::new(divisor[length - 1], divisor[length - 2]);
    for (place, limb) in quotient.iter_mut().enumerate().rev() {
        let part = &mut rest[place..=place + length];
        let high = join(part[length], part[length - 1]);
        // Where the highest limbs are alike, the estimate would not fit; all of a limb is right, or too
        // large by one.
        let mut digit = if high >= pair.limbs { Limb::MAX } else { pair.quotient(high, part[length - 2]) };
        let (low, highest) = part.split_at_mut(length);
        let owed = span::subtract_scaled(low, divisor, digit);
        let (left, borrow) = highest[0].overflowing_sub(owed);
        highest[0] = left;
        if borrow {
            digit -= 1;
            span::add(part, divisor);
        }
        *limb = digit;
    }
}

/// Leaves the quotient in `number`; the remainder.
pub(crate) fn divide_in_place(number: &mut [Limb], divisor: Divisor) -> Limb {
    let mut left = 0;
    for limb in number.iter_mut().rev() {
        (*limb, left) = divisor.divide(left, *limb);
    }
    left
}
