//! What the threads of a command are in at moments, as `/proc` shows it: their states, the calls in which
//! they wait, and what the scheduler charged them with.
//!
//! It needs no rights but those over its own children. A thread of this program reads
//! `/proc/PID/task/TID/stat`, `schedstat` and, of one that waits, `syscall` (proc(5)), and takes of one CPU
//! no more than [`SHARE`] in the mean. What lives between two snapshots is not seen.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::Read;
use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, WaitOptions, getpid, waitpid};
use rustix::time::ClockId;
use syscalls::Sysno;

use crate::child::{End, through_from};
use crate::clock::nanoseconds;
use crate::descendants::{Descendants, children, numbers};
use crate::fault::Fault;
use crate::profiler::nanoseconds_now;

/// The time between two snapshots, where taking them is not too dear.
pub const PERIOD: Duration = Duration::from_millis(5);

/// One part in so many of a CPU's time goes to snapshots at most.
pub const SHARE: u32 = 33;

/// Where a thread was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Where {
    /// On a CPU, or queued for one.
    Runnable,
    /// Waiting in a call, by its name; none where it has none here.
    Call(Option<&'static str>),
    /// Waiting, and in no call: in a page fault.
    Fault,
    /// Waiting, and the kernel does not say in what.
    Hidden,
    /// It has ended, and was not waited for.
    Ended,
}

/// A thread at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its process.
    pub process: u32,
    /// Its own number.
    pub thread: u32,
    /// When it began, in the kernel's ticks since the boot: with its number it is unlike all others.
    pub began: u64,
    /// Its name.
    pub name: String,
    /// Where it was.
    pub place: Where,
    /// For how long it had been on a CPU and queued for one, in ns; none where the kernel does not say.
    pub scheduled: Option<(u64, u64)>,
    /// User and system time, in the kernel's ticks.
    pub ticks: (u64, u64),
}

/// How a command went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// How its first process ended.
    pub end: End,
    /// From when it was executed to the end of its first process, in ns.
    pub wall: u64,
    /// What snapshots took of a CPU, in ns.
    pub spent: u64,
}

/// Whether this process can look at threads.
///
/// # Errors
/// What the kernel said.
pub fn can_look() -> Result<(), Fault> {
    let path = format!("/proc/self/task/{}/stat", getpid());
    fs::read(&path).map(drop).map_err(|error| Fault::system(format!("read {path}"), error))
}

/// Runs `command` to its end or to its deadline as [`crate::child::through`] does, and gives each snapshot of
/// its threads to `each` with its moment in ns, from a thread of its own. At the deadline all of it is
/// killed.
///
/// # Errors
/// A fault where the command cannot be started or watched.
pub fn watch(
    command: Command,
    deadline: Duration,
    each: &mut (dyn FnMut(u64, &[Seen]) + Send),
) -> Result<Watched, Fault> {
    let descendants = Descendants::adopt()?;
    let (start, started) = mpsc::channel::<Pid>();
    let ended = thread::scope(|scope| {
        let descendants = &descendants;
        let (done, over) = mpsc::channel::<()>();
        let life = move || {
            let Ok(first) = started.recv() else { return 0 };
            let mut spent = 0;
            loop {
                let before = cpu_time();
                each(nanoseconds_now(), &look_at(descendants, first));
                let took = cpu_time().saturating_sub(before);
                spent += took;
                let rest = PERIOD.max(Duration::from_nanos(took) * SHARE);
                if over.recv_timeout(rest) != Err(RecvTimeoutError::Timeout) {
                    return spent;
                }
            }
        };
        let sampler = thread::Builder::new()
            .spawn_scoped(scope, life)
            .map_err(|error| Fault::system("start a thread that takes snapshots", error))?;
        let mut began = 0;
        let end = through_from(command, deadline, |first| {
            began = nanoseconds_now();
            let _ = start.send(first);
        });
        let wall = nanoseconds_now().saturating_sub(began);
        // Without them the other thread ends.
        drop((start, done));
        let spent = sampler.join().map_err(|_| Fault::Panicked)?;
        end.map(|end| Watched { end, wall, spent })
    });
    if ended.as_ref().is_ok_and(|watched| watched.end == End::OutOfTime) {
        descendants.kill();
    }
    ended
}

/// All threads of the command of which `first` is the first process.
fn look_at(command: &Descendants, first: Pid) -> Vec<Seen> {
    let mut next = command.children();
    let orphans: BTreeSet<i32> =
        next.iter().copied().filter(|&it| Pid::from_raw(it) != Some(first)).collect();
    let (mut seen, mut processes) = (Vec::new(), BTreeSet::new());
    while let Some(process) = next.pop() {
        if !processes.insert(process) {
            continue;
        }
        for thread in numbers(&format!("/proc/{process}/task")) {
            next.extend(children(process, thread));
            seen.extend(look(process, thread));
        }
        // An orphan of the command that has ended is nobody else's to wait for; the first process is
        // waited for by who started it.
        let ended = |last: &Seen| (last.process, last.place) == (process.unsigned_abs(), Where::Ended);
        if orphans.contains(&process) && seen.last().is_some_and(ended) {
            let _ = Pid::from_raw(process).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
        }
    }
    seen
}

