//! How long a worker went without success: fairness at its worst, which no average shows.

use std::sync::atomic::AtomicU64;

use tenbin_model::Picoseconds;

use crate::clock::Clock;
use crate::kernels::{Addition, Backoff};

/// The worst that one worker met while it contended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Starvation {
    /// The longest time from one success to the next, a preemption in between included.
    pub longest: Picoseconds,
    /// The most attempts that failed in a row.
    pub failures_in_a_row: u64,
}

/// Adds 1 to `counter` `count` times, one call and one clock reading each, and returns the worst gap.
///
/// The clock reading stands between the attempts, so contention is a little weaker here than in an
/// epoch: this is a pass of its own and its figures are never weighed.
pub fn starvation(
    addition: &Addition,
    clock: Clock,
    counter: &AtomicU64,
    count: u64,
    backoff: &mut Backoff,
) -> Starvation {
    let mut worst = Starvation::default();
    let mut last = clock.now();
    for _ in 0..count {
        let failures = addition.run(counter, 1, backoff);
        let now = clock.now();
        worst.longest = worst.longest.max(clock.between(last, now));
        worst.failures_in_a_row = worst.failures_in_a_row.max(failures);
        last = now;
    }
    worst
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::additions;

    #[test]
    fn a_worker_alone_succeeds_every_time_and_makes_every_addition() {
        for addition in additions().iter().filter(|addition| addition.is_supported()) {
            let counter = AtomicU64::new(0);
            let worst = starvation(addition, Clock::kernel(), &counter, 100, &mut Backoff::new(1, 4, 1));
            assert_eq!(counter.into_inner(), 100);
            assert!(worst.failures_in_a_row == 0 || addition.may_fail_alone, "{}", addition.name);
        }
    }
}
