//! A calibration: the instrument weighed by pairs of which the truth is known.
//!
//! Its sample is not an epoch but a whole verdict, as a user would have got it. Error rates are
//! statistics over verdicts, so the verdicts are kept, one by one, and every rate is computed again
//! when it is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::run::Provenance;
use crate::unit::Picoseconds;
use crate::verdict::{Interval, Verdict};

/// Pairs whose truth is known, weighed on one machine under one load.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Calibration {
    /// Who measured, when and how.
    pub provenance: Provenance,
    /// What it was measured on.
    pub machine: Machine,
    /// The load that was made for it, on top of what the machine had.
    pub load: Load,
    /// The probability of a false "different" that the rule gives a verdict.
    pub level: f64,
    /// The most time that a verdict was given.
    pub time: Picoseconds,
    /// The pairs, those that ask the same question together.
    pub series: Vec<Series>,
}

/// Load that was made on purpose.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Load {
    /// How many threads were kept busy for each CPU that may be used.
    pub per_cpu: u32,
    /// How many threads that were.
    pub threads: u32,
    /// What the kernel called the load over the last minute, when the first pair began and when the
    /// last one ended (`/proc/loadavg`).
    pub average: [Option<f64>; 2],
}

/// Pairs that ask the same question.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Series {
    /// What the question is for.
    pub purpose: Purpose,
    /// Name of the work, one word ("pipe").
    pub work: String,
    /// What is done, in words ("4 KiB written to a pipe and read back").
    pub what: String,
    /// By which part the right side does more than the left, as asked for: 0.01 for one per cent.
    pub effect: f64,
    /// The margin of equivalence that the verdicts were given, as a fraction.
    pub margin: f64,
    /// Why no pair was weighed, if none was: an effect of less than two whole operations above all.
    pub refused: Option<String>,
    /// The pairs, in the order in which they were weighed.
    pub pairs: Vec<Pair>,
}

/// What a series of pairs is weighed for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The right side does more of the same operations: nothing more (equals), or a known part.
    Ladder,
    /// Both sides are copies of one function that lie elsewhere, so nothing differs but addresses.
    Layout,
    /// The ratio is a whole number whatever the clock rate.
    Truth,
}

/// One pair, weighed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Pair {
    /// Cost of the right side over cost of the left, as it is known: a ratio of operation counts, of
    /// latencies, or 1.
    pub truth: f64,
    /// The verdict.
    pub verdict: Verdict,
    /// The ratio found and where it lies, unless nothing could be said.
    pub found: Option<Found>,
    /// Blocks that were compared.
    pub blocks: u32,
    /// Operations that the left side did in an epoch.
    pub operations: u64,
    /// Time from the first epoch to the verdict, its preparation counted in.
    pub took: Picoseconds,
    /// Which of several layouts the pair was weighed in, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
}

/// A ratio as it was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Found {
    /// Cost of the right side over cost of the left.
    pub ratio: f64,
    /// Where it lies.
    pub interval: Interval,
}
