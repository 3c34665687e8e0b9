//! The calls of x86-64. The count comes in `rdi`, what is returned leaves in `rax`.

use crate::kernels::calls::Arguments;

counted_loop! {
    tenbin_kernel_call_inlined:
    "xor eax, eax",
    "mov ecx, 1",
    "2:",
    "add rax, rcx",
    "dec rdi",
    "jnz 2b",
    "ret",
}

counted_loop! {
    /// `rcx` counts the turns: the function called is known to leave it alone.
    tenbin_kernel_call_direct:
    "mov rcx, rdi",
    "xor eax, eax",
    "2:",
    "mov rdi, rax",
    "mov esi, 1",
    "call 3f",
    "dec rcx",
    "jnz 2b",
    "ret",
    ".p2align 4",
    "3:",
    "lea rax, [rdi + rsi]",
    "ret",
}

counted_loop! {
    /// The stub is the entry of a linkage table after binding (System V ABI, AMD64 supplement, figure 5.2): a
    /// jump to where a slot in memory says.
    tenbin_kernel_call_table:
    "mov rcx, rdi",
    "xor eax, eax",
    "2:",
    "mov rdi, rax",
    "mov esi, 1",
    "call 3f",
    "dec rcx",
    "jnz 2b",
    "ret",
    ".p2align 4",
    "3:",
    "jmp qword ptr [rip + .Lslot_of_the_sum]",
    ".p2align 4",
    ".Lsum_in_the_library:",
    "lea rax, [rdi + rsi]",
    "ret",
    ".pushsection .data.rel.ro, \"aw\"",
    ".p2align 3",
    ".Lslot_of_the_sum:",
    ".quad .Lsum_in_the_library",
    ".popsection",
}

counted_loop! {
    /// Three registers are saved, so that the stack is aligned where the function is called.
    tenbin_kernel_call_function(_entry: usize, _arguments: *const usize):
    "push rbx",
    "push r12",
    "push r13",
    "mov rbx, rdi",
    "mov r12, rsi",
    "mov r13, rdx",
    "2:",
    "mov rdi, [r13]",
    "mov rsi, [r13 + 8]",
    "mov rdx, [r13 + 16]",
    "mov rcx, [r13 + 24]",
    "mov r8, [r13 + 32]",
    "xor eax, eax", // no vector registers, for a function of a variable number of arguments
    "call r12",
    "dec rbx",
    "jnz 2b",
    "pop r13",
    "pop r12",
    "pop rbx",
    "ret",
}

counted_loop! {
    /// The kernel keeps every register but `rax`, `rcx` and `r11` (System V ABI, AMD64 supplement, A.2.1).
    tenbin_kernel_call_system(_number: usize, _arguments: *const usize):
    "mov r8, rdi",
    "mov r9, rsi",
    "mov rdi, [rdx]",
    "mov rsi, [rdx + 8]",
    "mov rdx, [rdx + 16]",
    "2:",
    "mov rax, r9",
    "syscall",
    "dec r8",
    "jnz 2b",
    "ret",
}

const _: () = assert!(size_of::<Arguments>() == 40, "five words are loaded");

pub(super) const DIRECT: &[&str] = &["callq"];
pub(super) const TABLE: &[&str] = &["callq", "jmpq"];
pub(super) const FUNCTION: &[&str] = &["pushq", "callq", "popq"];
