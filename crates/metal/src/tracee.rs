//! A program that is watched by ptrace(2): its system calls, its breakpoints, its children and threads.
//!
//! The kernel lets only the thread that started a tracee ask about it, and says what happened only to a
//! thread that waits. So [`traced`] gives the work a thread of its own, whose only children are the tracees,
//! and the thread that asked keeps the time: when the deadline passes it kills every tracee, which wakes the
//! waiting one. Nothing survives: the kernel kills the tracees with the thread that traces them
//! (`PTRACE_O_EXITKILL`), and the program leads a process group of its own.
//!
//! What a system call was asked comes from `PTRACE_GET_SYSCALL_INFO` (Linux 5.3), which is the same on every
//! architecture. Nothing is stepped by single instructions, which riscv64 could not do for long: a breakpoint
//! is lifted when it is hit, and planted again where the caller knows that it is time.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitId, WaitIdOptions, WaitOptions, WaitStatus, getpid, kill_process,
    setrlimit, wait, waitid,
};

use crate::child::{End, die_with};
use crate::fault::Fault;

mod registers;
pub(crate) mod request;
#[cfg(test)]
mod tests;

pub use registers::{Layout, Registers};
pub use request::Entered;

/// Number of a thread, as the kernel has it; the first of a process has the number of the process.
pub type Thread = i32;

/// Why a trace came to nothing.
#[derive(Debug)]
pub enum Trouble {
    /// The machine failed.
    Fault(Fault),
    /// The kernel does not let this process trace: what it said.
    Forbidden(io::Error),
    /// The kernel has no `PTRACE_GET_SYSCALL_INFO`: it is older than Linux 5.3, or pretends to be Linux.
    Unsupported,
    /// The program was still running at the deadline and was killed.
    OutOfTime(Duration),
    /// The thread is no more; its end will be, or was, reported.
    Gone(Thread),
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "{fault}"),
            Self::Forbidden(error) => {
                write!(f, "the kernel does not let this process trace another: {error}")
            }
            Self::Unsupported => write!(f, "the kernel does not say what a system call was asked"),
            Self::OutOfTime(deadline) => write!(f, "the program was still running after {deadline:?}"),
            Self::Gone(thread) => write!(f, "thread {thread} is gone"),
        }
    }
}

impl std::error::Error for Trouble {}

/// How a thread or process came to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Birth {
    /// A process with a copy of the memory, and so of the breakpoints.
    Forked,
    /// A process that shares memory and breakpoints with its parent, which waits until it ends or executes.
    Vforked,
    /// Anything else, a thread above all.
    Cloned,
}

/// Why a thread stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// It is new and has not run yet. Comes after its parent's [`Born`](Self::Born).
    Begun,
    /// It enters a system call.
    Entered(Entered),
    /// It leaves a system call.
    Left {
        /// What the kernel answered; −4095 to −1 is an error's number, negated.
        result: i64,
    },
    /// It met a breakpoint, or what looks like one.
    Trapped {
        /// Where the instruction stands.
        at: u64,
    },
    /// It made a process or a thread, which is followed too.
    Born {
        /// Its number.
        child: Thread,
        /// How.
        how: Birth,
    },
    /// Its vforked child no longer shares its memory.
    Released,
    /// It runs another program now.
    Executed,
    /// A signal is about to be delivered, if it goes on with it.
    Signal(i32),
    /// It is no more. It cannot be resumed.
    Ended(End),
}

/// How far a thread runs when it is resumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Until {
    /// To the next system call, its entry or its end, or to an event.
    SystemCall,
    /// To an event.
    Event,
}

/// A breakpoint that was planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// Where.
    pub at: u64,
    /// What stood there.
    was: [u8; registers::BREAK.len()],
}

/// The followed threads that have not been waited for, shared with the thread that keeps the time.
#[derive(Default)]
struct Living {
    threads: BTreeSet<Thread>,
    late: bool,
}

impl Living {
    /// Kills them all. Their numbers are theirs still: none is waited for while this is locked.
    fn kill(&self) {
        for pid in self.threads.iter().filter_map(|&thread| Pid::from_raw(thread)) {
            // One that has ended already is as good.
            let _ = kill_process(pid, Signal::KILL);
        }
    }
}

/// A program under ptrace, with all that it starts.
pub struct Tracee<'a> {
    living: &'a Mutex<Living>,
    deadline: Duration,
    leader: Thread,
    /// New threads, by which half of their birth has been seen.
    births: BTreeMap<Thread, Half>,
    /// New threads that are to be reported next.
    begun: VecDeque<Thread>,
    /// Every thread that has been told of and is there still.
    known: BTreeSet<Thread>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Half {
    /// The parent has told of it; it has not stopped yet.
    Announced,
    /// It has stopped; the parent has not told of it yet.
    Stopped,
}

