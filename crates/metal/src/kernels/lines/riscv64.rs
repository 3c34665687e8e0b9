//! The lines of RISC-V. The count comes in `a0`; then position, spacing, start, end and value.
//!
//! The jump back to the start stands apart and is hardly ever taken.

counted_loop! {
    tenbin_kernel_store_lines(_position: usize, _spacing: usize, _start: usize, _end: usize, _value: u64):
    "2:",
    "sb a5, 0(a1)",
    "add a1, a1, a2",
    "bgeu a1, a4, 4f",
    "3:",
    "addi a0, a0, -1",
    "bnez a0, 2b",
    "mv a0, a1",
    "ret",
    "4:",
    "mv a1, a3",
    "j 3b",
}

counted_loop! {
    tenbin_kernel_load_lines(_position: usize, _spacing: usize, _start: usize, _end: usize):
    "2:",
    "lbu a5, 0(a1)",
    "add a1, a1, a2",
    "bgeu a1, a4, 4f",
    "3:",
    "addi a0, a0, -1",
    "bnez a0, 2b",
    "mv a0, a1",
    "ret",
    "4:",
    "mv a1, a3",
    "j 3b",
}

pub(super) const STORE: &[&str] = &["sb"];
pub(super) const LOAD: &[&str] = &["lbu"];
