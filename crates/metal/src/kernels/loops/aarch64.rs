//! The loops of arm64. The count comes in `x0`, and what is returned leaves there.

/// Instructions in a turn of the empty loop: add, cmp, b.ne.
pub(super) const TURN: u64 = 3;

counted_loop! {
    tenbin_kernel_empty_loop:
    "mov x1, x0",
    "mov x0, #0",
    "mov x2, #1",
    "2:",
    "add x0, x0, x2",
    "cmp x0, x1",
    "b.ne 2b",
    "ret",
}

counted_loop! {
    tenbin_kernel_empty_loop_one_short:
    "sub x1, x0, #1",
    "mov x0, #0",
    "mov x2, #1",
    "cbz x1, 3f",
    "2:",
    "add x0, x0, x2",
    "cmp x0, x1",
    "b.ne 2b",
    "3:",
    "ret",
}

counted_loop! {
    tenbin_kernel_hints:
    "mov x1, x0",
    "2:",
    "isb",
    "subs x1, x1, #1",
    "b.ne 2b",
    "ret",
}

counted_loop! {
    tenbin_kernel_dependent_additions:
    "mov x1, x0",
    "mov x0, #0",
    "mov x2, #1",
    "2:",
    ".rept 64",
    "add x0, x0, x2",
    ".endr",
    "subs x1, x1, #1",
    "b.ne 2b",
    "ret",
}

counted_loop! {
    tenbin_kernel_dependent_multiplications:
    "mov x1, x0",
    "mov x0, #1",
    "mov x2, #3",
    "2:",
    ".rept 64",
    "mul x0, x0, x2",
    ".endr",
    "subs x1, x1, #1",
    "b.ne 2b",
    "ret",
}

counted_loop! {
    /// The kernel keeps every register but `x0` (arch/arm64/kernel/entry.S).
    tenbin_kernel_parent_process:
    "mov x1, x0",
    "mov x8, #173", // getppid, include/uapi/asm-generic/unistd.h
    "2:",
    "svc #0",
    "subs x1, x1, #1",
    "b.ne 2b",
    "ret",
}

counted_loop! {
    /// The second argument is where to begin.
    tenbin_kernel_chase(_start: usize):
    "2:",
    "ldr x1, [x1]",
    "subs x0, x0, #1",
    "b.ne 2b",
    "mov x0, x1",
    "ret",
}

counted_loop! {
    /// The second argument is where the words lie, four a turn.
    tenbin_kernel_sum_of_words(_start: usize):
    "mov x2, xzr",
    "mov x3, xzr",
    "2:",
    "ldp x4, x5, [x1]",
    "ldp x6, x7, [x1, #16]",
    "add x1, x1, #32",
    "add x4, x4, x5",
    "add x6, x6, x7",
    "add x2, x2, x4",
    "add x3, x3, x6",
    "subs x0, x0, #1",
    "b.ne 2b",
    "add x0, x2, x3",
    "ret",
}

counted_loop! {
    /// Copy k begins (k modulo 32) times [`COPY_STEP`] bytes behind a multiple of [`super::COPY_SPACING`].
    tenbin_kernel_copies:
    ".set .Lcopy, 0",
    ".rept 256",
    ".p2align 8",
    ".rept .Lcopy % 32",
    "nop",
    ".endr",
    "mov x1, x0",
    "mov x0, #0",
    "mov x2, #1",
    "2:",
    "add x0, x0, x2",
    "str x0, [sp]",
    "tbz x1, #0, 3f",
    "add x3, x3, x2",
    "3:",
    "tbz x1, #1, 4f",
    "add x3, x3, x2",
    "4:",
    "tbz x1, #2, 5f",
    "add x3, x3, x2",
    "5:",
    "subs x1, x1, #1",
    "b.ne 2b",
    "ret",
    ".set .Lcopy, .Lcopy + 1",
    ".endr",
}

counted_loop! {
    /// Calls the second argument with the first, on a stack that begins as many bytes lower as the third
    /// says.
    tenbin_kernel_on_lower_stack(_entry: usize, _bytes: usize):
    "stp x29, x30, [sp, #-16]!",
    "mov x29, sp",
    "sub sp, sp, x2",
    "blr x1",
    "mov sp, x29",
    "ldp x29, x30, [sp], #16",
    "ret",
}

/// An instruction, the least by which code can be moved.
pub(super) const COPY_STEP: usize = 4;

/// What leaves the ordinary path on purpose, as `llvm-objdump` prints it.
pub(super) const SYSTEM_CALL: &[&str] = &["svc"];
pub(super) const STACK_STORE: &[&str] = &["str"];
pub(super) const STACK_MOVE: &[&str] = &["stp", "mov", "sub", "blr", "ldp"];
pub(super) const PRODUCT_BITS: u32 = 64;
pub(super) const MULTIPLICATION: &[&str] = &["mul"];
