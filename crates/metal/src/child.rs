//! A child process that cannot get away: bounded in time, memory and output, and dead when its parent is.
//!
//! What is examined may crash, hang, scribble or fork. So a child and all that it starts are a process group,
//! led by a guardian: a process that does nothing but wait for the end of this one, however that comes, and
//! then kills the group. The group is killed as well when the child has ended or its deadline has passed. A
//! descendant that leaves the group (setsid(2)) is not followed, but for the time of [`Orphans`]. The child
//! itself is also killed by the kernel when the thread that started it ends (`PR_SET_PDEATHSIG`, prctl(2)).

mod dialogue;

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::mem::take;
use std::os::fd::{AsFd, AsRawFd, OwnedFd, RawFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};
use std::{fmt, io};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, child_subreaper, getpid, getppid, getrlimit,
    kill_current_process_group, kill_process, kill_process_group, pidfd_open, set_child_subreaper,
    set_parent_process_death_signal, setrlimit, waitpid,
};
use rustix::thread::sched_setaffinity;
use rustix::time::ClockId;
use tenbin_model::Cpu;

pub use dialogue::{Dialogue, Reply};

use crate::clock::nanoseconds;
use crate::fault::Fault;
use crate::pin::only;
use crate::signals::{Held, action, default, dispose};

/// How long a child that was killed may take to be gone. One that sleeps in a driver that has lost its way is
/// not gone until the driver lets it go, which may be never.
const FAREWELL: Duration = Duration::from_secs(10);

/// In a child that was just forked: has the kernel kill it when the thread that forked it ends.
///
/// A parent that is gone already would never be told of: then somebody else is the parent by now, and the
/// child has to end by itself. It makes two system calls, allocates nothing and locks nothing.
///
/// # Errors
/// `ESRCH` where `parent`, the process that forked, is gone; and what the kernel said.
pub(crate) fn die_with(parent: Pid) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// Longer than any command: a deadline for one that has none.
pub const EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// What a child may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The time from its start to its end.
    pub deadline: Duration,
    /// Bytes of address space (`RLIMIT_AS`); none for no bound.
    pub memory: Option<u64>,
    /// Bytes of a file that it writes (`RLIMIT_FSIZE`): more ends it by `SIGXFSZ`, or is refused. None for no
    /// bound.
    pub file: Option<u64>,
    /// Bytes of standard output and of standard error that are kept, each. The rest is read and dropped.
    pub output: usize,
    /// The CPU on which it runs, with all that it starts; none for any.
    pub cpu: Option<Cpu>,
}

impl Bounds {
    /// A deadline, no bound on memory and files, 1 MiB of output.
    pub fn within(deadline: Duration) -> Self {
        Self { deadline, memory: None, file: None, output: 1 << 20, cpu: None }
    }

    /// Has this process and those that it starts keep them. It makes system calls only.
    fn impose(&self) -> Result<(), Errno> {
        if let Some(cpu) = self.cpu {
            sched_setaffinity(None, &only(cpu)?)?;
        }
        // A core file would be left behind.
        let resources =
            [(Resource::Core, Some(0)), (Resource::As, self.memory), (Resource::Fsize, self.file)];
        for (resource, bound) in resources {
            let Some(bound) = bound else { continue };
            // One that is lower already stays.
            let bound = Some(getrlimit(resource).maximum.map_or(bound, |maximum| maximum.min(bound)));
            setrlimit(resource, Rlimit { current: bound, maximum: bound })?;
        }
        Ok(())
    }
}

/// How a child ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// It ended itself, with this status.
    Exited(i32),
    /// This signal ended it.
    Signalled(i32),
    /// It was still running at its deadline and was killed.
    OutOfTime,
}

impl End {
    /// Whether it ended itself and calls that a success.
    pub fn success(self) -> bool {
        self == Self::Exited(0)
    }
}

impl From<ExitStatus> for End {
    fn from(status: ExitStatus) -> Self {
        match status.code() {
            Some(code) => Self::Exited(code),
            None => Self::Signalled(status.signal().unwrap_or_default()),
        }
    }
}

