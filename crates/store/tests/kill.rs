//! A process that is killed at any moment loses at most the run or calibration that it had not finished.
//!
//! The moments are driven by what the child reports, by how far its log has grown and by counted turns
//! of an empty loop, not by a clock, so that no test depends on how fast the machine is.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod format_1;
mod roles;
mod specimens;
mod stores;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Stdio};
use std::str::FromStr;

use roles::{child, role};
use specimens::{Numbers, calibration, run_of, small_run};
use stores::{calibration_names, store_with};
use tenbin_model::{Run, Sample};
use tenbin_store::{CalibrationId, Existing, RunId, Store};

const ROUNDS: u64 = 60;

/// What a child does; in the parent this test has nothing to do.
#[test]
fn child_entry() {
    let Some(role) = role() else { return };
    let mut report = std::io::stderr();
    match role.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        ["keep", path, first] => {
            let mut store = Store::open(Path::new(path)).unwrap();
            for seed in first.parse::<u64>().unwrap().. {
                let id = store.keep(&numbered_run(seed)).unwrap();
                writeln!(report, "kept run {id}").unwrap();
                if seed.is_multiple_of(3) {
                    let id = store.keep_calibration(&calibration(seed)).unwrap();
                    writeln!(report, "kept calibration {id}").unwrap();
                }
            }
        }
        ["import", path, from] => {
            let mut store = Store::open(Path::new(path)).unwrap();
            writeln!(report, "opened").unwrap();
            store.import(Path::new(from)).unwrap();
            writeln!(report, "imported").unwrap();
        }
        ["upgrade", path] => {
            writeln!(report, "ready").unwrap();
            Store::open(Path::new(path)).unwrap();
            writeln!(report, "opened").unwrap();
        }
        other => panic!("no such role: {other:?}"),
    }
}

/// Small runs, and between them runs of many cells, which spend most of their time in the transaction.
fn numbered_run(seed: u64) -> Run {
    if seed.is_multiple_of(2) {
        return small_run(seed);
    }
    run_of(seed, vec![vec![Sample { iterations: seed, ..Sample::default() }]; 80])
}

fn start(role: &[&str]) -> (Child, impl Iterator<Item = String> + use<>) {
    let mut child = child("child_entry", role).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    (child, lines)
}

/// Waits until the child has written `frames` more pages to the log, which it does only while it
/// commits, or has ended. Then it is most likely in the middle of a transaction.
fn await_growth(child: &mut Child, path: &Path, frames: u64) {
    /// A page of 4096 bytes and its header: <https://sqlite.org/fileformat.html>, section 4.1.
    const FRAME: u64 = 4096 + 24;
    let log = path.with_extension("db-wal");
    let length = || std::fs::metadata(&log).map_or(0, |status| status.len());
    let awaited = length() + frames * FRAME;
    while length() < awaited && child.try_wait().unwrap().is_none() {
        std::hint::spin_loop();
    }
}

fn turn(times: u64) {
    for _ in 0..times {
        std::hint::spin_loop();
    }
}

/// What a list of reports names after these words. A report cut short by the kill names nothing.
fn reported<Id: FromStr>(lines: &[String], words: &str) -> Vec<Id> {
    lines.iter().filter_map(|line| line.strip_prefix(words)?.parse().ok()).collect()
}

fn assert_sound(path: &Path) {
    let connection = rusqlite::Connection::open(path).unwrap();
    let verdict: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0)).unwrap();
    assert_eq!(verdict, "ok");
    let orphans: i64 = connection
        .query_row("SELECT count(*) FROM chunk WHERE run NOT IN (SELECT key FROM run)", [], |row| row.get(0))
        .unwrap();
    assert_eq!(orphans, 0);
}

