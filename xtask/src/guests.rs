//! Real guests of every architecture: they work, fail, hang and panic, and each is told from the others.

mod noise;
mod pause;
mod quiet;
mod stall;
mod watch;

use std::path::Path;

use crate::architecture::{self, Architecture, Target};
use crate::command::{Command, Output, REFUSED, status_in_words};
use crate::failure::Failure;
use crate::modules;
use crate::requirement::Requirement;
use crate::step::Outcome;
use crate::workspace::{Profile, Workspace};
use tenbin_model::words::semicolon;

/// What fetching, booting, and building modules for a guest's kernel needs.
pub fn needs() -> Vec<Requirement> {
    let mut needs = vec![
        Requirement::program("qemu-system-x86", "qemu-system-x86_64"),
        Requirement::program("qemu-system-arm", "qemu-system-aarch64"),
        Requirement::program("qemu-system-misc", "qemu-system-riscv64"),
        Requirement::program("apt", "apt-get"),
        Requirement::program("dpkg", "dpkg-deb"),
        Requirement::file("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg"),
        Requirement::program("make", "make"),
        Requirement::program("gcc", "gcc"),
    ];
    needs.extend(architecture::foreign().flat_map(Target::to_build));
    // Some carry modules of ours, which are built for their kernels.
    needs.extend(modules::build_needs());
    needs
}

/// The tests of what starts and traces processes, by the beginnings of their names.
pub(crate) const OF_PROCESSES: [&str; 2] = ["tracee::tests", "launcher::tests"];

/// What `tenbin run calls` must say in a guest, whatever its architecture: times are refused, and a call is
/// followed down to the kernel.
const SAID_OF_CALLS: &[&str] = &[
    "Refused",
    "glibc's fork() issues clone(",
    "CLONE_CHILD_SETTID|SIGCHLD",
    "glibc's posix_spawn() issues",
    "CLONE_VM|CLONE_VFORK",
    "glibc's printf() to a pipe issues",
    "glibc's printf() to a terminal issues",
];

/// What `tenbin run fib` must say in a guest of numbers that it reads from the kernel: all algorithms kept
/// their promise, and the planted fault did not.
const SAID_OF_FIB: &[&str] =
    &["Refused", "5 of 5 variants met the specification", "1 of 1 planted faults were caught"];

/// What a guest with two memory nodes does of the published remedy: the counts before and after, then three
/// that are ended while settings are switched. Each state is waited for, and not for ever. A shell in the
/// background ignores SIGINT for its children.
const REMEDY: &str = r#"
huge=/sys/kernel/mm/transparent_hugepage/enabled
state() { echo "$(cat /proc/sys/kernel/numa_balancing) $(cat $huge)"; }
wait_until() { n=0; until "$@"; do n=$((n + 1)); [ $n -lt 1200 ] || exit 9; usleep 50000; done; }
before=$(state)
switched() { [ "$(state)" != "$before" ]; }
put_back() { [ "$(state)" = "$before" ]; }
gone() { [ "$(ps -o comm | grep -c tenbin)" = 0 ]; }
remedy="tenbin run faults --no-store --quick --set remedy=yes"
$remedy || exit 10
put_back || exit 11
for signal in KILL TERM HUP; do
    $remedy >/dev/null & child=$!
    wait_until switched
    kill -$signal $child
    wait $child && exit 12
    wait_until put_back
    wait_until gone
    echo "put back after SIG$signal"
done
exit 3
"#;

/// What it must say: both halves of the counts, and that three ended processes left nothing behind.
const SAID_OF_REMEDY: &[&str] = &[
    "With NUMA balancing and huge pages on the published work took",
    "with both off, which is the published remedy",
    "Both settings are as they were.",
    "put back after SIGKILL put back after SIGTERM put back after SIGHUP",
];

/// Where numbers are read from the kernel: one kernel of each age.
const FIB: [&str; 2] = ["x86_64", "riscv64"];

