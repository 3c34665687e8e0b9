//! The waiting itself, in a child: nothing here allocates, locks or panics.

use std::mem::MaybeUninit;
use std::num::NonZeroU64;
use std::ptr;
use std::sync::atomic::AtomicU32;

use rustix::io::Errno;
use rustix::thread::{
    NanosleepRelativeResult, clock_nanosleep_absolute, clock_nanosleep_relative, current_timer_slack, futex,
    set_current_timer_slack,
};
use rustix::time::{
    ClockId, Itimerspec, TimerfdClockId, TimerfdFlags, TimerfdTimerFlags, Timespec, timerfd_create,
    timerfd_gettime, timerfd_settime,
};

use super::{TOO_SOON, Way, nanoseconds};
use crate::clock;
use crate::usage::Usage;

/// The least slack that can be set: 0 stands for the default.
const LEAST: NonZeroU64 = NonZeroU64::MIN;

/// How much longer than its timer a signal is waited for, in seconds.
const PATIENCE: u64 = 5;

/// How long before the end [`Way::TooSoon`] begins to read the clock, in nanoseconds.
const SPUN: u64 = 500_000;

/// How long it goes on trying to be early, in nanoseconds.
const TRIED: u64 = 10_000_000_000;

pub(super) struct Seen {
    /// `CLOCK_MONOTONIC` just before the timer was armed, in nanoseconds.
    pub(super) from: u64,
    /// The same just after the caller ran again.
    pub(super) until: u64,
    pub(super) fired: u64,
    pub(super) armed: bool,
    /// In nanoseconds.
    pub(super) slack: u64,
    /// What the kernel charged from before arming to after.
    pub(super) usage: Usage,
}

/// The part of [`Seen`] that each way sees for itself.
struct Waited {
    from: u64,
    until: u64,
    fired: u64,
    armed: bool,
}

impl Waited {
    /// A call that ends by itself: nothing is left that could fire again.
    fn once(from: u64, fired: bool) -> Self {
        Self { from, until: now(), fired: u64::from(fired), armed: false }
    }
}

/// `CLOCK_MONOTONIC`, in nanoseconds.
pub(super) fn now() -> u64 {
    clock::nanoseconds(ClockId::Monotonic)
}

fn span(nanoseconds: u64) -> Timespec {
    Timespec { tv_sec: (nanoseconds / 1_000_000_000) as i64, tv_nsec: (nanoseconds % 1_000_000_000) as _ }
}

/// Waits until the clock says `at`, then `length` nanoseconds by `way`, with the least slack or that which is
/// there.
pub(super) fn ordered(way: Way, length: u64, at: u64, least: bool) -> Result<Seen, Errno> {
    while now() < at {
        // Interrupted or not: the clock decides.
        let _ = clock_nanosleep_absolute(ClockId::Monotonic, &span(at));
    }
    let slack_before = current_timer_slack()?;
    if least {
        set_current_timer_slack(Some(LEAST))?;
    }
    let slack = current_timer_slack();
    let before = Usage::of_this_thread();
    let waited = wait(way, length);
    let usage = Usage::of_this_thread().since(&before);
    if least {
        set_current_timer_slack(NonZeroU64::new(slack_before))?;
    }
    let (slack, Waited { from, until, fired, armed }) = (slack?, waited?);
    Ok(Seen { from, until, fired, armed, slack, usage })
}

fn wait(way: Way, length: u64) -> Result<Waited, Errno> {
    match way {
        Way::Timerfd => timerfd(length, 0),
        Way::Again => timerfd(length, length),
        Way::Setitimer => setitimer(length),
        Way::Sleep => {
            let (request, from) = (span(length), now());
            match clock_nanosleep_relative(ClockId::Monotonic, &request) {
                NanosleepRelativeResult::Ok => Ok(Waited::once(from, true)),
                NanosleepRelativeResult::Interrupted(_) => Ok(Waited::once(from, false)),
                NanosleepRelativeResult::Err(error) => Err(error),
            }
        }
        Way::Futex => {
            let (word, limit) = (AtomicU32::new(0), span(length));
            let from = now();
            match futex::wait(&word, futex::Flags::PRIVATE, 0, Some(&limit)) {
                Err(Errno::TIMEDOUT) => Ok(Waited::once(from, true)),
                // Woken by nobody, or interrupted.
                Ok(()) | Err(Errno::INTR) => Ok(Waited::once(from, false)),
                Err(error) => Err(error),
            }
        }
        Way::Poll => poll(length),
        Way::TooSoon => Ok(too_soon(length)),
        Way::Spinning => Ok(spun(now(), length)),
    }
}

/// Whoever is kept from running comes late after all, and shows nothing of this fault: then it begins anew,
/// for a while.
fn too_soon(length: u64) -> Waited {
    let begun = now();
    loop {
        let from = now();
        if length > 2 * SPUN {
            let _ = clock_nanosleep_relative(ClockId::Monotonic, &span(length - 2 * SPUN));
        }
        let waited = spun(from, length.saturating_sub(nanoseconds(TOO_SOON)));
        if waited.until - from < length || waited.until - begun > TRIED + length {
            return waited;
        }
    }
}

/// Reads the clock until `length` has passed since `from`.
fn spun(from: u64, length: u64) -> Waited {
    loop {
        let until = now();
        if until.saturating_sub(from) >= length {
            return Waited { from, until, fired: 1, armed: false };
        }
        std::hint::spin_loop();
    }
}

