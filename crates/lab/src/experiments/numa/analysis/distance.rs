//! Do all cores reach all memory alike? The judge of `numa`.
//!
//! Core c reads a buffer that core f touched first, and takes L(c, f) for an access. One column of that
//! table answers nothing: a core can be slow, or far. So the question is decided by the swap,
//! L(c, f) − L(c, f′): a slow core is slow for both buffers, a slow buffer is slow for both cores, and only
//! distance changes the sign. In logarithms the table is
//!
//! > log L(c, f) = speed of the core c + speed of the buffer f + interaction(c, f)
//!
//! and memory that is not alike is the interaction alone.
//!
//! 1. [`judge`] takes the lower median of each pair over the blocks, each block less what its pairs have in
//!    common (`repeated`), and removes rows and columns by median polish (`polish`).
//! 2. Homes are joined by the swap of their own two cores, the other readers by their profile over the homes
//!    (`groups`). Every number of groups is tried, the largest first.
//! 3. *Distant* needs, of every two groups: a gap of at least [`DEVIATIONS`] times the deviation within
//!    groups, which is never taken below what repetition explains; a gap that the best of all divisions of as
//!    many readers shows by chance once in a hundred times at most (a union bound; `contrast`); the sign
//!    change, as measured; and two readers in each group.
//! 4. *Alike* needs a spread that repetition explains, and a smallest gap that would have shown of at most
//!    [`COARSEST`].
//! 5. Whoever knows the [`Buffers`] takes an "alike" back if a cache may have held them.
//! 6. Anything else is undecided, with the figure that was reached and the one that is needed.
//!
//! What cannot be known from such a table: which direction of an asymmetric distance is the longer one (it
//! looks like a slow buffer), and anything about a node none of whose memory was tried; its readers are
//! reported as `unplaced`.
//!
//! What this gets wrong was counted over seeded machines that are made up, with 2 % of noise on every time,
//! with and without a twentieth of them 1.2 to 3 times as long (`tests`; its table is printed with
//! `--nocapture`):
//!
//! | machines | counted |
//! |---|---|
//! | alike, cores and buffers of one speed | 0 called distant of 4 420; of no kind over 10 % undecided |
//! | alike, cores and buffers up to twice as slow | 0 called distant of 4 420; the same |
//! | alike, but each pair differs by 2 % for good | 4 called distant of 1 000 |
//! | two nodes, 10 %: 2 + 2 cores, 1 buffer each, 8 blocks | 1 986 of 2 000 found, all with right groups |
//! | two nodes, 10 %: 4 + 4 cores, 2 buffers each, 6 blocks | 2 000 of 2 000 |
//! | two nodes, 10 %: 16 cores up to twice as slow, 1 buffer each | 1 999 of 2 000 right |
//! | four nodes of two cores, 10 % and 20 % | 2 000 of 2 000 |
//! | two nodes, 10 % there and 25 % back | 2 000 of 2 000 |
//! | 64 and 128 cores, 4 or 8 buffers, 10 % | 60 of 60 |
//! | two nodes at the smallest gap that would have shown | 183 to 200 of 200 |
//!
//! Of the kinds with a thousand machines, the interval of the gap held the true one in 98.6 % to 99.9 %.
//! Among four nodes the gap is the smallest of six, and so a little too small.

mod buffers;
mod column;
mod contrast;
mod groups;
mod middle;
mod outcome;
mod polish;
mod repeated;
mod words;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;

#[cfg(test)]
pub(super) use simulation::node;

use tenbin_model::{Cpu, Interval};

pub(super) use buffers::Buffers;
pub(super) use column::{of_as_many, one_column};
pub(super) use outcome::judge;
pub(super) use words::{against_firmware, column_against_firmware};

/// A gap must be this many times the median absolute deviation within groups.
pub(super) const DEVIATIONS: f64 = 5.0;

/// The coarsest "alike", as a fraction: the smallest gap that would have shown must not exceed it. It is the
/// gap that a "distant" is promised for, so that between the two answers no gap falls through unnamed.
pub(super) const COARSEST: f64 = 0.10;

