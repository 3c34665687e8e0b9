//! RISC-V's weak memory order as a machine that steps.
//!
//! One memory for all harts. A hart begins the instructions of a window in the order of the program, and
//! performs those that look at memory in any order that preserved program order allows, one at a time: when
//! it performs a store, memory holds it for everybody. A load takes the value of its hart's youngest older
//! store to that address if that is not performed yet, else what memory holds. The order in which accesses
//! are performed is the global memory order of the specification; what the axioms ask of it is asked before
//! each of them is performed.
//!
//! A hart begins instructions behind a branch before it knows where the branch goes, and loads behind
//! accesses whose addresses it does not know. It then *assumes* what it cannot know. What an older
//! instruction contradicts later is dropped: there is no such run. So nothing is ever undone, and a state in
//! which something is assumed may be one that no run passes through (`pending` in `step`).
//!
//! SC and TSO are the same machine with more order.
//!
//! Sources: The RISC-V Instruction Set Manual, volume I, 20240411, chapter "RVWMO Memory Consistency Model"
//! and appendix "Formal Memory Model Specifications"; chapter "Ztso". The idea of a hart that performs its
//! window out of order before one memory: C. Pulte and others, Simplifying ARM Concurrency, POPL 2018 (the
//! model "Flat").

pub(crate) mod control;
pub(crate) mod footprint;
mod litmus;
pub(crate) mod local;
pub(crate) mod machine;
mod observe;
mod own;
mod order;
mod path;
pub(crate) mod program;
pub(crate) mod step;
#[cfg(test)]
mod tests;
mod walk;

pub use litmus::outcomes;
pub(crate) use path::Task;
