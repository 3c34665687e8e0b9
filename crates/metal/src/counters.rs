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

#[cfg(test)]
mod tests {
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
}
