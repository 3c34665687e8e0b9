//! A run: everything that was measured in one invocation, and where it comes from.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::{AnalysisName, Arrangement, Descriptor, Variant, VariantIndex};
use crate::finding::{Finding, Refusal};
use crate::machine::{Machine, Observed};
use crate::sample::Sample;
use crate::unit::Picoseconds;

/// A finished run. Immutable: answers are recomputed from it, never written into it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Run {
    /// Who measured, when and how.
    pub provenance: Provenance,
    /// What it was measured on, as observed before the first epoch.
    pub machine: Machine,
    /// One entry per experiment, in the order in which they ran.
    pub trials: Vec<Trial>,
}

impl Run {
    /// Whether others took its samples, on a machine of which nothing is known.
    pub fn is_imported(&self) -> bool {
        self.trials.iter().any(|trial| trial.descriptor.analysis.as_str() == AnalysisName::UNORDERED)
    }
}

/// A line of the list of runs: what `tenbin runs --json` prints of each.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ListedRun {
    /// Its name: 64 hexadecimal digits.
    pub id: String,
    /// The labels that it bears, in ascending order.
    pub labels: Vec<String>,
    /// What it says of itself.
    #[serde(flatten)]
    pub summary: RunSummary,
}

/// What is known of a run without reading its samples.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RunSummary {
    /// Start of the run, ISO 8601 in UTC.
    pub started: String,
    /// Version of tenbin that measured.
    pub version: String,
    /// The instruction set that it was measured on.
    pub architecture: String,
    /// The processor's name for itself.
    pub cpu_model: Observed<String>,
    /// How much time each cell was given.
    pub effort: Effort,
    /// Names of the experiments, in the order in which they ran.
    pub experiments: Vec<String>,
    /// Epochs kept, over all cells.
    pub samples: u64,
    /// Bytes that the run takes in the file, without the file's own structure.
    pub bytes: u64,
}

/// A whole run with the name of its shape: what `tenbin export --format json` writes.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ExportedRun<'a> {
    /// Name and version of this shape.
    #[schemars(extend("const" = ExportedRun::SCHEMA))]
    pub schema: &'static str,
    /// The run.
    #[serde(flatten)]
    pub run: &'a Run,
}

impl<'a> ExportedRun<'a> {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-run-1";

    /// The run, to be written.
    pub fn of(run: &'a Run) -> Self {
        Self { schema: Self::SCHEMA, run }
    }
}

/// Who measured, when and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Provenance {
    /// Version of tenbin.
    pub version: String,
    /// What that program was built of: its C library and its compiler. None where it did not say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Start of the run, ISO 8601 in UTC.
    pub started: String,
    /// The seed of every random choice of the run.
    pub seed: u64,
    /// How much time each cell was given.
    pub effort: Effort,
    /// The words after `tenbin` on the command line.
    pub arguments: Vec<String>,
}

/// How much time the user wants to spend.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Effort {
    /// About two seconds a cell; only the cells that carry the headline questions.
    Quick,
    /// About six seconds a cell.
    #[default]
    Normal,
    /// About fifteen seconds a cell.
    Thorough,
}

/// One experiment's part of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Trial {
    /// The experiment as it described itself then.
    pub descriptor: Descriptor,
    /// Why nothing was timed, if nothing was.
    pub refusal: Option<Refusal>,
    /// The cells, in the order in which they were measured.
    pub cells: Vec<Cell>,
    /// What was found by looking and not by weighing.
    pub findings: Vec<Finding>,
}

impl Trial {
    /// How many comparisons this trial was planned to judge: the family to correct for.
    ///
    /// Counted from the plan and not from the outcome, so that no refusal shrinks it.
    pub fn family(&self) -> usize {
        self.descriptor.family(self.cells.iter().map(|cell| cell.arrangement.comparisons.len()).sum())
    }

    /// The variant with this index, if the descriptor has so many.
    pub fn variant(&self, index: VariantIndex) -> Option<&Variant> {
        self.descriptor.variants.get(index.place())
    }
}

/// One point of an experiment's parameters, with all that was measured there.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cell {
    /// What was to be done.
    pub arrangement: Arrangement,
    /// The specification, variant by variant.
    pub checks: Vec<Check>,
    /// Why this cell was not timed, if it was not.
    pub refusal: Option<Refusal>,
    /// Why measuring stopped, if it began.
    pub ended: Option<Ended>,
    /// Figures from passes that were not timed, such as the longest starvation.
    pub gauges: Vec<Gauge>,
    /// The raw epochs, in order.
    pub samples: Vec<Sample>,
    /// What was seen of the machine between blocks, in order; none where nobody looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub probes: Vec<Probe>,
}

impl Cell {
    /// One that is not measured yet.
    pub fn unmeasured(arrangement: Arrangement) -> Self {
        Self { arrangement, ..Self::default() }
    }
}

/// A look at the machine between two blocks: what may tell why blocks after it differ from blocks before.
///
/// It judges nothing. Where a figure could not be had, it is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Probe {
    /// The block that came next.
    pub block: u32,
    /// Running time of the program by then.
    pub since: Picoseconds,
    /// Time for which the host ran something else while the cell's CPUs wanted to run, all together, since
    /// the machine began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stolen: Option<Picoseconds>,
    /// Time of all CPUs of the machine, in user mode and in the kernel, that was neither this program's nor
    /// that of a process which it started, all together, since the machine began. It counts in ticks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub others: Option<Picoseconds>,
    /// Time of a fixed loop of dependent additions on each of the cell's CPUs, as they are named, each once,
    /// two at most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub spins: Vec<Picoseconds>,
    /// Time for a cache line to go from the first of these CPUs to the second and back, where there are two.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub line: Option<Picoseconds>,
}

/// Whether a variant met the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Check {
    /// Index of the variant.
    pub variant: VariantIndex,
    /// Whether this variant was planted to fail.
    pub sabotage: bool,
    /// What was seen: the figure that the specification asks for, or the first violation.
    pub seen: String,
    /// Whether the specification was met.
    pub met: bool,
}

impl Check {
    /// Whether the check came out as it should: met by what is measured, broken by what is planted.
    pub fn as_expected(&self) -> bool {
        self.met != self.sabotage
    }
}

/// Why measuring of a cell stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Ended {
    /// Every comparison was precise enough at a planned look.
    Precision,
    /// The time for the cell was spent.
    Budget,
}

/// A figure read on a pass that was not timed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gauge {
    /// Index of the variant.
    pub variant: VariantIndex,
    /// What it is, in a few words; the title of its column.
    pub name: String,
    /// The figure.
    pub reading: Reading,
}

/// The figure of a gauge.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Reading {
    /// A length of time.
    Time(Picoseconds),
    /// A count, or a count for one unit of work.
    Count(f64),
}
