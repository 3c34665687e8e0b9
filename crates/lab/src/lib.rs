//! The laboratory: experiments, and the engine that runs them.
//!
//! This crate decides what is done in which order and keeps what came of it. It prints nothing,
//! opens no result file, does no statistics, and holds no `unsafe`: whatever touches hardware is a
//! primitive of [`tenbin_metal`].
//!
//! Reading order: [`experiment`], `experiments/null.rs`, [`engine`], [`ladder`], [`compiled`], [`trace`],
//! [`blame`], [`yes`].

pub mod blame;
pub mod compiled;
pub mod engine;
pub mod experiment;
pub mod experiments;
pub mod ladder;
pub mod memory;
pub mod published;
#[cfg(test)]
mod rehearsal;
mod repeated;
mod shortage;
pub mod trace;
mod walk;
pub mod yes;

pub use engine::{Bench, Event, Rule};
pub use experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Settings, Unfit};
pub use experiments::EXPERIMENTS;
pub use ladder::Ladder;
