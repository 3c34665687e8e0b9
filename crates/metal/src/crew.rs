//! Workers that are processes, each held on its CPU and with an address space of its own.

mod child;
mod shared;

use std::marker::PhantomData;
use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use rustix::io::Errno;
use rustix::process::{Pid, Signal, WaitOptions, WaitStatus, getpid, kill_process, waitpid};
use rustix::thread::futex;
use tenbin_model::Cpu;

use crate::clock::Clock;
use crate::fault::Fault;
use crate::pin::are_different;
use crate::stack;
use crate::team::{Lap, Stint, Task};

use child::{Birth, Board, Slot};
pub use shared::{Atomics, Shared};

/// Workers on CPUs, as a [`crate::Team`] is, but each a process: what they share in the kernel is the
/// machine, and no address space with its locks.
///
/// All workers are children. The caller only tells them when and then sleeps: it belongs to none of the CPUs,
/// its own address space, which is a large one, is never what is measured, and somebody must be free to
/// notice that a worker died. For the same reason the workers sleep between epochs and do not spin: a team of
/// threads may have the CPUs meanwhile. Those with a CPU of their own start together, spinning only until all
/// have come.
///
/// Ticks of one process can be held against those of another: the counter is the CPU's, and the kernel's
/// clock belongs to no process either. The children count by the factor that the parent measured.
///
/// # What a task may do
/// Tasks are made before the fork, and each child runs its copy of them. A child lacks the other threads of
/// the process it was forked from, so whatever one of those held locked stays locked in it. A task must
/// therefore not allocate, not lock, not print and not panic; it may compute, make system calls, and use what
/// was made before: private memory as it was at the fork, of which each child has its own copy, and
/// [`Shared`] memory, through which the parent tells it more than a number. A task that breaks this may hang,
/// and is then reported as late; it is no unsoundness, as the C libraries keep their allocators whole over a
/// fork. It must end on its own; one that does not is killed when the crew is dropped.
///
/// The children die with the *thread* that gathered them, however it ends (`PR_SET_PDEATHSIG`). So a crew
/// stays with its thread. Dropping it leaves no child behind.
pub struct Crew {
    clock: Clock,
    cpus: Vec<Cpu>,
    tasks: usize,
    board: Shared<Board>,
    slots: Shared<Slot>,
    children: Vec<Child>,
    deadline: Duration,
    /// Why nothing more can be timed.
    spoiled: Option<Spoiled>,
    _stays_with_its_thread: PhantomData<*const ()>,
}

/// How long an epoch may take.
const DEADLINE: Duration = Duration::from_secs(30);

/// How long children may take to leave before they are killed, and killed ones to be gone.
const LEAVING: Duration = Duration::from_secs(2);

/// How often the parent looks whether a child has died while it waits. Short enough for a person, and rare
/// enough that hardly an epoch is disturbed.
const LOOK: Duration = Duration::from_millis(100);

/// A child, and how it ended once it has been waited for.
struct Child {
    pid: Pid,
    end: Option<String>,
}

#[derive(Clone)]
enum Spoiled {
    Died { worker: usize, how: String },
    Late { missing: usize },
}

