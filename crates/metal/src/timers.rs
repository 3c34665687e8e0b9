//! Timers that are armed, waited for and timed: how late each one fires.
//!
//! Whoever waits is a process of its own, held on a CPU (a [`Crew`]). `setitimer` has one timer for a whole
//! process and a signal that any thread of it may get; timer slack belongs to a thread. In a process with one
//! thread all ways of waiting meet the same, and no setting of the caller is touched.
//!
//! All times are readings of `CLOCK_MONOTONIC`, the clock that the timers themselves run on. The counter of
//! the CPU would not do: NTP may slew the one against the other by 500 parts in a million (adjtimex(2)),
//! which is 5 ms of 10 s, and a timer could seem to fire too soon.

mod host;
mod wait;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::thread::current_timer_slack;
use rustix::time::{ClockId, clock_getres};
use tenbin_model::{Cpu, Picoseconds};

use crate::clock::Clock;
use crate::crew::{Atomics, Crew, Shared};
use crate::fault::Fault;
use crate::team::{Lap, Task};
use crate::usage::{Usage, WORDS};

pub use host::{Idle, State};

/// How much too soon [`Way::TooSoon`] is.
pub const TOO_SOON: Picoseconds = Picoseconds::from_micros(20);

/// A way to wait until a length of time has passed, or a wrong one that is there to be seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// `timerfd_settime(2)`, relative, and a `read(2)` that blocks.
    Timerfd,
    /// `setitimer(2)` with `ITIMER_REAL`, its signal blocked and fetched by `sigtimedwait(2)`.
    Setitimer,
    /// `clock_nanosleep(2)`, relative.
    Sleep,
    /// `futex(2)` with `FUTEX_WAIT` and a time-out, on a word that nobody changes.
    Futex,
    /// `ppoll(2)` of no files with a time-out.
    Poll,
    /// Wrong: sleeps for most of the time, then reads the clock until [`TOO_SOON`] before the end, and no
    /// longer. Where it is kept from running then, it begins anew.
    TooSoon,
    /// Wrong: a `timerfd` that fires again and again when it was asked for once.
    Again,
    /// Wrong: reads the clock until the time has passed, and never sleeps.
    Spinning,
}

impl Way {
    const ALL: [Self; 8] = [
        Self::Timerfd,
        Self::Setitimer,
        Self::Sleep,
        Self::Futex,
        Self::Poll,
        Self::TooSoon,
        Self::Again,
        Self::Spinning,
    ];

    /// The system call that it is about.
    pub fn name(self) -> &'static str {
        match self {
            Self::Timerfd | Self::Again => "timerfd",
            Self::Setitimer => "setitimer",
            Self::Sleep | Self::TooSoon => "clock_nanosleep",
            Self::Futex => "a futex time-out",
            Self::Poll => "ppoll",
            Self::Spinning => "clock_gettime",
        }
    }

    /// Whether the kernel lets such a timer be late by the thread's slack, so that several can share an
    /// interrupt; `ppoll` by a thousandth of its time up to 100 ms, where that is more (`fs/select.c`).
    /// prctl(2), `PR_SET_TIMERSLACK`, names those calls; `timerfd` and `setitimer` start their timers without
    /// any (`fs/timerfd.c`, `kernel/time/itimer.c`).
    pub fn has_slack(self) -> bool {
        matches!(self, Self::Sleep | Self::Futex | Self::Poll)
    }

    /// As a word that is not 0.
    fn number(self) -> u64 {
        Self::ALL.iter().position(|&way| way == self).map_or(0, |place| place as u64 + 1)
    }

    fn numbered(number: u64) -> Option<Self> {
        Self::ALL.get(usize::try_from(number.checked_sub(1)?).ok()?).copied()
    }
}

/// The timer slack of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Slack {
    /// As the process has it: 50 µs unless somebody changed it.
    AsFound,
    /// 1 ns, the least that can be set. It is set before the timer is armed and taken back after it has
    /// fired.
    Least,
}

