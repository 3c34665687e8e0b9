//! A machine, as far as a program without privileges can see it.
//!
//! Whatever could not be read says so and why: a guess would travel into every comparison.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Cpu};
use crate::words::{counted, plural};

/// A value that was read, or the reason why it could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observed<T> {
    /// What was read.
    Known(T),
    /// Why nothing was: the file that is missing, the right that is lacking.
    NotObservable(String),
}

impl<T> Observed<T> {
    /// The value, if it was read.
    pub fn known(&self) -> Option<&T> {
        match self {
            Self::Known(value) => Some(value),
            Self::NotObservable(_) => None,
        }
    }
}

impl<T: fmt::Display> fmt::Display for Observed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Known(value) => value.fmt(f),
            Self::NotObservable(why) => write!(f, "not observable ({why})"),
        }
    }
}

/// CPUs as the kernel writes a list of them: `0-3,8`. Expects ascending order.
pub fn cpu_ranges(cpus: &[Cpu]) -> String {
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for &Cpu(cpu) in cpus {
        match ranges.last_mut() {
            Some((_, last)) if last.checked_add(1) == Some(cpu) => *last = cpu,
            _ => ranges.push((cpu, cpu)),
        }
    }
    let range = |(first, last): &(u32, u32)| {
        if first == last { first.to_string() } else { format!("{first}-{last}") }
    };
    ranges.iter().map(range).collect::<Vec<_>>().join(",")
}

/// Such a list in a sentence: `CPU 3`, `CPUs 0-3,8`.
pub fn cpus_in_words(cpus: &[Cpu]) -> String {
    format!("{} {}", plural(cpus.len(), "CPU"), cpu_ranges(cpus))
}

/// Everything about a machine that can change what is measured on it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// The instruction set this binary was built for: `x86_64`, `aarch64` or `riscv64`.
    pub architecture: String,
    /// The processor's name for itself.
    pub cpu_model: Observed<String>,
    /// Microcode revision, as the kernel prints it.
    pub microcode: Observed<String>,
    /// The CPUs that this process may run on, each with its place.
    pub cpus: Vec<CpuPlace>,
    /// CPUs that are online, whether this process may use them or not.
    pub online: Observed<Vec<Cpu>>,
    /// Memory nodes and the CPUs that the firmware puts on them.
    pub nodes: Observed<Vec<Node>>,
    /// Kernel name, release and build.
    pub kernel: Observed<String>,
    /// The kernel's command line.
    pub command_line: Observed<String>,
    /// What the kernel itself tells time by.
    pub clock_source: Observed<String>,
    /// The clock that tenbin chose, and why it may be trusted.
    pub clock: Observed<Clock>,
    /// Frequency governor.
    pub governor: Observed<String>,
    /// Whether the processor may exceed its nominal frequency.
    pub turbo: Observed<bool>,
    /// Whether two CPUs may share one core: the kernel's word for it.
    pub smt: Observed<String>,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Observed<String>,
    /// Whether the kernel moves pages between nodes on its own.
    pub numa_balancing: Observed<bool>,
    /// Address space randomisation: 0, 1 or 2.
    pub address_randomisation: Observed<u8>,
    /// What the kernel says of each known processor flaw, by name.
    pub mitigations: Observed<Vec<(String, String)>>,
    /// What stands between this program and the hardware.
    pub virtualisation: Virtualisation,
    /// Windows Subsystem for Linux, if this is one.
    pub wsl: Observed<Wsl>,
    /// CPUs' worth of time that the control group allows, if it limits it.
    pub cpu_quota: Observed<Option<f64>>,
    /// Memory of the machine.
    pub memory: Observed<Bytes>,
    /// Memory that may be used without swapping; never more than `memory_limit`.
    pub memory_available: Observed<Bytes>,
    /// The most memory that the control group allows, if it limits it.
    pub memory_limit: Observed<Option<Bytes>>,
    /// The size of a page.
    pub page_size: Bytes,
    /// Sizes of huge pages that the kernel offers.
    pub huge_page_sizes: Observed<Vec<Bytes>>,
    /// Load average over one minute, at the time of reading.
    pub load: Observed<f64>,
    /// Whether hardware counters can be read: "counters" or why there are none.
    pub counters: Observed<String>,
}

impl Machine {
    /// The kernel by its name and release, without who built it with what: `Linux 6.1.0-18-amd64`.
    pub fn kernel_release(&self) -> Option<String> {
        let banner = self.kernel.known()?;
        let named = banner.split(" (").next()?;
        Some(named.replacen("Linux version ", "Linux ", 1))
    }

