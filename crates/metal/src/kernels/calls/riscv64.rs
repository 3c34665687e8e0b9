//! The calls of RISC-V. The count comes in `a0`, and what is returned leaves there.

use crate::kernels::calls::Arguments;

counted_loop! {
    tenbin_kernel_call_inlined:
    "mv a1, a0",
    "li a0, 0",
    "li a2, 1",
    "2:",
    "add a0, a0, a2",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "ret",
}

counted_loop! {
    /// `t2` counts the turns: the function called is known to leave it alone.
    tenbin_kernel_call_direct:
    "addi sp, sp, -16",
    "sd ra, 8(sp)",
    "mv t2, a0",
    "li a0, 0",
    "2:",
    "li a1, 1",
    "jal ra, 3f",
    "addi t2, t2, -1",
    "bnez t2, 2b",
    "ld ra, 8(sp)",
    "addi sp, sp, 16",
    "ret",
    ".p2align 4",
    "3:",
    "add a0, a0, a1",
    "ret",
}

counted_loop! {
    /// The stub is the entry of a linkage table as the ABI writes it (RISC-V ELF psABI, on the procedure
    /// linkage table), in instructions of full length. The linker may not shorten it.
    tenbin_kernel_call_table:
    ".option push",
    ".option norelax",
    "addi sp, sp, -16",
    "sd ra, 8(sp)",
    "mv t2, a0",
    "li a0, 0",
    "2:",
    "li a1, 1",
    "jal ra, 3f",
    "addi t2, t2, -1",
    "bnez t2, 2b",
    "ld ra, 8(sp)",
    "addi sp, sp, 16",
    "ret",
    ".p2align 4",
    ".option push",
    ".option norvc",
    "3:",
    ".Lstub_of_the_sum:",
    "auipc t3, %pcrel_hi(.Lslot_of_the_sum)",
    "ld t3, %pcrel_lo(.Lstub_of_the_sum)(t3)",
    "jalr t1, t3",
    "nop",
    ".option pop",
    ".p2align 4",
    ".Lsum_in_the_library:",
    "add a0, a0, a1",
    "ret",
    ".pushsection .data.rel.ro, \"aw\"",
    ".p2align 3",
    ".Lslot_of_the_sum:",
    ".dword .Lsum_in_the_library",
    ".popsection",
    ".option pop",
}

counted_loop! {
    tenbin_kernel_call_function(_entry: usize, _arguments: *const usize):
    "addi sp, sp, -32",
    "sd ra, 24(sp)",
    "sd s0, 16(sp)",
    "sd s1, 8(sp)",
    "sd s2, 0(sp)",
    "mv s0, a0",
    "mv s1, a1",
    "mv s2, a2",
    "2:",
    "ld a0, 0(s2)",
    "ld a1, 8(s2)",
    "ld a2, 16(s2)",
    "ld a3, 24(s2)",
    "ld a4, 32(s2)",
    "jalr s1",
    "addi s0, s0, -1",
    "bnez s0, 2b",
    "ld s2, 0(sp)",
    "ld s1, 8(sp)",
    "ld s0, 16(sp)",
    "ld ra, 24(sp)",
    "addi sp, sp, 32",
    "ret",
}

counted_loop! {
    /// The kernel keeps every register but `a0` (arch/riscv/kernel/entry.S).
    tenbin_kernel_call_system(_number: usize, _arguments: *const usize):
    "mv a3, a0",
    "mv a7, a1",
    "ld a4, 0(a2)",
    "ld a1, 8(a2)",
    "ld a2, 16(a2)",
    "2:",
    "mv a0, a4",
    "ecall",
    "addi a3, a3, -1",
    "bnez a3, 2b",
    "ret",
}

const _: () = assert!(size_of::<Arguments>() == 40, "five words are loaded");

pub(super) const DIRECT: &[&str] = &["addi", "sd", "jal", "ld"];
pub(super) const TABLE: &[&str] = &["addi", "sd", "jal", "ld", "jalr"];
pub(super) const FUNCTION: &[&str] = &["addi", "sd", "ld", "jalr"];