/// Boot guests through the crate that makes them, and others through the program. An architecture whose
/// kernel Debian's archive cannot serve is left out aloud.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Failure> {
    // One after the other: each emulator keeps a CPU busy, and the output stays in order.
    workspace
        .cargo()
        .arguments(["test", "--workspace", "--test", "guests", "--test", "modules", "--test", "fibdrv"])
        .arguments(["--test", "oneshot_timer", "--test", "stop_machine"])
        .arguments(["--", "--ignored", "--test-threads", "1"])
        .run_tests()?;
    let tenbin = workspace.build(Architecture::HERE, Profile::Dist)?;
    let mut unserved = Vec::new();
    for architecture in Architecture::ALL {
        if let Some(why) = unserved_because(&tenbin, architecture)? {
            println!("NOT BOOTED: {}: {why}", architecture.name());
            unserved.push(format!("no guest of {}: {why}", architecture.name()));
            continue;
        }
        if architecture != Architecture::HERE {
            processes(workspace, &tenbin, architecture)?;
            calls(workspace, &tenbin, architecture)?;
        }
        if architecture == Architecture::Aarch64 {
            instructions(&tenbin, architecture)?;
        }
        profiled(workspace, &tenbin, architecture)?;
        if FIB.contains(&architecture.name()) {
            fib(workspace, &tenbin, architecture)?;
        }
    }
    remedy(&tenbin)?;
    quiet::check(&tenbin)?;
    stall::check(&tenbin)?;
    Ok(if unserved.is_empty() { Outcome::Passed } else { Outcome::Skipped(semicolon(unserved)) })
}

/// Has guests say what disturbs them, and why they stood still. Where the machine is busy with something
/// else, they are right to say that it may have been that.
pub(crate) fn check_alone(workspace: &Workspace) -> Result<(), Failure> {
    let tenbin = workspace.build(Architecture::HERE, Profile::Dist)?;
    noise::check(&tenbin)?;
    watch::check(workspace, &tenbin)?;
    pause::check(workspace, &tenbin)
}

/// `tenbin guest run` of a guest of this architecture that may take so many seconds.
fn guest(tenbin: &Path, architecture: Architecture, seconds: &str) -> Command {
    let command = Command::new(tenbin).arguments(["guest", "run", "--arch", architecture.name()]);
    command.arguments(["--seconds", seconds])
}

/// Why a kernel of this architecture cannot be had, if lists in Debian's archive contradict each other and it
/// is not kept here. Whatever else is wrong is for the checks to say.
fn unserved_because(tenbin: &Path, architecture: Architecture) -> Result<Option<String>, Failure> {
    let output = guest(tenbin, architecture, "300").arguments(["--", "true"]).capture()?;
    Ok(output.diagnostics.lines().find(|line| line.contains(modules::UNSYNCED)).map(str::to_owned))
}

/// Has a guest's tenbin switch NUMA balancing and huge pages, and be ended in the middle of it.
fn remedy(tenbin: &Path) -> Result<(), Failure> {
    let output = unless_panicked(|| {
        let words = ["--cpus", "2", "--nodes", "2", "--", "sh", "-c", REMEDY];
        guest(tenbin, Architecture::HERE, "900").arguments(words).capture()
    })?;
    answered(&output, "switch the kernel's settings in a guest with two nodes", REFUSED, SAID_OF_REMEDY)
}

/// Runs the tests of processes in a guest.
fn processes(workspace: &Workspace, tenbin: &Path, architecture: Architecture) -> Result<(), Failure> {
    let built = workspace
        .cargo()
        .variables(architecture.cargo_variables())
        .arguments(["test", "--package", "tenbin-metal", "--lib", "--no-run", "--message-format", "json"])
        .arguments(["--target", architecture.names().target])
        .read()?;
    let tests = built
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .ok_or_else(|| {
            Failure::new("find the tests that were built", "cargo names none", "see its output")
        })?;
    // A CPU that is told to count instructions has a counter of them, on arm64 (QEMU, `target/arm/helper.c`).
    let output = guest(tenbin, architecture, "300")
        .arguments(["--count-instructions", "--carry", &format!("{tests}:/tests"), "--", "/tests"])
        .arguments(OF_PROCESSES)
        .argument("--nocapture")
        .capture()?;
    print!("{}{}", output.text, output.diagnostics);
    let uncounted = architecture == Architecture::Aarch64
        && [&output.text, &output.diagnostics].iter().any(|text| text.contains("no counters here"));
    let reason = match output.code {
        Some(0) if uncounted => "instructions of commands were not counted".into(),
        Some(0) => return Ok(()),
        code => status_in_words(code),
    };
    Err(Failure::new(
        "run the tests of processes in a guest",
        reason,
        "run the command that is printed above",
    ))
}

