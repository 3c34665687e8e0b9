//! `atomic`: additions to a counter in memory that nobody else touches.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenbin_metal::kernels::{self, Addition, Backoff};
use tenbin_model::Picoseconds;

use super::{Labour, Work};

struct Counter {
    addition: &'static Addition,
    count: AtomicU64,
}

impl Labour for Counter {
    fn work(&self, operations: u64) -> u64 {
        let before = self.count.load(Ordering::Relaxed);
        self.addition.run(&self.count, operations, &mut Backoff::new(1, 1, 1));
        self.count.load(Ordering::Relaxed) - before
    }
}

pub(super) const WORK: Work = Work {
    name: "atomic",
    what: "an atomic addition to a counter of its own",
    margin: 0.002,
    epoch: Picoseconds::from_micros(50),
    prepare: |_| {
        // The first of every architecture is a single instruction or the loop that stands for it.
        Ok(Arc::new(Counter { addition: &kernels::additions()[0], count: AtomicU64::new(0) }))
    },
};