/// Reads a file into `text`: whether there was anything.
fn read(path: &str, text: &mut String) -> bool {
    text.clear();
    File::open(path).and_then(|mut file| file.read_to_string(text)).is_ok() && !text.is_empty()
}

/// A thread; none where it is no more.
fn look(process: i32, thread: i32) -> Option<Seen> {
    let folder = format!("/proc/{process}/task/{thread}");
    let mut text = String::new();
    let scheduled = if read(&format!("{folder}/schedstat"), &mut text) { scheduled(&text) } else { None };
    // What has a name that is no text is read all the same.
    let stat = fs::read(format!("{folder}/stat")).ok()?;
    let Stat { name, state, ticks, began } = Stat::read(&String::from_utf8_lossy(&stat))?;
    let place = match state {
        'R' => Where::Runnable,
        'Z' | 'X' => Where::Ended,
        _ if read(&format!("{folder}/syscall"), &mut text) => place(&text),
        _ => Where::Hidden,
    };
    let (process, thread) = (process.unsigned_abs(), thread.unsigned_abs());
    Some(Seen { process, thread, began, name, place, scheduled, ticks })
}

/// What a line of `/proc/TID/schedstat` says; none where nothing is counted (`CONFIG_SCHED_INFO`).
fn scheduled(text: &str) -> Option<(u64, u64)> {
    let mut words = text.split_whitespace().map(str::parse);
    let (on_cpu, queued) = (words.next()?.ok()?, words.next()?.ok()?);
    Some((on_cpu, queued)).filter(|&both| both != (0, 0))
}

/// What a line of `/proc/TID/syscall` says.
fn place(text: &str) -> Where {
    match text.split_whitespace().next() {
        // It was woken between two readings.
        Some("running") => Where::Runnable,
        Some("-1") => Where::Fault,
        Some(number) => number
            .parse()
            .map_or(Where::Hidden, |number| Where::Call(Sysno::new(number).map(|call| call.name()))),
        None => Where::Hidden,
    }
}

/// What is read of a line of `/proc/TID/stat`.
#[derive(Debug, PartialEq, Eq)]
struct Stat {
    name: String,
    state: char,
    ticks: (u64, u64),
    began: u64,
}

impl Stat {
    fn read(text: &str) -> Option<Self> {
        // A name may hold brackets and blanks.
        let (name, rest) = text.split_once('(')?.1.rsplit_once(')')?;
        let words: Vec<&str> = rest.split_whitespace().collect();
        let number = |place: usize| words.get(place)?.parse().ok();
        // Counted from the state, which is the third field of proc(5).
        let (ticks, began) = ((number(11)?, number(12)?), number(19)?);
        Some(Self { name: name.into(), state: words.first()?.chars().next()?, ticks, began })
    }
}

/// What this thread has taken of a CPU, in ns.
fn cpu_time() -> u64 {
    nanoseconds(ClockId::ThreadCPUTime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_proc_are_read_whatever_a_name_holds() {
        let line = "7 (a) R (b) S 1 7 7 0 -1 4194304 10 0 0 0 12 34 0 0 20 0 1 0 5678 1000 1";
        let stat = Stat::read(line).unwrap();
        assert_eq!(stat, Stat { name: "a) R (b".into(), state: 'S', ticks: (12, 34), began: 5678 });
        assert_eq!(Stat::read("7 (a) S 1"), None);
        assert_eq!(Stat::read(""), None);
    }

    #[test]
    fn a_thread_is_in_a_call_a_fault_or_running() {
        let call = format!("{} 0x0 0x0 0x0 0x0 0x0 0x0 0x7ffc 0x7f00\n", Sysno::read as u32);
        assert_eq!(place(&call), Where::Call(Some("read")));
        assert_eq!(place("-1 0x7ffc 0x7f00\n"), Where::Fault);
        assert_eq!(place("running\n"), Where::Runnable);
        assert_eq!(place("100000 0x0\n"), Where::Call(None));
        assert_eq!(place(""), Where::Hidden);
    }

    #[test]
    fn what_is_not_counted_is_not_known() {
        assert_eq!(scheduled("12 34 5\n"), Some((12, 34)));
        assert_eq!(scheduled("0 0 0\n"), None);
        assert_eq!(scheduled("\n"), None);
    }

    /// This thread looks at one that waits.
    #[test]
    fn a_thread_that_waits_is_seen_in_its_call() {
        let (end, ended) = mpsc::channel::<()>();
        let (tell, number) = mpsc::channel();
        let waits = thread::spawn(move || {
            tell.send(rustix::thread::gettid().as_raw_nonzero().get()).unwrap();
            let _ = ended.recv();
        });
        let thread = number.recv().unwrap();
        let own = getpid().as_raw_nonzero().get();
        let seen = loop {
            let seen = look(own, thread).unwrap();
            if seen.place != Where::Runnable {
                break seen;
            }
            thread::yield_now();
        };
        drop(end);
        waits.join().unwrap();
        // Some sandboxes do not say in which call.
        assert!([Where::Call(Some("futex")), Where::Hidden].contains(&seen.place), "{seen:?}");
        assert_eq!(seen.thread, thread.unsigned_abs());
    }
}