fn timerfd(length: u64, interval: u64) -> Result<Waited, Errno> {
    let timer = timerfd_create(TimerfdClockId::Monotonic, TimerfdFlags::CLOEXEC)?;
    let times = Itimerspec { it_interval: span(interval), it_value: span(length) };
    let mut count = [0_u8; 8];
    let from = now();
    timerfd_settime(&timer, TimerfdTimerFlags::empty(), &times)?;
    let read = rustix::io::read(&timer, &mut count);
    let until = now();
    read?;
    let left = timerfd_gettime(&timer)?.it_value;
    // Closing it disarms it.
    Ok(Waited { from, until, fired: u64::from_ne_bytes(count), armed: (left.tv_sec, left.tv_nsec) != (0, 0) })
}

fn errno() -> Errno {
    // SAFETY: it has no premise: the C library answers with the address of this thread's own word.
    let word = unsafe { libc::__errno_location() };
    // SAFETY: the address is that of a live integer of this thread, as the C library promises.
    Errno::from_raw_os_error(unsafe { *word })
}

/// The set of signals that holds `SIGALRM` alone.
fn alarm() -> libc::sigset_t {
    let mut set = MaybeUninit::<libc::sigset_t>::zeroed();
    // SAFETY: `set` is live and writable; the C library writes within it.
    unsafe { libc::sigemptyset(set.as_mut_ptr()) };
    // SAFETY: `set` was made an empty set by the line above, and SIGALRM is a signal.
    unsafe { libc::sigaddset(set.as_mut_ptr(), libc::SIGALRM) };
    // SAFETY: `sigemptyset` initialised it.
    unsafe { set.assume_init() }
}

/// Fetches a `SIGALRM` within `limit` nanoseconds: whether there was one.
///
/// Being stopped and continued interrupts this call, and the kernel does not begin it anew by itself as it
/// does the other waits here (signal(7), "Interruption of system calls and library functions by stop
/// signals").
fn fetched(set: &libc::sigset_t, limit: u64) -> Result<bool, Errno> {
    let until = now().saturating_add(limit);
    let mut left = limit;
    loop {
        let most =
            libc::timespec { tv_sec: (left / 1_000_000_000) as _, tv_nsec: (left % 1_000_000_000) as _ };
        // SAFETY: `set` and `most` are live; a null pointer says that nothing more is asked about the signal.
        match unsafe { libc::sigtimedwait(set, ptr::null_mut(), &most) } {
            libc::SIGALRM => return Ok(true),
            _ => match errno() {
                Errno::AGAIN => return Ok(false),
                // With nothing left it is asked once more, whether the signal has come meanwhile.
                Errno::INTR => left = until.saturating_sub(now()),
                error => return Err(error),
            },
        }
    }
}

/// Arms the timer of this process for so many microseconds, or disarms it, and says how many were left.
fn arm(microseconds: u64) -> Result<u64, Errno> {
    // An integer of another width with every C library.
    const ITIMER_REAL: libc::c_long = 0;
    let time =
        libc::timeval { tv_sec: (microseconds / 1_000_000) as _, tv_usec: (microseconds % 1_000_000) as _ };
    let new = libc::itimerval { it_interval: libc::timeval { tv_sec: 0, tv_usec: 0 }, it_value: time };
    let mut old = MaybeUninit::<libc::itimerval>::zeroed();
    // SAFETY: `new` is a live `itimerval`, which the kernel reads, and `old` one that it writes; the two
    // structures are the kernel's own on 64-bit Linux.
    let status = unsafe { libc::syscall(libc::SYS_setitimer, ITIMER_REAL, &raw const new, old.as_mut_ptr()) };
    if status != 0 {
        return Err(errno());
    }
    // SAFETY: all-zero bytes are a valid `itimerval` (plain integers), and the kernel wrote the rest.
    let old = unsafe { old.assume_init() }.it_value;
    Ok((old.tv_sec as u64).saturating_mul(1_000_000).saturating_add(old.tv_usec as u64))
}

/// `SIGALRM` stays blocked in this process, so that one which comes when nobody waits for it does not end it.
fn setitimer(length: u64) -> Result<Waited, Errno> {
    let set = alarm();
    // SAFETY: `set` is live; a null pointer says that the old mask is not asked for. This process has one
    // thread.
    if unsafe { libc::sigprocmask(libc::SIG_BLOCK, &raw const set, ptr::null_mut()) } != 0 {
        return Err(errno());
    }
    while fetched(&set, 0)? {}
    let limit = length.saturating_add(PATIENCE * 1_000_000_000);
    let from = now();
    arm(length / 1_000)?;
    let first = fetched(&set, limit);
    let until = now();
    let left = arm(0)?;
    let first = first?;
    let second = fetched(&set, 0)?;
    Ok(Waited { from, until, fired: u64::from(first) + u64::from(second), armed: left != 0 })
}

fn poll(length: u64) -> Result<Waited, Errno> {
    let limit =
        libc::timespec { tv_sec: (length / 1_000_000_000) as _, tv_nsec: (length % 1_000_000_000) as _ };
    let from = now();
    // SAFETY: no file is named, so nothing is read through the null pointer; `limit` is live, and a null mask
    // leaves the signals as they are.
    let ready = unsafe { libc::ppoll(ptr::null_mut(), 0, &limit, ptr::null()) };
    match ready {
        0 => Ok(Waited::once(from, true)),
        _ => match errno() {
            Errno::INTR => Ok(Waited::once(from, false)),
            error => Err(error),
        },
    }
}
