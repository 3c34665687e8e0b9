//! One byte a line, over part of some memory and round again: what `crate::lines` runs.

#[cfg_attr(target_arch = "aarch64", path = "lines/aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "lines/riscv64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "lines/x86_64.rs")]
mod architecture;

pub(super) use architecture::{tenbin_kernel_load_lines, tenbin_kernel_store_lines};

/// The instructions that touch a line, as `llvm-objdump` prints them.
pub(super) const STORE: &[&str] = architecture::STORE;
pub(super) const LOAD: &[&str] = architecture::LOAD;

/// Where a walk over lines leads; addresses and bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    /// The byte to touch first.
    pub(crate) position: usize,
    /// From one byte to the next.
    pub(crate) spacing: usize,
    /// Where it goes on once it would reach `end`.
    pub(crate) start: usize,
    /// The first address that is not touched any more.
    pub(crate) end: usize,
}

/// Stores `value` to `n` bytes of the round, in order, and returns the address of the byte after them.
///
/// # Safety
///
/// `round.start` and `round.position` are below `round.end`; what lies from the lower of the two to the end
/// is memory that may be written, and every other access to it meanwhile is atomic and of single bytes.
/// `round.end` plus the spacing is still an address.
pub(crate) unsafe fn store_lines(round: Round, n: u64, value: u8) -> usize {
    let Round { position, spacing, start, end } = round;
    if n == 0 {
        return position;
    }
    // SAFETY: the kernel stores single bytes, from `position` or from `start` on and below `end`, which the
    // caller vouches for; a store of a byte is atomic on every architecture. It ends because `n` is not 0.
    unsafe { tenbin_kernel_store_lines(n, position, spacing, start, end, u64::from(value)) as usize }
}

/// Loads `n` bytes of the round, in order, and returns the address of the byte after them.
///
/// No load waits for the one before it: only the address counts on, as it does for the stores.
///
/// # Safety
///
/// As for [`store_lines`], for memory that may be read.
pub(crate) unsafe fn load_lines(round: Round, n: u64) -> usize {
    let Round { position, spacing, start, end } = round;
    if n == 0 {
        return position;
    }
    // SAFETY: as for `store_lines`, with loads.
    unsafe { tenbin_kernel_load_lines(n, position, spacing, start, end) as usize }
}
