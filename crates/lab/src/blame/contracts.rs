//! The contracts, a file each. To add one, write its file and declare it here.

use super::Examined;

pub(super) mod sort;
pub(super) mod memcpy;

include!(concat!(env!("OUT_DIR"), "/contracts.rs"));
