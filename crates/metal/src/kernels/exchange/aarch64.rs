//! The exchanges of arm64. The count comes in `x0`.
//!
//! The compare-and-swap is made of LDAXR and STLXR, which every core has. A try that finds another value
//! stores nothing and asks for the line to read it only. The flags are STLR and LDAR, the base set's release
//! and acquire (Arm Architecture Reference Manual for A-profile, "Load-Acquire, Store-Release"): a LDAR waits
//! for the STLR before it, as C's `atomic_load_explicit` does on cores without LDAPR.

counted_loop! {
    /// Then the line, the turns of a wait, the first value that is expected, and the change.
    tenbin_kernel_swaps(_line: *mut u64, _turns: u64, _first: u64, _change: u64):
    "mov x5, x0", // x5: rounds left
    "2:",
    "add x6, x3, x4",
    "mov x7, x2",
    "3:",
    "ldaxr x8, [x1]",
    "cmp x8, x3",
    "b.ne 4f",
    "stlxr w9, x6, [x1]",
    "cbz w9, 5f",
    "4:",
    "subs x7, x7, #1",
    "b.ne 3b",
    "b 6f",
    "5:",
    "add x3, x3, #2",
    "subs x5, x5, #1",
    "b.ne 2b",
    "6:",
    "sub x0, x0, x5",
    "ret",
}

/// A side of the exchange by flags, which stores its own line before its wait or after it. Behind the count
/// come the own line, the partner's, the turns of a wait, and the first value.
macro_rules! flags {
    ($symbol:ident before { $($before:literal)* } after { $($after:literal)* }) => {
        counted_loop! {
            $symbol(_own: *mut u64, _other: *mut u64, _turns: u64, _first: u64):
            "mov x5, x0", // x5: rounds left
            "2:",
            $($before,)*
            "mov x7, x3",
            "3:",
            "ldar x8, [x2]",
            "cmp x8, x4",
            "b.eq 4f",
            "subs x7, x7, #1",
            "b.ne 3b",
            "b 5f",
            "4:",
            $($after,)*
            "add x4, x4, #1",
            "subs x5, x5, #1",
            "b.ne 2b",
            "5:",
            "sub x0, x0, x5",
            "ret",
        }
    };
}

flags! { tenbin_kernel_flags_lead before { "stlr x4, [x1]" } after {} }
flags! { tenbin_kernel_flags_follow before {} after { "stlr x4, [x1]" } }

pub(super) const SWAPS_NAME: &str = "ldaxr/stlxr on one line";
pub(super) const FLAGS_NAME: &str = "stlr and ldar on two lines";
pub(super) const SWAPS: &[&str] = &["ldaxr", "stlxr"];
pub(super) const FLAGS: &[&str] = &["stlr", "ldar"];
