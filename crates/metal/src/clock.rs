//! The clock that epochs are read from: chosen by measuring, not by assuming.

use std::fs;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tenbin_model::{Cpu, Picoseconds, machine};

use crate::fault::Fault;
use crate::pin::Pin;

/// A reading of a [`Clock`]; only that clock can turn two of them into a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ticks(pub(crate) u64);

/// A clock: a hardware counter where one can be trusted, else the kernel's.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    source: Source,
    /// Picoseconds in 2³² ticks: a 64-bit fixed-point factor, so that no float touches a sample.
    scale: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// The architecture's counter: TSC, CNTVCT_EL0 or TIME.
    Counter,
    /// `CLOCK_MONOTONIC_RAW`: never slewed by NTP.
    Kernel,
}

/// One tick is a nanosecond: 1000 ps, shifted by 32.
const NANOSECOND_SCALE: u64 = 1000 << 32;

impl Clock {
    /// The kernel's `CLOCK_MONOTONIC_RAW`, which works everywhere.
    pub const fn kernel() -> Self {
        Self { source: Source::Kernel, scale: NANOSECOND_SCALE }
    }

    /// Chooses and measures a clock for use on `cpus`. Takes about 40 ms.
    ///
    /// The hardware counter is chosen when the kernel keeps time by it, itself or through a
    /// hypervisor's page that scales it, and when readings taken in turn on different CPUs never ran
    /// backward here.
    ///
    /// # Errors
    /// [`Fault::System`] where no thread can be started to read it on another CPU.
    pub fn choose(cpus: &[Cpu]) -> Result<(Self, machine::Clock), Fault> {
        match counter_is_kernels_clock() {
            Ok(()) => {
                let counter = Self { source: Source::Counter, scale: calibrate() };
                let crossing = counter.cross(cpus)?;
                if crossing.backward == 0 {
                    let why = format!(
                        "the kernel keeps time by it, and {} readings in turn on {} CPU(s) never ran backward",
                        crossing.readings,
                        cpus.len()
                    );
                    return Ok((counter, counter.describe(crossing, why)));
                }
                let kernel = Self::kernel();
                let why = format!(
                    "the {COUNTER_NAME} ran backward {} times in {} between CPUs",
                    crossing.backward, crossing.readings
                );
                Ok((kernel, kernel.describe(kernel.cross(cpus)?, why)))
            }
            Err(why) => {
                let kernel = Self::kernel();
                Ok((kernel, kernel.describe(kernel.cross(cpus)?, why)))
            }
        }
    }

    /// Reads the clock. With a hardware counter the instructions before it have executed (their stores
    /// may still be on the way to memory) and those after it have not begun.
    #[inline(always)]
    pub fn now(&self) -> Ticks {
        match self.source {
            Source::Counter => Ticks(counter()),
            Source::Kernel => Ticks(kernel_nanoseconds()),
        }
    }

    /// The length from `start` to `end`, zero when `end` came first.
    #[inline]
    pub fn between(&self, start: Ticks, end: Ticks) -> Picoseconds {
        let ticks = end.0.saturating_sub(start.0);
        Picoseconds(((u128::from(ticks) * u128::from(self.scale)) >> 32) as u64)
    }

    fn describe(&self, crossing: Crossing, why: String) -> machine::Clock {
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
                Source::Counter => COUNTER_NAME.into(),
                Source::Kernel => "CLOCK_MONOTONIC_RAW".into(),
            },
            resolution_ps: self.step().map_or(UNSEEN_STEP_PS, picoseconds),
            cost_ps: picoseconds(steps[READINGS / 2]),
            backward_steps: crossing.backward,
            cross_readings: crossing.readings,
            why,
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
                let ticks = counter();
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

#[inline(always)]
fn kernel_nanoseconds() -> u64 {
    let time = clock_gettime(ClockId::MonotonicRaw);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// Whether the kernel itself keeps time by the counter that this program would read.
fn counter_is_kernels_clock() -> Result<(), String> {
    const PATH: &str = "/sys/devices/system/clocksource/clocksource0/current_clocksource";
    let current = fs::read_to_string(PATH).map_err(|error| format!("{PATH}: {error}"))?;
    let current = current.trim();
    if KERNEL_NAMES.contains(&current) {
        Ok(())
    } else {
        Err(format!("the kernel keeps time by {current} and not by the {COUNTER_NAME}"))
    }
}

#[cfg(target_arch = "x86_64")]
const COUNTER_NAME: &str = "tsc";
#[cfg(target_arch = "x86_64")]
const KERNEL_NAMES: &[&str] = &["tsc", "hyperv_clocksource_tsc_page", "kvm-clock"];

/// LFENCE on both sides, as Intel's SDM (volume 2, RDTSC) asks for ordering; AMD's LFENCE
/// serialises dispatch on every kernel since 4.15.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn counter() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: RDTSC and LFENCE are in every x86-64 CPU and touch the named registers only. User mode may
    // execute RDTSC: the vDSO does, and a process that forbade it itself (PR_SET_TSC) gets a signal.
    unsafe {
        std::arch::asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(target_arch = "aarch64")]
const COUNTER_NAME: &str = "cntvct";
#[cfg(target_arch = "aarch64")]
const KERNEL_NAMES: &[&str] = &["arch_sys_counter"];

/// ISB on both sides: the Arm ARM (D12, self-synchronised reads) lets CNTVCT_EL0 be read early.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read CNTVCT_EL0 (the vDSO does); nothing else is touched.
    unsafe {
        std::arch::asm!("isb", "mrs {ticks}, cntvct_el0", "isb", ticks = out(reg) ticks, options(nostack));
    }
    ticks
}

#[cfg(target_arch = "riscv64")]
const COUNTER_NAME: &str = "rdtime";
#[cfg(target_arch = "riscv64")]
const KERNEL_NAMES: &[&str] = &["riscv_clocksource"];

/// FENCE orders memory before and after; RISC-V has no unprivileged instruction barrier for CSR reads.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
pub(crate) fn counter() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read TIME (the vDSO does); nothing else is touched.
    unsafe {
        std::arch::asm!("fence", "rdtime {ticks}", "fence", ticks = out(reg) ticks, options(nostack));
    }
    ticks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_clock_counts_nanoseconds() {
        let clock = Clock::kernel();
        assert_eq!(clock.between(Ticks(1_000), Ticks(1_250)), Picoseconds::from_nanos(250));
        assert_eq!(clock.between(Ticks(5), Ticks(4)), Picoseconds::ZERO);
    }

    #[test]
    fn a_length_of_weeks_does_not_overflow() {
        let clock = Clock { source: Source::Counter, scale: NANOSECOND_SCALE / 3 };
        let week = clock.between(Ticks(0), Ticks(3 * 7 * 86_400 * 1_000_000_000));
        assert_eq!(week.as_seconds().round(), 7.0 * 86_400.0);
    }

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
