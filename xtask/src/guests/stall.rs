//! CPUs, processes and control groups of a guest that `tenbin stall` stops, and lets go.

use std::path::Path;

use super::{answered, guest, unless_panicked};
use crate::architecture::Architecture;
use crate::failure::Failure;

/// What a guest does.
const SCRIPT: &str = include_str!("stall.sh");

/// What it must say.
const ANSWERS: &[&str] = &[
    "one: CPU 1 stood still for 20.0 ms and ",
    "all: CPUs 0-1 stood still for 20.0 ms",
    "under a command: `usleep 300000` ended with exit status: 0 after ",
    "CPU 1 stood still ",
    "as nobody: tenbin: Refused: ",
    "the module: tenbin: Refused: open /dev/stop_machine: No such file",
    "stood still for 50.0 ms and ",
    "killed: it goes on",
    "group: Control group /sys/fs/cgroup/box stood still for 50.0 ms and ",
    "then frozen 0",
    "frozen: tenbin: Refused: control group /sys/fs/cgroup/box: it is frozen, and would run afterwards",
    "panic: tenbin: Refused: the watchdog for soft lockups panics after 2 s",
];

pub(super) fn check(tenbin: &Path) -> Result<(), Failure> {
    let output = unless_panicked(|| {
        guest(tenbin, Architecture::HERE, "300")
            .arguments(["--kernel", "trixie", "--cpus", "2", "--", "sh", "-c", SCRIPT])
            .capture()
    })?;
    answered(&output, "stop things in a guest", 0, ANSWERS)
}
