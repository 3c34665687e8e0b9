//! What observing costs: the same work bare and observed, the least of many batches. They are done by some
//! threads, as it is by the end of a thread that its time in user code is known.

use std::fs::File;
use std::io::{Read, Seek, Write};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use aya::maps::{Array, PerCpuArray, PerCpuValues, Queue};
use aya::programs::BtfTracePoint;
use aya::sys::{Stats, enable_stats};
use aya::util::nr_cpus;
use tenbin_model::Picoseconds;

use super::faults::Faults;
use super::layout::{RawPending, RawRow, RawThread};
use super::{Nanoseconds, Profiler, ROWS, length, place};
use crate::bpf::chain;
use crate::child;
use crate::pages::{PageKind, Pages};
use crate::pin::{Pin, current_cpu};

/// What observing adds to one event, and where it shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// By how much it takes longer.
    pub each: Picoseconds,
    /// For how long a thread seems to be in user code between two that follow at once: what comes before the
    /// first program of one and after its last one. Part of it is there unobserved.
    pub between: Picoseconds,
}

impl Cost {
    /// What this costs where it is not timed, which takes so much longer than unobserved. What those that are
    /// timed are seen to take is counted for it too, and the rest shows as user code.
    fn untimed(self, each: Picoseconds) -> Self {
        Self { each, between: self.between.saturating_sub(self.each.saturating_sub(each)) }
    }
}

/// What observing costs, by what is observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    /// A system call.
    pub call: Cost,
    /// One that is not timed, as others stand for it; none where each one is timed.
    pub untimed_call: Option<Cost>,
    /// One of which only the end is seen; none where each one is seen to begin.
    pub unseen_call: Option<Cost>,
    /// A page fault; none where they are not seen.
    pub fault: Option<Cost>,
    /// One that is not timed; none where each one is.
    pub untimed_fault: Option<Cost>,
    /// A thread that leaves its CPU for another one, is woken, and comes back. None where two threads could
    /// not be held on one CPU.
    pub switch: Option<Picoseconds>,
}

/// Batches, of which the least counts: what else runs here makes them longer, and nothing shorter. So short,
/// that most are not interrupted.
const BATCHES: u32 = 8;
const CALLS: u32 = 150;
const FAULTS: u32 = 60;
const ROUNDS: u32 = 20;

/// Threads that do so many each.
const THREADS: u32 = 3;

/// For how long the end of a thread may not be seen.
const PATIENCE: Duration = Duration::from_secs(3);

/// How often the threads are begun until the ends of all are seen. The kernel leaves a program out that would
/// run while it runs already on that CPU (`recursion_misses` of `struct bpf_prog_info`), and whoever lost a
/// beginning or an end by that would be told that nothing is seen.
const ATTEMPTS: u32 = 2;

/// Calls that took long so far: each is timed.
const ALL_TIMED: RawRow =
    RawRow { split: Nanoseconds { on_cpu: 1 << 60, queued: 0, blocked: 0 }, ..RawRow::EMPTY };

/// None of the next ones is timed.
const NONE_TIMED: RawPending = RawPending { left: u16::MAX, ..RawPending::NONE };

/// All batches of a thread: the least that one event took.
type Batches = fn() -> Option<Duration>;

/// What the work takes without anything that observes it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bare {
    call: Option<Picoseconds>,
    fault: Option<Picoseconds>,
    /// None where it is the kernel that counts for how long programs run for a switch.
    half_round: Option<Picoseconds>,
}

impl Bare {
    /// Where calls are told apart by their file, the call is one that is about a file.
    pub(super) fn measure(follows_files: bool) -> Self {
        let call = least(if follows_files { calls_about_a_file } else { calls });
        let half_round = enable_stats(Stats::RunTime).map_or_else(|_| least(switches), |_| None);
        Self { call, fault: least(faults), half_round }
    }
}

/// What a system call takes unobserved that does next to nothing.
pub(crate) fn call_time() -> Option<Picoseconds> {
    least(calls)
}

