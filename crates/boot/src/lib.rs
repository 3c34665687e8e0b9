//! What the machine code of several harts can do together, on a memory as weak as RISC-V allows, and whether
//! they all boot.
//!
//! The instructions are those of RV64IMAC with Zicsr and Zifencei, as far as machine mode needs them; [`isa`]
//! decodes, prints, reads and executes them. [`image`] is what an ELF file puts into memory, and
//! [`tenbin_model::lines`] where it says that the code comes from.
//!
//! [`litmus`] reads litmus tests, and [`axiomatic`] says what such a test may end with under a memory model.
//!
//! [`request`] is what is asked about firmware, [`Firmware`] what its symbols make of that, [`examine`] looks
//! at all runs of each machine, and [`answer`] is what comes of it, which [`view`] says as text and draws.
//!
//! This crate does no input or output beyond the bytes that it is given, and reads no clock: [`Means`] brings
//! one. The same arguments give the same answer everywhere.
//!
//! Reading order: [`isa`], [`isa::decode`], [`isa::execute`], [`image`], [`litmus`],
//! [`axiomatic`], [`answer`], [`request`], `symbols`, `check`, `examine`, `sentence`, [`view`], [`replay`].

pub mod answer;
pub mod axiomatic;
mod check;
mod examine;
mod explore;
pub mod image;
pub mod isa;
pub mod litmus;
mod names;
pub mod operational;
mod pool;
pub mod replay;
pub mod request;
mod sentence;
mod symbols;
#[cfg(test)]
mod tests;
mod unset;
pub mod view;

pub use answer::{
    Boot, BootAction, BootCheck, BootMachine, BootPlace, BootStep, BootVerdict, Counterexample, Effort,
    Fault, GivenControl, HartEnd, Hex, NamedValue, Planted, Writer,
};
pub use examine::examine;
pub use pool::Means;
pub use replay::{BootReplay, FreeRun, ReplayOutcome, Replayed, ReplayedHart, Shown, Stood};
pub use symbols::{Firmware, Job, sha256};
pub use unset::UNSET;
