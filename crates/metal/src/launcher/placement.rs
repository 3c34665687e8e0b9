//! On which CPU a command begins, and who stands aside for it.

use rustix::thread::{CpuSet, sched_setaffinity};
use tenbin_model::Cpu;

use crate::pin::allowed_cpus;

/// The CPUs of who starts commands.
pub(super) struct Placement {
    /// Those that were there for this process when it began.
    allowed: Vec<Cpu>,
    /// The one that it has left to a command.
    aside: Option<Cpu>,
}

impl Placement {
    pub(super) fn new() -> Self {
        Self { allowed: allowed_cpus().unwrap_or_default(), aside: None }
    }

    /// Goes to another CPU than that on which a command is to begin, where there is one: who waits there
    /// would be woken late.
    pub(super) fn stand_aside(&mut self, first: Option<Cpu>) {
        if self.aside == first {
            return;
        }
        let others: Vec<Cpu> = self.allowed.iter().copied().filter(|cpu| Some(*cpu) != first).collect();
        // Where that is not allowed it stays where it is, and is woken when it is.
        let _ = sched_setaffinity(None, &self.set(&others));
        self.aside = first;
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
