//! Twice the operations take longer, by the worker's clock and by ours alike; what does not was removed by a
//! compiler, or is no time.
//!
//! A machine that is busy with something else can only add: to a call, and to what passes around it. So the
//! least of several is what is compared, and nobody is accused of what a neighbour did.

use tenbin_model::Picoseconds;
use tenbin_model::unit::three_digits;

use super::worker::{Work, Worker};
use crate::experiment::{Failure, Seen};

/// Operations are timed in calls of this length, or longer where asking takes long.
const LONG: Picoseconds = Picoseconds::from_millis(1);

/// A call is long enough where so many take as long.
const CALLS: usize = 4;

/// By how much a call is longer than what asking takes beside it.
const BEYOND_ASKING: u64 = 4;

/// So many operations are not done in less than [`IMPOSSIBLE`] by any machine.
const MANY: u64 = 1 << 24;
const IMPOSSIBLE: Picoseconds = Picoseconds::from_micros(100);

/// Nor are so many in less than a call has to take.
const TOO_MANY: u64 = 1 << 40;

/// How many times as long twice the operations take, at the least.
const GROWTH: f64 = 1.5;

/// How much time passes by our clock while a unit passes by the worker's, at the most. Where less passes, it
/// answers before the time is over that it says: [`Worker::run`] sees that.
const AGREEMENT: f64 = 1.25;

/// Pairs of calls whose least are looked at first.
const PAIRS: usize = 9;

/// What does not look right is looked at again, so many times at the most: twice as many calls each time, and
/// twice as long ones, so that what disturbs all of them has to last for seconds.
const LOOKS: usize = 4;

/// Whether a variant takes longer for more operations, by clocks that agree; `word` is what its own check
/// says.
pub(super) fn growth(worker: &mut Worker, number: usize, word: String) -> Result<Seen, Failure> {
    let mut operations = 1;
    // The least that was seen: of a clock that goes slow it would grow with the work.
    let mut asking = Picoseconds(u64::MAX);
    loop {
        // Few operations that were held up are not many.
        let mut least = Picoseconds(u64::MAX);
        let mut is_long = true;
        for _ in 0..CALLS {
            let work = worker.run(number, operations)?;
            asking = asking.min(work.asked.saturating_sub(work.elapsed));
            least = least.min(work.elapsed);
            is_long = least >= LONG.max(Picoseconds(asking.0.saturating_mul(BEYOND_ASKING)));
            if !is_long {
                break;
            }
        }
        if is_long {
            break;
        }
        if operations >= TOO_MANY || operations >= MANY && least < IMPOSSIBLE {
            return Ok(Seen::Broken(format!(
                "{operations} operations took it {least}: it does nothing that takes longer for more of it, or a compiler has removed that",
            )));
        }
        operations = operations.saturating_mul(if least.0 < LONG.0 / 16 { 8 } else { 2 });
    }
    let mut wrong = String::new();
    for look in 0..LOOKS {
        let (mut once, mut twice) = (Least::NONE, Least::NONE);
        for _ in 0..PAIRS << look {
            once.take(&worker.run(number, operations)?);
            twice.take(&worker.run(number, operations.saturating_mul(2))?);
        }
        match flaw(once, twice, operations) {
            Some(flaw) => wrong = flaw,
            // Where as much passes around a call as in it, that may be what a slow clock leaves out: then the
            // longest calls say.
            None if look + 1 == LOOKS || once.around.0 < once.elapsed.0 / 2 => return Ok(Seen::Met(word)),
            None => {}
        }
        operations = operations.saturating_mul(2);
    }
    Ok(Seen::Broken(wrong))
}

/// The least that some calls took.
#[derive(Clone, Copy)]
struct Least {
    /// By the worker's clock.
    elapsed: Picoseconds,
    around: Picoseconds,
}

impl Least {
    const NONE: Self = Self { elapsed: Picoseconds(u64::MAX), around: Picoseconds(u64::MAX) };

    fn take(&mut self, work: &Work) {
        self.elapsed = self.elapsed.min(work.elapsed);
        self.around = self.around.min(work.asked.saturating_sub(work.elapsed));
    }
}

/// What is wrong with calls of so many operations and of twice as many, if something is.
fn flaw(once: Least, twice: Least, operations: u64) -> Option<String> {
    let quotient = |numerator: u64, denominator: u64| numerator as f64 / denominator.max(1) as f64;
    let growth = quotient(twice.elapsed.0, once.elapsed.0);
    let longer = twice.elapsed.saturating_sub(once.elapsed).0;
    // What passes around a call is the same for each, unless the worker's clock is slow.
    let clocks = 1.0 + quotient(twice.around.saturating_sub(once.around).0, longer);
    if growth < GROWTH {
        Some(format!(
            "{} operations take it only {} times as long as {operations}: does a compiler remove some of them?",
            operations.saturating_mul(2),
            three_digits(growth)
        ))
    } else if clocks > AGREEMENT {
        Some(format!(
            "its clock is wrong: {} times as much time passes by this machine's clock as it says",
            three_digits(clocks)
        ))
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls of so many milliseconds, each with what is added inside it and around it, by a worker whose
    /// clock runs at this speed.
    fn least(call: f64, speed: f64, added: &[(f64, f64)]) -> Least {
        let mut least = Least::NONE;
        for (inside, around) in added {
            let elapsed = (call + inside) * speed;
            let picoseconds = |milliseconds: f64| Picoseconds((milliseconds * 1e9) as u64);
            let asked = picoseconds(call + inside + around + 0.02);
            least.take(&Work {
                elapsed: picoseconds(elapsed),
                middle_call: None,
                asked,
                evidence: String::new(),
            });
        }
        least
    }

    #[test]
    fn a_busy_machine_is_no_wrong_clock_and_a_slow_clock_is() {
        // Of most calls of one kind others took the CPU inside, and of most of the other around them: by the
        // medians a seventh of the time passes by one clock that passes by the other.
        let (around, inside) = (
            [(0.0, 5.0), (0.0, 6.0), (0.0, 5.5), (0.0, 0.1)],
            [(4.0, 0.1), (5.0, 0.0), (6.0, 0.0), (0.1, 0.0)],
        );
        for (once, twice) in [(around, inside), (inside, around)] {
            let seen = |speed| flaw(least(1.0, speed, &once), least(2.0, speed, &twice), 1000);
            assert_eq!(seen(1.0), None);
            assert!(
                seen(0.5).is_some_and(|flaw| flaw.starts_with("its clock is wrong: ")),
                "{:?}",
                seen(0.5)
            );
        }
        let constant = flaw(least(1.0, 1.0, &around), least(1.0, 1.0, &around), 1000);
        assert!(constant.is_some_and(|flaw| flaw.starts_with("2000 operations take it only 1.00 times")));
    }
}
