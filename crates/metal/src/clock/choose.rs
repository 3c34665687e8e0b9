//! Which clock is read: whether the counter can be trusted, how long a tick is, and how finely a clock moves.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::ClockId;
use tenbin_model::machine::ClockChoice;
use tenbin_model::{Cpu, machine};

use super::{Clock, NANOSECOND_SCALE, Source, counter, nanoseconds};
use crate::fault::Fault;
use crate::pin::Pin;

impl Clock {
    /// Chooses and measures a clock for use on `cpus`. Takes about 40 ms.
    ///
    /// The hardware counter is chosen when the kernel keeps time by it, itself or through a
    /// hypervisor's page that scales it, and when readings taken in turn on different CPUs never ran
    /// backward here.
    ///
    /// # Errors
    /// [`Fault::System`] where no thread can be started to read it on another CPU.
    pub fn choose(cpus: &[Cpu]) -> Result<(Self, machine::Clock), Fault> {
        let counter = counter::NAME;
        let choice = match kernels_clock() {
            Ok(current) if counter::KERNEL_NAMES.contains(&current.as_str()) => {
                let clock = Self { source: Source::Counter, scale: calibrate() };
                let crossing = clock.cross(cpus)?;
                let Crossing { readings, backward } = crossing;
                if backward == 0 {
                    let choice = ClockChoice::Counter { readings, cpus: cpus.len() };
                    return Ok((clock, clock.describe(crossing, &choice)));
                }
                ClockChoice::Backward { counter, backward, readings }
            }
            Ok(current) => ClockChoice::Another { counter, current },
            Err(error) => ClockChoice::Unknown { error },
        };
        let kernel = Self::kernel();
        Ok((kernel, kernel.describe(kernel.cross(cpus)?, &choice)))
    }

    fn describe(&self, crossing: Crossing, choice: &ClockChoice) -> machine::Clock {
        const READINGS: usize = 2_000;
        let mut steps: Vec<u64> = (0..READINGS)
            .map(|_| {
                let first = self.now();
                let second = self.now();
                second.0.saturating_sub(first.0)
            })
            .collect();
        steps.sort_unstable();
        let picoseconds = |ticks: u64| ticks as f64 * self.scale as f64 / 2f64.powi(32);
        machine::Clock {
            name: match self.source {
                Source::Counter => counter::NAME.into(),
                Source::Kernel => "CLOCK_MONOTONIC_RAW".into(),
            },
            resolution_ps: self.step().map_or(UNSEEN_STEP_PS, picoseconds),
            cost_ps: picoseconds(steps[READINGS / 2]),
            backward_steps: crossing.backward,
            cross_readings: crossing.readings,
            why: choice.to_string(),
        }
    }

    /// The smallest step that the clock was seen to make, in ticks. None if it did not move.
    ///
    /// It is read until it has moved 200 times: so a clock that stands still for milliseconds shows its
    /// step, and one that moves between any two readings shows the grid on which its steps lie.
    fn step(&self) -> Option<u64> {
        const MOVES: usize = 200;
        const MOST_READINGS: usize = 4_000_000;
        let mut steps = Vec::with_capacity(MOVES);
        let mut last = self.now().0;
        for _ in 0..MOST_READINGS {
            let now = self.now().0;
            if now > last {
                steps.push(now - last);
                if steps.len() == MOVES {
                    break;
                }
            }
            last = now;
        }
        smallest_step(steps)
    }

