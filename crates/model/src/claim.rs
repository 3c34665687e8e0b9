//! Claims that a project keeps about its commands, and what became of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::verdict::Interval;

/// What became of a claim. There is no fourth outcome.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ClaimOutcome {
    /// All that the figures leave open satisfies it.
    Holds,
    /// All that they leave open violates it.
    Refuted,
    /// Neither: too little was reached, or measuring was not possible at all.
    NotDecided,
}

impl ClaimOutcome {
    /// The outcome as it is said.
    pub fn in_words(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Refuted => "refuted",
            Self::NotDecided => "not decided",
        }
    }
}

/// A claim, judged.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct JudgedClaim {
    /// The name that the project gave it.
    pub name: String,
    /// The claim, as the project wrote it.
    pub claim: String,
    /// What became of it.
    pub outcome: ClaimOutcome,
    /// That in words, with the figures that it rests on.
    pub sentence: String,
    /// What would decide it, where it is not decided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub needs: Option<String>,
    /// The figures, in the order in which they were judged: of each combination of parameters one or more.
    pub figures: Vec<ClaimFigure>,
}

/// A figure that a claim was held against.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClaimFigure {
    /// What it is: "time of `new` over that of `old`, bytes = 1000".
    pub what: String,
    /// Its unit: "s", "B", "1" for a ratio, an exponent or a count.
    pub unit: String,
    /// Where it lies.
    pub interval: Interval,
    /// The least that the claim allows, if it has a least.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub least: Option<f64>,
    /// The most that the claim allows, if it has a most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<f64>,
    /// The probability with which the interval misses, at most. None where it is no interval of that kind but
    /// what was seen, from the least to the most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<f64>,
    /// How many blocks or runs it was taken from.
    pub count: usize,
}

/// A question of a project, measured, with all that is claimed of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedQuestion {
    /// Its name.
    pub name: String,
    /// The run in the store that this was computed from, if it was kept.
    pub run: Option<String>,
    /// The probability that any interval of this question misses.
    pub level: f64,
    /// How many intervals share it.
    pub family: usize,
    /// How long its commands ran, all timed runs together.
    pub seconds: f64,
    /// What did not do what it has to do, and how: then nothing is decided by it. None where all did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fault: Option<String>,
    /// The claims, in the order of the file.
    pub claims: Vec<JudgedClaim>,
}

/// What `tenbin check --json` prints. `tenbin schema` publishes its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// Name and version of this shape.
    #[schemars(extend("const" = CheckReport::SCHEMA))]
    pub schema: String,
    /// Claims that hold.
    pub holds: usize,
    /// Claims that are refuted.
    pub refuted: usize,
    /// Claims that are not decided.
    pub not_decided: usize,
    /// The questions, in the order of the file.
    pub questions: Vec<CheckedQuestion>,
}

impl CheckReport {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-check-1";

    /// The report of these questions.
    pub fn of(questions: Vec<CheckedQuestion>) -> Self {
        let count = |outcome: ClaimOutcome| {
            let claims = questions.iter().flat_map(|question| &question.claims);
            claims.filter(|claim| claim.outcome == outcome).count()
        };
        Self {
            schema: Self::SCHEMA.into(),
            holds: count(ClaimOutcome::Holds),
            refuted: count(ClaimOutcome::Refuted),
            not_decided: count(ClaimOutcome::NotDecided),
            questions,
        }
    }

    /// The claims with this outcome, each with its question.
    pub fn with(&self, outcome: ClaimOutcome) -> impl Iterator<Item = (&CheckedQuestion, &JudgedClaim)> {
        let claims = self
            .questions
            .iter()
            .flat_map(|question| question.claims.iter().map(move |claim| (question, claim)));
        claims.filter(move |(_, claim)| claim.outcome == outcome)
    }
}
