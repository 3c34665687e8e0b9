//! An exchange: two workers that hand a line, or two, to and fro, and so tell what it costs to move one.

use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::fault::Fault;
use crate::kernels::exchange::{self, flags_follow, flags_lead, swaps};
use crate::pages::{PageKind, Pages};

/// Places in an [`Exchange`].
///
/// Which slice of a shared cache, and which directory, holds a line depends on its address, and the cost with
/// it. So one pair of cores is asked at several addresses.
pub const PLACES: usize = 16;

/// Bytes from one place to the next, and from the first line of a place to the second.
///
/// Lines have 64 or 128 bytes, and x86 fetches their neighbours too (Intel, "64 and IA-32 Architectures
/// Optimization Reference Manual", the spatial prefetcher): at four times 64 nothing moves that was not
/// meant.
const PLACE: usize = 512;
const SECOND_LINE: usize = 256;

/// How the two workers speak to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Protocol {
    /// One line: the first worker changes 2i to 2i + 1, the second 2i + 1 to 2i + 2, each by a
    /// compare-and-swap that is tried until it succeeds. The method of N. Viennot's core-to-core-latency,
    /// with numbers where that has a flag.
    CompareAndSwap,
    /// Two lines, each stored by one worker and loaded by the other: the first stores i and waits for i, the
    /// second waits for i and stores i. The method of E. Rigtorp's c2clat.
    Flags,
}

impl Protocol {
    /// Both.
    pub const ALL: [Self; 2] = [Self::CompareAndSwap, Self::Flags];

    /// What executes on this architecture; reads inside a sentence.
    pub const fn name(self) -> &'static str {
        match self {
            Self::CompareAndSwap => exchange::SWAPS_NAME,
            Self::Flags => exchange::FLAGS_NAME,
        }
    }

    /// What stands in the two lines of a place after `rounds` rounds from a reset; see [`Exchange::value`].
    pub const fn value_after(self, rounds: u64) -> (u64, u64) {
        match self {
            Self::CompareAndSwap => (2 * rounds, 0),
            Self::Flags => (rounds, rounds),
        }
    }

    /// Whether this can stand in the two lines of a place where the follower answered so many rounds from a
    /// reset: it has answered all that the leader began, or all but the last.
    pub const fn may_stand(self, value: (u64, u64), followed: u64) -> bool {
        let (first, second) = self.value_after(followed);
        (value.0 == first || value.0 == first + 1) && value.1 == second
    }

    /// Turns of a wait after which the partner is taken for gone: some seconds, and so hundreds of time
    /// slices. A turn is about one cycle for a load that hits, and twenty for a compare-and-swap on x86.
    const fn patience(self) -> u64 {
        match self {
            Self::CompareAndSwap => 1 << 30,
            Self::Flags => 1 << 33,
        }
    }
}

/// Fresh memory with [`PLACES`] places at which two workers can meet.
///
/// At each place one worker calls [`lead`](Self::lead) and another [`follow`](Self::follow), at the same
/// time, with the same protocol and as many rounds. They go on from where the place stands, so it need not be
/// reset between two exchanges by one protocol that were both completed.
#[derive(Debug)]
pub struct Exchange {
    /// Keeps the mapping and is never looked into: `start` is the only way in.
    _pages: Pages,
    start: NonNull<AtomicU64>,
    patience: Option<u64>,
    given_up: AtomicU64,
}

// SAFETY: the memory belongs to this value, which any thread may drop; `start` is not tied to a thread.
unsafe impl Send for Exchange {}
// SAFETY: shared access is by atomic words only, which `line` hands out.
unsafe impl Sync for Exchange {}

impl Exchange {
    /// Maps the places and touches them, from the CPU of the caller; all stand at 0.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room.
    pub fn new() -> Result<Self, Fault> {
        let mut pages = Pages::map(PLACES * PLACE, PageKind::Base)?;
        let memory: &mut [u8] = &mut pages;
        memory.fill(0);
        let start = NonNull::from(memory).cast();
        Ok(Self { _pages: pages, start, patience: None, given_up: AtomicU64::new(0) })
    }

    /// The same with waits of `turns` turns. Without this a wait lasts for some seconds before it is given
    /// up.
    #[must_use]
    pub fn with_patience(self, turns: u64) -> Self {
        Self { patience: Some(turns), ..self }
    }

