//! The bottom: every `unsafe`, every clock, every instruction that is named on purpose.
//!
//! This crate touches hardware and kernel and returns values of [`tenbin_model`]. It prints
//! nothing, does no statistics and knows no experiment.

pub mod attributes;
pub mod c_library;
pub mod cached_file;
pub mod calls;
pub mod chase;
pub mod child;
pub mod clock;
pub mod counters;
pub mod crew;
pub mod exact;
pub mod descendants;
pub mod exchange;
pub mod fault;
pub mod features;
pub mod inherited;
pub mod instructions;
pub mod interrupt;
pub mod kernels;
pub mod knobs;
pub mod launcher;
pub mod lines;
pub mod load;
pub mod machine;
pub mod memory;
pub mod outlet;
pub mod pages;
pub mod pin;
pub mod pipe;
pub mod placement;
pub mod probe;
pub mod profiler;
pub mod sampling;
pub mod signals;
pub mod snapshots;
pub mod spawn;
pub mod stack;
pub mod stacks;
mod starter;
pub mod starvation;
pub mod symbols;
pub mod team;
pub mod terminal;
pub mod timers;
pub mod touch;
pub mod tracee;
pub mod tracepoints;
pub mod usage;
pub mod vdso;
pub mod vmstat;

pub use c_library::c_library;
pub use cached_file::CachedFile;
pub use chase::Chase;
pub use clock::{Clock, Ticks};
pub use counters::{Counters, Counts};
pub use crew::Crew;
pub use fault::Fault;
pub use launcher::{Launch, Launched, Launcher};
pub use load::Load;
pub use pin::{Pin, allowed_cpus, current_cpu};
pub use probe::probe;
pub use spawn::Spawner;
pub use team::{Lap, Task, Team};
pub use usage::Usage;
