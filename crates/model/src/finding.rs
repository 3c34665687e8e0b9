//! What is said without a ratio: what was found by looking, and why something was not answered.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Something found by looking: not a comparison, so it has no ratio.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Finding {
    /// Name of the experiment.
    pub experiment: String,
    /// What was found, in words.
    pub sentence: String,
    /// What was seen.
    pub evidence: String,
    /// How sure it is, and what it rests on.
    pub confidence: String,
}

/// Why something was not answered. All three parts are sentences without a capital or a full stop.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Refusal {
    /// What was reached or found, with the figure.
    pub reached: String,
    /// What the question needs, with the threshold.
    pub needs: String,
    /// What would change it.
    pub remedy: String,
}
