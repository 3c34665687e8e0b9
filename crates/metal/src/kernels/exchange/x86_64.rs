//! The exchanges of x86-64. The count comes in `rdi`.
//!
//! Plain moves are enough for the flags: x86 keeps stores in order, and loads too (Intel SDM volume 3,
//! "Memory Ordering"). LOCK CMPXCHG fetches the line for writing even when it fails (the same, on CMPXCHG:
//! the destination is written back), so a wait on one line takes it away from the partner again and again.
//! That belongs to the protocol.

counted_loop! {
    /// Then the line, the turns of a wait, the first value that is expected, and the change.
    tenbin_kernel_swaps(_line: *mut u64, _turns: u64, _first: u64, _change: u64):
    "mov r9, rdi", // r9: rounds left
    "2:",
    "lea r10, [rcx + r8]",
    "mov r11, rdx",
    "3:",
    "mov rax, rcx",
    "lock cmpxchg [rsi], r10",
    "je 4f",
    "dec r11",
    "jnz 3b",
    "jmp 5f",
    "4:",
    "add rcx, 2",
    "dec r9",
    "jnz 2b",
    "5:",
    "mov rax, rdi",
    "sub rax, r9",
    "ret",
}

/// A side of the exchange by flags, which stores its own line before its wait or after it. Behind the count
/// come the own line, the partner's, the turns of a wait, and the first value.
macro_rules! flags {
    ($symbol:ident before { $($before:literal)* } after { $($after:literal)* }) => {
        counted_loop! {
            $symbol(_own: *mut u64, _other: *mut u64, _turns: u64, _first: u64):
            "mov r9, rdi", // r9: rounds left
            "2:",
            $($before,)*
            "mov r11, rcx",
            "3:",
            "cmp [rdx], r8",
            "je 4f",
            "dec r11",
            "jnz 3b",
            "jmp 5f",
            "4:",
            $($after,)*
            "inc r8",
            "dec r9",
            "jnz 2b",
            "5:",
            "mov rax, rdi",
            "sub rax, r9",
            "ret",
        }
    };
}

flags! { tenbin_kernel_flags_lead before { "mov [rsi], r8" } after {} }
flags! { tenbin_kernel_flags_follow before {} after { "mov [rsi], r8" } }

pub(super) const SWAPS_NAME: &str = "lock cmpxchg on one line";
pub(super) const FLAGS_NAME: &str = "store and load on two lines";
pub(super) const SWAPS: &[&str] = &["lock cmpxchgq"];
pub(super) const FLAGS: &[&str] = &["movq", "cmpq"];
