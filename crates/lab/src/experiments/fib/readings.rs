//! What is found beside the weighing of the driver: where a read's time goes, what it allocates, what tracing
//! costs it.
//!
//! Of many reads one is told, and that choice is all the statistics here. No run keeps these reads that
//! something else could summarise later, and what is told of them is a description and no verdict. See
//! [`typical`].

mod shares;
mod sentences;

use std::fs::File;

use tenbin_metal::instructions::{nanoseconds_each, one_each};
use tenbin_metal::tracepoints::{Recorder, Tracepoints, Uncounted};
use tenbin_metal::{Clock, Fault, Pin};
use tenbin_model::machine::Virtualisation;
use tenbin_model::{Finding, Order};

use super::device::{Algorithm, Driver, DriverTimes, NumberSource, room};
use super::kernel::{asked, available, reading};
use crate::experiment::{Request, Unfit};
use crate::experiments::is_yes;

/// How long the reads of one number go on, about, and how many there are.
const BUDGET_NS: f64 = 20e6;
const READS: (u64, u64) = (3, 200);

/// Reads before each that is timed, so that it does not pay for what was asked about the one before; none
/// where a read is so long that it does not notice.
const WARMING: usize = 4;
const NOTICES_NS: f64 = 100e3;

/// Readings of the clock without a read between them.
const EMPTY: usize = 200;

/// Reads whose allocations are counted: of a small number, and of a large one.
const COUNTED: u64 = 100;
const COUNTED_LARGE: u64 = 3;
const LARGE: u64 = 10_000;

/// Reads that are recorded, and as many before and after that are not.
const TRACED: usize = 40;

/// The place that is traced and sampled: the published one.
const SEEDS_PLACE: u64 = 99;

/// What a read asks for, gives back, and takes of whole pages: those of them that a kernel has.
pub(super) const ALLOCATIONS: [&str; 4] =
    ["kmem/kmalloc", "kmem/kmalloc_node", "kmem/kmem_cache_alloc", "kmem/kmem_cache_alloc_node"];
const OTHERS: [&str; 3] = ["kmem/kfree", "kmem/kmem_cache_free", "kmem/mm_page_alloc"];

/// As many events that no read passes: who records these does all that a recorder does but the records.
const NEVER: [&str; 7] = [
    "module/module_load",
    "module/module_free",
    "module/module_request",
    "task/task_newtask",
    "task/task_rename",
    "oom/mark_victim",
    "sched/sched_process_exec",
];

/// What times are counted in here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Time, on hardware.
    Nanoseconds,
    /// Instructions of a guest whose clock counts them.
    Instructions,
}

/// Where the time of one read of some goes, in nanoseconds of the clock that was read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Split {
    /// Reads of which it is one.
    pub(super) reads: usize,
    /// From before the system call until after it, without what reading the clock takes.
    pub(super) whole: f64,
    /// The driver's own word: memory, the number, and the way to user space.
    pub(super) allocate: f64,
    pub(super) compute: f64,
    pub(super) copy: f64,
}

impl Split {
    /// What is left of the whole: the way into the kernel and out of it, and what the driver does not time,
    /// which is its lock and giving memory back. 0 where the clock is too coarse to tell.
    pub(super) fn call(&self) -> f64 {
        (self.whole - self.allocate - self.compute - self.copy).max(0.0)
    }

    /// Of these reads, each with how long it took as a whole; `empty` is what reading the clock takes. None
    /// of none.
    pub(super) fn of(mut reads: Vec<(f64, DriverTimes)>, empty: f64, unit: Unit) -> Option<Self> {
        let (whole, times) = *typical(&mut reads, |(whole, _)| *whole, unit)?;
        Some(Self {
            reads: reads.len(),
            whole: (whole - empty).max(0.0),
            allocate: times.allocate as f64,
            compute: times.compute as f64,
            copy: times.copy as f64,
        })
    }
}

/// The one that stands for all: of counted instructions the least, because whatever disturbs a read only adds
/// to it; of times the median (the upper of two), because no time is free of disturbance.
fn typical<T>(all: &mut [T], time: impl Fn(&T) -> f64, unit: Unit) -> Option<&T> {
    all.order_by(|left, right| time(left).total_cmp(&time(right)));
    match unit {
        Unit::Instructions => all.first(),
        Unit::Nanoseconds => all.get(all.len() / 2),
    }
}

fn typical_time(mut times: Vec<f64>, unit: Unit) -> f64 {
    typical(&mut times, |time| *time, unit).copied().unwrap_or_default()
}

