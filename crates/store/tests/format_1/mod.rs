//! A store as the first tenbin made it.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "every test uses a part of this")]

use std::path::Path;

use rusqlite::Connection;
use tenbin_model::Run;
use tenbin_store::{RunId, Store};

/// The tables of format 1 as it was released. This text never changes.
const TABLES: &str = "
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
    PRAGMA application_id = 0x746e626e;
    PRAGMA user_version = 1;
";

/// Makes a file of format 1 with one run in it, and returns the name of the run.
pub(crate) fn write(path: &Path, journal: &str, run: &Run) -> RunId {
    // The rows of a run have not changed since.
    let folder = tempfile::tempdir().unwrap();
    let mut source = Store::open(&folder.path().join("source.db")).unwrap();
    let id = source.keep(run).unwrap();
    let old = Connection::open(path).unwrap();
    old.pragma_update_and_check(None, "journal_mode", journal, |_| Ok(())).unwrap();
    old.execute_batch(TABLES).unwrap();
    old.execute("ATTACH ?1 AS source", [source.path().to_str().unwrap()]).unwrap();
    old.execute_batch(
        "INSERT INTO main.run SELECT * FROM source.run;
         INSERT INTO main.chunk SELECT * FROM source.chunk;",
    )
    .unwrap();
    id
}

/// The format of a file, and whether it has a table of calibrations.
pub(crate) fn version(path: &Path) -> (i32, bool) {
    let connection = Connection::open(path).unwrap();
    let format = connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    let table = "SELECT count(*) > 0 FROM sqlite_schema WHERE name = 'calibration'";
    (format, connection.query_row(table, [], |row| row.get(0)).unwrap())
}
