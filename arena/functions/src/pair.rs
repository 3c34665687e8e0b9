// A pair of equals in the shape of those that are written for a program: what is included where nobody names
// another file.

/// Of one call.
pub const OPERATIONS: u64 = 16;

/// So many multiplications, each waiting for the one before it.
#[inline(never)]
pub fn left(n: u64) -> u64 {
    (0..std::hint::black_box(n)).fold(1, |product: u64, _| std::hint::black_box(product).wrapping_mul(3))
}

/// The same.
#[inline(never)]
pub fn right(n: u64) -> u64 {
    (0..std::hint::black_box(n)).fold(1, |product: u64, _| std::hint::black_box(product).wrapping_mul(3))
}
