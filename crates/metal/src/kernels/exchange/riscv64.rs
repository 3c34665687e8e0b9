//! The exchanges of RISC-V. The count comes in `a0`.
//!
//! The compare-and-swap is made of LR and SC, which every core that runs Linux has. Release and acquire of
//! the flags are fences, as the table "Mappings from C/C++ primitives to RISC-V primitives" (A.6) in the
//! memory model's appendix of the unprivileged manual has them. The one that acquires stands behind the load
//! that found the value, not behind every load of the wait.

counted_loop! {
    /// Then the line, the turns of a wait, the first value that is expected, and the change.
    tenbin_kernel_swaps(_line: *mut u64, _turns: u64, _first: u64, _change: u64):
    "mv a5, a0", // a5: rounds left
    "2:",
    "add a6, a3, a4",
    "mv a7, a2",
    "3:",
    "lr.d.aq t0, (a1)",
    "bne t0, a3, 4f",
    "sc.d.rl t1, a6, (a1)",
    "beqz t1, 5f",
    "4:",
    "addi a7, a7, -1",
    "bnez a7, 3b",
    "j 6f",
    "5:",
    "addi a3, a3, 2",
    "addi a5, a5, -1",
    "bnez a5, 2b",
    "6:",
    "sub a0, a0, a5",
    "ret",
}

/// A side of the exchange by flags, which stores its own line before its wait or after it. Behind the count
/// come the own line, the partner's, the turns of a wait, and the first value.
macro_rules! flags {
    ($symbol:ident before { $($before:literal)* } after { $($after:literal)* }) => {
        counted_loop! {
            $symbol(_own: *mut u64, _other: *mut u64, _turns: u64, _first: u64):
            "mv a5, a0", // a5: rounds left
            "2:",
            $($before,)*
            "mv a7, a3",
            "3:",
            "ld t0, 0(a2)",
            "beq t0, a4, 4f",
            "addi a7, a7, -1",
            "bnez a7, 3b",
            "j 5f",
            "4:",
            "fence r, rw",
            $($after,)*
            "addi a4, a4, 1",
            "addi a5, a5, -1",
            "bnez a5, 2b",
            "5:",
            "sub a0, a0, a5",
            "ret",
        }
    };
}

flags! { tenbin_kernel_flags_lead before { "fence rw, w" "sd a4, 0(a1)" } after {} }
flags! { tenbin_kernel_flags_follow before {} after { "fence rw, w" "sd a4, 0(a1)" } }

pub(super) const SWAPS_NAME: &str = "lr/sc on one line";
pub(super) const FLAGS_NAME: &str = "store and load with fences on two lines";
pub(super) const SWAPS: &[&str] = &["lr.d.aq", "sc.d.rl"];
pub(super) const FLAGS: &[&str] = &["fence", "sd", "ld"];
