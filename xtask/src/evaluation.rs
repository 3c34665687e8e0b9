//! The workspace `eval`: what weighs tenbin and its peers, and links tenbin's nouns and statistics for that.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process;
use std::time::Duration;

use crate::architecture::Architecture;
use crate::command::Command;
use crate::failure::Failure;
use crate::step::Outcome;
use crate::workspace::Workspace;

/// Where it is.
pub(crate) fn folder(workspace: &Workspace) -> PathBuf {
    workspace.root().join("eval")
}

/// Cargo in that workspace. It takes what it can of what is built for tenbin.
fn cargo(workspace: &Workspace, chore: &str) -> Command {
    let command = workspace.cargo().directory(&folder(workspace)).arguments([chore, "--locked"]);
    command.argument("--target-dir").argument(workspace.target())
}

/// Builds its program.
fn program(workspace: &Workspace) -> Result<PathBuf, Failure> {
    cargo(workspace, "build").remedy("correct what the compiler names above").run()?;
    Ok(workspace.target().join(Architecture::HERE.names().target).join("debug/tenbin-eval"))
}

/// Lets its program be this process from now on, told to do `task` with these words. Where that succeeds it
/// does not return.
pub(crate) fn become_it(workspace: &Workspace, task: &str, words: &[String]) -> Result<(), Failure> {
    let program = program(workspace)?;
    let error = process::Command::new(&program).arg(task).args(words).exec();
    Err(Failure::new(format!("run {}", program.display()), error, "build it again"))
}

/// Has it do a step of `cargo xtask test`.
pub(crate) fn check(workspace: &Workspace, step: &str) -> Result<(), Failure> {
    // Each program that it starts has a deadline of its own.
    let patience = Duration::from_secs(24 * 3600);
    Command::new(program(workspace)?).arguments(["check", step]).patience(patience).run()
}

/// That a browser shows what `tenbin report` writes. What drives it comes from npm's registry.
pub(crate) fn browser(workspace: &Workspace) -> Result<Outcome, Failure> {
    let asked = Command::new("npm")
        .arguments(["view", "axe-core", "version", "--fetch-retries=1"])
        .capture_quietly()?;
    if asked.code != Some(0) {
        return Ok(Outcome::Skipped(format!("npm's registry does not answer: {}", asked.diagnostics.trim())));
    }
    check(workspace, "browser").map(|()| Outcome::Passed)
}

/// That it is formatted, that clippy finds nothing in it, and its tests.
pub(crate) fn tests(workspace: &Workspace) -> Result<(), Failure> {
    workspace.cargo().directory(&folder(workspace)).arguments(["fmt", "--check"]).run()?;
    cargo(workspace, "clippy").arguments(["--all-targets", "--", "-D", "warnings"]).run()?;
    cargo(workspace, "test").run_tests()
}