impl fmt::Display for End {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exited(code) => ExitStatus::from_raw(code << 8).fmt(f),
            Self::Signalled(signal) => ExitStatus::from_raw(*signal).fmt(f),
            Self::OutOfTime => f.write_str("still running at its deadline"),
        }
    }
}

/// A child that has ended, and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub end: End,
    /// Its standard output, up to the bound.
    pub stdout: Vec<u8>,
    /// Its standard error, up to the bound.
    pub stderr: Vec<u8>,
    /// From its start to its end.
    pub time: Duration,
}

/// Runs `command` to its end or to its deadline with the standard input, output and error that it says, those
/// of this process unless it says otherwise, and in this process's group: a terminal stays the child's to
/// read, and what interrupts this process interrupts the child. What the child starts itself is not ended
/// with it.
///
/// As in system(3), a terminal's interrupt and quit (`SIGINT`, `SIGQUIT`) are the child's alone to answer
/// while it runs.
///
/// # Errors
/// A fault where the child cannot be started or watched. How it ends is no fault.
pub fn through(command: Command, deadline: Duration) -> Result<End, Fault> {
    through_from(command, deadline, |_| {})
}

/// As [`through`]. `begun` is given the number of the process when it executes the command.
///
/// # Errors
/// As [`through`].
pub(crate) fn through_from(
    mut command: Command,
    deadline: Duration,
    begun: impl FnOnce(Pid),
) -> Result<End, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let fault = |what: &str, error: io::Error| Fault::system(format!("{what} `{name}`"), error);
    let undisturbed = Undisturbed::begin().map_err(|error| fault("prepare for", error))?;
    let as_it_was = undisturbed.as_it_was();
    let parent = getpid();
    let as_it_was = move || {
        die_with(parent)?;
        as_it_was()
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes
    // no lock; sigaction(2) may be called there.
    unsafe { command.pre_exec(as_it_was) };
    let started = Instant::now();
    let mut running = Alone(command.spawn().map_err(|error| fault("start", error))?);
    let pid = Pid::from_child(&running.0);
    begun(pid);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| fault("watch", error.into()))?;
    loop {
        let left = deadline.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(End::OutOfTime);
        }
        if wait_for(&pidfd, &[], left).map_err(|error| fault("watch", error))? {
            return running.0.wait().map(End::from).map_err(|error| fault("wait for", error));
        }
    }
}

/// The time for which this process ignores what a terminal sends to interrupt and to quit; then it is as it
/// was.
pub(crate) struct Undisturbed {
    was: [(i32, libc::sigaction); 2],
}

impl Undisturbed {
    /// What a child does before it executes, to answer them as this process did before. It makes system calls
    /// only, allocates nothing and takes no lock.
    pub(crate) fn as_it_was(&self) -> impl Fn() -> io::Result<()> + Send + Sync + 'static {
        let was = self.was;
        move || was.iter().try_for_each(|(signal, was)| dispose(*signal, Some(was)).map(drop))
    }

    /// From now on.
    pub(crate) fn begin() -> Result<Self, io::Error> {
        let ignored = action(libc::SIG_IGN);
        let interrupt = (libc::SIGINT, dispose(libc::SIGINT, Some(&ignored))?);
        let quit = dispose(libc::SIGQUIT, Some(&ignored)).inspect_err(|_| {
            let _ = dispose(interrupt.0, Some(&interrupt.1));
        })?;
        Ok(Self { was: [interrupt, (libc::SIGQUIT, quit)] })
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        for (signal, was) in &self.was {
            // What the kernel gave out it takes back.
            let _ = dispose(*signal, Some(was));
        }
    }
}

/// The time since an unnamed point in the past, the same for all processes (`CLOCK_MONOTONIC`).
pub fn monotonic() -> Duration {
    Duration::from_nanos(nanoseconds(ClockId::Monotonic))
}

/// The time for which this process is the parent of whatever its descendants leave behind
/// (`PR_SET_CHILD_SUBREAPER`, prctl(2)). When it is over, those are killed and waited for.
///
/// For a program that starts no other children from its first thread meanwhile: that thread gets the orphans.
#[derive(Debug)]
pub struct Orphans {
    before: Vec<Pid>,
    was: Option<Pid>,
}

