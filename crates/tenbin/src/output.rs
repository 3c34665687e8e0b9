//! What a command hands back, and how the process ends.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use tenbin_metal::inherited;
use tenbin_model::{Attribution, Missing};

/// How the process ends; the numbers (see its conversion) are part of the interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// What was asked is answered.
    Answered,
    /// tenbin failed.
    Internal,
    /// The request is wrong, and nothing was changed.
    Usage,
    /// The one thing asked was refused.
    Refused,
    /// A fault was found in what was examined.
    Fault,
    /// Something is missing on this machine; the message names the command that installs it.
    Missing,
    /// As the command ended that was run for the user.
    PassedOn(u8),
    /// This signal interrupted it; what was finished by then is answered.
    Interrupted(i32),
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Answered => 0,
            Exit::Internal => 1,
            Exit::Usage => 2,
            Exit::Refused => 3,
            Exit::Fault => 4,
            Exit::Missing => 5,
            Exit::PassedOn(status) => status,
            // As a shell says that a signal ended a command (POSIX, shell command language, 2.8.2).
            Exit::Interrupted(signal) => 128 + signal.clamp(0, 127) as u8,
        })
    }
}

/// What a command answers: text, where it goes, a remark for the user, and the exit.
#[derive(Debug)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// A file to write it to instead of standard output.
    pub to: Option<PathBuf>,
    /// What else there is to say, for standard error.
    pub remark: Option<String>,
    /// How the process ends.
    pub exit: Exit,
}

impl Answer {
    /// An answer for standard output.
    pub fn text(text: String) -> Self {
        Self { text, to: None, remark: None, exit: Exit::Answered }
    }
}

/// Why a command has no answer.
#[derive(Debug)]
pub struct Trouble {
    /// How the process ends.
    pub exit: Exit,
    /// What was tried, on what, why it failed and what to do.
    pub message: String,
}

impl Trouble {
    /// The request is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
    }

    /// Something is missing on this machine.
    pub fn missing(missing: &Missing) -> Self {
        Self { exit: Exit::Missing, message: missing.to_string() }
    }

    /// This signal ended it before anything was finished.
    pub fn interrupted(signal: i32) -> Self {
        let message = "interrupted before anything was finished; nothing was kept".into();
        Self { exit: Exit::Interrupted(signal), message }
    }

    /// tenbin failed.
    pub fn internal(message: impl Into<String>) -> Self {
        Self { exit: Exit::Internal, message: message.into() }
    }
}

/// Whose fault it is comes first where it is the caller's.
impl fmt::Display for Trouble {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.exit {
            Exit::Usage => write!(f, "tenbin: {}: {}", Attribution::UsageError, self.message),
            _ => write!(f, "tenbin: {}", self.message),
        }
    }
}

/// Writes the answer to standard output or its file, remarks and trouble to standard error.
pub fn deliver(result: Result<Answer, Trouble>) -> Exit {
    let written = result.and_then(|answer| {
        match &answer.to {
            None => show(&answer.text),
            Some(path) => {
                let written = write_whole(path, |out| out.write_all(answer.text.as_bytes()));
                // An answer that its file does not take is not lost.
                written.inspect_err(|_| drop(show(&answer.text)))
            }
        }
        .inspect_err(|_| answer.remark.iter().for_each(|remark| say(remark)))
        .map(|()| answer)
    });
    match written {
        Ok(answer) => {
            if let Some(remark) = answer.remark {
                say(&remark);
            }
            answer.exit
        }
        Err(trouble) => {
            say(&trouble.to_string());
            trouble.exit
        }
    }
}

/// Writes a part of the answer to standard output at once.
///
/// # Errors
/// Internal, where it cannot be written. That nobody reads on is none.
pub fn show(text: &str) -> Result<(), Trouble> {
    to_standard_output(text.as_bytes())
}

/// Writes what another program wrote, as it came, to the same streams.
///
/// # Errors
/// Internal, where a stream cannot be written. That nobody reads on is none.
pub fn pass_on(stdout: &[u8], stderr: &[u8]) -> Result<(), Trouble> {
    // A standard error that is closed is no reason to fail.
    let _ = io::stderr().write_all(stderr);
    to_standard_output(stdout)
}

/// Writes all of it. What is asked for and can be written nowhere is no success.
fn to_standard_output(bytes: &[u8]) -> Result<(), Trouble> {
    if bytes.is_empty() {
        return Ok(());
    }
    let trouble =
        |error: io::Error| Trouble::internal(format!("write the answer to standard output: {error}"));
    // Rust has put /dev/null in the place of what was closed.
    if inherited::standard_output_was_closed() {
        return Err(trouble(rustix::io::Errno::BADF.into()));
    }
    let mut out = io::stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        // The reader has seen enough; that is its right.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(trouble),
    }
}

/// Whether `write_whole` will be able to write to `path`, asked before there is anything to write.
///
/// # Errors
/// A usage error that names the path and the system's reason.
pub fn can_be_written(path: &Path) -> Result<(), Trouble> {
    let trouble = |error: io::Error| Trouble::usage(format!("write {}: {error}", path.display()));
    if path.metadata().is_ok_and(|metadata| !metadata.is_file() && !metadata.is_dir()) {
        return OpenOptions::new().write(true).open(path).map(|_| ()).map_err(trouble);
    }
    if path.is_dir() {
        return Err(trouble(io::ErrorKind::IsADirectory.into()));
    }
    let beside = beside(path);
    File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(trouble)
}

/// Where a file is written before it is renamed into its place.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    beside.into()
}

/// Writes a file beside its place, brings it to disk and renames it: it appears whole or not at all.
/// What is there and is no file (a device, a pipe) is written to as it stands.
///
/// # Errors
/// A usage error that names the path and the system's reason.
pub fn write_whole(
    path: &Path,
    write: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>,
) -> Result<(), Trouble> {
    let trouble = |error: io::Error| Trouble::usage(format!("write {}: {error}", path.display()));
    let fill = |file: File| {
        let mut out = BufWriter::new(file);
        write(&mut out)?;
        out.flush()?;
        out.into_inner().map_err(io::IntoInnerError::into_error)
    };
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return OpenOptions::new().write(true).open(path).and_then(fill).map(|_| ()).map_err(trouble);
    }
    let beside = beside(path);
    let written = File::create(&beside)
        .and_then(fill)
        .and_then(|file| file.sync_all())
        .and_then(|()| fs::rename(&beside, path));
    written.map_err(|error| {
        // The half-written file is ours; that it may never have been made is no further trouble.
        let _ = fs::remove_file(&beside);
        trouble(error)
    })
}

/// A line on standard error. A standard error that is closed is no reason to fail.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
