//! Workers, each held on its CPU, that run one epoch together. Epochs are timed here and nowhere else.

use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::thread::futex;
use tenbin_model::{Bytes, Cpu, Picoseconds, Share};

use crate::clock::{Clock, Ticks};
use crate::counters::Counts;
use crate::fault::Fault;
use crate::pin::{Pin, are_different, current_cpu};
use crate::stack;
use crate::usage::Usage;

/// What one worker does in an epoch: given its index and the iterations, it runs them and returns
/// how many attempts failed (0 where that has no meaning).
///
/// It must end on its own: a team can report a late worker, but not stop one.
pub type Task = Arc<dyn Fn(usize, u64) -> u64 + Send + Sync>;

/// One epoch of a team, as measured.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lap {
    /// From the first worker's start to the last worker's end.
    pub elapsed: Picoseconds,
    /// Where the first worker ran.
    pub cpu: Cpu,
    /// What the workers were charged with around their parts, all together; waiting for each other
    /// before and after is left out.
    pub usage: Usage,
    /// One entry per worker when there are several or when an attempt failed, else empty.
    pub shares: Vec<Share>,
    /// What is known of a command beside that; none where none was run.
    pub command: Option<Command>,
    /// What hardware counted of a command or a worker; none where that was not asked for.
    pub counts: Option<Counts>,
    /// What the epoch takes by the middle one of the calls that it was divided into; none where it was not.
    pub middle_call: Option<Picoseconds>,
}

/// What is known of a command that was timed, beside its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The most memory that it had resident at a time.
    pub peak_memory: Bytes,
    /// Its status, or 256 and the number of the signal that ended it.
    pub exit_status: u64,
}

/// Workers on CPUs. The calling thread is the first of them, so a team of one starts no thread.
///
/// Workers with a CPU of their own wait by spinning, for at most [`SPIN`], and start together;
/// workers that share a CPU would only keep each other from running, so they sleep between epochs
/// and start as the scheduler lets them.
pub struct Team {
    clock: Clock,
    cpus: Vec<Cpu>,
    exclusive: bool,
    board: Arc<Board>,
    threads: Vec<JoinHandle<()>>,
    /// A worker missed its deadline: it may still be at work, so nothing more can be timed.
    late: bool,
    _pin: Pin,
}

/// How long a worker spins for the next epoch before it sleeps.
pub const SPIN: Duration = Duration::from_micros(200);

/// How long the other workers may take. The first one is the caller itself: nobody can stop waiting
/// for it, so a [`Task`] must end on its own.
const DEADLINE: Duration = Duration::from_secs(30);

/// What the workers share: the epoch to run, and how far each has come.
#[derive(Default)]
struct Board {
    /// Number of the epoch that workers should run; a change wakes them.
    epoch: AtomicU32,
    /// Workers that are ready to start this epoch.
    ready: AtomicUsize,
    /// Number of the epoch that has started.
    started: AtomicU32,
    /// Workers that have finished this epoch, counted in a futex that the first worker sleeps on.
    finished: AtomicU32,
    /// How much lower than usual the workers' stacks begin.
    stack: AtomicUsize,
    /// Work of the epoch, `None` to leave.
    work: Mutex<Option<(Task, u64)>>,
    /// What each worker but the first saw in its last epoch.
    outcomes: Vec<Mutex<Result<Stint, Fault>>>,
}

/// One worker's part of an epoch.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stint {
    pub(crate) start: Ticks,
    pub(crate) end: Ticks,
    pub(crate) failures: u64,
    pub(crate) usage: Usage,
}

impl Lap {
    /// The parts of one epoch together, of which there is at least one; the first worker ran on `cpu`.
    pub(crate) fn of(clock: Clock, cpu: Cpu, stints: &[Stint]) -> Self {
        let start = stints.iter().map(|stint| stint.start).min().unwrap_or(stints[0].start);
        let end = stints.iter().map(|stint| stint.end).max().unwrap_or(stints[0].end);
        let worth_telling = stints.len() > 1 || stints[0].failures > 0;
        let shares = stints
            .iter()
            .filter(|_| worth_telling)
            .map(|stint| Share { elapsed: clock.between(stint.start, stint.end), failures: stint.failures });
        Self {
            elapsed: clock.between(start, end),
            cpu,
            usage: stints.iter().fold(Usage::default(), |sum, stint| sum.plus(&stint.usage)),
            shares: shares.collect(),
            ..Self::default()
        }
    }
}

