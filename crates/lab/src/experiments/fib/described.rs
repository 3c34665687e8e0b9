//! What `fib` says about itself.

use tenbin_model::unit::three_digits;
use tenbin_model::{Descriptor, Parameter, Published, Rows, Source};

use super::published::TABLES;
use super::user;

pub(super) fn describe() -> Descriptor {
    Descriptor {
        name: "fib".into(),
        question: "Which way to F(n) is cheap: branch or branchless, which big number, user or kernel?".into(),
        requirement: "a driver that computes Fibonacci numbers is made faster step by step, and each step rests \
                      on a claim about where the time goes"
            .into(),
        specification: "every number is the sum of the two before it, to the last digit".into(),
        subject: "Fibonacci numbers".into(),
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
                "with where=kernel: this many threads read at random places and compare instead of timing; 1 to 1024",
            ),
            Parameter::new("seconds", "10", "how long the readers read; 1 to 3600"),
            Parameter::new(
                "traced",
                "no",
                "with where=kernel, `yes`: also what a read costs while the kernel's memory tracepoints are recorded",
            ),
        ],
        margin: 0.02,
        // Products beside sums on a core that another guest's thread shares: a ratio of 0.91 in 49 runs was
        // 1.13 in one (docs/truth.md).
        sway: 0.25,
        epoch: user::EPOCH,
        privileges: "in user mode none; in the kernel the module fibdrv, and root to choose its algorithm; CAP_PERFMON and a \
                     mounted tracefs to count allocations and to trace, CAP_PERFMON and the kernel's symbols \
                     (kernel.kptr_restrict) to name functions"
            .into(),
        touches: "none; in the kernel it writes /sys/class/misc/fibonacci/algorithm and puts it back within microseconds, \
                  unless SIGKILL falls into them"
            .into(),
        sources: vec![
            Source::new("DokiDokiPB, \"2022q1 Homework3 (fibdrv)\", 2022 (in Chinese)", "the ways that are compared, and the claims about them"),
            Source::new(
                "E. W. Dijkstra, \"In honour of Fibonacci\" (EWD 654), 1978",
                "F(2k) and F(2k+1) from F(k) and F(k+1)",
            ),
            Source::new(
                "the manual of GCC, __builtin_clz",
                "it counts in 32 bits, and its answer for 0 is undefined: hence the published idle rounds",
            ),
            Source::new("perf_event_open(2), PERF_TYPE_TRACEPOINT", "allocations of one thread, counted by the kernel"),
            Source::new("QEMU, docs/devel/tcg-icount.rst", "a clock that counts the instructions of a guest"),
        ],
        published: published(),
        ..Descriptor::default()
    }
}

/// The published figures of its driver, and what two of its remarks come to. It weighed no two variants that
/// stand here, so none of them is a ratio.
fn published() -> Vec<Published> {
    let times = TABLES[0].rows();
    let counters = TABLES[1].rows();
    let number = |rows: &Rows, column: &str, name: &str, value: &str| {
        rows.iter().find(|row| row.text(column) == name).and_then(|row| row.number(value)).unwrap_or(f64::NAN)
    };
    let time = |stage: &str| number(&times, "stage", stage, "ns");
    let count = |figure: &str| number(&counters, "figure", figure, "value");
    let runs = times.iter().filter(|row| row.text("stage").starts_with("first version"));
    let runs: Vec<f64> = runs.filter_map(|row| row.number("ns")).collect();
    let (least, most) =
        runs.iter().fold((f64::INFINITY, 0.0_f64), |(least, most), &run| (least.min(run), most.max(run)));
    let figure = |cell: &str, measure: &str, what: String| Published {
        machine: "Core i7-12700H".into(),
        date: "2022".into(),
        what,
        measure: measure.into(),
        cell: cell.into(),
        left: "base 10^9".into(),
        right: "base 10^9 as published".into(),
        ratio: None,
    };
    let (misses, references) = (count("cache_misses"), count("cache_references"));
    vec![
        figure(
            "F(99) by its driver in the kernel",
            "time",
            format!(
                "{least} to {most} ns in {} runs of the first version; on an isolated CPU {} ns, and {} ns with memory sized once",
                runs.len(),
                time("before the first improvement (settled line on the isolated CPU)"),
                time("after it: sized once by n/42+2 digits instead of a kmalloc per operation")
            ),
        ),
        figure(
            "F(99) by its driver in the kernel",
            "samples",
            format!(
                "{} % in the product of big numbers, {} % in memset",
                count("share of kdecnum_mult in samples"),
                count("share of memset_erms in samples")
            ),
        ),
        figure(
            "its client and driver by perf stat",
            "cache misses",
            format!(
                "{misses} of {references} references, which is {} %; its author takes them for 59.19 %",
                three_digits(100.0 * misses / references)
            ),
        ),
        figure(
            "64 bits with a branch and branchless",
            "machine code",
            "branchless was slower; the listing there is of code that was not optimised (-O0)".into(),
        ),
    ]
}
