//! What a command hands back, and how the process ends.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use rustix::io::Errno;
use tenbin_lab::profile::kernel::Unprofiled;
use tenbin_metal::inherited;
use tenbin_model::Attribution;

use crate::ascii;

/// How the process ends; the numbers (see its conversion) are part of the interface.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Exit {
    /// What was asked is answered.
    #[default]
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

/// What a command answers: text, where it goes, remarks for the user, and the exit.
#[derive(Debug, Default)]
pub struct Answer {
    /// The answer.
    pub text: String,
    /// A file to write it to instead of standard output.
    pub to: Option<PathBuf>,
    /// What else there is to say, for standard error.
    pub remarks: Vec<String>,
    /// How the process ends.
    pub exit: Exit,
}

impl Answer {
    /// An answer for standard output.
    pub fn text(text: String) -> Self {
        Self { text, ..Self::default() }
    }

    /// Text that a generator wrote.
    ///
    /// # Errors
    /// Internal: it is no UTF-8.
    pub fn generated(text: Vec<u8>) -> Result<Self, Trouble> {
        let text = String::from_utf8(text).map(Self::text);
        text.map_err(|error| Trouble::internal(format!("generated text is not UTF-8: {error}")))
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

impl From<tenbin_reach::Error> for Trouble {
    fn from(error: tenbin_reach::Error) -> Self {
        use tenbin_reach::Error;
        let exit = match &error {
            Error::Missing(_) => Exit::Missing,
            Error::Request(_) => Exit::Usage,
            Error::Silent { .. } | Error::Revision { .. } => Exit::Fault,
            _ => Exit::Internal,
        };
        Self { exit, message: error.to_string() }
    }
}

impl From<Unprofiled> for Trouble {
    fn from(why: Unprofiled) -> Self {
        let exit = match why {
            // As where a shell is given what is no program.
            Unprofiled::Fault(_) => Exit::Usage,
            Unprofiled::Failed(_) => Exit::Fault,
            Unprofiled::Unattached(_) | Unprofiled::Untraced(_) => Exit::Missing,
        };
        Self { exit, message: why.to_string() }
    }
}

impl Trouble {
    /// The request is wrong.
    pub fn usage(message: impl Into<String>) -> Self {
        Self { exit: Exit::Usage, message: message.into() }
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
                if written.is_ok() && matches!(Destination::of(path), Ok(Destination::File(_))) {
                    say(&format!("Wrote {}.", path.display()));
                }
                // An answer that its file does not take is not lost.
                written.inspect_err(|_| drop(show(&answer.text)))
            }
        }
        .inspect_err(|_| answer.remarks.iter().for_each(|remark| say(remark)))
        .map(|()| answer)
    });
    match written {
        Ok(answer) => {
            answer.remarks.iter().for_each(|remark| say(remark));
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
    to_standard_output(ascii::for_output(text).as_bytes())
}

/// Where an answer is to go that was asked for with `-o`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Destination {
    /// Standard output: `-`, and the names that Linux has for it.
    StandardOutput,
    /// What is there and is no file: a device, a pipe. It is written to as it stands.
    Special(PathBuf),
    /// A file, there already or not. Links have been followed: what they lead to is replaced, and not they.
    File(PathBuf),
}

impl Destination {
    /// What `path` leads to.
    ///
    /// # Errors
    /// A usage error where it is a folder, or a link that leads nowhere.
    pub fn of(path: &Path) -> Result<Self, Trouble> {
        const STANDARD_OUTPUT: [&str; 4] = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if STANDARD_OUTPUT.iter().any(|name| path == Path::new(name)) {
            return Ok(Self::StandardOutput);
        }
        let open_already = ["/dev/fd", "/proc/self/fd"].iter().any(|folder| path.starts_with(folder));
        let is_link = path.is_symlink();
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => Err(unwritten(path, &io::ErrorKind::IsADirectory.into())),
            Ok(metadata) if open_already || !metadata.is_file() => Ok(Self::Special(path.into())),
            Ok(_) if is_link => path.canonicalize().map(Self::File).map_err(|error| unwritten(path, &error)),
            Err(error) if is_link && error.kind() == io::ErrorKind::NotFound => Err(Trouble::usage(format!(
                "write {}: it is a symbolic link that leads nowhere; name the file that is meant",
                path.display()
            ))),
            Err(error) if is_link => Err(unwritten(path, &error)),
            // What else is wrong with a path is found when the file is made.
            Ok(_) | Err(_) => Ok(Self::File(path.into())),
        }
    }
}