impl Orphans {
    /// From now on.
    ///
    /// # Errors
    /// A fault where the kernel does not let this process be what it asks for.
    pub fn adopt() -> Result<Self, Fault> {
        let was = adopt_orphans()?;
        Ok(Self { before: children(), was })
    }
}

/// Has this process be the parent of what its descendants leave behind, and gives who was.
pub(crate) fn adopt_orphans() -> Result<Option<Pid>, Fault> {
    let was = child_subreaper().and_then(|was| set_child_subreaper(Some(getpid())).map(|()| was));
    was.map_err(|error| Fault::system("become the parent of orphans", error))
}

impl Drop for Orphans {
    fn drop(&mut self) {
        end_all(|| children().into_iter().filter(|child| !self.before.contains(child)).collect());
        let _ = set_child_subreaper(self.was);
    }
}

/// Ends children of this process until none is `left`.
pub(crate) fn end_all(left: impl Fn() -> Vec<Pid>) {
    // One that is ended may leave others behind, which come here too. Each is waited for, so this ends.
    loop {
        let left = left();
        if left.is_empty() {
            return;
        }
        for child in left {
            // Our own child, and so there until it is waited for, as a zombie at least.
            let _ = kill_process(child, Signal::KILL);
            let _ = waitpid(Some(child), WaitOptions::empty());
        }
    }
}

/// The children of this process's first thread, as the kernel lists them; none where it does not.
pub(crate) fn children() -> Vec<Pid> {
    let listed =
        std::fs::read_to_string(format!("/proc/self/task/{}/children", getpid())).unwrap_or_default();
    listed.split_whitespace().filter_map(|it| Pid::from_raw(it.parse().ok()?)).collect()
}

/// A child without a group of its own, killed when it is dropped, and waited for.
struct Alone(Child);

impl Drop for Alone {
    fn drop(&mut self) {
        // That it has ended already is no error: `Child` knows once it was waited for, and then does nothing.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs `command` to its end or to its deadline, and keeps what it writes. Its standard input is what
/// `command` says.
///
/// # Errors
/// A fault where the child cannot be started or watched. How it ends is no fault.
pub fn run(mut command: Command, bounds: Bounds) -> Result<Finished, Fault> {
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut running = start(command, bounds)?;
    let end = running.follow(&mut |_| {})?;
    let (stdout, stderr) = (take(&mut running.stdout.kept), take(&mut running.stderr.kept));
    Ok(Finished { end, stdout, stderr, time: running.time })
}

/// As [`run`], with each line that it writes to standard output given to `each` as it comes, without its end,
/// and nothing kept. Standard error is what `command` says.
///
/// # Errors
/// As [`run`].
pub fn feed(mut command: Command, bounds: Bounds, each: &mut dyn FnMut(&[u8])) -> Result<End, Fault> {
    command.stdout(Stdio::piped());
    let mut running = start(command, Bounds { output: usize::MAX, ..bounds })?;
    let end = running.follow(&mut |stdout: &mut Vec<u8>| {
        while let Some(length) = stdout.iter().position(|&byte| byte == b'\n') {
            each(&stdout[..length]);
            stdout.drain(..=length);
        }
    })?;
    if !running.stdout.kept.is_empty() {
        each(&running.stdout.kept);
    }
    Ok(end)
}

/// Starts `command` and lets it run, with the standard input, output and error that it says. The deadline is
/// of interest to [`Running::wait`] alone.
///
/// # Errors
/// As [`run`].
pub fn start(mut command: Command, bounds: Bounds) -> Result<Running, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let fault = |what: &str, error: io::Error| Fault::system(format!("{what} `{name}`"), error);
    let guardian = Guardian::start().map_err(|error| fault("guard", error))?;
    command.process_group(guardian.group().as_raw_nonzero().get());
    let parent = getpid();
    let bounded = move || {
        die_with(parent)?;
        // What this process was told to ignore is no business of the child's. Those two cannot be ignored.
        for signal in (1..32).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP].contains(signal)) {
            default(signal)?;
        }
        bounds.impose().map_err(io::Error::from)
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes
    // no lock; rustix turns them into bare instructions, and sigaction(2) may be called there.
    unsafe { command.pre_exec(bounded) };
    let started = Instant::now();
    let mut child = command.spawn().map_err(|error| fault("start", error))?;
    let stdout = Stream::new(child.stdout.take().map(OwnedFd::from), bounds.output);
    let stderr = Stream::new(child.stderr.take().map(OwnedFd::from), bounds.output);
    // Its own child: it exists, as a zombie at least, until it is waited for.
    let pidfd = match pidfd_open(Pid::from_child(&child), PidfdFlags::empty()) {
        Ok(pidfd) => pidfd,
        Err(error) => {
            drop(guardian);
            let _ = child.wait();
            return Err(fault("watch", error.into()));
        }
    };
    let (deadline, time) = (bounds.deadline, Duration::ZERO);
    Ok(Running { name, child, pidfd, guardian, deadline, started, time, stdout, stderr })
}

