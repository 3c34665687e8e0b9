//! What an experiment says about itself. Command line, help, report and documentation derive from it.

use std::ops::{Index, Range};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::Picoseconds;

/// An experiment's description: the last thing in its file, and the only thing that others read.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Descriptor {
    /// The name on the command line: lower case, one word.
    pub name: String,
    /// The question, as a user would ask it.
    pub question: String,
    /// The need behind the question, in a sentence, with the seed or document that raised it.
    pub requirement: String,
    /// What every variant must do to be worth timing; checked on a pass that is not timed.
    pub specification: String,
    /// What the sentences begin with ("One shared counter").
    pub subject: String,
    /// What is measured and how a ratio of it is said.
    pub quantity: Quantity,
    /// What else is judged of the same samples; each comparison is made of each. Empty for most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub further: Vec<Quantity>,
    /// The probability of any false "different" that all its comparisons share.
    #[serde(default = "usual_level", skip_serializing_if = "is_usual_level")]
    pub level: f64,
    /// How its cells become answers.
    #[serde(default, rename = "judge")]
    pub analysis: AnalysisName,
    /// Experiments whose answers it builds on, by name: they run first.
    #[serde(default)]
    pub builds_on: Vec<String>,
    /// The ways of doing the thing, in the order in which tables show them.
    pub variants: Vec<Variant>,
    /// What `--set` accepts.
    pub parameters: Vec<Parameter>,
    /// Two variants whose ratio lies within 1 ± this are equivalent.
    pub margin: f64,
    /// How far the ratio of two variants may lie from itself in another run, as a fraction, on a machine
    /// whose cores others use as well: there a difference is claimed only where its interval lies beyond 1 ±
    /// this as a whole. 0 where the variants do the same work, so that others slow both down alike.
    #[serde(default)]
    pub sway: f64,
    /// Length of an epoch where a cell does not need another.
    pub epoch: Picoseconds,
    /// What the experiment needs beyond an ordinary user, or "none".
    pub privileges: String,
    /// Host settings that it changes (and restores), or "none".
    pub touches: String,
    /// Where the method comes from.
    pub sources: Vec<Source>,
    /// Figures that others published, shown beside this machine's.
    pub published: Vec<Published>,
}

/// Nanoseconds for an operation in epochs of 100 µs, for which nothing is needed or changed: a start for a
/// description that leaves the rarer fields as they are.
impl Default for Descriptor {
    fn default() -> Self {
        Self {
            name: String::new(),
            question: String::new(),
            requirement: String::new(),
            specification: String::new(),
            subject: String::new(),
            quantity: Quantity::default(),
            further: Vec::new(),
            level: usual_level(),
            analysis: AnalysisName::default(),
            builds_on: Vec::new(),
            variants: Vec::new(),
            parameters: Vec::new(),
            margin: 0.0,
            sway: 0.0,
            epoch: Picoseconds::from_micros(100),
            privileges: "none".into(),
            touches: "none".into(),
            sources: Vec::new(),
            published: Vec::new(),
        }
    }
}

/// One in a hundred.
fn usual_level() -> f64 {
    0.01
}

/// Whether nothing has to be said of it: a run of before there was a choice keeps its bytes, and so its name.
fn is_usual_level(level: &f64) -> bool {
    *level == usual_level()
}

impl Descriptor {
    /// Whether what it weighs is a user's: commands, functions or workers. They stand for themselves, and
    /// nothing has to be named that they are ways of doing.
    pub fn is_of_user(&self) -> bool {
        self.subject.is_empty()
    }

    /// How many intervals share the level where so many comparisons are made.
    pub fn family(&self, comparisons: usize) -> usize {
        comparisons * (1 + self.further.len())
    }

    /// The index of the variant called `name`.
    pub fn variant(&self, name: &str) -> Option<VariantIndex> {
        self.variants.iter().position(|variant| variant.name == name).map(VariantIndex::from)
    }

    /// What is weighed, the first before the others.
    pub fn quantities(&self) -> impl Iterator<Item = Quantity> {
        std::iter::once(self.quantity).chain(self.further.iter().copied())
    }

