//! Why the store could not do what it was asked, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use rustix::io::Errno;
use tenbin_model::words::first;

use crate::identity::{CalibrationId, RunId};
use crate::kind_of_file::{self, Foreign};

/// How long a process waits for another one that is writing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What was tried when an error came up; it ends "could not …".
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Attempt {
    /// Opening or creating a store.
    #[error("open the store")]
    Open,
    /// Opening a store to read it.
    #[error("read the store")]
    Read,
    /// Keeping a run.
    #[error("keep the run in")]
    Keep,
    /// Listing or finding runs.
    #[error("list the runs of")]
    List,
    /// Loading a run.
    #[error("load a run from")]
    Load,
    /// Keeping a calibration.
    #[error("keep the calibration in")]
    KeepCalibration,
    /// Listing or finding calibrations.
    #[error("list the calibrations of")]
    ListCalibrations,
    /// Loading a calibration.
    #[error("load a calibration from")]
    LoadCalibration,
    /// Removing runs and calibrations.
    #[error("remove runs from")]
    Remove,
    /// Giving labels to runs, or taking them away.
    #[error("label runs in")]
    Label,
    /// Writing runs and calibrations to a file of their own.
    #[error("export to")]
    Export,
    /// Merging another file.
    #[error("import from")]
    Import,
}

/// Why a run or a calibration cannot be kept: it holds something that would not come back as it is.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unfaithful(pub(crate) String);

/// What was tried, and on which file.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("could not {tried} {}", path.display())]
pub struct Task {
    /// What was tried.
    pub tried: Attempt,
    /// On what.
    pub path: PathBuf,
}

/// What was looked for in a store.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// The store.
    pub path: PathBuf,
    /// A name, or the beginning of one.
    pub wanted: String,
}

/// Why the store could not do what it was asked. Its text says what was tried, on what, why it
/// failed and what to do.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file, or no such folder.
    #[error("{0}: there is no such file or folder; check the path")]
    NoSuchFile(Task),
    /// A folder stands where a file is needed.
    #[error("{0}: it is a folder; name a file in it")]
    IsDirectory(Task),
    /// The user may not read or write the file or its folder.
    #[error("{0}: permission denied; make {files} or name another", files = permission(.0.tried))]
    NoPermission(Task),
    /// The file was not made by tenbin: what it is instead.
    #[error("{0}: it is {1} and not a tenbin store; {remedy}", remedy = origin(.0.tried))]
    NotAStore(Task, Foreign),
    /// The file was made by a newer tenbin: its format.
    #[error(
        "{0}: it was made by a newer tenbin (format {1}, this one reads {2}); use that tenbin or a newer one"
    )]
    NewerFormat(Task, i32, i32),
    /// The file is truncated or altered: what is wrong with it.
    #[error("{0}: the file is damaged: {1}; {remedy}", remedy = mending(.0.tried))]
    Damaged(Task, String),
    /// Another process has held the file for too long: for as long as was waited.
    #[error(
        "{0}: another process has held it for {waited} s; wait for that process or end it, then try again",
        waited = .1.as_secs_f64()
    )]
    Locked(Task, Duration),
    /// The disk is full, or a quota or a limit on file sizes was reached.
    #[error(
        "{0}: the disk does not take the data; nothing that was there is lost; free space, or raise the quota or the limit on \
         file sizes (ulimit -f), or name a file on another disk"
    )]
    NoSpace(Task),
    /// The file to be written exists already.
    #[error("{0}: the file exists and was left alone; name another, or have it replaced with --force")]
    Exists(Task),
    /// The file to be written is the store itself.
    #[error(
        "could not {} {}: this is the store whose runs are to be written, and it was left alone; name another file",
        Attempt::Export,
        .0.display()
    )]
    IsTheStore(PathBuf),
    /// No run has this name, or a name that begins so; the newest runs that there are, newest first.
    #[error("{}", unknown_run(.0, .1))]
    UnknownRun(Lookup, Vec<RunId>),
    /// Several runs have names that begin so.
    #[error(
        "'{}' names several runs in {}; name one of them: {}",
        .0.wanted,
        .0.path.display(),
        first(.1.iter().map(RunId::short), SHOWN)
    )]
    AmbiguousRun(Lookup, Vec<RunId>),
    /// No calibration has this name.
    #[error("no calibration '{}' in {}; import it first", .0.wanted, .0.path.display())]
    UnknownCalibration(Lookup),
    /// Several calibrations have names that begin so.
    #[error(
        "'{}' names several calibrations in {}; give more digits of one of {}",
        .0.wanted,
        .0.path.display(),
        first(.1.iter().map(CalibrationId::short), SHOWN)
    )]
    AmbiguousCalibration(Lookup, Vec<CalibrationId>),
    /// The run or the calibration holds something that would not come back as it is.
    #[error(
        "{0}: what was to be kept holds a value that would not come back as it is ({1}); this is a mistake in tenbin, please \
         report it"
    )]
    Unfaithful(Task, Unfaithful),
    /// The system refused for another reason.
    #[error("{0}: {1}; {remedy}", remedy = remedy(.1))]
    Io(Task, #[source] io::Error),
    /// SQLite refused for another reason.
    #[error("{0}: {1}; check the disk, or name a file elsewhere")]
    Sqlite(Task, #[source] rusqlite::Error),
}

/// A longer list of names helps nobody.
const SHOWN: usize = 8;

fn permission(tried: Attempt) -> &'static str {
    match tried {
        Attempt::Read | Attempt::Import => "the file and what lies beside it under its name readable,",
        _ => "the file and its folder readable and writable,",
    }
}

