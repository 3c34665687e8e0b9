//! Several processes on one store, and a disk that does not take any more.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod format_1;
mod roles;
mod specimens;

use std::path::Path;
use std::process::{Command, Stdio};

use roles::{child, role};
use specimens::small_run;
use tenbin_store::{Error, RunId, Store};

/// What a child does; in the parent this test has nothing to do.
#[test]
fn child_entry() {
    let Some(role) = role() else { return };
    let [path, first, last] = role.as_slice() else { panic!("no such role: {role:?}") };
    let report = |line: String| {
        std::io::Write::write_all(&mut std::io::stderr(), format!("{line}\n").as_bytes()).unwrap()
    };
    let mut store = Store::open(Path::new(path)).unwrap();
    for seed in first.parse::<u64>().unwrap()..last.parse().unwrap() {
        match store.keep(&small_run(seed)) {
            Ok(id) => report(format!("kept {id}")),
            Err(error @ Error::NoSpace { .. }) => {
                report(format!("no space: {error}"));
                return;
            }
            Err(error) => panic!("{error}"),
        }
    }
}

fn kept(report: &[u8]) -> Vec<RunId> {
    let text = String::from_utf8_lossy(report);
    text.lines().filter_map(|line| line.strip_prefix("kept ")).map(|id| id.parse().unwrap()).collect()
}

#[test]
fn processes_that_create_one_store_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    fill_at_once(&folder.path().join("deep/down/store.db"), None);
}

#[test]
fn processes_that_upgrade_one_store_at_once_lose_nothing() {
    let folder = tempfile::tempdir().unwrap();
    for journal in ["wal", "delete"] {
        let path = folder.path().join(format!("{journal}.db"));
        let before = format_1::write(&path, journal, &small_run(9_000));
        fill_at_once(&path, Some(before));
        assert_eq!(format_1::version(&path), (3, true));
    }
}

/// Has several processes open a store and keep runs in it, in which there may be one before.
fn fill_at_once(path: &Path, before: Option<RunId>) {
    const CHILDREN: u64 = 4;
    const RUNS: u64 = 8;
    let children: Vec<_> = (0..CHILDREN)
        .map(|number| {
            // Neighbours share half of their runs.
            let (first, last) = (number * RUNS / 2, number * RUNS / 2 + RUNS);
            child("child_entry", &[path.to_str().unwrap(), &first.to_string(), &last.to_string()])
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .unwrap()
        })
        .collect();
    let mut reported = Vec::new();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        reported.extend(kept(&output.stderr));
    }
    assert_eq!(reported.len() as u64, CHILDREN * RUNS);
    reported.sort_unstable();
    reported.dedup();
    assert_eq!(reported.len() as u64, (CHILDREN + 1) * RUNS / 2);
    reported.extend(before);
    reported.sort_unstable();
    let store = Store::open_existing(path).unwrap();
    assert_eq!(store.ids().unwrap(), reported);
    for id in reported {
        store.load(&id).unwrap();
    }
}

#[test]
fn a_full_disk_is_an_error_and_harms_no_earlier_run() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("store.db");
    let before = Store::open(&path).unwrap().keep(&small_run(5_000)).unwrap();
    let filler = child("child_entry", &[path.to_str().unwrap(), "0", "1000"]);
    // A limit on file sizes of 300 blocks of 512 bytes; without its signal, the write itself fails.
    let limited = Command::new("sh")
        .args(["-c", "trap '' XFSZ; ulimit -f 300; exec \"$@\"", "sh"])
        .arg(filler.get_program())
        .args(filler.get_args())
        .envs(filler.get_envs().filter_map(|(key, value)| Some((key, value?))))
        .output()
        .unwrap();
    let report = String::from_utf8_lossy(&limited.stderr);
    assert!(limited.status.success(), "{report}");
    assert!(report.contains("no space: could not keep the run in"), "{report}");
    let reported = kept(&limited.stderr);
    assert!(!reported.is_empty(), "{report}");
    let store = Store::open_existing(&path).unwrap();
    for id in reported.iter().chain([&before]) {
        store.load(id).unwrap();
    }
    assert_eq!(store.ids().unwrap().len(), reported.len() + 1);
}