/// Starts `command` under ptrace and does `work` with it, in a thread of its own, for `deadline` at the most.
///
/// The program stands before its first instruction. When `work` has ended, what is left of it is killed.
/// Memory is not bounded and standard streams are what `command` says.
///
/// # Errors
/// [`Trouble::Forbidden`] where tracing is not permitted, [`Trouble::OutOfTime`] where the deadline passed, a
/// fault where the program cannot be started, and what `work` says.
pub fn traced<T: Send>(
    command: Command,
    deadline: Duration,
    work: impl FnOnce(&mut Tracee<'_>) -> Result<T, Trouble> + Send,
) -> Result<T, Trouble> {
    let living = Mutex::new(Living::default());
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let life = || {
            // Dropped at the end of this thread, however it ends, and so seen by the one that keeps the time.
            let _done = done;
            let mut tracee = Tracee::launch(command, deadline, &living)?;
            work(&mut tracee)
        };
        let tracer = thread::Builder::new()
            .spawn_scoped(scope, life)
            .map_err(|error| Trouble::Fault(Fault::system("start a thread that traces", error)))?;
        if ended.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout) {
            let mut living = living.lock().unwrap_or_else(PoisonError::into_inner);
            living.late = true;
            living.kill();
        }
        tracer.join().unwrap_or(Err(Trouble::Fault(Fault::Panicked)))
    })
}

impl<'a> Tracee<'a> {
    /// Starts `command`, which stops at its first instruction.
    fn launch(mut command: Command, deadline: Duration, living: &'a Mutex<Living>) -> Result<Self, Trouble> {
        let name = command.get_program().to_string_lossy().into_owned();
        command.process_group(0);
        let parent = getpid();
        let prepared = move || {
            die_with(parent)?;
            // A core file would be left behind.
            setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
            request::trace_me()
        };
        // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and
        // takes no lock; an error is a number.
        unsafe { command.pre_exec(prepared) };
        let started = command.spawn().map_err(|error| match error.raw_os_error() {
            // A program that may not be executed answers EACCES.
            Some(libc::EPERM) => Trouble::Forbidden(error),
            _ => Trouble::Fault(Fault::system(format!("start `{name}`"), error)),
        })?;
        let leader = started.id().cast_signed();
        let tracee = Self {
            living,
            deadline,
            leader,
            births: BTreeMap::new(),
            begun: VecDeque::new(),
            known: BTreeSet::from([leader]),
        };
        tracee.lock().threads.insert(leader);
        // Until the options are set, the stop that follows execve looks like a signal.
        let status = tracee.wait_for_any()?.map(|(_, status)| status);
        if !status.is_some_and(|status| libc::WIFSTOPPED(status.as_raw())) {
            let error = io::Error::other("it ended before its first instruction");
            return Err(Fault::system(format!("trace `{name}`"), error).into());
        }
        request::follow(leader).map_err(|error| tracee.failed(leader, "follow", error))?;
        Ok(tracee)
    }

    /// The first thread of the program.
    pub fn leader(&self) -> Thread {
        self.leader
    }

    /// Waits until a thread stops; none when there is no thread left.
    ///
    /// # Errors
    /// [`Trouble::OutOfTime`] at the deadline; [`Trouble::Unsupported`] where the kernel cannot tell what a
    /// system call was asked; a fault where waiting fails.
    pub fn next_stop(&mut self) -> Result<Option<(Thread, Stop)>, Trouble> {
        loop {
            if let Some(thread) = self.begun.pop_front() {
                return Ok(Some((thread, Stop::Begun)));
            }
            let Some((thread, status)) = self.wait_for_any()? else { return Ok(None) };
            match self.understood(thread, status.as_raw()) {
                Ok(Some(stop)) => return Ok(Some((thread, stop))),
                // Killed while it was asked about: its end comes next.
                Ok(None) | Err(Trouble::Gone(_)) => {}
                Err(trouble) => return Err(trouble),
            }
        }
    }

    /// Lets a stopped thread go on, with `signal` if one is to be delivered.
    ///
    /// # Errors
    /// A fault where the kernel does not let it. That the thread has been killed meanwhile is no error.
    pub fn resume(&self, thread: Thread, until: Until, signal: Option<i32>) -> Result<(), Trouble> {
        match request::resume(thread, until == Until::SystemCall, signal.unwrap_or_default()) {
            Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            other => other.map_err(|error| self.failed(thread, "resume", error)),
        }
    }

    /// The registers of a stopped thread.
    ///
    /// # Errors
    /// [`Trouble::Gone`] where it has been killed meanwhile.
    pub fn registers(&self, thread: Thread) -> Result<Registers, Trouble> {
        request::registers(thread).map_err(|error| self.failed(thread, "read the registers of", error))
    }

