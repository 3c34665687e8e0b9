//! A store of an older format becomes one of today's when it is opened, and is only read when it is imported.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod format_1;
mod specimens;
mod stores;

use std::fs;
use std::path::Path;
use std::sync::Barrier;
use std::thread;

use format_1::version;
use rusqlite::Connection;
use specimens::{calibration, small_run};
use stores::{calibration_names, store_with};
use tenbin_store::{Attempt, Error, RunId, Store};

/// What a process does half of when it is in the middle of the upgrade.
const UPGRADE: &str = "
    CREATE TABLE calibration (key INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, document BLOB NOT NULL) STRICT;
    PRAGMA user_version = 3;
";

/// The run is there as it was, and a calibration can be kept beside it.
fn assert_upgraded(mut store: Store, run: &RunId) {
    assert_eq!(store.load(run).unwrap(), small_run(1));
    assert_eq!(store.runs().unwrap().len(), 1);
    let id = store.keep_calibration(&calibration(1)).unwrap();
    let path = store.path().to_owned();
    drop(store);
    assert_eq!(version(&path), (3, true));
    let store = Store::open_existing(&path).unwrap();
    assert_eq!(calibration_names(&store), [id]);
    assert_eq!(store.load_calibration(&id).unwrap(), calibration(1));
    assert_eq!(store.ids().unwrap(), [*run]);
}

#[test]
fn a_store_of_format_1_is_upgraded_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    for journal in ["wal", "delete"] {
        for (how, open) in [("open", Store::open as fn(&Path) -> _), ("existing", Store::open_existing)] {
            let path = folder.path().join(format!("{journal}-{how}.db"));
            let run = format_1::write(&path, journal, &small_run(1));
            assert_eq!(version(&path), (1, false));
            let store = open(&path).unwrap();
            assert_eq!(calibration_names(&store), []);
            assert_upgraded(store, &run);
        }
    }
}

/// Between formats 2 and 3 no table differs: what is kept from then on may have columns that an older tenbin
/// does not know.
#[test]
fn a_store_of_format_2_is_upgraded_when_it_is_opened() {
    let (folder, mut store, _) = store_with(0);
    let path = store.path().to_owned();
    let run = store.keep(&small_run(1)).unwrap();
    drop(store);
    let set =
        |format: i32| Connection::open(&path).unwrap().pragma_update(None, "user_version", format).unwrap();
    set(2);
    assert_upgraded(Store::open(&path).unwrap(), &run);
    set(2);
    let mut target = Store::open(&folder.path().join("target.db")).unwrap();
    assert_eq!(target.import(&path).unwrap().added, [run]);
    assert_eq!(version(&path), (2, true), "an import leaves the file as it is");
}

#[test]
fn connections_that_upgrade_at_once_do_it_once() {
    const THREADS: usize = 6;
    let folder = tempfile::tempdir().unwrap();
    for (round, journal) in ["wal", "delete"].into_iter().cycle().take(8).enumerate() {
        let path = folder.path().join(format!("{round}.db"));
        let run = format_1::write(&path, journal, &small_run(1));
        let start = Barrier::new(THREADS);
        thread::scope(|scope| {
            for _ in 0..THREADS {
                scope.spawn(|| {
                    start.wait();
                    assert_eq!(calibration_names(&Store::open(&path).unwrap()), []);
                });
            }
        });
        assert_upgraded(Store::open(&path).unwrap(), &run);
    }
}

#[test]
fn one_that_is_in_the_middle_of_the_upgrade_is_waited_for() {
    let folder = tempfile::tempdir().unwrap();
    for journal in ["wal", "delete"] {
        for end in ["COMMIT", "ROLLBACK"] {
            let path = folder.path().join(format!("{journal}-{end}.db"));
            let run = format_1::write(&path, journal, &small_run(1));
            let other = Connection::open(&path).unwrap();
            other.execute_batch("BEGIN IMMEDIATE").unwrap();
            other.execute_batch(UPGRADE).unwrap();
            let opened = thread::scope(|scope| {
                let opening = scope.spawn(|| Store::open(&path));
                other.execute_batch(end).unwrap();
                opening.join().unwrap()
            });
            assert_upgraded(opened.unwrap(), &run);
        }
    }
}

#[test]
fn an_older_tenbin_that_has_the_store_open_can_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let run = format_1::write(&path, "wal", &small_run(1));
    let older = Connection::open(&path).unwrap();
    let count = |table: &str| -> i64 {
        older.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap()
    };
    assert_eq!(count("run"), 1);
    let store = Store::open(&path).unwrap();
    assert_eq!(count("run"), 1);
    older.execute_batch("UPDATE run SET key = key").unwrap();
    assert_upgraded(store, &run);
}

#[test]
fn a_failed_upgrade_leaves_format_1() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    format_1::write(&path, "delete", &small_run(1));
    // A table of that name, which no tenbin made, stops it after it has begun.
    Connection::open(&path).unwrap().execute_batch("CREATE TABLE calibration (a)").unwrap();
    let before = fs::read(&path).unwrap();
    let error = Store::open(&path).unwrap_err();
    assert!(matches!(&error, Error::Damaged(task, _) if task.tried == Attempt::Open), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_of_format_1_is_imported_and_left_as_it_is() {
    let (folder, mut store, _) = store_with(0);
    let own = store.keep_calibration(&calibration(7)).unwrap();
    for (seed, journal, in_use) in [(1, "delete", false), (2, "wal", false), (3, "wal", true)] {
        let path = folder.path().join(format!("{seed}.db"));
        let run = format_1::write(&path, journal, &small_run(seed));
        let user = in_use.then(|| Connection::open(&path).unwrap());
        if let Some(user) = &user {
            // From the first change on it has a log beside it and memory that its users share.
            user.execute_batch("UPDATE run SET key = key").unwrap();
        }
        let before = fs::read(&path).unwrap();
        let merge = store.import(&path).unwrap();
        assert_eq!((merge.added, merge.present), (vec![run], vec![]));
        assert_eq!((merge.calibrations_added, merge.calibrations_present), (vec![], vec![]));
        let again = store.import(&path).unwrap();
        assert_eq!((again.added, again.present), (vec![], vec![run]));
        assert_eq!(store.load(&run).unwrap(), small_run(seed));
        assert_eq!(fs::read(&path).unwrap(), before, "the file was changed");
        assert_eq!(folder.path().join(format!("{seed}.db-wal")).exists(), in_use);
        drop(user);
        assert_eq!(version(&path), (1, false));
    }
    assert_eq!(calibration_names(&store), [own]);
}
