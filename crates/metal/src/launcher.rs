//! Commands, started by a small process and timed from just before to just after.
//!
//! Whoever starts a command is in its figures: the kernel takes the peak memory of the process that called
//! `execve` for the new program's own (`exec_mmap` in `fs/exec.c`), and copying a large parent takes time. So
//! commands are started by a helper, this program once more before it has done anything, which has a
//! megabyte. It starts them as posix_spawn(3) does, by a child that borrows its memory (`CLONE_VM |
//! CLONE_VFORK`), and is told which by a socket.
//!
//! Nothing stays behind: the helper adopts whatever its commands leave running (`PR_SET_CHILD_SUBREAPER`,
//! prctl(2)), ends that after each of them, and ends everything and itself when the socket is closed, which
//! the kernel does however its parent ends.

mod placement;
mod remains;
mod starter;
mod wire;

use std::ffi::CString;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{MemfdFlags, memfd_create};
use rustix::io::Errno;
use tenbin_model::{Bytes, Cpu, Picoseconds};

use crate::counters::Counts;
use crate::fault::Fault;
use crate::interrupt;
use crate::spawn::{countdown_program, empty_program};
use crate::usage::{Usage, WORDS};

/// A command to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Launch {
    /// The path of its program.
    pub program: CString,
    /// Its arguments, its own name first.
    pub arguments: Vec<CString>,
    /// Variables of its environment beside this process's own, each as `NAME=VALUE`.
    pub environment: Vec<CString>,
    /// The folder in which it runs; none for this process's own.
    pub folder: Option<CString>,
    /// The CPUs on which it may run; none for all that this process may use.
    pub cpus: Vec<Cpu>,
    /// The CPU on which its program begins, and from which it may go to any of those at once; none for
    /// wherever the kernel puts it.
    pub first: Option<Cpu>,
    /// The file that is its standard input; none for `/dev/null`.
    pub input: Option<CString>,
    /// Where its standard output goes.
    pub output: Sink,
    /// Where its standard error goes.
    pub errors: Sink,
    /// When it is ended if it has not ended by itself.
    pub deadline: Duration,
    /// Whether processes that it leaves running may go on.
    pub leaves: bool,
    /// Whether whoever starts it becomes as small as it can before, which takes some microseconds and lets
    /// smaller peaks be seen.
    pub small: bool,
    /// Whether hardware counts what it does.
    pub counted: bool,
}

/// Where a stream of a command goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sink {
    /// To `/dev/null`.
    Null,
    /// Into a pipe whose reader drops everything.
    Discard,
    /// Where this process's own goes.
    Inherit,
    /// Into a pipe whose reader hands everything over.
    HandOver,
    /// Into this file, which is made or cut off before.
    File(CString),
}

/// A stream of a command that is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Errors,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProcessEnd {
    /// It ended itself, with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// This signal stopped it, as `SIGTTIN` does who reads from a terminal in the background; it was ended.
    Stopped(i32),
    /// It was still running at its deadline and was ended.
    OutOfTime,
    /// This process was asked to end meanwhile, and so it was ended.
    Cancelled,
}

/// What was measured of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Launched {
    /// How it ended.
    pub end: ProcessEnd,
    /// From just before it was started until its end was known (`CLOCK_MONOTONIC`).
    pub elapsed: Picoseconds,
    /// What the kernel charged it with, and those of its children that it waited for (wait4(2)).
    pub usage: Usage,
    /// The most memory that was resident at a time, in it or in one of those children.
    pub peak_memory: Bytes,
    /// What hardware counted of it; none where that was not asked for, or was counted only now and then.
    pub counts: Option<Counts>,
    /// Processes that it left running, which were ended unless it may leave some.
    pub left: u64,
    /// The CPU of the helper when it started it. Where it ran is the scheduler's to choose.
    pub cpu: Cpu,
}

