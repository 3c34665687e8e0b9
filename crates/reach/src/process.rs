//! A program that somebody else wrote, run under a deadline and never left behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, PipeWriter, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Resource, Rlimit, Signal, getrlimit, kill_process_group, pidfd_open, prlimit,
};

use tenbin_model::Missing;

use crate::error::Error;

/// How much of what a program said is worth showing, in bytes.
const SAID: u64 = 4096;

/// How long a program that was killed may take to be gone. One that sleeps inside a driver that has lost its
/// way is not gone until the driver lets it go, which may be never.
const FAREWELL: Duration = Duration::from_secs(10);

/// What the guardian of a process group does: it reads until nobody has the other end of its standard input open,
/// which nobody ever writes to, and then kills the group, itself included (POSIX, `kill` with the process 0).
const GUARDIAN: &str = "read -r nothing; kill -s KILL 0";

/// A program with its words, before it is started.
pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
    words: Vec<OsString>,
    folder: Option<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
    inherited: Option<&'static [&'static str]>,
    largest: Option<u64>,
}

/// How a program ended.
pub(crate) enum End {
    /// By itself.
    Itself(ExitStatus),
    /// It was killed when its time was over.
    Deadline,
}

impl End {
    /// Whether the program ended by itself and calls it a success.
    pub(crate) fn success(&self) -> bool {
        matches!(self, Self::Itself(status) if status.success())
    }
}

impl Program {
    /// The program `name`, which Debian's package `package` brings.
    pub(crate) fn new(name: &'static str, package: &'static str) -> Self {
        let (words, variables) = (Vec::new(), Vec::new());
        Self { name, package, words, folder: None, variables, inherited: None, largest: None }
    }

    pub(crate) fn words<W: AsRef<OsStr>>(mut self, words: impl IntoIterator<Item = W>) -> Self {
        self.words.extend(words.into_iter().map(|word| word.as_ref().to_owned()));
        self
    }

