//! A clock that counts instructions: some emulators can be told to advance time by one nanosecond an
//! instruction.
//!
//! Then a time is a count, whatever machine emulates, and says nothing about a CPU's speed. It is a count of
//! what was executed: each repetition of a string instruction (`rep stos` of x86) is one, and ticks of the
//! kernel are in it. Whether it is so is found out by measuring, and not by being told.

use crate::clock::Clock;
use crate::kernels::{TURN, empty_loop};

/// Turns of the shorter of two loops. Both end well within a tick of the kernel, and what a clock of 10 MHz
/// cannot tell is a part in five thousand of the difference at the most.
const TURNS: u64 = 200_000;

/// How often each loop is timed. The shortest counts: an interrupt can only lengthen it.
const TRIES: usize = 9;

/// How far from the known count a turn may be.
const TOLERANCE: f64 = 0.001;

/// How often it must come out right.
const ROUNDS: usize = 2;

/// What the two rounds found: nanoseconds of `clock` for an instruction, by a loop whose instructions are
/// known.
///
/// What a reading of the clock costs falls out, because the loop of N turns is taken from that of 2 N. A CPU
/// of a gigahertz that ends one instruction in each cycle shows the same figure, so the answer means
/// something only where the CPU is known to be emulated.
pub fn nanoseconds_each(clock: Clock) -> [f64; ROUNDS] {
    let shortest = |turns: u64| {
        let timed = (0..TRIES).map(|_| {
            let start = clock.now();
            std::hint::black_box(empty_loop(std::hint::black_box(turns)));
            clock.between(start, clock.now()).0
        });
        timed.min().unwrap_or(0)
    };
    [(); ROUNDS].map(|()| {
        let (once, twice) = (shortest(TURNS), shortest(2 * TURNS));
        (twice as f64 - once as f64) / 1_000.0 / (TURNS * TURN) as f64
    })
}

/// Whether such figures are those of a clock that counts instructions.
pub fn one_each(nanoseconds: &[f64]) -> bool {
    !nanoseconds.is_empty() && nanoseconds.iter().all(|each| (each - 1.0).abs() <= TOLERANCE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_of_instructions_differs_from_one_that_is_near() {
        assert!(one_each(&[1.0, 0.9992]));
        assert!(one_each(&[1.0009, 1.0]));
        for near in [&[1.0, 1.002][..], &[0.998, 1.0], &[0.33, 0.33], &[f64::NAN, 1.0], &[]] {
            assert!(!one_each(near), "{near:?}");
        }
    }

    #[test]
    fn the_loop_is_timed_in_both_rounds() {
        let each_way = nanoseconds_each(Clock::kernel());
        assert!(each_way.iter().all(|each| each.is_finite()), "{each_way:?}");
    }
}
