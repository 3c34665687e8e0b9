//! Settings that `tenbin quiet` switches in a guest, whose values are real, and puts back however it ends.

use std::path::Path;

use super::{answered, guest, unless_panicked};
use crate::architecture::Architecture;
use crate::failure::Failure;

/// What a guest does: settings are altered first, so that what is put back is not the kernel's own choice.
const SCRIPT: &str = include_str!("quiet.sh");

/// How often it is killed here. `docs/quiet.md` has what ten thousand times gave.
const KILLS: &str = "60";

/// What it must say.
const ANSWERS: &[&str] = &[
    "remedies against noise are in force until the command ends: ",
    "; interrupts (",
    "So already: workqueues",
    "numa-balancing (0 instead of 1)",
    "page-merging (0 instead of 1)",
    "watchdogs (0 instead of 1)",
    "statistics (3600 instead of 7)",
    "partition (CPU 1 for the command alone)",
    "Not taken: energy-preference (/sys/devices/system/cpu/cpufreq",
    "after: as before",
    "nested: 1",
    "status: 1",
    "by name: 3",
    "Nothing was left switched.",
    "killed: 60 times",
    "0 not as before",
    "others: none",
];

pub(super) fn check(tenbin: &Path) -> Result<(), Failure> {
    let output = unless_panicked(|| {
        guest(tenbin, Architecture::HERE, "900")
            .arguments(["--kernel", "trixie", "--cpus", "2", "--nodes", "2", "--append", "nohz_full=1"])
            .arguments(["--", "sh", "-c", SCRIPT, "sh", KILLS])
            .capture()
    })?;
    answered(&output, "keep noise away in a guest", 0, ANSWERS)
}
