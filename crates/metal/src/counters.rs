//! Hardware counters, on machines that have them.

use std::io;
use std::time::Duration;

use perf_event::events::{Event, Hardware};
use perf_event::{Builder, Counter};

/// Counters of this thread in user space, side by side.
pub struct Counters {
    pub(crate) counters: Vec<(&'static str, Counter)>,
}

impl Counters {
    /// Counters of instructions, cycles and mispredicted branches.
    ///
    /// # Errors
    /// The kernel's reason: no such hardware (most virtual machines), or not permitted.
    pub fn hardware() -> io::Result<Self> {
        let events = [
            ("instructions", Hardware::INSTRUCTIONS),
            ("cycles", Hardware::CPU_CYCLES),
            ("branch misses", Hardware::BRANCH_MISSES),
        ];
        Self::of(&events)
    }

    /// Counters of `events`, each under a name. They start at zero and stand still.
    fn of<E: Event + Clone>(events: &[(&'static str, E)]) -> io::Result<Self> {
        let counters = events
            .iter()
            .map(|(name, event)| Ok((*name, Builder::new(event.clone()).build()?)))
            .collect::<io::Result<_>>()?;
        Ok(Self { counters })
    }

    /// Runs `work` and returns what it returned and what was counted meanwhile, by name.
    ///
    /// # Errors
    /// A counter could not be switched or read.
    pub fn around<T>(&mut self, work: impl FnOnce() -> T) -> io::Result<(T, Vec<(&'static str, u64)>)> {
        for (_, counter) in &mut self.counters {
            counter.reset()?;
        }
        for (_, counter) in &mut self.counters {
            counter.enable()?;
        }
        let result = work();
        for (_, counter) in &mut self.counters {
            counter.disable()?;
        }
        let mut counted = Vec::with_capacity(self.counters.len());
        for (name, counter) in &mut self.counters {
            counted.push((*name, counter.read()?));
        }
        Ok((result, counted))
    }
}

/// Counters of the commands that this process starts from now on, with all that those start: in user space,
/// of each from where it executes its program. What this process does itself is not counted.
///
/// A child inherits such an event disabled, and execve(2) enables it; this process calls that never
/// (`inherit_event` and `perf_event_enable_on_exec` in the kernel's `kernel/events/core.c`). What a process
/// counted is there when it has ended.
#[derive(Debug)]
pub(crate) struct CommandCounters(Vec<Counter>);

/// What hardware counted of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that were retired.
    pub instructions: u64,
    /// Cycles of the CPU's own clock.
    pub cycles: u64,
}

/// A counter at a moment: its value, and for how long events were to be counted and were.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stand {
    count: u64,
    enabled: Duration,
    running: Duration,
}

impl Stand {
    /// What was counted since `before`. None where the hardware counted for others meanwhile.
    fn since(self, before: Self) -> Option<u64> {
        let enabled = self.enabled.saturating_sub(before.enabled);
        let running = self.running.saturating_sub(before.running);
        // Switching a counter on may take some nanoseconds of a command.
        (running * 1_000 >= enabled * 999).then(|| self.count.wrapping_sub(before.count))
    }
}

impl CommandCounters {
    /// Of instructions and cycles.
    ///
    /// # Errors
    /// The kernel's reason: no such hardware (most virtual machines), or not permitted.
    pub(crate) fn hardware() -> io::Result<Self> {
        Self::of(&[Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES])
    }

    fn of<E: Event + Clone>(events: &[E]) -> io::Result<Self> {
        let counter = |event: &E| Builder::new(event.clone()).inherit(true).enable_on_exec(true).build();
        events.iter().map(counter).collect::<io::Result<_>>().map(Self)
    }

    /// Where they stand, in the order of their events.
    ///
    /// # Errors
    /// One could not be read.
    pub(crate) fn read(&mut self) -> io::Result<Vec<Stand>> {
        let stand = |counter: &mut Counter| {
            let data = counter.read_full()?;
            let time = |time: Option<Duration>| time.unwrap_or_default();
            Ok(Stand {
                count: data.count(),
                enabled: time(data.time_enabled()),
                running: time(data.time_running()),
            })
        };
        self.0.iter_mut().map(stand).collect()
    }

    /// What they counted between two readings.
    pub(crate) fn between(before: &[Stand], after: &[Stand]) -> Option<Counts> {
        let ([first, second], [instructions, cycles]) = (before, after) else { return None };
        Some(Counts { instructions: instructions.since(*first)?, cycles: cycles.since(*second)? })
    }
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use perf_event::events::Software;

    use super::*;

    /// A software event stands in: it takes the same way through the kernel and is there in guests too.
    #[test]
    fn events_of_the_work_are_counted_and_its_result_returned() {
        let mut counters = match Counters::of(&[("task clock", Software::TASK_CLOCK)]) {
            Ok(counters) => counters,
            Err(error) => {
                eprintln!("skipped: no perf events at all ({error})");
                return;
            }
        };
        let work = || (0..100_000_u64).fold(0, |sum: u64, number| std::hint::black_box(sum ^ number));
        let (result, counted) = counters.around(work).unwrap();
        assert_eq!(result, (0..100_000).fold(0, |sum, number| sum ^ number));
        assert!(counted[0].0 == "task clock" && counted[0].1 > 0, "{counted:?}");
    }

    /// Page faults stand in for instructions.
    #[test]
    fn commands_are_counted_from_their_execution_on_and_we_are_not() {
        let mut counters = match CommandCounters::of(&[Software::PAGE_FAULTS, Software::TASK_CLOCK]) {
            Ok(counters) => counters,
            Err(error) => {
                eprintln!("skipped: no perf events at all ({error})");
                return;
            }
        };
        let before = counters.read().unwrap();
        // Pages of this process, touched for the first time.
        std::hint::black_box(vec![1_u8; 4 << 20]);
        let own = CommandCounters::between(&before, &counters.read().unwrap()).unwrap();
        assert_eq!((own.instructions, own.cycles), (0, 0));
        let mut faults = |script: &str| {
            let before = counters.read().unwrap();
            assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
            CommandCounters::between(&before, &counters.read().unwrap()).unwrap().instructions
        };
        let (one, three) = (faults("true"), faults("sh -c true; sh -c true; true"));
        assert!(one > 10 && three > 2 * one, "{one} {three}");
    }

    #[test]
    fn what_was_counted_only_now_and_then_is_not_known() {
        let stand = |count, enabled, running| {
            let time = Duration::from_micros;
            Stand { count, enabled: time(enabled), running: time(running) }
        };
        assert_eq!(stand(70, 9_000, 9_000).since(stand(20, 5_000, 5_000)), Some(50));
        assert_eq!(stand(70, 9_000, 8_000).since(stand(20, 5_000, 5_000)), None);
    }
}