/// A child that was started. It is killed with its group when this is dropped, and waited for.
#[derive(Debug)]
pub struct Running {
    name: String,
    child: Child,
    pidfd: OwnedFd,
    guardian: Guardian,
    deadline: Duration,
    started: Instant,
    /// From its start to its end.
    time: Duration,
    stdout: Stream,
    stderr: Stream,
}

impl Running {
    /// Waits for its end or its deadline; then what is left of its group is killed.
    ///
    /// # Errors
    /// A fault where the child cannot be watched.
    pub fn wait(mut self) -> Result<End, Fault> {
        self.follow(&mut |_| {})
    }

    /// Reads what it writes until it has ended. `heard` is called whenever there may be more of standard
    /// output.
    fn follow(&mut self, heard: &mut dyn FnMut(&mut Vec<u8>)) -> Result<End, Fault> {
        let mut out_of_time = false;
        loop {
            let left = self.deadline.saturating_sub(self.started.elapsed());
            out_of_time = out_of_time || left.is_zero();
            if out_of_time || self.ended(left).map_err(|error| self.fault("watch", error))? {
                break;
            }
            self.drain(heard)?;
        }
        self.time = self.started.elapsed();
        let end = self.end();
        self.drain(heard)?;
        match end.map_err(|error| self.fault("wait for", error))? {
            Some(status) if !out_of_time => Ok(status.into()),
            _ => Ok(End::OutOfTime),
        }
    }

    fn drain(&mut self, heard: &mut dyn FnMut(&mut Vec<u8>)) -> Result<(), Fault> {
        let drained = self.stdout.drain().and_then(|()| self.stderr.drain());
        drained.map_err(|error| self.fault("read the output of", error))?;
        heard(&mut self.stdout.kept);
        Ok(())
    }

    /// Whether it has ended, waiting until it has or a stream has something to say, at most `left`.
    fn ended(&self, left: Duration) -> io::Result<bool> {
        wait_for(&self.pidfd, &[&self.stdout, &self.stderr], left)
    }

    /// Kills what is left of the group and collects the child, if it can die.
    fn end(&mut self) -> io::Result<Option<ExitStatus>> {
        self.guardian.end();
        let until = Instant::now() + FAREWELL;
        // Whoever waits without an end for one that cannot die has no deadline.
        while self.child.try_wait()?.is_none() && Instant::now() < until {
            let left = until.saturating_duration_since(Instant::now());
            wait_for(&self.pidfd, &[], left)?;
        }
        self.child.try_wait()
    }

    fn fault(&self, what: &str, error: io::Error) -> Fault {
        Fault::system(format!("{what} `{}`", self.name), error)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // There is nobody here to tell.
        let _ = self.end();
    }
}

/// The process that leads a group and kills it, itself included, when this process is no more.
#[derive(Debug)]
struct Guardian {
    process: Child,
    /// It was waited for: its number may be another's by now.
    reaped: bool,
}

