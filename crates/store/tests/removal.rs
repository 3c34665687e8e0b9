//! What is removed is gone with all that was its own, all of it or none, and the bound takes only what it
//! may.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod specimens;
mod stores;

use rusqlite::Connection;
use specimens::{calibration, small_run};
use stores::{label, order, store_with};
use tenbin_store::{Error, Existing, RunId, Store};

/// Rows that belong to no run.
fn orphans(store: &Store) -> i64 {
    let connection = Connection::open(store.path()).unwrap();
    let sql = "SELECT (SELECT count(*) FROM chunk WHERE run NOT IN (SELECT key FROM run))
                    + (SELECT count(*) FROM label WHERE run NOT IN (SELECT id FROM run))
                    + (SELECT count(*) FROM measured WHERE run NOT IN (SELECT id FROM run))";
    connection.query_row(sql, [], |row| row.get(0)).unwrap()
}

#[test]
fn what_is_removed_is_gone_with_samples_and_labels() {
    let (_folder, mut store, ids) = store_with(3);
    let kept = store.keep_calibration(&calibration(1)).unwrap();
    let gone = store.keep_calibration(&calibration(2)).unwrap();
    store.label(&label("x"), &ids[..2]).unwrap();
    store.remove(&ids[1..2], &[gone]).unwrap();
    assert_eq!(order(&store), [ids[0], ids[2]]);
    assert_eq!(store.resolve("x").unwrap(), [ids[0]]);
    assert_eq!(orphans(&store), 0);
    assert_eq!(store.find_calibration(&kept.to_string()).unwrap(), Some(kept));
    assert_eq!(store.find_calibration(&gone.to_string()).unwrap(), None);
    assert!(store.load(&ids[0]).is_ok() && store.load(&ids[2]).is_ok());
    // It can come back, and without the label.
    assert_eq!(store.keep(&small_run(20_000)).unwrap(), ids[1]);
    assert_eq!(store.resolve("x").unwrap(), [ids[0]]);
}

#[test]
fn a_name_that_is_not_there_removes_nothing() {
    let (_folder, mut store, ids) = store_with(2);
    let absent: RunId = "a".repeat(64).parse().unwrap();
    let error = store.remove(&[ids[0], absent], &[]).unwrap_err();
    assert!(matches!(error, Error::UnknownRun { .. }), "{error}");
    let error = store.remove(&ids, &["a".repeat(64).parse().unwrap()]).unwrap_err();
    assert!(matches!(error, Error::UnknownCalibration { .. }), "{error}");
    assert_eq!(order(&store), ids);
    store.load(&ids[0]).unwrap();
}

#[test]
fn a_damaged_run_can_be_removed() {
    let (_folder, mut store, ids) = store_with(2);
    let connection = Connection::open(store.path()).unwrap();
    connection.execute("UPDATE run SET document = x'7b7d' WHERE id = ?1", [ids[0].to_string()]).unwrap();
    assert_eq!(store.list().unwrap().damaged.len(), 1);
    store.remove(&store.resolve(&ids[0].short()).unwrap(), &[]).unwrap();
    assert!(store.list().unwrap().damaged.is_empty());
    assert_eq!(orphans(&store), 0);
}

#[test]
fn all_but_the_newest_go_and_labels_hold_the_others() {
    let (_folder, mut store, ids) = store_with(5);
    store.label(&label("x"), &ids[1..2]).unwrap();
    assert_eq!(store.remove_all_but(9).unwrap(), []);
    let mut gone = store.remove_all_but(2).unwrap();
    gone.sort_by_key(|id| ids.iter().position(|other| other == id));
    assert_eq!(gone, [ids[0], ids[2]]);
    assert_eq!(order(&store), [ids[1], ids[3], ids[4]]);
    assert_eq!(store.remove_all_but(0).unwrap().len(), 2);
    assert_eq!(order(&store), [ids[1]]);
}

#[test]
fn the_bound_takes_the_oldest_unlabelled_runs_of_here() {
    let (folder, mut elsewhere, _) = store_with(1);
    let (_folder, mut store, ids) = store_with(5);
    let file = folder.path().join("one.db");
    elsewhere.remove_all_but(0).unwrap();
    let imported = elsewhere.keep(&small_run(1)).unwrap();
    elsewhere.export(&[imported], &[], &file, Existing::Refuse).unwrap();
    store.import(&file).unwrap();
    store.label(&label("x"), &ids[1..2]).unwrap();

    assert_eq!(store.bound(1 << 30).unwrap(), []);
    let size = |id: &RunId| store.runs().unwrap().iter().find(|entry| entry.id == *id).unwrap().summary.bytes;
    let room = size(&ids[4]) + size(&ids[3]);
    let mut gone = store.bound(room).unwrap();
    gone.sort_by_key(|id| ids.iter().position(|other| other == id));
    assert_eq!(gone, [ids[0], ids[2]]);
    assert_eq!(store.bound(room).unwrap(), []);
    // However small the bound is, the newest stays.
    assert_eq!(store.bound(1).unwrap(), [ids[3]]);
    let mut left = order(&store);
    left.sort();
    let mut expected = vec![imported, ids[1], ids[4]];
    expected.sort();
    assert_eq!(left, expected);
    assert_eq!(orphans(&store), 0);
}

/// Runs of a store that was made before it was noted where they were measured are never taken by the bound.
#[test]
fn the_bound_leaves_what_an_older_tenbin_kept() {
    let (_folder, mut store, ids) = store_with(2);
    Connection::open(store.path()).unwrap().execute_batch("DROP TABLE measured; DROP TABLE label").unwrap();
    assert_eq!(store.bound(1).unwrap(), []);
    assert_eq!(order(&store), ids);
}
