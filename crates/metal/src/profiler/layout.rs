//! What the programs in the kernel add up, as `bpf/profile.h` lays it out.

use aya::Pod;

use super::{NAME, Nanoseconds, ROWS};

/// `struct thread`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawThread {
    pub(super) mark: u64,
    pub(super) entered: u64,
    pub(super) here: Nanoseconds,
    pub(super) user: Nanoseconds,
    pub(super) kernel: u64,
    pub(super) faults: u64,
    pub(super) interrupts: u64,
    pub(super) queued: u64,
    pub(super) blocked: u64,
    pub(super) woken: u64,
    pub(super) row: u32,
    pub(super) timed: u32,
    pub(super) state: u32,
    pub(super) armed: u32,
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) counted: u64,
    pub(super) first: u32,
    pub(super) pid: u32,
    pub(super) tgid: u32,
    pub(super) about: u32,
    pub(super) name: [u8; NAME],
    padding: u64,
}

/// `LENGTHS`.
pub(super) const LENGTHS: usize = 48;

/// `struct row`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawRow {
    pub(super) count: u64,
    pub(super) errors: u64,
    pub(super) split: Nanoseconds,
    pub(super) longest: u64,
    pub(super) untimed: u64,
    pub(super) owed: u64,
    pub(super) lengths: [u64; LENGTHS],
}

impl RawRow {
    /// One in which nothing is added up yet.
    pub(super) const EMPTY: Self = Self {
        count: 0,
        errors: 0,
        split: Nanoseconds { on_cpu: 0, queued: 0, blocked: 0 },
        longest: 0,
        untimed: 0,
        owed: 0,
        lengths: [0; LENGTHS],
    };
}

/// `struct pending`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawPending {
    pub(super) count: u32,
    pub(super) errors: u32,
    pub(super) mean: u32,
    pub(super) left: u16,
    pub(super) is_sampled: u16,
}

/// `OF_LATE`.
const OF_LATE: u32 = 6;

impl RawPending {
    /// Nothing.
    pub(super) const NONE: Self = Self { count: 0, errors: 0, mean: 0, left: 0, is_sampled: 0 };

    /// For how long they were on a CPU, as those of late were in the mean.
    pub(super) fn on_cpu(self) -> u64 {
        (u64::from(self.count) * u64::from(self.mean)) >> OF_LATE
    }
}

/// `struct cpu`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawCpu {
    slot: u32,
    pid: u32,
    number: u32,
    armed: u16,
    interrupts: u16,
    inside: u32,
    untimed: u32,
    faulted: u32,
    pub(super) calls: u32,
    faults: u64,
    unmoved: u64,
    pub(super) unseen: u64,
    pub(super) rare: u32,
    pub(super) within: u32,
}

/// `AT_ONCE` and one.
pub(super) const AT_ONCE: usize = 65;

/// `struct course`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawCourse {
    pub(super) lock: u32,
    pub(super) on: u32,
    pub(super) running: u32,
    pub(super) queued: u32,
    pub(super) taken: u32,
    pub(super) padding: u32,
    pub(super) mark: u64,
    pub(super) began: u64,
    pub(super) ended: u64,
    pub(super) run: [u64; AT_ONCE],
    pub(super) waited: u64,
    pub(super) stood: [u64; ROWS as usize],
}

/// `struct tally`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawTally {
    pub(super) threads: u32,
    pub(super) lost: u32,
    pub(super) switches: u64,
    pub(super) unseen: u64,
    pub(super) unnamed: u64,
}

/// `struct timed`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawTimed {
    pub(super) count: u64,
    pub(super) on_cpu: u64,
}

/// `struct wake`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawWake {
    pub(super) row: u32,
    pub(super) by: [u8; NAME],
}

/// `struct woken`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawWoken {
    pub(super) count: u64,
    pub(super) blocked: u64,
}

/// `struct use`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct RawUse {
    pub(super) count: u64,
    pub(super) errors: u64,
    pub(super) split: Nanoseconds,
}

// SAFETY: integers and arrays of them in C's layout, without a gap; any bytes are a value. So for all that
// follow.
unsafe impl Pod for RawThread {}
// SAFETY: see above.
unsafe impl Pod for RawRow {}
// SAFETY: see above.
unsafe impl Pod for RawPending {}
// SAFETY: see above.
unsafe impl Pod for RawCpu {}
// SAFETY: see above.
unsafe impl Pod for RawCourse {}
// SAFETY: see above.
unsafe impl Pod for RawTally {}
// SAFETY: see above.
unsafe impl Pod for RawTimed {}
// SAFETY: see above.
unsafe impl Pod for RawWake {}
// SAFETY: see above.
unsafe impl Pod for RawWoken {}
// SAFETY: see above.
unsafe impl Pod for RawUse {}
