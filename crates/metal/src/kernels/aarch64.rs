//! The kernels of arm64.
//!
//! Registers, in every addition: `x0` the counter, `x1` the additions still to be made, `x2` the backoff,
//! `x5` failures. `x3`, `x4` and `x6` belong to the attempt, the rest to the wait.
//!
//! The waits stand on two loops, since cores before Armv8.1 have no compare-and-swap but the one made of
//! LDAXR and STLXR. Sources, in the Arm Architecture Reference Manual for A-profile: "A64 Base Instruction
//! Descriptions"; for what makes an exclusive pair succeed, "Synchronization and semaphores".

use super::{Addition, Family, Wait, waiting};
use crate::features::Feature;

pub(super) const HINT: &str = "isb";

kernel! {
    /// Nothing stands between the pair but the addition, as the manual asks for progress to be guaranteed.
    tenbin_kernel_ldaxr_stlxr:
    "mov x5, #0",
    "2:",
    "ldaxr x3, [x0]",
    "add x4, x3, #1",
    "stlxr w6, x4, [x0]",
    "cbnz w6, 3f",
    "subs x1, x1, #1",
    "b.ne 2b",
    "mov x0, x5",
    "ret",
    "3:",
    "add x5, x5, #1",
    "b 2b",
}

kernel! {
    /// A failed exchange leaves the value that it found in `x6`, and the next attempt starts from it, as in
    /// the C of F. Wu, "RISC-V Atomic LR/SC vs AMO", 2024-02-24.
    tenbin_kernel_casal:
    ".arch_extension lse",
    "mov x5, #0",
    "2:",
    "ldr x3, [x0]",
    "3:",
    "add x4, x3, #1",
    "mov x6, x3",
    "casal x6, x4, [x0]",
    "cmp x6, x3",
    "b.ne 4f",
    "subs x1, x1, #1",
    "b.ne 2b",
    "mov x0, x5",
    "ret",
    "4:",
    "add x5, x5, #1",
    "mov x3, x6",
    "b 3b",
    ".arch_extension nolse",
}

kernel! {
    /// The result goes to a register that can be read: with the zero register it would be STADDL.
    tenbin_kernel_ldaddal:
    ".arch_extension lse",
    "mov x3, #1",
    "2:",
    "ldaddal x3, x4, [x0]",
    "subs x1, x1, #1",
    "b.ne 2b",
    "mov x0, #0",
    "ret",
    ".arch_extension nolse",
}

kernel! {
    /// An addition whose result nobody asks for; with nothing to read it cannot acquire. Where a cache or the
    /// interconnect can add, the core need not fetch the line for it.
    tenbin_kernel_staddl:
    ".arch_extension lse",
    "mov x3, #1",
    "2:",
    "staddl x3, [x0]",
    "subs x1, x1, #1",
    "b.ne 2b",
    "mov x0, #0",
    "ret",
    ".arch_extension nolse",
}

/// The loop of LDAXR and STLXR with a wait on the path of the failure; `setup` and `finish` run once a call.
macro_rules! ldaxr_stlxr_loop {
    ($symbol:ident
        $(setup { $($setup:literal)* })?
        $(success { $($success:literal)* })?
        failure { $($failure:literal)* }
        $(finish { $($finish:literal)* })?
    ) => {
        kernel! {
            $symbol:
            "mov x5, #0",
            $($($setup,)*)?
            "2:",
            "ldaxr x3, [x0]",
            "add x4, x3, #1",
            "stlxr w6, x4, [x0]",
            "cbnz w6, 3f",
            $($($success,)*)?
            "subs x1, x1, #1",
            "b.ne 2b",
            $($($finish,)*)?
            "mov x0, x5",
            "ret",
            "3:",
            "add x5, x5, #1",
            $($failure,)*
            "b 2b",
        }
    };
}

