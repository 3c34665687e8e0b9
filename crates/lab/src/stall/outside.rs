//! What is stopped from outside, and let go by a guardian if this process cannot: a process, a control group,
//! a guest.

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::monotonic;
use tenbin_metal::machine::{Root, control_groups};
use tenbin_metal::stall::{Armed, Pidfd, Resume, session};

use super::{Stopper, refused};
use crate::experiment::Unfit;

/// How long something may take to be stopped that was told to.
const PATIENCE: Duration = Duration::from_secs(1);

/// The guardian's end comes so long after ours.
const GRACE: Duration = Duration::from_millis(1);

/// From one look to the next.
const LOOK: Duration = Duration::from_micros(50);

/// Stops something, waits until it has stopped and for `duration` from there on, and lets it go.
fn stop(
    resume: Resume,
    duration: Duration,
    begin: impl FnOnce() -> Result<(), Fault>,
    has_stopped: impl FnMut() -> bool,
) -> Result<Duration, Fault> {
    // What is asked for counts from the moment when it has stopped, which may take a while.
    let first = Armed::until(resume.copy()?, monotonic() + PATIENCE + duration)?;
    begin()?;
    wait_until(has_stopped)?;
    let stopped = monotonic();
    let armed = Armed::until(resume, stopped + duration + GRACE)?;
    first.disarm();
    thread::sleep((stopped + duration).saturating_sub(monotonic()));
    armed.resume()?;
    Ok(monotonic().saturating_sub(stopped))
}

fn wait_until(mut is_so: impl FnMut() -> bool) -> Result<(), Fault> {
    let deadline = monotonic() + PATIENCE;
    while !is_so() {
        if monotonic() > deadline {
            let error = io::Error::from(io::ErrorKind::TimedOut);
            return Err(Fault::system("wait until it has stopped; it was let go", error));
        }
        thread::sleep(LOOK);
    }
    Ok(())
}

pub(super) struct Process {
    number: u32,
    pidfd: Pidfd,
}

/// The bit of a thread of the kernel in the flags of `/proc/PID/stat` (`include/linux/sched.h`).
const PF_KTHREAD: u64 = 0x0020_0000;

/// The fields of a `stat` behind the name, the state first (proc(5)).
fn fields(stat: &str) -> Vec<&str> {
    stat.rsplit_once(") ").map(|(_, rest)| rest.split_whitespace().collect()).unwrap_or_default()
}

impl Process {
    pub(super) fn open(number: u32) -> Result<Self, Unfit> {
        let pidfd = Pidfd::open(number).map_err(|fault| Unfit::Usage(fault.to_string()))?;
        let stat = fs::read_to_string(format!("/proc/{number}/stat")).unwrap_or_default();
        let fields = fields(&stat);
        let flags = fields.get(6).and_then(|flags| flags.parse::<u64>().ok()).unwrap_or(0);
        let needs = "a process of another session, which runs";
        let why = if number == 1 {
            "process 1 is the parent of all others"
        } else if flags & PF_KTHREAD != 0 {
            "it is a thread of the kernel"
        } else if matches!(fields.first(), Some(&"T" | &"t" | &"Z")) {
            "it does not run, and would run afterwards"
        } else if fields.get(3).and_then(|session| session.parse().ok()) == Some(session()) {
            "it belongs to this session, and who stops that cannot let it go"
        } else {
            return Ok(Self { number, pidfd });
        };
        Err(refused(format!("process {number}: {why}"), needs, "start it by setsid(1)"))
    }

    fn has_stopped(&self) -> bool {
        let Ok(threads) = fs::read_dir(format!("/proc/{}/task", self.number)) else { return true };
        threads.flatten().all(|thread| {
            let stat = fs::read_to_string(thread.path().join("stat")).unwrap_or_default();
            fields(&stat).first().is_none_or(|state| ["T", "t", "Z", "X"].contains(state))
        })
    }
}

impl Stopper for Process {
    fn stop(&mut self, duration: Duration) -> Result<Duration, Fault> {
        let resume = Resume::Signal(self.pidfd.copy()?);
        stop(resume, duration, || self.pidfd.stop(), || self.has_stopped())
    }
}

/// A control group (`Documentation/admin-guide/cgroup-v2.rst`, `cgroup.freeze`).
pub(super) struct Group {
    folder: PathBuf,
}

