//! Why a guest gave no answer, or was never started.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_model::Missing;

/// Why there is no answer from a guest. The text says what was tried, on what, why it failed and what
/// to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// This machine lacks a program or a file.
    Missing(Missing),
    /// The request cannot be met anywhere.
    Request(String),
    /// A package could not be brought.
    Fetch {
        /// What was wanted.
        what: String,
        /// What the program that brings it said last.
        said: String,
    },
    /// Lists of packages do not fit together on the server: it is being brought up to date, or was left in
    /// the middle of that.
    Unsynced {
        /// What was wanted.
        what: String,
        /// What the program that brings it said last.
        said: String,
    },
    /// Kernel modules of ours do not build.
    Build {
        /// With what.
        what: String,
        /// How that ended, and what the compiler said first.
        said: String,
    },
    /// A file or folder could not be read or written.
    File {
        /// What was tried, without the path: "read", "write".
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// A program could not be started or minded.
    Process {
        /// Its name.
        program: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The emulator would not work.
    Emulator {
        /// Its name.
        program: &'static str,
        /// What it said last.
        said: String,
    },
    /// The emulator would not follow the debugger.
    Replay {
        /// Its name.
        program: &'static str,
        /// What went wrong, and what it said last.
        said: String,
    },
    /// The guest was started, and no whole answer came back.
    Silent {
        /// How that ended.
        silence: Silence,
        /// The last lines of the guest's console.
        console: String,
    },
}

/// How a guest ended that did not answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Silence {
    /// It still ran at the end of the time that it had.
    Deadline(Duration),
    /// Its kernel panicked.
    Panic,
    /// It sent more than an answer may have, in bytes, and was ended.
    Flood(u64),
    /// It was over, and this is missing or wrong in its answer.
    Ended(String),
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Deadline(time) => write!(
                f,
                "it still ran after {} s and was ended: the command hangs, or needs more time",
                time.as_secs_f64()
            ),
            Self::Panic => f.write_str("its kernel panicked"),
            Self::Flood(most) => write!(
                f,
                "its output and the files to bring back are more than the {} MiB that an answer may have",
                most >> 20
            ),
            Self::Ended(why) => write!(f, "it ended without a whole answer ({why})"),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing(missing) => missing.fmt(f),
            Self::Request(why) => f.write_str(why),
            Self::Fetch { what, said } => write!(f, "fetch {what} for a guest: {said}"),
            Self::Unsynced { what, said } => write!(
                f,
                "fetch {what} for a guest: Debian's archive serves lists that do not fit together, so none can be trusted; try \
                 again in an hour, or name another mirror to apt: {said}"
            ),
            Self::Build { what, said } => write!(f, "build kernel modules {what}: {said}"),
            Self::File { tried, path, error } => write!(f, "{tried} {}: {error}", path.display()),
            Self::Process { program, error } => write!(f, "run {program}: {error}"),
            Self::Emulator { program, said } => write!(f, "boot a guest by {program}: {said}"),
            Self::Replay { program, said } => write!(f, "replay a run by {program}: {said}"),
            Self::Silent { silence, console } => {
                write!(f, "the guest gave no answer: {silence}; its console ends:\n{console}")
            }
        }
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::File { error, .. } | Self::Process { error, .. } => Some(error),
            _ => None,
        }
    }
}

impl Error {
    /// What turns the system's reason into an error that names `path`.
    pub(crate) fn file(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |error| Self::File { tried, path, error }
    }
}
