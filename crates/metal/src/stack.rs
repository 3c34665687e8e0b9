//! Where a stack begins, chosen: an address that nobody thinks of, and that a timing may depend on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::kernels;

/// A stack is lowered by less than this, a page: after that, what aliases in a first-level cache repeats.
pub const SPAN: usize = 4096;

/// How many different places [`place`] returns.
pub const PLACES: usize = SPAN / ALIGNMENT;

/// Stacks are aligned to this on every architecture that Linux has (the ABIs of x86-64, arm64 and RISC-V).
const ALIGNMENT: usize = 16;

/// By how much to lower a stack in the layout of this number: one of [`PLACES`], of which successive numbers
/// take ones that lie far apart (the fractional parts of multiples of the golden ratio; Knuth, TAOCP volume
/// 3, section 6.4).
pub fn place(layout: u32) -> usize {
    const FRACTION_OF_GOLDEN_RATIO: u64 = 0x9e37_79b9_7f4a_7c15;
    let fraction = u64::from(layout).wrapping_mul(FRACTION_OF_GOLDEN_RATIO);
    (fraction >> (u64::BITS - PLACES.ilog2())) as usize * ALIGNMENT
}

/// Does `work` on a stack that begins `bytes` lower than it would, and returns what came of it.
///
/// # Errors
/// What `work` panicked with. The panic is caught where it happened: no unwinder passes the change of stacks.
///
/// # Panics
/// If `bytes` is [`SPAN`] or more.
pub fn lowered<T, F: FnOnce() -> T>(bytes: usize, work: F) -> thread::Result<T> {
    let mut call = Call { work: Some(work), result: None };
    let argument = (&raw mut call).expose_provenance() as u64;
    // SAFETY: `enter` is given the address of `call`, of the type that it was made for, which lives until
    // this returns and which nobody else knows. `enter` catches every panic.
    unsafe { kernels::on_lower_stack(enter::<T, F>, argument, bytes) };
    // It is there: `enter` has returned.
    call.result.unwrap_or_else(|| Err(Box::new("the work was not called")))
}

/// What is to be called on the other stack, and what came of it.
struct Call<T, F> {
    work: Option<F>,
    result: Option<thread::Result<T>>,
}

extern "C" fn enter<T, F: FnOnce() -> T>(argument: u64) -> u64 {
    let call = std::ptr::with_exposed_provenance_mut::<Call<T, F>>(argument as usize);
    // SAFETY: the address of a live `Call` that `lowered` alone knows, and that it does not touch meanwhile.
    let call = unsafe { &mut *call };
    call.result = call.work.take().map(|work| catch_unwind(AssertUnwindSafe(work)));
    0
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// An address on the stack of the caller.
    #[inline(never)]
    fn here() -> usize {
        let local = 0_u8;
        std::hint::black_box(&raw const local).addr()
    }

    #[test]
    fn work_runs_lower_on_the_stack_and_returns_its_result() {
        let level = lowered(0, here).unwrap();
        for bytes in [16, 32, 1008, 4080] {
            assert_eq!(level - lowered(bytes, here).unwrap(), bytes.max(16) - 16);
        }
        let text = String::from("moved in");
        assert_eq!(lowered(64, move || text + " and out").unwrap(), "moved in and out");
    }

    #[test]
    fn a_panic_comes_back_as_one() {
        let caught = lowered(160, || -> u32 { panic!("planted") }).unwrap_err();
        assert_eq!(caught.downcast_ref::<&str>(), Some(&"planted"));
    }

    #[test]
    fn blocks_meet_many_places_and_neighbours_lie_apart() {
        let first: HashSet<usize> = (0..8).map(place).collect();
        assert_eq!(first.len(), 8, "eight blocks meet eight places");
        let many: HashSet<usize> = (0..2_000).map(place).collect();
        assert_eq!(many.len(), PLACES);
        assert!(many.iter().all(|&bytes| bytes < SPAN && bytes % ALIGNMENT == 0));
        for first in [0, 77, u32::MAX - 9] {
            let apart = (0..9).map(|block| place(first.wrapping_add(block)));
            assert_eq!(apart.collect::<HashSet<_>>().len(), 9, "from {first} on");
        }
    }
}