    /// Whether a host runs it as a guest: its cores and caches are then lent to others as well, and the host
    /// may move its CPUs.
    pub const fn is_guest(&self) -> bool {
        matches!(self.virtualisation, Virtualisation::Hypervisor(_))
    }

    /// A machine of which nothing was observed, for the reason `why`: a start for scripts and imports.
    pub fn unobserved(why: &str) -> Self {
        fn unknown<T>(why: &str) -> Observed<T> {
            Observed::NotObservable(why.into())
        }
        Self {
            architecture: std::env::consts::ARCH.into(),
            cpu_model: unknown(why),
            microcode: unknown(why),
            cpus: Vec::new(),
            online: unknown(why),
            nodes: unknown(why),
            kernel: unknown(why),
            command_line: unknown(why),
            clock_source: unknown(why),
            clock: unknown(why),
            governor: unknown(why),
            turbo: unknown(why),
            smt: unknown(why),
            transparent_huge_pages: unknown(why),
            numa_balancing: unknown(why),
            address_randomisation: unknown(why),
            mitigations: unknown(why),
            virtualisation: Virtualisation::None,
            wsl: unknown(why),
            cpu_quota: unknown(why),
            memory: unknown(why),
            memory_available: unknown(why),
            memory_limit: unknown(why),
            page_size: Bytes(4096),
            huge_page_sizes: unknown(why),
            load: unknown(why),
            counters: unknown(why),
        }
    }
}

/// A CPU's place in the machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CpuPlace {
    /// Which one.
    pub cpu: Cpu,
    /// The package that it is part of.
    pub package: Observed<u32>,
    /// The core that it is part of, by a number that is only unique within a package or cluster.
    pub core: Observed<u32>,
    /// The CPUs of its core, itself included: they share the core's execution units.
    pub siblings: Observed<Vec<Cpu>>,
    /// The memory node that the firmware puts it on.
    pub node: Observed<u32>,
    /// Performance or efficiency core, where the machine has both.
    pub kind: Observed<CoreKind>,
    /// Its caches, innermost first.
    pub caches: Observed<Vec<Cache>>,
}

/// The kind of core, on machines that mix them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CoreKind {
    /// All cores are alike.
    Uniform,
    /// Of several kinds, the strongest.
    Performance,
    /// Of several kinds, not the strongest.
    Efficiency,
}

/// One lower-case word.
impl fmt::Display for CoreKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Uniform => "uniform",
            Self::Performance => "performance",
            Self::Efficiency => "efficiency",
        })
    }
}

/// One cache as its witness describes it. A virtual machine's word is not the hardware's.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Cache {
    /// Level, 1 innermost.
    pub level: u8,
    /// `Data`, `Instruction` or `Unified`.
    pub kind: String,
    /// Its size.
    pub size: Observed<Bytes>,
    /// Its line.
    pub line: Observed<Bytes>,
    /// The CPUs that share it; empty where nobody says.
    pub shared_by: Vec<Cpu>,
    /// Whose word this is. Where several had to be asked, the last one that added something.
    #[serde(default)]
    pub witness: Witness,
}

impl Cache {
    /// Whether it holds data: instructions alone do not count.
    pub fn holds_data(&self) -> bool {
        matches!(self.kind.as_str(), "Data" | "Unified")
    }
}

/// Who describes a cache, in the order in which they are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Witness {
    /// The kernel, in `/sys/devices/system/cpu/cpu*/cache`.
    #[default]
    Sysfs,
    /// The processor: leaf 4 of CPUID, or 0x8000001D on AMD's.
    Cpuid,
    /// The kernel, in what it hands to each new program.
    AuxiliaryVector,
    /// The firmware of a board.
    DeviceTree,
}

/// As it reads in a sentence: `sysfs`, `CPUID`, `the auxiliary vector`, `the device tree`.
impl fmt::Display for Witness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Sysfs => "sysfs",
            Self::Cpuid => "CPUID",
            Self::AuxiliaryVector => "the auxiliary vector",
            Self::DeviceTree => "the device tree",
        })
    }
}

/// A memory node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Node {
    /// Its number.
    pub node: u32,
    /// Its CPUs.
    pub cpus: Vec<Cpu>,
    /// Distance to each node in order, 10 meaning local, as the firmware has it.
    pub distances: Vec<u32>,
}

