//! A calibration: the instrument weighed by pairs of which the truth is known.
//!
//! Its sample is not an epoch but a whole verdict, as a user would have got it. Error rates are
//! statistics over verdicts, so the verdicts are kept, one by one, and every rate is computed again
//! when it is asked for.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::finding::Refusal;
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
    /// The most time that a verdict was given; [`Purpose::times`] as much where it starts processes.
    pub time: Picoseconds,
    /// The pairs, those that ask the same question together.
    pub series: Vec<Series>,
}

/// What `tenbin calibrate --json` prints: the rates, and every pair that they were computed from.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CalibrationReport {
    /// Name and version of this shape.
    #[schemars(extend("const" = CalibrationReport::SCHEMA))]
    pub schema: String,
    /// The calibration's name in the store, if it was kept.
    pub id: Option<String>,
    /// Why this machine cannot be calibrated, if it cannot; then there is nothing else.
    pub refusal: Option<Refusal>,
    /// What the calibration says of the instrument.
    pub rates: Option<Rates>,
    /// The calibration itself.
    pub calibration: Option<Calibration>,
}

impl CalibrationReport {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-calibration-1";
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
    /// Whole commands, as `tenbin weigh` runs them: the right one does nothing more, or a known part.
    Command,
    /// Functions of two files, as `tenbin weigh` links them anew for each block: the right one does nothing
    /// more, so that they are one function linked twice, or a known part.
    Function,
}

impl Purpose {
    /// How many times the time of others a verdict is given: each of its blocks starts processes, and those
    /// on functions are linked before.
    pub fn times(self) -> u64 {
        match self {
            Self::Ladder | Self::Layout | Self::Truth => 1,
            Self::Command => 10,
            Self::Function => 20,
        }
    }
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
    #[serde(rename = "found")]
    pub measured: Option<MeasuredRatio>,
    /// Why nothing could be said, if nothing could.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// Blocks that were compared.
    pub blocks: u32,
    /// Operations that the left side did in an epoch.
    pub operations: u64,
    /// Time from the first epoch to the verdict, its preparation counted in.
    pub took: Picoseconds,
    /// Which of several layouts the pair was weighed in, where there are several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<u32>,
    /// Which of several processes weighed the pair, where there were several.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
}

/// A ratio as it was measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "Found")]
pub struct MeasuredRatio {
    /// Cost of the right side over cost of the left.
    pub ratio: f64,
    /// Where it lies.
    pub interval: Interval,
}

/// How often something happened, and where its probability lies.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Proportion {
    /// How often it happened.
    pub count: u64,
    /// How often it could have.
    pub of: u64,
    /// Where its probability lies, as fractions, at [`Rates::level`] and if pairs are independent. None
    /// if it could never have happened.
    pub interval: Option<Interval>,
}

/// What a calibration says about the instrument: everything here is computed from its pairs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rates {
    /// The probability that the interval of one proportion misses.
    pub level: f64,
    /// Equals that were called different, of the equals of the ladder that got an interval.
    pub alarms: Proportion,
    /// Equals whose interval excluded 1, whatever the verdict, of the same: what the level is a promise of. A
    /// verdict of equivalence excuses an interval that excludes 1 and lies within the margin.
    pub excluded: Proportion,
    /// Equals called neither different nor equivalent, of the equals of the ladder.
    pub undecided: Proportion,
    /// Pairs called different the wrong way round, of the pairs of the ladder that differ and got an
    /// interval.
    pub wrong_signs: Proportion,
    /// Intervals that hold the truth, of those that the ladder gave.
    pub covered: Proportion,
    /// Pairs that were refused, of all pairs whatever their purpose.
    pub refused: Proportion,
    /// Time that a verdict of the ladder took.
    pub took: Option<VerdictTime>,
    /// The same for each work of the ladder, in the order in which the works came.
    pub works: Vec<WorkRates>,
    /// Whole commands, if any were weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub commands: Option<WeighRates>,
    /// Functions over layouts, if any were weighed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub functions: Option<WeighRates>,
    /// Copies of one function at other addresses.
    pub layout: LayoutRates,
    /// Ratios that are known whatever the clock rate, each series of them.
    pub biases: Vec<Bias>,
    /// How far the processes lie apart, for each series that several of them weighed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub between: Vec<Between>,
    /// The series of which no pair was weighed, and why.
    pub unweighed: Vec<Unweighed>,
    /// Why pairs got no interval: each reason, and how many pairs it befell.
    pub unanswered: Vec<Unanswered>,
}

