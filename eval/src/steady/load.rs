//! Processes that keep CPUs busy, and that end with whoever wanted them.
//!
//! Three things end such a process: its owner, by its id, also while a panic unwinds; the end of its
//! standard input, which is a pipe that its owner holds, so that an owner who is killed lets go of it
//! too; and its own deadline.

use std::hint::black_box;
use std::io::{self, Read};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, TryRecvError};
use std::thread;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64;
use rustix::thread::{CpuSet, sched_setaffinity};

use xtask::failure::Failure;

use crate::cpus;

/// Busy processes; dropping it ends them.
pub(crate) struct Load {
    busy: Vec<Child>,
}

impl Load {
    /// Start `count` processes. If one cannot be started, those before it are ended.
    pub(crate) fn start(count: usize, command: impl Fn(usize) -> Command) -> Result<Self, Failure> {
        let mut load = Self { busy: Vec::with_capacity(count) };
        for number in 1..=count {
            let child =
                command(number).stdin(Stdio::piped()).stdout(Stdio::null()).spawn().map_err(|error| {
                    let tried = format!("start busy process {number} of {count}");
                    Failure::new(tried, error, "allow more processes, or choose a smaller --load")
                })?;
            load.busy.push(child);
        }
        Ok(load)
    }

    /// Fail if one of them has ended by itself.
    pub(crate) fn insist(&mut self) -> Result<(), Failure> {
        for child in &mut self.busy {
            let reason = match child.try_wait() {
                Ok(None) => continue,
                Ok(Some(status)) => format!("a busy process ended before the run: {status}"),
                Err(error) => error.to_string(),
            };
            return Err(Failure::new("keep the CPUs busy", reason, "find out what ended it"));
        }
        Ok(())
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        // First all, then wait: so that no run begins beside the last of them.
        for child in &mut self.busy {
            // One that has ended by itself cannot be killed, and need not be.
            let _ = child.kill();
        }
        for child in &mut self.busy {
            let _ = child.wait();
        }
    }
}

/// This very program as a busy process, even if a newer one has been built in its place.
pub(crate) fn of_this_program(seconds: u64, moving: Option<u64>) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.args(["busy", &seconds.to_string()]);
    if let Some(seed) = moving {
        command.args(["--moving", &seed.to_string()]);
    }
    command
}

/// Keep a CPU busy until `time` is over or `input` ends: one that the kernel chooses, or, of a neighbour that
/// moves, one CPU or none, drawn anew for each stretch.
pub(crate) fn busy(time: Duration, mut input: impl Read + Send + 'static, moving: Option<u64>) {
    let begun = Instant::now();
    let (gone, ended) = mpsc::channel::<()>();
    thread::spawn(move || {
        // An input that breaks has ended.
        let _ = io::copy(&mut input, &mut io::sink());
        drop(gone);
    });
    let over = || begun.elapsed() >= time || ended.try_recv() == Err(TryRecvError::Disconnected);
    match moving.map(Stretches::new) {
        None => compute(over),
        Some(mut stretches) => {
            while !over() {
                let (place, length) = stretches.draw();
                let began = Instant::now();
                match place {
                    Some(cpu) => {
                        let mut only = CpuSet::new();
                        only.set(cpu);
                        // A CPU that went offline since it was listed is no neighbour's any more.
                        let _ = sched_setaffinity(None, &only);
                        compute(|| over() || began.elapsed() >= length);
                    }
                    // Nothing is ever sent: it ends with the input or with the stretch.
                    None => drop(ended.recv_timeout(length.min(time.saturating_sub(begun.elapsed())))),
                }
            }
        }
    }
}

/// Adds until `over`.
fn compute(over: impl Fn() -> bool) {
    /// Additions between two looks at the clock: far below a millisecond.
    const ADDITIONS: u64 = 100_000;
    while !over() {
        for addend in 0..ADDITIONS {
            black_box(addend);
        }
    }
}

/// Where a neighbour that moves is, and for how long.
struct Stretches {
    generator: Pcg64,
    cpus: Vec<usize>,
}

impl Stretches {
    /// Over the CPUs that this process may use; on CPU 0 where the kernel does not say.
    fn new(seed: u64) -> Self {
        let mut cpus = cpus::allowed();
        if cpus.is_empty() {
            cpus.push(0);
        }
        Self { generator: Pcg64::seed_from_u64(seed), cpus }
    }

    /// A CPU, or none in a quarter of the stretches, and 50 ms to 2 s: regimes of every share of a cell's
    /// time.
    fn draw(&mut self) -> (Option<usize>, Duration) {
        let place = self.cpus[self.generator.random_range(0..self.cpus.len())];
        let idle = self.generator.random_range(0..4) == 0;
        ((!idle).then_some(place), Duration::from_millis(self.generator.random_range(50..=2_000)))
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// What waits for ever on the pipe that [`Load`] gives it.
    fn waiting(_: usize) -> Command {
        Command::new("cat")
    }

    fn alive(load: &Load) -> Vec<PathBuf> {
        load.busy.iter().map(|child| PathBuf::from(format!("/proc/{}", child.id()))).collect()
    }

    #[test]
    fn all_are_gone_when_it_is_dropped() {
        let mut load = Load::start(3, waiting).expect("cat can be started");
        let folders = alive(&load);
        assert_eq!(folders.len(), 3);
        assert!(folders.iter().all(|folder| folder.exists()));
        load.insist().expect("nothing ended them");
        drop(load);
        assert!(folders.iter().all(|folder| !folder.exists()));
    }

    #[test]
    fn all_are_gone_after_a_panic() {
        let (sender, receiver) = std::sync::mpsc::channel();
        let panicked = thread::spawn(move || {
            let load = Load::start(2, waiting).expect("cat can be started");
            sender.send(alive(&load)).expect("the test listens");
            panic!("planted: this panic is part of a test");
        });
        assert!(panicked.join().is_err());
        let folders = receiver.recv().expect("it was told before the panic");
        assert!(folders.len() == 2 && folders.iter().all(|folder| !folder.exists()));
    }

    #[test]
    fn one_that_ends_early_is_noticed() {
        let mut load = Load::start(1, |_| Command::new("true")).expect("it can be started");
        load.busy[0].wait().expect("it ends");
        assert!(load.insist().is_err());
    }

    #[test]
    fn what_cannot_be_started_is_a_failure() {
        let failure =
            Load::start(2, |_| Command::new("tenbin-no-such-program")).err().expect("no such program");
        assert!(failure.to_string().contains("busy process 1 of 2"), "{failure}");
        assert!(Load::start(0, waiting).expect("nothing to start").busy.is_empty());
    }

    #[test]
    fn a_busy_process_ends_with_its_input_and_with_its_time() {
        let never = Duration::from_secs(u64::MAX);
        for moving in [None, Some(1)] {
            busy(never, io::empty(), moving);
            let (reader, writer) = io::pipe().expect("there are descriptors left");
            busy(Duration::ZERO, reader, moving);
            drop(writer);
        }
    }

    #[test]
    fn a_neighbour_that_moves_is_on_every_cpu_and_on_none() {
        let mut stretches = Stretches { generator: Pcg64::seed_from_u64(1), cpus: vec![0, 3] };
        let drawn = (0..100).map(|_| stretches.draw()).collect::<Vec<_>>();
        for place in [None, Some(0), Some(3)] {
            assert!(drawn.iter().filter(|(drawn, _)| *drawn == place).count() > 5, "{place:?}");
        }
        let range = Duration::from_millis(50)..=Duration::from_secs(2);
        assert!(drawn.iter().all(|(_, length)| range.contains(length)));
    }
}
