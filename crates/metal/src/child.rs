//! A child process that cannot get away: bounded in time, memory and output, and dead when its parent is.
//!
//! What is examined may crash, hang, scribble or fork. So it runs in a process group of its own, which is killed as a
//! whole when the deadline passes, and the kernel kills the child if the thread that started it ends first
//! (`PR_SET_PDEATHSIG`, prctl(2)). A descendant that leaves the group is not followed, but for the time of [`Orphans`].

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::io::Errno;
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, WaitOptions, child_subreaper, getpid, getppid, kill_process,
    kill_process_group, pidfd_open, set_child_subreaper, set_parent_process_death_signal, setrlimit, waitpid,
};
use rustix::time::{ClockId, clock_gettime};

use crate::fault::Fault;

/// In a child that was just forked: has the kernel kill it when the thread that forked it ends.
///
/// A parent that is gone already would never be told of: then somebody else is the parent by now, and the child has to
/// end by itself. It makes two system calls, allocates nothing and locks nothing.
///
/// # Errors
/// `ESRCH` where `parent`, the process that forked, is gone; and what the kernel said.
pub(crate) fn die_with(parent: Pid) -> Result<(), Errno> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    if getppid() == Some(parent) { Ok(()) } else { Err(Errno::SRCH) }
}

/// What a child may use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The time from its start to its end.
    pub deadline: Duration,
    /// Bytes of address space (`RLIMIT_AS`); none for no bound.
    pub memory: Option<u64>,
    /// Bytes of standard output and of standard error that are kept, each. The rest is read and dropped.
    pub output: usize,
}

impl Bounds {
    /// A deadline, no bound on memory, 1 MiB of output.
    pub fn within(deadline: Duration) -> Self {
        Self { deadline, memory: None, output: 1 << 20 }
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

/// A child that has ended, and what it wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// How.
    pub end: End,
    /// Its standard output, up to the bound.
    pub stdout: Vec<u8>,
    /// Its standard error, up to the bound.
    pub stderr: Vec<u8>,
}

/// Runs `command` to its end or to its deadline with the standard input, output and error that it says, those of this
/// process unless it says otherwise, and in this process's group: a terminal stays the child's to read, and what
/// interrupts this process interrupts the child. What the child starts itself is not ended with it.
///
/// As in system(3), a terminal's interrupt and quit (`SIGINT`, `SIGQUIT`) are the child's alone to answer while it runs.
///
/// # Errors
/// A fault where the child cannot be started or watched. How it ends is no fault.
pub fn through(mut command: Command, deadline: Duration) -> Result<End, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let fault = |what: &str, error: std::io::Error| Fault::system(format!("{what} `{name}`"), error);
    let undisturbed = Undisturbed::begin().map_err(|error| fault("prepare for", error))?;
    let was = undisturbed.was;
    let parent = getpid();
    let as_it_was = move || {
        die_with(parent)?;
        was.iter().try_for_each(|(signal, was)| dispose(*signal, was).map(drop))
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes no
    // lock; sigaction(2) may be called there.
    unsafe { command.pre_exec(as_it_was) };
    let started = Instant::now();
    let mut running = Alone(command.spawn().map_err(|error| fault("start", error))?);
    let pid = Pid::from_child(&running.0);
    let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|error| fault("watch", error.into()))?;
    loop {
        let left = deadline.saturating_sub(started.elapsed());
        if left.is_zero() {
            return Ok(End::OutOfTime);
        }
        if wait_for(&pidfd, &[], left).map_err(|error| fault("watch", error))? {
            let status = running.0.wait().map_err(|error| fault("wait for", error))?;
            return Ok(match status.code() {
                Some(code) => End::Exited(code),
                None => End::Signalled(status.signal().unwrap_or_default()),
            });
        }
    }
}

/// The time for which this process ignores what a terminal sends to interrupt and to quit; then it is as it was.
struct Undisturbed {
    was: [(i32, libc::sigaction); 2],
}