impl Group {
    pub(super) fn open(root: Root<'_>, folder: &Path) -> Result<Self, Unfit> {
        let of_input = |error| Unfit::Usage(format!("the control group {}: {error}", folder.display()));
        let folder = fs::canonicalize(folder).map_err(of_input)?;
        let freeze = folder.join("cgroup.freeze");
        let now = fs::read_to_string(&freeze).map_err(of_input)?;
        let needs = "a control group of others, which runs, and the right to freeze it";
        let own = control_groups(&root, "").unwrap_or_default();
        let why = if own.iter().any(|own| Path::new(own) == folder) {
            "this process is in it, and would be frozen too".to_owned()
        } else if now.trim() != "0" {
            "it is frozen, and would run afterwards".to_owned()
        } else {
            match OpenOptions::new().write(true).open(&freeze) {
                Ok(_) => return Ok(Self { folder }),
                Err(error) => format!("open {}: {error}", freeze.display()),
            }
        };
        Err(refused(format!("control group {}: {why}", folder.display()), needs, "choose another one"))
    }

    fn file(&self) -> Result<File, Fault> {
        let path = self.folder.join("cgroup.freeze");
        let opened = OpenOptions::new().write(true).open(&path);
        opened.map_err(|error| Fault::system(format!("open {}", path.display()), error))
    }
}

impl Stopper for Group {
    fn stop(&mut self, duration: Duration) -> Result<Duration, Fault> {
        let resume = Resume::Write(OwnedFd::from(self.file()?), b"0");
        let mut file = self.file()?;
        let begin = || file.write_all(b"1").map_err(|error| Fault::system("freeze the group", error));
        let events = self.folder.join("cgroup.events");
        stop(resume, duration, begin, || {
            fs::read_to_string(&events).is_ok_and(|text| text.lines().any(|line| line == "frozen 1"))
        })
    }
}

/// A guest, by QEMU's monitor (`docs/interop/qmp-spec.rst` of QEMU).
pub(super) struct Guest {
    socket: UnixStream,
    answers: BufReader<UnixStream>,
}

impl Guest {
    pub(super) fn connect(path: &Path) -> Result<Self, Unfit> {
        let of_input = |error| Unfit::Usage(format!("connect to {}: {error}", path.display()));
        let socket = UnixStream::connect(path).map_err(of_input)?;
        socket.set_read_timeout(Some(PATIENCE)).map_err(of_input)?;
        let answers = BufReader::new(socket.try_clone().map_err(of_input)?);
        let mut guest = Self { socket, answers };
        // Its greeting comes first.
        guest.line().map_err(of_input)?;
        guest.ask("qmp_capabilities").map_err(of_input)?;
        let status = guest.ask("query-status").map_err(of_input)?;
        if status.contains("\"running\": true") || status.contains("\"running\":true") {
            return Ok(guest);
        }
        let why = format!("the guest behind {} does not run, and would run afterwards", path.display());
        Err(refused(why, "a guest that runs", "let it run first"))
    }

    fn line(&mut self) -> io::Result<String> {
        let mut line = String::new();
        match self.answers.read_line(&mut line)? {
            0 => Err(io::Error::from(io::ErrorKind::UnexpectedEof)),
            _ => Ok(line),
        }
    }

    /// What is returned to a command; events before it are skipped.
    fn ask(&mut self, command: &str) -> io::Result<String> {
        writeln!(self.socket, "{{\"execute\":\"{command}\"}}")?;
        loop {
            let line = self.line()?;
            if line.contains("\"error\"") {
                return Err(io::Error::other(line.trim().to_owned()));
            }
            if line.contains("\"return\"") {
                return Ok(line);
            }
        }
    }
}

impl Stopper for Guest {
    fn stop(&mut self, duration: Duration) -> Result<Duration, Fault> {
        let fault = |error| Fault::system("stop the guest by its monitor", error);
        let socket = self.socket.try_clone().map_err(fault)?;
        let resume = Resume::Write(OwnedFd::from(socket), b"{\"execute\":\"cont\"}\n");
        // It has stopped when it answers.
        let stopped = stop(resume, duration, || self.ask("stop").map(drop).map_err(fault), || true)?;
        // The answer to what let it go.
        while !self.line().map_err(fault)?.contains("\"return\"") {}
        Ok(stopped)
    }
}
