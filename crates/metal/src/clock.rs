//! The clock that epochs are read from: chosen by measuring, not by assuming.

mod choose;
pub(crate) mod counter;

use rustix::time::{ClockId, clock_gettime};
use tenbin_model::Picoseconds;

/// A reading of a [`Clock`]; only that clock can turn two of them into a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub(crate) u64);

/// A clock: a hardware counter where one can be trusted, else the kernel's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Picoseconds in 2³² ticks: a 64-bit fixed-point factor, so that no float touches a sample.
    scale: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The architecture's counter: TSC, CNTVCT_EL0 or TIME.
    Counter,
    /// `CLOCK_MONOTONIC_RAW`: never slewed by NTP.
    Kernel,
}

/// One tick is a nanosecond: 1000 ps, shifted by 32.
const NANOSECOND_SCALE: u64 = 1000 << 32;

impl Clock {
    /// The kernel's `CLOCK_MONOTONIC_RAW`, which works everywhere.
    pub const fn kernel() -> Self {
        Self { source: Source::Kernel, scale: NANOSECOND_SCALE }
    }

    /// Reads the clock. With a hardware counter the instructions before it have executed (their stores
    /// may still be on the way to memory) and those after it have not begun.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.source {
            Source::Counter => Ticks(counter::read()),
            Source::Kernel => Ticks(nanoseconds(ClockId::MonotonicRaw)),
        }
    }

    /// The length from `start` to `end`, zero when `end` came first.
    #[inline]
    pub fn between(&self, start: Ticks, end: Ticks) -> Picoseconds {
        let ticks = end.0.saturating_sub(start.0);
        Picoseconds(((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64)
    }
}

/// A clock of the kernel's, in nanoseconds.
#[inline(always)]
pub(crate) fn nanoseconds(clock: ClockId) -> u64 {
    let time = clock_gettime(clock);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_clock_counts_nanoseconds() {
        let clock = Clock::kernel();
        assert_eq!(clock.between(Ticks(1_000), Ticks(1_250)), Picoseconds::from_nanos(250));
        assert_eq!(clock.between(Ticks(5), Ticks(4)), Picoseconds::ZERO);
    }

    #[test]
    fn a_length_of_weeks_does_not_overflow() {
        let clock = Clock { source: Source::Counter, scale: NANOSECOND_SCALE / 3 };
        let week = clock.between(Ticks(0), Ticks(3 * 7 * 86_400 * 1_000_000_000));
        assert_eq!(week.as_seconds().round(), 7.0 * 86_400.0);
    }
}
