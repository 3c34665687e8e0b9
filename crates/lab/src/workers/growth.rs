//! Twice the operations take longer, by the worker's clock and by ours alike; what does not was removed by a
//! compiler, or is no time.

use std::ops::RangeInclusive;

use tenbin_model::Picoseconds;
use tenbin_model::unit::three_digits;

use super::worker::Worker;
use crate::experiment::{Failure, Seen};

/// Operations are timed in calls of this length, or longer where asking takes long.
const LONG: Picoseconds = Picoseconds::from_millis(1);

/// By how much a call is longer than what asking takes beside it.
const BEYOND_ASKING: u64 = 4;

/// So many operations are not done in less than [`IMPOSSIBLE`] by any machine.
const MANY: u64 = 1 << 24;
const IMPOSSIBLE: Picoseconds = Picoseconds::from_micros(100);

/// How much longer twice the operations take.
const GROWTH: RangeInclusive<f64> = 1.5..=f64::INFINITY;

/// How much time passes by our clock while a unit passes by the worker's.
const AGREEMENT: RangeInclusive<f64> = 0.8..=1.25;

/// Pairs of calls whose medians are looked at: a machine that is busy with something else makes the one or
/// the other longer.
const PAIRS: usize = 9;

/// What does not look right is looked at again, with calls four times as long, so many times.
const AGAIN: usize = 3;

/// Whether a variant takes longer for more operations, by clocks that agree; `word` is what its own check
/// says.
pub(super) fn growth(worker: &mut Worker, number: usize, word: String) -> Result<Seen, Failure> {
    let mut operations = 1;
    // The least that was seen: of a clock that goes slow it would grow with the work.
    let mut asking = Picoseconds(u64::MAX);
    loop {
        let work = worker.run(number, operations)?;
        asking = asking.min(work.asked.saturating_sub(work.elapsed));
        if work.elapsed >= LONG.max(Picoseconds(asking.0.saturating_mul(BEYOND_ASKING))) {
            break;
        }
        if operations >= MANY && work.elapsed < IMPOSSIBLE {
            return Ok(Seen::Broken(format!(
                "{operations} operations took it {}: it does nothing that takes longer for more of it, or a compiler has removed that",
                work.elapsed
            )));
        }
        operations = operations.saturating_mul(if work.elapsed.0 < LONG.0 / 16 { 8 } else { 2 });
    }
    let mut wrong = String::new();
    for _ in 0..AGAIN {
        let (mut growth, mut clocks) = ([0.0; PAIRS], [0.0; PAIRS]);
        let twice = operations.saturating_mul(2);
        for (growth, clocks) in growth.iter_mut().zip(&mut clocks) {
            let (one, two) = (worker.run(number, operations)?, worker.run(number, twice)?);
            let quotient = |numerator: u64, denominator: u64| numerator as f64 / denominator.max(1) as f64;
            *growth = quotient(two.elapsed.0, one.elapsed.0);
            let ours = two.asked.saturating_sub(one.asked).0;
            *clocks = quotient(ours, two.elapsed.saturating_sub(one.elapsed).0);
        }
        let [growth, clocks] = [growth, clocks].map(median);
        wrong = if !GROWTH.contains(&growth) {
            format!(
                "{twice} operations take it only {} times as long as {operations}: does a compiler remove some of them?",
                three_digits(growth)
            )
        } else if !AGREEMENT.contains(&clocks) {
            format!(
                "its clock is wrong: {} times as much time passes by this machine's clock as it says",
                three_digits(clocks)
            )
        } else {
            return Ok(Seen::Met(word));
        };
        operations = operations.saturating_mul(4);
    }
    Ok(Seen::Broken(wrong))
}

fn median(mut values: [f64; PAIRS]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[PAIRS / 2]
}
