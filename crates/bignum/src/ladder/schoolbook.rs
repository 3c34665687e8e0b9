//! The lowest rung: every limb by every limb, four rows at a time.
//!
//! The written method takes a limb of one factor, multiplies the other by it, and adds that row to the
//! result. Four rows at once load and store a limb of the result once for four products, and their four
//! chains of carries do not wait for each other. Sums by columns were tried too: without assembler, what
//! the compiler makes of a carry into a third limb takes half as many instructions again.

use crate::span::Limb;

/// How many rows are added at once.
const ROWS: usize = 4;

/// Adds `long * digits` to the lowest limbs of `place`, which is as long as both together. What its
/// highest limbs held is lost: they must be zeros.
#[inline(always)]
fn add_rows<const N: usize>(place: &mut [Limb], long: &[Limb], digits: &[Limb; N]) {
    let (low, high) = place.split_at_mut(long.len());
    let mut carries = [0; N];
    for (limb, &factor) in low.iter_mut().zip(long) {
        // Each row takes the high limb of the row before it and what it carried itself, which always fits:
        // (B - 1)^2 + 2 (B - 1) = B^2 - 1.
        let (sum, mut above) = factor.carrying_mul_add(digits[0], *limb, carries[0]);
        *limb = sum;
        for row in 1..N {
            (carries[row - 1], above) = factor.carrying_mul_add(digits[row], carries[row], above);
        }
        carries[N - 1] = above;
    }
    high.copy_from_slice(&carries);
}

/// `result = long * short`, where `result` is as long as both together. Neither factor is empty; it is
/// faster where `short` is not the longer one.
pub(super) fn multiply(result: &mut [Limb], long: &[Limb], short: &[Limb]) {
    result.fill(0);
    let (blocks, rest) = short.as_chunks::<ROWS>();
    for (block, place) in blocks.iter().zip((0..).step_by(ROWS)) {
        add_rows(&mut result[place..place + long.len() + ROWS], long, block);
    }
    let place = &mut result[ROWS * blocks.len()..];
    match *rest {
        [one] => add_rows(place, long, &[one]),
        [one, two] => add_rows(place, long, &[one, two]),
        [one, two, three] => add_rows(place, long, &[one, two, three]),
        _ => {}
    }
}

/// `result = root * root`, where `result` is twice as long. The root is not empty.
///
/// The root is cut into blocks of [`ROWS`] limbs. Products of two blocks are added once and then doubled in
/// one pass, which also adds the squares of the blocks: those do not overlap each other.
pub(super) fn square(result: &mut [Limb], root: &[Limb]) {
    result.fill(0);
    let (blocks, rest) = root.as_chunks::<ROWS>();
    for (block, place) in blocks.iter().zip((0..).step_by(ROWS)) {
        let above = place + ROWS;
        add_rows(&mut result[place + above..above + root.len()], &root[above..], block);
    }
    let mut double = Double::default();
    let mut places = result.chunks_mut(2 * ROWS);
    for (block, place) in blocks.iter().zip(&mut places) {
        double.with(place, &square_block(block));
    }
    if let Some(place) = places.next() {
        let mut block = [0; ROWS];
        block[..rest.len()].copy_from_slice(rest);
        double.with(place, &square_block(&block));
    }
}

/// What doubling and adding carry from limb to limb.
#[derive(Default)]
struct Double {
    shifted: Limb,
    carry: bool,
}

impl Double {
    /// `place = 2 * place + square`; limbs of the square above the place are zeros.
    #[inline(always)]
    fn with(&mut self, place: &mut [Limb], square: &[Limb]) {
        for (limb, &square) in place.iter_mut().zip(square) {
            let twice = *limb << 1 | self.shifted;
            self.shifted = *limb >> (Limb::BITS - 1);
            (*limb, self.carry) = twice.carrying_add(square, self.carry);
        }
    }
}

/// The square of one block: the products of two different limbs, doubled, and the squares of each.
#[inline(always)]
fn square_block(block: &[Limb; ROWS]) -> [Limb; 2 * ROWS] {
    let mut square = [0; 2 * ROWS];
    for low in 0..ROWS - 1 {
        let mut carry = 0;
        for high in low + 1..ROWS {
            let place = &mut square[low + high];
            (*place, carry) = block[low].carrying_mul_add(block[high], *place, carry);
        }
        square[low + ROWS] = carry;
    }
    let mut diagonal = [0; 2 * ROWS];
    for (pair, &limb) in diagonal.as_chunks_mut::<2>().0.iter_mut().zip(block) {
        *pair = limb.carrying_mul(limb, 0).into();
    }
    Double::default().with(&mut square, &diagonal);
    square
}