/// One timer to be waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Order {
    /// How.
    pub way: Way,
    /// With which slack.
    pub slack: Slack,
    /// For how long. Counted in whole nanoseconds, by `setitimer` in whole microseconds; what is beyond is
    /// cut off.
    pub length: Picoseconds,
    /// How long after all orders were given it is armed; zero for at once.
    pub after: Picoseconds,
}

/// What came of an [`Order`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Firing {
    /// The order.
    pub order: Order,
    /// The wait. Its time is the lateness: from the moment for which the timer was armed until the caller ran
    /// again, as `CLOCK_MONOTONIC` was read just before arming and just after; zero where it was early.
    pub lap: Lap,
    /// By how much the caller ran again too soon, if it did.
    pub early: Option<Picoseconds>,
    /// How often the timer fired until the caller had run again. A call that returned without its time-out:
    /// 0.
    pub fired: u64,
    /// Whether the timer was still armed after that.
    pub armed: bool,
    /// The slack that the kernel named while the timer was armed, in nanoseconds.
    pub slack: u64,
}

/// Processes on one CPU that wait for timers: each for one at a time.
pub struct Waiters {
    crew: Crew,
    slots: Arc<Shared<Slot>>,
    cpu: Cpu,
}

/// An order, and what its worker reports of it. Written by the parent before a lap and by the worker within.
#[derive(Default)]
#[repr(align(128))]
pub(crate) struct Slot {
    /// [`Way::number`]; 0 where there is nothing to wait for.
    way: AtomicU64,
    /// 1 for [`Slack::Least`].
    least: AtomicU64,
    /// In nanoseconds.
    length: AtomicU64,
    /// The reading of `CLOCK_MONOTONIC` at which it is to be armed, in nanoseconds.
    at: AtomicU64,
    /// What the kernel said if a call failed, else 0.
    errno: AtomicU64,
    /// The readings just before it was armed and just after the caller ran again.
    from: AtomicU64,
    until: AtomicU64,
    fired: AtomicU64,
    armed: AtomicU64,
    slack: AtomicU64,
    usage: [AtomicU64; WORDS],
}

// SAFETY: atomic words alone; no address, nothing owned.
unsafe impl Atomics for Slot {}

impl Slot {
    /// Does what was ordered, in a child: it allocates nothing and locks nothing.
    fn work(&self) {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let Some(way) = Way::numbered(load(&self.way)) else { return };
        let seen = wait::ordered(way, load(&self.length), load(&self.at), load(&self.least) == 1);
        let store = |word: &AtomicU64, value: u64| word.store(value, Ordering::Relaxed);
        match seen {
            Ok(seen) => {
                store(&self.errno, 0);
                store(&self.from, seen.from);
                store(&self.until, seen.until);
                store(&self.fired, seen.fired);
                store(&self.armed, u64::from(seen.armed));
                store(&self.slack, seen.slack);
                self.usage.iter().zip(seen.usage.words()).for_each(|(word, value)| store(word, value));
            }
            Err(errno) => store(&self.errno, u64::from(errno.raw_os_error().unsigned_abs())),
        }
    }

    fn note(&self, order: Option<(&Order, u64)>) {
        let store = |word: &AtomicU64, value: u64| word.store(value, Ordering::Relaxed);
        let Some((order, at)) = order else { return store(&self.way, 0) };
        store(&self.way, order.way.number());
        store(&self.least, u64::from(order.slack == Slack::Least));
        store(&self.length, nanoseconds(order.length));
        store(&self.at, at);
    }

