//! The embedded store: one SQLite file of finished runs and calibrations, and what it writes for its
//! neighbours.
//!
//! Both are immutable and named by a hash of what they say. Raw samples lie in it as packed columns;
//! a calibration has none, for its samples are verdicts, and is one document.
//! The store never interprets a number: what an epoch means is for `analysis` to say. The format is
//! described in `docs/store.md`.
//!
//! Reading order: [`Store`], `packed`, `columns`, `codec`, `calibration`, `foreign`.

mod calibration;
mod codec;
mod columns;
mod document;
mod error;
mod filesystem;
mod foreign;
mod identity;
mod kind_of_file;
mod labelling;
mod labels;
pub mod neighbours;
mod packed;
mod removal;
mod schema;
mod store;
mod transfer;

#[cfg(test)]
#[path = "../tests/specimens/mod.rs"]
mod specimens;

pub use calibration::CalibrationListing;
pub use error::{Attempt, Error, Lookup, Task, Unfaithful};
pub use foreign::same_file;
pub use identity::{CalibrationId, NotACalibrationId, NotARunId, RunId};
pub use kind_of_file::Foreign;
pub use labels::{Label, NotALabel};
pub use packed::Entry;
pub use store::{Damage, Listing, Merge, Store};
pub use transfer::Existing;
