//! What the machine code of several harts can do together, on a memory as weak as RISC-V allows.
//!
//! The instructions are those of RV64IMAC with Zicsr and Zifencei, as far as machine mode needs them; [`isa`] decodes,
//! prints, reads and executes them. [`image`] is what an ELF file puts into memory, and [`lines`] where it says that the code comes from.
//!
//! [`litmus`] reads litmus tests, and [`axiomatic`] says what such a test may end with under a memory model.
//!
//! [`check`] says whether all harts of a machine always boot.
//!
//! This crate does no input or output beyond the bytes that it is given, reads no clock, and uses nothing else of
//! ours: the same arguments give the same answer everywhere.
//!
//! Reading order: [`isa`], [`isa::decode`], [`isa::execute`], [`image`], [`lines`], [`litmus`], [`axiomatic`], [`check`].

pub mod axiomatic;
pub mod check;
mod explore;
pub mod image;
pub mod isa;
pub mod lines;
pub mod litmus;
pub mod operational;
