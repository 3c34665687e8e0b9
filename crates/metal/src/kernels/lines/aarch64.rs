//! The lines of arm64. The count comes in `x0`; then position, spacing, start, end and value.
//!
//! The jump back to the start stands apart and is hardly ever taken. A conditional select in its place would
//! make each address wait longer for the one before it.

counted_loop! {
    tenbin_kernel_store_lines(_position: usize, _spacing: usize, _start: usize, _end: usize, _value: u64):
    "2:",
    "strb w5, [x1]",
    "add x1, x1, x2",
    "cmp x1, x4",
    "b.hs 4f",
    "3:",
    "subs x0, x0, #1",
    "b.ne 2b",
    "mov x0, x1",
    "ret",
    "4:",
    "mov x1, x3",
    "b 3b",
}

counted_loop! {
    tenbin_kernel_load_lines(_position: usize, _spacing: usize, _start: usize, _end: usize):
    "2:",
    "ldrb w5, [x1]",
    "add x1, x1, x2",
    "cmp x1, x4",
    "b.hs 4f",
    "3:",
    "subs x0, x0, #1",
    "b.ne 2b",
    "mov x0, x1",
    "ret",
    "4:",
    "mov x1, x3",
    "b 3b",
}

pub(super) const STORE: &[&str] = &["strb"];
pub(super) const LOAD: &[&str] = &["ldrb"];
