//! The kernels of x86-64.
//!
//! Registers, in every addition: `rdi` the counter, `rsi` the additions still to be made, `rdx` the
//! backoff, `r8` failures. `rax` and `rcx` belong to the attempt, the rest to the wait.
//!
//! A `lock` prefix makes an instruction atomic and a full barrier (Intel SDM volume 3, "Locked Atomic
//! Operations" and "Memory Ordering"), so no variant here is ordered less than another.
//!
//! On Intel cores from Skylake to Comet Lake a branch that crosses or ends at a 32-byte boundary is not kept
//! in the cache of decoded instructions (Intel, "Mitigations for Jump Conditional Code Erratum", 2019). A
//! loop that would have one on the path of success is aligned to 32 bytes.

use super::{Addition, Family, Wait, waiting};

pub(super) const HINT: &str = "pause";

kernel! {
    /// The move is part of it: the addition overwrites the register with the value that was there.
    tenbin_kernel_lock_xadd:
    "2:",
    "mov eax, 1",
    "lock xadd [rdi], rax",
    "dec rsi",
    "jnz 2b",
    "xor eax, eax",
    "ret",
}

kernel! {
    /// An addition whose result nobody asks for.
    tenbin_kernel_lock_add:
    "mov eax, 1",
    "2:",
    "lock add [rdi], rax",
    "dec rsi",
    "jnz 2b",
    "xor eax, eax",
    "ret",
}

kernel! {
    /// A failed exchange leaves the value that it found in `rax`, and the next attempt starts from it, as in
    /// the C of F. Wu, "RISC-V Atomic LR/SC vs AMO", 2024-02-24.
    tenbin_kernel_lock_cmpxchg:
    "xor r8d, r8d",
    ".p2align 5",
    "2:",
    "mov rax, [rdi]",
    "3:",
    "lea rcx, [rax + 1]",
    "lock cmpxchg [rdi], rcx",
    "jne 4f",
    "dec rsi",
    "jnz 2b",
    "mov rax, r8",
    "ret",
    "4:",
    "inc r8",
    "jmp 3b",
}

kernel! {
    /// An exchange does not add, so it takes the value out: all ones stand in its place until the worker puts
    /// the sum back. That is a test-and-set lock, and the counter is its own lock word: a second word would
    /// touch memory that no other variant touches. The store that releases it is an ordinary one, which x86
    /// keeps behind what came before (the same, "Memory Ordering").
    tenbin_kernel_xchg_lock:
    "xor r8d, r8d",
    "mov rcx, -1",
    ".p2align 5",
    "2:",
    "mov rax, rcx",
    "xchg [rdi], rax", // locks without a prefix
    "cmp rax, rcx",
    "je 3f",
    "inc rax",
    "mov [rdi], rax",
    "dec rsi",
    "jnz 2b",
    "mov rax, r8",
    "ret",
    "3:",
    "inc r8",
    "jmp 2b",
}

/// The loop of `lock cmpxchg` with a wait on the path of the failure; `setup` and `finish` run once a call.
macro_rules! cmpxchg_loop {
    ($symbol:ident
        $(setup { $($setup:literal)* })?
        $(success { $($success:literal)* })?
        failure { $($failure:literal)* }
        $(finish { $($finish:literal)* })?
    ) => {
        kernel! {
            $symbol:
            "xor r8d, r8d",
            $($($setup,)*)?
            ".p2align 5",
            "2:",
            "mov rax, [rdi]",
            "lea rcx, [rax + 1]",
            "lock cmpxchg [rdi], rcx",
            "jne 3f",
            $($($success,)*)?
            "dec rsi",
            "jnz 2b",
            $($($finish,)*)?
            "mov rax, r8",
            "ret",
            "3:",
            "inc r8",
            $($failure,)*
            "jmp 2b",
        }
    };
}

cmpxchg_loop! { tenbin_kernel_cmpxchg_reload failure {} }

cmpxchg_loop! { tenbin_kernel_cmpxchg_pause failure { "pause" } }

cmpxchg_loop! {
    tenbin_kernel_cmpxchg_no_ops
    setup {
        "mov r9, [rdx]" // r9: the smaller of unit and cap
        "cmp r9, [rdx + 8]"
        "cmova r9, [rdx + 8]"
    }
    failure {
        "mov r11, r9"
        "test r11, r11"
        "jz 2b"
        "4:"
        "nop"
        "dec r11"
        "jnz 4b"
    }
}

// All ones divided by 1 stays as it is: every division has the longest quotient and needs the one before.
cmpxchg_loop! {
    tenbin_kernel_cmpxchg_divisions
    setup {
        "mov r9, [rdx]" // r9: the smaller of unit and cap
        "cmp r9, [rdx + 8]"
        "cmova r9, [rdx + 8]"
        "mov r10d, 1" // r10: the divisor
    }
    failure {
        "mov r11, r9"
        "mov rax, -1"
        "test r11, r11"
        "jz 2b"
        "4:"
        "xor edx, edx"
        "div r10"
        "dec r11"
        "jnz 4b"
    }
}

cmpxchg_loop! {
    tenbin_kernel_cmpxchg_exponential
    setup {
        "mov r10, [rdx + 8]" // r10: cap
        "mov r9, [rdx]" // r9: the smaller of unit and cap
        "cmp r9, r10"
        "cmova r9, r10"
        "mov r11, r9" // r11: the next wait
    }
    success { "mov r11, r9" }
    failure {
        "mov rcx, r11"
        "test rcx, rcx"
        "jz 2b"
        "4:"
        "pause"
        "dec rcx"
        "jnz 4b"
        "add r11, r11"
        "cmp r11, r10"
        "cmova r11, r10"
    }
}

