//! The arithmetic of the module `fibdrv`, as a program, against Python's integers.

use super::FOLDER;
use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::{PYTHON, Requirement};
use crate::workspace::Workspace;

/// Builds the program, asks it, and plants faults that must be found; it says so itself.
const ORACLE: &str = "fibdrv/check.py";

/// What it needs.
pub(crate) fn needs() -> Vec<Requirement> {
    vec![Requirement::program("gcc-12", "gcc-12"), Requirement::file("python3", PYTHON)]
}

/// Have Python check the numbers.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    Command::new(PYTHON)
        // Nothing is left among the sources.
        .argument("-B")
        .argument(workspace.root().join(FOLDER).join(ORACLE))
        .argument("--build")
        .variable("CC", "gcc-12")
        .run()
}