impl Team {
    /// Pins the calling thread to the first of `cpus` and starts a worker on each of the others.
    ///
    /// # Errors
    /// [`Fault::System`] when a CPU cannot be pinned to or a thread not be started.
    ///
    /// # Panics
    /// If `cpus` is empty.
    pub fn gather(clock: Clock, cpus: &[Cpu]) -> Result<Self, Fault> {
        assert!(!cpus.is_empty(), "a team has at least one worker");
        let exclusive = are_different(cpus);
        let others = cpus.len() - 1;
        let board = Arc::new(Board {
            outcomes: (0..others).map(|_| Mutex::new(Err(Fault::Panicked))).collect(),
            ..Board::default()
        });
        let mut team = Self {
            clock,
            cpus: cpus.to_vec(),
            exclusive,
            board: Arc::clone(&board),
            threads: Vec::with_capacity(others),
            late: false,
            _pin: Pin::hold(cpus[0])?,
        };
        let (report, pins) = mpsc::channel();
        for (index, &cpu) in cpus.iter().enumerate().skip(1) {
            let board = Arc::clone(&board);
            let report = report.clone();
            let life = move || {
                let pin = Pin::hold(cpu);
                let held = pin.is_ok();
                // The receiver lives until every worker has reported.
                let _ = report.send(pin.as_ref().err().map(ToString::to_string));
                drop(report);
                if held {
                    serve(&board, clock, exclusive, index, cpu);
                }
            };
            let thread = thread::Builder::new()
                .name(format!("worker-{index}"))
                .spawn(life)
                .map_err(|error| Fault::system(format!("start worker {index} for {cpu}"), error))?;
            team.threads.push(thread);
        }
        drop(report);
        match pins.iter().flatten().next() {
            None => Ok(team),
            Some(why) => Err(Fault::Unpinned { why }),
        }
    }

    /// How many workers there are.
    pub fn size(&self) -> usize {
        self.cpus.len()
    }

    /// The CPU of each worker.
    pub fn cpus(&self) -> &[Cpu] {
        &self.cpus
    }

    /// The clock that this team is timed by.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// Lets the workers' stacks begin elsewhere from here on: each number of a layout has its place.
    ///
    /// Where a stack begins is decided by the length of the environment, among other things, and can change
    /// what is measured (Mytkowicz et al. 2009). An apparatus that is laid anew for each block calls this.
    pub fn shift_stack(&mut self, layout: u32) {
        self.board.stack.store(stack::place(layout), Ordering::Relaxed);
    }

    /// Runs `iterations` of `task` on every worker and times them.
    ///
    /// # Errors
    /// [`Fault::PinNotHeld`] when a worker was elsewhere before or after its part,
    /// [`Fault::Late`] when one did not come to the end, [`Fault::Panicked`] when one panicked.
    pub fn lap(&mut self, task: &Task, iterations: u64) -> Result<Lap, Fault> {
        let others = self.threads.len();
        if self.late {
            return Err(Fault::Late { missing: others, deadline: DEADLINE });
        }
        let deadline = Instant::now() + DEADLINE;
        if others > 0 {
            self.call(Some((Arc::clone(task), iterations)));
            if self.exclusive {
                self.await_ready(deadline)?;
            }
        }
        if self.exclusive {
            let board = &self.board;
            board.started.store(board.epoch.load(Ordering::Relaxed), Ordering::Release);
        }
        let lower = self.board.stack.load(Ordering::Relaxed);
        let own = stint(self.clock, task, 0, self.cpus[0], iterations, lower);
        if others > 0 {
            self.await_finished(deadline)?;
        }

        let mut stints = vec![own?];
        for outcome in &self.board.outcomes {
            stints.push(std::mem::replace(&mut *lock(outcome), Err(Fault::Panicked))?);
        }
        Ok(Lap::of(self.clock, self.cpus[0], &stints))
    }

    /// Puts `work` on the board and wakes every worker.
    fn call(&self, work: Option<(Task, u64)>) {
        let board = &self.board;
        *lock(&board.work) = work;
        board.ready.store(0, Ordering::Relaxed);
        board.finished.store(0, Ordering::Relaxed);
        board.epoch.fetch_add(1, Ordering::Release);
        // A wake-up that finds nobody asleep costs little; one that fails leaves them to their time-out.
        let _ = futex::wake(&board.epoch, futex::Flags::PRIVATE, i32::MAX as u32);
    }

