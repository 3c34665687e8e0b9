//! The names of what a store holds.

use tenbin_store::{CalibrationId, Store};

/// Names of the sound calibrations, newest first.
pub(crate) fn calibration_names(store: &Store) -> Vec<CalibrationId> {
    store.calibrations().unwrap().into_iter().map(|(id, _)| id).collect()
}
