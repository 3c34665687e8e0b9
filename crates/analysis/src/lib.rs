//! From samples to answers: pure functions of values.
//!
//! Nothing here touches a clock, a file or hardware; where chance is needed, its seed is an argument.
//! So every sentence can be computed again, at any later time, from what the store holds.
//!
//! Reading order: [`analysis`], [`verdict`], [`report`], [`across`], [`processes`], [`comparable`],
//! [`topology`], [`calibration`]. What a question analyses in a way of its own stands in its folder in `lab`.

pub mod across;
pub mod analysis;
pub mod calibration;
pub mod comparable;
pub mod gaps;
pub mod processes;
pub mod profile;
pub mod report;
#[cfg(any(test, feature = "specimen"))]
pub mod specimen;
pub mod stacks;
pub mod topology;
pub mod verdict;

pub use analysis::{Analyses, Analysis, Basis, Comparisons, Judged, Reported};
