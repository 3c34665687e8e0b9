//! Opening a file that others made: read only, without leaving a trace beside it.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use tempfile::TempDir;

use crate::error::{Error, PATIENCE, Place};
use crate::kind_of_file::{Foreign, HEADER, MAGIC, what_begins_with};
use crate::schema;

/// A store that others made, open for reading.
pub(crate) struct ForeignStore {
    pub(crate) connection: Connection,
    /// Its format, which may be an older one: what others made is read and never brought up to date.
    pub(crate) format: i32,
    /// Where the file was copied, if it had to be; removed with this.
    _copy: Option<TempDir>,
}

impl ForeignStore {
    /// Opens the file at the place and checks that it is a sound store of a known format.
    ///
    /// Three cases. A file without a log beside it is opened as immutable: SQLite neither locks it
    /// nor writes beside it. A file that another process has open (it has a log and the memory that is
    /// shared between its users) is read under SQLite's own locks, which sees every finished run and
    /// creates nothing. A file with a log or a journal that nobody has open was left by a crash or a
    /// copy: it is repaired in a copy of our own.
    pub(crate) fn open(place: Place<'_>) -> Result<Self, Error> {
        let (connection, copy) = connect(place)?;
        let format = prepare(&connection, place)?;
        // One error is enough to refuse the file.
        let verdict: String = connection
            .query_row("PRAGMA integrity_check(1)", [], |row| row.get(0))
            .map_err(|error| place.sqlite(error))?;
        if verdict != "ok" {
            return Err(place.damaged(verdict.replace('\n', " ")));
        }
        Ok(Self { connection, format, _copy: copy })
    }
}

/// A store that is only read, though it may be damaged in parts: what is sound in it is to be seen.
pub(crate) struct ReadOnlyStore {
    pub(crate) connection: Connection,
    /// Whether there is a log that cannot be read.
    pub(crate) log_unread: bool,
    pub(crate) copy: Option<TempDir>,
}

impl ReadOnlyStore {
    /// Opens the file at the place as [`ForeignStore::open`] does. Where only the file itself can be read,
    /// and not its log, it is read without. A journal must be read: without it the file may be in the middle
    /// of a change.
    pub(crate) fn open(place: Place<'_>) -> Result<Self, Error> {
        let (connection, log_unread, copy) = match connect(place) {
            Ok((connection, copy)) => (connection, false, copy),
            Err(error @ (Error::NoPermission(_) | Error::NoSpace(_) | Error::Io(..) | Error::Sqlite(..))) => {
                let log = fs::metadata(with_suffix(place.path, "-wal"));
                if log.is_err() || with_suffix(place.path, "-journal").exists() {
                    return Err(error);
                }
                recognise(place)?;
                (open_immutable(place)?, log.is_ok_and(|log| log.len() > 0), None)
            }
            Err(other) => return Err(other),
        };
        prepare(&connection, place)?;
        Ok(Self { connection, log_unread, copy })
    }
}

/// Opens the file at the place in the way that fits it, and returns the folder of its copy if it was copied.
fn connect(place: Place<'_>) -> Result<(Connection, Option<TempDir>), Error> {
    regular(place)?;
    let beside = |suffix: &str| Some(with_suffix(place.path, suffix)).filter(|path| path.exists());
    match (beside("-wal"), beside("-shm"), beside("-journal")) {
        (None, _, None) => {
            recognise(place)?;
            Ok((open_immutable(place)?, None))
        }
        (Some(_), Some(_), None) => match open_shared(place.path) {
            Ok(connection) => Ok((connection, None)),
            Err(_) => copied(place),
        },
        _ => copied(place),
    }
}

fn copied(place: Place<'_>) -> Result<(Connection, Option<TempDir>), Error> {
    let io = |error| place.io(error);
    let folder = tempfile::Builder::new().prefix("tenbin-import-").tempdir().map_err(io)?;
    let copy = folder.path().join("store.db");
    for suffix in ["-wal", "-journal", ""] {
        let from = with_suffix(place.path, suffix);
        if suffix.is_empty() || from.exists() {
            fs::copy(from, with_suffix(&copy, suffix)).map_err(io)?;
        }
    }
    let connection = Connection::open_with_flags(&copy, OpenFlags::SQLITE_OPEN_READ_WRITE)
        .map_err(|error| place.sqlite(error))?;
    Ok((connection, Some(folder)))
}

