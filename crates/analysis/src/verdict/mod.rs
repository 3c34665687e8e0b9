//! From the samples of a cell to a verdict: different, equivalent, or refused.
//!
//! The method, for every comparison: one log ratio a block, the exact sign-test interval of their
//! median, at a level that is shared by all comparisons of the experiment (Bonferroni) and by all
//! looks at the data (alpha spending). See `tenbin_stats` for each piece.

pub mod calls;
pub mod caveat;
pub mod comparisons;
pub(crate) mod decide;
mod disturbance;
pub(crate) mod overhead;
pub mod regimes;
pub mod sentence;

pub use decide::{
    Time, by_block, contradiction, decided, evidence, is_look, last_look, of_command, of_interval, paired,
    votes, whole_epoch,
};
pub use sentence::refusal as refused_in_words;

#[cfg(test)]
mod simulation;
#[cfg(test)]
mod tests;