/// Why `path` was not written. A disk that is full is nobody's usage error; a path that cannot be written is.
fn unwritten(path: &Path, error: &io::Error) -> Trouble {
    let message = format!("write {}: {error}", path.display());
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::NotADirectory
        | io::ErrorKind::IsADirectory
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::ReadOnlyFilesystem
        | io::ErrorKind::AlreadyExists
        | io::ErrorKind::InvalidFilename
        | io::ErrorKind::InvalidInput => Trouble::usage(message),
        _ if error.raw_os_error() == Some(Errno::LOOP.raw_os_error()) => Trouble::usage(message),
        _ => Trouble::internal(message),
    }
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
    into_standard_output(|out| out.write_all(bytes))
}

fn into_standard_output(write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Trouble> {
    standard_output_is_open()?;
    let mut out = io::stdout().lock();
    match write(&mut out).and_then(|()| out.flush()) {
        // The reader has seen enough; that is its right.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| no_standard_output(&error)),
    }
}

fn no_standard_output(error: &io::Error) -> Trouble {
    Trouble::internal(format!("write the answer to standard output: {error}"))
}

/// Rust has put /dev/null in the place of what was closed.
fn standard_output_is_open() -> Result<(), Trouble> {
    if inherited::standard_output_was_closed() {
        return Err(no_standard_output(&Errno::BADF.into()));
    }
    Ok(())
}

/// Whether `write_whole` will be able to write to `path`, asked before there is anything to write.
///
/// # Errors
/// Names the path and the system's reason: a usage error where the path is wrong.
pub fn can_be_written(path: &Path) -> Result<(), Trouble> {
    let trouble = |error: io::Error| unwritten(path, &error);
    match Destination::of(path)? {
        Destination::StandardOutput => standard_output_is_open(),
        Destination::Special(path) => OpenOptions::new().write(true).open(path).map(|_| ()).map_err(trouble),
        Destination::File(path) => {
            let beside = beside(&path);
            File::create(&beside).and_then(|_| fs::remove_file(&beside)).map_err(trouble)
        }
    }
}

/// Whether each of these goes to a place of its own; several may go to what is no file.
///
/// # Errors
/// A usage error that names the file that two of them would be written to.
pub fn each_elsewhere<'a>(paths: impl IntoIterator<Item = &'a Path>) -> Result<(), Trouble> {
    let mut known = Vec::new();
    for path in paths {
        if let Destination::File(file) = Destination::of(path)? {
            // However it is spelt.
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new(".")).canonicalize();
            let file = match (folder, file.file_name()) {
                (Ok(folder), Some(name)) => folder.join(name),
                _ => file,
            };
            if known.contains(&file) {
                let why = format!("{}: two outputs go there; name a file for each", path.display());
                return Err(Trouble::usage(why));
            }
            known.push(file);
        }
    }
    Ok(())
}

/// Where a file is written before it is renamed into its place.
fn beside(path: &Path) -> PathBuf {
    let mut beside = path.as_os_str().to_owned();
    beside.push(format!(".{}.part", std::process::id()));
    beside.into()
}

/// Writes a file beside its place, brings it to disk and renames it: it appears whole or not at all.
/// What is there and is no file (standard output, a device, a pipe) is written to as it stands; that its
/// reader has left is no error.
///
/// # Errors
/// Names the path and the system's reason: a usage error where the path is wrong.
pub fn write_whole(path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<(), Trouble> {
    let written = match Destination::of(path)? {
        Destination::StandardOutput => return into_standard_output(write),
        Destination::Special(place) => {
            OpenOptions::new().write(true).open(place).and_then(|file| fill(file, write)).map(drop)
        }
        Destination::File(place) => {
            let beside = beside(&place);
            File::create(&beside)
                .and_then(|file| fill(file, write))
                .and_then(|file| file.sync_all())
                .and_then(|()| fs::rename(&beside, place))
                .inspect_err(|_| {
                    // The half-written file is ours; that it may never have been made is no further trouble.
                    let _ = fs::remove_file(&beside);
                })
        }
    };
    match written {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| unwritten(path, &error)),
    }
}

fn fill(file: File, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<File> {
    let mut out = BufWriter::new(file);
    write(&mut out)?;
    out.flush()?;
    out.into_inner().map_err(io::IntoInnerError::into_error)
}

/// Remarks as standard error shows them.
pub fn prefixed(remarks: &[String]) -> Vec<String> {
    remarks.iter().map(|remark| format!("tenbin: {remark}")).collect()
}

/// A line on standard error. A standard error that is closed is no reason to fail.
pub fn say(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}