/// The same wait on the loop of CASAL.
macro_rules! casal_loop {
    ($symbol:ident
        $(setup { $($setup:literal)* })?
        $(success { $($success:literal)* })?
        failure { $($failure:literal)* }
        $(finish { $($finish:literal)* })?
    ) => {
        kernel! {
            $symbol:
            ".arch_extension lse",
            "mov x5, #0",
            $($($setup,)*)?
            "2:",
            "ldr x3, [x0]",
            "add x4, x3, #1",
            "mov x6, x3",
            "casal x6, x4, [x0]",
            "cmp x6, x3",
            "b.ne 3f",
            $($($success,)*)?
            "subs x1, x1, #1",
            "b.ne 2b",
            $($($finish,)*)?
            "mov x0, x5",
            "ret",
            "3:",
            "add x5, x5, #1",
            $($failure,)*
            "b 2b",
            ".arch_extension nolse",
        }
    };
}

// LDAXR loads anew at every attempt, so only the loop of CASAL has need of this control.
casal_loop! { tenbin_kernel_casal_reload failure {} }

ldaxr_stlxr_loop! { tenbin_kernel_ldaxr_stlxr_yield failure { "yield" } }
casal_loop! { tenbin_kernel_casal_yield failure { "yield" } }
ldaxr_stlxr_loop! { tenbin_kernel_ldaxr_stlxr_isb failure { "isb" } }
casal_loop! { tenbin_kernel_casal_isb failure { "isb" } }

// WFE sleeps until the monitor that the load armed is cleared by somebody's store. The writer that made the
// attempt fail has left an event behind, which the first pair of instructions uses up, or the WFE that
// matters would return at once (Linux does the same: `__CMPWAIT_CASE` in arch/arm64/include/asm/cmpxchg.h).
// The last worker at work waits for a store that never comes; the timer's event stream wakes it.
ldaxr_stlxr_loop! {
    tenbin_kernel_ldaxr_stlxr_wfe
    failure {
        "sevl"
        "wfe"
        "ldxr x6, [x0]"
        "wfe"
    }
}

macro_rules! no_ops {
    ($loop:ident $symbol:ident) => {
        $loop! {
            $symbol
            setup {
                "ldp x9, x10, [x2]"
                "cmp x9, x10"
                "csel x9, x9, x10, ls" // x9: the smaller of unit and cap
            }
            failure {
                "cbz x9, 2b"
                "mov x11, x9"
                "4:"
                "nop"
                "subs x11, x11, #1"
                "b.ne 4b"
            }
        }
    };
}

no_ops!(ldaxr_stlxr_loop tenbin_kernel_ldaxr_stlxr_no_ops);
no_ops!(casal_loop tenbin_kernel_casal_no_ops);

// All ones divided by 1 stays as it is: every division has the longest quotient and needs the one before.
macro_rules! divisions {
    ($loop:ident $symbol:ident) => {
        $loop! {
            $symbol
            setup {
                "ldp x9, x10, [x2]"
                "cmp x9, x10"
                "csel x9, x9, x10, ls" // x9: the smaller of unit and cap
                "mov x13, #1" // x13: the divisor
            }
            failure {
                "cbz x9, 2b"
                "mov x11, x9"
                "mov x12, #-1"
                "4:"
                "udiv x12, x12, x13"
                "subs x11, x11, #1"
                "b.ne 4b"
            }
        }
    };
}

divisions!(ldaxr_stlxr_loop tenbin_kernel_ldaxr_stlxr_divisions);
divisions!(casal_loop tenbin_kernel_casal_divisions);

macro_rules! exponential {
    ($loop:ident $symbol:ident) => {
        $loop! {
            $symbol
            setup {
                "ldp x9, x10, [x2]" // x10: cap
                "cmp x9, x10"
                "csel x9, x9, x10, ls" // x9: the smaller of unit and cap
                "mov x12, x9" // x12: the next wait
            }
            success { "mov x12, x9" }
            failure {
                "cbz x12, 2b"
                "mov x11, x12"
                "4:"
                "isb"
                "subs x11, x11, #1"
                "b.ne 4b"
                "add x12, x12, x12"
                "cmp x12, x10"
                "csel x12, x12, x10, ls"
            }
        }
    };
}

exponential!(ldaxr_stlxr_loop tenbin_kernel_ldaxr_stlxr_exponential);
exponential!(casal_loop tenbin_kernel_casal_exponential);

