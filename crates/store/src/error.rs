//! Why the store could not do what it was asked, and what to do about it.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::ErrorCode;
use rusqlite::ffi;
use rustix::io::Errno;

use crate::identity::{CalibrationId, RunId};
use crate::kind_of_file::{self, Foreign};

/// How long a process waits for another one that is writing.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// What was tried when an error came up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Attempt {
    /// Opening or creating a store.
    Open,
    /// Opening a store to read it.
    Read,
    /// Keeping a run.
    Keep,
    /// Listing or finding runs.
    List,
    /// Loading a run.
    Load,
    /// Keeping a calibration.
    KeepCalibration,
    /// Listing or finding calibrations.
    ListCalibrations,
    /// Loading a calibration.
    LoadCalibration,
    /// Removing runs and calibrations.
    Remove,
    /// Giving labels to runs, or taking them away.
    Label,
    /// Writing runs and calibrations to a file of their own.
    Export,
    /// Merging another file.
    Import,
}

/// Ends "could not …".
impl fmt::Display for Attempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open the store",
            Self::Read => "read the store",
            Self::Keep => "keep the run in",
            Self::List => "list the runs of",
            Self::Load => "load a run from",
            Self::KeepCalibration => "keep the calibration in",
            Self::ListCalibrations => "list the calibrations of",
            Self::LoadCalibration => "load a calibration from",
            Self::Remove => "remove runs from",
            Self::Label => "label runs in",
            Self::Export => "export to",
            Self::Import => "import from",
        })
    }
}

/// Why a run or a calibration cannot be kept: it holds something that would not come back as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unfaithful(pub(crate) String);