/// Readers that the question needs: two in each of two groups, as one has no deviation within its group.
pub(super) const LEAST_READERS: usize = 4;

/// Homes that the question needs: with one buffer there is nothing to swap.
pub(super) const LEAST_HOMES: usize = 2;

/// Blocks that the question needs: of five values, two can be spoilt and the median is still one of the
/// others.
pub(super) const LEAST_BLOCKS: usize = 5;

/// The median absolute deviation of normal noise, in standard deviations.
const MAD: f64 = 0.674_489_75;

/// The least noise that is believed, in logarithms: a millionth. No clock shows less over such a walk, and
/// rounding must not look like distance when made-up data repeat exactly.
const FINEST: f64 = 1e-6;

/// One measurement: a reader, a buffer, and how long an access took.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Observation {
    pub reader: Cpu,
    pub home: Cpu,
    /// The block that it belongs to. In each block every pair is measured, in random order.
    pub block: u32,
    /// Time for one access, positive, in a unit common to all observations.
    pub time: f64,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Distances {
    pub outcome: Outcome,
    /// The groups that are told apart, each and all in ascending order; a single one unless the outcome is
    /// distant.
    pub groups: Vec<Vec<Cpu>>,
    /// Readers that are like no group: so look those of a node none of whose memory was tried.
    pub unplaced: Vec<Cpu>,
    /// The smallest gap between two groups that are told apart. If the outcome is not distant, the gap that
    /// came nearest to it; with too few CPUs, the largest swap of two of them. None where nothing could be
    /// swapped.
    pub gap: Option<Gap>,
    /// The median absolute deviation of the interaction within groups, as a fraction; at least what
    /// repetition explains.
    pub deviation: f64,
    /// The largest interaction over the smallest, less 1.
    pub spread: f64,
    /// The spread that repetition alone explains, as a fraction: it exceeds that once in a hundred times.
    pub repeat: f64,
    /// The smallest gap that such data show nine times of ten, whatever the groups, as a fraction. Infinite
    /// where there is nothing to go by.
    pub detectable: f64,
    pub blocks: usize,
    /// Blocks that were left out, because a pair was missing or a time was not positive and finite.
    pub skipped: usize,
    /// In ascending order.
    pub readers: Vec<Cpu>,
    /// The CPUs that touched a buffer first and also read, in ascending order.
    pub homes: Vec<Cpu>,
}

/// Whether all memory is alike.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    /// Some memory is nearer to some cores: the machine is NUMA.
    Distant,
    /// All cores reach all memory alike, as far as these data can show.
    Alike,
    Undecided(Why),
}

/// Why neither can be said. The figures that were reached stand in [`Distances`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Why {
    /// Fewer than [`LEAST_READERS`] readers or [`LEAST_HOMES`] homes.
    TooFewCpus,
    /// Fewer than [`LEAST_BLOCKS`] whole blocks.
    TooFewBlocks,
    /// A gap stands out, but one of the groups is a single CPU.
    LoneCpu,
    /// A gap stands out, but one buffer is so slow that everybody reaches the other one sooner.
    NoSignChange,
    /// More spread than repetition explains, and no groups that explain it.
    Between {
        /// What the gap would have to be, as a fraction.
        needed: f64,
    },
    /// No gap, but one above [`COARSEST`] could have been missed.
    TooCoarse,
    /// No gap, but buffers that a cache may hold, or of which it is not known: what lies there has no
    /// distance.
    Cached(Buffers),
    /// Of one column: the cores differ by more than one repeats, and with one buffer a slow core and a far
    /// one look alike.
    OneBuffer,
    /// Of one column: fewer than [`LEAST_VALUES`] values in a series, or one that is no time.
    TooFewValues,
}

/// How much longer the way to the other's memory is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Gap {
    /// Far over near, less 1: the geometric mean of both directions.
    pub relative: f64,
    /// Where it lies, 19 times of 20.
    pub interval: Interval,
}
