//! What `faults` says about itself: its variants, its parameters, its sources and the published figures.

use tenbin_model::unit::three_digits;
use tenbin_model::{Descriptor, Parameter, Picoseconds, Published, Source, Variant};

use super::{BASE_AT_RANDOM, BASE_IN_ORDER, MEASURED, WAYS, at_threads, published_figure};

/// The published figures: one run, so none of them is a ratio of two variants.
pub(super) fn published() -> Vec<Published> {
    let publish = |measure: &str, what: String| Published {
        machine: "Sophgo SG2038, 64 cores".into(),
        date: "2024-02-24".into(),
        what,
        measure: measure.into(),
        cell: at_threads(64),
        left: NAMES[BASE_IN_ORDER].0.into(),
        right: NAMES[BASE_AT_RANDOM].0.into(),
        ratio: None,
    };
    let (faults, pages) = (published_figure("page_faults_counted"), published_figure("pages_of_4096"));
    let each = three_digits(faults / pages);
    let [system, user, all] =
        ["sys_s", "user_s", "elapsed_s"].map(|figure| three_digits(published_figure(figure)));
    vec![
        publish(
            "page faults",
            format!(
                "{faults} page faults for {pages} pages, {each} a page, with NUMA balancing and huge pages on"
            ),
        ),
        publish("CPU time", format!("{system} s in the kernel and {user} s in user mode within {all} s")),
    ]
}

/// Names and what they do, in the order of [`WAYS`].
const NAMES: [(&str, &str); WAYS.len()] = [
    ("a base page in order", "a word is written to each page, upwards: a fault each"),
    ("a base page at random", "the same pages in random order"),
    ("a page of a huge one in order", "a word for each base page: one fault fills a huge page"),
    ("a page of a huge one at random", "the same in random order"),
    ("a base page by one call", "MADV_POPULATE_WRITE: allocated and cleared without an exception for each"),
    ("a page that is there", "the same loop over pages that were touched before"),
    ("a base page in order by processes", "upwards, each worker a process that touches memory of its own"),
    ("a base page at random by processes", "the same in random order"),
    ("a page left out", "the last page is not touched"),
    ("a page touched twice", "as many writes as pages, but the last page's goes to the first"),
    ("a page left out by processes", "each process leaves its last page out"),
];

pub(super) fn describe() -> Descriptor {
    let variants = NAMES.iter().enumerate().map(|(index, (name, what))| {
        if index < MEASURED { Variant::measured(name, what) } else { Variant::sabotage(name, what) }
    });
    Descriptor {
        name: "faults".into(),
        question: "What does the first touch of a page cost, and how many faults does it take?".into(),
        requirement: "64 threads took 1626092 page faults to touch 257769 pages, and all of their \
                      time was the kernel's"
            .into(),
        specification: "every page that was asked for is there afterwards and no other is".into(),
        subject: "Touching fresh memory".into(),
        variants: variants.collect(),
        parameters: vec![
            Parameter::new("threads", "1,2,4,… all CPUs", "numbers of workers, 1 to 1024"),
            Parameter::new(
                "as",
                "threads,processes",
                "workers that share an address space, or have one each; both are weighed where there are 2 or more",
            ),
            Parameter::new(
                "bytes",
                "256 MiB a thread, at most 8 GiB and half of what is available",
                "bytes for all workers together, each in a part of its own",
            ),
            Parameter::new(
                "remedy",
                "no",
                "yes switches NUMA balancing and huge pages on and off around the published work, counts its faults, and puts both \
                 back, however tenbin ends; as root, with 2 memory nodes; nothing else is measured then",
            ),
        ],
        margin: 0.02,
        // As `atomics`: different instructions on a core that another guest's thread may share.
        sway: 0.15,
        // An iteration takes most of it. Shorter than a scheduler's slice, so that most epochs are not
        // interrupted.
        epoch: Picoseconds::from_millis(1),
        privileges: "none; with CAP_PERFMON or perf_event_paranoid of 1 it also says where the kernel's time goes"
            .into(),
        touches: "none; with remedy=yes kernel.numa_balancing and transparent_hugepage/enabled, put back afterwards".into(),
        sources: Source::list(&[
            ("F. Wu, \"RISC-V Atomic LR/SC vs AMO\", 2024-02-24", "the question, the work, the figures"),
            (
                "vm-scalability, usemem.c",
                "what --prealloc --random does: one private mapping, and threads that write words at random \
                 over all of it",
            ),
            (
                "Linux, Documentation/mm/process_addrs.rst",
                "which locks of an address space a fault takes: what processes do not share",
            ),
            (
                "Linux, Documentation/admin-guide/sysctl/kernel.rst, numa_balancing",
                "what the first half of the published remedy switches off",
            ),
            ("Linux, mm/memory.c, mm_account_fault", "which faults are counted for a thread"),
            ("madvise(2), MADV_POPULATE_WRITE", "how to fill pages without an exception for each"),
            ("Linux, Documentation/admin-guide/mm/transhuge.rst", "how huge pages are asked for and reported"),
        ]),
        published: published(),
        ..Descriptor::default()
    }
}
