//! What the kernel charged a thread with: user and system time, context switches, page faults.

use std::mem::MaybeUninit;

use rustix::time::{ClockId, clock_gettime};
use tenbin_model::Picoseconds;

/// A reading of `getrusage(2)` for one thread.
///
/// The sum of both times is exact to a microsecond. How it is divided is not, on most kernels: they count in
/// which mode ticks met the thread and divide all of its life by that, what it did outside of the work
/// included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Time in user mode.
    pub user: Picoseconds,
    /// Time in the kernel on this thread's behalf.
    pub system: Picoseconds,
    /// Context switches that the thread asked for by waiting.
    pub voluntary_switches: u64,
    /// Context switches that were forced on it.
    pub involuntary_switches: u64,
    /// Page faults that were answered without reading from a disk. A page that the kernel fills in the middle
    /// of a system call counts as well, though no exception was taken (`mm_account_fault` in `mm/memory.c`).
    pub minor_faults: u64,
    /// Page faults that had to wait for a disk.
    pub major_faults: u64,
}

/// How many numbers it has.
pub(crate) const WORDS: usize = 6;

impl Usage {
    /// The calling thread's usage so far.
    pub fn of_this_thread() -> Self {
        // Time is charged at ticks and when a thread stops running. This clock charges what has run since,
        // which `getrusage` then divides (`task_sched_runtime` and `cputime_adjust` in `kernel/sched`);
        // without it an epoch shorter than a tick would mostly have cost nothing.
        let _ = clock_gettime(ClockId::ThreadCPUTime);
        Self::of(libc::RUSAGE_THREAD)
    }

    /// The usage of all children that this process has waited for, with theirs.
    pub fn of_children() -> Self {
        Self::of(libc::RUSAGE_CHILDREN)
    }

    fn of(whom: libc::c_int) -> Self {
        let mut raw = MaybeUninit::<libc::rusage>::zeroed();
        // SAFETY: `raw` is a live, writable `rusage`; the kernel writes within it or fails.
        let status = unsafe { libc::getrusage(whom, raw.as_mut_ptr()) };
        debug_assert_eq!(status, 0, "getrusage({whom}) takes no input that could be wrong");
        // SAFETY: all-zero bytes are a valid `rusage` (plain integers), and the kernel wrote the rest.
        Self::from_raw(&unsafe { raw.assume_init() })
    }

    /// What the kernel has written down.
    pub(crate) fn from_raw(raw: &libc::rusage) -> Self {
        Self {
            user: length(raw.ru_utime),
            system: length(raw.ru_stime),
            voluntary_switches: raw.ru_nvcsw as u64,
            involuntary_switches: raw.ru_nivcsw as u64,
            minor_faults: raw.ru_minflt as u64,
            major_faults: raw.ru_majflt as u64,
        }
    }

    /// The sum of two threads' usages.
    pub fn plus(&self, other: &Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// What was added since `earlier`.
    pub fn since(&self, earlier: &Self) -> Self {
        self.with(earlier, u64::saturating_sub)
    }

    fn with(&self, other: &Self, each: fn(u64, u64) -> u64) -> Self {
        let (words, others) = (self.words(), other.words());
        Self::of_words(std::array::from_fn(|word| each(words[word], others[word])))
    }

    /// Its numbers in order, for memory or a wire on which they go to another process.
    pub(crate) fn words(&self) -> [u64; WORDS] {
        let Self { user, system, voluntary_switches, involuntary_switches, minor_faults, major_faults } =
            *self;
        [user.0, system.0, voluntary_switches, involuntary_switches, minor_faults, major_faults]
    }

    /// What [`words`](Self::words) gave.
    pub(crate) fn of_words(words: [u64; WORDS]) -> Self {
        let [user, system, voluntary_switches, involuntary_switches, minor_faults, major_faults] = words;
        let (user, system) = (Picoseconds(user), Picoseconds(system));
        Self { user, system, voluntary_switches, involuntary_switches, minor_faults, major_faults }
    }
}

fn length(time: libc::timeval) -> Picoseconds {
    let micros = (time.tv_sec as u64).saturating_mul(1_000_000).saturating_add(time.tv_usec as u64);
    Picoseconds::from_micros(micros)
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    fn usage_never_runs_backward() {
        let first = Usage::of_this_thread();
        let mut sum = 0_u64;
        for number in 0..1_000_000_u64 {
            sum = std::hint::black_box(sum.wrapping_add(number));
        }
        let second = Usage::of_this_thread();
        assert!(second.user >= first.user && second.system >= first.system);
        assert_eq!(first.since(&second).voluntary_switches, 0);
    }

    /// Between two ticks the kernel charges a thread with nothing unless it is asked to: work that is shorter
    /// than a tick, by a thread that sleeps before the next one, would never have been charged.
    #[test]
    fn time_is_charged_though_no_tick_came_by() {
        let spent = || Picoseconds::from_nanos(crate::clock::nanoseconds(ClockId::ThreadCPUTime));
        let (mut charged, mut worked) = (Picoseconds::ZERO, Picoseconds::ZERO);
        for _ in 0..40 {
            let (first, before) = (spent(), Usage::of_this_thread());
            let began = Instant::now();
            while began.elapsed() < Duration::from_micros(100) {
                std::hint::spin_loop();
            }
            // In this order: asking for what was spent brings the charge up to date.
            let usage = Usage::of_this_thread().since(&before);
            worked += spent().saturating_sub(first);
            charged += usage.user + usage.system;
        }
        assert!(charged.0 > worked.0 / 2, "{charged} charged of {worked}");
    }

    /// Touching memory for the first time is charged to who touches it; [`Usage::plus`] adds two threads up.
    #[test]
    fn first_touches_are_counted_as_faults_and_sums_add_them() {
        const PAGES: usize = 64;
        let mut pages =
            crate::pages::Pages::map(PAGES * rustix::param::page_size(), crate::pages::PageKind::Base)
                .unwrap();
        let before = Usage::of_this_thread();
        pages.iter_mut().step_by(rustix::param::page_size()).for_each(|byte| *byte = 1);
        let charged = Usage::of_this_thread().since(&before);
        assert!(charged.minor_faults >= PAGES as u64, "{charged:?}");
        let twice = charged.plus(&charged);
        assert_eq!(twice.minor_faults, 2 * charged.minor_faults);
        assert_eq!(twice.major_faults, 2 * charged.major_faults);
    }
}
