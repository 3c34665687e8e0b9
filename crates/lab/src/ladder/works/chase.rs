//! `chase`: reads all over 64 MiB of memory, each saying where the next one is.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::pages::PageKind;
use tenbin_metal::{Chase, Fault};
use tenbin_model::Picoseconds;

use super::{Labour, Work};

/// Far more than a second-level cache holds. Large third-level caches hold it, if neighbours leave it there:
/// what a read costs then is between theirs and that of memory, and both sides of a pair meet the same.
/// In huge pages where the kernel grants them, so that translation is a small part.
const BYTES: usize = 64 << 20;

const LINE: usize = 64;

impl Labour for Chase {
    /// Where a walk ends does not say how long it was: [`Labour::counted`] finds that out.
    fn work(&self, operations: u64) -> u64 {
        self.walk(operations);
        operations
    }

    /// Walks, goes back and counts single steps to where the walk led. A walk longer than the cycle has no
    /// end that can be told from that of a shorter one.
    fn counted(&self, operations: u64) -> u64 {
        let start = self.place();
        self.walk(operations);
        let end = self.place();
        self.go_to(start);
        let steps = (1..=self.lines() as u64).find(|_| {
            self.walk(1);
            self.place() == end
        });
        steps.unwrap_or(0)
    }
}

fn prepare(seed: u64) -> Result<Arc<dyn Labour>, Fault> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    Ok(Arc::new(Chase::new(BYTES, LINE, PageKind::Huge, |bound| random.random_range(0..bound))?))
}

pub(super) const WORK: Work = Work {
    name: "chase",
    what: "a read in 64 MiB of memory, at an address that the read before it returned",
    margin: 0.01,
    epoch: Picoseconds::from_micros(100),
    prepare,
};