/// How often one read passes each tracepoint.
pub(super) type Events = Vec<(&'static str, f64)>;

#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Traced {
    /// A read without, and with it, in nanoseconds of the clock that was read.
    pub(super) plain: f64,
    pub(super) traced: f64,
    /// Events that were recorded in a read, and those that were dropped in all of them.
    pub(super) events: f64,
    pub(super) lost: u64,
}

/// Whether `--set traced=yes`.
pub(super) fn traced(request: &Request<'_>) -> Result<bool, Unfit> {
    is_yes(request, "traced")
}

pub(super) fn findings(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    let driver = Driver::default();
    let largest = driver.largest()?;
    let mut places = asked(request, largest)?;
    places.order();
    let algorithms = available(&driver)?;
    let readers: Vec<(Algorithm, File)> =
        algorithms.iter().copied().zip(driver.files(&algorithms)?).collect();
    let _pin = Pin::hold(request.cpus[0])?;
    let mut findings = Vec::new();
    if !driver.may_choose() {
        findings.push(sentences::only_the_chosen(algorithms.first()));
    }
    let unit = unit(request);
    match unit {
        Ok(unit) => {
            for &place in &places {
                let splits = splits(|place| driver.last_read(place), &readers, place, request.clock, unit)?;
                findings.extend(sentences::split(place, &splits, unit));
            }
        }
        Err(each) => findings.push(sentences::no_times(&each)),
    }
    findings.extend(match allocations(&readers, &places)? {
        Ok(counted) => sentences::allocations(&counted),
        Err(why) => Some(sentences::not_counted(&why.to_string())),
    });
    let place = SEEDS_PLACE.min(largest);
    let improved = readers.iter().find(|(algorithm, _)| algorithm.name == sentences::IMPROVED);
    if let (Some((_, file)), Ok(unit)) = (improved, unit) {
        findings.push(sentences::shares(place, shares::look(file, place, request.clock)?, unit));
    }
    if traced(request)? {
        findings.push(match unit {
            Ok(unit) => match recorded(&readers, place, request.clock, unit)? {
                Ok(recorded) => sentences::traced(place, &recorded, unit),
                Err(why) => sentences::not_recorded(&why.to_string()),
            },
            Err(_) => {
                sentences::not_recorded("this CPU is emulated, and its clock does not count instructions")
            }
        });
    }
    Ok(findings)
}

/// What times mean here; nanoseconds an instruction where they mean nothing.
fn unit(request: &Request<'_>) -> Result<Unit, [f64; 2]> {
    if !matches!(request.machine.virtualisation, Virtualisation::Emulated(_)) {
        return Ok(Unit::Nanoseconds);
    }
    let each = nanoseconds_each(request.clock);
    if one_each(&each) { Ok(Unit::Instructions) } else { Err(each) }
}

/// Nanoseconds of `clock` that `work` takes, a reading of it included.
fn timed<T>(clock: Clock, work: impl FnOnce() -> T) -> (f64, T) {
    let start = clock.now();
    let result = work();
    (clock.between(start, clock.now()).as_nanos(), result)
}

fn empty(clock: Clock, unit: Unit) -> f64 {
    typical_time((0..EMPTY).map(|_| timed(clock, || ()).0).collect(), unit)
}

/// Reads one number again and again by each algorithm in turn, each round beginning with the next one, and
/// asks each time what the driver says of it. An algorithm is left out where others always read in between.
fn splits<S: NumberSource>(
    last_read: impl Fn(u64) -> Result<Option<DriverTimes>, Fault>,
    readers: &[(Algorithm, S)],
    place: u64,
    clock: Clock,
    unit: Unit,
) -> Result<Vec<(Algorithm, Split)>, Fault> {
    let mut buffer = vec![0_u8; room(place)];
    let mut once = |source: &S, warming: usize| {
        for _ in 0..warming {
            source.number(place, &mut buffer).map_err(|error| reading(place, error))?;
        }
        let (whole, read) = timed(clock, || source.number(place, &mut buffer));
        read.map_err(|error| reading(place, error))?;
        Ok::<f64, Fault>(whole)
    };
    let mut wanted = Vec::new();
    for (_, source) in readers {
        let first = once(source, 0)?;
        let count = ((BUDGET_NS / first.max(1.0)) as u64).clamp(READS.0, READS.1);
        wanted.push((count, if first < NOTICES_NS { WARMING } else { 0 }));
    }
    let mut reads = vec![Vec::new(); readers.len()];
    for round in 0..wanted.iter().map(|(count, _)| *count).max().unwrap_or(0) {
        for step in 0..readers.len() {
            let which = (round as usize + step) % readers.len();
            let (count, warming) = wanted[which];
            if round < count {
                let whole = once(&readers[which].1, warming)?;
                reads[which].extend(last_read(place)?.map(|times| (whole, times)));
            }
        }
    }
    let empty = empty(clock, unit);
    let all = readers.iter().zip(reads);
    Ok(all.filter_map(|((algorithm, _), reads)| Some((*algorithm, Split::of(reads, empty, unit)?))).collect())
}

