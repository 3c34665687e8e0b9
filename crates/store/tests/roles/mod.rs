//! Processes to test with: a test runs its own program again, in another role.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::process::Command;

/// What a child is told to do, and on which files.
const ROLE: &str = "TENBIN_STORE_TEST_ROLE";

/// This test program again, in the role of a child: it runs nothing but the test `entry`, which must
/// ask [`role`] what to do.
pub(crate) fn child(entry: &str, role: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", entry, "--test-threads=1"]).env(ROLE, role.join("\n"));
    command
}

/// What this process is to do, if it is a child.
pub(crate) fn role() -> Option<Vec<String>> {
    Some(std::env::var(ROLE).ok()?.lines().map(String::from).collect())
}
