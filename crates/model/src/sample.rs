//! One epoch, as it was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Cpu, Picoseconds};

/// One epoch: a run of iterations of one variant, timed as a whole.
///
/// Raw. Nothing is subtracted, dropped or averaged before it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Position among all epochs of the cell, from 0.
    pub order: u32,
    /// The block that this epoch belongs to; a block holds every variant twice, mirrored.
    pub block: u32,
    /// Index into the descriptor's variants.
    pub variant: u32,
    /// Iterations that every worker ran.
    pub iterations: u64,
    /// From the first worker's start to the last worker's end.
    pub elapsed: Picoseconds,
    /// Where the first worker ran; the pin was read back before and after.
    pub cpu: Cpu,
    /// User time of the workers across their parts of the epoch.
    pub user: Picoseconds,
    /// System time of the workers across their parts of the epoch.
    pub system: Picoseconds,
    /// Context switches that the workers asked for across their parts of the epoch.
    pub voluntary_switches: u32,
    /// Context switches that were forced on the workers across their parts of the epoch.
    pub involuntary_switches: u32,
    /// One entry per worker when there are several or when an attempt failed, else empty.
    pub shares: Vec<Share>,
}

/// What one worker of several did in an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// From this worker's start to its end.
    pub elapsed: Picoseconds,
    /// Attempts that did not succeed (a failed compare-and-swap), 0 where that has no meaning.
    pub failures: u64,
}