/// Why the store could not do what it was asked. Its text says what was tried, on what, why it
/// failed and what to do.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// There is no such file, or no such folder.
    NoSuchFile {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
    },
    /// A folder stands where a file is needed.
    IsDirectory {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
    },
    /// The user may not read or write the file or its folder.
    NoPermission {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
    },
    /// The file was not made by tenbin.
    NotAStore {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
        /// What the file is instead.
        foreign: Foreign,
    },
    /// The file was made by a newer tenbin.
    NewerFormat {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
        /// The format version of the file.
        format: i32,
        /// The newest that this tenbin reads.
        known: i32,
    },
    /// The file is truncated or altered.
    Damaged {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
        /// What is wrong with it.
        what: String,
    },
    /// Another process has held the file for too long.
    Locked {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
        /// How long was waited.
        waited: Duration,
    },
    /// The disk is full, or a quota or a limit on file sizes was reached.
    NoSpace {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
    },
    /// The file to be written exists already.
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The file to be written is the store itself.
    IsTheStore {
        /// The file.
        path: PathBuf,
    },
    /// No run has this name, or a name that begins so.
    UnknownRun {
        /// The store.
        path: PathBuf,
        /// What was looked for.
        wanted: String,
        /// The newest runs that there are, newest first.
        newest: Vec<RunId>,
    },
    /// Several runs have names that begin so.
    AmbiguousRun {
        /// The store.
        path: PathBuf,
        /// What was looked for.
        wanted: String,
        /// The runs that it may mean.
        candidates: Vec<RunId>,
    },
    /// No calibration has this name.
    UnknownCalibration {
        /// The store.
        path: PathBuf,
        /// What was looked for.
        wanted: String,
    },
    /// Several calibrations have names that begin so.
    AmbiguousCalibration {
        /// The store.
        path: PathBuf,
        /// What was looked for.
        wanted: String,
        /// The calibrations that it may mean.
        candidates: Vec<CalibrationId>,
    },
    /// The run or the calibration holds something that would not come back as it is.
    Unfaithful {
        /// What was tried.
        tried: Attempt,
        /// The store.
        path: PathBuf,
        /// What it holds.
        what: Unfaithful,
    },
    /// The system refused for another reason.
    Io {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// SQLite refused for another reason.
    Sqlite {
        /// What was tried.
        tried: Attempt,
        /// On what.
        path: PathBuf,
        /// SQLite's reason.
        source: rusqlite::Error,
    },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let failed = |f: &mut fmt::Formatter<'_>, tried: &Attempt, path: &Path| {
            write!(f, "could not {tried} {}: ", path.display())
        };
        match self {
            Self::NoSuchFile { tried, path } => {
                failed(f, tried, path)?;
                f.write_str("there is no such file or folder; check the path")
            }
            Self::IsDirectory { tried, path } => {
                failed(f, tried, path)?;
                f.write_str("it is a folder; name a file in it")
            }
            Self::NoPermission { tried, path } => {
                failed(f, tried, path)?;
                f.write_str(match tried {
                    Attempt::Read | Attempt::Import => {
                        "permission denied; make the file and what lies beside it under its name readable, or name another"
                    }
                    _ => "permission denied; make the file and its folder readable and writable, or name another",
                })
            }
            Self::NotAStore { tried, path, foreign } => {
                failed(f, tried, path)?;
                write!(f, "it is {foreign} and no store of tenbin; name a file that tenbin wrote")
            }
            Self::NewerFormat { tried, path, format, known } => {
                failed(f, tried, path)?;
                write!(
                    f,
                    "it was made by a newer tenbin (format {format}, this one reads {known}); use that tenbin or a newer one"
                )
            }
            Self::Damaged { tried, path, what } => {
                failed(f, tried, path)?;
                let remedy = match tried {
                    Attempt::Import => {
                        "nothing of it was imported; copy or export it again from where it came"
                    }
                    _ => {
                        "import it again from an exported file, or save what is intact with `tenbin export --intact -o FILE`"
                    }
                };
                write!(f, "the file is damaged: {what}; {remedy}")
            }
            Self::Locked { tried, path, waited } => {
                failed(f, tried, path)?;
                write!(
                    f,
                    "another process has held it for {} s; wait for that process or end it, then try again",
                    waited.as_secs_f64()
                )
            }
            Self::NoSpace { tried, path } => {
                failed(f, tried, path)?;
                f.write_str(
                    "the disk does not take the data; nothing that was there is lost; free space, or raise the quota \
                     or the limit on file sizes (ulimit -f), or name a file on another disk",
                )
            }
            Self::Exists { path } => {
                failed(f, &Attempt::Export, path)?;
                f.write_str(
                    "the file exists and was left alone; name another, or have it replaced with --force",
                )
            }
            Self::IsTheStore { path } => {
                failed(f, &Attempt::Export, path)?;
                f.write_str("this is the store whose runs are to be written, and it was left alone; name another file")
            }
            Self::UnknownRun { path, wanted, newest } if newest.is_empty() => {
                write!(
                    f,
                    "no run '{wanted}' in {}: the store is empty; measure or import a run first",
                    path.display()
                )
            }
            Self::UnknownRun { path, wanted, newest } => {
                write!(f, "no run and no label '{wanted}' in {}; the newest are ", path.display())?;
                list(f, newest, RunId::short)
            }
            Self::AmbiguousRun { path, wanted, candidates } => {
                write!(f, "'{wanted}' names several runs in {}; name one of them: ", path.display())?;
                list(f, candidates, RunId::short)
            }
            Self::UnknownCalibration { path, wanted } => {
                write!(f, "no calibration '{wanted}' in {}; import it first", path.display())
            }
            Self::AmbiguousCalibration { path, wanted, candidates } => {
                write!(
                    f,
                    "'{wanted}' names several calibrations in {}; give more digits of one of ",
                    path.display()
                )?;
                list(f, candidates, CalibrationId::short)
            }
            Self::Unfaithful { tried, path, what } => {
                failed(f, tried, path)?;
                write!(
                    f,
                    "what was to be kept holds a value that would not come back as it is ({}); this is a mistake in tenbin, \
                     please report it",
                    what.0
                )
            }
            Self::Io { tried, path, source } => {
                failed(f, tried, path)?;
                let remedy = match source.raw_os_error().map(Errno::from_raw_os_error) {
                    Some(Errno::MFILE | Errno::NFILE) => "raise the limit on open files (ulimit -n)",
                    Some(Errno::NOMEM) => "free memory, or raise the limit on it (ulimit -v)",
                    _ => "check the disk, or name a file elsewhere",
                };
                write!(f, "{source}; {remedy}")
            }
            Self::Sqlite { tried, path, source } => {
                failed(f, tried, path)?;
                write!(f, "{source}; check the disk, or name a file elsewhere")
            }
        }
    }
}

