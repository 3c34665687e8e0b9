//! The kernels of riscv64.
//!
//! Registers, in every addition: `a0` the counter, `a1` the additions still to be made, `a2` the backoff,
//! `a7` failures. `a3` to `a6` belong to the attempt, `t0` to `t5` to the wait.
//!
//! Orderings are those of the manual's table of mappings from C (RISC-V ISA volume I, "RVWMO Explanatory
//! Material"): `.aqrl` on a read-modify-write, `.aq` on the LR and `.rl` on the SC of a pair. Every LR/SC
//! sequence, with its retry, is a *constrained* loop (the same, "Eventual Success of Store-Conditional
//! Instructions"): at most 16 instructions in a row, of the base set, without other accesses to memory.

use super::{Addition, Family, Wait, waiting};
use crate::features::Feature;

pub(super) const HINT: &str = "pause";

kernel! {
    /// The result goes to a register that can be read, as in F. Wu, "RISC-V Atomic LR/SC vs AMO", 2024-02-24.
    tenbin_kernel_amoadd_d:
    "li a3, 1",
    "2:",
    "amoadd.d.aqrl a4, a3, (a0)",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "li a0, 0",
    "ret",
}

kernel! {
    /// The loop of that article: a relaxed load, then `__atomic_cmpxchg_acq_rel` of the header that it uses
    /// (michaeljclark/riscv-atomics), which tries again by itself when only the store fails. A value that
    /// was not expected is what the next attempt starts from.
    tenbin_kernel_lr_bne_sc:
    "li a7, 0",
    "2:",
    "ld a3, (a0)",
    "3:",
    "addi a4, a3, 1",
    "4:",
    "lr.d.aq a5, (a0)",
    "bne a5, a3, 6f",
    "sc.d.rl a6, a4, (a0)",
    "beqz a6, 5f",
    "addi a7, a7, 1",
    "j 4b",
    "5:",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "mv a0, a7",
    "ret",
    "6:",
    "addi a7, a7, 1",
    "mv a3, a5",
    "j 3b",
}

kernel! {
    /// The pair used for what it can do: whatever value is found is added to.
    tenbin_kernel_lr_add_sc:
    "li a7, 0",
    "2:",
    "lr.d.aq a3, (a0)",
    "addi a4, a3, 1",
    "sc.d.rl a6, a4, (a0)",
    "beqz a6, 3f",
    "addi a7, a7, 1",
    "j 2b",
    "3:",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "mv a0, a7",
    "ret",
}

kernel! {
    /// The published loop with the compare-and-swap in one instruction.
    tenbin_kernel_amocas_d:
    ".option push",
    ".option arch, +zacas",
    "li a7, 0",
    "2:",
    "ld a3, (a0)",
    "3:",
    "addi a4, a3, 1",
    "mv a5, a3",
    "amocas.d.aqrl a5, a4, (a0)",
    "bne a5, a3, 4f",
    "addi a1, a1, -1",
    "bnez a1, 2b",
    "mv a0, a7",
    "ret",
    "4:",
    "addi a7, a7, 1",
    "mv a3, a5",
    "j 3b",
    ".option pop",
}

/// The published loop with a wait when the value is not the expected one; `setup` and `finish` run once a
/// call.
///
/// A store that fails though the value was right is tried again at once, as in the loop itself: the LR that
/// follows finds out whether somebody else was there, and then there is a wait.
macro_rules! lr_bne_sc_loop {
    ($symbol:ident
        $(setup { $($setup:literal)* })?
        $(success { $($success:literal)* })?
        failure { $($failure:literal)* }
        $(finish { $($finish:literal)* })?
    ) => {
        kernel! {
            $symbol:
            ".option push",
            ".option arch, +zihintpause, +zawrs",
            "li a7, 0",
            $($($setup,)*)?
            "2:",
            "ld a3, (a0)",
            "addi a4, a3, 1",
            "4:",
            "lr.d.aq a5, (a0)",
            "bne a5, a3, 6f",
            "sc.d.rl a6, a4, (a0)",
            "beqz a6, 5f",
            "addi a7, a7, 1",
            "j 4b",
            "5:",
            $($($success,)*)?
            "addi a1, a1, -1",
            "bnez a1, 2b",
            $($($finish,)*)?
            "mv a0, a7",
            "ret",
            "6:",
            "addi a7, a7, 1",
            $($failure,)*
            "j 2b",
            ".option pop",
        }
    };
}