/// The steps towards a command, for what can be said of one that failed.
const STEPS: [&str; 9] = [
    "open the input of",
    "open the output of",
    "make a pipe for",
    "make a process for",
    "enter the folder of",
    "place on its CPUs",
    "start",
    "wait for",
    "count the instructions of",
];

/// A helper that starts commands.
#[derive(Debug)]
pub struct Launcher {
    socket: UnixStream,
    helper: Child,
}

/// The variable by which the helper knows that it is one: it has its parent's number.
const VARIABLE: &str = "TENBIN_LAUNCHER";

/// How long the helper may take to be there, and to be gone: it ends processes before.
const MOMENT: Duration = Duration::from_secs(20);

/// How often somebody who waits looks whether to stop.
const LOOK: Timespec = Timespec { tv_sec: 0, tv_nsec: 100_000_000 };

impl Launcher {
    /// Starts a helper.
    ///
    /// # Errors
    /// [`Fault::System`] where no process or socket can be made.
    pub fn start() -> Result<Self, Fault> {
        let fault = |error: io::Error| Fault::system("start a process that starts commands", error);
        let (ours, theirs) = UnixStream::pair().map_err(fault)?;
        let mut command = Command::new("/proc/self/exe");
        command.env(VARIABLE, std::process::id().to_string());
        command.stdin(Stdio::from(OwnedFd::from(theirs))).process_group(0);
        let helper = command.spawn().map_err(fault)?;
        // Until it is dropped this holds the other end of the socket open.
        drop(command);
        let mut launcher = Self { socket: ours, helper };
        launcher.socket.set_read_timeout(Some(MOMENT)).map_err(fault)?;
        let ready = wire::read_frame(&mut launcher.socket).map_err(fault)?;
        if ready.is_none_or(|(kind, _)| kind != wire::READY) {
            return Err(fault(ErrorKind::BrokenPipe.into()));
        }
        Ok(launcher)
    }

    /// A program that ends at once, in memory, and the path by which it can be run while the descriptor is
    /// open.
    ///
    /// # Errors
    /// [`Fault::System`] when there can be no such file.
    pub fn empty_program() -> Result<(OwnedFd, CString), Fault> {
        with_path(empty_program()?)
    }

    /// A program that counts down from `turns`, each turn waiting for the one before, and ends with status 0:
    /// in memory, with its path, as [`Launcher::empty_program`].
    ///
    /// # Errors
    /// [`Fault::System`] when there can be no such file.
    pub fn countdown(turns: u64) -> Result<(OwnedFd, CString), Fault> {
        with_path(countdown_program(turns)?)
    }

    /// Runs a command to its end. What it writes to a stream that is handed over is given to `heard` as it
    /// comes. Where `yields`, it is ended when this process is asked to end (see [`interrupt`]).
    ///
    /// # Errors
    /// [`Fault::System`] where it cannot be started. How it ends is no fault.
    pub fn run(
        &mut self,
        launch: &Launch,
        yields: bool,
        heard: &mut dyn FnMut(Stream, &[u8]),
    ) -> Result<Launched, Fault> {
        let name = launch.program.to_string_lossy();
        let lost = |error: io::Error| Fault::system(format!("have `{name}` started"), error);
        let bytes = launch.encode();
        // In one write: the helper is woken once.
        let frame = [&wire::header(wire::LAUNCH, bytes.len()), bytes.as_slice()].concat();
        self.socket.write_all(&frame).map_err(lost)?;
        let mut cancelled = false;
        loop {
            // Also where it writes and writes.
            if yields && !cancelled && interrupt::requested().is_some() {
                wire::write_frame(&mut self.socket, wire::CANCEL, &[]).map_err(lost)?;
                cancelled = true;
            }
            if !self.readable().map_err(lost)? {
                continue;
            }
            let frame = wire::read_frame(&mut self.socket).map_err(lost)?;
            let (kind, bytes) = frame.ok_or_else(|| lost(ErrorKind::BrokenPipe.into()))?;
            match kind {
                wire::OUTPUT => heard(Stream::Output, &bytes),
                wire::ERRORS => heard(Stream::Errors, &bytes),
                wire::ENDED => {
                    return Launched::read(&bytes).ok_or_else(|| lost(ErrorKind::InvalidData.into()));
                }
                _ => {
                    let [step, error] = wire::as_numbers(&bytes).unwrap_or_default();
                    let step = STEPS.get(step as usize).copied().unwrap_or("start");
                    let error = io::Error::from_raw_os_error(error as i32);
                    return Err(Fault::system(format!("{step} `{name}`"), error));
                }
            }
        }
    }

