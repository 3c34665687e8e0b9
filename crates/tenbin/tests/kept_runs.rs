//! What is kept: labels, lists, removal, bounds, merges, damage, and stores that can only be read.
//!
//! Nothing here measures: runs are put into the store by the crate that keeps them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Output;

use specimens::{calibration, small_run};
use tenbin_store::Store;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;
#[path = "../../store/tests/specimens/mod.rs"]
mod specimens;

use place::{Place, ending, json, text};

/// A place whose store has so many runs, of which the last is one of `fib`; their ids, oldest first.
fn with_runs(count: u64) -> (Place, Vec<String>) {
    let place = Place::new();
    let mut store = Store::open(&place.path("store.db")).unwrap();
    for number in 1..=count {
        let mut run = small_run(10_000 * number);
        if number == count {
            run.trials[0].descriptor.name = "fib".into();
        }
        store.keep(&run).unwrap();
    }
    let ids = store.runs().unwrap().iter().map(|entry| entry.id.to_string()).collect();
    (place, ids)
}

fn listed(place: &Place, arguments: &[&str]) -> Vec<String> {
    let rows = place.answered(&[&["runs", "--json"], arguments].concat());
    let rows: serde_json::Value = serde_json::from_str(&rows).unwrap();
    rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap().to_owned()).collect()
}

fn assert_answered(output: &Output) -> String {
    let (status, stderr) = ending(output);
    assert_eq!(status, 0, "{stderr}");
    text(&output.stdout) + &stderr
}

/// Changes the file behind tenbin's back.
fn plant(store: &Path, sql: &str) {
    rusqlite::Connection::open(store).unwrap().execute_batch(sql).unwrap();
}

#[test]
fn runs_are_removed_all_that_are_named_or_none() {
    let (place, ids) = with_runs(20);
    // Of 20 names two begin with the same digit.
    let begins = |digit: &str| ids.iter().filter(|id| id.starts_with(digit)).count();
    let shared = (0..16).map(|digit| format!("{digit:x}")).find(|digit| begins(digit) > 1).unwrap();
    for wrong in ["ffffffffffffffff", "absent", &shared, ""] {
        let (status, stderr) = ending(&place.tenbin(&["runs", "--rm", &ids[0], wrong]));
        assert_eq!(status, 2, "{wrong}: {stderr}");
        assert_eq!(listed(&place, &[]), ids, "{wrong} removed something");
    }
    for arguments in
        [&["runs", "--rm"][..], &["runs", "--rm", "--last", "2", "latest"], &["runs", "--rm", "--keep", "1"]]
    {
        assert_eq!(ending(&place.tenbin(arguments)).0, 2, "{arguments:?}");
    }
    let output = assert_answered(&place.tenbin(&["runs", "--rm", &ids[0][..10], "latest"]));
    assert!(output.contains(&ids[0][..12]) && output.contains(&ids[19][..12]), "{output}");
    assert_eq!(listed(&place, &[]), ids[1..19]);
    assert_answered(&place.tenbin(&["runs", &ids[3], "--label", "mine"]));
    assert_answered(&place.tenbin(&["runs", "--keep", "2"]));
    assert_eq!(listed(&place, &[]), [ids[3].clone(), ids[17].clone(), ids[18].clone()]);
    let kept = Store::open(&place.path("store.db")).unwrap().keep_calibration(&calibration(1)).unwrap();
    let output = assert_answered(&place.tenbin(&["runs", "--rm", &kept.short()]));
    assert!(output.contains("calibration"), "{output}");
}

#[test]
fn a_damaged_run_is_named_and_hides_no_other() {
    let (place, ids) = with_runs(3);
    let mut store = Store::open(&place.path("store.db")).unwrap();
    let (broken, sound) =
        (store.keep_calibration(&calibration(1)).unwrap(), store.keep_calibration(&calibration(2)).unwrap());
    drop(store);
    plant(&place.path("store.db"), &format!("UPDATE run SET document = x'7b7d' WHERE id = '{}'", ids[2]));
    let calibrations = format!("UPDATE calibration SET document = x'7b7d' WHERE id = '{broken}'");
    let samples =
        format!("UPDATE chunk SET codec = 77 WHERE run = (SELECT key FROM run WHERE id = '{}')", ids[0]);
    plant(&place.path("store.db"), &format!("{calibrations}; {samples}"));
    let output = place.tenbin(&["runs"]);
    assert_eq!(ending(&output).0, 0);
    let lines = text(&output.stdout);
    assert!(lines.contains(&ids[1][..12]), "{lines}");
    for name in [&ids[2][..12], &broken.short()] {
        assert!(lines.contains(&format!("{name}  damaged: ")), "{lines}");
    }
    assert!(ending(&output).1.contains("--intact"), "{}", ending(&output).1);
    let runs = json(&place.tenbin(&["runs", "--json"]));
    assert!(runs[2]["damaged"].as_str().unwrap().contains("document"), "{runs}");
    let shown = json(&place.tenbin(&["show", "latest", "--json"]));
    assert_eq!(shown["run"], ids[1].as_str());
    assert_answered(&place.tenbin(&["export", "latest", "-o", "latest.db"]));
    // It is no fault of the request, and the advice can be followed.
    let (status, stderr) = ending(&place.tenbin(&["show", &ids[2][..12]]));
    assert_eq!(status, 1, "{stderr}");
    assert!(stderr.contains("tenbin export --intact"), "{stderr}");
    let output = assert_answered(&place.tenbin(&["export", "--intact", "-o", "intact.db"]));
    assert!(output.contains("Wrote 1 run and 1 calibration"), "{output}");
    for name in [&ids[0][..12], &ids[2][..12], &broken.short()] {
        assert!(output.contains(&format!("Left out {name}")), "{output}");
    }
    let saved = Store::open(&place.path("intact.db")).unwrap();
    assert_eq!(saved.ids().unwrap().iter().map(ToString::to_string).collect::<Vec<_>>(), [ids[1].clone()]);
    assert_eq!(saved.find_calibration(&sound.to_string()).unwrap(), Some(sound));
    assert_answered(&place.tenbin(&["runs", "--rm", &ids[2]]));
    assert_eq!(listed(&place, &[]), ids[..2]);
}