impl Rates {
    /// The rates of what only `tenbin weigh` weighs; none where `purpose` is another, or nothing was weighed
    /// for it.
    pub fn of(&self, purpose: Purpose) -> Option<&WeighRates> {
        match purpose {
            Purpose::Command => self.commands.as_ref(),
            Purpose::Function => self.functions.as_ref(),
            Purpose::Ladder | Purpose::Layout | Purpose::Truth => None,
        }
    }
}

/// What pairs say that went all the way of `tenbin weigh`: whole commands, or functions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WeighRates {
    /// As [`Rates::alarms`], of these.
    pub alarms: Proportion,
    /// As [`Rates::wrong_signs`], of these.
    pub wrong_signs: Proportion,
    /// Each work: a length of command, or a function. Of commands, covered is counted of equals only: by
    /// which part a longer run is longer is known as well as what a start costs, and no better.
    pub works: Vec<WorkRates>,
}

/// A reason for which pairs got no interval.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Unanswered {
    /// The reason.
    pub why: String,
    /// How many pairs.
    pub count: u64,
}

/// What the ladder says of one work.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct WorkRates {
    /// Name of the work.
    pub work: String,
    /// What is done, in words.
    pub what: String,
    /// As [`Rates::alarms`].
    pub alarms: Proportion,
    /// As [`Rates::undecided`].
    pub undecided: Proportion,
    /// As [`Rates::covered`].
    pub covered: Proportion,
    /// The effects of the ladder, smallest first, those that were refused as a whole among them.
    pub steps: Vec<Step>,
    /// The smallest effect that was found at least nine times of ten, as was every larger one that was
    /// weighed. None if there is none.
    pub ninety: Option<Step>,
    /// As [`Rates::took`].
    pub took: Option<VerdictTime>,
}

/// How often an effect of one size was found.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Step {
    /// The effect, as [`Series::effect`].
    pub effect: f64,
    /// Pairs called different the right way round, of those weighed.
    #[serde(rename = "found")]
    pub detected: Proportion,
}

/// Time from the first epoch to the verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct VerdictTime {
    /// Half of the verdicts took no longer.
    pub median: Picoseconds,
    /// Nine tenths took no longer.
    pub ninetieth: Picoseconds,
}

/// How often copies of one function were called different.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct LayoutRates {
    /// Pairs that were called different, over all layouts.
    pub different: Proportion,
    /// The same for each layout, by its number. Pairs without a number are missing here.
    pub layouts: Vec<OneLayout>,
}

/// How often copies of one function were called different in one layout.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct OneLayout {
    /// Number of the layout.
    pub layout: u32,
    /// Pairs that were called different.
    pub different: Proportion,
}

/// A ratio that is known, and as it was found.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Bias {
    /// Name of the work.
    pub work: String,
    /// What is weighed, in words.
    pub what: String,
    /// The ratio as it is known.
    pub truth: f64,
    /// How many times a ratio was found.
    pub runs: u64,
    /// Median of the ratios found.
    pub median: f64,
    /// By which part of the truth the median lies above it; negative below.
    pub error: f64,
    /// The error of the one ratio that lies farthest off, as a part of the truth.
    pub worst: f64,
}

/// How far processes lie apart that weighed the same.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Between {
    /// What it was weighed for.
    pub purpose: Purpose,
    /// Name of the work.
    pub work: String,
    /// By which part the right side did more, as asked for.
    pub effect: f64,
    /// How many processes found a ratio.
    pub processes: u64,
    /// By which factor the ratio of the process with the largest lies above that of the process with the
    /// least; of each process the median of what it found over the truth.
    pub apart: f64,
    /// Of two intervals from two processes, how many do not meet: all such pairs of intervals. They are not
    /// independent, so there is no interval.
    pub disjoint: Proportion,
}

/// A series of which no pair was weighed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Unweighed {
    /// What it would have been weighed for.
    pub purpose: Purpose,
    /// Name of the work.
    pub work: String,
    /// The effect, as [`Series::effect`].
    pub effect: f64,
    /// Why not.
    pub why: String,
}