impl Profiler {
    /// Does the same work again, now that programs are attached; page faults are seen from then on. A thread
    /// that the starter begins is followed, as a command is; it executes nothing, and is not reported. None
    /// where nothing is seen of it.
    pub(super) fn measure_costs(&mut self, bare: Bare) -> Option<Costs> {
        let batches = if self.follows_files { calls_about_a_file } else { calls };
        let mut unseen_call = None;
        if self.calls.rest_at_times() {
            unseen_call = Some(self.cost(batches, CALLS, bare.call)?.each);
            self.calls.see(&mut self.loaded).ok()?;
        }
        self.preset(ALL_TIMED, RawPending::NONE)?;
        let call = self.cost(batches, CALLS, bare.call)?;
        self.preset(RawRow::EMPTY, NONE_TIMED)?;
        let untimed_call = match self.follows_files {
            false => self.cost(batches, CALLS, bare.call).map(|untimed| call.untimed(untimed.each)),
            true => None,
        };
        self.preset(RawRow::EMPTY, RawPending::NONE)?;
        let unseen = self.counts.then(|| self.cost(faults, FAULTS, bare.fault)).flatten();
        let seen = self.faults.as_mut().ok().map(Faults::see);
        if let Some(Err(error)) = seen {
            self.faults = Err(chain(&error));
        }
        let fault = self.faults.is_ok().then(|| self.cost(faults, FAULTS, bare.fault)).flatten();
        let untimed_fault = fault.zip(unseen).map(|(fault, unseen)| fault.untimed(unseen.each));
        // As it was before.
        self.preset(RawRow::EMPTY, RawPending::NONE)?;
        let switch = match self.switch_time() {
            None => {
                let half_round = self.named(|| least(switches)).ok()?;
                // Each half of a round is a write, a read and a switch.
                half_round.zip(bare.half_round).map(|(observed, bare)| {
                    let calls = Picoseconds(2 * call.each.0);
                    observed.saturating_sub(bare).saturating_sub(calls)
                })
            }
            time => time,
        };
        let unseen_call = unseen_call.map(|each| call.untimed(each));
        Some(Costs { call, untimed_call, unseen_call, fault, untimed_fault, switch })
    }

    /// Writes, for each CPU, what was added up so far of threads that execute nothing, as those that do the
    /// work here.
    fn preset(&mut self, row: RawRow, pending: RawPending) -> Option<()> {
        let mut rows = PerCpuArray::<_, RawRow>::try_from(self.loaded.map_mut("rows")?).ok()?;
        let cpus = nr_cpus().ok()?;
        rows.set(ROWS, PerCpuValues::try_from(vec![row; cpus]).ok()?, 0).ok()?;
        let mut pendings = Array::<_, RawPending>::try_from(self.loaded.map_mut("pendings")?).ok()?;
        (0..).zip(0..cpus).try_for_each(|(cpu, _)| pendings.set(place(cpu, ROWS), pending, 0)).ok()
    }

    /// For how long programs run for a switch, as the kernel counts that while it is asked to
    /// (`BPF_ENABLE_STATS`, Linux 5.8). What two threads that take turns make of it varies more than it is.
    /// None without `CAP_SYS_ADMIN`, which that needs and observing does not.
    fn switch_time(&mut self) -> Option<Picoseconds> {
        let _counted = enable_stats(Stats::RunTime).ok()?;
        let before = self.run_times()?;
        self.named(|| thread::spawn(switches).join().ok()).ok()???;
        let after = self.run_times()?;
        let passed = |place: usize| {
            let time = after[place].0.checked_sub(before[place].0)?;
            let count = after[place].1.checked_sub(before[place].1).filter(|count| *count > 0)?;
            u32::try_from(count).ok().map(|count| time / count)
        };
        let each = passed(0)? + passed(1)?;
        Some(Picoseconds::from_nanos(u64::try_from(each.as_nanos()).ok()?))
    }

    /// For how long the programs of a switch ran so far, and how often.
    fn run_times(&self) -> Option<[(Duration, u64); 2]> {
        let of = |name: &str| {
            let program: &BtfTracePoint = self.loaded.program(name)?.try_into().ok()?;
            let info = program.info().ok()?;
            Some((info.run_time(), info.run_count()))
        };
        Some([of("switched")?, of("waking")?])
    }

    fn cost(&mut self, batches: Batches, events: u32, bare: Option<Picoseconds>) -> Option<Cost> {
        (0..ATTEMPTS).find_map(|_| self.seen(batches, events, bare))
    }