    fn readable(&self) -> io::Result<bool> {
        match poll(&mut [PollFd::new(&self.socket, PollFlags::IN)], Some(&LOOK)) {
            Ok(ready) => Ok(ready > 0),
            Err(Errno::INTR) => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        // The end of the stream is what it waits for. That it is gone already is no error.
        let _ = self.socket.shutdown(std::net::Shutdown::Write);
        let until = Instant::now() + MOMENT;
        while matches!(self.readable(), Ok(false)) && Instant::now() < until {}
        let _ = self.helper.kill();
        let _ = self.helper.wait();
    }
}

/// A file in memory that holds `bytes`, and the path by which others can open it while the descriptor is
/// open.
///
/// # Errors
/// [`Fault::System`] where there is no memory for it.
pub fn in_memory(bytes: &[u8]) -> Result<(OwnedFd, CString), Fault> {
    let file = memfd_create("tenbin-input", MemfdFlags::CLOEXEC);
    let mut file = File::from(file.map_err(|error| Fault::system("memfd_create", error))?);
    file.write_all(bytes).map_err(|error| Fault::system("write a file in memory", error))?;
    with_path(file.into())
}

/// A file with a path of this process's descriptor, which another process can open.
fn with_path(file: OwnedFd) -> Result<(OwnedFd, CString), Fault> {
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    let path = CString::new(path).map_err(|error| Fault::system("name a file in memory", error))?;
    Ok((file, path))
}

/// Numbers of [`Launched`] on the wire.
const NUMBERS: usize = 7 + WORDS;

/// A count that is not known.
const UNKNOWN: u64 = u64::MAX;

impl Launched {
    fn words(&self) -> Vec<u64> {
        let (kind, number) = match self.end {
            ProcessEnd::Exited(status) => (0, status),
            ProcessEnd::Signalled(signal) => (1, signal),
            ProcessEnd::Stopped(signal) => (2, signal),
            ProcessEnd::OutOfTime => (3, 0),
            ProcessEnd::Cancelled => (4, 0),
        };
        let counts = [
            self.counts.map_or(UNKNOWN, |counts| counts.instructions),
            self.counts.map_or(UNKNOWN, |counts| counts.cycles),
        ];
        let first = [kind | (number as u64) << 8, self.elapsed.0];
        let after = [self.peak_memory.0, self.left, u64::from(self.cpu.0)];
        [&first[..], &self.usage.words(), &after, &counts].concat()
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let [end, elapsed, rest @ ..] = wire::as_numbers::<NUMBERS>(bytes)?;
        let [usage @ .., peak_memory, left, cpu, instructions, cycles] = rest;
        let number = (end >> 8) as i32;
        let end = match end & 0xff {
            0 => ProcessEnd::Exited(number),
            1 => ProcessEnd::Signalled(number),
            2 => ProcessEnd::Stopped(number),
            3 => ProcessEnd::OutOfTime,
            _ => ProcessEnd::Cancelled,
        };
        Some(Self {
            end,
            elapsed: Picoseconds(elapsed),
            usage: Usage::of_words(usage),
            peak_memory: Bytes(peak_memory),
            counts: (instructions != UNKNOWN).then_some(Counts { instructions, cycles }),
            left,
            cpu: Cpu(cpu as u32),
        })
    }
}

#[cfg(test)]
mod tests;
