//! Stops that were made on purpose, and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::Picoseconds;

/// Something that was stopped, once or at intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Stalls {
    /// What was stopped: `CPU 1`, `process 4711`.
    pub target: String,
    /// How long each stop was to be.
    pub asked: Picoseconds,
    /// How long each was, in their order. Of several CPUs it is the time in which all of them stood still.
    pub achieved: Vec<Picoseconds>,
    /// The command that ran meanwhile. None where there was none: then there is one stop.
    pub command: Option<StalledCommand>,
}

/// A command that ran while something was stopped at intervals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct StalledCommand {
    /// Its words.
    pub words: Vec<String>,
    /// How it ended: `exit status: 0`.
    pub end: String,
    /// The status that tenbin ends with: its own, or 128 and the signal.
    pub status: u8,
    /// From its start to its end.
    pub time: Picoseconds,
    /// From the end of a stop, or the start, to the next stop.
    pub every: Picoseconds,
}
