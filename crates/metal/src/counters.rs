//! Hardware counters, on machines that have them.

use std::io;

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

/// Counters of the one command that this process starts next, with all that it starts: in user space, from
/// where it executes its program. What this process does itself is not counted.
///
/// The child inherits such an event disabled, and execve(2) enables it; this process calls that never
/// (`inherit_event` and `perf_event_enable_on_exec` in the kernel's `kernel/events/core.c`). They serve one
/// command: when the kernel switches from a process to its child it may give the child the event itself and
/// the process the copy (`perf_event_context_sched_out`), and what is enabled once is not again.
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

impl CommandCounters {
    /// Of instructions and cycles.
    ///
    /// # Errors
    /// The kernel's reason: no such hardware (most virtual machines), or not permitted.
    pub(crate) fn hardware() -> io::Result<Self> {
        Self::of([Hardware::INSTRUCTIONS, Hardware::CPU_CYCLES])
    }

    fn of<E: Event>(events: [E; 2]) -> io::Result<Self> {
        let counter = |event| Builder::new(event).inherit(true).enable_on_exec(true).build();
        events.into_iter().map(counter).collect::<io::Result<_>>().map(Self)
    }

    /// What they counted, when the command has ended. None where the hardware counted for others meanwhile.
    ///
    /// # Errors
    /// One could not be read.
    pub(crate) fn read(mut self) -> io::Result<Option<Counts>> {
        let mut counts = [0; 2];
        for (count, counter) in counts.iter_mut().zip(&mut self.0) {
            let data = counter.read_full()?;
            if data.time_running() != data.time_enabled() {
                return Ok(None);
            }
            *count = data.count();
        }
        let [instructions, cycles] = counts;
        Ok(Some(Counts { instructions, cycles }))
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
        let counters = || CommandCounters::of([Software::PAGE_FAULTS, Software::TASK_CLOCK]);
        if let Err(error) = counters() {
            eprintln!("skipped: no perf events at all ({error})");
            return;
        }
        let faults = |script: &str| {
            let counters = counters().unwrap();
            if !script.is_empty() {
                assert!(Command::new("sh").args(["-c", script]).status().unwrap().success());
            }
            // Pages of this process, touched for the first time.
            std::hint::black_box(vec![1_u8; 16 << 20]);
            counters.read().unwrap().unwrap().instructions
        };
        for _ in 0..4 {
            let (none, one, three) = (faults(""), faults("true"), faults("sh -c true; sh -c true; true"));
            assert!(none == 0 && one > 10 && three > 2 * one && three < 4096, "{none} {one} {three}");
        }
    }
}
