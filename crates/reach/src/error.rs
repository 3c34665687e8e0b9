//! Why a guest gave no answer, or was never started.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_model::Missing;

/// Why there is no answer from a guest. The text says what was tried, on what, why it failed and what
/// to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// This machine lacks a program or a file.
    #[error("{0}")]
    Missing(Missing),
    /// The request cannot be met anywhere.
    #[error("{0}")]
    Request(String),
    /// A package could not be brought.
    #[error("fetch {what} for a guest: {cause}")]
    Fetch {
        /// What was wanted.
        what: String,
        /// What the program that brings it said last.
        cause: String,
    },
    /// Lists of packages do not fit together on the server: it is being brought up to date, or was left in
    /// the middle of that.
    #[error(
        "fetch {what} for a guest: Debian's archive serves lists that do not fit together, so none can be trusted; try \
         again in an hour, or name another mirror to apt: {cause}"
    )]
    Unsynced {
        /// What was wanted.
        what: String,
        /// What the program that brings it said last.
        cause: String,
    },
    /// Kernel modules of ours do not build.
    #[error("build kernel modules {what}: {cause}")]
    Build {
        /// With what.
        what: String,
        /// How that ended, and what the compiler said first.
        cause: String,
    },
    /// A file or folder could not be read or written.
    #[error("{tried} {}: {error}", path.display())]
    File {
        /// What was tried, without the path: "read", "write".
        tried: &'static str,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// A program could not be started or minded.
    #[error("run {program}: {error}")]
    Process {
        /// Its name.
        program: String,
        /// The system's reason.
        #[source]
        error: io::Error,
    },
    /// A revision of a repository could not be had.
    #[error("{tried} revision {name}: {cause}")]
    Revision {
        /// Which.
        name: String,
        /// What was tried.
        tried: &'static str,
        /// How that ended.
        cause: String,
    },
    /// The emulator would not work.
    #[error("boot a guest with {program}: {cause}")]
    Emulator {
        /// Its name.
        program: &'static str,
        /// What it said last.
        cause: String,
    },
    /// The emulator would not follow the debugger.
    #[error("replay a run with {program}: {cause}")]
    Replay {
        /// Its name.
        program: &'static str,
        /// What went wrong, and what it said last.
        cause: String,
    },
    /// The guest was started, and no whole answer came back.
    #[error("the guest gave no answer: {silence}; its console ends:\n{console}")]
    Silent {
        /// How that ended.
        silence: Silence,
        /// The last lines of the guest's console.
        console: String,
    },
}

/// How a guest ended that did not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Silence {
    /// It still ran at the end of the time that it had.
    #[error("it was still running after {} s and was ended: the command hangs, or needs more time", .0.as_secs_f64())]
    Deadline(Duration),
    /// Its kernel panicked.
    #[error("its kernel panicked")]
    Panic,
    /// It sent more than an answer may have, in bytes, and was ended.
    #[error(
        "its output and the files to bring back are more than the {} MiB that an answer may have",
        .0 >> 20
    )]
    Flood(u64),
    /// It was over, and this is missing or wrong in its answer.
    #[error("it ended without a whole answer ({0})")]
    Ended(String),
}

impl Error {
    /// What turns the system's reason into an error that names `path`.
    pub(crate) fn file(tried: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_path_buf();
        move |error| Self::File { tried, path, error }
    }
}