/// Runs tenbin as a user who may not write where the store lies.
fn as_reader(place: &Place, store: &str, arguments: &[&str]) -> Output {
    place.unprivileged(&[]).args(arguments).env("TENBIN_STORE", place.path(store)).output().unwrap()
}

#[test]
fn a_store_that_cannot_be_written_is_read() {
    let (place, ids) = with_runs(2);
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::create_dir(place.path("closed")).unwrap();
    fs::create_dir(place.path("open")).unwrap();
    allow(place.folder.path(), 0o755);
    allow(&place.path("open"), 0o777);
    let copy = |to: &str, suffixes: &[&str]| {
        for suffix in suffixes {
            let to = place.path(&format!("closed/{to}{suffix}"));
            fs::copy(place.path(&format!("store.db{suffix}")), &to).unwrap();
            allow(&to, 0o444);
        }
    };
    copy("alone.db", &[""]);
    copy("older.db", &[""]);
    allow(&place.path("closed/older.db"), 0o600);
    plant(
        &place.path("closed/older.db"),
        "PRAGMA journal_mode = DELETE; DROP TABLE calibration; DROP TABLE label; DROP TABLE measured; PRAGMA user_version = 1",
    );
    allow(&place.path("closed/older.db"), 0o444);
    // While it is in use the newest run stands in the log alone.
    let mut store = Store::open(&place.path("store.db")).unwrap();
    let newest = store.keep(&small_run(90_000)).unwrap().to_string();
    copy("used.db", &["", "-wal", "-shm"]);
    copy("left.db", &["", "-wal"]);
    copy("secret.db", &["", "-wal"]);
    allow(&place.path("closed/secret.db-wal"), 0o000);
    drop(store);
    allow(&place.path("closed"), 0o555);

    let all = [&ids[..], std::slice::from_ref(&newest)].concat();
    for (name, expected) in
        [("alone.db", &ids), ("older.db", &ids), ("used.db", &all), ("left.db", &all), ("secret.db", &ids)]
    {
        let store = format!("closed/{name}");
        let output = as_reader(&place, &store, &["runs", "--json"]);
        let (status, stderr) = ending(&output);
        assert_eq!(status, 0, "{name}: {stderr}");
        let rows = json(&output);
        let rows: Vec<&str> =
            rows.as_array().unwrap().iter().map(|row| row["id"].as_str().unwrap()).collect();
        assert_eq!(rows, *expected, "{name}");
        assert_eq!(stderr.contains("may be missing"), name == "secret.db", "{name}: {stderr}");
        assert_eq!(ending(&as_reader(&place, &store, &["show", &ids[0]])).0, 0, "{name}");
        // One run a side is refused, but it was read.
        let (status, stderr) = ending(&as_reader(&place, &store, &["compare", &ids[0], &ids[1]]));
        assert_eq!(status, 3, "{name}: {stderr}");
        let out = format!("open/{name}");
        let (status, stderr) = ending(&as_reader(&place, &store, &["export", &ids[0], "-o", &out]));
        assert_eq!(status, 0, "{name}: {stderr}");
        // What would change it is refused, and says why.
        let (status, stderr) = ending(&as_reader(&place, &store, &["runs", "--rm", &ids[0]]));
        assert_eq!(status, 2, "{name}: {stderr}");
        assert!(stderr.contains("permission denied"), "{name}: {stderr}");
    }
    // What cannot even be read is said to be so.
    allow(&place.path("closed/alone.db"), 0o000);
    let (status, stderr) = ending(&as_reader(&place, "closed/alone.db", &["runs"]));
    assert!(status == 2 && stderr.contains("readable"), "{stderr}");
    let left: Vec<_> =
        fs::read_dir(place.path("closed")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(left.len(), 9, "{left:?}");
    allow(&place.path("closed"), 0o755);
}

#[test]
fn a_run_that_is_kept_holds_the_store_to_its_limit() {
    let (place, ids) = with_runs(3);
    assert_answered(&place.tenbin(&["runs", &ids[0], "--label", "mine"]));
    let measured = |limit: &str| {
        let mut command = place.command(&["run", "null", "--quick", "--json", "--label", "fresh"]);
        command.env("TENBIN_STORE_LIMIT", limit).output().unwrap()
    };
    for wrong in ["-1", "much", "99999999999999999999"] {
        let (status, stderr) = ending(&measured(wrong));
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.contains("TENBIN_STORE_LIMIT"), "{stderr}");
    }
    let output = measured("0");
    let ((_, stderr), report) = (ending(&output), json(&output));
    // The newest unlabelled one stays, however small the limit is, and so does what bears a label.
    assert!(stderr.contains("Removed the oldest runs without a label"), "{stderr}");
    assert!(stderr.contains(&ids[1][..12]) && !stderr.contains(&ids[2][..12]), "{stderr}");
    let left = listed(&place, &[]);
    let fresh = report["run"].as_str().unwrap().to_owned();
    assert_eq!(left, [ids[0].clone(), ids[2].clone(), fresh.clone()]);
    assert_eq!(listed(&place, &["--label", "fresh"]), [fresh]);
}
