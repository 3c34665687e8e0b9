//! Real guests of every architecture: they work, fail, hang and panic, and each is told from the others.

use std::path::Path;

use crate::architecture::{ARCHITECTURES, Architecture};
use crate::command::{Command, status_in_words};
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::workspace::{Profile, Workspace};

/// What fetching, booting, and building modules for a guest's kernel needs.
pub(crate) fn needs() -> Vec<Requirement> {
    let mut needs = vec![
        Requirement::program("qemu-system-x86", "qemu-system-x86_64"),
        Requirement::program("qemu-system-arm", "qemu-system-aarch64"),
        Requirement::program("qemu-system-misc", "qemu-system-riscv64"),
        Requirement::program("util-linux", "setpriv"),
        Requirement::program("apt", "apt-get"),
        Requirement::program("dpkg", "dpkg-deb"),
        Requirement::file("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg"),
        Requirement::program("make", "make"),
        Requirement::program("gcc", "gcc"),
    ];
    needs.extend(ARCHITECTURES.iter().filter(|it| it.foreign()).flat_map(Architecture::to_build));
    needs
}

/// The tests of ptrace, by the beginning of their names.
pub(crate) const TRACING: &str = "tracee::tests";

/// What `tenbin run calls` must say in a guest, whatever its architecture: times are refused, and a call is followed
/// down to the kernel.
const SAID_OF_CALLS: &[&str] = &[
    "Refused",
    "glibc's fork() issues clone(",
    "CLONE_CHILD_SETTID|SIGCHLD",
    "glibc's posix_spawn() issues",
    "CLONE_VM|CLONE_VFORK",
    "glibc's printf() to a pipe issues",
    "glibc's printf() to a terminal issues",
];

/// The status of a question that was refused.
const REFUSED: i32 = 3;

/// Boot guests through the crate that makes them, and others through the program.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    // One after the other: an emulator has a CPU to itself, and the output stays in order.
    Command::cargo(workspace)
        .arguments(["test", "--package", "tenbin-reach", "--test", "*"])
        .arguments(["--", "--ignored", "--test-threads", "1"])
        .run()?;
    let tenbin = workspace.build(Architecture::host()?, Profile::Dev)?;
    ARCHITECTURES.iter().filter(|it| it.foreign()).try_for_each(|it| {
        tracing(workspace, &tenbin, it)?;
        calls(workspace, &tenbin, it)
    })
}

/// Runs the tests of ptrace in a guest.
fn tracing(workspace: &Workspace, tenbin: &Path, architecture: &Architecture) -> Result<(), Failure> {
    let built = Command::cargo(workspace)
        .variables(architecture.cargo_variables())
        .arguments([
            "test",
            "--package",
            "tenbin-metal",
            "--lib",
            "--no-run",
            "--target",
            architecture.target,
        ])
        .arguments(["--message-format", "json"])
        .read()?;
    let tests = built
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .find_map(|message| message["executable"].as_str().map(str::to_owned))
        .ok_or_else(|| {
            Failure::new("find the tests that were built", "cargo names none", "see its output")
        })?;
    Command::new(tenbin)
        .arguments(["guest", "run", "--arch", architecture.name, "--seconds", "300", "--carry"])
        .argument(format!("{tests}:/tests"))
        .arguments(["--", "/tests", TRACING])
        .run()
}

/// Has a guest's tenbin follow calls by ptrace, which no emulator of programs has.
fn calls(workspace: &Workspace, tenbin: &Path, architecture: &Architecture) -> Result<(), Failure> {
    let tree = workspace.scratch(&format!("guest-{}", architecture.name))?;
    let source = workspace.root().join("crates/lab/src/trace/probe.c");
    architecture.compile_dynamic(&source, &tree.join("probe"), &tree)?;
    workspace.build(architecture, Profile::Dev)?;
    let output = Command::new(tenbin)
        .arguments(["guest", "run", "--arch", architecture.name, "--seconds", "300", "--carry-tree"])
        .argument(&tree)
        .arguments(["--", "tenbin", "run", "calls", "--no-store", "--set", "probe=/probe"])
        .capture()?;
    print!("{}{}", output.text, output.diagnostics);
    let failure = |reason: String| {
        Err(Failure::new("follow calls in a guest", reason, "run the command that is printed above"))
    };
    if output.code != Some(REFUSED) {
        return failure(format!("{} where {REFUSED} was expected", status_in_words(output.code)));
    }
    // Folded at the width of a terminal that is not there.
    let said = output.text.split_whitespace().collect::<Vec<_>>().join(" ");
    match SAID_OF_CALLS.iter().find(|words| !said.contains(**words)) {
        None => Ok(()),
        Some(words) => failure(format!("it does not say `{words}`")),
    }
}
