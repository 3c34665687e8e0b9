//! What `thrash` says about itself.

use tenbin_analysis::Analysis;
use tenbin_model::{Descriptor, Parameter, Picoseconds, Source, Variant};

use super::analysis::Thrashing;
use super::published;

pub(super) fn describe() -> Descriptor {
    Descriptor {
        name: "thrash".into(),
        question: "Does a buffer that two threads share thrash, and at which size and distance?".into(),
        requirement:
            "S. Takeuchi saw a shared buffer cost 7 to 27 times as much as one each where the caches are \
                      not shared; where here, and is it room or coherence"
                .into(),
        specification: "every line that is written holds what its writer left there".into(),
        subject: "Two threads that write a byte per line".into(),
        analysis: Thrashing.name().into(),
        builds_on: vec!["caches".into()],
        variants: Variant::list(
            &[
                ("a buffer each", "each thread writes its own lines: published as `unshared`"),
                ("one shared buffer", "both write the same bytes: published as `shared`; true sharing"),
                ("one buffer, other bytes", "both write the same lines, each its own byte: false sharing"),
                ("one buffer, read only", "both read the same lines"),
                ("one thread alone", "half the work, half the room: what the second thread costs the first"),
                ("one thread on both buffers", "the room of two threads without a second: capacity alone"),
            ],
            &[("a line left out", "one thread never writes its last line")],
        ),
        parameters: Parameter::list(&[
            (
                "case",
                "A,B,C,D (A,C with --quick)",
                "a quarter of L1, L2, L3; twice the last cache; in powers of two",
            ),
            ("size", "that of each case", "bytes of a buffer, 256 to 1073741824, in place of the cases"),
            ("spacing", "the machine's line", "bytes from one line written to the next, 16 to 4096"),
        ]),
        margin: 0.05,
        // Where the host puts both CPUs on one core, each thread costs the other up to as much again: seen
        // from 0 to 23 %.
        sway: 1.0,
        // Two workers are preempted twice as often as one. In a fifth of a slice that would decide ratios
        // under load.
        epoch: Picoseconds::from_micros(100),
        sources: vec![
            Source::new(
                "S. Takeuchi, on thrashing of caches, undated, with a note of 2019-02-19 (in Japanese)",
                "the program, the grid of sizes and distances, the footnote",
            ),
            Source::new(
                "Molka et al., \"Memory Performance and Cache Coherency Effects on an Intel Nehalem System\", 2009",
                "the cost of a line depends on who wrote it last and where",
            ),
        ],
        published: published::figures(),
        ..Descriptor::default()
    }
}