/// Eight names at most: a longer list helps nobody.
fn list<Id>(f: &mut fmt::Formatter<'_>, names: &[Id], short: fn(&Id) -> String) -> fmt::Result {
    const SHOWN: usize = 8;
    for (index, name) in names.iter().take(SHOWN).enumerate() {
        write!(f, "{}{}", if index == 0 { "" } else { ", " }, short(name))?;
    }
    if names.len() > SHOWN { write!(f, " and {} more", names.len() - SHOWN) } else { Ok(()) }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Io { source, .. } => Some(source),
            Self::Sqlite { source, .. } => Some(source),
            _ => None,
        }
    }
}

/// What is being tried on which file: turns the reasons of others into errors of ours.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Place<'a> {
    pub(crate) tried: Attempt,
    pub(crate) path: &'a Path,
}

impl Place<'_> {
    pub(crate) fn not_a_store(self, foreign: Foreign) -> Error {
        Error::NotAStore { tried: self.tried, path: self.path.into(), foreign }
    }

    pub(crate) fn newer_format(self, format: i32, known: i32) -> Error {
        Error::NewerFormat { tried: self.tried, path: self.path.into(), format, known }
    }

    pub(crate) fn damaged(self, what: impl Into<String>) -> Error {
        Error::Damaged { tried: self.tried, path: self.path.into(), what: what.into() }
    }

    pub(crate) fn damaged_run(self, run: &RunId, what: &str) -> Error {
        self.damaged(format!("run {}: {what}", run.short()))
    }

    pub(crate) fn damaged_calibration(self, calibration: &CalibrationId, what: &str) -> Error {
        self.damaged(format!("calibration {}: {what}", calibration.short()))
    }

    pub(crate) fn io(self, source: io::Error) -> Error {
        let (tried, path) = (self.tried, self.path.into());
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Error::NoSuchFile { tried, path },
            io::ErrorKind::IsADirectory => Error::IsDirectory { tried, path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Error::NoPermission { tried, path }
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                Error::NoSpace { tried, path }
            }
            io::ErrorKind::AlreadyExists if tried == Attempt::Export => Error::Exists { path },
            _ => Error::Io { tried, path, source },
        }
    }

    pub(crate) fn sqlite(self, source: rusqlite::Error) -> Error {
        let (tried, path) = (self.tried, self.path.to_path_buf());
        let rusqlite::Error::SqliteFailure(failure, message) = &source else {
            // Our statements and our tables agree, so a value of another kind is damage.
            return self.damaged(source.to_string());
        };
        match (failure.code, failure.extended_code) {
            // SQLite says "full" only for ENOSPC; quotas and limits come as failed writes.
            (ErrorCode::DiskFull, _)
            | (_, ffi::SQLITE_IOERR_WRITE | ffi::SQLITE_IOERR_SHMSIZE | ffi::SQLITE_IOERR_TRUNCATE) => {
                Error::NoSpace { tried, path }
            }
            (ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked, _) => {
                Error::Locked { tried, path, waited: PATIENCE }
            }
            (ErrorCode::NotADatabase, _) => match kind_of_file::of(self.path) {
                Some(foreign) => self.not_a_store(foreign),
                None => self.damaged("its first page is not what SQLite writes"),
            },
            (ErrorCode::DatabaseCorrupt | ErrorCode::TypeMismatch | ErrorCode::TooBig, _)
            | (_, ffi::SQLITE_IOERR_SHORT_READ) => {
                self.damaged(message.clone().unwrap_or_else(|| failure.to_string()))
            }
            (ErrorCode::ReadOnly | ErrorCode::PermissionDenied, _) => Error::NoPermission { tried, path },
            // SQLite does not say why it cannot open a file; asking the system again does.
            (ErrorCode::CannotOpen, _) => {
                match std::fs::OpenOptions::new().read(true).write(true).open(self.path) {
                    // It is missing although its folder is there: it could not be made.
                    Err(reason)
                        if reason.kind() == io::ErrorKind::NotFound
                            && self
                                .path
                                .parent()
                                .is_some_and(|folder| folder == Path::new("") || folder.is_dir()) =>
                    {
                        Error::NoPermission { tried, path }
                    }
                    Err(reason) => self.io(reason),
                    Ok(_) => Error::Sqlite { tried, path, source },
                }
            }
            // Our statements are fixed: a table or column that is missing is missing in the file.
            (_, ffi::SQLITE_ERROR) => self.damaged(message.clone().unwrap_or_else(|| failure.to_string())),
            _ => Error::Sqlite { tried, path, source },
        }
    }
}