lr_bne_sc_loop! { tenbin_kernel_lr_bne_sc_reload failure {} }

// A hint of the encoding of FENCE, so a CPU without Zihintpause runs it as a fence that orders nothing.
lr_bne_sc_loop! { tenbin_kernel_lr_bne_sc_pause failure { "pause" } }

// The LR that found another value has registered the reservation set, and no SC has released it. The wait
// ends when somebody stores there, or after a short time that the hart chooses (Zawrs, "wrs.sto").
lr_bne_sc_loop! { tenbin_kernel_lr_bne_sc_wrs failure { "wrs.sto" } }

lr_bne_sc_loop! {
    tenbin_kernel_lr_bne_sc_no_ops
    setup {
        "ld t0, 0(a2)"
        "ld t1, 8(a2)"
        "bleu t0, t1, 7f"
        "mv t0, t1"
        "7:" // t0: the smaller of unit and cap
    }
    failure {
        "beqz t0, 2b"
        "mv t3, t0"
        "8:"
        "nop"
        "addi t3, t3, -1"
        "bnez t3, 8b"
    }
}

// All ones divided by 1 stays as it is: every division has the longest quotient and needs the one before.
lr_bne_sc_loop! {
    tenbin_kernel_lr_bne_sc_divisions
    setup {
        "ld t0, 0(a2)"
        "ld t1, 8(a2)"
        "bleu t0, t1, 7f"
        "mv t0, t1"
        "7:" // t0: the smaller of unit and cap
        "li t5, 1" // t5: the divisor
    }
    failure {
        "beqz t0, 2b"
        "mv t3, t0"
        "li t4, -1"
        "8:"
        "divu t4, t4, t5"
        "addi t3, t3, -1"
        "bnez t3, 8b"
    }
}

lr_bne_sc_loop! {
    tenbin_kernel_lr_bne_sc_exponential
    setup {
        "ld t0, 0(a2)"
        "ld t1, 8(a2)" // t1: cap
        "bleu t0, t1, 7f"
        "mv t0, t1"
        "7:" // t0: the smaller of unit and cap
        "mv t2, t0" // t2: the next wait
    }
    success { "mv t2, t0" }
    failure {
        "beqz t2, 2b"
        "mv t3, t2"
        "8:"
        "pause"
        "addi t3, t3, -1"
        "bnez t3, 8b"
        "add t2, t2, t2"
        "bleu t2, t1, 2b"
        "mv t2, t1"
    }
}

// xorshift64 (Marsaglia 2003); the upper half of state x (cap + 1) is uniform from 0 to cap (Lemire 2019),
// which takes a multiplication where a remainder would take a division.
lr_bne_sc_loop! {
    tenbin_kernel_lr_bne_sc_randomised
    setup {
        "ld t1, 8(a2)"
        "addi t1, t1, 1" // t1: cap + 1
        "ld t0, 16(a2)" // t0: the state
    }
    failure {
        "slli t3, t0, 13"
        "xor t0, t0, t3"
        "srli t3, t0, 7"
        "xor t0, t0, t3"
        "slli t3, t0, 17"
        "xor t0, t0, t3"
        "mulhu t3, t0, t1"
        "beqz t3, 2b"
        "8:"
        "pause"
        "addi t3, t3, -1"
        "bnez t3, 8b"
    }
    finish { "sd t0, 16(a2)" }
}

lr_bne_sc_loop! {
    tenbin_kernel_lr_bne_sc_proportional
    setup {
        "ld t0, 0(a2)" // t0: unit
        "ld t1, 8(a2)" // t1: cap
    }
    failure {
        "sub t3, a5, a3"
        "mul t3, t3, t0"
        "bleu t3, t1, 7f"
        "mv t3, t1"
        "7:"
        "beqz t3, 2b"
        "8:"
        "pause"
        "addi t3, t3, -1"
        "bnez t3, 8b"
    }
}

