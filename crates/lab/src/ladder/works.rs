//! The works of the ladder, a file each. To add one, write its file and declare it here.

use std::sync::Arc;

use tenbin_metal::Fault;
use tenbin_model::Picoseconds;

/// Work of which any number of operations can be done, all alike.
pub struct Work {
    /// The name on the command line: lower case, one word.
    pub name: &'static str,
    /// One operation, in words.
    pub what: &'static str,
    /// The smallest effect that the instrument is held to on this work, as a fraction: the margin of
    /// equivalence of its verdicts.
    pub margin: f64,
    /// Length of an epoch, unless the smallest effect needs more operations.
    pub epoch: Picoseconds,
    /// Sets it up. The seed decides whatever is random in it.
    pub prepare: fn(seed: u64) -> Result<Arc<dyn Labour>, Fault>,
}

/// Work that was set up.
pub trait Labour: Send + Sync {
    /// Does `operations` operations and returns how many were done, as far as that can be told without
    /// adding to what is timed.
    fn work(&self, operations: u64) -> u64;

    /// Does `operations` operations and returns how many were done, by evidence of the work's own.
    fn counted(&self, operations: u64) -> u64 {
        self.work(operations)
    }
}

mod alu;
mod call;
mod atomic;
mod pipe;
mod chase;

include!(concat!(env!("OUT_DIR"), "/works.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_work_does_as_many_operations_as_it_is_asked_for() {
        for work in WORKS {
            let labour = (work.prepare)(1).unwrap();
            for operations in [1, 2, 3, 1_000] {
                assert_eq!(labour.work(operations), operations, "{}", work.name);
                assert_eq!(labour.counted(operations), operations, "{}", work.name);
            }
        }
    }
}
