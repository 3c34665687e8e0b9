//! The CPUs that this process may use.

use rustix::thread::{CpuSet, sched_getaffinity};

/// Ascending; none where the kernel does not say.
pub(crate) fn allowed() -> Vec<usize> {
    let allowed = sched_getaffinity(None).ok();
    allowed.map_or_else(Vec::new, |set| (0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect())
}