impl Guardian {
    /// A group with nobody in it but its guardian, which is this program once more, forked and never
    /// executed.
    fn start() -> io::Result<Self> {
        let parent = pidfd_open(getpid(), PidfdFlags::empty())?;
        let stand_guard = move || {
            // What a terminal or anybody else sends to the group is for others. They stay blocked for ever.
            std::mem::forget(Held::all().map_err(|_| Errno::PERM)?);
            // With them goes the pipe by which `spawn` is told of an exec: from now on the parent knows that
            // it stands.
            close_all_but(parent.as_raw_fd());
            // Only a stop interrupts it; then it waits on.
            while poll(&mut [PollFd::new(&parent, PollFlags::IN)], None).is_err() {}
            kill_current_process_group(Signal::KILL).map_err(io::Error::from)
        };
        let mut command = Command::new("/proc/self/exe");
        // SAFETY: the closure runs after a fork. It makes system calls only, allocates nothing and takes no
        // lock, and the call at its end ends this process. That it closes descriptors of others is nothing to
        // those: a forked process has its own.
        unsafe { command.pre_exec(stand_guard) };
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self { process: command.process_group(0).spawn()?, reaped: false })
    }

    fn group(&self) -> Pid {
        Pid::from_child(&self.process)
    }

    fn end(&mut self) {
        // The guardian's number is the group's as long as it has not been waited for. It may have been killed
        // by one of its group, and even then there may be others. That nobody is left is no error.
        if !self.reaped {
            let _ = kill_process_group(self.group(), Signal::KILL);
            let _ = self.process.wait();
        }
        self.reaped = true;
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        self.end();
    }
}

/// Closes all descriptors of this process but one, which is none of the standard ones.
fn close_all_but(kept: RawFd) {
    let all = |first: libc::c_uint, last: libc::c_uint| {
        // SAFETY: numbers and no address. The caller, a forked process, uses no other descriptor any more.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) == 0 }
    };
    let number = kept.cast_unsigned();
    if all(0, number - 1) && all(number + 1, libc::c_uint::MAX) {
        return;
    }
    // Before Linux 5.9.
    let limit = getrlimit(Resource::Nofile).current.unwrap_or(1 << 20);
    for other in (0..i32::try_from(limit).unwrap_or(i32::MAX)).filter(|&other| other != kept) {
        // SAFETY: as above.
        unsafe { libc::close(other) };
    }
}

/// Waits until the child has ended (true) or a stream has something to say or ended (false), at most `left`.
fn wait_for(pidfd: &OwnedFd, streams: &[&Stream], left: Duration) -> Result<bool, io::Error> {
    let open = streams.iter().filter_map(|stream| stream.from.as_ref());
    let mut watched = vec![PollFd::new(pidfd, PollFlags::IN)];
    watched.extend(open.map(|from| PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)));
    // Whoever has more time asks again, and the kernel takes no time that is beyond its clocks.
    let left = left.min(Duration::from_secs(3600));
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    match poll(&mut watched, Some(&left)) {
        Ok(_) => Ok(!watched[0].revents().is_empty()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// One stream of the child, read without waiting.
#[derive(Debug)]
struct Stream {
    from: Option<File>,
    kept: Vec<u8>,
    most: usize,
}

impl Stream {
    fn new(from: Option<OwnedFd>, most: usize) -> Self {
        let from = from.map(|from| {
            // A pipe that stays blocking would only make a read wait for output that comes anyway.
            if let Ok(flags) = fcntl_getfl(&from) {
                let _ = fcntl_setfl(&from, flags | OFlags::NONBLOCK);
            }
            File::from(from)
        });
        Self { from, kept: Vec::new(), most }
    }

    fn drain(&mut self) -> Result<(), io::Error> {
        let mut part = [0; 1 << 16];
        while let Some(from) = &mut self.from {
            match from.read(&mut part) {
                Ok(0) => self.from = None,
                Ok(read) => {
                    let room = self.most.saturating_sub(self.kept.len()).min(read);
                    self.kept.extend_from_slice(&part[..room]);
                }
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
