//! Stores to test with, and the names of what they hold.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
#![allow(dead_code, reason = "every test uses a part of this")]

use tempfile::TempDir;
use tenbin_store::{CalibrationId, Label, RunId, Store};

use crate::specimens::small_run;

/// A store with so many runs: the names of these, oldest first.
pub(crate) fn store_with(runs: u64) -> (TempDir, Store, Vec<RunId>) {
    let folder = tempfile::tempdir().unwrap();
    let mut store = Store::open(&folder.path().join("store.db")).unwrap();
    for seed in 1..=runs {
        store.keep(&small_run(10_000 * seed)).unwrap();
    }
    let ids = order(&store);
    (folder, store, ids)
}

/// The names of the runs, oldest first.
pub(crate) fn order(store: &Store) -> Vec<RunId> {
    store.runs().unwrap().iter().map(|entry| entry.id).collect()
}

/// Names of the sound calibrations, newest first.
pub(crate) fn calibration_names(store: &Store) -> Vec<CalibrationId> {
    store.calibrations().unwrap().into_iter().map(|(id, _)| id).collect()
}

pub(crate) fn label(text: &str) -> Label {
    text.parse().unwrap()
}
