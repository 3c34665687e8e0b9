//! Import is a merge: twice is once, order and grouping do not matter, and nothing is lost.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod specimens;
mod stores;

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use proptest::prelude::*;
use specimens::{calibration, small_run};
use stores::{calibration_names, store_with};
use tempfile::TempDir;
use tenbin_store::{CalibrationId, Error, Existing, RunId, Store};

const RUNS: u32 = 5;

/// One exported file for every subset of a few runs and as many calibrations.
struct Files {
    folder: TempDir,
    ids: Vec<Pair>,
}

/// What is exported together: a run and a calibration.
type Pair = (RunId, CalibrationId);

static FILES: LazyLock<Files> = LazyLock::new(|| {
    let (folder, mut store, _) = store_with(0);
    let mut keep =
        |seed| (store.keep(&small_run(seed)).unwrap(), store.keep_calibration(&calibration(seed)).unwrap());
    let ids: Vec<Pair> = (0..u64::from(RUNS)).map(&mut keep).collect();
    for subset in 0..1 << RUNS {
        let (runs, calibrations): (Vec<_>, Vec<_>) = members(&ids, subset).unzip();
        let path = folder.path().join(format!("{subset}.db"));
        store.export(&runs, &calibrations, &path, Existing::Refuse).unwrap();
    }
    Files { folder, ids }
});

fn file(subset: u32) -> PathBuf {
    FILES.folder.path().join(format!("{subset}.db"))
}

fn members(ids: &[Pair], subset: u32) -> impl Iterator<Item = Pair> {
    ids.iter().enumerate().filter(move |(i, _)| subset >> i & 1 == 1).map(|(_, id)| *id)
}

type Held = (BTreeSet<RunId>, BTreeSet<CalibrationId>);

fn set(subset: u32) -> Held {
    members(&FILES.ids, subset).unzip()
}

/// A fresh store into which these files were merged, in this order.
fn merged(folder: &Path, name: &str, files: &[PathBuf]) -> Store {
    let mut store = Store::open(&folder.join(name)).unwrap();
    for file in files {
        store.import(file).unwrap();
    }
    store
}

fn held(store: &Store) -> Held {
    (store.ids().unwrap().into_iter().collect(), calibration_names(store).into_iter().collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn merging_is_union(a in 0u32..1 << RUNS, b in 0u32..1 << RUNS, c in 0u32..1 << RUNS) {
        let folder = tempfile::tempdir().unwrap();
        let in_order = merged(folder.path(), "abc.db", &[file(a), file(b), file(c)]);
        prop_assert_eq!(held(&in_order), set(a | b | c));

        let reversed = merged(folder.path(), "cba.db", &[file(c), file(b), file(a)]);
        prop_assert_eq!(held(&reversed), held(&in_order));

        // a ∪ (b ∪ c), by way of a store of its own that is still open and has its log beside it.
        let right = merged(folder.path(), "bc.db", &[file(b), file(c)]);
        let mut nested = merged(folder.path(), "a.db", &[file(a)]);
        nested.import(right.path()).unwrap();
        prop_assert_eq!(held(&nested), held(&in_order));

        let again = nested.import(&file(b)).unwrap();
        prop_assert_eq!((again.added, again.calibrations_added), (Vec::new(), Vec::new()));
        let present = (again.present.into_iter().collect(), again.calibrations_present.into_iter().collect());
        prop_assert_eq!(present, set(b));
        prop_assert_eq!(held(&nested), held(&in_order));
        let (runs, calibrations) = held(&nested);
        prop_assert!(runs.iter().all(|id| nested.load(id).is_ok()));
        prop_assert!(calibrations.iter().all(|id| nested.load_calibration(id).is_ok()));
    }
}

#[test]
fn a_store_left_by_a_crash_is_read_and_not_touched() {
    let (folder, _store, ids) = store_with(1);
    // What a crash leaves: the file and its log, copied while the run is still in the log alone.
    let at = |name: &str, suffix: &str| folder.path().join(format!("{name}.db{suffix}"));
    for suffix in ["", "-wal"] {
        fs::copy(at("store", suffix), at("crashed", suffix)).unwrap();
    }
    let crashed = at("crashed", "");
    let before = fs::read(&crashed).unwrap();
    let merge = Store::open(&folder.path().join("target.db")).unwrap().import(&crashed).unwrap();
    assert_eq!(merge.added, ids);
    assert_eq!(fs::read(&crashed).unwrap(), before);
    assert!(!at("crashed", "-shm").exists());
}

#[test]
fn a_store_merged_into_itself_stays_as_it_is() {
    let (_folder, mut store, ids) = store_with(1);
    let path = store.path().to_owned();
    let merge = store.import(&path).unwrap();
    assert_eq!((merge.added, merge.present), (vec![], ids.clone()));
    assert!(matches!(store.export(&ids, &[], &path, Existing::Replace), Err(Error::IsTheStore { .. })));
    assert!(store.load(&ids[0]).is_ok());
}

#[test]
fn an_export_never_harms_what_stands_there() {
    let (folder, store, ids) = store_with(1);
    let id = ids[0];
    let unknown: RunId = "0".repeat(64).parse().unwrap();
    let target = folder.path().join("out file?#%.db");
    fs::write(&target, "precious").unwrap();
    assert!(matches!(store.export(&[id], &[], &target, Existing::Refuse), Err(Error::Exists { .. })));
    let outcome = store.export(&[id, unknown], &[], &target, Existing::Replace);
    assert!(matches!(outcome, Err(Error::UnknownRun { .. })));
    assert_eq!(fs::read(&target).unwrap(), b"precious");
    store.export(&[id, id], &[], &target, Existing::Replace).unwrap();
    assert_eq!(merged(folder.path(), "other.db", &[target]).ids().unwrap(), [id]);
    let outcome = store.export(&[id], &[], &folder.path().join("no/such/folder.db"), Existing::Refuse);
    assert!(matches!(outcome, Err(Error::NoSuchFile { .. })));
    let left: Vec<_> = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("part")), "{left:?}");
}

#[test]
fn an_exported_store_can_be_opened_and_written_like_any_other() {
    let (folder, store, ids) = store_with(1);
    let run = store.load(&ids[0]).unwrap();
    let target = folder.path().join("out.db");
    store.export(&ids, &[], &target, Existing::Refuse).unwrap();
    let mut exported = Store::open_existing(&target).unwrap();
    assert_eq!(exported.keep(&run).unwrap(), ids[0]);
    assert_eq!(exported.runs().unwrap(), store.runs().unwrap());
    assert_eq!(exported.load(&ids[0]).unwrap(), run);
}
