//! Machines that are not this one: a guest that is booted, works, and is gone.
//!
//! A guest is a kernel of Debian under QEMU, with a root file system in memory that is made here. It
//! runs one command and brings back what that left: exit status, output, files. This crate carries bytes
//! and minds processes; what the bytes mean is for others to say. Nothing of the machine that it runs on
//! is changed but a folder of its own, where kernels are kept.
//!
//! Every process that is started here has a deadline and ends with whoever started it.
//!
//! Reading order: [`Guest`], `init.sh` (what runs inside), `answer` (how it comes back), [`Console`]
//! (what it says meanwhile, and when), [`Cache`] (where kernels come from, and what is built for them),
//! `process`.

mod accelerator;
mod answer;
mod apt;
mod archive;
mod board;
mod cache;
mod cargo;
mod console;
mod debugger;
mod error;
mod folder;
mod guest;
mod headers;
mod initramfs;
mod kbuild;
mod kernel;
mod module;
mod process;
mod replay;
mod revisions;
mod sources;

pub use accelerator::{Accelerator, NotAnAccelerator};
pub use answer::{Channel, File};
pub use cache::Cache;
pub use cargo::Cargo;
pub use console::{Console, ConsoleLine, Gap};
pub use error::{Error, Silence};
pub use guest::{ANSWER_MOST, Guest, Kvm, Outcome};
pub use initramfs::insist_place;
pub use kernel::{Kernel, NotASuite, Suite, host_image};
pub use module::{Module, NotAModule};
pub use replay::Replay;
pub use revisions::{Repository, Revision};