    /// What came of `order`.
    fn firing(&self, order: Order, cpu: Cpu) -> Result<Firing, Fault> {
        let load = |word: &AtomicU64| word.load(Ordering::Relaxed);
        let errno = load(&self.errno);
        if errno != 0 {
            let error = std::io::Error::from_raw_os_error(errno as i32);
            return Err(Fault::system(format!("wait for {} by {}", order.length, order.way.name()), error));
        }
        let due = load(&self.from).saturating_add(load(&self.length));
        let until = load(&self.until);
        let usage = Usage::of_words(self.usage.each_ref().map(load));
        let elapsed = Picoseconds::from_nanos(until.saturating_sub(due));
        let lap = Lap { elapsed, cpu, usage, ..Lap::default() };
        let early = (until < due).then(|| Picoseconds::from_nanos(due - until));
        let (fired, armed, slack) = (load(&self.fired), load(&self.armed) != 0, load(&self.slack));
        Ok(Firing { order, lap, early, fired, armed, slack })
    }
}

impl Waiters {
    /// Forks so many processes, each held on `cpu`.
    ///
    /// # Errors
    /// As [`Crew::gather`].
    ///
    /// # Panics
    /// If `count` is 0.
    pub fn gather(clock: Clock, cpu: Cpu, count: usize) -> Result<Self, Fault> {
        let slots: Arc<Shared<Slot>> = Arc::new(Shared::zeroed(count)?);
        let own = Arc::clone(&slots);
        let task: Task = Arc::new(move |worker, _| {
            if let Some(slot) = own.get(worker) {
                slot.work();
            }
            0
        });
        let crew = Crew::gather(clock, &vec![cpu; count], vec![task])?;
        Ok(Self { crew, slots, cpu })
    }

    /// How many can wait at the same time.
    pub fn size(&self) -> usize {
        self.crew.size()
    }

    /// Waits for these timers, each by a process of its own, and says what came of each, in their order.
    ///
    /// # Errors
    /// Those of [`Crew::lap`]: a timer that never fires is a worker that is late. [`Fault::System`] when a
    /// call failed.
    ///
    /// # Panics
    /// If there are more orders than processes.
    pub fn wait(&mut self, orders: &[Order]) -> Result<Vec<Firing>, Fault> {
        assert!(orders.len() <= self.size(), "{} orders for {} waiters", orders.len(), self.size());
        // All are awake by then, and asleep again until their turn.
        let given = wait::now() + AWAKE.saturating_mul(orders.len() as u64);
        let at = |order: &Order| match order.after {
            Picoseconds::ZERO => 0,
            after => given + nanoseconds(after),
        };
        for (place, slot) in self.slots.iter().enumerate() {
            slot.note(orders.get(place).map(|order| (order, at(order))));
        }
        self.crew.lap(0, 1)?;
        self.slots.iter().zip(orders).map(|(slot, &order)| slot.firing(order, self.cpu)).collect()
    }

    /// Lets the processes' stacks begin elsewhere from here on; see [`crate::Team::shift_stack`].
    pub fn shift_stack(&mut self, layout: u32) {
        self.crew.shift_stack(layout);
    }
}

/// How long it may take to wake one of several processes, in nanoseconds: generous.
const AWAKE: u64 = 100_000;

fn nanoseconds(length: Picoseconds) -> u64 {
    length.0 / 1_000
}

/// The timer slack of the calling thread, which the processes that it forks begin with.
///
/// # Errors
/// [`Fault::System`] when the kernel does not say.
pub fn slack() -> Result<Picoseconds, Fault> {
    let slack = current_timer_slack().map_err(|error| Fault::system("prctl(PR_GET_TIMERSLACK)", error))?;
    Ok(Picoseconds::from_nanos(slack))
}

/// The grid on which the kernel's timers lie: 1 ns with high resolution timers, else a tick (clock_getres(2),
/// time(7)).
pub fn resolution() -> Picoseconds {
    let step = clock_getres(ClockId::Monotonic);
    Picoseconds::from_nanos(step.tv_sec as u64 * 1_000_000_000 + step.tv_nsec as u64)
}

/// What `cpu` does while it waits, by sysfs.
pub fn idle(cpu: Cpu) -> Idle {
    Idle::of(std::path::Path::new("/"), cpu)
}

#[cfg(test)]
mod tests;
