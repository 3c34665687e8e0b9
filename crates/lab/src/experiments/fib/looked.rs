//! What is found beside the weighing of the driver: where a read's time goes, what it allocates, what tracing costs it.

mod shares;
mod told;

use std::fs::File;

use tenbin_metal::instructions::{nanoseconds_each, one_each};
use tenbin_metal::tracepoints::{Recorder, Tracepoints, Uncounted};
use tenbin_metal::{Clock, Fault, Pin};
use tenbin_model::machine::Virtualisation;
use tenbin_model::{Effort, Finding};

use super::device::{Algorithm, Driver, Said, Source, room};
use super::kernel::{PLACES, available, reading};
use super::user::places;
use crate::experiment::{Request, Unfit};

/// How long the reads of one number go on, about, and how many there are.
const BUDGET_NS: f64 = 20e6;
const READS: (u64, u64) = (3, 200);

/// Of so many reads the one that took longest is left out: something else ran meanwhile.
const LEFT_OUT: usize = 10;

/// Readings of the clock without a read between them.
const EMPTY: usize = 200;

/// Reads whose allocations are counted: of a small number, and of a large one.
const COUNTED: u64 = 100;
const COUNTED_LARGE: u64 = 3;
const LARGE: u64 = 10_000;

/// Reads that are recorded, and as many before and after that are not.
const TRACED: usize = 40;

/// The place that is traced and sampled: the seed's.
const SEEDS_PLACE: u64 = 99;

/// What a read asks for, gives back, and takes of whole pages: those of them that a kernel has.
pub(super) const ALLOCATIONS: [&str; 4] =
    ["kmem/kmalloc", "kmem/kmalloc_node", "kmem/kmem_cache_alloc", "kmem/kmem_cache_alloc_node"];
const OTHERS: [&str; 3] = ["kmem/kfree", "kmem/kmem_cache_free", "kmem/mm_page_alloc"];

/// What times are counted in here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unit {
    /// Time, on hardware.
    Nanoseconds,
    /// Instructions of a guest whose clock counts them.
    Instructions,
}

/// Where the time of a read goes, in nanoseconds of the clock that was read: means of some reads.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Split {
    /// Reads that count.
    pub(super) reads: usize,
    /// From before the system call until after it, without what reading the clock takes.
    pub(super) whole: f64,
    /// The driver's own word: memory, the number, and the way to user space.
    pub(super) allocate: f64,
    pub(super) compute: f64,
    pub(super) copy: f64,
}

impl Split {
    /// What is left of the whole: the way into the kernel and out of it, and what the driver does not time.
    pub(super) fn call(&self) -> f64 {
        (self.whole - self.allocate - self.compute - self.copy).max(0.0)
    }

    /// Of these reads, each with how long it took as a whole; `empty` is what reading the clock takes.
    pub(super) fn of(mut reads: Vec<(f64, Said)>, empty: f64) -> Self {
        let kept = kept(&mut reads, |(whole, _)| *whole);
        let mean = |part: fn(&(f64, Said)) -> f64| kept.iter().map(part).sum::<f64>() / kept.len().max(1) as f64;
        Self {
            reads: kept.len(),
            whole: (mean(|(whole, _)| *whole) - empty).max(0.0),
            allocate: mean(|(_, said)| said.allocate as f64),
            compute: mean(|(_, said)| said.compute as f64),
            copy: mean(|(_, said)| said.copy as f64),
        }
    }
}

/// All but the tenth that took longest.
fn kept<T>(all: &mut [T], time: impl Fn(&T) -> f64) -> &[T] {
    all.sort_by(|left, right| time(left).total_cmp(&time(right)));
    &all[..all.len() - all.len() / LEFT_OUT]
}

/// The mean of all but the tenth that is longest.
fn mean(mut times: Vec<f64>) -> f64 {
    let kept = kept(&mut times, |time| *time);
    kept.iter().sum::<f64>() / kept.len().max(1) as f64
}

/// How often one read passes each tracepoint.
pub(super) type Events = Vec<(&'static str, f64)>;

/// What recording costs a read.
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
    let given = request.settings.one("traced", "no".to_owned(), "yes or no", |it| ["yes", "no"].contains(&it.as_str()))?;
    Ok(given == "yes")
}

