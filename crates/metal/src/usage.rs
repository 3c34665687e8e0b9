//! What the kernel charged this process with: user and system time, context switches.

use std::mem::MaybeUninit;

use tenbin_model::Picoseconds;

/// A reading of `getrusage(2)` for the whole process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user mode.
    pub user: Picoseconds,
    /// Time in the kernel on this process's behalf.
    pub system: Picoseconds,
    /// Context switches that the process asked for by waiting.
    pub voluntary_switches: u64,
    /// Context switches that were forced on it.
    pub involuntary_switches: u64,
}

impl Usage {
    /// The process's usage so far.
    pub fn now() -> Self {
        let mut raw = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `raw` is a live, writable `rusage`; the kernel writes within it or fails.
        let status = unsafe { libc::getrusage(libc::RUSAGE_SELF, raw.as_mut_ptr()) };
        debug_assert_eq!(status, 0, "getrusage(RUSAGE_SELF) takes no input that could be wrong");
        // SAFETY: all-zero bytes are a valid `rusage` (plain integers), and the kernel wrote the rest.
        let raw = unsafe { raw.assume_init() };
        Self {
            user: length(raw.ru_utime),
            system: length(raw.ru_stime),
            voluntary_switches: raw.ru_nvcsw as u64,
            involuntary_switches: raw.ru_nivcsw as u64,
        }
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            user: self.user.saturating_sub(earlier.user),
            system: self.system.saturating_sub(earlier.system),
            voluntary_switches: self.voluntary_switches.saturating_sub(earlier.voluntary_switches),
            involuntary_switches: self.involuntary_switches.saturating_sub(earlier.involuntary_switches),
        }
    }
}

fn length(time: libc::timeval) -> Picoseconds {
    let micros = (time.tv_sec as u64).saturating_mul(1_000_000).saturating_add(time.tv_usec as u64);
    Picoseconds::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usage_never_runs_backward() {
        let first = Usage::now();
        let mut sum = 0_u64;
        for number in 0..1_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
        let second = Usage::now();
        assert!(second.user >= first.user && second.system >= first.system);
        assert_eq!(first.since(&second).voluntary_switches, 0);
    }
}
