//! What a Fibonacci number takes in a kernel, in instructions, and whether many readers at once are all
//! answered right.
//!
//! Everything is asked in guests, of the module `fibdrv`, and answered by `tenbin run fib`.

use super::Stand;
use xtask::architecture::{Architecture, Target};
use xtask::command::{Command, REFUSED, status_in_words};
use xtask::failure::Failure;
use xtask::guests;
use xtask::requirement;
use xtask::workspace::Profile;

/// One guest: its architecture, how its kernel is told to run, what it is asked, and how that must end.
struct Question {
    what: &'static str,
    architectures: &'static [&'static str],
    options: &'static [&'static str],
    script: &'static str,
    status: i32,
}

/// Refused are the times: an emulated CPU has none. What is counted stands beside them.
const QUESTIONS: &[Question] = &[
    Question {
        what: "instructions and allocations a read",
        architectures: &["x86_64", "riscv64"],
        options: &["--count-instructions"],
        script: "insmod /modules/fibdrv.ko && tenbin run fib --no-store --set where=kernel --set n=99,1000,10000,100000",
        status: REFUSED,
    },
    Question {
        what: "what tracing its allocations costs a read, and which functions it spends itself in",
        architectures: &["x86_64"],
        options: &["--count-instructions"],
        script: "insmod /modules/fibdrv.ko && tenbin run fib --no-store --set where=kernel --set n=99,1000 --set traced=yes",
        status: REFUSED,
    },
    Question {
        what: "eight readers for a minute, with every object of the kernel's allocator checked",
        architectures: &["x86_64", "riscv64"],
        options: &["--cpus", "2", "--append", "slub_debug=FZP"],
        script: SOAK,
        status: 0,
    },
];

/// The caches that `kvmalloc` takes from, and the kernel's log, before and after. A page more or less is no
/// leak: one a read would be thousands.
const SOAK: &str = "insmod /modules/fibdrv.ko; \
    objects() { awk '/^kmalloc-(cg-)?[0-9]/ { sum += $2 } END { print sum }' /proc/slabinfo; }; \
    pages() { awk '/^(nr_slab_unreclaimable|nr_kernel_stack) / { print $1, $2 }' /proc/vmstat; \
              awk '/VmallocUsed/ { print $1, $2 }' /proc/meminfo; }; \
    dmesg -c >/dev/null; echo before: $(objects) objects, $(pages); \
    tenbin run fib --no-store --set where=kernel --set readers=8 --set seconds=60; status=$?; \
    echo after: $(objects) objects, $(pages); echo the log since: $(dmesg | wc -l) lines; dmesg; exit $status";

/// Ask everything, and print what is answered.
pub(super) fn run(stand: &Stand<'_>) -> Result<(), Failure> {
    requirement::insist(&guests::needs())?;
    // A guest is given the tenbin that lies in the same place for its architecture.
    let asked =
        |it: &Architecture| QUESTIONS.iter().any(|question| question.architectures.contains(&it.name()));
    for architecture in Architecture::ALL.into_iter().filter(asked) {
        stand.workspace.build(architecture, Profile::Dist)?;
    }
    for question in QUESTIONS {
        for architecture in question.architectures {
            println!("\n{architecture}, {}:", question.what);
            let output = command(stand, question, architecture).capture()?;
            print!("{}", output.text);
            if output.code != Some(question.status) {
                print!("{}", output.diagnostics);
                let tried = format!("ask a guest of {architecture}: {}", question.what);
                return Err(Failure::new(tried, status_in_words(output.code), "read what it printed"));
            }
        }
    }
    Ok(())
}

fn command(stand: &Stand<'_>, question: &Question, architecture: &str) -> Command {
    let command = stand.host.command(stand.binary).arguments(["guest", "run", "--arch", architecture]);
    let command = command.arguments(["--seconds", "560"]).arguments(question.options);
    command.arguments(["--module", "fibdrv", "--", "sh", "-c", question.script])
}