/// Events of one read, by algorithm and place.
pub(super) type Counted = Vec<(Algorithm, u64, Events)>;

fn allocations(readers: &[(Algorithm, File)], places: &[u64]) -> Result<Result<Counted, Uncounted>, Fault> {
    let names: Vec<&'static str> = ALLOCATIONS.into_iter().chain(OTHERS).collect();
    let mut counters = match Tracepoints::open(&names) {
        Ok(counters) => counters,
        Err(why) => return Ok(Err(why)),
    };
    let switching = |error| Fault::system("count the kernel's events", error);
    let ((), nothing) = counters.around(|| ()).map_err(switching)?;
    let mut counted = Vec::new();
    for (algorithm, file) in readers {
        for &place in places {
            let mut buffer = vec![0_u8; room(place)];
            let times = if place > LARGE { COUNTED_LARGE } else { COUNTED };
            let mut reads = || (0..times).try_for_each(|_| file.number(place, &mut buffer).map(drop));
            // What the first read alone does (pages of the buffer, caches of the allocator) is not a read's.
            reads().map_err(|error| reading(place, error))?;
            let (read, events) = counters.around(&mut reads).map_err(switching)?;
            read.map_err(|error| reading(place, error))?;
            let each = events.into_iter().zip(&nothing);
            let each = each.map(|((name, count), (_, empty))| {
                (name, count.saturating_sub(*empty) as f64 / times as f64)
            });
            counted.push((*algorithm, place, each.collect()));
        }
    }
    Ok(Ok(counted))
}

/// Reads while events are recorded that a read passes, and before and after while others are: so all of them
/// pay what a recorder costs beside its records. Two recorders are never there at once, because an event
/// passes through every recorder, even where it stands still.
fn recorded(
    readers: &[(Algorithm, File)],
    place: u64,
    clock: Clock,
    unit: Unit,
) -> Result<Result<Vec<(Algorithm, Traced)>, Uncounted>, Fault> {
    let passed: Vec<&'static str> = ALLOCATIONS.into_iter().chain(OTHERS).collect();
    let mut turns = Vec::new();
    for names in [&NEVER[..], &passed, &NEVER] {
        match while_recorded(names, readers, place, clock)? {
            Ok(turn) => turns.push(turn),
            Err(why) => return Ok(Err(why)),
        }
    }
    let empty = empty(clock, unit);
    let figures = readers.iter().enumerate().map(|(which, (algorithm, _))| {
        let plain = turns.iter().step_by(2).flat_map(|turn| turn[which].times.clone()).collect();
        let Turn { times, events, lost } = turns[1][which].clone();
        let figures = Traced {
            plain: typical_time(plain, unit) - empty,
            traced: typical_time(times, unit) - empty,
            events: events as f64 / TRACED as f64,
            lost,
        };
        (*algorithm, figures)
    });
    Ok(Ok(figures.collect()))
}

/// Reads of one algorithm under a recorder: how long each took, and what was recorded and dropped in all of
/// them.
#[derive(Clone, Debug, Default)]
struct Turn {
    times: Vec<f64>,
    events: u64,
    lost: u64,
}

fn while_recorded(
    names: &[&'static str],
    readers: &[(Algorithm, File)],
    place: u64,
    clock: Clock,
) -> Result<Result<Vec<Turn>, Uncounted>, Fault> {
    let mut recorder = match Recorder::open(names) {
        Ok(recorder) => recorder,
        Err(why) => return Ok(Err(why)),
    };
    let switching = |error| Fault::system("record the kernel's events", error);
    let mut all = Vec::new();
    for (_, file) in readers {
        let mut buffer = vec![0_u8; room(place)];
        let mut turn = Turn::default();
        // The first read finds cold caches, and is of no turn.
        file.number(place, &mut buffer).map_err(|error| reading(place, error))?;
        for _ in 0..TRACED {
            recorder.start().map_err(switching)?;
            let (time, read) = timed(clock, || file.number(place, &mut buffer));
            recorder.stop().map_err(switching)?;
            read.map_err(|error| reading(place, error))?;
            let (events, lost) = recorder.take();
            turn.times.push(time);
            turn.events += events;
            turn.lost += lost;
        }
        all.push(turn);
    }
    Ok(Ok(all))
}

#[cfg(test)]
mod tests;