// xorshift64 (Marsaglia 2003); the upper half of state x (cap + 1) is uniform from 0 to cap (Lemire 2019),
// which takes a multiplication where a remainder would take a division.
cmpxchg_loop! {
    tenbin_kernel_cmpxchg_randomised
    setup {
        "mov r11, rdx" // r11: the backoff, since the multiplication writes rdx
        "mov r10, [rdx + 8]"
        "inc r10" // r10: cap + 1
        "mov r9, [rdx + 16]" // r9: the state
    }
    failure {
        "mov rax, r9"
        "shl rax, 13"
        "xor r9, rax"
        "mov rax, r9"
        "shr rax, 7"
        "xor r9, rax"
        "mov rax, r9"
        "shl rax, 17"
        "xor r9, rax"
        "mov rax, r9"
        "mul r10"
        "test rdx, rdx"
        "jz 2b"
        "4:"
        "pause"
        "dec rdx"
        "jnz 4b"
    }
    finish { "mov [r11 + 16], r9" }
}

// The failed exchange left the value that it found in rax; rcx is one more than the value that was loaded.
cmpxchg_loop! {
    tenbin_kernel_cmpxchg_proportional
    setup {
        "mov r9, [rdx]" // r9: unit
        "mov r10, [rdx + 8]" // r10: cap
    }
    failure {
        "sub rax, rcx"
        "inc rax"
        "imul rax, r9"
        "cmp rax, r10"
        "cmova rax, r10"
        "test rax, rax"
        "jz 2b"
        "4:"
        "pause"
        "dec rax"
        "jnz 4b"
    }
}

kernel! {
    /// Adds 1, but 0 when one addition is left: that one writes back what it found.
    tenbin_kernel_lost_update:
    "2:",
    "xor eax, eax",
    "cmp rsi, 1",
    "setne al",
    "lock xadd [rdi], rax",
    "dec rsi",
    "jnz 2b",
    "xor eax, eax",
    "ret",
}

const CMPXCHG: Addition = addition!(tenbin_kernel_lock_cmpxchg {
    name: "lock cmpxchg loop",
    what: "load, compare and swap, retried from the value that was found (the published loop)",
    instruction: &["lock", "cmpxchgq"],
    requires: None,
    family: Family::Core,
    may_fail_alone: false,
});

pub(super) static ADDITIONS: &[Addition] = &[
    addition!(tenbin_kernel_lock_xadd {
        name: "lock xadd",
        what: "fetch and add in one instruction; the old value is returned",
        instruction: &["lock", "xaddq"],
        ..CMPXCHG
    }),
    addition!(tenbin_kernel_lock_add {
        name: "lock add",
        what: "add to memory in one instruction; nothing is returned",
        instruction: &["lock", "addq"],
        ..CMPXCHG
    }),
    CMPXCHG,
    addition!(tenbin_kernel_xchg_lock {
        name: "xchg lock",
        what: "take the counter's value out by xchg, add, store it back: a lock in the counter itself",
        instruction: &["xchgq"],
        ..CMPXCHG
    }),
    addition!(tenbin_kernel_cmpxchg_reload {
        name: "cmpxchg + reload",
        what: "after a failure load again at once: the control of the waits",
        instruction: &["lock", "cmpxchgq"],
        ..waiting(CMPXCHG, Wait::Reload)
    }),
    addition!(tenbin_kernel_cmpxchg_pause {
        name: "cmpxchg + pause",
        what: "after a failure one pause, then load again",
        instruction: &["lock", "cmpxchgq", "pause"],
        ..waiting(CMPXCHG, Wait::Once("pause"))
    }),
    addition!(tenbin_kernel_cmpxchg_no_ops {
        name: "cmpxchg + no-ops",
        what: "after a failure a fixed number of no-ops, then load again",
        instruction: &["lock", "cmpxchgq", "nop"],
        ..waiting(CMPXCHG, Wait::NoOps)
    }),
    addition!(tenbin_kernel_cmpxchg_divisions {
        name: "cmpxchg + divisions",
        what: "after a failure a fixed number of dependent divisions, then load again",
        instruction: &["lock", "cmpxchgq", "divq"],
        ..waiting(CMPXCHG, Wait::Divisions)
    }),
    addition!(tenbin_kernel_cmpxchg_exponential {
        name: "cmpxchg + exponential",
        what: "after each failure in a row twice as many pauses, then load again",
        instruction: &["lock", "cmpxchgq", "pause"],
        ..waiting(CMPXCHG, Wait::Exponential)
    }),
    addition!(tenbin_kernel_cmpxchg_randomised {
        name: "cmpxchg + randomised",
        what: "after a failure a random number of pauses, then load again",
        instruction: &["lock", "cmpxchgq", "pause", "mulq"],
        ..waiting(CMPXCHG, Wait::Randomised)
    }),
    addition!(tenbin_kernel_cmpxchg_proportional {
        name: "cmpxchg + proportional",
        what: "after a failure pauses for each addition that others made meanwhile, then load again",
        instruction: &["lock", "cmpxchgq", "pause", "imulq"],
        ..waiting(CMPXCHG, Wait::Proportional)
    }),
];

pub(super) static LOST_UPDATE: Addition = addition!(tenbin_kernel_lost_update {
    name: "lost update",
    what: "the last of its additions writes back the value that it found",
    instruction: &["lock", "xaddq"],
    family: Family::Sabotage,
    ..CMPXCHG
});