    /// What it costs where the ends of all threads are seen.
    fn seen(&mut self, batches: Batches, events: u32, bare: Option<Picoseconds>) -> Option<Cost> {
        let observed = self.named(|| least(batches)).ok()??;
        let mut ended = Queue::<_, RawThread>::try_from(self.loaded.map_mut("ended")?).ok()?;
        let mut between = u64::MAX;
        for _ in 0..THREADS {
            // Whoever waits for a thread is woken a little before its end is seen.
            let asked = Instant::now();
            let thread = loop {
                if let Ok(thread) = ended.pop(0) {
                    break thread;
                }
                if asked.elapsed() > PATIENCE {
                    return None;
                }
                thread::yield_now();
            };
            between = between.min(thread.user.on_cpu / u64::from(BATCHES * events));
        }
        Some(Cost { each: observed.saturating_sub(bare?), between: length(between) })
    }
}

/// The least of threads that this one begins, one after the other.
fn least(batches: Batches) -> Option<Picoseconds> {
    let mut least = Duration::MAX;
    for _ in 0..THREADS {
        least = least.min(thread::spawn(batches).join().ok()??);
    }
    Some(Picoseconds::from_nanos(u64::try_from(least.as_nanos()).ok()?))
}

/// The least that one of so many events took.
fn timed(events: u32, mut work: impl FnMut()) -> Duration {
    let batch = |_| {
        let before = child::monotonic();
        work();
        child::monotonic().saturating_sub(before) / events
    };
    (0..BATCHES).map(batch).min().unwrap_or_default()
}

/// getppid(2) does next to nothing; the vDSO does not answer it.
fn calls() -> Option<Duration> {
    Some(timed(CALLS, || {
        for _ in 0..CALLS {
            parent();
        }
    }))
}

/// Two functions that return after a system call, as one of libc and its caller do. Where the kernel spoils
/// the return stack of the CPU (on AMD's Zen 4 by its safe returns,
/// `Documentation/admin-guide/hw-vuln/srso.rst`), those returns take some 50 ns longer bare and 100 ns longer
/// observed; a third one adds no more than 10 ns.
#[inline(never)]
fn parent() {
    std::hint::black_box(parent_of_this());
}

#[inline(never)]
fn parent_of_this() -> Option<rustix::process::Pid> {
    std::hint::black_box(rustix::process::getppid())
}

/// lseek(2) of /dev/null does little more, and is about a file.
fn calls_about_a_file() -> Option<Duration> {
    let mut file = File::open("/dev/null").ok()?;
    let mut failed = None;
    let took = timed(CALLS, || {
        for _ in 0..CALLS {
            failed = file.stream_position().err();
        }
    });
    failed.is_none().then_some(took)
}

/// First reads of anonymous memory: the kernel maps the page of zeros, so that no page is allocated or
/// cleared, which takes longer and varies more than all else.
fn faults() -> Option<Duration> {
    let page = rustix::param::page_size();
    let pages = Pages::map((BATCHES * FAULTS) as usize * page, PageKind::Base).ok()?;
    let mut batches = pages.chunks(FAULTS as usize * page);
    Some(timed(FAULTS, || {
        for page in batches.next().into_iter().flat_map(|batch| batch.chunks(page)) {
            std::hint::black_box(page[0]);
        }
    }))
}

/// Two threads on one CPU that hand a byte to and fro: halves of rounds.
fn switches() -> Option<Duration> {
    let cpu = current_cpu();
    let _pin = Pin::hold(cpu).ok()?;
    let (mut to_echo, mut of_caller) = std::io::pipe().ok()?;
    let (mut to_caller, mut of_echo) = std::io::pipe().ok()?;
    let echo: JoinHandle<std::io::Result<()>> = thread::spawn(move || {
        let mut byte = [0];
        while to_echo.read(&mut byte)? > 0 {
            of_echo.write_all(&byte)?;
        }
        Ok(())
    });
    let mut failed = None;
    let took = timed(2 * ROUNDS, || {
        for _ in 0..ROUNDS {
            let mut byte = [0];
            let handed = of_caller.write_all(&byte).and_then(|()| to_caller.read_exact(&mut byte));
            if let Err(error) = handed {
                failed = Some(error);
                break;
            }
        }
    });
    drop(of_caller);
    let is_whole = echo.join().is_ok_and(|echoed| echoed.is_ok()) && failed.is_none();
    is_whole.then_some(took)
}