impl Crew {
    /// Forks a child for each of `cpus`, which pins itself there and waits to be told a number of `tasks`.
    ///
    /// # Errors
    /// [`Fault::System`] when no child can be forked, [`Fault::Unpinned`] when one cannot be pinned,
    /// [`Fault::Died`] when one dies at once.
    ///
    /// # Panics
    /// If `cpus` is empty.
    pub fn gather(clock: Clock, cpus: &[Cpu], tasks: Vec<Task>) -> Result<Self, Fault> {
        assert!(!cpus.is_empty(), "a crew has at least one worker");
        let mut crew = Self {
            clock,
            cpus: cpus.to_vec(),
            tasks: tasks.len(),
            board: Shared::zeroed(1)?,
            slots: Shared::zeroed(cpus.len())?,
            children: Vec::with_capacity(cpus.len()),
            deadline: DEADLINE,
            spoiled: None,
            _stays_with_its_thread: PhantomData,
        };
        let parent = getpid();
        for (worker, &cpu) in cpus.iter().enumerate() {
            let birth = Birth {
                parent,
                worker,
                cpu,
                workers: cpus.len() as u32,
                exclusive: are_different(cpus),
                clock,
                tasks: &tasks,
                board: &crew.board[0],
                slot: &crew.slots[worker],
            };
            // SAFETY: the child calls `live` and nothing else, which does not return, so no value of the
            // parent is used or dropped twice. `live` makes system calls and uses atomic words alone, as a
            // child of a process with several threads must (fork(2)); what the tasks do is in the hands of
            // who made them, and can at worst wait for ever, as the doc of `Crew` says.
            let forked = unsafe { libc::fork() };
            if forked == 0 {
                child::live(&birth);
            }
            // No process has a negative number, and `Pid` takes none.
            let Some(pid) = Pid::from_raw(forked.max(0)) else {
                let error = std::io::Error::last_os_error();
                return Err(Fault::system(format!("fork worker {worker} for {cpu}"), error));
            };
            crew.children.push(Child { pid, end: None });
        }
        // A crew that is forked later would carry them along, and what a process has decides what forking it
        // costs.
        crew.board.keep_from_later_children();
        crew.slots.keep_from_later_children();
        crew.await_finished()?;
        for (slot, cpu) in crew.slots.iter().zip(cpus) {
            let why = match slot.pin.load(Ordering::Relaxed) {
                child::HELD => continue,
                child::REFUSED => {
                    let error = std::io::Error::from_raw_os_error(slot.refusal.load(Ordering::Relaxed));
                    format!("sched_setaffinity to {cpu}: {error}")
                }
                _ => {
                    format!("it was pinned to {cpu} and ran on {}", Cpu(slot.cpus[0].load(Ordering::Relaxed)))
                }
            };
            return Err(Fault::Unpinned { why });
        }
        Ok(crew)
    }

    /// How many workers there are.
    pub fn size(&self) -> usize {
        self.cpus.len()
    }

    /// The CPU of each worker.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The process number of each worker.
    pub fn processes(&self) -> Vec<u32> {
        self.children.iter().map(|child| child.pid.as_raw_nonzero().get().unsigned_abs()).collect()
    }

    /// Lets the workers' stacks begin elsewhere from here on; see [`crate::Team::shift_stack`].
    pub fn shift_stack(&mut self, layout: u32) {
        self.board[0].stack.store(stack::place(layout) as u32, Ordering::Relaxed);
    }

    /// Runs `iterations` of the task of this number on every worker and times them.
    ///
    /// # Errors
    /// [`Fault::PinNotHeld`] when a worker was elsewhere before or after its part, [`Fault::Late`] when one
    /// did not come to the end, [`Fault::Died`] when one is no more. After the latter two every lap is an
    /// error: the others were told to leave.
    ///
    /// # Panics
    /// If there is no such task.
    pub fn lap(&mut self, task: usize, iterations: u64) -> Result<Lap, Fault> {
        assert!(task < self.tasks, "there is no task {task} of {}", self.tasks);
        if let Some(spoiled) = &self.spoiled {
            return Err(self.fault(spoiled));
        }
        self.call(task as u32, iterations);
        self.await_finished()?;
        for (worker, (slot, &wanted)) in self.slots.iter().zip(&self.cpus).enumerate() {
            for actual in slot.cpus.each_ref().map(|cpu| Cpu(cpu.load(Ordering::Relaxed))) {
                if actual != wanted {
                    return Err(Fault::PinNotHeld { worker, wanted, actual });
                }
            }
        }
        let stints: Vec<Stint> = self.slots.iter().map(Slot::stint).collect();
        Ok(Lap::of(self.clock, self.cpus[0], &stints))
    }

