//! A command of which every system call is counted: each thread stops at the entry and the exit of each call
//! (ptrace(2)), and this program looks at the clock.
//!
//! It needs no rights but those over its own children, and no programs in the kernel. It costs tens of
//! microseconds a call, as strace does. The command is seized (`PTRACE_SEIZE`): so signals and the stops of
//! job control are told apart and passed on. The kernel kills all that is traced when the thread that traces
//! ends (`PTRACE_O_EXITKILL`), however that comes.
//!
//! The kernel lets only the thread that seized a process ask about it, and that thread waits for it. So one
//! thread traces, and the one that asked starts the command and keeps the time.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitStatus, getpid, getppid, kill_process, pidfd_open,
    pidfd_send_signal, wait, waitid, waitpid,
};
use syscalls::Sysno;
use tenbin_model::order::Order;
use tenbin_model::profile::Kind;

use crate::child::{End, Undisturbed, die_with};
use crate::fault::Fault;
use crate::profiler::{Cost, call_time, length, nanoseconds_now};
use crate::tracee::request::threads_too;
use crate::tracee::{Entered, Stop, Thread as Number, Trouble, request};

/// Calls that the child makes before it executes the command, to see what tracing one costs.
const TRIALS: usize = 200;

/// Threads that are kept one by one.
const LISTED: usize = 4096;

/// Numbers of calls that have a row of their own; the last row is for all others.
const NUMBERED: usize = 512;

/// Lengths that are told apart: less than 2 ns, then from 2, 4, 8 … ns on.
const LENGTHS: usize = 48;

/// The call that names a thread, with its first argument.
const RENAMES: (Sysno, u64) = (Sysno::prctl, libc::PR_SET_NAME as u64);

/// All calls of a number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Calls {
    /// Its name; none where it has none here.
    pub name: Option<&'static str>,
    /// Those that returned.
    pub count: u64,
    /// Those of them that failed.
    pub errors: u64,
    /// From entry to exit, in ns.
    pub total: u64,
    /// The longest one, in ns.
    pub longest: u64,
    /// How many took less than 2 ns, then from 2, 4, 8 … ns on.
    pub lengths: Vec<u64>,
    /// Those that had not returned when the command ended.
    pub in_flight: u64,
}

/// What a thread did, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Life {
    /// Its process.
    pub process: u32,
    /// Its own number.
    pub thread: u32,
    /// Its name, as it was born with or gave itself.
    pub name: String,
    /// From its start to its end, or until the command ended.
    pub wall: u64,
    /// In calls that are more than a wait ([`Kind::Call`]).
    pub in_calls: u64,
    /// In calls that only wait ([`Kind::Wait`]).
    pub in_waits: u64,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// How its first process ended.
    pub end: End,
    /// From the call that executed it to the end of its first process, in ns.
    pub wall: u64,
    /// By call.
    pub calls: Vec<Calls>,
    /// In the order in which they ended, up to a limit.
    pub lives: Vec<Life>,
    /// Threads that are not in `lives`.
    pub more: u64,
    /// Threads that lived when its first process ended, and were let go.
    pub let_go: u64,
    /// Stops, of calls and others.
    pub stops: u64,
    /// What tracing a call costs, both of its stops.
    pub cost: Cost,
}

/// A call that has not returned.
struct Open {
    row: usize,
    entered: u64,
    renames: bool,
}

/// A thread that lives.
struct Living {
    process: Number,
    name: String,
    began: u64,
    call: Option<Open>,
    in_calls: u64,
    in_waits: u64,
}

/// The calls of a number, and whether they only wait.
struct Row {
    calls: Calls,
    waits: bool,
}

/// What traces.
struct Tracer<'a> {
    leader: Number,
    /// The architecture of this program, as the kernel has it.
    native: Option<u32>,
    late: &'a AtomicBool,
    executed: Option<u64>,
    /// It tells who started it that it could not execute the command, and is traced no more: that thread
    /// waits for it then, and would take its stops for its end.
    gave_up: bool,
    /// It has tried to execute the command.
    tried: bool,
    rows: Vec<Row>,
    living: BTreeMap<Number, Living>,
    /// Process and name of those that were told of and have not stopped for the first time.
    births: BTreeMap<Number, (Number, String)>,
    lives: Vec<Life>,
    more: u64,
    stops: u64,
    trial: Trial,
}

/// Entries and exits of the calls that were made to try it.
#[derive(Default)]
struct Trial {
    entered: Vec<u64>,
    left: Vec<u64>,
}

