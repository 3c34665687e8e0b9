//! From samples to answers: pure functions of values.
//!
//! Nothing here touches a clock, a file or hardware; where chance is needed, its seed is an argument.
//! So every sentence can be computed again, at any later time, from what the store holds.
//!
//! Reading order: [`verdict`], [`comparable`], [`topology`], [`capacity`], [`distance`], [`calibration`],
//! [`report`].

pub mod calibration;
pub mod capacity;
pub mod comparable;
pub mod distance;
pub mod report;
pub mod topology;
pub mod verdict;

#[cfg(test)]
mod specimen;