#[test]
fn what_was_reported_as_kept_survives_a_kill_at_any_moment() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let mut numbers = Numbers(7);
    let mut kept = BTreeSet::new();
    let mut kept_calibrations = BTreeSet::new();
    for round in 0..ROUNDS {
        let first = (round * 1_000).to_string();
        let (mut child, mut lines) = start(&["keep", path.to_str().unwrap(), &first]);
        let awaited = numbers.below(4) as usize;
        let mut heard: Vec<String> = lines.by_ref().take(awaited).collect();
        if round % 3 == 0 {
            turn(numbers.below(1_000_000));
        } else {
            await_growth(&mut child, &path, 1 + numbers.below(12));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        heard.extend(lines);
        kept.extend(reported::<RunId>(&heard, "kept run "));
        kept_calibrations.extend(reported::<CalibrationId>(&heard, "kept calibration "));

        let store = Store::open(&path).unwrap();
        let visible: BTreeSet<RunId> = store.ids().unwrap().into_iter().collect();
        assert!(visible.is_superset(&kept), "round {round}: a run that was kept is gone");
        // A run that was finished but not reported may be there; none is there in part.
        kept = visible;
        let visible: BTreeSet<CalibrationId> = calibration_names(&store).into_iter().collect();
        let lost = kept_calibrations.difference(&visible).count();
        assert_eq!(lost, 0, "round {round}: a calibration that was kept is gone");
        kept_calibrations = visible;
        drop(store);
        assert_sound(&path);
    }
    let store = Store::open_existing(&path).unwrap();
    for id in &kept {
        let run = store.load(id).unwrap();
        assert_eq!(run, numbered_run(run.provenance.seed));
    }
    for id in &kept_calibrations {
        let loaded = store.load_calibration(id).unwrap();
        assert_eq!(loaded, calibration(loaded.provenance.seed));
    }
    assert!(kept.len() as u64 >= ROUNDS, "only {} runs were kept", kept.len());
    assert!(!kept_calibrations.is_empty());
}

#[test]
fn an_import_that_is_killed_leaves_everything_or_nothing() {
    const RUNS: u64 = 30;
    let (folder, mut source, _) = store_with(0);
    let exported = folder.path().join("exported.db");
    let ids: Vec<RunId> = (0..RUNS).map(|seed| source.keep(&small_run(seed)).unwrap()).collect();
    let calibrations: Vec<CalibrationId> =
        (0..RUNS).map(|seed| source.keep_calibration(&calibration(seed)).unwrap()).collect();
    source.export(&ids, &calibrations, &exported, Existing::Refuse).unwrap();
    let before = std::fs::read(&exported).unwrap();

    let mut numbers = Numbers(11);
    for round in 0..ROUNDS / 2 {
        let path = folder.path().join(format!("target-{round}.db"));
        let own = Store::open(&path).unwrap().keep(&small_run(1_000 + round)).unwrap();
        let (mut child, mut lines) = start(&["import", path.to_str().unwrap(), exported.to_str().unwrap()]);
        assert!(lines.any(|line| line == "opened"));
        if round % 3 == 0 {
            turn(numbers.below(6_000_000));
        } else {
            await_growth(&mut child, &path, 1 + numbers.below(40));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let finished = lines.any(|line| line == "imported");

        assert_sound(&path);
        let mut store = Store::open_existing(&path).unwrap();
        let there = store.ids().unwrap();
        assert!(there.contains(&own));
        assert!(there.len() == 1 || there.len() == 1 + ids.len(), "round {round}: {} runs", there.len());
        let expected = if there.len() == 1 { 0 } else { calibrations.len() };
        assert_eq!(calibration_names(&store).len(), expected, "round {round}");
        assert!(!finished || there.len() == 1 + ids.len(), "round {round}: the import is gone");
        store.import(&exported).unwrap();
        assert_eq!(store.ids().unwrap().len(), 1 + ids.len());
    }
    assert_eq!(std::fs::read(&exported).unwrap(), before);
}

#[test]
fn a_killed_upgrade_leaves_the_old_format_or_the_new_one() {
    let folder = tempfile::tempdir().unwrap();
    let former = folder.path().join("former.db");
    let id = format_1::write(&former, "delete", &small_run(1));
    let mut numbers = Numbers(13);
    for round in 0..ROUNDS / 2 {
        let path = folder.path().join(format!("target-{round}.db"));
        std::fs::copy(&former, &path).unwrap();
        let (mut child, mut lines) = start(&["upgrade", path.to_str().unwrap()]);
        assert!(lines.any(|line| line == "ready"));
        if round % 3 == 0 {
            turn(numbers.below(1_000_000));
        } else {
            // The journal is there while the transaction writes.
            let journal = path.with_extension("db-journal");
            while !journal.exists() && child.try_wait().unwrap().is_none() {
                std::hint::spin_loop();
            }
            turn(numbers.below(100_000));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        let finished = lines.any(|line| line == "opened");

        assert_sound(&path);
        let left = format_1::version(&path);
        assert!(left == (3, true) || left == (1, false) && !finished, "round {round}: {left:?}");
        let mut store = Store::open(&path).unwrap();
        assert_eq!(store.load(&id).unwrap(), small_run(1));
        store.keep_calibration(&calibration(round)).unwrap();
    }
}