    /// The value of the parameter called `name`, as it is unless set.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        let parameter = self.parameters.iter().find(|parameter| parameter.name == name);
        parameter.map(|parameter| parameter.default.as_str())
    }

    /// The variants, each with its index.
    pub fn numbered_variants(&self) -> impl Iterator<Item = (VariantIndex, &Variant)> {
        (0..).map(VariantIndex).zip(&self.variants)
    }

    /// The planted faults, each with its index.
    pub fn planted_faults(&self) -> impl Iterator<Item = (VariantIndex, &Variant)> {
        self.numbered_variants().filter(|(_, variant)| variant.role == Role::Sabotage)
    }
}

impl Index<VariantIndex> for Descriptor {
    type Output = Variant;
    fn index(&self, index: VariantIndex) -> &Variant {
        &self.variants[index]
    }
}

/// Index into the descriptor's variants. It also reads any other list with an entry for each of them.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
// What a field says of it is all that a schema says: to readers of JSON it is a number.
#[schemars(inline, description = "")]
pub struct VariantIndex(pub u32);

impl VariantIndex {
    /// The indices of the variants at these places.
    pub fn range(places: Range<usize>) -> Vec<Self> {
        places.map(Self::from).collect()
    }

    /// The indices of the variants whose entries in this list are `wanted`.
    pub fn select<T>(list: &[T], wanted: impl Fn(&T) -> bool) -> Vec<Self> {
        (0..).map(Self).zip(list).filter(|(_, entry)| wanted(entry)).map(|(index, _)| index).collect()
    }

    /// Its place in the list of variants.
    pub const fn place(self) -> usize {
        self.0 as usize
    }
}

impl From<usize> for VariantIndex {
    fn from(place: usize) -> Self {
        Self(place as u32)
    }
}

impl<T> Index<VariantIndex> for [T] {
    type Output = T;
    fn index(&self, index: VariantIndex) -> &T {
        &self[index.place()]
    }
}

impl<T> Index<VariantIndex> for Vec<T> {
    type Output = T;
    fn index(&self, index: VariantIndex) -> &T {
        &self[index.place()]
    }
}

/// What is measured, and the words for a ratio of it. Always time for work underneath.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Nanoseconds for one operation. "A is 2.4x cheaper than B".
    #[default]
    NanosecondsPerOperation,
    /// Bytes in a second. "A carries 8.3x what B carries".
    BytesPerSecond,
    /// Nanoseconds from when something was due until it came. "A is 8.7x less late than B".
    Lateness,
    /// Time from a command's start to its end. "`A` is 1.8x faster than `B`".
    WallTime,
    /// Time that a command spent in user mode. "`B` needs 1.8x the user time of `A`".
    UserTime,
    /// Time that the kernel spent on behalf of a command.
    #[serde(rename = "system_time")]
    KernelTime,
    /// Both of these.
    CpuTime,
    /// The most memory of a command that was resident at a time.
    PeakMemory,
    /// Page faults of a command.
    PageFaults,
    /// Context switches of a command.
    ContextSwitches,
    /// Instructions that a command retired in user space.
    Instructions,
    /// Cycles that a command took in user space.
    Cycles,
}

impl Quantity {
    /// Whether it is a count that an emulator has right as well, and no time.
    pub fn is_counted(self) -> bool {
        matches!(self, Self::PeakMemory | Self::PageFaults | Self::Instructions)
    }

    /// What a command needs of it, as a noun; none where it is not a command's.
    pub fn of_command(self) -> Option<&'static str> {
        Some(match self {
            Self::NanosecondsPerOperation | Self::BytesPerSecond | Self::Lateness => return None,
            Self::WallTime => "time",
            Self::UserTime => "user time",
            Self::KernelTime => "system time",
            Self::CpuTime => "CPU time",
            Self::PeakMemory => "peak memory",
            Self::PageFaults => "page faults",
            Self::ContextSwitches => "context switches",
            Self::Instructions => "instructions",
            Self::Cycles => "cycles",
        })
    }
}

/// The name of the analysis by which samples become answers. That of every question that does not bring one
/// of its own is `comparisons`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AnalysisName(String);

impl AnalysisName {
    /// That of samples that others took, of which nobody knows in which order.
    pub const UNORDERED: &str = "unordered";

    /// The name itself.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for AnalysisName {
    fn from(name: &str) -> Self {
        Self(name.into())
    }
}

impl Default for AnalysisName {
    fn default() -> Self {
        Self::from("comparisons")
    }
}