/// Looks at all of it.
pub(super) fn findings(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    let driver = Driver::default();
    let largest = driver.largest()?;
    let usual: Vec<u64> = PLACES.into_iter().filter(|&place| place <= largest).collect();
    let mut places = places(request, &usual, largest)?;
    places.sort_unstable();
    if request.effort == Effort::Quick {
        places.retain(|&place| place <= LARGE);
    }
    let algorithms = available(&driver)?;
    let readers: Vec<(Algorithm, File)> = algorithms.iter().copied().zip(driver.files(&algorithms)?).collect();
    let _pin = Pin::hold(request.cpus[0])?;
    let mut findings = Vec::new();
    if !driver.may_choose() {
        findings.push(told::only_the_chosen(algorithms.first()));
    }
    let unit = unit(request);
    match unit {
        Ok(unit) => {
            for &place in &places {
                let mut splits = Vec::new();
                for (algorithm, file) in &readers {
                    let split = split(&driver, file, place, request.clock)?;
                    splits.extend(split.map(|split| (*algorithm, split)));
                }
                findings.extend(told::split(place, &splits, unit));
            }
        }
        Err(each) => findings.push(told::no_times(&each)),
    }
    findings.push(match allocations(&readers, &places)? {
        Ok(counted) => told::allocations(&counted),
        Err(why) => told::not_counted(&why.to_string()),
    });
    let improved = readers.iter().find(|(algorithm, _)| algorithm.name == told::IMPROVED);
    if let (Some((_, file)), Ok(unit)) = (improved, unit) {
        let place = SEEDS_PLACE.min(largest);
        findings.push(told::shares(place, shares::look(file, place, request.clock)?, unit));
    }
    if let (true, Ok(unit)) = (traced(request)?, unit) {
        let place = SEEDS_PLACE.min(largest);
        findings.push(match recorded(&readers, place, request.clock)? {
            Ok(recorded) => told::traced(place, &recorded, unit),
            Err(why) => told::not_counted(&why.to_string()),
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

fn empty(clock: Clock) -> f64 {
    mean((0..EMPTY).map(|_| timed(clock, || ()).0).collect())
}

/// Reads one number again and again and asks each time what the driver says of it; none where others always read in
/// between.
fn split(driver: &Driver, source: &dyn Source, place: u64, clock: Clock) -> Result<Option<Split>, Fault> {
    let mut buffer = vec![0_u8; room(place)];
    let mut once = || {
        let (whole, read) = timed(clock, || source.number(place, &mut buffer));
        read.map_err(|error| reading(place, error))?;
        Ok::<_, Fault>((whole, driver.said(place)?))
    };
    let (first, _) = once()?;
    let count = ((BUDGET_NS / first.max(1.0)) as u64).clamp(READS.0, READS.1);
    let mut reads = Vec::new();
    for _ in 0..count {
        let (whole, said) = once()?;
        reads.extend(said.map(|said| (whole, said)));
    }
    Ok((!reads.is_empty()).then(|| Split::of(reads, empty(clock))))
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
            let each = each.map(|((name, count), (_, empty))| (name, count.saturating_sub(*empty) as f64 / times as f64));
            counted.push((*algorithm, place, each.collect()));
        }
    }
    Ok(Ok(counted))
}

/// Reads without a recorder, with one, and without one again: while one is there, every event passes through it, even
/// where it stands still.
fn recorded(
    readers: &[(Algorithm, File)],
    place: u64,
    clock: Clock,
) -> Result<Result<Vec<(Algorithm, Traced)>, Uncounted>, Fault> {
    let empty = empty(clock);
    let mut buffer = vec![0_u8; room(place)];
    let mut once = |file: &File| {
        let (time, read) = timed(clock, || file.number(place, &mut buffer));
        read.map(|_| time).map_err(|error| reading(place, error))
    };
    let mut plainly = |plain: &mut Vec<Vec<f64>>| {
        for ((_, file), times) in readers.iter().zip(plain) {
            once(file)?;
            for _ in 0..TRACED {
                times.push(once(file)?);
            }
        }
        Ok::<(), Fault>(())
    };
    let mut plain = vec![Vec::new(); readers.len()];
    plainly(&mut plain)?;
    let traced = match while_recorded(readers, place, clock)? {
        Ok(traced) => traced,
        Err(why) => return Ok(Err(why)),
    };
    plainly(&mut plain)?;
    let both = readers.iter().zip(traced).zip(plain);
    let figures = both.map(|(((algorithm, _), traced), plain)| {
        (*algorithm, Traced { plain: mean(plain) - empty, traced: traced.traced - empty, ..traced })
    });
    Ok(Ok(figures.collect()))
}

/// Reads that are recorded, of each algorithm.
fn while_recorded(
    readers: &[(Algorithm, File)],
    place: u64,
    clock: Clock,
) -> Result<Result<Vec<Traced>, Uncounted>, Fault> {
    let names: Vec<&'static str> = ALLOCATIONS.into_iter().chain(OTHERS).collect();
    let mut recorder = match Recorder::open(&names) {
        Ok(recorder) => recorder,
        Err(why) => return Ok(Err(why)),
    };
    let switching = |error| Fault::system("record the kernel's events", error);
    let mut all = Vec::new();
    for (_, file) in readers {
        let mut buffer = vec![0_u8; room(place)];
        let (mut times, mut events, mut lost) = (Vec::new(), 0, 0);
        for _ in 0..TRACED {
            recorder.start().map_err(switching)?;
            let (time, read) = timed(clock, || file.number(place, &mut buffer));
            recorder.stop().map_err(switching)?;
            read.map_err(|error| reading(place, error))?;
            times.push(time);
            let taken = recorder.take();
            events += taken.0;
            lost += taken.1;
        }
        all.push(Traced { plain: 0.0, traced: mean(times), events: events as f64 / TRACED as f64, lost });
    }
    Ok(Ok(all))
}

#[cfg(test)]
mod tests;
