//! What `fib` says about itself.

use tenbin_model::{Descriptor, Parameter, Picoseconds, Quantity, Source};

use super::user;

/// Length of an epoch.
pub(super) const EPOCH: Picoseconds = Picoseconds::from_micros(100);

pub(super) fn describe() -> Descriptor {
    Descriptor {
        name: "fib".into(),
        question: "Which way to F(n) is cheap: branch or branchless, which big number, user or kernel?".into(),
        requirement: "seed 003: a driver that computes Fibonacci numbers is made faster step by step, and each step rests \
                      on a claim about where the time goes"
            .into(),
        specification: "every number is the sum of the two before it, to the last digit".into(),
        subject: "Fibonacci numbers".into(),
        quantity: Quantity::NanosecondsPerOperation,
        variants: user::variants(),
        parameters: vec![
            Parameter::new("where", "user", "`user`, or `kernel`: read from /dev/fibonacci, whose algorithms are the variants then"),
            Parameter::new(
                "n",
                "92,99,1000,10000; in the kernel 99,1000,10000,100000 (with --quick only 1000)",
                "places in the sequence, up to 1000000, and in the kernel up to the max_n that fibdrv was loaded with",
            ),
            Parameter::new(
                "readers",
                "none",
                "with where=kernel: so many threads read at random places and compare, instead of timing; 1 to 1024",
            ),
            Parameter::new("seconds", "10", "how long the readers read; 1 to 3600"),
            Parameter::new(
                "traced",
                "no",
                "with where=kernel, `yes`: also what a read costs while the kernel's tracepoints of memory are recorded",
            ),
        ],
        margin: 0.02,
        epoch: EPOCH,
        privileges: "in user mode none; in the kernel the module fibdrv, and root to choose its algorithm; CAP_PERFMON and a \
                     mounted tracefs to count allocations and to trace, CAP_PERFMON and the kernel's symbols \
                     (kernel.kptr_restrict) to name functions"
            .into(),
        touches: "none; in the kernel it writes /sys/class/misc/fibonacci/algorithm and puts it back within microseconds, \
                  unless SIGKILL falls into them"
            .into(),
        sources: vec![
            Source::new("seed 003", "the ways that are compared, and the claims about them"),
            Source::new(
                "E. W. Dijkstra, \"In honour of Fibonacci\" (EWD 654), 1978",
                "F(2k) and F(2k+1) of F(k) and F(k+1)",
            ),
            Source::new(
                "the manual of GCC, __builtin_clz",
                "it counts in 32 bits, and its answer for 0 is undefined: hence the seed's idle rounds",
            ),
            Source::new("perf_event_open(2), PERF_TYPE_TRACEPOINT", "allocations of one thread, counted by the kernel"),
            Source::new("QEMU, docs/devel/tcg-icount.rst", "a clock that counts the instructions of a guest"),
        ],
        ..Descriptor::default()
    }
}