/// Has a guest's tenbin, which `calls` has built, weigh commands by the instructions that its CPU counts.
fn instructions(tenbin: &Path, architecture: Architecture) -> Result<(), Failure> {
    let output = guest(tenbin, architecture, "300")
        .arguments(["--count-instructions", "--", "tenbin", "weigh", "--no-store", "-N", "-r", "20"])
        .arguments(["--metric", "instructions", "busybox true", "busybox seq 1 300"])
        .capture()?;
    print!("{}{}", output.text, output.diagnostics);
    let wanted = "x the instructions of `busybox true`";
    if output.code == Some(0) && output.text.contains(wanted) {
        return Ok(());
    }
    let reason = format!("{}, and not `{wanted}`", status_in_words(output.code));
    Err(Failure::new("weigh instructions in a guest", reason, "run the command that is printed above"))
}

/// Has a guest's tenbin hold the numbers that the module `fibdrv` answers against those of user space.
fn fib(workspace: &Workspace, tenbin: &Path, architecture: Architecture) -> Result<(), Failure> {
    workspace.build(architecture, Profile::Dist)?;
    let script = "insmod /modules/fibdrv.ko && tenbin run fib --no-store --set where=kernel --set n=99";
    let words = ["--module", "fibdrv", "--", "sh", "-c", script];
    let output = guest(tenbin, architecture, "400").arguments(words).capture()?;
    answered(&output, "read numbers from a guest's kernel", REFUSED, SAID_OF_FIB)
}

/// Has a guest's tenbin follow calls by ptrace, which no emulator of programs has.
fn calls(workspace: &Workspace, tenbin: &Path, architecture: Architecture) -> Result<(), Failure> {
    let tree = workspace.scratch(&format!("guest-{}", architecture.name()))?;
    let source = workspace.root().join("crates/lab/src/trace/probe.c");
    architecture.compile_dynamic(&source, &tree.join("probe"), &tree)?;
    workspace.build(architecture, Profile::Dist)?;
    let output = guest(tenbin, architecture, "300")
        .argument("--carry-tree")
        .argument(&tree)
        .arguments(["--", "tenbin", "run", "calls", "--no-store", "--set", "probe=/probe"])
        .capture()?;
    answered(&output, "follow calls in a guest", REFUSED, SAID_OF_CALLS)
}

/// Has a guest's tenbin profile a command of which the calls are known.
fn profiled(workspace: &Workspace, tenbin: &Path, architecture: Architecture) -> Result<(), Failure> {
    workspace.build(architecture, Profile::Dist)?;
    let script = "tenbin profile --files -- dd if=/dev/zero of=/dev/null bs=1 count=5000 2>&1";
    let output = guest(tenbin, architecture, "300").arguments(["--", "sh", "-c", script]).capture()?;
    let wanted: &[&str] = match architecture {
        // Linux 6.1 takes programs for its tracepoints there, and never calls them. Snapshots stand in.
        Architecture::Aarch64 => &["Sampled every", "saw none of the calls made to try", "Which files"],
        _ => &["took", "read 5000 –", "/dev/zero", "5000 read", "Observing it took at least"],
    };
    answered(&output, "profile a command in a guest", 0, wanted)
}

/// How often it is tried where the kernel panics. It patches its own code when such settings are switched
/// (static keys), and an emulator of several CPUs now and then executes the breakpoint that was there
/// meanwhile.
const ATTEMPTS: usize = 3;

/// What a guest answers; it is tried again where its kernel panicked.
fn unless_panicked(mut guest: impl FnMut() -> Result<Output, Failure>) -> Result<Output, Failure> {
    let mut output = guest()?;
    for _ in 1..ATTEMPTS {
        let panicked = |text: &str| text.contains("its kernel panicked");
        if !panicked(&output.diagnostics) && !panicked(&output.text) {
            break;
        }
        println!("{}ONCE MORE: the kernel of the guest panicked", output.diagnostics);
        output = guest()?;
    }
    Ok(output)
}

/// Holds an answer against the status and the words that it must have.
fn answered(output: &Output, tried: &str, status: i32, wanted: &[&str]) -> Result<(), Failure> {
    print!("{}{}", output.text, output.diagnostics);
    let failure = |reason: String| Err(Failure::new(tried, reason, "run the command that is printed above"));
    if output.code != Some(status) {
        return failure(format!("{} where {status} was expected", status_in_words(output.code)));
    }
    // Folded at the width of a terminal that is not there.
    let text = output.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match wanted.iter().find(|words| !text.contains(**words)) {
        None => Ok(()),
        Some(words) => failure(format!("it does not say `{words}`")),
    }
}