    /// Where a function that a stopped thread has just entered returns to.
    ///
    /// # Errors
    /// As [`registers`](Self::registers), and where the stack cannot be read.
    pub fn return_address(&self, thread: Thread) -> Result<u64, Trouble> {
        let registers = self.registers(thread)?;
        match registers.link() {
            Some(link) => Ok(link),
            None => {
                let mut word = [0; 8];
                self.read(thread, registers.stack(), &mut word)?;
                Ok(u64::from_le_bytes(word))
            }
        }
    }

    /// Fills `bytes` from the memory of a stopped thread at `address`.
    ///
    /// # Errors
    /// A fault where that is not mapped.
    pub fn read(&self, thread: Thread, address: u64, bytes: &mut [u8]) -> Result<(), Trouble> {
        let read = self.memory(thread, false)?.read_exact_at(bytes, address);
        read.map_err(|error| self.failed(thread, "read the memory of", error))
    }

    /// As [`read`](Self::read), as far as memory goes: how many bytes there were.
    ///
    /// # Errors
    /// A fault where nothing is mapped at `address`.
    pub fn read_some(&self, thread: Thread, address: u64, bytes: &mut [u8]) -> Result<usize, Trouble> {
        let read = self.memory(thread, false)?.read_at(bytes, address);
        read.map_err(|error| self.failed(thread, "read the memory of", error))
    }

    /// Puts a breakpoint into the memory of a stopped thread, and of all that share it, at an instruction.
    ///
    /// # Errors
    /// A fault where that is not mapped.
    pub fn plant(&self, thread: Thread, at: u64) -> Result<Breakpoint, Trouble> {
        let memory = self.memory(thread, true)?;
        let mut was = [0; registers::BREAK.len()];
        let planted =
            memory.read_exact_at(&mut was, at).and_then(|()| memory.write_all_at(&registers::BREAK, at));
        planted.map_err(|error| self.failed(thread, "plant a breakpoint in", error))?;
        Ok(Breakpoint { at, was })
    }

    /// Takes a breakpoint out of the memory of a stopped thread.
    ///
    /// # Errors
    /// As [`plant`](Self::plant).
    pub fn lift(&self, thread: Thread, breakpoint: Breakpoint) -> Result<(), Trouble> {
        let written = self.memory(thread, true)?.write_all_at(&breakpoint.was, breakpoint.at);
        written.map_err(|error| self.failed(thread, "lift a breakpoint from", error))
    }

    /// Takes a breakpoint that a thread stopped at out of its memory, so that it goes on as if there had been
    /// none.
    ///
    /// # Errors
    /// As [`plant`](Self::plant) and [`registers`](Self::registers).
    pub fn step_back(&self, thread: Thread, breakpoint: Breakpoint) -> Result<(), Trouble> {
        self.lift(thread, breakpoint)?;
        let mut registers = self.registers(thread)?;
        registers.set_instruction(breakpoint.at);
        request::set_registers(thread, &registers)
            .map_err(|error| self.failed(thread, "set the registers of", error))
    }

    /// Waits until something has happened to a thread; none when there is none left.
    fn wait_for_any(&self) -> Result<Option<(Thread, WaitStatus)>, Trouble> {
        let options = WaitIdOptions::EXITED
            | WaitIdOptions::STOPPED
            | WaitIdOptions::NOWAIT
            | WaitIdOptions::from_bits_retain(request::threads_too().bits());
        loop {
            // Only looked at: a number must stay the thread's own as long as the keeper of time may kill it.
            // It is given back under the lock.
            match waitid(WaitId::All, options) {
                Ok(_) => {}
                Err(Errno::INTR) => continue,
                Err(Errno::CHILD) => return Ok(None),
                Err(error) => return Err(Fault::system("wait for a traced program", error).into()),
            }
            let mut living = self.lock();
            if living.late {
                return Err(Trouble::OutOfTime(self.deadline));
            }
            match wait(WaitOptions::NOHANG | request::threads_too()) {
                Ok(Some((pid, status))) => {
                    let thread = pid.as_raw_nonzero().get();
                    if libc::WIFSTOPPED(status.as_raw()) {
                        living.threads.insert(thread);
                    } else {
                        living.threads.remove(&thread);
                    }
                    return Ok(Some((thread, status)));
                }
                Ok(None) | Err(Errno::INTR) => {}
                Err(Errno::CHILD) => return Ok(None),
                Err(error) => return Err(Fault::system("wait for a traced program", error).into()),
            }
        }
    }