/// Runs `command` to its end or to its deadline as [`crate::child::through`] does, and counts its calls. At
/// the deadline all of it is killed. What of it outlives its first process is let go.
///
/// # Errors
/// [`Trouble::Forbidden`] and [`Trouble::Unsupported`] where the kernel does not let this process trace
/// another; a fault where the command cannot be started or followed.
pub fn run(mut command: Command, deadline: Duration) -> Result<Counted, Trouble> {
    let name = command.get_program().to_string_lossy().into_owned();
    let fault = |what: &str, error: io::Error| Fault::system(format!("{what} `{name}`"), error);
    let bare = call_time();
    let undisturbed = Undisturbed::begin().map_err(|error| fault("prepare for", error))?;
    let as_it_was = undisturbed.as_it_was();
    let (ours, theirs) = UnixStream::pair().map_err(|error| fault("prepare for", error))?;
    let parent = getpid();
    let prepared = move || {
        die_with(parent)?;
        as_it_was()?;
        rustix::io::write(&theirs, &getpid().as_raw_nonzero().get().to_ne_bytes())?;
        // It is traced when it is answered; else there is nothing to read.
        if rustix::io::read(&theirs, &mut [0])? == 0 {
            return Err(Errno::CANCELED.into());
        }
        for _ in 0..TRIALS {
            std::hint::black_box(getppid());
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes
    // no lock; an error is a number.
    unsafe { command.pre_exec(prepared) };
    let (late, first) = (AtomicBool::new(false), OnceLock::new());
    let (done, ended) = mpsc::channel::<()>();
    thread::scope(|scope| {
        let (late, first) = (&late, &first);
        let life = move || {
            // Dropped at the end of this thread, however it ends, and so seen by the one that keeps the time.
            let _done = done;
            trace(ours, first, late)
        };
        let tracer = thread::Builder::new()
            .spawn_scoped(scope, life)
            .map_err(|error| Fault::system("start a thread that traces", error))?;
        let started = command.spawn();
        // Its end of the pair, without which the tracer waits for nobody.
        drop(command);
        if started.is_ok() && ended.recv_timeout(deadline) == Err(RecvTimeoutError::Timeout) {
            late.store(true, Ordering::Relaxed);
            // It wakes the tracer, with which all others end. That it has ended already is as good.
            let _ = first.get().map(|first| pidfd_send_signal(first, Signal::KILL));
        }
        let traced = tracer.join().unwrap_or(Err(Trouble::Fault(Fault::Panicked)));
        match (started, traced) {
            // What the tracer could not do is why it was not started.
            (_, Err(trouble)) => Err(trouble),
            (Err(error), Ok(_)) => Err(fault("start", error).into()),
            (Ok(_), Ok(None)) => {
                Err(fault("follow", io::Error::other("it ended before its first instruction")).into())
            }
            (Ok(_), Ok(Some((counted, trial)))) => {
                Ok(Counted { cost: trial.cost(bare.map_or(0, |bare| bare.0 / 1000)), ..counted })
            }
        }
    })
}

/// Seizes who announces itself, answers, and follows it; none where it executed nothing.
fn trace(
    mut pair: UnixStream,
    first: &OnceLock<OwnedFd>,
    late: &AtomicBool,
) -> Result<Option<(Counted, Trial)>, Trouble> {
    let mut number = [0; 4];
    if pair.read_exact(&mut number).is_err() {
        return Ok(None);
    }
    let leader = Number::from_ne_bytes(number);
    let seized = seize(leader, first);
    // It must not wait for an answer for ever.
    let answered = seized.and_then(|()| {
        pair.write_all(&[1]).map_err(|error| Fault::system("start a traced command", error).into())
    });
    if let Err(trouble) = answered {
        let _ = pair.shutdown(std::net::Shutdown::Both);
        return Err(trouble);
    }
    let mut tracer = Tracer::new(leader, late);
    if !tracer.until_executed()? {
        return Ok(None);
    }
    let (end, now) = tracer.until_ended()?;
    let left = tracer.all_end(now);
    let let_go = release(left, end == End::OutOfTime)?;
    Ok(Some(tracer.counted(end, let_go, now)))
}

/// Has a process that waits stop at each of its calls from now on.
fn seize(leader: Number, first: &OnceLock<OwnedFd>) -> Result<(), Trouble> {
    let failed = |error: io::Error| match error.raw_os_error() {
        Some(libc::EPERM | libc::ENOSYS | libc::EIO) => Trouble::Forbidden(error),
        _ => Fault::system("trace a command", error).into(),
    };
    let pid = Pid::from_raw(leader).ok_or_else(|| failed(Errno::SRCH.into()))?;
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| failed(error.into()))?;
    let _ = first.set(pidfd);
    request::seize(leader).map_err(failed)?;
    request::interrupt(leader).map_err(failed)?;
    loop {
        match waitpid(Some(pid), threads_too()) {
            Ok(Some((_, status))) if libc::WIFSTOPPED(status.as_raw()) => break,
            Ok(_) | Err(Errno::INTR) => {}
            Err(error) => return Err(failed(error.into())),
        }
    }
    request::resume(leader, true, 0).map_err(failed)
}

impl<'a> Tracer<'a> {
    fn new(leader: Number, late: &'a AtomicBool) -> Self {
        let row = |number: usize| {
            let name = Sysno::new(number).map(|call| call.name());
            let waits = name.is_some_and(|name| Kind::of_call(name) == Kind::Wait);
            let name = name.filter(|_| number < NUMBERED);
            let (count, errors, total, longest, in_flight) = (0, 0, 0, 0, 0);
            let lengths = vec![0; LENGTHS];
            Row { calls: Calls { name, count, errors, total, longest, lengths, in_flight }, waits }
        };
        Self {
            leader,
            native: None,
            late,
            executed: None,
            gave_up: false,
            tried: false,
            rows: (0..=NUMBERED).map(row).collect(),
            living: BTreeMap::from([(leader, Living::born(leader, String::new(), 0))]),
            births: BTreeMap::new(),
            lives: Vec::new(),
            more: 0,
            stops: 0,
            trial: Trial::default(),
        }
    }

    /// Follows the first process until it executes the command; false where it ends before. Then its end is
    /// left to who started it.
    fn until_executed(&mut self) -> Result<bool, Trouble> {
        let pid = Pid::from_raw(self.leader);
        let what = WaitIdOptions::EXITED
            | WaitIdOptions::STOPPED
            | WaitIdOptions::NOWAIT
            | WaitIdOptions::from_bits_retain(threads_too().bits());
        while self.executed.is_none() {
            match pid.map(|pid| waitid(WaitId::Pid(pid), what)) {
                Some(Err(Errno::INTR)) => continue,
                Some(Ok(Some(status))) if !status.exited() && !status.killed() && !status.dumped() => {}
                _ => return Ok(false),
            }
            if let Ok(Some((_, status))) = waitpid(pid, threads_too()) {
                self.handle(self.leader, status, nanoseconds_now())?;
            }
            if self.gave_up {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Follows all threads until the first process has ended: how, and when.
    fn until_ended(&mut self) -> Result<(End, u64), Trouble> {
        loop {
            let (thread, status) = match wait(threads_too()) {
                Ok(Some((pid, status))) => (pid.as_raw_nonzero().get(), status),
                Ok(None) | Err(Errno::INTR) => continue,
                Err(error) => return Err(Fault::system("wait for a traced command", error).into()),
            };
            let now = nanoseconds_now();
            let ended = self.handle(thread, status, now)?;
            if self.late.load(Ordering::Relaxed) {
                return Ok((End::OutOfTime, now));
            }
            if let Some(end) = ended.filter(|_| thread == self.leader) {
                return Ok((end, now));
            }
        }
    }

    /// What became of a thread, which is resumed unless it has ended: then how.
    fn handle(&mut self, thread: Number, status: WaitStatus, now: u64) -> Result<Option<End>, Trouble> {
        let status = status.as_raw();
        if libc::WIFEXITED(status) || libc::WIFSIGNALED(status) {
            self.births.remove(&thread);
            if let Some(living) = self.living.remove(&thread) {
                self.ends(thread, living, now);
            }
            let exited = libc::WIFEXITED(status);
            return Ok(Some(if exited {
                End::Exited(libc::WEXITSTATUS(status))
            } else {
                End::Signalled(libc::WTERMSIG(status))
            }));
        }
        self.stops += 1;
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        if !self.living.contains_key(&thread) {
            let (process, name) = self.births.remove(&thread).unwrap_or((0, String::new()));
            self.living.insert(thread, Living::born(process, name, now));
        }
        let resumed = match event {
            libc::PTRACE_EVENT_STOP if signal != libc::SIGTRAP => request::listen(thread),
            0 if signal == libc::SIGTRAP | 0x80 => {
                match request::system_call(thread) {
                    Ok(Some(Stop::Entered(call))) => self.enters(thread, &call, now),
                    Ok(Some(Stop::Left { result })) => self.leaves(thread, result, now),
                    Ok(_) => return Err(Trouble::Unsupported),
                    Err(error) if matches!(error.raw_os_error(), Some(libc::EIO | libc::EINVAL)) => {
                        return Err(Trouble::Unsupported);
                    }
                    // Killed while it was asked about: its end comes next.
                    Err(_) => {}
                }
                if self.gave_up { request::detach(thread, 0) } else { request::resume(thread, true, 0) }
            }
            0 => request::resume(thread, true, signal),
            libc::PTRACE_EVENT_EXEC => {
                self.executes(thread, now);
                request::resume(thread, true, 0)
            }
            libc::PTRACE_EVENT_FORK | libc::PTRACE_EVENT_VFORK | libc::PTRACE_EVENT_CLONE => {
                if let Ok(child) = request::message(thread) {
                    self.bears(thread, Number::try_from(child).unwrap_or_default(), event);
                }
                request::resume(thread, true, 0)
            }
            _ => request::resume(thread, true, 0),
        };
        match resumed {
            Err(error) if error.raw_os_error() != Some(libc::ESRCH) => {
                Err(Fault::system(format!("resume the traced thread {thread}"), error).into())
            }
            // One that was killed meanwhile has its end told of next.
            _ => Ok(None),
        }
    }

    fn enters(&mut self, thread: Number, call: &Entered, now: u64) {
        // The first one is of this program, before it executes another.
        let native = *self.native.get_or_insert(call.architecture) == call.architecture;
        if self.executed.is_none() {
            let is = |known: Sysno| call.number == known as u64;
            if is(Sysno::getppid) {
                self.trial.entered.push(now);
            }
            // The standard library writes to a pipe why it failed.
            self.gave_up |= self.tried && is(Sysno::write);
            self.tried |= is(Sysno::execve);
        }
        let row = usize::try_from(call.number).ok().filter(|&row| native && row < NUMBERED);
        let renames = native && (call.number, call.arguments[0]) == (RENAMES.0 as u64, RENAMES.1);
        if let Some(living) = self.living.get_mut(&thread) {
            living.call = Some(Open { row: row.unwrap_or(NUMBERED), entered: now, renames });
        }
    }

    fn leaves(&mut self, thread: Number, result: i64, now: u64) {
        // The exit of a call that was entered before it was seized has no entry.
        let Some(living) = self.living.get_mut(&thread) else { return };
        let Some(open) = living.call.take() else { return };
        if self.executed.is_none() {
            if open.row == Sysno::getppid as usize {
                self.trial.left.push(now);
            }
            return;
        }
        if open.renames {
            living.name = name_of(thread);
        }
        let took = now.saturating_sub(open.entered);
        let Row { calls, waits } = &mut self.rows[open.row];
        calls.count += 1;
        calls.errors += u64::from((-4095..0).contains(&result));
        calls.total += took;
        calls.longest = calls.longest.max(took);
        calls.lengths[(took.max(1).ilog2() as usize).min(LENGTHS - 1)] += 1;
        *if *waits { &mut living.in_waits } else { &mut living.in_calls } += took;
    }

    /// A thread that executes takes the number of the first one of its process, and neither the end of that
    /// nor of its own number is told of (ptrace(2), "execve(2) under ptrace").
    fn executes(&mut self, thread: Number, now: u64) {
        let before = request::message(thread).ok().and_then(|it| Number::try_from(it).ok());
        if let Some(before) = before.filter(|&before| before != thread)
            && let Some(living) = self.living.remove(&before)
            && let Some(first) = self.living.insert(thread, living)
        {
            self.ends(thread, first, now);
        }
        let Some(living) = self.living.get_mut(&thread) else { return };
        living.process = thread;
        living.name = name_of(thread);
        if self.executed.is_none() {
            living.began = living.call.as_ref().map_or(now, |call| call.entered);
            self.executed = Some(living.began);
            self.stops = 0;
        }
    }

    fn bears(&mut self, parent: Number, child: Number, event: i32) {
        let Some(parent) = self.living.get(&parent) else { return };
        let is_thread = event == libc::PTRACE_EVENT_CLONE
            && fs::exists(format!("/proc/{}/task/{child}", parent.process)).unwrap_or(false);
        let process = if is_thread { parent.process } else { child };
        let name = parent.name.clone();
        match self.living.get_mut(&child) {
            // It stopped for the first time before its parent told of it.
            Some(living) => (living.process, living.name) = (process, name),
            None => drop(self.births.insert(child, (process, name))),
        }
    }

    fn ends(&mut self, thread: Number, mut living: Living, now: u64) {
        if let Some(open) = living.call.take() {
            let took = now.saturating_sub(open.entered);
            let row = &mut self.rows[open.row];
            // Its time is known, and that it never returned.
            row.calls.total += took;
            *if row.waits { &mut living.in_waits } else { &mut living.in_calls } += took;
        }
        if self.lives.len() == LISTED {
            self.more += 1;
            return;
        }
        let process = if living.process == 0 { thread } else { living.process };
        self.lives.push(Life {
            process: process.unsigned_abs(),
            thread: thread.unsigned_abs(),
            name: living.name,
            wall: now.saturating_sub(living.began),
            in_calls: living.in_calls,
            in_waits: living.in_waits,
        });
    }

    /// Nothing is counted any more. Calls that have not returned are in flight only where a thread lives on.
    fn all_end(&mut self, now: u64) -> Vec<Number> {
        let living = std::mem::take(&mut self.living);
        let numbers = living.keys().copied().collect();
        for (thread, living) in living {
            if let Some(open) = &living.call {
                self.rows[open.row].calls.in_flight += 1;
            }
            self.ends(thread, living, now);
        }
        numbers
    }

    fn counted(self, end: End, let_go: u64, now: u64) -> (Counted, Trial) {
        let calls = self.rows.into_iter().map(|row| row.calls);
        let calls = calls.filter(|calls| calls.count + calls.in_flight + calls.total > 0);
        let counted = Counted {
            end,
            wall: now.saturating_sub(self.executed.unwrap_or(now)),
            calls: calls.collect(),
            lives: self.lives,
            more: self.more,
            let_go,
            stops: self.stops,
            cost: Cost { each: length(0), between: length(0) },
        };
        (counted, self.trial)
    }
}

/// Lets go of all that this thread traces, or kills it: how many threads that were. These are known; whoever
/// is born meanwhile stops by himself.
fn release(known: Vec<Number>, kills: bool) -> Result<u64, Trouble> {
    let kill = |thread: Number| Pid::from_raw(thread).map(|pid| kill_process(pid, Signal::KILL));
    let mut left = 0;
    for thread in known {
        // One that has ended is as good. One that is stopped stops once more.
        if kills {
            let _ = kill(thread);
        } else {
            let _ = request::interrupt(thread);
        }
    }
    loop {
        let (thread, status) = match wait(threads_too()) {
            Ok(Some((pid, status))) => (pid.as_raw_nonzero().get(), status.as_raw()),
            Ok(None) | Err(Errno::INTR) => continue,
            Err(Errno::CHILD) => return Ok(left),
            Err(error) => return Err(Fault::system("wait for a traced command", error).into()),
        };
        if !libc::WIFSTOPPED(status) {
            continue;
        }
        if kills {
            let _ = kill(thread);
            let _ = request::resume(thread, false, 0);
            continue;
        }
        let (signal, event) = (libc::WSTOPSIG(status), status >> 16);
        let is_signal = event == 0 && signal != libc::SIGTRAP | 0x80;
        if request::detach(thread, if is_signal { signal } else { 0 }).is_ok() {
            left += 1;
        }
    }
}

impl Living {
    fn born(process: Number, name: String, began: u64) -> Self {
        Self { process, name, began, call: None, in_calls: 0, in_waits: 0 }
    }
}

impl Trial {
    /// What tracing a call cost, of one that takes so many nanoseconds without.
    fn cost(&self, bare: u64) -> Cost {
        let periods = self.entered.windows(2).map(|pair| pair[1] - pair[0]).collect();
        let gaps =
            self.left.iter().zip(self.entered.iter().skip(1)).map(|(left, next)| next - left).collect();
        Cost { each: length(middle(periods).saturating_sub(bare)), between: length(middle(gaps)) }
    }
}

/// The one in the middle.
fn middle(mut values: Vec<u64>) -> u64 {
    values.order();
    values.get(values.len() / 2).copied().unwrap_or(0)
}

/// The name of a thread, as the kernel has it.
fn name_of(thread: Number) -> String {
    let name = fs::read(format!("/proc/{thread}/comm")).unwrap_or_default();
    String::from_utf8_lossy(name.trim_ascii_end()).into_owned()
}
