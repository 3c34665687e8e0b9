//! The laboratory: experiments, and the engine that runs them.
//!
//! This crate decides what is done in which order and keeps what came of it. It prints nothing, opens no
//! result file, and holds no `unsafe`: whatever touches hardware is a primitive of [`tenbin_metal`]. A
//! question that is not answered by comparisons has its analysis in its folder, and that is pure.
//!
//! Reading order: [`experiment`], `experiments/null.rs`, [`engine`], [`survey`], `workload.rs`, [`ladder`],
//! [`compiled`], [`trace`], [`blame`], [`yes`], [`mod@profile`], [`noise`].

pub mod blame;
pub mod compiled;
mod ending;
pub mod engine;
pub mod environment;
pub mod experiment;
pub mod experiments;
mod hash;
pub mod ladder;
pub mod memory;
pub mod noise;
pub mod profile;
pub mod published;
pub mod quiet;
#[cfg(test)]
mod rehearsal;
mod repeated;
mod shortage;
mod source;
pub mod stall;
pub mod survey;
pub mod trace;
mod walk;
pub mod watch;
pub mod weigh;
pub mod workers;
mod workload;
pub mod yes;

pub use engine::{Bench, Event};
pub use experiment::{
    Apparatus, Experiment, Failure, Open, Opened, Plan, PlannedCell, Request, Seen, Settings, Unfit,
};
pub use experiments::EXPERIMENTS;
pub use experiments::caches::known_sizes;
pub use ladder::Ladder;

/// Every analysis that a question names.
pub fn analyses() -> tenbin_analysis::Analyses {
    let own = EXPERIMENTS.iter().map(|experiment| experiment.analysis);
    tenbin_analysis::Analyses(
        own.chain([
            environment::ENVIRONMENT,
            quiet::effects::EFFECTS,
            weigh::COMMANDS,
            weigh::CLAIMS,
            weigh::CLAIMS_OF_FUNCTIONS,
            weigh::CLAIMS_OF_INSTRUCTIONS,
            weigh::UNORDERED,
            workers::FUNCTIONS,
            workers::FUNCTIONS_IN_PLACE,
            workers::INSTRUCTIONS,
            workers::WORKERS,
            workers::WORKERS_KEPT,
        ])
        .collect(),
    )
}
