//! The calls of arm64. The count comes in `x0`, and what is returned leaves there.

use crate::kernels::calls::Arguments;

counted_loop! {
    tenbin_kernel_call_inlined:
    "mov x1, x0",
    "mov x0, #0",
    "mov x2, #1",
    "2:",
    "add x0, x0, x2",
    "subs x1, x1, #1",
    "b.ne 2b",
    "ret",
}

counted_loop! {
    /// `x9` counts the turns: the function called is known to leave it alone.
    tenbin_kernel_call_direct:
    "stp x29, x30, [sp, #-16]!",
    "mov x9, x0",
    "mov x0, #0",
    "2:",
    "mov x1, #1",
    "bl 3f",
    "subs x9, x9, #1",
    "b.ne 2b",
    "ldp x29, x30, [sp], #16",
    "ret",
    ".p2align 4",
    "3:",
    "add x0, x0, x1",
    "ret",
}

counted_loop! {
    /// The stub is the entry of a linkage table that the static linker writes (ELF for the Arm 64-bit
    /// Architecture, on the procedure linkage table): the address of the slot goes to `x16`, as lazy binding
    /// wants to find it.
    tenbin_kernel_call_table:
    "stp x29, x30, [sp, #-16]!",
    "mov x9, x0",
    "mov x0, #0",
    "2:",
    "mov x1, #1",
    "bl 3f",
    "subs x9, x9, #1",
    "b.ne 2b",
    "ldp x29, x30, [sp], #16",
    "ret",
    ".p2align 4",
    "3:",
    "adrp x16, .Lslot_of_the_sum",
    "ldr x17, [x16, #:lo12:.Lslot_of_the_sum]",
    "add x16, x16, #:lo12:.Lslot_of_the_sum",
    "br x17",
    ".p2align 4",
    ".Lsum_in_the_library:",
    "add x0, x0, x1",
    "ret",
    ".pushsection .data.rel.ro, \"aw\"",
    ".p2align 3",
    ".Lslot_of_the_sum:",
    ".xword .Lsum_in_the_library",
    ".popsection",
}

counted_loop! {
    tenbin_kernel_call_function(_entry: usize, _arguments: *const usize):
    "stp x29, x30, [sp, #-48]!",
    "stp x19, x20, [sp, #16]",
    "str x21, [sp, #32]",
    "mov x19, x0",
    "mov x20, x1",
    "mov x21, x2",
    "2:",
    "ldp x0, x1, [x21]",
    "ldp x2, x3, [x21, #16]",
    "ldr x4, [x21, #32]",
    "blr x20",
    "subs x19, x19, #1",
    "b.ne 2b",
    "ldr x21, [sp, #32]",
    "ldp x19, x20, [sp, #16]",
    "ldp x29, x30, [sp], #48",
    "ret",
}

counted_loop! {
    /// The kernel keeps every register but `x0` (arch/arm64/kernel/entry.S).
    tenbin_kernel_call_system(_number: usize, _arguments: *const usize):
    "mov x3, x0",
    "mov x8, x1",
    "ldp x4, x1, [x2]",
    "ldr x2, [x2, #16]",
    "2:",
    "mov x0, x4",
    "svc #0",
    "subs x3, x3, #1",
    "b.ne 2b",
    "ret",
}

const _: () = assert!(size_of::<Arguments>() == 40, "five words are loaded");

pub(super) const DIRECT: &[&str] = &["stp", "bl", "ldp"];
pub(super) const TABLE: &[&str] = &["stp", "bl", "ldp", "br"];
pub(super) const FUNCTION: &[&str] = &["stp", "str", "blr", "ldr", "ldp"];