    /// Hands a reading from CPU to CPU and counts the times that a later reading was smaller.
    ///
    /// One CPU after another is paired with the first. Each pair has 10 ms; a CPU that cannot be
    /// pinned contributes no readings.
    ///
    /// # Errors
    /// [`Fault::System`] where a thread cannot be started.
    fn cross(&self, cpus: &[Cpu]) -> Result<Crossing, Fault> {
        const HANDOVERS: u64 = 200;
        const DEADLINE: Duration = Duration::from_millis(10);
        let mut crossing = Crossing::default();
        let Some((&home, others)) = cpus.split_first() else { return Ok(crossing) };
        for &other in others {
            // Even turns belong to `home`, odd ones to `other`; the reading travels beside the turn.
            let turn = AtomicU64::new(0);
            let reading = AtomicU64::new(0);
            let backward = AtomicU64::new(0);
            let play = |cpu: Cpu, parity: u64| {
                let deadline = Instant::now() + DEADLINE;
                let Ok(_pin) = Pin::hold(cpu) else { return };
                while Instant::now() < deadline {
                    let now = turn.load(Ordering::Acquire);
                    if now >= HANDOVERS {
                        return;
                    }
                    if now % 2 == parity {
                        let ticks = self.now().0;
                        if ticks < reading.swap(ticks, Ordering::Relaxed) {
                            backward.fetch_add(1, Ordering::Relaxed);
                        }
                        turn.store(now + 1, Ordering::Release);
                    }
                }
            };
            let play = &play;
            std::thread::scope(|scope| {
                for (cpu, parity) in [(home, 0), (other, 1)] {
                    // One that is started alone gives up at its deadline.
                    std::thread::Builder::new().spawn_scoped(scope, move || play(cpu, parity)).map_err(
                        |error| Fault::system(format!("start a thread that reads the clock on {cpu}"), error),
                    )?;
                }
                Ok::<_, Fault>(())
            })?;
            crossing.readings += turn.into_inner();
            crossing.backward += backward.into_inner();
        }
        Ok(crossing)
    }
}

/// Stands for the step of a clock that did not move: a second.
const UNSEEN_STEP_PS: f64 = 1e12;

/// The smallest of these steps, or of the differences between them: what separates two steps of
/// different length is a step as well.
fn smallest_step(mut steps: Vec<u64>) -> Option<u64> {
    steps.sort_unstable();
    let between = steps.windows(2).map(|pair| pair[1] - pair[0]).filter(|&step| step > 0).min();
    steps.first().copied().into_iter().chain(between).min()
}

#[derive(Clone, Copy, Debug, Default)]
struct Crossing {
    readings: u64,
    backward: u64,
}

/// Measures the counter against the kernel's raw clock over 20 ms.
///
/// Both ends are bracketed: of 32 attempts the one with the shortest gap between two kernel
/// readings places the counter's, so a preemption costs an attempt and not accuracy.
fn calibrate() -> u64 {
    fn bracketed() -> (u64, u64) {
        (0..32)
            .map(|_| {
                let before = kernel_nanoseconds();
                let ticks = counter::read();
                let after = kernel_nanoseconds();
                (after - before, ticks, before + (after - before) / 2)
            })
            .min()
            .map(|(_, ticks, nanoseconds)| (ticks, nanoseconds))
            .unwrap_or((0, 0))
    }
    let (first_ticks, first) = bracketed();
    while kernel_nanoseconds().saturating_sub(first) < 20_000_000 {
        std::hint::spin_loop();
    }
    let (last_ticks, last) = bracketed();
    let ticks = u128::from(last_ticks.saturating_sub(first_ticks).max(1));
    ((u128::from(last - first) * u128::from(NANOSECOND_SCALE)) / ticks) as u64
}

fn kernel_nanoseconds() -> u64 {
    nanoseconds(ClockId::MonotonicRaw)
}

/// What the kernel itself keeps time by.
fn kernels_clock() -> Result<String, String> {
    const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let current = fs::read_to_string(PATH).map_err(|error| format!("{PATH}: {error}"))?;
    Ok(current.trim().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_coarse_clock_shows_its_step_and_a_fine_one_its_grid() {
        assert_eq!(smallest_step(vec![4_000_000; 200]), Some(4_000_000));
        assert_eq!(smallest_step(vec![52, 78, 52, 104]), Some(26));
        assert_eq!(smallest_step(vec![8_000_000, 4_000_000]), Some(4_000_000));
        assert_eq!(smallest_step(Vec::new()), None);
    }

    #[test]
    fn the_chosen_clock_agrees_with_the_kernels() {
        let (clock, description) = Clock::choose(&crate::pin::allowed_cpus().unwrap()).unwrap();
        assert!(description.resolution_ps > 0.0, "{description:?}");
        // The kernel's interval is read inside the clock's, so it can never be the longer one
        // by more than the calibration error, however loaded the machine is.
        let outer = clock.now();
        let inner = kernel_nanoseconds();
        while kernel_nanoseconds() - inner < 1_000_000 {}
        let inner = kernel_nanoseconds() - inner;
        let outer = clock.between(outer, clock.now());
        assert!(outer.as_nanos() > inner as f64 * 0.99, "{outer} against {inner} ns");
    }
}
