//! On which CPU a command begins.
//!
//! An execution moves a process to a CPU that is idle, unless its mask has no other. So who starts commands
//! goes to the CPU first, with a mask of that one alone, which a child inherits. While it waits for the
//! child's execution the child widens its mask again, so it is woken wherever there is room; there it widens
//! the child's, before the program has come to its first instruction or just so. The command's own time has
//! one system call more, and no migration.

use rustix::thread::{CpuSet, sched_setaffinity};
use tenbin_model::Cpu;

use crate::pin::allowed_cpus;

/// The CPUs of who starts commands.
pub(super) struct Placement {
    /// Those that were there for this process when it began.
    allowed: Vec<Cpu>,
    /// Whether its mask is another one now.
    moved: bool,
}

impl Placement {
    pub(super) fn new() -> Self {
        Self { allowed: allowed_cpus().unwrap_or_default(), moved: false }
    }

    /// Goes to this CPU and to no other; without one, to wherever it may be. Where that is not allowed it
    /// stays where it is, and the command begins wherever the kernel puts it.
    pub(super) fn stand_on(&mut self, first: Option<Cpu>) {
        if first.is_some() || self.moved {
            let _ = sched_setaffinity(None, &self.set(first.as_slice()));
        }
        self.moved = first.is_some();
    }

    /// The set of these CPUs; of all that are allowed where there is none of them.
    pub(super) fn set(&self, cpus: &[Cpu]) -> CpuSet {
        let mut set = CpuSet::new();
        let cpus = if cpus.is_empty() { &self.allowed } else { cpus };
        cpus.iter()
            .map(|cpu| cpu.0 as usize)
            .filter(|&cpu| cpu < CpuSet::MAX_CPU)
            .for_each(|cpu| set.set(cpu));
        set
    }
}
