//! The kernel modules in `kmod`: they build against every kernel that guests boot, the kernel's own checkers
//! find nothing, and what no kernel here compiles is checked by its types.
//!
//! Nothing is loaded here: that is for guests (`cargo xtask test guests`).

mod arithmetic;
mod build;
mod sources;
mod stubs;
mod style;

pub(crate) use arithmetic::{check as arithmetic, needs as arithmetic_needs};
pub(crate) use build::{UNSYNCED, check as build, needs as build_needs, sparse, sparse_needs};
pub(crate) use stubs::{check as stubs, needs as stubs_needs};
pub(crate) use style::{check as style, needs as style_needs};

/// The folder of the modules, from the root of the repository.
const FOLDER: &str = "kmod";
