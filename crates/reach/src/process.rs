//! A program that somebody else wrote, run under a deadline and never left behind.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds, End, Finished, Running};
use tenbin_model::Missing;
use tenbin_model::words::semicolon;

use crate::error::Error;

/// How much of what a program said is worth showing, in bytes.
const SHOWN: u64 = 4096;

pub(crate) struct Program {
    name: &'static str,
    package: &'static str,
    words: Vec<OsString>,
    folder: Option<PathBuf>,
    variables: Vec<(&'static str, OsString)>,
    inherited: Option<&'static [&'static str]>,
    largest: Option<u64>,
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

    pub(crate) fn folder(mut self, folder: &Path) -> Self {
        self.folder = Some(folder.to_owned());
        self
    }

    pub(crate) fn variable(mut self, name: &'static str, value: impl AsRef<OsStr>) -> Self {
        self.variables.push((name, value.as_ref().to_owned()));
        self
    }

    /// Of this process's environment it gets the variables `names` and no others. Without this, it gets all
    /// of them.
    pub(crate) fn inherits(mut self, names: &'static [&'static str]) -> Self {
        self.inherited = Some(names);
        self
    }

    /// How large a file may become that it writes, in bytes.
    pub(crate) fn largest_file(mut self, bytes: u64) -> Self {
        self.largest = Some(bytes);
        self
    }

    /// Runs it to its end, or to the end of `time`. What it says goes to the files `out` and `error`.
    ///
    /// # Errors
    /// [`Error::Missing`] where it is not in the path; [`Error::Process`] or [`Error::File`] where it cannot
    /// be started or minded.
    pub(crate) fn run(&self, out: &File, error: &File, time: Duration) -> Result<End, Error> {
        self.started(Stdio::null(), out, error, time)?.wait().map_err(|fault| self.fault(fault))
    }

    /// Starts it and lets it run, with `input` for its standard input; else as [`Program::run`]. Whoever has
    /// what this gives has the deadline too.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub(crate) fn start(&self, input: Stdio, out: &File, error: &File) -> Result<Running, Error> {
        self.started(input, out, error, Duration::MAX)
    }

    fn started(&self, input: Stdio, out: &File, error: &File, time: Duration) -> Result<Running, Error> {
        let mut command = self.command()?;
        let clone = |file: &File| file.try_clone().map_err(|error| self.error(error));
        command.stdin(input).stdout(clone(out)?).stderr(clone(error)?);
        child::start(command, self.bounds(time)).map_err(|fault| self.fault(fault))
    }

    /// As [`Program::run`], with what it says kept.
    ///
    /// # Errors
    /// As [`Program::run`].
    pub(crate) fn capture(&self, time: Duration) -> Result<Finished, Error> {
        let mut command = self.command()?;
        command.stdin(Stdio::null());
        child::run(command, self.bounds(time)).map_err(|fault| self.fault(fault))
    }

    /// Runs it and gives what it wrote to standard output.
    ///
    /// # Errors
    /// As [`Program::run`]; and [`Error::Fetch`] of `what` where it did not succeed, with what it said.
    pub(crate) fn read(&self, what: &str, time: Duration) -> Result<String, Error> {
        let Finished { end, stdout, stderr, .. } = self.capture(time)?;
        let cause = match end {
            End::Exited(0) => return Ok(String::from_utf8_lossy(&stdout).into_owned()),
            End::OutOfTime => format!("{} still ran after {} s", self.name, time.as_secs()),
            end => format!("{} ended with {end}: {}", self.name, last_lines(&stderr)),
        };
        Err(Error::Fetch { what: what.to_owned(), cause })
    }

    fn bounds(&self, time: Duration) -> Bounds {
        Bounds { file: self.largest, output: usize::MAX, ..Bounds::within(time) }
    }

    fn command(&self) -> Result<Command, Error> {
        let mut command = Command::new(find(self.name, self.package)?);
        command.args(&self.words);
        if let Some(names) = self.inherited {
            command.env_clear();
            command.envs(names.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value))).env("LC_ALL", "C");
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(command)
    }

    fn fault(&self, fault: Fault) -> Error {
        unrun(self.name, fault)
    }

    fn error(&self, error: io::Error) -> Error {
        Error::Process { program: self.name.to_owned(), error }
    }
}

/// A program that cannot be started or minded.
pub(crate) fn unrun(program: &str, fault: Fault) -> Error {
    let error = match fault {
        Fault::System { error, .. } => error,
        other => io::Error::other(other),
    };
    Error::Process { program: program.to_owned(), error }
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

/// The last lines of a file that a program wrote, in one line.
pub(crate) fn tail(mut file: &File) -> String {
    let length = file.metadata().map_or(0, |metadata| metadata.len());
    let mut bytes = Vec::new();
    let read = file.seek(SeekFrom::Start(length.saturating_sub(SHOWN)));
    match read.and_then(|_| file.read_to_end(&mut bytes)) {
        Ok(_) => last_lines(&bytes),
        Err(error) => format!("(what it said cannot be read: {error})"),
    }
}

fn last_lines(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[bytes.len().saturating_sub(SHOWN as usize)..]);
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    semicolon(&lines[lines.len().saturating_sub(8)..])
}

#[cfg(test)]
mod tests {
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
        let output = |program: Program| program.variable("own", "x").read("x", LONG).unwrap();
        assert_eq!(output(shell(script)), "tenbin-reach path C x\n");
        assert_eq!(output(shell(script).inherits(&["PATH", "TENBIN_NO_SUCH_VARIABLE"])), "none path C x\n");
    }

    #[test]
    fn a_child_finds_a_file_that_has_no_name() {
        use std::io::Write;
        let (mut given, taken) = (unnamed().unwrap(), unnamed().unwrap());
        given.write_all(b"content").unwrap();
        let script = format!("cat '{}' > '{}'", place_of(&given), place_of(&taken));
        shell(&script).read("x", LONG).unwrap();
        assert_eq!(tail(&taken), "content");
    }

    #[test]
    fn an_absent_program_is_named_with_the_command_that_brings_it() {
        let absent = Program::new("tenbin-no-such-program", "tenbin-no-such-package");
        let error = absent.read("x", LONG).unwrap_err();
        assert!(
            matches!(&error, Error::Missing(it) if it.install == "apt-get install tenbin-no-such-package")
        );
        assert!(error.to_string().contains("the program tenbin-no-such-program"), "{error}");
    }

    #[test]
    fn who_is_started_hears_its_input_and_ends_when_it_is_dropped() {
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
}
