//! The tables, and how a file says that it holds them.

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Error, Place};
use crate::kind_of_file::Foreign;

/// "tnbn": what SQLite keeps at offset 68 of the file, and `file` can be taught to recognise.
pub(crate) const APPLICATION: i32 = 0x746e_626e;

/// The version of the tables, of the codecs and of the shape of the document. See `docs/store.md`.
pub(crate) const FORMAT: i32 = 3;

/// The first format, which had no calibrations.
const RUNS_ALONE: i32 = 1;

/// Blobs lie in an ordinary table with an index beside it and not in the index itself: SQLite
/// fills the overflow pages of a table to the last byte, those of an index hardly ever.
const RUNS: &str = "
    CREATE TABLE run (
        key      INTEGER PRIMARY KEY,
        id       TEXT NOT NULL UNIQUE,
        document BLOB NOT NULL
    ) STRICT;
    CREATE TABLE chunk (
        run   INTEGER NOT NULL REFERENCES run (key),
        cell  INTEGER NOT NULL,
        field INTEGER NOT NULL,
        part  INTEGER NOT NULL,
        codec INTEGER NOT NULL,
        count INTEGER NOT NULL,
        data  BLOB NOT NULL,
        UNIQUE (run, cell, field, part)
    ) STRICT;
";

/// What format 2 added.
const CALIBRATIONS: &str = "
    CREATE TABLE calibration (
        key      INTEGER PRIMARY KEY,
        id       TEXT NOT NULL UNIQUE,
        document BLOB NOT NULL
    ) STRICT;
";

/// What a file may have beside: labels that users gave to runs, and which runs were measured into this very
/// file. Made when there is first something to write into them. They change nothing of what a run is, and a
/// reader that does not know them passes over them, so they take no format of their own.
const BESIDE: &str = "
    CREATE TABLE IF NOT EXISTS label (
        name TEXT NOT NULL,
        run  TEXT NOT NULL,
        UNIQUE (name, run)
    ) STRICT;
    CREATE TABLE IF NOT EXISTS measured (
        run TEXT NOT NULL UNIQUE
    ) STRICT;
";

/// Adds the tables that a file may have beside, as part of a transaction.
pub(crate) fn add_beside(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(BESIDE)
}

pub(crate) fn has_table(connection: &Connection, name: &str) -> rusqlite::Result<bool> {
    connection.query_row(
        "SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = ?1",
        [name],
        |row| row.get::<_, i64>(0).map(|count| count > 0),
    )
}

/// Makes the file one of this format: creates the tables if it is blank and `create` is set, and adds
/// what a store of an older format lacks. Fails if it is not ours or newer.
///
/// Of several processes that find the same file, one creates or adds and the others wait for it.
pub(crate) fn establish(connection: &mut Connection, place: Place<'_>, create: bool) -> Result<(), Error> {
    let sqlite = |error| place.sqlite(error);
    if (application(connection).map_err(sqlite)?, format(connection).map_err(sqlite)?) == (0, 0) {
        if create {
            let transaction =
                connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
            if application(&transaction).map_err(sqlite)? == 0 && is_blank(&transaction).map_err(sqlite)? {
                install(&transaction).map_err(sqlite)?;
            }
            transaction.commit().map_err(sqlite)?;
        } else if is_blank(connection).map_err(sqlite)? {
            return Err(Error::NotAStore(place.task(), Foreign::Empty));
        }
    }
    if check(connection, place)? < FORMAT {
        upgrade(connection).map_err(sqlite)?;
    }
    // Another process may have been first, and newer.
    check(connection, place).map(drop)
}

/// Adds what the file lacks, in one transaction: a crash leaves the old format or this one.
fn upgrade(connection: &mut Connection) -> rusqlite::Result<()> {
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
    // Only now, under the lock, is it certain that nobody else has done it meanwhile.
    let format = format(&transaction)?;
    if format == RUNS_ALONE {
        transaction.execute_batch(CALIBRATIONS)?;
    }
    if format < FORMAT {
        transaction.pragma_update(None, "user_version", FORMAT)?;
    }
    transaction.commit()
}

pub(crate) fn install(connection: &Connection) -> rusqlite::Result<()> {
    connection.execute_batch(RUNS)?;
    connection.execute_batch(CALIBRATIONS)?;
    connection.pragma_update(None, "application_id", APPLICATION)?;
    connection.pragma_update(None, "user_version", FORMAT)
}

pub(crate) fn has_calibrations(format: i32) -> bool {
    format > RUNS_ALONE
}

/// Checks that the file is a store, and of a format that is known here, which is returned.
pub(crate) fn check(connection: &Connection, place: Place<'_>) -> Result<i32, Error> {
    match application(connection).map_err(|error| place.sqlite(error))? {
        APPLICATION => {}
        other => return Err(Error::NotAStore(place.task(), Foreign::Application(other))),
    }
    match format(connection).map_err(|error| place.sqlite(error))? {
        known @ RUNS_ALONE..=FORMAT => Ok(known),
        format if format > FORMAT => Err(Error::NewerFormat(place.task(), format, FORMAT)),
        other => Err(place.damaged(format!("format version {other} never existed"))),
    }
}

fn application(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "application_id", |row| row.get(0))
}

fn format(connection: &Connection) -> rusqlite::Result<i32> {
    connection.pragma_query_value(None, "user_version", |row| row.get(0))
}

fn is_blank(connection: &Connection) -> rusqlite::Result<bool> {
    connection.query_row("SELECT count(*) = 0 FROM sqlite_schema", [], |row| row.get(0))
}