/// One way of doing the thing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Variant {
    /// Short and exact; reads inside a sentence ("lock xadd").
    pub name: String,
    /// What it does, in a line.
    pub what: String,
    /// Whether it is measured or planted.
    pub role: Role,
    /// Where it stands among its like, as numbers by name ("bytes", "reader"): what a judge reads
    /// where a name is not enough. Empty for most.
    #[serde(default)]
    pub point: Vec<(String, u64)>,
    /// Values, by the names of their parameters, that a user's command was made with. Empty for most.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub parameters: Vec<(String, String)>,
}

impl Variant {
    /// A variant that is measured.
    pub fn measured(name: &str, what: &str) -> Self {
        Self { name: name.into(), what: what.into(), role: Role::Measured, ..Self::default() }
    }

    /// Variants that are measured and planted faults, each by its name and what it does.
    pub fn list(measured: &[(&str, &str)], planted: &[(&str, &str)]) -> Vec<Self> {
        let measured = measured.iter().map(|(name, what)| Self::measured(name, what));
        measured.chain(planted.iter().map(|(name, what)| Self::sabotage(name, what))).collect()
    }

    /// The same variant, standing at this point.
    pub fn at(mut self, point: &[(Axis, u64)]) -> Self {
        self.point = point.iter().map(|&(axis, value)| (axis.0.to_owned(), value)).collect();
        self
    }

    /// Where it stands on this axis.
    pub fn coordinate(&self, axis: Axis) -> Option<u64> {
        self.point.iter().find(|(known, _)| known == axis.0).map(|&(_, value)| value)
    }

    /// A planted fault: it must fail the check, and is never timed.
    pub fn sabotage(name: &str, what: &str) -> Self {
        Self { name: name.into(), what: what.into(), role: Role::Sabotage, ..Self::default() }
    }
}

/// The name of a coordinate of variants ("bytes", "reader"). A question declares its own once, for what
/// measures and for its analysis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Axis(&'static str);

impl Axis {
    /// The axis called `name`.
    pub const fn new(name: &'static str) -> Self {
        Self(name)
    }
}

/// Why a variant is in the list.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// Checked, timed and compared.
    #[default]
    Measured,
    /// Breaks the specification on purpose: proves that the check can fail.
    Sabotage,
}

/// A knob that `--set KEY=VALUE` turns.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Parameter {
    /// The key.
    pub name: String,
    /// What it does, its unit, and the values that are accepted.
    pub what: String,
    /// The value when it is not set.
    pub default: String,
}

impl Parameter {
    /// Of commands: the unit that tables have times in.
    pub const TIME_UNIT: &str = "time-unit";

    /// Of commands: the order of tables, where it is not that of the commands.
    pub const ORDER: &str = "sort";

    /// Of commands: there where the first is what all others are weighed against because it was asked for.
    pub const REFERENCE: &str = "reference";

    /// A parameter called `name` with the value `default` unless set.
    pub fn new(name: &str, default: &str, what: &str) -> Self {
        Self { name: name.into(), what: what.into(), default: default.into() }
    }

    /// Parameters, each by what [`new`](Self::new) takes.
    pub fn list(parameters: &[(&str, &str, &str)]) -> Vec<Self> {
        parameters.iter().map(|(name, default, what)| Self::new(name, default, what)).collect()
    }
}

/// A paper, a kernel file, a specification section, a diary.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Source {
    /// What it is.
    pub title: String,
    /// What was taken from it.
    pub taken: String,
}

impl Source {
    /// The source called `title`, from which `taken` was taken.
    pub fn new(title: &str, taken: &str) -> Self {
        Self { title: title.into(), taken: taken.into() }
    }

    /// Sources, each by what [`new`](Self::new) takes.
    pub fn list(sources: &[(&str, &str)]) -> Vec<Self> {
        sources.iter().map(|(title, taken)| Self::new(title, taken)).collect()
    }
}

/// A figure that somebody published, to be shown beside the one measured here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Published {
    /// The machine, named.
    pub machine: String,
    /// The date of publication, ISO 8601; `undated` where the source gives none.
    pub date: String,
    /// What was done there, in the words of the source.
    pub what: String,
    /// What was measured there: "elapsed time", "user time".
    pub measure: String,
    /// The label of the cell that it stands beside, if there is one.
    pub cell: String,
    /// The variants compared: `left` costs or carries `ratio` times less or more than `right`.
    pub left: String,
    /// See `left`.
    pub right: String,
    /// The ratio in favour of `left`; none where only one of the two was published.
    pub ratio: Option<f64>,
}

