//! Two mailboxes between which a turn goes back and forth: how a thread that waits is told, by what the
//! standard library and the kernel have for it.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, OnceLock, PoisonError};
use std::thread::{self, Thread};

use crate::fault::Fault;

/// By what a turn is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Handover {
    /// A number under a mutex, and a condition variable.
    Condvar,
    /// An atomic number, and `thread::park`.
    Park,
    /// Eight bytes of a pipe.
    Pipe,
    /// An atomic number, and `sched_yield` until it has come.
    Yield,
    /// An atomic number, read again and again.
    Spin,
}

/// Where one worker waits for the number of its next turn.
#[derive(Debug)]
struct Mailbox {
    turn: Turn,
    latest: Mutex<u64>,
    arrived: Condvar,
    reader: PipeReader,
    writer: PipeWriter,
    owner: OnceLock<Thread>,
}

/// A number with lines of its own: neither its neighbour nor a prefetcher of pairs of lines shares them.
#[derive(Debug, Default)]
#[repr(align(256))]
struct Turn(AtomicU64);

impl Mailbox {
    fn new() -> Result<Self, Fault> {
        let (reader, writer) = std::io::pipe().map_err(|error| Fault::system("make a pipe", error))?;
        Ok(Self {
            turn: Turn::default(),
            latest: Mutex::new(0),
            arrived: Condvar::new(),
            reader,
            writer,
            owner: OnceLock::new(),
        })
    }

    /// Tells whoever waits here that turn `number` is theirs.
    fn put(&self, how: Handover, number: u64) {
        match how {
            Handover::Condvar => {
                *self.latest.lock().unwrap_or_else(PoisonError::into_inner) = number;
                self.arrived.notify_one();
            }
            // A pipe of our own with a reader that waits takes eight bytes.
            Handover::Pipe => drop((&self.writer).write_all(&number.to_ne_bytes())),
            Handover::Park | Handover::Yield | Handover::Spin => {
                self.turn.0.store(number, Ordering::Release);
                if let (Handover::Park, Some(owner)) = (how, self.owner.get()) {
                    owner.unpark();
                }
            }
        }
    }

    /// Waits until a turn beyond `last` has come, and returns its number.
    fn take(&self, how: Handover, last: u64) -> u64 {
        match how {
            Handover::Condvar => {
                let latest = self.latest.lock().unwrap_or_else(PoisonError::into_inner);
                let waited = self.arrived.wait_while(latest, |latest| *latest <= last);
                *waited.unwrap_or_else(PoisonError::into_inner)
            }
            Handover::Pipe => {
                let mut bytes = [0; 8];
                drop((&self.reader).read_exact(&mut bytes));
                u64::from_ne_bytes(bytes)
            }
            Handover::Park | Handover::Yield | Handover::Spin => loop {
                let number = self.turn.0.load(Ordering::Acquire);
                if number > last {
                    return number;
                }
                match how {
                    Handover::Yield => thread::yield_now(),
                    Handover::Spin => std::hint::spin_loop(),
                    _ => thread::park(),
                }
            },
        }
    }
}

/// The mailboxes of two workers.
#[derive(Debug)]
pub struct Mailboxes([Mailbox; 2]);

impl Mailboxes {
    /// Two of them.
    ///
    /// # Errors
    ///
    /// There may be no more file descriptors.
    pub fn new() -> Result<Self, Fault> {
        Ok(Self([Mailbox::new()?, Mailbox::new()?]))
    }

    /// Hands the turn to and from the other worker, so many rounds, and returns how many turns came out of
    /// order. The first turn is worker 0's; turns are numbered from `before` + 1 on. With `skip` the last
    /// turn of worker 1 bears the number after its own.
    ///
    /// Both workers, 0 and 1, call it with the same arguments but their own number, and wait for each other.
    /// They are the same threads in every call; call it again only after both have returned, and with a
    /// `before` that is greater by at least twice the rounds and one.
    pub fn hand(&self, worker: usize, how: Handover, before: u64, rounds: u64, skip: bool) -> u64 {
        let [own, other] = [&self.0[worker], &self.0[1 - worker]];
        own.owner.get_or_init(thread::current);
        while other.owner.get().is_none() {
            thread::yield_now();
        }
        let mut wrong = 0;
        let mut last = before;
        for round in 0..rounds {
            let number = before + 1 + 2 * round + worker as u64;
            if worker + (round as usize) > 0 {
                last = own.take(how, last);
                wrong += u64::from(last != number);
            }
            if worker == 0 || round + 1 < rounds {
                let skipped = u64::from(skip && worker == 0 && round + 1 == rounds);
                other.put(how, number + 1 + skipped);
            }
        }
        wrong
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn turns_come_in_order_and_one_that_is_skipped_is_counted() {
        const ROUNDS: u64 = 20;
        let ways = [Handover::Condvar, Handover::Park, Handover::Pipe, Handover::Yield, Handover::Spin];
        let mailboxes = Mailboxes::new().unwrap();
        let together = std::sync::Barrier::new(2);
        let hand = |worker| {
            let laps = ways.into_iter().flat_map(|how| [(how, false), (how, true)]).enumerate();
            laps.map(|(lap, (how, skip))| {
                let before = lap as u64 * (2 * ROUNDS + 2);
                together.wait();
                (how, skip, mailboxes.hand(worker, how, before, ROUNDS, skip))
            })
            .collect::<Vec<_>>()
        };
        let [first, second] = thread::scope(|scope| {
            let second = scope.spawn(|| hand(1));
            [hand(0), second.join().unwrap()]
        });
        for ((how, skip, wrong), (.., wrong_there)) in first.into_iter().zip(second) {
            assert_eq!((wrong, wrong_there), (0, u64::from(skip)), "{how:?}, the last skipped: {skip}");
        }
    }
}