    /// Where it runs.
    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Of this process's environment it gets the variables `names` and no others. Without this, it gets all of them.
    pub(crate) fn inherits(mut self, names: &'static [&'static str]) -> Self {
        self.inherited = Some(names);
        self
    }

    /// How large a file may become that it writes, in bytes. The kernel ends who writes more by SIGXFSZ, or
    /// refuses the write (setrlimit(2)).
    pub(crate) fn largest_file(mut self, bytes: u64) -> Self {
        self.largest = Some(bytes);
        self
    }

    /// Runs it to its end, or to the end of `time`. What it says goes to the files `out` and `error`: a pipe
    /// would need somebody to read it meanwhile.
    ///
    /// It ends with this process, killed by the kernel, however this process ends. `setpriv` arranges
    /// that, because between fork and exec only `unsafe` code could. Its children and theirs are in a process group
    /// that a guardian leads: a shell that kills the group when this process is over. What is left of the group
    /// when this returns is killed too.
    ///
    /// # Errors
    /// [`Error::Missing`] where it, `setpriv` or `sh` is not in the path; [`Error::Process`] or
    /// [`Error::File`] where it cannot be started or minded.
    pub(crate) fn run(&self, out: &File, error: &File, time: Duration) -> Result<End, Error> {
        let started = Instant::now();
        let trouble = |error| Error::Process { program: self.name.to_owned(), error };
        let mut running = self.start(Stdio::null(), out, error)?;
        let Some(child) = &mut running.0.member else { return Ok(End::Deadline) };
        if !over(child, time.saturating_sub(started.elapsed())).map_err(trouble)? {
            return Ok(End::Deadline);
        }
        child.wait().map(End::Itself).map_err(trouble)
    }

    /// Starts it and lets it run, with `input` for its standard input; else as [`Program::run`]. Whoever has what this gives
    /// has the deadline too.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub(crate) fn start(&self, input: Stdio, out: &File, error: &File) -> Result<Running, Error> {
        let trouble = |error| Error::Process { program: self.name.to_owned(), error };
        let setpriv = find("setpriv", "util-linux")?;
        let program = find(self.name, self.package)?;
        let mut group = Group::new(&find("sh", "dash")?)?;
        let mut command = Command::new(setpriv);
        command.args(["--pdeathsig", "KILL", "--"]).arg(program).args(&self.words);
        command.stdin(input).stdout(out.try_clone().map_err(trouble)?);
        command.stderr(error.try_clone().map_err(trouble)?);
        if let Some(names) = self.inherited {
            command.env_clear();
            command.envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).env("LC_ALL", "C");
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        let child = group.member.insert(command.process_group(group.number()).spawn().map_err(trouble)?);
        self.limit(child).map_err(trouble)?;
        Ok(Running(group))
    }

    /// Sets its limits, from outside: it has hardly begun, and has written nothing yet.
    fn limit(&self, child: &Child) -> io::Result<()> {
        let Some(largest) = self.largest else { return Ok(()) };
        // An emulator that breaks off would leave a core as large as its guest.
        for (resource, wanted) in [(Resource::Fsize, largest), (Resource::Core, 0)] {
            let Rlimit { maximum, .. } = getrlimit(resource);
            let current = Some(maximum.map_or(wanted, |maximum| maximum.min(wanted)));
            match prlimit(Some(Pid::from_child(child)), resource, Rlimit { current, maximum }) {
                // It is over already.
                Ok(_) | Err(rustix::io::Errno::SRCH) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Ok(())
    }

    /// Runs it and gives what it wrote to standard output.
    ///
    /// # Errors
    /// As [`Program::run`]; and [`Error::Fetch`] of `what` where it did not succeed, with what it said.
    pub(crate) fn read(&self, what: &str, time: Duration) -> Result<String, Error> {
        let (out, error) = (unnamed()?, unnamed()?);
        let end = self.run(&out, &error, time)?;
        if end.success() {
            return Ok(String::from_utf8_lossy(&content(&out)?).into_owned());
        }
        let said = match end {
            End::Deadline => format!("{} still ran after {} s", self.name, time.as_secs()),
            End::Itself(status) => format!("{} ended with {status}: {}", self.name, tail(&error)),
        };
        Err(Error::Fetch { what: what.to_owned(), said })
    }
}

/// A program that was started. It is killed with all of its group when this is dropped.
pub(crate) struct Running(Group);

/// A process group, which is killed when this is dropped, and by its guardian if this process is over before that.
/// A process may leave its group (setsid(2)); none of those that are started here does.
struct Group {
    guardian: Child,
    /// The other end of the guardian's standard input. The kernel closes it however this process ends.
    _leash: PipeWriter,
    /// Who is collected with the guardian.
    member: Option<Child>,
}

impl Group {
    /// A group with nobody in it but its guardian, which the shell at `shell` is.
    fn new(shell: &Path) -> Result<Self, Error> {
        let trouble = |error| Error::Process { program: "sh".to_owned(), error };
        let (end, leash) = io::pipe().map_err(trouble)?;
        let mut command = Command::new(shell);
        command.args(["-c", GUARDIAN]).env_clear().stdin(end).stdout(Stdio::null()).stderr(Stdio::null());
        let guardian = command.process_group(0).spawn().map_err(trouble)?;
        Ok(Self { guardian, _leash: leash, member: None })
    }

    fn number(&self) -> i32 {
        Pid::from_child(&self.guardian).as_raw_nonzero().get()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // The guardian was not collected, so its number is still that of the group. A group that cannot be killed
        // is over, and there is nobody here to tell.
        let _ = kill_process_group(Pid::from_child(&self.guardian), Signal::KILL);
        for child in self.member.iter_mut().chain([&mut self.guardian]) {
            // Whoever waits without an end for one that cannot die has no deadline.
            if !matches!(child.try_wait(), Ok(Some(_))) && matches!(over(child, FAREWELL), Ok(true)) {
                let _ = child.wait();
            }
        }
    }
}

/// Waits until `child` is over, for no longer than `time`: says whether it is.
fn over(child: &Child, time: Duration) -> io::Result<bool> {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty())?;
    let started = Instant::now();
    loop {
        let left = time.saturating_sub(started.elapsed());
        let left = Timespec::try_from(left).map_err(io::Error::other)?;
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return Ok(ready > 0),
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where `program` is in the path.
///
/// # Errors
/// [`Error::Missing`], with the command that installs `package`.
pub(crate) fn find(program: &str, package: &str) -> Result<PathBuf, Error> {
    in_path(program).ok_or_else(|| missing(format!("the program {program}"), package))
}

/// Where `program` is in the path, if it is.
pub(crate) fn in_path(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).map(|folder| folder.join(program)).find(|path| path.is_file())
}

/// The error that `what`, which Debian's package `package` brings, is not here.
pub(crate) fn missing(what: String, package: &str) -> Error {
    lacking(what, "guests are fetched and booted with it", package)
}

/// The error that `what`, which Debian's package `package` brings, is not here, with what it is needed for.
pub(crate) fn lacking(what: String, needed: &str, package: &str) -> Error {
    let install = format!("apt-get install {package}");
    Error::Missing(Missing { what, needed: needed.to_owned(), install })
}

/// A file without a name: it is gone when nobody has it open any more, however this process ends.
///
/// # Errors
/// [`Error::File`] of the folder of temporary files.
pub(crate) fn unnamed() -> Result<File, Error> {
    tempfile::tempfile().map_err(Error::file("write", &std::env::temp_dir()))
}

/// Where a child finds a file or a pipe of ours that has no name, as long as we have it open
/// (proc_pid_fd(5)).
pub(crate) fn place_of(file: &impl AsRawFd) -> String {
    format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd())
}

