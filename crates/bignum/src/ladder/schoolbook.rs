//! The lowest rung: every limb by every limb, column by column.
//!
//! A column sums all products that meet in one limb of the result, in three limbs, and is written once;
//! by rows, the result would be read and written again for every limb of the shorter factor. The same
//! order is called product scanning, or Comba's method (P. G. Comba, "Exponentiation cryptosystems on the
//! IBM PC", IBM Systems Journal 29(4), 1990).

use crate::span::{Limb, split};

/// How many products a turn of the inner loop adds.
const TURN: usize = 4;

/// The sum of one column, and what it carries into the next ones.
#[derive(Clone, Copy, Default)]
struct Column {
    low: u128,
    /// Counts carries out of `low`, of which there are fewer than limbs in a factor.
    high: Limb,
}

impl Column {
    #[inline(always)]
    fn add(&mut self, left: Limb, right: Limb) {
        let (low, carry) = self.low.overflowing_add(u128::from(left) * u128::from(right));
        self.low = low;
        self.high += Limb::from(carry);
    }

    /// Adds each limb of `up` times the one of `down` that stands as far from the other end.
    #[inline(always)]
    fn add_opposite(&mut self, up: &[Limb], down: &[Limb]) {
        let (turns, rest) = up.as_chunks::<TURN>();
        let (opposite_rest, opposite) = down.as_rchunks::<TURN>();
        for (up, down) in turns.iter().zip(opposite.iter().rev()) {
            for place in 0..TURN {
                self.add(up[place], down[TURN - 1 - place]);
            }
        }
        for (&up, &down) in rest.iter().zip(opposite_rest.iter().rev()) {
            self.add(up, down);
        }
    }

    /// Takes the lowest limb away, and makes the column that follows.
    #[inline(always)]
    fn shift(&mut self) -> Limb {
        let (out, middle) = split(self.low);
        self.low = u128::from(self.high) << Limb::BITS | u128::from(middle);
        self.high = 0;
        out
    }
}

/// `result = long * short`, where `result` is as long as both together. Neither factor is empty, and
/// `short` is not the longer one.
pub(super) fn multiply(result: &mut [Limb], long: &[Limb], short: &[Limb]) {
    let mut column = Column::default();
    for (place, limb) in result.iter_mut().enumerate() {
        // Limbs `first..end` of the long factor meet limbs of the short one in this column.
        let first = (place + 1).saturating_sub(short.len());
        let end = (place + 1).min(long.len());
        if first < end {
            column.add_opposite(&long[first..end], &short[place + 1 - end..=place - first]);
        }
        *limb = column.shift();
    }
}

/// `result = root * root`, where `result` is twice as long. The root is not empty.
///
/// A column has every product of two different limbs twice, so each is added once and the sum doubled.
pub(super) fn square(result: &mut [Limb], root: &[Limb]) {
    let mut carried = Column::default();
    for (place, limb) in result.iter_mut().enumerate() {
        let first = (place + 1).saturating_sub(root.len());
        // Limbs below `half` meet limbs above it.
        let half = place.div_ceil(2).min(root.len());
        let mut column = Column::default();
        if first < half {
            column.add_opposite(&root[first..half], &root[place + 1 - half..=place - first]);
        }
        // A column has fewer than 2^63 products, so the doubled sum still fits.
        column.high = column.high << 1 | (column.low >> 127) as Limb;
        column.low <<= 1;
        if place % 2 == 0 && place / 2 < root.len() {
            column.add(root[place / 2], root[place / 2]);
        }
        let (low, carry) = column.low.overflowing_add(carried.low);
        carried = Column { low, high: column.high + carried.high + Limb::from(carry) };
        *limb = carried.shift();
    }
}