impl Undisturbed {
    fn begin() -> Result<Self, std::io::Error> {
        // SAFETY: all bytes zero are a value of this structure: no flags, an empty mask, the default action.
        let mut ignored: libc::sigaction = unsafe { std::mem::zeroed() };
        ignored.sa_sigaction = libc::SIG_IGN;
        let interrupt = (libc::SIGINT, dispose(libc::SIGINT, &ignored)?);
        let quit = dispose(libc::SIGQUIT, &ignored).inspect_err(|_| {
            let _ = dispose(interrupt.0, &interrupt.1);
        })?;
        Ok(Self { was: [interrupt, (libc::SIGQUIT, quit)] })
    }
}

impl Drop for Undisturbed {
    fn drop(&mut self) {
        for (signal, was) in &self.was {
            // What the kernel gave out it takes back.
            let _ = dispose(*signal, was);
        }
    }
}

/// Sets what a signal does, and gives what it did. `action` ignores it, or is what an earlier call gave.
fn dispose(signal: i32, action: &libc::sigaction) -> Result<libc::sigaction, std::io::Error> {
    // SAFETY: all bytes zero are a value of this structure: no flags, an empty mask, the default action.
    let mut was: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: both point to structures that outlive the call. No handler is set that was not set before: the callers
    // in this file pass the action that ignores, or one that this function gave.
    let answer = unsafe { libc::sigaction(signal, action, &raw mut was) };
    if answer == 0 { Ok(was) } else { Err(std::io::Error::last_os_error()) }
}

/// The time since an unnamed point in the past, the same for all processes (`CLOCK_MONOTONIC`).
pub fn monotonic() -> Duration {
    let now = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(now.tv_sec).unwrap_or(0), u32::try_from(now.tv_nsec).unwrap_or(0))
}

/// The time for which this process is the parent of whatever its descendants leave behind (`PR_SET_CHILD_SUBREAPER`,
/// prctl(2)). When it is over, those are killed and waited for.
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
        let fault = |error: rustix::io::Errno| Fault::system("become the parent of orphans", error);
        let was = child_subreaper().map_err(fault)?;
        set_child_subreaper(Some(getpid())).map_err(fault)?;
        Ok(Self { before: children(), was })
    }
}

impl Drop for Orphans {
    fn drop(&mut self) {
        // One that is killed may leave others behind, which come here too.
        loop {
            let left: Vec<Pid> =
                children().into_iter().filter(|child| !self.before.contains(child)).collect();
            if left.is_empty() {
                break;
            }
            for child in left {
                // Our own child, and so there until it is waited for, as a zombie at least.
                let _ = kill_process(child, Signal::KILL);
                let _ = waitpid(Some(child), WaitOptions::empty());
            }
        }
        let _ = set_child_subreaper(self.was);
    }
}

/// The children of this process's first thread, as the kernel lists them; none where it does not.
fn children() -> Vec<Pid> {
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

/// Runs `command` to its end or to its deadline. Its standard input is what `command` says.
///
/// # Errors
/// A fault where the child cannot be started or watched. How it ends is no fault.
pub fn run(mut command: Command, bounds: Bounds) -> Result<Finished, Fault> {
    let name = command.get_program().to_string_lossy().into_owned();
    let fault = |what: &str, error: std::io::Error| Fault::system(format!("{what} `{name}`"), error);
    command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped());
    let (memory, parent) = (bounds.memory, getpid());
    let bounded = move || {
        die_with(parent)?;
        // A core file would be left behind.
        setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) })?;
        if memory.is_some() {
            setrlimit(Resource::As, Rlimit { current: memory, maximum: memory })?;
        }
        Ok(())
    };
    // SAFETY: the closure runs between fork and exec. It makes system calls only, allocates nothing and takes no
    // lock; rustix turns them into bare instructions.
    unsafe { command.pre_exec(bounded) };
    let started = Instant::now();
    let mut running = Running::new(command.spawn().map_err(|error| fault("start", error))?);
    let pidfd =
        pidfd_open(running.pid(), PidfdFlags::empty()).map_err(|error| fault("watch", error.into()))?;
    let mut stdout = Stream::new(running.child.stdout.take().map(OwnedFd::from), bounds.output);
    let mut stderr = Stream::new(running.child.stderr.take().map(OwnedFd::from), bounds.output);
    let mut out_of_time = false;
    loop {
        let left = bounds.deadline.saturating_sub(started.elapsed());
        if left.is_zero() {
            out_of_time = true;
            break;
        }
        let ended = wait_for(&pidfd, &[&stdout, &stderr], left).map_err(|error| fault("watch", error))?;
        stdout.drain().map_err(|error| fault("read the output of", error))?;
        stderr.drain().map_err(|error| fault("read the output of", error))?;
        if ended {
            break;
        }
    }
    let status = running.end().map_err(|error| fault("wait for", error))?;
    stdout.drain().map_err(|error| fault("read the output of", error))?;
    stderr.drain().map_err(|error| fault("read the output of", error))?;
    let end = match (out_of_time, status.code(), status.signal()) {
        (true, _, _) => End::OutOfTime,
        (false, Some(code), _) => End::Exited(code),
        (false, None, signal) => End::Signalled(signal.unwrap_or_default()),
    };
    Ok(Finished { end, stdout: stdout.kept, stderr: stderr.kept })
}

