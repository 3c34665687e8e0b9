//! The lines of x86-64. The count comes in `rdi`; then position, spacing, start, end and value.
//!
//! The jump back to the start stands apart and is hardly ever taken. A conditional move in its place would
//! make each address wait two cycles more for the one before it.

counted_loop! {
    tenbin_kernel_store_lines(_position: usize, _spacing: usize, _start: usize, _end: usize, _value: u64):
    "mov rax, rsi",
    "2:",
    "mov [rax], r9b",
    "add rax, rdx",
    "cmp rax, r8",
    "jae 4f",
    "3:",
    "dec rdi",
    "jnz 2b",
    "ret",
    "4:",
    "mov rax, rcx",
    "jmp 3b",
}

counted_loop! {
    /// What is loaded goes to a whole register: a part of one would have to be merged with the rest.
    tenbin_kernel_load_lines(_position: usize, _spacing: usize, _start: usize, _end: usize):
    "mov rax, rsi",
    "2:",
    "movzx r9d, byte ptr [rax]",
    "add rax, rdx",
    "cmp rax, r8",
    "jae 4f",
    "3:",
    "dec rdi",
    "jnz 2b",
    "ret",
    "4:",
    "mov rax, rcx",
    "jmp 3b",
}

pub(super) const STORE: &[&str] = &["movb"];
pub(super) const LOAD: &[&str] = &["movzbl"];
