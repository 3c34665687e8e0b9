//! Times in which a machine stood still, or kept others waiting, and why.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Cpu, Picoseconds};
use crate::words::or;

/// A line of what is watched.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum WatchLine {
    /// A gap, when it is over.
    Gap(Gap),
    /// The last line.
    Summary(Gaps),
}

/// A time in which no ordinary thread could run on some CPUs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    /// When it began: nanoseconds of the monotonic clock, which the kernel's log has too.
    pub began_ns: u64,
    /// For how long.
    pub length: Picoseconds,
    /// By how much it may have been shorter or longer. 0 where the kernel saw it begin and end.
    pub uncertainty: Picoseconds,
    /// On which CPUs.
    pub cpus: Vec<Cpu>,
    /// Why. Several where what was seen cannot tell which.
    pub causes: Vec<GapCause>,
    /// What was seen of it.
    pub evidence: String,
}

impl Gap {
    /// When it was over: nanoseconds of the monotonic clock.
    pub fn ended_ns(&self) -> u64 {
        self.began_ns.saturating_add(self.length.0 / 1000)
    }

    /// Why, in a phrase.
    pub fn cause(&self) -> String {
        match self.causes.as_slice() {
            [cause] => cause.to_string(),
            several => format!("ambiguous: {}", or(several)),
        }
    }
}

/// Why nothing ran.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum GapCause {
    /// Another task had the CPU.
    Task {
        /// Which: `cyclictest (4711)`. None where only the kernel could say.
        name: Option<String>,
    },
    /// The kernel stopped all CPUs but one of its own threads on each (`kernel/stop_machine.c`).
    StopMachine,
    /// An interrupt, or what the kernel does in one.
    Interrupt {
        /// Which: `timer perf_swevent_hrtimer`, `interrupt 24 (virtio0-input.0)`. None where only the kernel
        /// could say.
        name: Option<String>,
    },
    /// The kernel kept interrupts off.
    InterruptsOff,
    /// The host ran something else on the CPU, and says so.
    Steal,
    /// The hypervisor or the firmware had the CPU, and nobody says so.
    Unseen,
    /// The virtual machine was stopped and went on where it was.
    Paused,
    /// It was moved to another host.
    Migrated,
    /// It was set back to a snapshot.
    Restored,
    /// The machine slept.
    Suspended,
    /// A signal stopped the process that watched, and another one let it go on.
    Stopped,
    /// A tracer or debugger stopped it.
    Traced,
    /// Its control group was frozen.
    Frozen,
    /// Its control group had used up its CPU time (`cpu.max`).
    Throttled,
}

impl fmt::Display for GapCause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Task { name: Some(name) } => return write!(f, "{name} ran"),
            Self::Task { name: None } => "another task ran",
            Self::StopMachine => "stop_machine, of all CPUs",
            Self::Interrupt { name: Some(name) } => return f.write_str(name),
            Self::Interrupt { name: None } => "an interrupt handler",
            Self::InterruptsOff => "interrupts off",
            Self::Steal => "the host ran something else (steal)",
            Self::Unseen => "hypervisor or firmware, unseen",
            Self::Paused => "virtual machine paused",
            Self::Migrated => "virtual machine migrated",
            Self::Restored => "virtual machine restored from a snapshot",
            Self::Suspended => "the machine was suspended",
            Self::Stopped => "stopped by a signal (SIGSTOP)",
            Self::Traced => "stopped by a tracer",
            Self::Frozen => "its control group was frozen",
            Self::Throttled => "its control group was throttled (cpu.max)",
        })
    }
}

/// What was watched, and what became of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gaps {
    /// When it began: nanoseconds of the monotonic clock.
    pub began_ns: u64,
    /// For how long it went on.
    pub time: Picoseconds,
    /// Which CPUs.
    pub cpus: Vec<Cpu>,
    /// What is shorter was no gap.
    pub least: Picoseconds,
    /// From one tick of each CPU's thread to the next.
    pub tick: Picoseconds,
    /// How many gaps there were, by cause in words and how long they were together.
    pub causes: Vec<Sum>,
    /// The longest one.
    pub longest: Option<Gap>,
    /// CPU time that watching took, of all CPUs; without that of programs in the kernel.
    pub used: Picoseconds,
    /// What could not be observed, and why.
    pub unobserved: Vec<String>,
}

/// Gaps of a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sum {
    /// The cause in words, or `ambiguous`.
    pub cause: String,
    /// How many there were.
    pub count: u64,
    /// Together.
    pub time: Picoseconds,
}
