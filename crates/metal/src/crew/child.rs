//! A worker's life in a process of its own, from the fork to the exit.
//!
//! The process that forked may have had other threads, of which a child has none: a lock that one of them
//! held stays locked for ever. So nothing here allocates, takes a lock or unwinds, and everything unexpected
//! ends the process.

use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{futex, sched_setaffinity};
use tenbin_model::Cpu;

use super::shared::Atomics;
use crate::child::die_with;
use crate::clock::{Clock, Ticks};
use crate::pin::{current_cpu, only};
use crate::stack;
use crate::team::{Stint, Task};
use crate::usage::{Usage, WORDS};

/// A futex in memory that processes share: not `FUTEX_PRIVATE_FLAG`, which speaks of one address space.
pub(super) const ACROSS: futex::Flags = futex::Flags::empty();

/// The number of no task: leave.
pub(super) const LEAVE: u32 = u32::MAX;

/// How a child exits that was told to leave, whose parent was gone before it could ask to die with it, and
/// whose task panicked.
pub(super) const LEFT: i32 = 0;
pub(super) const ORPHANED: i32 = 100;
pub(super) const PANICKED: i32 = 101;

/// What a child has reported of its pin.
pub(super) const HELD: u32 = 1;
pub(super) const REFUSED: u32 = 2;
pub(super) const ELSEWHERE: u32 = 3;

/// What all processes of a crew share: the epoch to run, and how far they have come.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Board {
    /// Number of the epoch that workers should run; a change wakes them.
    pub(super) epoch: AtomicU32,
    /// Number of the task of the epoch, or [`LEAVE`].
    pub(super) task: AtomicU32,
    pub(super) iterations: AtomicU64,
    /// How much lower than usual the workers' stacks begin.
    pub(super) stack: AtomicU32,
    /// Workers that are ready to start this epoch.
    pub(super) ready: AtomicU32,
    /// Workers that have finished this epoch, or have reported their pins; the parent sleeps on it.
    pub(super) finished: AtomicU32,
}

// SAFETY: atomic words alone; no address, nothing owned.
unsafe impl Atomics for Board {}

/// What one worker reports. It alone writes here, and the parent reads once the worker has been counted as
/// finished.
#[derive(Default)]
#[repr(align(128))]
pub(super) struct Slot {
    /// [`HELD`], [`REFUSED`] or [`ELSEWHERE`].
    pub(super) pin: AtomicU32,
    /// What the kernel said if it refused the pin.
    pub(super) refusal: AtomicI32,
    /// The CPU before the part, and that after it.
    pub(super) cpus: [AtomicU32; 2],
    start: AtomicU64,
    end: AtomicU64,
    failures: AtomicU64,
    usage: [AtomicU64; WORDS],
}

// SAFETY: atomic words alone; no address, nothing owned.
unsafe impl Atomics for Slot {}

impl Slot {
    fn fill(&self, stint: &Stint, cpus: [Cpu; 2]) {
        self.start.store(stint.start.0, Ordering::Relaxed);
        self.end.store(stint.end.0, Ordering::Relaxed);
        self.failures.store(stint.failures, Ordering::Relaxed);
        let usage = self.usage.iter().zip(stint.usage.words());
        usage.for_each(|(word, value)| word.store(value, Ordering::Relaxed));
        self.cpus.iter().zip(cpus).for_each(|(word, cpu)| word.store(cpu.0, Ordering::Relaxed));
    }

    pub(super) fn stint(&self) -> Stint {
        Stint {
            start: Ticks(self.start.load(Ordering::Relaxed)),
            end: Ticks(self.end.load(Ordering::Relaxed)),
            failures: self.failures.load(Ordering::Relaxed),
            usage: Usage::of_words(self.usage.each_ref().map(|word| word.load(Ordering::Relaxed))),
        }
    }
}

/// What a child is born with.
pub(super) struct Birth<'a> {
    pub(super) parent: Pid,
    pub(super) worker: usize,
    pub(super) cpu: Cpu,
    pub(super) workers: u32,
    /// No two workers share a CPU, so they start together.
    pub(super) exclusive: bool,
    pub(super) clock: Clock,
    pub(super) tasks: &'a [Task],
    pub(super) board: &'a Board,
    pub(super) slot: &'a Slot,
}

/// A child's life: settle on the CPU, then epoch after epoch, until the board says to leave.
pub(super) fn live(birth: &Birth<'_>) -> ! {
    let Birth { board, slot, .. } = *birth;
    // It dies with the thread that forked it. If that was gone before it could ask, another process is the
    // parent.
    if die_with(birth.parent).is_err() {
        leave(ORPHANED);
    }
    let pin = match pin(birth.cpu) {
        Ok(actual) if actual == birth.cpu => HELD,
        Ok(actual) => {
            slot.cpus[0].store(actual.0, Ordering::Relaxed);
            ELSEWHERE
        }
        Err(error) => {
            slot.refusal.store(error.raw_os_error(), Ordering::Relaxed);
            REFUSED
        }
    };
    slot.pin.store(pin, Ordering::Relaxed);
    finish(birth);
    let mut seen = 0;
    'epochs: loop {
        let epoch = board.epoch.load(Ordering::Acquire);
        if epoch == seen {
            // No spinning: another team may be at work on this CPU meanwhile. Every failure means the same,
            // look again.
            let _ = futex::wait(&board.epoch, ACROSS, seen, None);
            continue;
        }
        seen = epoch;
        let Some(task) = birth.tasks.get(board.task.load(Ordering::Relaxed) as usize) else { leave(LEFT) };
        if birth.exclusive {
            board.ready.fetch_add(1, Ordering::AcqRel);
            while board.ready.load(Ordering::Acquire) != birth.workers {
                // The parent gave up on this epoch: one of the others died.
                if board.epoch.load(Ordering::Acquire) != epoch {
                    continue 'epochs;
                }
                std::hint::spin_loop();
            }
        }
        work(birth, task);
        finish(birth);
    }
}

/// Runs this worker's part, and reports.
fn work(birth: &Birth<'_>, task: &Task) {
    let iterations = birth.board.iterations.load(Ordering::Relaxed);
    let lower = birth.board.stack.load(Ordering::Relaxed) as usize;
    let before = current_cpu();
    let charged = Usage::of_this_thread();
    let done = stack::lowered(lower, || {
        let start = birth.clock.now();
        let failures = task(birth.worker, iterations);
        (start, failures, birth.clock.now())
    });
    // What the task panicked with is not even dropped.
    let Ok((start, failures, end)) = done else { leave(PANICKED) };
    let usage = Usage::of_this_thread().since(&charged);
    birth.slot.fill(&Stint { start, end, failures, usage }, [before, current_cpu()]);
}

/// Counts this worker as finished. The last one wakes the parent: woken earlier, it would take time from a
/// worker.
fn finish(birth: &Birth<'_>) {
    if birth.board.finished.fetch_add(1, Ordering::AcqRel) + 1 == birth.workers {
        let _ = futex::wake(&birth.board.finished, ACROSS, 1);
    }
}

/// [`crate::Pin::hold`] without an allocation: holds this thread on `cpu` and says where it runs then.
fn pin(cpu: Cpu) -> Result<Cpu, Errno> {
    sched_setaffinity(None, &only(cpu)?)?;
    Ok(current_cpu())
}

/// Ends this process and runs nothing of the parent's on the way: no destructor, no handler of its exit.
fn leave(status: i32) -> ! {
    // SAFETY: `_exit` takes any status, may be called after a fork (signal-safety(7)) and does not return.
    unsafe { libc::_exit(status) }
}
