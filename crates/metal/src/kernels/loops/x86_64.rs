//! The loops of x86-64. The count comes in `rdi`, what is returned leaves in `rax`.

/// Instructions in a turn of the empty loop: add, cmp, jne.
pub(super) const TURN: u64 = 3;

counted_loop! {
    tenbin_kernel_empty_loop:
    "xor eax, eax",
    "mov ecx, 1",
    "2:",
    "add rax, rcx",
    "cmp rax, rdi",
    "jne 2b",
    "ret",
}

counted_loop! {
    tenbin_kernel_empty_loop_one_short:
    "xor eax, eax",
    "mov ecx, 1",
    "sub rdi, rcx",
    "jz 3f",
    "2:",
    "add rax, rcx",
    "cmp rax, rdi",
    "jne 2b",
    "3:",
    "ret",
}

counted_loop! {
    tenbin_kernel_hints:
    "mov rax, rdi",
    "2:",
    "pause",
    "dec rdi",
    "jnz 2b",
    "ret",
}

counted_loop! {
    /// Both operands are registers: additions of small immediates are computed while renaming on recent
    /// cores.
    tenbin_kernel_dependent_additions:
    "xor eax, eax",
    "mov ecx, 1",
    "2:",
    ".rept 64",
    "add rax, rcx",
    ".endr",
    "dec rdi",
    "jnz 2b",
    "ret",
}

counted_loop! {
    /// Of 32 bits: with 64, small cores of Intel take five cycles and not three.
    tenbin_kernel_dependent_multiplications:
    "mov eax, 1",
    "mov ecx, 3",
    "2:",
    ".rept 64",
    "imul eax, ecx",
    ".endr",
    "dec rdi",
    "jnz 2b",
    "ret",
}

counted_loop! {
    /// The kernel keeps every register but `rax`, `rcx` and `r11` (System V ABI, AMD64 supplement, A.2.1).
    tenbin_kernel_parent_process:
    "2:",
    "mov eax, 110", // getppid, arch/x86/entry/syscalls/syscall_64.tbl
    "syscall",
    "dec rdi",
    "jnz 2b",
    "ret",
}

counted_loop! {
    /// The second argument is where to begin.
    tenbin_kernel_chase(_start: usize):
    "mov rax, rsi",
    "2:",
    "mov rax, [rax]",
    "dec rdi",
    "jnz 2b",
    "ret",
}

counted_loop! {
    /// The second argument is where the words lie, four a turn.
    tenbin_kernel_sum_of_words(_start: usize):
    "xor eax, eax",
    "xor ecx, ecx",
    "xor edx, edx",
    "xor r8d, r8d",
    "2:",
    "add rax, [rsi]",
    "add rcx, [rsi + 8]",
    "add rdx, [rsi + 16]",
    "add r8, [rsi + 24]",
    "add rsi, 32",
    "dec rdi",
    "jnz 2b",
    "add rax, rcx",
    "add rdx, r8",
    "add rax, rdx",
    "ret",
}

counted_loop! {
    /// Copy k begins (k modulo 32) times [`COPY_STEP`] bytes behind a multiple of [`super::COPY_SPACING`].
    tenbin_kernel_copies:
    ".set .Lcopy, 0",
    ".rept 256",
    ".p2align 8",
    ".rept 2 * (.Lcopy % 32)",
    "nop",
    ".endr",
    "xor eax, eax",
    "mov ecx, 1",
    "2:",
    "add rax, rcx",
    "mov [rsp + 8], rax",
    "test edi, 1",
    "jz 3f",
    "add r8, rcx",
    "3:",
    "test edi, 2",
    "jz 4f",
    "add r8, rcx",
    "4:",
    "test edi, 4",
    "jz 5f",
    "add r8, rcx",
    "5:",
    "dec rdi",
    "jnz 2b",
    "ret",
    ".set .Lcopy, .Lcopy + 1",
    ".endr",
}

counted_loop! {
    /// Calls the second argument with the first, on a stack that begins as many bytes lower as the third
    /// says.
    tenbin_kernel_on_lower_stack(_entry: usize, _bytes: usize):
    "push rbp",
    "mov rbp, rsp",
    "sub rsp, rdx",
    "call rsi",
    "mov rsp, rbp",
    "pop rbp",
    "ret",
}

/// Code can be moved by single bytes; two make 32 copies reach every other place of a 64-byte line.
pub(super) const COPY_STEP: usize = 2;

/// What leaves the ordinary path on purpose, as `llvm-objdump` prints it.
pub(super) const SYSTEM_CALL: &[&str] = &["syscall"];
pub(super) const STACK_STORE: &[&str] = &["movq"];
pub(super) const STACK_MOVE: &[&str] = &["pushq", "movq", "subq", "callq", "popq"];
pub(super) const PRODUCT_BITS: u32 = 32;
pub(super) const MULTIPLICATION: &[&str] = &["imull"];