/// Waits until the child has ended (true) or a stream has something to say or ended (false), at most `left`.
fn wait_for(pidfd: &OwnedFd, streams: &[&Stream], left: Duration) -> Result<bool, std::io::Error> {
    let open = streams.iter().filter_map(|stream| stream.from.as_ref());
    let mut watched = vec![PollFd::new(pidfd, PollFlags::IN)];
    watched.extend(open.map(|from| PollFd::from_borrowed_fd(from.as_fd(), PollFlags::IN)));
    let left = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: i64::from(left.subsec_nanos()) };
    match poll(&mut watched, Some(&left)) {
        Ok(_) => Ok(!watched[0].revents().is_empty()),
        Err(Errno::INTR) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// A child that is killed with its group when it is dropped, and waited for.
struct Running {
    child: Child,
    /// It has been waited for: its number may be another's by now.
    reaped: bool,
}

impl Running {
    /// Takes a child that leads a process group of its own.
    fn new(child: Child) -> Self {
        Self { child, reaped: false }
    }

    fn pid(&self) -> Pid {
        // Its own child: it exists, as a zombie at least, until it is waited for.
        Pid::from_child(&self.child)
    }

    /// Kills what is left of the group and waits for the child.
    fn end(&mut self) -> Result<ExitStatus, std::io::Error> {
        // The child's number is the group's as long as it has not been waited for, and even when it has ended there may
        // be others in the group. So this comes before any wait. That nobody is left in it is no error.
        if !self.reaped {
            let _ = kill_process_group(self.pid(), Signal::KILL);
        }
        self.reaped = true;
        self.child.wait()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.reaped {
            let _ = self.end();
        }
    }
}

/// One stream of the child, read without waiting.
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

    /// Reads what is there.
    fn drain(&mut self) -> Result<(), std::io::Error> {
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
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stdin(Stdio::null());
        command
    }

    fn ample() -> Bounds {
        Bounds::within(Duration::from_secs(60))
    }

    #[test]
    fn status_and_output_come_back() {
        let finished = run(shell("echo out; echo err >&2; exit 7"), ample()).unwrap();
        assert_eq!(finished.end, End::Exited(7));
        assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
    }

    #[test]
    fn a_signal_is_told_from_a_status() {
        assert_eq!(run(shell("kill -SEGV $$"), ample()).unwrap().end, End::Signalled(libc::SIGSEGV));
    }

    /// Waits for the end of the process whose number was written. Killed is not gone yet; that it is no more at all is as
    /// good.
    fn gone(number: &[u8]) -> bool {
        let number: i32 = std::str::from_utf8(number).unwrap().trim().parse().unwrap();
        match pidfd_open(Pid::from_raw(number).unwrap(), PidfdFlags::empty()) {
            Ok(pidfd) => wait_for(&pidfd, &[], Duration::from_secs(60)).unwrap(),
            Err(error) => error == Errno::SRCH,
        }
    }

    #[test]
    fn a_child_that_hangs_is_ended_with_all_its_group() {
        // How soon a shell has come to speak is the machine's business: one that has not gets more time.
        let spoke = [200, 2_000, 20_000, 200_000].into_iter().any(|milliseconds| {
            let bounds = Bounds::within(Duration::from_millis(milliseconds));
            // The grandchild holds the output open and would keep a reader waiting for ever.
            let finished = run(shell("sleep 1000 & echo $!; wait"), bounds).unwrap();
            assert_eq!(finished.end, End::OutOfTime);
            let spoke = finished.stdout.ends_with(b"\n");
            assert!(!spoke || gone(&finished.stdout));
            spoke
        });
        assert!(spoke);
    }

    #[test]
    fn a_child_that_ends_takes_what_it_left_behind_with_it() {
        let finished = run(shell("sleep 1000 & echo $!; exit 3"), ample()).unwrap();
        assert_eq!(finished.end, End::Exited(3));
        assert!(gone(&finished.stdout));
    }

    #[test]
    fn a_child_that_has_ended_and_is_dropped_unwaited_takes_its_group_with_it() {
        let mut command = shell("sleep 1000 >/dev/null & echo $!");
        let mut running = Running::new(command.process_group(0).stdout(Stdio::piped()).spawn().unwrap());
        let mut said = Vec::new();
        running.child.stdout.take().unwrap().read_to_end(&mut said).unwrap();
        let pidfd = pidfd_open(running.pid(), PidfdFlags::empty()).unwrap();
        assert!(wait_for(&pidfd, &[], Duration::from_secs(60)).unwrap(), "the shell has ended");
        drop(running);
        assert!(gone(&said));
    }

    #[test]
    fn a_child_whose_parent_is_gone_does_not_begin() {
        let spawned = |parent: Pid| {
            let mut command = shell("exit 0");
            // SAFETY: two system calls; nothing is allocated.
            unsafe { command.pre_exec(move || die_with(parent).map_err(Into::into)) };
            command.status().map(|status| status.code())
        };
        assert_eq!(spawned(getpid()).unwrap(), Some(0));
        // Somebody else is the parent: the one that was said is not there any more.
        let other = Pid::from_raw(i32::MAX).unwrap();
        assert_eq!(spawned(other).unwrap_err().raw_os_error(), Some(libc::ESRCH));
    }

    #[test]
    fn output_beyond_the_bound_is_dropped_and_the_child_still_ends() {
        let finished = run(shell("head -c 300000 /dev/zero"), Bounds { output: 1000, ..ample() }).unwrap();
        assert_eq!((finished.end, finished.stdout.len()), (End::Exited(0), 1000));
    }

    #[test]
    fn memory_is_bounded() {
        let greedy = "exec 2>/dev/null; dd if=/dev/zero of=/dev/null bs=512M count=1";
        let without = run(shell(greedy), ample()).unwrap();
        let within = run(shell(greedy), Bounds { memory: Some(128 << 20), ..ample() }).unwrap();
        assert_eq!(without.end, End::Exited(0));
        assert_ne!(within.end, End::Exited(0));
    }

    #[test]
    fn a_child_whose_output_passes_through_writes_where_it_is_told_and_ends_in_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut command = shell("echo through; exit 5");
        command.stdout(file.reopen().unwrap());
        assert_eq!(through(command, Duration::from_secs(60)).unwrap(), End::Exited(5));
        assert_eq!(std::fs::read(file.path()).unwrap(), b"through\n");
        assert_eq!(through(shell("kill -KILL $$"), Duration::from_secs(60)).unwrap(), End::Signalled(9));
        let hangs = shell("exec sleep 1000");
        assert_eq!(through(hangs, Duration::from_millis(100)).unwrap(), End::OutOfTime);
        assert!(through(Command::new("/no/such/program"), Duration::from_secs(60)).is_err());
    }

    #[test]
    fn a_program_that_is_not_there_is_a_fault_that_names_it() {
        let fault = run(Command::new("/no/such/program"), ample()).unwrap_err();
        assert!(fault.to_string().contains("/no/such/program"), "{fault}");
    }
}
