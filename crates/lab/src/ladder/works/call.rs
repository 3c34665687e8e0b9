//! `call`: the cheapest system call that does some work.

use std::os::unix::process::parent_id;
use std::sync::Arc;

use tenbin_metal::kernels;
use tenbin_model::Picoseconds;

use super::{Labour, Work};

struct ParentProcess {
    parent: u64,
}

impl Labour for ParentProcess {
    /// The kernel does not count calls for us. All that can be seen is the answer to the last one, which is
    /// another if the parent ended meanwhile.
    fn work(&self, operations: u64) -> u64 {
        let last = kernels::parent_process(operations);
        if last == self.parent || last == u64::from(parent_id()) { operations } else { 0 }
    }
}

pub(super) const WORK: Work = Work {
    name: "call",
    what: "the system call getppid",
    margin: 0.002,
    epoch: Picoseconds::from_micros(50),
    prepare: |_| Ok(Arc::new(ParentProcess { parent: u64::from(parent_id()) })),
};