    /// What a status of wait(2) means; none where it is half of a birth.
    fn understood(&mut self, thread: Thread, status: i32) -> Result<Option<Stop>, Trouble> {
        if libc::WIFEXITED(status) {
            self.forget(thread);
            return Ok(Some(Stop::Ended(End::Exited(libc::WEXITSTATUS(status)))));
        }
        if libc::WIFSIGNALED(status) {
            self.forget(thread);
            return Ok(Some(Stop::Ended(End::Signalled(libc::WTERMSIG(status)))));
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let born = |how| {
            let child = request::message(thread).map_err(|error| self.failed(thread, "ask", error))?;
            Ok::<_, Trouble>((Thread::try_from(child).unwrap_or_default(), how))
        };
        let (child, how) = match event {
            libc::PTRACE_EVENT_FORK => born(Birth::Forked)?,
            libc::PTRACE_EVENT_VFORK => born(Birth::Vforked)?,
            libc::PTRACE_EVENT_CLONE => born(Birth::Cloned)?,
            libc::PTRACE_EVENT_VFORK_DONE => return Ok(Some(Stop::Released)),
            libc::PTRACE_EVENT_EXEC => {
                // A thread that executes takes the number of the first one, and the end of its own is never
                // told of (ptrace(2), "execve(2) under ptrace").
                let before = request::message(thread).map_err(|error| self.failed(thread, "ask", error))?;
                if let Some(before) = Thread::try_from(before).ok().filter(|&before| before != thread) {
                    self.lock().threads.remove(&before);
                    self.forget(before);
                }
                return Ok(Some(Stop::Executed));
            }
            _ if signal == libc::SIGTRAP | 0x80 => return self.system_call(thread).map(Some),
            _ if signal == libc::SIGTRAP => {
                let at = self.registers(thread)?.trapped_at();
                return Ok(Some(Stop::Trapped { at }));
            }
            // The stop that every new thread begins with. It may come before its parent tells of it.
            _ if signal == libc::SIGSTOP && self.births.get(&thread) == Some(&Half::Announced) => {
                self.births.remove(&thread);
                return Ok(Some(Stop::Begun));
            }
            _ if signal == libc::SIGSTOP && !self.known.contains(&thread) => {
                self.births.insert(thread, Half::Stopped);
                return Ok(None);
            }
            _ => return Ok(Some(Stop::Signal(signal))),
        };
        match self.births.remove(&child) {
            Some(Half::Stopped) => self.begun.push_back(child),
            _ => {
                self.births.insert(child, Half::Announced);
            }
        }
        self.known.insert(child);
        Ok(Some(Stop::Born { child, how }))
    }

    /// A number that is no thread's any more may be given to a new one, which is told of like any other.
    fn forget(&mut self, thread: Thread) {
        self.known.remove(&thread);
        self.births.remove(&thread);
    }

    /// What the kernel tells of a thread that stands at the entry or the end of a system call.
    fn system_call(&self, thread: Thread) -> Result<Stop, Trouble> {
        match request::system_call(thread) {
            Ok(Some(stop)) => Ok(stop),
            Ok(None) => Err(Trouble::Unsupported),
            Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)) => {
                Err(Trouble::Unsupported)
            }
            Err(error) => Err(self.failed(thread, "ask", error)),
        }
    }

    fn memory(&self, thread: Thread, written: bool) -> Result<File, Trouble> {
        // Opened each time: a file that stays open stays with the memory of before an execve.
        let opened = File::options().read(true).write(written).open(format!("/proc/{thread}/mem"));
        opened.map_err(|error| self.failed(thread, "open the memory of", error))
    }

    fn failed(&self, thread: Thread, tried: &str, error: io::Error) -> Trouble {
        match error.raw_os_error() {
            Some(libc::ESRCH | libc::ENOENT) => Trouble::Gone(thread),
            _ => Fault::system(format!("{tried} the traced thread {thread}"), error).into(),
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Living> {
        self.living.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Nothing that was traced outlives the trace.
impl Drop for Tracee<'_> {
    fn drop(&mut self) {
        self.lock().kill();
        loop {
            let mut living = self.lock();
            // Killed threads end at once, so that the keeper of time does not wait long for the lock.
            match wait(request::threads_too()) {
                Ok(Some((pid, status))) if libc::WIFSTOPPED(status.as_raw()) => {
                    // One that had just been born, or that stops on its way out.
                    let _ = kill_process(pid, Signal::KILL);
                    let _ = request::resume(pid.as_raw_nonzero().get(), false, 0);
                }
                Ok(Some((pid, _))) => {
                    living.threads.remove(&pid.as_raw_nonzero().get());
                }
                Ok(None) | Err(Errno::INTR) => {}
                Err(_) => return,
            }
        }
    }
}