/// Whose files are read.
fn origin(tried: Attempt) -> &'static str {
    match tried {
        Attempt::Import => {
            "name a file that tenbin wrote, or one of the formats that `tenbin import --help` lists"
        }
        _ => "name a file that tenbin wrote",
    }
}

fn mending(tried: Attempt) -> &'static str {
    match tried {
        Attempt::Import => "nothing of it was imported; copy or export it again from where it came",
        _ => {
            "import it again from an exported file, or save what is intact with `tenbin export --intact -o FILE`"
        }
    }
}

fn unknown_run(Lookup { path, wanted }: &Lookup, newest: &[RunId]) -> String {
    let path = path.display();
    match newest {
        [] => format!("no run '{wanted}' in {path}: the store is empty; measure or import a run first"),
        _ => {
            let newest = first(newest.iter().map(RunId::short), SHOWN);
            format!("no run and no label '{wanted}' in {path}; the newest are {newest}")
        }
    }
}

fn remedy(source: &io::Error) -> &'static str {
    match source.raw_os_error().map(Errno::from_raw_os_error) {
        Some(Errno::MFILE | Errno::NFILE) => "raise the limit on open files (ulimit -n)",
        Some(Errno::NOMEM) => "free memory, or raise the limit on it (ulimit -v)",
        _ => "check the disk, or name a file elsewhere",
    }
}

/// What is being tried on which file: turns the reasons of others into errors of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) tried: Attempt,
    pub(crate) path: &'a Path,
}

impl Place<'_> {
    pub(crate) fn task(self) -> Task {
        Task { tried: self.tried, path: self.path.into() }
    }

    pub(crate) fn lookup(self, wanted: impl Into<String>) -> Lookup {
        Lookup { path: self.path.into(), wanted: wanted.into() }
    }

    pub(crate) fn damaged(self, what: impl Into<String>) -> Error {
        Error::Damaged(self.task(), what.into())
    }

    pub(crate) fn damaged_run(self, run: &RunId, what: &str) -> Error {
        self.damaged(format!("run {}: {what}", run.short()))
    }

    pub(crate) fn damaged_calibration(self, calibration: &CalibrationId, what: &str) -> Error {
        self.damaged(format!("calibration {}: {what}", calibration.short()))
    }

    pub(crate) fn io(self, source: io::Error) -> Error {
        let task = self.task();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::NoSuchFile(task),
            io::ErrorKind::IsADirectory => Error::IsDirectory(task),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => Error::NoPermission(task),
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Error::NoSpace(task)
            }
            io::ErrorKind::AlreadyExists if self.tried == Attempt::Export => Error::Exists(task),
            _ => Error::Io(task, source),
        }
    }

    pub(crate) fn sqlite(self, source: rusqlite::Error) -> Error {
        let task = self.task();
        let rusqlite::Error::SqliteFailure(failure, message) = &source else {
            // Our statements and our tables agree, so a value of another kind is damage.
            return self.damaged(source.to_string());
        };
        match (failure.code, failure.extended_code) {
            // SQLite says "full" only for ENOSPC; quotas and limits come as failed writes.
            (ErrorCode::DiskFull, _)
            | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_TRUNCATE) => {
                Error::NoSpace(task)
            }
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => Error::Locked(task, PATIENCE),
            (ErrorCode::NotADatabase, _) => match kind_of_file::of(self.path) {
                Some(foreign) => Error::NotAStore(task, foreign),
                None => self.damaged("its first page is not what SQLite writes"),
            },
            (ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch | ErrorCode::TooBig, _)
            | (_, ffi::SQLITE_IOERR_SHORT_READ) => {
                self.damaged(message.clone().unwrap_or_else(|| failure.to_string()))
            }
            (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Error::NoPermission(task),
            // SQLite does not say why it cannot open a file; asking the system again does.
            (ErrorCode::CannotOpen, _) => {
                let has_folder =
                    || self.path.parent().is_some_and(|folder| folder == Path::new("") || folder.is_dir());
                match std::fs::OpenOptions::new().read(true).write(true).open(self.path) {
                    // It is missing although its folder is there: it could not be made.
                    Err(reason) if reason.kind() == io::ErrorKind::NotFound && has_folder() => {
                        Error::NoPermission(task)
                    }
                    Err(reason) => self.io(reason),
                    Ok(_) => Error::Sqlite(task, source),
                }
            }
            // Our statements are fixed: a table or column that is missing is missing in the file.
            (_, ffi::SQLITE_ERROR) => self.damaged(message.clone().unwrap_or_else(|| failure.to_string())),
            _ => Error::Sqlite(task, source),
        }
    }
}
