//! What there is to see of a time in which nothing ran: ticks that were late, clocks that went on, signals
//! that let this process go on.
//!
//! What the kernel did meanwhile is [`kernel`]'s.

pub mod kernel;
pub mod rtc;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::Sender;

use rustix::fs::inotify::{self, CreateFlags, WatchFlags};
use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};
use tenbin_model::Cpu;

use crate::clock::{counter, nanoseconds};
use crate::fault::Fault;
use crate::pin::Pin;
use crate::{Usage, inherited};

/// How many ticks there are between two readings of how long the thread was queued.
const BETWEEN: u64 = 16;

/// A tick that was late. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Late {
    /// On which CPU.
    pub cpu: Cpu,
    /// When the tick before it was.
    pub before: u64,
    /// When it was due.
    pub due: u64,
    /// When it was.
    pub seen: u64,
    /// For how long the thread was queued for the CPU at most: since some ticks earlier. None where the
    /// kernel does not say.
    pub queued: Option<u64>,
}

/// The name of a thread that ticks.
pub const NAME: &str = "tenbin-tick";

/// How a thread ticks.
#[derive(Clone, Copy, Debug)]
pub struct Ticker {
    /// Nanoseconds from one to the next.
    pub period: u64,
    /// How late one is that is to be reported, in nanoseconds.
    pub late: u64,
}

impl Ticker {
    /// Has the calling thread tick on a CPU until `ends`, and reports what was late. Gives what CPU time that
    /// took.
    ///
    /// # Errors
    /// [`Fault::System`] where the thread cannot be held on that CPU.
    pub fn run(self, cpu: Cpu, ends: &AtomicBool, lates: &Sender<Late>) -> Result<Usage, Fault> {
        let _pin = Pin::hold(cpu)?;
        // Where the kernel does not count it there is no such file (CONFIG_SCHED_INFO).
        let statistics = File::open("/proc/thread-self/schedstat").ok();
        let queued = || statistics.as_ref().and_then(queued);
        let mut queued_before = queued();
        let mut before = nanoseconds(ClockId::Monotonic);
        let mut due = before + self.period;
        let mut count = 0;
        while !ends.load(Ordering::Relaxed) {
            sleep_until(due);
            let seen = nanoseconds(ClockId::Monotonic);
            let mut last = seen;
            count += 1;
            let is_late = seen.saturating_sub(due) >= self.late;
            if is_late || count % BETWEEN == 0 {
                let now = queued();
                if is_late {
                    let queued = now.zip(queued_before).map(|(now, before)| now.saturating_sub(before));
                    // Whoever receives it has not ended before this.
                    let _ = lates.send(Late { cpu, before, due, seen, queued });
                }
                queued_before = now;
                // What that waited for kept only this thread.
                last = nanoseconds(ClockId::Monotonic);
            }
            before = last;
            // Ticks that were missed are not made up for.
            due = due.max(before.saturating_sub(self.late)) + self.period;
        }
        Ok(Usage::of_this_thread())
    }
}

/// The second number of `/proc/PID/schedstat` (`Documentation/scheduler/sched-stats.rst`).
fn queued(statistics: &File) -> Option<u64> {
    let mut bytes = [0; 80];
    let length = statistics.read_at(&mut bytes, 0).ok()?;
    std::str::from_utf8(&bytes[..length]).ok()?.split_whitespace().nth(1)?.parse().ok()
}

fn sleep_until(due: u64) {
    let seconds = (due / 1_000_000_000).cast_signed();
    let until = Timespec { tv_sec: seconds, tv_nsec: (due % 1_000_000_000).cast_signed() };
    while clock_nanosleep_absolute(ClockId::Monotonic, &until) == Err(Errno::INTR) {}
}

/// The clocks at a moment, in nanoseconds but for the first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Clocks {
    /// The CPU's counter, in its ticks.
    pub counter: u64,
    /// `CLOCK_MONOTONIC`, which stands still while the machine is suspended.
    pub monotonic: u64,
    /// `CLOCK_BOOTTIME`, which does not.
    pub boottime: u64,
}

impl Clocks {
    /// Reads them, one after the other: again where that took long.
    pub fn now() -> Self {
        let mut best = (u64::MAX, Self::default());
        for _ in 0..4 {
            let clocks = Self {
                monotonic: nanoseconds(ClockId::Monotonic),
                counter: counter::read(),
                boottime: nanoseconds(ClockId::Boottime),
            };
            let took = nanoseconds(ClockId::Monotonic).saturating_sub(clocks.monotonic);
            if took < best.0 {
                best = (took, clocks);
            }
            if took < 10_000 {
                break;
            }
        }
        best.1
    }
}

/// A file whose changes are counted (inotify(7)).
#[derive(Debug)]
pub struct Changes(OwnedFd);

impl Changes {
    /// Counts those of the file from now on.
    ///
    /// # Errors
    /// Why it cannot be watched.
    pub fn of(path: &Path) -> Result<Self, String> {
        let failed = |errno: Errno| format!("watch {}: {errno}", path.display());
        let queue = inotify::init(CreateFlags::NONBLOCK | CreateFlags::CLOEXEC).map_err(failed)?;
        inotify::add_watch(&queue, path, WatchFlags::MODIFY).map_err(failed)?;
        Ok(Self(queue))
    }

    /// Whether it changed since the last time.
    pub fn any(&self) -> bool {
        let mut events = [0; 1024];
        let mut any = false;
        while rustix::io::read(&self.0, &mut events).is_ok_and(|length| length > 0) {
            any = true;
        }
        any
    }
}

/// How often a signal let this process go on.
static CONTINUED: AtomicU64 = AtomicU64::new(0);

/// Counts from now on how often SIGCONT arrives.
///
/// # Errors
/// [`Fault::System`] where the kernel refuses a handler; it refuses none for this signal.
pub fn count_continuations() -> Result<(), Fault> {
    extern "C" fn count(_: i32) {
        CONTINUED.fetch_add(1, Ordering::Relaxed);
    }
    let handled: io::Result<()> = inherited::handle(libc::SIGCONT, count);
    handled.map_err(|error| Fault::system("handle SIGCONT", error))
}

/// How often it arrived.
pub fn continuations() -> u64 {
    CONTINUED.load(Ordering::Relaxed)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn every_tick_is_late_that_comes_after_it_was_due() {
        let (lates, received) = channel();
        let ends = AtomicBool::new(false);
        let cpu = crate::allowed_cpus().unwrap()[0];
        std::thread::scope(|scope| {
            let ticker = Ticker { period: 200_000, late: 0 };
            let ends = &ends;
            let ticking = scope.spawn(move || ticker.run(cpu, ends, &lates));
            let seen: Vec<Late> = received.iter().take(20).collect();
            ends.store(true, Ordering::Relaxed);
            ticking.join().unwrap().unwrap();
            for pair in seen.windows(2) {
                let [first, second] = pair else { unreachable!("pairs") };
                assert_eq!(second.cpu, cpu);
                let times = [first.seen, second.before, second.due, second.seen];
                assert!(times.is_sorted(), "{pair:?}");
            }
        });
    }

    #[test]
    fn clocks_go_forward() {
        let (first, second) = (Clocks::now(), Clocks::now());
        assert!(second.monotonic > first.monotonic && second.boottime > first.boottime);
        assert!(second.counter > first.counter, "{first:?} {second:?}");
    }
}