    fn await_ready(&mut self, deadline: Instant) -> Result<(), Fault> {
        let others = self.threads.len();
        let mut turns = 0_u32;
        loop {
            let ready = self.board.ready.load(Ordering::Acquire);
            if ready == others {
                return Ok(());
            }
            turns = turns.wrapping_add(1);
            if turns.is_multiple_of(1024) && Instant::now() > deadline {
                self.late = true;
                return Err(Fault::Late { missing: others - ready, deadline: DEADLINE });
            }
            std::hint::spin_loop();
        }
    }

    fn await_finished(&mut self, deadline: Instant) -> Result<(), Fault> {
        let others = self.threads.len() as u32;
        let spin_until = Instant::now() + SPIN;
        loop {
            let finished = self.board.finished.load(Ordering::Acquire);
            if finished == others {
                return Ok(());
            }
            let now = Instant::now();
            if now > deadline {
                self.late = true;
                return Err(Fault::Late { missing: (others - finished) as usize, deadline: DEADLINE });
            }
            if self.exclusive && now < spin_until {
                std::hint::spin_loop();
            } else {
                sleep_while(&self.board.finished, finished);
            }
        }
    }
}

impl Drop for Team {
    fn drop(&mut self) {
        self.call(None);
        if self.late {
            // The late worker keeps the board alive by its own `Arc` and leaves when it is done;
            // waiting for it here could take for ever.
            return;
        }
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

/// A worker's life: wait for an epoch, run it, report, until the board says to leave.
fn serve(board: &Board, clock: Clock, exclusive: bool, index: usize, cpu: Cpu) {
    let outcome = &board.outcomes[index - 1];
    let mut seen = 0;
    'epochs: loop {
        let epoch = await_epoch(board, seen, exclusive);
        seen = epoch;
        let work = lock(&board.work).clone();
        let Some((task, iterations)) = work else { return };
        if exclusive {
            board.ready.fetch_add(1, Ordering::AcqRel);
            let mut turns = 0_u32;
            while board.started.load(Ordering::Acquire) != epoch {
                turns = turns.wrapping_add(1);
                // The first worker gave up on this epoch, or the team was dissolved.
                if turns.is_multiple_of(1024) && board.epoch.load(Ordering::Acquire) != epoch {
                    continue 'epochs;
                }
                std::hint::spin_loop();
            }
        }
        let lower = board.stack.load(Ordering::Relaxed);
        let result = stint(clock, &task, index, cpu, iterations, lower);
        drop(task);
        *lock(outcome) = result;
        board.finished.fetch_add(1, Ordering::AcqRel);
        let _ = futex::wake(&board.finished, futex::Flags::PRIVATE, 1);
    }
}

/// Runs one worker's part on a stack that begins `lower` bytes below, and times it, pin read back on both
/// sides.
fn stint(
    clock: Clock,
    task: &Task,
    worker: usize,
    wanted: Cpu,
    iterations: u64,
    lower: usize,
) -> Result<Stint, Fault> {
    let before = current_cpu();
    let charged = Usage::of_this_thread();
    let (start, failures, end) = stack::lowered(lower, || {
        let start = clock.now();
        let failures = task(worker, iterations);
        (start, failures, clock.now())
    })
    .map_err(|_| Fault::Panicked)?;
    let usage = Usage::of_this_thread().since(&charged);
    let after = current_cpu();
    for actual in [before, after] {
        if actual != wanted {
            return Err(Fault::PinNotHeld { worker, wanted, actual });
        }
    }
    Ok(Stint { start, end, failures, usage })
}

fn await_epoch(board: &Board, seen: u32, exclusive: bool) -> u32 {
    let spin_until = Instant::now() + SPIN;
    loop {
        let epoch = board.epoch.load(Ordering::Acquire);
        if epoch != seen {
            return epoch;
        }
        if exclusive && Instant::now() < spin_until {
            std::hint::spin_loop();
        } else {
            sleep_while(&board.epoch, seen);
        }
    }
}

/// Sleeps until `word` is woken and no longer `value`, at most 100 ms: callers look again.
fn sleep_while(word: &AtomicU32, value: u32) {
    let limit = futex::Timespec { tv_sec: 0, tv_nsec: 100_000_000 };
    // Every failure (value changed, interrupted, timed out) means the same: look again.
    let _ = futex::wait(word, futex::Flags::PRIVATE, value, Some(&limit));
}

/// A poisoned lock only says that a worker panicked, which is reported on its own.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;
    use std::sync::atomic::AtomicU64;