kernel! {
    /// Adds 1, but 0 when one addition is left: that one writes back what it found.
    tenbin_kernel_lost_update:
    "2:",
    "addi a1, a1, -1",
    "snez a3, a1",
    "amoadd.d.aqrl a4, a3, (a0)",
    "bnez a1, 2b",
    "li a0, 0",
    "ret",
}

const LR_BNE_SC: Addition = addition!(tenbin_kernel_lr_bne_sc {
    name: "lr/bne/sc loop",
    what: "load, compare and swap made of lr/bne/sc, retried from the value that was found (the published loop)",
    instruction: &["lr.d.aq", "bne", "sc.d.rl"],
    requires: None,
    family: Family::Core,
    may_fail_alone: true,
});

pub(super) static ADDITIONS: &[Addition] = &[
    addition!(tenbin_kernel_amoadd_d {
        name: "amoadd.d",
        what: "fetch and add in one instruction; the old value is returned",
        instruction: &["amoadd.d.aqrl"],
        may_fail_alone: false,
        ..LR_BNE_SC
    }),
    LR_BNE_SC,
    addition!(tenbin_kernel_lr_add_sc {
        name: "lr/add/sc loop",
        what: "load reserved, add, store conditional, retried when the store fails",
        instruction: &["lr.d.aq", "sc.d.rl"],
        ..LR_BNE_SC
    }),
    addition!(tenbin_kernel_amocas_d {
        name: "amocas.d loop",
        what: "load, compare and swap in one instruction, retried from the value that was found",
        instruction: &["amocas.d.aqrl"],
        requires: Some(Feature::Zacas),
        may_fail_alone: false,
        ..LR_BNE_SC
    }),
    addition!(tenbin_kernel_lr_bne_sc_reload {
        name: "lr/bne/sc + reload",
        what: "after a failure load again at once: the control of the waits",
        instruction: &["lr.d.aq", "bne", "sc.d.rl"],
        ..waiting(LR_BNE_SC, Wait::Reload)
    }),
    addition!(tenbin_kernel_lr_bne_sc_pause {
        name: "lr/bne/sc + pause",
        what: "after a failure one pause, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "pause"],
        ..waiting(LR_BNE_SC, Wait::Once("pause"))
    }),
    addition!(tenbin_kernel_lr_bne_sc_wrs {
        name: "lr/bne/sc + wrs.sto",
        what: "after a failure sleep briefly, or until somebody stores to the counter, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "wrs.sto"],
        requires: Some(Feature::Zawrs),
        ..waiting(LR_BNE_SC, Wait::Once("wrs.sto"))
    }),
    addition!(tenbin_kernel_lr_bne_sc_no_ops {
        name: "lr/bne/sc + no-ops",
        what: "after a failure a fixed number of no-ops, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "nop"],
        ..waiting(LR_BNE_SC, Wait::NoOps)
    }),
    addition!(tenbin_kernel_lr_bne_sc_divisions {
        name: "lr/bne/sc + divisions",
        what: "after a failure a fixed number of dependent divisions, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "divu"],
        ..waiting(LR_BNE_SC, Wait::Divisions)
    }),
    addition!(tenbin_kernel_lr_bne_sc_exponential {
        name: "lr/bne/sc + exponential",
        what: "after each failure in a row twice as many pauses, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "pause"],
        ..waiting(LR_BNE_SC, Wait::Exponential)
    }),
    addition!(tenbin_kernel_lr_bne_sc_randomised {
        name: "lr/bne/sc + randomised",
        what: "after a failure a random number of pauses, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "pause", "mulhu"],
        ..waiting(LR_BNE_SC, Wait::Randomised)
    }),
    addition!(tenbin_kernel_lr_bne_sc_proportional {
        name: "lr/bne/sc + proportional",
        what: "after a failure pauses for each addition that others made meanwhile, then load again",
        instruction: &["lr.d.aq", "bne", "sc.d.rl", "pause", "mul"],
        ..waiting(LR_BNE_SC, Wait::Proportional)
    }),
];

pub(super) static LOST_UPDATE: Addition = addition!(tenbin_kernel_lost_update {
    name: "lost update",
    what: "the last of its additions writes back the value that it found",
    instruction: &["amoadd.d.aqrl"],
    requires: None,
    family: Family::Sabotage,
    may_fail_alone: false,
});
