//! Noise: what on a machine makes figures vary, or shifts them all, as an examination sees it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Cpu, Picoseconds};

/// All sources of noise of a machine, examined once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Diagnosis {
    /// The CPUs that it is about.
    pub cpus: Vec<Cpu>,
    /// How long counters were watched for what happens now.
    pub watched: Picoseconds,
    /// The questions that it was asked for; empty for all there are.
    pub questions: Vec<String>,
    /// Every source that matters to them, those first that disturb now.
    pub sources: Vec<Noise>,
}

/// One source of noise.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Noise {
    /// Its name: `steal`, `turbo`.
    pub source: String,
    /// What it is doing.
    pub state: Disturbance,
    /// What was seen of it, or why nothing was.
    pub seen: String,
    /// What it does to figures where it is at work.
    pub effect: String,
    /// The questions, of those asked for, to which it matters; empty for whatever is timed.
    pub matters_to: Vec<String>,
    /// How to be rid of it; none where it is not at work.
    pub remedy: Option<String>,
}

/// What a source of noise is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Disturbance {
    /// It disturbed while it was watched, or does for certain.
    Active,
    /// It is set up so that it may disturb.
    Possible,
    /// It does not.
    Quiet,
    /// It cannot be seen from here.
    NotObservable,
}

impl Diagnosis {
    /// The sources in this state.
    pub fn in_state(&self, state: Disturbance) -> impl Iterator<Item = &Noise> {
        self.sources.iter().filter(move |noise| noise.state == state)
    }
}