/// Where a cell's workers stand, which variants it weighs and how long an epoch is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Arrangement {
    /// Ends a sentence: "at 2 threads", "with a splicing reader on the same CPU".
    pub label: String,
    /// The values of the parameters that make this cell, in the order of the descriptor.
    pub parameters: Vec<(String, String)>,
    /// The CPU of each worker, in order; a CPU may occur more than once.
    pub cpus: Vec<crate::unit::Cpu>,
    /// How many workers work at the same time; none where all do.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_once: Option<u32>,
    /// Units of work (operations or bytes) that one iteration of the whole team does.
    pub work: u64,
    /// Length of an epoch here.
    pub epoch: Picoseconds,
    /// Fewest iterations of an epoch, whatever its length (a pipe must be filled many times over).
    pub least_iterations: u64,
    /// Most iterations of an epoch, whatever its length (memory can be touched for the first time only once).
    #[serde(default = "unbounded")]
    pub most_iterations: u64,
    /// Most blocks, where a count of samples and no precision is wanted; with 0 the cell is checked and not
    /// timed.
    #[serde(default = "unbounded_blocks")]
    pub most_blocks: u32,
    /// Whether a block is a permutation without its mirror image, so that each variant runs once in it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub once: bool,
    /// Whether the last of so many blocks is a permutation without its mirror image, for an odd count.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub half_block: bool,
    /// Fewest blocks, where more are wanted than the level asks for.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub least_blocks: u32,
    /// Indices of the variants measured here.
    pub variants: Vec<VariantIndex>,
    /// The comparisons to be judged, the most telling first.
    pub comparisons: Vec<Comparison>,
    /// Whether the first comparison answers the experiment's question in a survey.
    pub headline: bool,
    /// In place of the description's: how far a ratio may lie from itself in another run, where the workers
    /// wait for each other on CPUs that a host places. None where the description's holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sway: Option<f64>,
    /// Whether every second block runs twice the iterations, so that the constant cost of an
    /// epoch can be told from the cost of an iteration.
    pub doubling: bool,
}

/// One unit of work an iteration, no bounds: a start for an arrangement that leaves the rarer fields as they
/// are.
impl Default for Arrangement {
    fn default() -> Self {
        Self {
            label: String::new(),
            parameters: Vec::new(),
            cpus: Vec::new(),
            at_once: None,
            work: 1,
            epoch: Picoseconds::from_micros(100),
            least_iterations: 1,
            most_iterations: Self::UNBOUNDED,
            most_blocks: Self::UNBOUNDED_BLOCKS,
            once: false,
            half_block: false,
            least_blocks: 0,
            variants: Vec::new(),
            comparisons: Vec::new(),
            headline: false,
            sway: None,
            doubling: false,
        }
    }
}

impl Arrangement {
    /// No bound on the iterations of an epoch.
    pub const UNBOUNDED: u64 = u64::MAX;

    /// How often each variant runs in so many blocks.
    pub fn runs(&self, blocks: u32) -> u64 {
        u64::from(blocks) * if self.once { 1 } else { 2 }
    }

    /// No bound on the blocks of a cell beyond the engine's own.
    pub const UNBOUNDED_BLOCKS: u32 = u32::MAX;

    /// The value of the parameter called `name`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }
}

fn is_zero(count: &u32) -> bool {
    *count == 0
}

fn unbounded() -> u64 {
    Arrangement::UNBOUNDED
}

fn unbounded_blocks() -> u32 {
    Arrangement::UNBOUNDED_BLOCKS
}

/// Two variants to be weighed: is `left` cheaper than `right`?
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparison {
    /// Index of the first variant.
    pub left: VariantIndex,
    /// Index of the second variant.
    pub right: VariantIndex,
}

impl Comparison {
    /// Those of these pairs, left and right.
    pub fn of(pairs: impl IntoIterator<Item = (VariantIndex, VariantIndex)>) -> Vec<Self> {
        pairs.into_iter().map(|(left, right)| Self { left, right }).collect()
    }
}
