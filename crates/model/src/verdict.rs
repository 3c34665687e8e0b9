//! Answers: three verdicts on a comparison, findings beside them, and the evidence of both.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::{Finding, Refusal};
use crate::machine::Machine;
use crate::run::{Check, Provenance};

/// What a comparison came to. There is no fourth outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Verdict {
    /// The interval of the ratio excludes 1 and reaches beyond the margin around it. Of a law: it grows with
    /// size, or falls; the interval of its slope excludes 0 and reaches beyond what the margin allows. Of
    /// lateness: the ratio of two of them.
    Different,
    /// The interval lies within 1 ± the margin, whether or not it holds 1. Of a law: every size costs the
    /// same within the margin.
    Equivalent,
    /// Neither: too little was reached, or measuring was not possible at all.
    #[default]
    Refused,
}

/// An interval with the level at which it covers, after all corrections.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// What stands behind a verdict.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Evidence {
    /// Name of the first variant.
    pub left: String,
    /// Name of the second variant.
    pub right: String,
    /// Cost of `right` over cost of `left`: above 1, `left` is the better one.
    pub ratio: f64,
    /// Where the ratio lies.
    pub interval: Interval,
    /// Probability of a false "different" that the whole family was given.
    pub family_level: f64,
    /// How many intervals share that level: one for each comparison, and of a law also two for each line (its
    /// constant and its slope) and two for each size of it. How late each variant is by itself has an
    /// interval at the whole level, which is not counted here: nothing is decided by it.
    pub family: usize,
    /// Probability of a false "different" that was left for this interval.
    pub level: f64,
    /// Blocks that were compared.
    pub blocks: usize,
    /// The smallest effect that this much data finds nine times of ten, as a fraction.
    pub detectable: f64,
    /// The margin of equivalence, as a fraction.
    pub margin: f64,
    /// The states that the machine was in for long enough to be told apart by the ratio, in the order in
    /// which they first came: two or more, and then `interval` covers those of all of them. Empty where one
    /// state lasted throughout.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub regimes: Vec<Regime>,
}

/// A state of the machine that lasted, as the blocks of one comparison show it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Regime {
    /// The ratio in this state.
    pub ratio: f64,
    /// Where that lies; all intervals of a comparison share its level.
    pub interval: Interval,
    /// Blocks that were measured in it.
    pub blocks: usize,
    /// How long they took.
    pub seconds: f64,
    /// How often the machine was in it, with blocks of another state between.
    pub turns: usize,
    /// When, of the first of these turns: [`Regime::STRETCHES`] at most.
    pub stretches: Vec<Stretch>,
    /// What was seen of the machine meanwhile, by name.
    pub figures: Vec<Figure>,
}

impl Regime {
    /// Of more turns than this, only so many are listed.
    pub const STRETCHES: usize = 20;
}

/// A stretch of a cell's running time: of its epochs, without what lies between them. In seconds since the
/// first one.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stretch {
    /// Start.
    pub from: f64,
    /// End.
    pub to: f64,
}

/// Something that a question needs and this machine does not have, though it could.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Missing {
    /// What is not there.
    pub what: String,
    /// What it is needed for.
    pub needed: String,
    /// The command that installs it.
    pub install: String,
}

impl std::fmt::Display for Missing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} is missing: {}; install it: {}", self.what, self.needed, self.install)
    }
}

/// The answer to one comparison.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Answer {
    /// Name of the experiment.
    pub experiment: String,
    /// The experiment's question.
    pub question: String,
    /// Where it was asked: the label of the cell.
    pub cell: String,
    /// Whether this answer stands for the experiment in a survey.
    pub headline: bool,
    /// The outcome.
    pub verdict: Verdict,
    /// The outcome in words.
    pub sentence: String,
    /// The outcome in a line, the figure first; of a refusal what would change it.
    #[serde(default)]
    pub brief: String,
    /// What the interval cannot say: that the ratio changed meanwhile, that it holds only for now.
    pub caveat: Option<String>,
    /// The figures, where something was measured.
    pub evidence: Option<Evidence>,
    /// Why not, where it was refused.
    pub refusal: Option<Refusal>,
    /// Figures that the answer rests on beyond a ratio, by name.
    #[serde(default)]
    pub figures: Vec<Figure>,
    /// Figures that form a grid: times by size, by reader and home, by pair of CPUs.
    #[serde(default)]
    pub grids: Vec<Grid>,
}

/// A figure with its name and unit.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// The figure.
    pub value: f64,
    /// Its unit: "ns", "B", "1" for a part or a ratio.
    pub unit: String,
}

impl Figure {
    /// The figure `value` in `unit`.
    pub fn new(name: &str, value: f64, unit: &str) -> Self {
        Self { name: name.into(), value, unit: unit.into() }
    }
}

/// Figures in rows and columns.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Grid {
    /// What it shows.
    pub name: String,
    /// The unit of every figure.
    pub unit: String,
    /// What the rows stand for, in order.
    pub rows: Vec<String>,
    /// What the columns stand for, in order.
    pub columns: Vec<String>,
    /// The figures, row by row; null where nothing was measured.
    pub values: Vec<Vec<Option<f64>>>,
}

/// What `--json` prints: every answer of a run with its evidence. `tenbin schema` publishes its shape.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Report {
    /// Name and version of this shape.
    #[schemars(extend("const" = Report::SCHEMA))]
    pub schema: String,
    /// The run in the store that this was computed from, if it was kept.
    pub run: Option<String>,
    /// Who measured, when and how.
    pub provenance: Provenance,
    /// What it was measured on.
    pub machine: Machine,
    /// How often this instrument errs on this machine, in words, if it was calibrated there.
    #[serde(default)]
    pub instrument: Option<String>,
    /// What the intervals of all answers do not cover, in words, if any answer claims something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scope: Option<String>,
    /// The comparisons.
    pub answers: Vec<Answer>,
    /// What was found beside them.
    pub findings: Vec<Finding>,
    /// The specification, checked.
    pub checks: Vec<CheckedVariant>,
}

impl Report {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-report-1";
}

/// One check with the names that its indices stand for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedVariant {
    /// Name of the experiment.
    pub experiment: String,
    /// Label of the cell.
    pub cell: String,
    /// Name of the variant.
    pub variant: String,
    /// The check.
    pub check: Check,
}