// xorshift64 (Marsaglia 2003); the upper half of state x (cap + 1) is uniform from 0 to cap (Lemire 2019),
// which takes a multiplication where a remainder would take a division.
macro_rules! randomised {
    ($loop:ident $symbol:ident) => {
        $loop! {
            $symbol
            setup {
                "ldp x10, x9, [x2, #8]" // x9: the state
                "add x10, x10, #1" // x10: cap + 1
            }
            failure {
                "eor x9, x9, x9, lsl #13"
                "eor x9, x9, x9, lsr #7"
                "eor x9, x9, x9, lsl #17"
                "umulh x11, x9, x10"
                "cbz x11, 2b"
                "4:"
                "isb"
                "subs x11, x11, #1"
                "b.ne 4b"
            }
            finish { "str x9, [x2, #16]" }
        }
    };
}

randomised!(ldaxr_stlxr_loop tenbin_kernel_ldaxr_stlxr_randomised);
randomised!(casal_loop tenbin_kernel_casal_randomised);

// `before` leaves in x6 what the counter was when the attempt failed: CASAL has put it there already.
macro_rules! proportional {
    ($loop:ident $symbol:ident before { $($before:literal)* }) => {
        $loop! {
            $symbol
            setup { "ldp x9, x10, [x2]" } // x9: unit, x10: cap
            failure {
                $($before)*
                "sub x11, x6, x3"
                "mul x11, x11, x9"
                "cmp x11, x10"
                "csel x11, x11, x10, ls"
                "cbz x11, 2b"
                "4:"
                "isb"
                "subs x11, x11, #1"
                "b.ne 4b"
            }
        }
    };
}

proportional!(ldaxr_stlxr_loop tenbin_kernel_ldaxr_stlxr_proportional before { "ldr x6, [x0]" });
proportional!(casal_loop tenbin_kernel_casal_proportional before {});

kernel! {
    /// Adds 1, but 0 when one addition is left: that one writes back what it found.
    tenbin_kernel_lost_update:
    "mov x5, #0",
    "2:",
    "cmp x1, #1",
    "cset x9, ne",
    "3:",
    "ldaxr x3, [x0]",
    "add x4, x3, x9",
    "stlxr w6, x4, [x0]",
    "cbnz w6, 4f",
    "subs x1, x1, #1",
    "b.ne 2b",
    "mov x0, x5",
    "ret",
    "4:",
    "add x5, x5, #1",
    "b 3b",
}

const LDAXR_STLXR: Addition = addition!(tenbin_kernel_ldaxr_stlxr {
    name: "ldaxr/stlxr loop",
    what: "load exclusive, add, store exclusive, retried when the store fails",
    instruction: &["ldaxr", "stlxr"],
    requires: None,
    family: Family::Core,
    may_fail_alone: true,
});

const CASAL: Addition = addition!(tenbin_kernel_casal {
    name: "casal loop",
    what: "load, compare and swap, retried from the value that was found (the published loop)",
    instruction: &["casal"],
    requires: Some(Feature::Lse),
    family: Family::Core,
    may_fail_alone: false,
});

