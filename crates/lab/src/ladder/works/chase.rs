//! `chase`: reads of memory that no cache holds, each saying where the next one is.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::pages::PageKind;
use tenbin_metal::{Chase, Fault};
use tenbin_model::Picoseconds;

use super::{Labour, Work};

/// Twice what most second-level and half of what the largest third-level caches hold for one core; and what
/// machines report of their caches is not always true, so it is no multiple of that.
const BYTES: usize = 64 << 20;

const LINE: usize = 64;

impl Labour for Chase {
    fn work(&self, operations: u64) {
        self.walk(operations);
    }

    /// The rest of the cycle leads back to where the walk began only if the walk had the length it claims.
    fn counted(&self, operations: u64) -> u64 {
        let start = self.place();
        self.walk(operations);
        let lines = self.lines() as u64;
        self.walk(lines - operations % lines);
        if self.place() == start { operations } else { 0 }
    }
}

fn prepare(seed: u64) -> Result<Arc<dyn Labour>, Fault> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    Ok(Arc::new(Chase::new(BYTES, LINE, PageKind::Huge, |bound| random.random_range(0..bound))?))
}

pub(super) const WORK: Work = Work {
    name: "chase",
    what: "a read of memory at an address that the read before it returned",
    margin: 0.01,
    epoch: Picoseconds::from_micros(100),
    prepare,
};
