//! The published fast doubling in 64 bits, which holds F(n) up to n = 93: with a branch, and with masks in
//! its place.

use std::hint::black_box;

use super::decimal::Start;

/// The largest place whose number fits into 64 bits.
pub const LARGEST: u32 = 93;

/// F(n) by a branch on each bit of `n`.
///
/// Where the bit is set something happens that a compiler may not do elsewhere ([`black_box`] of nothing,
/// which costs no instruction): so it cannot choose between two values without a branch.
#[must_use]
#[inline(never)]
pub fn with_a_branch(n: u32, start: Start) -> u64 {
    let (mut a, mut b) = (0_u64, 1_u64);
    let mut mask = start.mask(n);
    while mask > 0 {
        let (c, d) = doubled(a, b);
        if mask & u64::from(n) != 0 {
            black_box(());
            (a, b) = (d, c.wrapping_add(d));
        } else {
            (a, b) = (c, d);
        }
        mask >>= 1;
    }
    a
}

/// F(n) by masks that each bit of `n` is spread to.
///
/// The bit passes through [`black_box`], or a compiler could see that the masks choose, and branch. It is
/// known long before the products are that wait for it.
#[must_use]
#[inline(never)]
pub fn without_a_branch(n: u32, start: Start) -> u64 {
    let (mut a, mut b) = (0_u64, 1_u64);
    let mut mask = start.mask(n);
    while mask > 0 {
        let (c, d) = doubled(a, b);
        let set = black_box(u64::from(mask & u64::from(n) != 0)).wrapping_neg();
        (a, b) = (c ^ ((c ^ d) & set), d.wrapping_add(c & set));
        mask >>= 1;
    }
    a
}

/// F(2k) and F(2k+1) of F(k) and F(k+1), in 64 bits.
fn doubled(a: u64, b: u64) -> (u64, u64) {
    let c = a.wrapping_mul(b.wrapping_mul(2).wrapping_sub(a));
    (c, a.wrapping_mul(a).wrapping_add(b.wrapping_mul(b)))
}