/// The clock that epochs are read from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Clock {
    /// `tsc`, `cntvct`, `rdtime` or `CLOCK_MONOTONIC_RAW`.
    pub name: String,
    /// Smallest step seen, in picoseconds.
    pub resolution_ps: f64,
    /// Median cost of reading it twice in a row, in picoseconds.
    pub cost_ps: f64,
    /// Backward steps seen when it was read in turn on different CPUs.
    pub backward_steps: u64,
    /// Readings taken in turn on different CPUs; 0 where there is one CPU.
    pub cross_readings: u64,
    /// Why this clock, and why not a better one.
    pub why: String,
}

/// Why a clock was chosen, and why not the counter of the architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockChoice {
    /// The counter: the kernel keeps time by it, and none of so many readings, in turn on so many CPUs, ran
    /// backward. No readings on one CPU.
    Counter {
        /// Readings.
        readings: u64,
        /// CPUs.
        cpus: usize,
    },
    /// The kernel's clock, because so many of the counter's readings ran backward.
    Backward {
        /// The counter's name.
        counter: &'static str,
        /// Readings that were smaller than the one before.
        backward: u64,
        /// All readings.
        readings: u64,
    },
    /// The kernel's clock, because the kernel keeps time by something else than the counter.
    Another {
        /// The counter's name.
        counter: &'static str,
        /// What the kernel keeps time by.
        current: String,
    },
    /// The kernel's clock, because what the kernel keeps time by cannot be read.
    Unknown {
        /// The file, and the system's reason.
        error: String,
    },
}

impl fmt::Display for ClockChoice {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Counter { readings: 0, .. } => {
                out.write_str("the kernel keeps time by it; on one CPU there is no other to compare it with")
            }
            Self::Counter { readings, cpus } => write!(
                out,
                "the kernel keeps time by it, and {readings} readings in turn on {} never ran backward",
                counted(*cpus, "CPU")
            ),
            Self::Backward { counter, backward, readings } => {
                write!(out, "the {counter} ran backward {backward} times in {readings} between CPUs")
            }
            Self::Another { counter, current } => {
                write!(out, "the kernel keeps time by {current} and not by the {counter}")
            }
            Self::Unknown { error } => out.write_str(error),
        }
    }
}

/// What stands between this program and the hardware.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Virtualisation {
    /// Nothing that can be seen.
    None,
    /// A hypervisor that runs guest instructions on the hardware; timing means something.
    Hypervisor(String),
    /// The instructions themselves are emulated; timing means nothing. Says by what, and how that was seen.
    Emulated(String),
}

/// `none seen`, `hypervisor: KVM …`, `emulated: QEMU TCG …`.
impl fmt::Display for Virtualisation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none seen"),
            Self::Hypervisor(who) => write!(f, "hypervisor: {who}"),
            Self::Emulated(who) => write!(f, "emulated: {who}"),
        }
    }
}

impl Virtualisation {
    /// Whether a length of time measured here says something about hardware.
    pub fn timing_can_be_trusted(&self) -> bool {
        !matches!(self, Self::Emulated(_))
    }
}

/// Windows Subsystem for Linux.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Wsl {
    /// Not under Windows.
    No,
    /// Linux system calls answered by Windows.
    One,
    /// A Linux kernel in a virtual machine.
    Two,
}

/// `no`, `WSL 1` or `WSL 2`.
impl fmt::Display for Wsl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::No => "no",
            Self::One => "WSL 1",
            Self::Two => "WSL 2",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_are_written_as_the_kernel_writes_them() {
        let list = |numbers: &[u32]| cpu_ranges(&numbers.iter().copied().map(Cpu).collect::<Vec<_>>());
        assert_eq!(list(&[0, 1, 2, 3, 8]), "0-3,8");
        assert_eq!(list(&[7]), "7");
        assert_eq!(list(&[]), "");
        assert_eq!(list(&[u32::MAX]), "4294967295");
    }

    #[test]
    fn a_choice_of_a_clock_says_why() {
        let counter = "tsc";
        for (choice, words) in [
            (
                ClockChoice::Counter { readings: 200, cpus: 2 },
                "the kernel keeps time by it, and 200 readings in turn on 2 CPUs never ran backward",
            ),
            (
                ClockChoice::Counter { readings: 0, cpus: 1 },
                "the kernel keeps time by it; on one CPU there is no other to compare it with",
            ),
            (
                ClockChoice::Backward { counter, backward: 3, readings: 200 },
                "the tsc ran backward 3 times in 200 between CPUs",
            ),
            (
                ClockChoice::Another { counter, current: "hpet".into() },
                "the kernel keeps time by hpet and not by the tsc",
            ),
            (ClockChoice::Unknown { error: "/sys: no such file".into() }, "/sys: no such file"),
        ] {
            assert_eq!(choice.to_string(), words);
        }
    }
}
