//! The embedded store: one SQLite file of finished runs, and what it writes for its neighbours.
//!
//! A run is immutable and named by a hash of what it says. Raw samples lie in it as packed columns.
//! The store never interprets a number: what an epoch means is for `analysis` to say. The format is
//! described in `docs/store.md`.
//!
//! Reading order: [`Store`], `packed`, `columns`, `codec`, `foreign`.

mod codec;
mod columns;
mod error;
mod filesystem;
mod foreign;
mod identity;
pub mod neighbours;
mod packed;
mod schema;
mod store;
mod transfer;

#[cfg(test)]
#[path = "../tests/specimens/mod.rs"]
mod specimens;

pub use codec::Codec;
pub use error::{Attempt, Error, Foreign, Unfaithful};
pub use identity::{NotARunId, RunId};
pub use packed::Entry;
pub use store::{ColumnSize, Store};
pub use transfer::{Existing, Merge};
