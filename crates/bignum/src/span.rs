//! What is done to spans of limbs in place, in one pass each: sums, differences, shifts, comparisons.
//!
//! A span is a slice of limbs, least first, and may have leading zeros. Nothing here allocates.

use std::cmp::Ordering;

/// One digit of a number in base 2^64.
pub(crate) type Limb = u64;

/// Limbs that are computed without a jump between them. Where a program is optimised for its size as a
/// whole, the compiler unrolls no loop but those of a length that it knows and that are as short as this.
const UNROLLED: usize = 4;

/// Hands every limb, from the low end, to `step`, with what the one before it carried; what the last one
/// carried.
pub(crate) fn carried<C>(span: &mut [Limb], mut carry: C, step: impl Fn(&mut Limb, C) -> C) -> C {
    let (groups, rest) = span.as_chunks_mut::<UNROLLED>();
    for group in groups {
        for limb in group {
            carry = step(limb, carry);
        }
    }
    for limb in rest {
        carry = step(limb, carry);
    }
    carry
}

/// The same with the limb of `other` beside each; both are of one length.
fn carried_with<C>(
    span: &mut [Limb],
    other: &[Limb],
    mut carry: C,
    step: impl Fn(&mut Limb, Limb, C) -> C,
) -> C {
    let (groups, rest) = span.as_chunks_mut::<UNROLLED>();
    let (others, other_rest) = other.as_chunks::<UNROLLED>();
    for (group, others) in groups.iter_mut().zip(others) {
        for (limb, &other) in group.iter_mut().zip(others) {
            carry = step(limb, other, carry);
        }
    }
    for (limb, &other) in rest.iter_mut().zip(other_rest) {
        carry = step(limb, other, carry);
    }
    carry
}

/// The limb and what is carried out of it.
pub(crate) fn split(double: u128) -> (Limb, Limb) {
    (double as Limb, (double >> Limb::BITS) as Limb)
}

/// The same number without leading zeros.
pub(crate) fn trimmed(span: &[Limb]) -> &[Limb] {
    &span[..significant(span)]
}

/// How many limbs are left when the leading zeros are gone.
pub(crate) fn significant(span: &[Limb]) -> usize {
    span.iter().rposition(|&limb| limb != 0).map_or(0, |last| last + 1)
}

/// Which number is larger; leading zeros do not count.
pub(crate) fn compare(left: &[Limb], right: &[Limb]) -> Ordering {
    let (left, right) = (trimmed(left), trimmed(right));
    left.len().cmp(&right.len()).then_with(|| left.iter().rev().cmp(right.iter().rev()))
}

/// `span += carry`; what is carried out.
pub(crate) fn carry_into(span: &mut [Limb], mut carry: bool) -> bool {
    for limb in span {
        if !carry {
            return false;
        }
        (*limb, carry) = limb.overflowing_add(1);
    }
    carry
}

/// `span -= borrow`; what is borrowed from above.
pub(crate) fn borrow_from(span: &mut [Limb], mut borrow: bool) -> bool {
    for limb in span {
        if !borrow {
            return false;
        }
        (*limb, borrow) = limb.overflowing_sub(1);
    }
    borrow
}

/// `span += other`, which is not longer; what is carried out.
pub(crate) fn add(span: &mut [Limb], other: &[Limb]) -> bool {
    let (low, high) = span.split_at_mut(other.len());
    let carry = carried_with(low, other, false, |limb, other, carry| {
        let (sum, carry) = limb.carrying_add(other, carry);
        *limb = sum;
        carry
    });
    carry_into(high, carry)
}

/// `span -= other`, which is not longer; what is borrowed from above.
pub(crate) fn subtract(span: &mut [Limb], other: &[Limb]) -> bool {
    let (low, high) = span.split_at_mut(other.len());
    let borrow = carried_with(low, other, false, |limb, other, borrow| {
        let (rest, borrow) = limb.borrowing_sub(other, borrow);
        *limb = rest;
        borrow
    });
    borrow_from(high, borrow)
}

/// `span = other - span`, both of one length; what is borrowed from above.
pub(crate) fn subtract_from(span: &mut [Limb], other: &[Limb]) -> bool {
    carried_with(span, other, false, |limb, other, borrow| {
        let (rest, borrow) = other.borrowing_sub(*limb, borrow);
        *limb = rest;
        borrow
    })
}

/// `span = |left - right|`, all as long as `left`, and whether `left` was the smaller one. `right` may be
/// shorter.
pub(crate) fn distance(span: &mut [Limb], left: &[Limb], right: &[Limb]) -> bool {
    if compare(left, right) == Ordering::Less {
        // `right` is the larger one, so the limbs of `left` above it are zeros.
        let (low, high) = span.split_at_mut(right.len());
        low.copy_from_slice(right);
        high.fill(0);
        subtract(low, &left[..right.len()]);
        true
    } else {
        span.copy_from_slice(left);
        subtract(span, right);
        false
    }
}

/// `span *= 2^count`, for less than the bits of a limb; what is carried out.
pub(crate) fn shift_left(span: &mut [Limb], count: u32) -> Limb {
    if count == 0 {
        return 0;
    }
    carried(span, 0, |limb, carry| {
        let out = *limb >> (Limb::BITS - count);
        *limb = (*limb << count) | carry;
        out
    })
}

/// `span /= 2^count`, for less than the bits of a limb; the remainder is lost.
pub(crate) fn shift_right(span: &mut [Limb], count: u32) {
    if count == 0 {
        return;
    }
    let mut carry = 0;
    for limb in span.iter_mut().rev() {
        let out = *limb << (Limb::BITS - count);
        *limb = (*limb >> count) | carry;
        carry = out;
    }
}

/// `span = span * factor + carry`; what is carried out.
pub(crate) fn scale(span: &mut [Limb], factor: Limb, carry: Limb) -> Limb {
    carried(span, carry, |limb, carry| {
        let (low, high) = limb.carrying_mul(factor, carry);
        *limb = low;
        high
    })
}

/// `span -= other * factor`, both of one length; what is borrowed from above.
pub(crate) fn subtract_scaled(span: &mut [Limb], other: &[Limb], factor: Limb) -> Limb {
    carried_with(span, other, 0, |limb, other, owed| {
        let (low, high) = other.carrying_mul(factor, owed);
        let (rest, borrow) = limb.overflowing_sub(low);
        *limb = rest;
        // `high` is at most 2^64 - 2 where `low` is not 0, and only then can there be a borrow.
        high + Limb::from(borrow)
    })
}
