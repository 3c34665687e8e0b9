//! Labels: what may be one, what they name, and that they change no run and hinder no older reader.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod specimens;
mod stores;

use rusqlite::Connection;
use specimens::small_run;
use stores::{label, store_with};
use tenbin_store::{Error, Existing, Label};

#[test]
fn what_could_be_taken_for_something_else_is_no_label() {
    let long = "x".repeat(65);
    for text in ["", "latest", "calibration", "abc", "0123", "-x", ".x", "a b", "a,x", "a/x", "x\n", &long] {
        assert!(text.parse::<Label>().is_err(), "{text:?}");
    }
    for text in ["before", "before-patch", "v1", "2026-11-23_a", "größer", "x+y", &long[..64]] {
        assert_eq!(text.parse::<Label>().unwrap().to_string(), text);
    }
}

#[test]
fn a_label_means_every_run_that_bears_it_oldest_first() {
    let (_folder, mut store, ids) = store_with(4);
    store.label(&label("before"), &[ids[2], ids[0]]).unwrap();
    store.label(&label("after"), &ids[3..]).unwrap();
    assert_eq!(store.resolve("before").unwrap(), [ids[0], ids[2]]);
    assert_eq!(store.resolve("latest").unwrap(), [ids[3]]);
    assert_eq!(store.resolve(&ids[1].short()).unwrap(), [ids[1]]);
    let several = format!("after,{},before,latest", ids[1]);
    assert_eq!(store.resolve(&several).unwrap(), [ids[3], ids[1], ids[0], ids[2]]);
    assert_eq!(store.find("after").unwrap(), ids[3]);
    let error = store.find("before").unwrap_err();
    assert!(matches!(&error, Error::AmbiguousRun(_, candidates) if candidates.len() == 2), "{error}");
    for absent in ["between", "", ",", "before,", "before,between"] {
        let error = store.resolve(absent).unwrap_err();
        assert!(matches!(error, Error::UnknownRun { .. }), "{absent:?}: {error}");
    }
}

#[test]
fn labels_are_given_to_all_runs_or_none_and_taken_away() {
    let (_folder, mut store, ids) = store_with(2);
    let stranger = store_with(3).2.into_iter().find(|id| !ids.contains(id)).unwrap();
    let error = store.label(&label("x"), &[ids[0], stranger]).unwrap_err();
    assert!(matches!(error, Error::UnknownRun { .. }), "{error}");
    assert!(store.labels().unwrap().is_empty());
    store.label(&label("x"), &ids).unwrap();
    store.label(&label("x"), &ids[..1]).unwrap();
    store.label(&label("y"), &ids[..1]).unwrap();
    assert_eq!(store.labels().unwrap()[&ids[0]], [label("x"), label("y")]);
    store.unlabel(&label("x"), &ids).unwrap();
    assert_eq!(store.labels().unwrap().into_iter().collect::<Vec<_>>(), [(ids[0], vec![label("y")])]);
    assert_eq!(store.load(&ids[0]).unwrap(), small_run(10_000));
}

/// A table more takes no new format: what an older tenbin asks of a file is answered as before.
#[test]
fn an_older_reader_passes_over_the_labels() {
    let (_folder, mut store, ids) = store_with(1);
    store.label(&label("x"), &ids).unwrap();
    let path = store.path().to_owned();
    drop(store);
    let older = Connection::open(path).unwrap();
    let ask = |sql: &str| older.query_row(sql, [], |row| row.get::<_, String>(0)).unwrap();
    assert_eq!(ask("SELECT cast(user_version AS TEXT) FROM pragma_user_version"), "3");
    assert_eq!(ask("PRAGMA integrity_check(1)"), "ok");
    assert_eq!(ask("SELECT id FROM run"), ids[0].to_string());
}

#[test]
fn labels_travel_with_their_runs_and_no_further() {
    let (folder, mut store, ids) = store_with(3);
    store.label(&label("before"), &ids[..2]).unwrap();
    store.label(&label("after"), &ids[2..]).unwrap();
    let (file, bare) = (folder.path().join("some.db"), folder.path().join("bare.db"));
    store.export(&ids[1..], &[], &file, Existing::Refuse).unwrap();
    store.unlabel(&label("before"), &ids).unwrap();
    store.export(&ids[..1], &[], &bare, Existing::Refuse).unwrap();
    let (_other_folder, mut other, _) = store_with(0);
    other.import(&bare).unwrap();
    assert!(other.labels().unwrap().is_empty());
    assert_eq!(other.import(&file).unwrap().labels_added, 2);
    assert_eq!(other.import(&file).unwrap().labels_added, 0);
    let labels: Vec<_> = other.labels().unwrap().into_iter().collect();
    let mut expected = vec![(ids[1], vec![label("before")]), (ids[2], vec![label("after")])];
    expected.sort();
    assert_eq!(labels, expected);

    // What no tenbin wrote is refused with the whole file.
    let connection = Connection::open(&file).unwrap();
    connection.execute("UPDATE label SET name = 'latest' WHERE name = 'after'", []).unwrap();
    drop(connection);
    let (_third_folder, mut third, _) = store_with(0);
    let error = third.import(&file).unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert!(error.to_string().contains("\"latest\" cannot be a label"), "{error}");
    assert_eq!(third.ids().unwrap(), []);
}

#[test]
fn a_run_is_kept_with_its_label_in_one_step() {
    let (_folder, mut store, _) = store_with(0);
    let id = store.keep_as(&small_run(7), Some(&label("x"))).unwrap();
    assert_eq!(store.resolve("x").unwrap(), [id]);
    // It was there already, and bears the new label all the same.
    assert_eq!(store.keep_as(&small_run(7), Some(&label("y"))).unwrap(), id);
    assert_eq!(store.labels().unwrap()[&id], [label("x"), label("y")]);
}
