//! The loops of RISC-V. The count comes in `a0`, and what is returned leaves there.

/// Instructions in a turn of the empty loop: add, bne.
pub(super) const TURN: u64 = 2;

counted_loop! {
    tenbin_kernel_empty_loop:
    "mv a1, a0",
    "li a0, 0",
    "li a2, 1",
    "2:",
    "add a0, a0, a2",
    "bne a0, a1, 2b",
    "ret",
}

counted_loop! {
    tenbin_kernel_empty_loop_one_short:
    "addi a1, a0, -1",
    "li a0, 0",
    "li a2, 1",
    "beqz a1, 3f",
    "2:",
    "add a0, a0, a2",
    "bne a0, a1, 2b",
    "3:",
    "ret",
}

counted_loop! {
    tenbin_kernel_hints:
    ".option push",
    ".option arch, +zihintpause",
    "mv a1, a0",
    "2:",
    "pause",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "ret",
    ".option pop",
}

counted_loop! {
    tenbin_kernel_dependent_additions:
    "mv a1, a0",
    "li a0, 0",
    "li a2, 1",
    "2:",
    ".rept 64",
    "add a0, a0, a2",
    ".endr",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "ret",
}

counted_loop! {
    tenbin_kernel_dependent_multiplications:
    "mv a1, a0",
    "li a0, 1",
    "li a2, 3",
    "2:",
    ".rept 64",
    "mul a0, a0, a2",
    ".endr",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "ret",
}

counted_loop! {
    /// The kernel keeps every register but `a0` (arch/riscv/kernel/entry.S).
    tenbin_kernel_parent_process:
    "mv a1, a0",
    "li a7, 173", // getppid, include/uapi/asm-generic/unistd.h
    "2:",
    "ecall",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "ret",
}

counted_loop! {
    /// The second argument is where to begin.
    tenbin_kernel_chase(_start: usize):
    "2:",
    "ld a1, 0(a1)",
    "addi a0, a0, -1",
    "bnez a0, 2b",
    "mv a0, a1",
    "ret",
}

counted_loop! {
    /// The second argument is where the words lie, four a turn.
    tenbin_kernel_sum_of_words(_start: usize):
    "li a2, 0",
    "li a3, 0",
    "2:",
    "ld a4, 0(a1)",
    "ld a5, 8(a1)",
    "ld a6, 16(a1)",
    "ld a7, 24(a1)",
    "addi a1, a1, 32",
    "add a4, a4, a5",
    "add a6, a6, a7",
    "add a2, a2, a4",
    "add a3, a3, a6",
    "addi a0, a0, -1",
    "bnez a0, 2b",
    "add a0, a2, a3",
    "ret",
}

counted_loop! {
    /// Copy k begins (k modulo 32) times [`COPY_STEP`] bytes behind a multiple of [`super::COPY_SPACING`].
    tenbin_kernel_copies:
    ".set .Lcopy, 0",
    ".rept 256",
    ".p2align 8",
    ".rept .Lcopy % 32",
    "c.nop",
    ".endr",
    "mv a1, a0",
    "li a0, 0",
    "li a2, 1",
    "2:",
    "add a0, a0, a2",
    "sd a0, 0(sp)",
    "andi a4, a1, 1",
    "beqz a4, 3f",
    "add a3, a3, a2",
    "3:",
    "andi a4, a1, 2",
    "beqz a4, 4f",
    "add a3, a3, a2",
    "4:",
    "andi a4, a1, 4",
    "beqz a4, 5f",
    "add a3, a3, a2",
    "5:",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "ret",
    ".set .Lcopy, .Lcopy + 1",
    ".endr",
}

counted_loop! {
    /// Calls the second argument with the first, on a stack that begins as many bytes lower as the third
    /// says.
    tenbin_kernel_on_lower_stack(_entry: usize, _bytes: usize):
    "addi sp, sp, -16",
    "sd ra, 8(sp)",
    "sd s0, 0(sp)",
    "mv s0, sp",
    "sub sp, sp, a2",
    "jalr a1",
    "mv sp, s0",
    "ld s0, 0(sp)",
    "ld ra, 8(sp)",
    "addi sp, sp, 16",
    "ret",
}

/// A compressed instruction, the least by which code can be moved.
pub(super) const COPY_STEP: usize = 2;

/// What leaves the ordinary path on purpose, as `llvm-objdump` prints it.
pub(super) const SYSTEM_CALL: &[&str] = &["ecall"];
pub(super) const STACK_STORE: &[&str] = &["sd"];
pub(super) const STACK_MOVE: &[&str] = &["addi", "sd", "mv", "sub", "jalr", "ld"];
pub(super) const PRODUCT_BITS: u32 = 64;
pub(super) const MULTIPLICATION: &[&str] = &["mul"];