/// Has the connection wait for other processes, and returns the format of the file, which must be known.
fn prepare(connection: &Connection, place: Place<'_>) -> Result<i32, Error> {
    let sqlite = |error| place.sqlite(error);
    connection.busy_timeout(PATIENCE).map_err(sqlite)?;
    // A file from elsewhere may carry triggers and views; none of them may call a function.
    connection.pragma_update(None, "trusted_schema", false).map_err(sqlite)?;
    schema::check(connection, place)
}

/// Only a file can be a store; opening a pipe would wait for ever.
pub(crate) fn regular(place: Place<'_>) -> Result<(), Error> {
    let status = fs::metadata(place.path).map_err(|error| place.io(error))?;
    if status.is_dir() {
        return Err(Error::IsDirectory(place.task()));
    }
    if !status.is_file() {
        return Err(Error::NotAStore(place.task(), Foreign::Other("a device, a pipe or a socket")));
    }
    Ok(())
}

/// Whether two paths lead to one file.
pub fn same_file(one: &Path, other: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    match (fs::metadata(one), fs::metadata(other)) {
        (Ok(one), Ok(other)) => (one.dev(), one.ino()) == (other.dev(), other.ino()),
        _ => false,
    }
}

fn open_immutable(place: Place<'_>) -> Result<Connection, Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_URI;
    Connection::open_with_flags(immutable_uri(place.path), flags).map_err(|error| place.sqlite(error))
}

/// Every byte that is not plainly part of a name is escaped, so that no path can carry an option.
fn immutable_uri(path: &Path) -> OsString {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    // Between the second slash and the third stands the host, which is empty.
    let mut uri = String::from(if path.is_absolute() { "file://" } else { "file:./" });
    for byte in path.as_os_str().as_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' => {
                uri.push(char::from(*byte))
            }
            // Writing to a string cannot fail.
            _ => drop(write!(uri, "%{byte:02x}")),
        }
    }
    uri.push_str("?immutable=1");
    uri.into()
}

fn open_shared(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true)?;
    // The first read is what recovers the log, and what fails where that is not allowed.
    connection.busy_timeout(PATIENCE)?;
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Names what the file is if its header is not that of a sound store. Reads the bytes themselves,
/// which says more than SQLite does; the file must have no log beside it.
fn recognise(place: Place<'_>) -> Result<(), Error> {
    let io = |error| place.io(error);
    let mut header = Vec::new();
    let file = File::open(place.path).map_err(io)?;
    let size = file.metadata().map_err(io)?.len();
    file.take(HEADER as u64).read_to_end(&mut header).map_err(io)?;
    if header.is_empty() {
        return Err(Error::NotAStore(place.task(), Foreign::Empty));
    }
    let known = header.len().min(MAGIC.len());
    if header[..known] != MAGIC[..known] {
        return Err(Error::NotAStore(place.task(), Foreign::Other(what_begins_with(&header))));
    }
    let field = |at: usize| {
        let bytes = header.get(at..at + 4).unwrap_or_default();
        bytes.iter().fold(0u64, |value, byte| value << 8 | u64::from(*byte))
    };
    // A page size of 1 in the header's two bytes means 65536.
    let page = if field(16) >> 16 == 1 { 65_536 } else { field(16) >> 16 };
    // The page count holds only if the change counter beside it is that of the file.
    let promised = if field(24) == field(92) { page * field(28) } else { 0 };
    if header.len() < HEADER || size < promised {
        let whole = promised.max(HEADER as u64);
        return Err(place.damaged(format!("it ends after {size} bytes of {whole}")));
    }
    Ok(())
}

/// `store.db` and `-wal` make `store.db-wal`.
fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut whole = OsString::from(path);
    whole.push(suffix);
    whole.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_cannot_carry_options_into_the_address() {
        let address = |path: &str| immutable_uri(Path::new(path)).into_string().unwrap();
        assert_eq!(address("/a/b c?mode=rw#%.db"), "file:///a/b%20c%3fmode%3drw%23%25.db?immutable=1");
        assert_eq!(address("a.db"), "file:./a.db?immutable=1");
        assert_eq!(address("//a.db"), "file:////a.db?immutable=1");
    }

    #[test]
    fn strangers_are_named() {
        assert_eq!(what_begins_with(b"\x1f\x8b\x08"), "a gzip archive (unpack it first)");
        assert_eq!(what_begins_with(b"{\"schema\":1}"), "a JSON document");
        assert_eq!(what_begins_with(b"a,b\r\n"), "a text");
        assert_eq!(what_begins_with(b"\0\x01"), "not an SQLite database");
    }
}