    use super::*;
    use crate::pin::allowed_cpus;

    fn cpus(count: usize) -> Vec<Cpu> {
        allowed_cpus().unwrap().into_iter().cycle().take(count).collect()
    }

    #[test]
    fn every_worker_runs_every_iteration_of_every_epoch_once() {
        for workers in [1, 2, 3, 4] {
            let mut team = Team::gather(Clock::kernel(), &cpus(workers)).unwrap();
            let total = Arc::new(AtomicU64::new(0));
            let counted = Arc::clone(&total);
            let task: Task = Arc::new(move |_, iterations| {
                counted.fetch_add(iterations, Ordering::Relaxed);
                0
            });
            for _ in 0..50 {
                let lap = team.lap(&task, 7).unwrap();
                assert_eq!(lap.shares.len(), if workers == 1 { 0 } else { workers });
                assert!(lap.shares.iter().all(|share| share.elapsed <= lap.elapsed));
            }
            assert_eq!(total.load(Ordering::Relaxed), 50 * 7 * workers as u64);
        }
    }

    #[test]
    fn failures_are_told_worker_by_worker() {
        let mut team = Team::gather(Clock::kernel(), &cpus(3)).unwrap();
        let task: Task = Arc::new(|worker, _| worker as u64 * 10);
        let lap = team.lap(&task, 1).unwrap();
        let failures: Vec<u64> = lap.shares.iter().map(|share| share.failures).collect();
        assert_eq!(failures, [0, 10, 20]);
    }

    #[test]
    fn a_worker_that_panics_is_reported_and_the_team_goes_on() {
        let mut team = Team::gather(Clock::kernel(), &cpus(2)).unwrap();
        let bad: Task = Arc::new(|worker, _| if worker == 1 { panic!("planted") } else { 0 });
        assert!(matches!(team.lap(&bad, 1), Err(Fault::Panicked)));
        let good: Task = Arc::new(|_, _| 0);
        assert!(team.lap(&good, 1).is_ok());
    }

    #[test]
    fn a_worker_that_leaves_its_cpu_fails_the_epoch() {
        let all = allowed_cpus().unwrap();
        let Some(&elsewhere) = all.get(1) else {
            eprintln!("skipped: one CPU, so there is none to leave for");
            return;
        };
        let mut team = Team::gather(Clock::kernel(), &all[..1]).unwrap();
        let task: Task = Arc::new(move |_, _| {
            std::mem::forget(Pin::hold(elsewhere));
            0
        });
        match team.lap(&task, 1) {
            Err(Fault::PinNotHeld { worker: 0, actual, .. }) => assert_eq!(actual, elsewhere),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_shifted_stack_is_the_one_that_every_worker_runs_on() {
        let mut team = Team::gather(Clock::kernel(), &cpus(2)).unwrap();
        let lowest: Arc<[AtomicUsize; 2]> = Arc::default();
        let seen = Arc::clone(&lowest);
        let task: Task = Arc::new(move |worker, _| {
            let local = 0_u8;
            seen[worker].store(std::hint::black_box(&raw const local).addr(), Ordering::Relaxed);
            0
        });
        let mut places = [HashSet::new(), HashSet::new()];
        for block in 0..8 {
            team.shift_stack(block);
            team.lap(&task, 1).unwrap();
            places.iter_mut().zip(lowest.iter()).for_each(|(places, address)| {
                places.insert(address.load(Ordering::Relaxed));
            });
        }
        assert_eq!(places.map(|places| places.len()), [8, 8], "eight blocks, eight places");
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_refused_when_the_team_gathers() {
        for cpus in [vec![Cpu(1_000)], vec![allowed_cpus().unwrap()[0], Cpu(1_000)]] {
            let fault = Team::gather(Clock::kernel(), &cpus).map(|_| ()).unwrap_err();
            assert!(fault.to_string().contains("CPU 1000"), "{fault}");
        }
    }
}
