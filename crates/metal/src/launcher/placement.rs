//! On which CPU a command begins.
//!
//! A new process is put on whichever CPU is idle, and its parent's is not; an execution moves it only where
//! another CPU has less to do (`select_task_rq_fair` in the kernel's `kernel/sched/fair.c`). So who starts
//! commands goes to the CPU first, with a mask of that one alone, which a child inherits. The child widens
//! both masks before it executes its program: no program ever sees the narrow one, and the parent, when it
//! is woken, need not wait for the child. The command's own time has two system calls more. Beside busy
//! neighbours an execution does move one in ten or so.

use rustix::thread::{CpuSet, sched_setaffinity};
use tenbin_model::Cpu;

use crate::pin::{allowed_cpus, set_of};

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
        set_of(if cpus.is_empty() { &self.allowed } else { cpus })
    }
}