/// All that is in a file, wherever somebody stopped to read or write.
///
/// # Errors
/// [`Error::File`] where it cannot be read.
pub(crate) fn content(file: &File) -> Result<Vec<u8>, Error> {
    from(file, SeekFrom::Start(0)).map_err(Error::file("read", &std::env::temp_dir()))
}

fn from(mut file: &File, start: SeekFrom) -> io::Result<Vec<u8>> {
    file.seek(start)?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// The last lines of a file that a program wrote, in one line.
pub(crate) fn tail(file: &File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    match from(file, SeekFrom::Start(length.saturating_sub(SAID))) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes).into_owned();
            let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
            lines[lines.len().saturating_sub(8)..].join("; ")
        }
        Err(error) => format!("(what it said cannot be read: {error})"),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::OpenOptions;
    use std::os::unix::fs::OpenOptionsExt;

    use super::*;

    const LONG: Duration = Duration::from_secs(600);

    fn shell(script: &str) -> Program {
        Program::new("sh", "dash").words(["-c", script])
    }

    #[test]
    fn what_a_program_wrote_and_how_it_ended_come_back() {
        let read = |script| shell(script).read("x", LONG);
        assert_eq!(read("echo answer").unwrap(), "answer\n");
        let error = read("echo one >&2; echo two >&2; exit 3").unwrap_err().to_string();
        assert!(error.contains("exit status: 3: one; two"), "{error}");
    }

    #[test]
    fn a_program_that_inherits_little_sees_nothing_else() {
        // Cargo tells its tests the name of their package.
        let script = "echo \"${CARGO_PKG_NAME-none} ${PATH:+path} $LC_ALL $own\"";
        let said = |program: Program| program.variable("own", "x").read("x", LONG).unwrap();
        assert_eq!(said(shell(script)), "tenbin-reach path C x\n");
        assert_eq!(said(shell(script).inherits(&["PATH", "TENBIN_NO_SUCH_VARIABLE"])), "none path C x\n");
    }

    #[test]
    fn a_child_finds_a_file_that_has_no_name() {
        use std::io::Write;
        let (mut given, taken) = (unnamed().unwrap(), unnamed().unwrap());
        given.write_all(b"content").unwrap();
        let script = format!("cat '{}' > '{}'", place_of(&given), place_of(&taken));
        shell(&script).read("x", LONG).unwrap();
        assert_eq!(content(&taken).unwrap(), b"content");
    }

    #[test]
    fn who_writes_too_large_a_file_is_ended() {
        for (bytes, expected) in [(1000, true), (1001, false)] {
            let (out, error) = (unnamed().unwrap(), unnamed().unwrap());
            let program =
                shell("exec head -c \"$0\" /dev/zero").words([bytes.to_string()]).largest_file(1000);
            assert_eq!(program.run(&out, &error, LONG).unwrap().success(), expected, "{bytes}");
            assert_eq!(content(&out).unwrap().len(), 1000);
        }
    }

    #[test]
    fn a_deadline_beyond_all_clocks_is_one() {
        assert!(
            shell("exit 0")
                .run(&unnamed().unwrap(), &unnamed().unwrap(), LONG * 1_000_000_000)
                .unwrap()
                .success()
        );
    }

    #[test]
    fn a_program_that_is_not_here_is_named_with_the_command_that_brings_it() {
        let absent = Program::new("tenbin-no-such-program", "tenbin-no-such-package");
        let error = absent.read("x", LONG).unwrap_err();
        assert!(
            matches!(&error, Error::Missing(it) if it.install == "apt-get install tenbin-no-such-package")
        );
        assert!(error.to_string().contains("the program tenbin-no-such-program"), "{error}");
    }

    #[test]
    fn who_is_left_behind_is_ended_too() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let now = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let mut reader = OpenOptions::new().read(true).custom_flags(now).open(&pipe).unwrap();
        let script = format!("exec 9>'{0}'; tail -f /dev/null & echo begun >&9", pipe.display());
        shell(&script).read("x", LONG).unwrap();
        let mut said = [0; 64];
        let length = reader.read(&mut said).unwrap();
        assert_eq!(&said[..length], b"begun\n");
        // A pipe that nobody has open for writing hangs up.
        let patience = Timespec::try_from(LONG).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&patience)), Ok(1));
        assert_eq!(reader.read(&mut said).unwrap(), 0);
    }

    #[test]
    fn who_was_started_hears_its_input_and_is_ended_when_nobody_has_it_any_more() {
        use std::io::Write;
        use std::os::fd::OwnedFd;
        use std::os::unix::net::UnixStream;
        let (mut ours, theirs) = UnixStream::pair().unwrap();
        let (out, error) = (unnamed().unwrap(), unnamed().unwrap());
        // It says what it heard to where it heard it, and would then stay.
        let endless = shell("read -r word; echo \"$word\" >&0; exec tail -f /dev/null");
        let running = endless.start(OwnedFd::from(theirs).into(), &out, &error).unwrap();
        ours.set_read_timeout(Some(LONG)).unwrap();
        ours.write_all(b"word\n").unwrap();
        let mut heard = [0; 5];
        ours.read_exact(&mut heard).unwrap();
        assert_eq!(&heard, b"word\n");
        drop(running);
        // The other end is closed when it is gone.
        assert_eq!(ours.read(&mut heard).unwrap(), 0);
    }

    #[test]
    fn who_is_late_is_ended_with_its_children() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let now = rustix::fs::OFlags::NONBLOCK.bits() as i32;
        let mut reader = OpenOptions::new().read(true).custom_flags(now).open(&pipe).unwrap();
        // A child of the shell holds the pipe open; that it came so far is what it writes. A shell that is
        // so slow that its time was over before gets more of it.
        let script = format!("(echo begun; exec tail -f /dev/null) > '{}' & wait", pipe.display());
        let (out, error) = (unnamed().unwrap(), unnamed().unwrap());
        let mut time = Duration::from_millis(200);
        let mut said = [0; 64];
        let length = loop {
            assert!(matches!(shell(&script).run(&out, &error, time).unwrap(), End::Deadline));
            match reader.read(&mut said) {
                Ok(length) if length > 0 => break length,
                _ => time *= 2,
            }
        };
        assert_eq!(&said[..length], b"begun\n");
        // The pipe hangs up when nobody has it open for writing any more.
        let patience = Timespec::try_from(LONG).unwrap();
        assert_eq!(poll(&mut [PollFd::new(&reader, PollFlags::IN)], Some(&patience)), Ok(1));
        assert_eq!(reader.read(&mut said).unwrap(), 0);
    }
}