    /// Puts the epoch on the board and wakes every worker.
    fn call(&self, task: u32, iterations: u64) {
        let board = &self.board[0];
        board.task.store(task, Ordering::Relaxed);
        board.iterations.store(iterations, Ordering::Relaxed);
        board.ready.store(0, Ordering::Relaxed);
        board.finished.store(0, Ordering::Relaxed);
        board.epoch.fetch_add(1, Ordering::Release);
        // It cannot fail: the word is there. One that was not asleep sees the new number before it sleeps.
        let _ = futex::wake(&board.epoch, child::ACROSS, i32::MAX as u32);
    }

    /// Sleeps until every worker has finished.
    fn await_finished(&mut self) -> Result<(), Fault> {
        let all = self.children.len() as u32;
        let called = Instant::now();
        let (deadline, mut look) = (called + self.deadline, called + LOOK);
        let limit = futex::Timespec { tv_sec: 0, tv_nsec: i64::from(LOOK.subsec_nanos()) };
        loop {
            let finished = self.board[0].finished.load(Ordering::Acquire);
            if finished == all {
                return Ok(());
            }
            // Every failure (value changed, interrupted, timed out) means the same: see what has come of it.
            let _ = futex::wait(&self.board[0].finished, child::ACROSS, finished, Some(&limit));
            let now = Instant::now();
            if now < look {
                continue;
            }
            look = now + LOOK;
            let mut ends = self.children.iter_mut().map(Child::ended).enumerate();
            let spoiled = match ends.find_map(|(worker, end)| Some((worker, end?.to_owned()))) {
                Some((worker, how)) => Spoiled::Died { worker, how },
                None if now > deadline => {
                    let finished = self.board[0].finished.load(Ordering::Acquire);
                    Spoiled::Late { missing: all.saturating_sub(finished) as usize }
                }
                None => continue,
            };
            let fault = self.fault(&spoiled);
            self.spoiled = Some(spoiled);
            self.call(child::LEAVE, 0);
            return Err(fault);
        }
    }

    fn fault(&self, spoiled: &Spoiled) -> Fault {
        match spoiled.clone() {
            Spoiled::Died { worker, how } => Fault::Died { worker, how },
            Spoiled::Late { missing } => Fault::Late { missing, deadline: self.deadline },
        }
    }

    /// Waits until every child is gone, for at most this long.
    fn await_gone(&mut self, patience: Duration) {
        let deadline = Instant::now() + patience;
        while self.children.iter_mut().any(|child| child.ended().is_none()) && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Child {
    /// How it ended, in words; none while it lives. One that has ended is taken off the kernel's list by
    /// this.
    fn ended(&mut self) -> Option<&str> {
        if self.end.is_none() {
            self.end = match waitpid(Some(self.pid), WaitOptions::NOHANG) {
                Ok(None) => None,
                Ok(Some((_, status))) => Some(in_words(status)),
                Err(Errno::INTR) => None,
                // Whoever set SIGCHLD to be ignored lets the kernel take children off the list itself.
                Err(error) => Some(format!("and nobody knows how ({error})")),
            };
        }
        self.end.as_deref()
    }
}

fn in_words(status: WaitStatus) -> String {
    match (status.exit_status(), status.terminating_signal()) {
        (Some(child::PANICKED), _) => "its task panicked; this is a fault of tenbin".into(),
        (Some(status), _) => format!("it exited with status {status}"),
        (_, Some(signal)) => format!("killed by signal {signal}"),
        (None, None) => format!("its status is {:#x}", status.as_raw()),
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        self.call(child::LEAVE, 0);
        // Who is late will not see the board.
        let late = matches!(self.spoiled, Some(Spoiled::Late { .. }));
        self.await_gone(if late { Duration::ZERO } else { LEAVING });
        for child in &mut self.children {
            // A child that has not been waited for keeps its number, so nobody else can be meant by it.
            if child.ended().is_none() {
                let _ = kill_process(child.pid, Signal::KILL);
            }
        }
        self.await_gone(LEAVING);
    }
}

#[cfg(test)]
mod tests;