pub(super) static ADDITIONS: &[Addition] = &[
    LDAXR_STLXR,
    CASAL,
    addition!(tenbin_kernel_ldaddal {
        name: "ldaddal",
        what: "fetch and add in one instruction; the old value is returned",
        instruction: &["ldaddal"],
        ..CASAL
    }),
    addition!(tenbin_kernel_staddl {
        name: "staddl",
        what: "add to memory in one instruction; nothing is returned",
        instruction: &["staddl"],
        ..CASAL
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_yield {
        name: "ldaxr/stlxr + yield",
        what: "after a failure one yield, then load again",
        instruction: &["ldaxr", "stlxr", "yield"],
        ..waiting(LDAXR_STLXR, Wait::Once("yield"))
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_isb {
        name: "ldaxr/stlxr + isb",
        what: "after a failure one isb, then load again",
        instruction: &["ldaxr", "stlxr", "isb"],
        ..waiting(LDAXR_STLXR, Wait::Once("isb"))
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_wfe {
        name: "ldaxr/stlxr + wfe",
        what: "after a failure sleep until somebody stores to the counter's line, then load again",
        instruction: &["ldaxr", "stlxr", "ldxr", "wfe"],
        requires: Some(Feature::EventStream),
        ..waiting(LDAXR_STLXR, Wait::Once("wfe"))
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_no_ops {
        name: "ldaxr/stlxr + no-ops",
        what: "after a failure a fixed number of no-ops, then load again",
        instruction: &["ldaxr", "stlxr", "nop"],
        ..waiting(LDAXR_STLXR, Wait::NoOps)
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_divisions {
        name: "ldaxr/stlxr + divisions",
        what: "after a failure a fixed number of dependent divisions, then load again",
        instruction: &["ldaxr", "stlxr", "udiv"],
        ..waiting(LDAXR_STLXR, Wait::Divisions)
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_exponential {
        name: "ldaxr/stlxr + exponential",
        what: "after each failure in a row twice as many isb, then load again",
        instruction: &["ldaxr", "stlxr", "isb"],
        ..waiting(LDAXR_STLXR, Wait::Exponential)
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_randomised {
        name: "ldaxr/stlxr + randomised",
        what: "after a failure a random number of isb, then load again",
        instruction: &["ldaxr", "stlxr", "isb", "umulh"],
        ..waiting(LDAXR_STLXR, Wait::Randomised)
    }),
    addition!(tenbin_kernel_ldaxr_stlxr_proportional {
        name: "ldaxr/stlxr + proportional",
        what: "after a failure isb for each addition that others made meanwhile, then load again",
        instruction: &["ldaxr", "stlxr", "isb", "mul"],
        ..waiting(LDAXR_STLXR, Wait::Proportional)
    }),
    addition!(tenbin_kernel_casal_reload {
        name: "casal + reload",
        what: "after a failure load again at once: the control of the waits",
        instruction: &["casal"],
        ..waiting(CASAL, Wait::Reload)
    }),
    addition!(tenbin_kernel_casal_yield {
        name: "casal + yield",
        what: "after a failure one yield, then load again",
        instruction: &["casal", "yield"],
        ..waiting(CASAL, Wait::Once("yield"))
    }),
    addition!(tenbin_kernel_casal_isb {
        name: "casal + isb",
        what: "after a failure one isb, then load again",
        instruction: &["casal", "isb"],
        ..waiting(CASAL, Wait::Once("isb"))
    }),
    addition!(tenbin_kernel_casal_no_ops {
        name: "casal + no-ops",
        what: "after a failure a fixed number of no-ops, then load again",
        instruction: &["casal", "nop"],
        ..waiting(CASAL, Wait::NoOps)
    }),
    addition!(tenbin_kernel_casal_divisions {
        name: "casal + divisions",
        what: "after a failure a fixed number of dependent divisions, then load again",
        instruction: &["casal", "udiv"],
        ..waiting(CASAL, Wait::Divisions)
    }),
    addition!(tenbin_kernel_casal_exponential {
        name: "casal + exponential",
        what: "after each failure in a row twice as many isb, then load again",
        instruction: &["casal", "isb"],
        ..waiting(CASAL, Wait::Exponential)
    }),
    addition!(tenbin_kernel_casal_randomised {
        name: "casal + randomised",
        what: "after a failure a random number of isb, then load again",
        instruction: &["casal", "isb", "umulh"],
        ..waiting(CASAL, Wait::Randomised)
    }),
    addition!(tenbin_kernel_casal_proportional {
        name: "casal + proportional",
        what: "after a failure isb for each addition that others made meanwhile, then load again",
        instruction: &["casal", "isb", "mul"],
        ..waiting(CASAL, Wait::Proportional)
    }),
];

pub(super) static LOST_UPDATE: Addition = addition!(tenbin_kernel_lost_update {
    name: "lost update",
    what: "the last of its additions writes back the value that it found",
    instruction: &["ldaxr", "stlxr"],
    family: Family::Sabotage,
    ..LDAXR_STLXR
});
