//! `alu`: a chain of additions, each waiting for the one before it.

use std::sync::Arc;

use tenbin_metal::kernels;
use tenbin_model::Picoseconds;

use super::{Labour, Work};

struct Additions;

impl Labour for Additions {
    fn work(&self, operations: u64) -> u64 {
        kernels::dependent_additions(operations) / kernels::CHAIN
    }
}

pub(super) const WORK: Work = Work {
    name: "alu",
    what: "64 additions in a register, each waiting for the one before",
    margin: 0.002,
    epoch: Picoseconds::from_micros(50),
    prepare: |_| Ok(Arc::new(Additions)),
};
