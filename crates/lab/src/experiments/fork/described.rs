//! What `fork` says about itself: its question, its parameters, its sources.

use tenbin_analysis::Analysis;
use tenbin_model::{Descriptor, Parameter, Picoseconds, Source, Variant};

use super::analysis::Laws;

use super::lines::{LINES, Place, Planted};

pub(super) fn describe() -> Descriptor {
    let lines = (0..LINES.len()).map(|line| Place::Measured { line, mib: 0 });
    let planted = [Planted::AnotherStatus, Planted::PageMissing, Planted::Shares].map(Place::Planted);
    let variants: Vec<Variant> = lines.chain(planted).map(Place::variant).collect();
    Descriptor {
        name: "fork".into(),
        question: "What does a new process cost, and how does that grow with memory?".into(),
        requirement: "what fork() becomes below the library is one question; what it costs depends on the \
                      memory that the caller has, which a figure alone hides"
            .into(),
        specification: "each call makes one child, which sees the memory as it was at the call, shares it \
                        or has a copy as its way says, and ends with the status asked for; as much memory \
                        is resident as was asked for"
            .into(),
        subject: "A new process".into(),
        analysis: Laws.name().into(),
        variants,
        parameters: Parameter::list(&[(
            "mib",
            "4,16,64,256 (4,16,64 with --quick), as far as half of what is available holds each twice",
            "resident memory of the calling process in MiB, two or more sizes; none is always measured as well",
        )]),
        margin: 0.05,
        // As `atomics`: different instructions on a core that another guest's thread may share.
        sway: 0.15,
        // Some tens of the cheapest children, and one of the dearest.
        epoch: Picoseconds::from_micros(500),
        sources: Source::list(&[
            (
                "S. Takeuchi, \"APIs, ABIs and system calls\" (in Japanese)",
                "the question, from fork() to the system call",
            ),
            (
                "Linux, mm/memory.c, copy_page_range",
                "what a fork copies of anonymous memory: an entry for each page that is there, and one for a huge page",
            ),
            ("clone(2)", "the flags of each way, and which memory a child has"),
            ("GNU C Library, sysdeps/unix/sysv/linux/arch-fork.h", "the flags that fork() passes to clone"),
            (
                "A. Baumann et al., A fork() in the road, HotOS 2019",
                "that the cost grows with the caller's memory, and that posix_spawn and vfork do not",
            ),
            (
                "Linux, Documentation/admin-guide/mm/transhuge.rst",
                "how huge pages are asked for and reported",
            ),
        ]),
        ..Descriptor::default()
    }
}