    /// Puts the place back to 0, and the count of waits that were [given up](Self::given_up). Nobody may be
    /// exchanging.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn reset(&self, place: usize) {
        for second in [false, true] {
            self.line(place, second).store(0, Ordering::Release);
        }
        self.given_up.store(0, Ordering::Relaxed);
    }

    /// Waits that were given up since the last reset: of an exchange, 2 if both partners did, and 1 if only
    /// one of them did, because the other one had done what it was asked for.
    pub fn given_up(&self) -> u64 {
        self.given_up.load(Ordering::Relaxed)
    }

    /// Takes note where fewer rounds were done than asked for.
    fn noted(&self, done: u64, asked: u64) -> u64 {
        if done < asked {
            self.given_up.fetch_add(1, Ordering::Relaxed);
        }
        done
    }

    /// Leads `rounds` rounds and returns how many were answered.
    ///
    /// Fewer than `rounds` means that a wait was given up: the partner is not there, or stopped. The place
    /// must be [`reset`](Self::reset) then.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn lead(&self, protocol: Protocol, place: usize, rounds: u64) -> u64 {
        let (line, turns) = (self.line(place, false), self.turns(protocol));
        let stands = line.load(Ordering::Acquire);
        let answered = match protocol {
            Protocol::CompareAndSwap => {
                let done = swaps(line, rounds, turns, stands, 1);
                // That a swap succeeds says that the one before it was answered. The last answer is waited
                // for by a swap that changes nothing.
                let answer = stands.wrapping_add(2 * rounds);
                let answered = done == rounds && (rounds == 0 || swaps(line, 1, turns, answer, 0) == 1);
                if answered { rounds } else { done.saturating_sub(1) }
            }
            Protocol::Flags => {
                flags_lead(line, self.line(place, true), rounds, turns, stands.wrapping_add(1))
            }
        };
        self.noted(answered, rounds)
    }

    /// Follows for `rounds` rounds and returns how many it answered; fewer as in [`lead`](Self::lead).
    ///
    /// # Panics
    /// If there is no such place.
    pub fn follow(&self, protocol: Protocol, place: usize, rounds: u64) -> u64 {
        let turns = self.turns(protocol);
        let answered = match protocol {
            Protocol::CompareAndSwap => {
                let line = self.line(place, false);
                // Even before the leader's first change and odd after it, which is what is expected; and it
                // goes no further without an answer.
                let first = line.load(Ordering::Acquire) | 1;
                swaps(line, rounds, turns, first, 1)
            }
            Protocol::Flags => {
                let (own, other) = (self.line(place, true), self.line(place, false));
                let first = own.load(Ordering::Acquire).wrapping_add(1);
                flags_follow(own, other, rounds, turns, first)
            }
        };
        self.noted(answered, rounds)
    }

    /// The planted fault: as [`follow`](Self::follow), but the last round is left unanswered.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn follow_short(&self, protocol: Protocol, place: usize, rounds: u64) -> u64 {
        self.follow(protocol, place, rounds.saturating_sub(1))
    }

    /// What stands in the two lines of the place. [`Protocol::value_after`] says what should.
    ///
    /// # Panics
    /// If there is no such place.
    pub fn value(&self, place: usize) -> (u64, u64) {
        let [first, second] = [false, true].map(|second| self.line(place, second).load(Ordering::Acquire));
        (first, second)
    }

    fn turns(&self, protocol: Protocol) -> u64 {
        self.patience.unwrap_or(protocol.patience())
    }

    fn line(&self, place: usize, second: bool) -> &AtomicU64 {
        assert!(place < PLACES, "there is no place {place} of {PLACES}");
        let bytes = place * PLACE + if second { SECOND_LINE } else { 0 };
        // SAFETY: `bytes` is below the length that `new` mapped, since `place` is below `PLACES`.
        let line = unsafe { self.start.byte_add(bytes) };
        // SAFETY: it is aligned, since pages and both distances are; mapped and initialised until `self` is
        // dropped; and every access to it is an atomic one of a whole word.
        unsafe { line.as_ref() }
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::pin::{Pin, allowed_cpus};

    /// A wait that is never given up, for exchanges that must succeed on a machine of any speed.
    const FOR_EVER: u64 = u64::MAX;

    /// What leader and follower return when both work at once.
    fn meet(lead: impl FnOnce() -> u64, follow: impl FnOnce() -> u64 + Send) -> (u64, u64) {
        thread::scope(|scope| {
            let follower = scope.spawn(follow);
            (lead(), follower.join().unwrap())
        })
    }

    #[test]
    fn all_rounds_are_done_at_every_place_and_go_on_from_there() {
        let rounds = 3;
        for protocol in Protocol::ALL {
            let exchange = &Exchange::new().unwrap().with_patience(FOR_EVER);
            for place in 0..PLACES {
                for time in 1..=2 {
                    let done = meet(
                        || exchange.lead(protocol, place, rounds),
                        || exchange.follow(protocol, place, rounds),
                    );
                    assert_eq!(done, (rounds, rounds), "{} at {place}", protocol.name());
                    assert_eq!(exchange.value(place), protocol.value_after(time * rounds));
                }
            }
            // No place was touched by what was done at another.
            assert!((0..PLACES).all(|place| exchange.value(place) == protocol.value_after(2 * rounds)));
            exchange.reset(3);
            assert_eq!(exchange.value(3), (0, 0));
        }
    }

    #[test]
    fn many_rounds_are_all_done() {
        let exchange = &Exchange::new().unwrap().with_patience(FOR_EVER);
        for (place, protocol) in Protocol::ALL.into_iter().enumerate() {
            let rounds = 200;
            let done =
                meet(|| exchange.lead(protocol, place, rounds), || exchange.follow(protocol, place, rounds));
            assert_eq!((done, exchange.value(place)), ((rounds, rounds), protocol.value_after(rounds)));
            assert_eq!(exchange.given_up(), 0);
        }
    }

    /// Each hand-over takes the rest of a time slice here, so there are few.
    #[test]
    fn two_workers_on_one_cpu_come_to_an_end() {
        let (cpu, rounds) = (allowed_cpus().unwrap()[0], 4);
        let exchange = &Exchange::new().unwrap().with_patience(FOR_EVER);
        for protocol in Protocol::ALL {
            exchange.reset(0);
            let done = meet(
                || {
                    let _pin = Pin::hold(cpu).unwrap();
                    exchange.lead(protocol, 0, rounds)
                },
                || {
                    let _pin = Pin::hold(cpu).unwrap();
                    exchange.follow(protocol, 0, rounds)
                },
            );
            assert_eq!((done, exchange.value(0)), ((rounds, rounds), protocol.value_after(rounds)));
        }
    }

    /// How long the waits must be for the follower to come in time depends on the machine, so they grow until
    /// it does; that the fault is seen must not depend on it.
    #[test]
    fn a_partner_that_stops_short_is_seen() {
        let rounds = 5;
        for protocol in Protocol::ALL {
            let seen = (10..40).step_by(3).find(|exponent| {
                let exchange = &Exchange::new().unwrap().with_patience(1 << exponent);
                let (led, followed) = meet(
                    || exchange.lead(protocol, 7, rounds),
                    || exchange.follow_short(protocol, 7, rounds),
                );
                assert!(led < rounds && followed < rounds, "{}: {led}, {followed}", protocol.name());
                assert_ne!(exchange.value(7), protocol.value_after(rounds));
                assert!(protocol.may_stand(exchange.value(7), followed));
                // It did what it was asked for, and gave nothing up.
                assert_eq!(exchange.given_up(), 1 + u64::from(followed < rounds - 1));
                (led, followed) == (rounds - 1, rounds - 1)
            });
            assert!(seen.is_some(), "{}: the other rounds were never done", protocol.name());
        }
    }

    #[test]
    fn who_is_alone_gives_up() {
        let exchange = Exchange::new().unwrap().with_patience(100);
        for (place, protocol) in Protocol::ALL.into_iter().enumerate() {
            assert_eq!(exchange.follow(protocol, place, 5), 0);
            assert_eq!(exchange.value(place), (0, 0), "it changed what was not its own");
            assert_eq!(exchange.lead(protocol, place, 5), 0);
            assert_eq!(exchange.value(place), (1, 0), "it went on without an answer");
            assert!(protocol.may_stand((1, 0), 0) && !protocol.may_stand((2, 0), 0));
            assert_eq!(exchange.given_up(), 2);
            exchange.reset(place);
            assert_eq!(exchange.given_up(), 0);
        }
        let hasty = Exchange::new().unwrap().with_patience(0);
        assert!(Protocol::ALL.iter().all(|&protocol| hasty.lead(protocol, 0, 1) == 0));
    }

    #[test]
    fn no_rounds_change_nothing() {
        let exchange = Exchange::new().unwrap();
        for protocol in Protocol::ALL {
            assert_eq!((exchange.lead(protocol, 0, 0), exchange.follow(protocol, 0, 0)), (0, 0));
            assert_eq!(exchange.follow_short(protocol, 0, 1), 0);
        }
        assert_eq!(exchange.value(0), (0, 0));
    }

    #[test]
    fn the_protocols_have_names_of_their_own() {
        assert_ne!(Protocol::CompareAndSwap.name(), Protocol::Flags.name());
    }
}
