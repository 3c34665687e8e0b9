//! Products by rungs: each method is one function, and one table says from which size it is used.
//!
//! A rung multiplies, or squares, numbers of one length, and asks the ladder again for the smaller
//! products that it needs. Factors of different lengths are cut into pieces of one length here. All room
//! that the rungs need is given to them, so nothing is allocated below this module's surface.

mod karatsuba;
mod schoolbook;
mod toom3;

use crate::span::{self, Limb};

/// From how many limbs on each rung is used. The last rung that a size reaches is taken.
///
/// Every number here answers exactly, whatever it is: rungs that need a larger size than they are given
/// here begin where they can.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Steps {
    /// Three products of half the length for four. At least 4.
    pub karatsuba: usize,
    /// Five products of a third of the length for nine. At least 9.
    pub toom3: usize,
}

/// Where the rungs begin, for products and for squares, whose halves of the work differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// For two different factors.
    pub multiply: Steps,
    /// For squares.
    pub square: Steps,
}

impl Ladder {
    /// The sizes from which a rung took fewer instructions than the one below it, on x86-64, to the nearest
    /// ten: what the curves do within a few limbs depends on how the length divides.
    pub const MEASURED: Self =
        Self { multiply: Steps { karatsuba: 40, toom3: 150 }, square: Steps { karatsuba: 80, toom3: 200 } };

    /// No rung but the lowest one.
    pub const SCHOOLBOOK: Self = Self::alike(Steps { karatsuba: usize::MAX, toom3: usize::MAX });

    pub(crate) const fn alike(steps: Steps) -> Self {
        Self { multiply: steps, square: steps }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rung {
    Schoolbook,
    Karatsuba,
    Toom3,
}

impl Steps {
    fn rung(self, limbs: usize) -> Rung {
        if limbs >= self.toom3.max(toom3::LEAST) {
            Rung::Toom3
        } else if limbs >= self.karatsuba.max(karatsuba::LEAST) {
            Rung::Karatsuba
        } else {
            Rung::Schoolbook
        }
    }

    /// How many limbs of scratch factors of one length need. It grows with the length, so what the
    /// largest of the smaller products needs is enough for all of them.
    fn scratch(self, limbs: usize) -> usize {
        match self.rung(limbs) {
            Rung::Schoolbook => 0,
            Rung::Karatsuba => karatsuba::scratch(limbs) + self.scratch(limbs.div_ceil(2)),
            Rung::Toom3 => toom3::scratch(limbs) + self.scratch(limbs.div_ceil(3) + 1),
        }
    }
}

impl Ladder {
    /// How many limbs of scratch a product needs whose shorter factor has so many limbs; a square too.
    ///
    /// Pieces of unlike factors keep an overlap each, of lengths as Euclid's algorithm leaves them: less than
    /// three times the first one together.
    pub(crate) fn scratch(&self, limbs: usize) -> usize {
        let overlaps = if self.multiply.rung(limbs) == Rung::Schoolbook { 0 } else { 3 * limbs };
        self.square.scratch(limbs).max(self.multiply.scratch(limbs) + overlaps)
    }

    /// `result = left * right`, where `result` is as long as both together and its old value is lost.
    /// Neither factor is empty.
    pub(crate) fn multiply(&self, result: &mut [Limb], left: &[Limb], right: &[Limb], scratch: &mut [Limb]) {
        let (long, short) = if left.len() < right.len() { (right, left) } else { (left, right) };
        if self.multiply.rung(short.len()) == Rung::Schoolbook {
            return schoolbook::multiply(result, long, short);
        }
        if long.len() == short.len() {
            return self.multiply_alike(result, long, short, scratch);
        }
        // The long factor in pieces of the short one's length. Each product overlaps the one before it by
        // that length.
        let length = short.len();
        let mut pieces = long.chunks(length);
        let Some(first) = pieces.next() else { return };
        self.multiply_alike(&mut result[..2 * length], first, short, scratch);
        let mut done = length;
        let (overlap, scratch) = scratch.split_at_mut(length);
        for piece in pieces {
            overlap.copy_from_slice(&result[done..done + length]);
            let place = &mut result[done..done + length + piece.len()];
            self.multiply(place, short, piece, scratch);
            span::add(place, overlap);
            done += piece.len();
        }
    }

    /// As [`Ladder::multiply`], for factors of one length.
    fn multiply_alike(&self, result: &mut [Limb], left: &[Limb], right: &[Limb], scratch: &mut [Limb]) {
        match self.multiply.rung(left.len()) {
            Rung::Schoolbook => schoolbook::multiply(result, left, right),
            Rung::Karatsuba => karatsuba::multiply(self, result, left, right, scratch),
            Rung::Toom3 => toom3::multiply(self, result, left, right, scratch),
        }
    }

    /// `result = root * root`, where `result` is twice as long and its old value is lost. The root is not
    /// empty.
    pub(crate) fn square(&self, result: &mut [Limb], root: &[Limb], scratch: &mut [Limb]) {
        match self.square.rung(root.len()) {
            Rung::Schoolbook => schoolbook::square(result, root),
            Rung::Karatsuba => karatsuba::square(self, result, root, scratch),
            Rung::Toom3 => toom3::square(self, result, root, scratch),
        }
    }
}
