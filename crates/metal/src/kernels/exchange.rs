//! Two workers that answer each other through memory: what `crate::exchange` runs.
//!
//! Nothing stands in a wait but the try itself and a count. A hint (`pause`, `isb`) is made to give way for
//! some time (about 140 cycles on Intel since Skylake; Intel, "64 and IA-32 Architectures Optimization
//! Reference Manual", on PAUSE), and the answer would lie there unseen for up to as long, which is as much as
//! what is measured. The count ends a wait whose partner is gone, so nothing hangs; it runs beside the try.

use std::sync::atomic::AtomicU64;

#[cfg_attr(target_arch = "aarch64", path = "exchange/aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "exchange/riscv64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "exchange/x86_64.rs")]
mod architecture;

pub(super) use architecture::{tenbin_kernel_flags_follow, tenbin_kernel_flags_lead, tenbin_kernel_swaps};

/// What executes, in words.
pub(crate) const SWAPS_NAME: &str = architecture::SWAPS_NAME;
pub(crate) const FLAGS_NAME: &str = architecture::FLAGS_NAME;

/// The instructions that do it, as `llvm-objdump` prints them.
pub(super) const SWAPS: &[&str] = architecture::SWAPS;
pub(super) const FLAGS: &[&str] = architecture::FLAGS;

/// Changes `line` from `first` to `first + change`, then from `first + 2` to `first + 2 + change`, and so on,
/// by compare-and-swap, each tried until it succeeds but at most `turns` times. Returns how many of `n`
/// succeeded.
pub(crate) fn swaps(line: &AtomicU64, n: u64, turns: u64, first: u64, change: u64) -> u64 {
    if n == 0 || turns == 0 {
        return 0;
    }
    // SAFETY: `line` is borrowed and aligned, and an `AtomicU64` admits atomic access only, which is all that
    // the kernel does; its waits are counted down from `turns` and its rounds from `n`, neither of which is
    // 0.
    unsafe { tenbin_kernel_swaps(n, line.as_ptr(), turns, first, change) }
}

/// Stores `first` to `own` and waits until `other` holds it, then `first + 1`, and so on. A wait has `turns`
/// turns. Returns how many of `n` rounds were answered.
pub(crate) fn flags_lead(own: &AtomicU64, other: &AtomicU64, n: u64, turns: u64, first: u64) -> u64 {
    if n == 0 || turns == 0 {
        return 0;
    }
    // SAFETY: as for `swaps`: both words are borrowed, aligned and atomic, and the kernel stores and loads
    // them whole; what it counts down from is not 0.
    unsafe { tenbin_kernel_flags_lead(n, own.as_ptr(), other.as_ptr(), turns, first) }
}

/// Waits until `other` holds `first` and stores it to `own`, then `first + 1`, and so on. A wait has `turns`
/// turns. Returns how many of `n` rounds it answered.
pub(crate) fn flags_follow(own: &AtomicU64, other: &AtomicU64, n: u64, turns: u64, first: u64) -> u64 {
    if n == 0 || turns == 0 {
        return 0;
    }
    // SAFETY: as for `flags_lead`.
    unsafe { tenbin_kernel_flags_follow(n, own.as_ptr(), other.as_ptr(), turns, first) }
}
