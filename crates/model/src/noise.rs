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
    /// Remedies that `tenbin quiet` could take for a command on these CPUs.
    #[serde(default)]
    pub remedies: Vec<String>,
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

/// What can keep noise away from a command for as long as it runs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedies {
    /// The CPUs that the command is to have; none where it takes any.
    pub cpus: Option<Vec<Cpu>>,
    /// Every remedy that was asked for, or each that is usual.
    pub remedies: Vec<Remedy>,
}

/// Something that keeps noise away, and is undone.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Remedy {
    /// Its name: `governor`, `interrupts`.
    pub name: String,
    /// What it does.
    pub does: String,
    /// Whether it is taken where nothing is named.
    pub is_usual: bool,
    /// What becomes of it here.
    pub state: RemedyState,
    /// What is switched, or why nothing is.
    pub words: String,
}

/// What becomes of a remedy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RemedyState {
    /// It can be taken.
    Possible,
    /// It is taken, until the command ends.
    InForce,
    /// The machine is so already.
    AlreadySo,
    /// It cannot be taken here.
    Impossible,
}

impl Remedies {
    /// The remedies in this state.
    pub fn in_state(&self, state: RemedyState) -> impl Iterator<Item = &Remedy> {
        self.remedies.iter().filter(move |remedy| remedy.state == state)
    }
}
