//! `atomics`: compare-and-swap or add? One shared counter, by instruction, threads and backoff.

mod published;

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::kernels::{self, Addition, Backoff, Family};
use tenbin_metal::starvation::starvation;
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::words::{counted, semicolon};
use tenbin_model::{
    Arrangement, Comparison, Cpu, Descriptor, Effort, Finding, Gauge, Parameter, Picoseconds, Published,
    Reading, Row, Source, Variant, VariantIndex, order,
};

use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};

use super::{at_threads, doublings, threads};

/// The addition in one instruction and the loop that it is weighed against, by architecture.
#[cfg(target_arch = "x86_64")]
const PAIR: (&str, &str) = ("lock xadd", "lock cmpxchg loop");
#[cfg(target_arch = "aarch64")]
const PAIR: (&str, &str) = ("ldaddal", "ldaxr/stlxr loop");
#[cfg(target_arch = "riscv64")]
const PAIR: (&str, &str) = ("amoadd.d", "lr/bne/sc loop");

const SHARDED: &str = "a counter per thread";

/// Additions of each worker on the pass that is checked, and on the pass that looks for starvation.
const CHECKED: u64 = 2_000;
const WATCHED: u64 = 20_000;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let cpus = request.cpus.len();
    let mut counts = doublings(cpus);
    counts.push(2 * cpus);
    if request.effort == Effort::Quick {
        // The ends, the headline, and nothing between.
        counts.retain(|&count| count <= 2 || count >= cpus);
    }
    let counts = threads(request, &counts)?;
    let with_backoff = match request.settings.given("backoff") {
        None => request.effort != Effort::Quick,
        Some("all") => true,
        Some("none") => false,
        Some(other) => return Err(Unfit::Usage(format!("--set backoff={other}: it is `all` or `none`"))),
    };
    let waits = Waits::of(request)?;
    let descriptor = describe();
    let stands =
        |addition: &&Addition| addition.is_supported() && (with_backoff || addition.family == Family::Core);
    let additions = kernels::additions().iter().filter(stands).map(|addition| phrase(addition.name));
    let names = additions.chain([SHARDED.to_owned()]);
    let variants: Vec<VariantIndex> = names.filter_map(|name| descriptor.variant(&name)).collect();
    let comparisons = comparisons(&descriptor, &variants);
    // Contention shows with two threads or more, on CPUs of their own if there are any.
    let headline = counts.iter().copied().find(|&count| count == 2).or(counts.last().copied());
    let cells = counts.into_iter().map(|threads| {
        let placed: Vec<Cpu> = request.cpus.iter().copied().cycle().take(threads).collect();
        let order: Vec<String> = placed.iter().map(|cpu| cpu.0.to_string()).collect();
        Arrangement {
            label: match threads > cpus {
                true => format!("{} on {}", at_threads(threads), counted(cpus, "CPU")),
                false => at_threads(threads),
            },
            parameters: vec![
                ("threads".into(), threads.to_string()),
                ("cpus".into(), order.join(",")),
                ("wait".into(), waits.shortest.to_string()),
                ("longest".into(), waits.longest.to_string()),
                ("turns".into(), waits.turns.to_string()),
            ],
            cpus: placed,
            work: threads as u64,
            epoch: epoch(threads, cpus),
            variants: variants.clone(),
            comparisons: comparisons.clone(),
            headline: Some(threads) == headline,
            ..Arrangement::default()
        }
    });
    Ok(Plan::new(cells, open))
}

/// What a variant is called inside a sentence: a loop or a lock is one of many, an instruction is itself.
fn phrase(name: &str) -> String {
    match name {
        _ if name.ends_with(" loop") => format!("a {name}"),
        _ if name.ends_with(" lock") => format!("an {name}"),
        _ => name.into(),
    }
}

/// The headline pair first; then add against every other instruction, the limit against add, and
/// every backoff against the loop that it eases.
fn comparisons(descriptor: &Descriptor, variants: &[VariantIndex]) -> Vec<Comparison> {
    let index = |name: &str| descriptor.variant(&phrase(name)).filter(|index| variants.contains(index));
    let pair = |left: &str, right: &str| Some(Comparison { left: index(left)?, right: index(right)? });
    let cores = || kernels::additions().iter().filter(|addition| addition.family == Family::Core);
    // Without an addition in one instruction (arm64 before LSE) the first loop stands in its place.
    let add = if index(PAIR.0).is_some() { PAIR.0 } else { PAIR.1 };
    let mut pairs: Vec<Comparison> = pair(add, PAIR.1).into_iter().collect();
    pairs.extend(cores().filter_map(|addition| pair(add, addition.name)));
    pairs.extend(pair(SHARDED, add));
    pairs.extend(kernels::additions().iter().filter_map(|addition| match addition.family {
        Family::Waiting { base, .. } => pair(addition.name, base),
        _ => None,
    }));
    order::firsts(pairs.into_iter().filter(|pair| pair.left != pair.right))
}

/// One thread needs no more than the usual epoch. Several start within a microsecond of each other,
/// which 500 µs make small. Where threads share a CPU each should have a few of the scheduler's slices
/// of about 3 ms, or they would run one after the other; 100 ms are the most that is worth it.
fn epoch(threads: usize, cpus: usize) -> Picoseconds {
    match threads {
        1 => describe().epoch,
        _ if threads <= cpus => Picoseconds::from_micros(500),
        _ => Picoseconds::from_millis((9 * threads.div_ceil(cpus) as u64).min(100)),
    }
}

/// How long the backoffs wait, in nanoseconds and in turns.
#[derive(Clone, Copy)]
struct Waits {
    shortest: u64,
    longest: u64,
    turns: u64,
}

impl Waits {
    fn of(request: &Request<'_>) -> Result<Self, Unfit> {
        let number = |key: &str, otherwise: u64| {
            let accepted = |value: &u64| (1..=1_000_000).contains(value);
            request.settings.one(key, otherwise, "a number from 1 to 1000000", accepted)
        };
        let waits = Self {
            shortest: number("wait", 50)?,
            longest: number("longest", 3_200)?,
            turns: number("turns", 16)?,
        };
        if waits.shortest > waits.longest {
            let (shortest, longest) = (waits.shortest, waits.longest);
            return Err(Unfit::Usage(format!("--set wait={shortest}: it is more than longest={longest}")));
        }
        Ok(waits)
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let waits = Waits::of(request)?;
    let trusted = request.machine.virtualisation.timing_can_be_trusted();
    let hint = if trusted { Some(length_of_a_hint(request, arrangement.cpus[0])?) } else { None };
    // Where a hint has no length, waits are as long in hints as they are asked for in microseconds.
    let length = hint.unwrap_or(1e6);
    let hints = |nanoseconds: u64| ((nanoseconds as f64 * 1e3 / length).round() as u64).max(1);
    let mut counters = Counters {
        team: Team::gather(request.clock, &arrangement.cpus)?,
        hint,
        waits,
        hints: (hints(waits.shortest), hints(waits.longest)),
        seed: request.seed,
        counters: Arc::new(Shared::new(arrangement.cpus.len())),
        ways: ways(),
        tasks: Vec::new(),
    };
    let task = |&way| counters.task(way, Addition::run);
    counters.tasks = counters.ways.iter().map(task).collect();
    Ok(Box::new(counters))
}

/// Picoseconds that one hint instruction takes here, measured on the first worker's CPU.
///
/// The shortest of five runs: whatever disturbs one can only lengthen it.
fn length_of_a_hint(request: &Request<'_>, cpu: Cpu) -> Result<f64, Fault> {
    const HINTS: u64 = 2_000;
    let mut alone = Team::gather(request.clock, &[cpu])?;
    let task: Task = Arc::new(|_, count| {
        std::hint::black_box(kernels::hints(count));
        0
    });
    let mut shortest = u64::MAX;
    for _ in 0..5 {
        shortest = shortest.min(alone.lap(&task, HINTS)?.elapsed.0);
    }
    Ok((shortest as f64 / HINTS as f64).max(1.0))
}

/// A counter with a line of its own; 256 bytes keep neighbours apart where lines are fetched in
/// pairs (x86) or are 128 or 256 bytes long.
#[derive(Default)]
#[repr(align(256))]
struct Slot {
    counter: AtomicU64,
}

/// The places where a shared counter may lie, and a counter for each worker.
///
/// A line's address decides which slice of the last cache keeps it, and what it costs to move it:
/// a counter that never moved would make that one slice's cost look like the machine's.
struct Shared {
    places: Vec<Slot>,
    chosen: AtomicUsize,
    lines: Vec<Slot>,
}

impl Shared {
    /// Places for the shared counter: 1 MiB of them.
    const PLACES: usize = 4096;

    fn new(workers: usize) -> Self {
        let slots = |count| (0..count).map(|_| Slot::default()).collect();
        Self { places: slots(Self::PLACES), chosen: AtomicUsize::new(0), lines: slots(workers) }
    }

    fn shared(&self) -> &AtomicU64 {
        &self.places[self.chosen.load(Ordering::Relaxed)].counter
    }

    fn shift(&self, layout: u32) {
        // Knuth's multiplicative hashing (TAOCP volume 3, section 6.4): neighbours lie far apart.
        let mixed = u64::from(layout).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32;
        self.chosen.store(mixed as usize % Self::PLACES, Ordering::Relaxed);
    }

    fn reset(&self) {
        self.shared().store(0, Ordering::Relaxed);
        self.lines.iter().for_each(|slot| slot.counter.store(0, Ordering::Relaxed));
    }

    /// The sum of all counters; those that are not in use in this block stay out of it.
    fn total(&self, sharded: bool) -> u64 {
        if sharded {
            self.lines.iter().map(|slot| slot.counter.load(Ordering::Relaxed)).sum()
        } else {
            self.shared().load(Ordering::Relaxed)
        }
    }
}

struct Counters {
    team: Team,
    /// Picoseconds of one hint, where time can be trusted.
    hint: Option<f64>,
    waits: Waits,
    /// Shortest and longest wait in hints.
    hints: (u64, u64),
    seed: u64,
    counters: Arc<Shared>,
    /// The variants, and what the workers do for each; both in the order of the descriptor.
    ways: Vec<Way>,
    tasks: Vec<Task>,
}

#[derive(Clone, Copy)]
struct Way {
    addition: &'static Addition,
    sharded: bool,
}

/// The variants in the order of the descriptor: every addition, the sharded counter, the planted fault.
fn ways() -> Vec<Way> {
    let additions = kernels::additions();
    let add = additions.iter().find(|addition| addition.name == PAIR.0 && addition.is_supported());
    let add = add.unwrap_or(&additions[0]);
    let shared = additions.iter().map(|addition| Way { addition, sharded: false });
    shared
        .chain([
            Way { addition: add, sharded: true },
            Way { addition: kernels::lost_update(), sharded: false },
        ])
        .collect()
}

impl Counters {
    fn backoff(&self, addition: &Addition, worker: usize) -> Backoff {
        let counts_turns = match addition.family {
            Family::Waiting { wait, .. } => wait.counts().is_some_and(|counted| counted != "hints"),
            _ => false,
        };
        let (unit, cap) = if counts_turns { (self.waits.turns, self.waits.turns) } else { self.hints };
        Backoff::new(unit, cap, self.seed ^ worker as u64)
    }

    /// What the workers do for `way`: `body` adds to the counter that is theirs.
    fn task(
        &self,
        way: Way,
        body: impl Fn(&Addition, &AtomicU64, u64, &mut Backoff) -> u64 + Send + Sync + 'static,
    ) -> Task {
        let counters = Arc::clone(&self.counters);
        let workers = self.team.size();
        // Each worker locks its own entry once an epoch, so that nobody waits and randomised waits
        // go on where they stopped.
        let backoffs: Vec<Mutex<Backoff>> =
            (0..workers).map(|worker| Mutex::new(self.backoff(way.addition, worker))).collect();
        Arc::new(move |worker, iterations| {
            let counter = if way.sharded { &counters.lines[worker].counter } else { counters.shared() };
            let mut backoff = backoffs[worker].lock().unwrap_or_else(PoisonError::into_inner);
            body(way.addition, counter, iterations, &mut backoff)
        })
    }

    /// Runs `iterations` on every worker and compares the counters with what was asked for.
    fn lap(&mut self, variant: VariantIndex, iterations: u64) -> Result<(Lap, u64, u64), Fault> {
        self.counters.reset();
        let lap = self.team.lap(&self.tasks[variant], iterations)?;
        let total = self.counters.total(self.ways[variant].sharded);
        Ok((lap, total, iterations * self.team.size() as u64))
    }
}

impl Apparatus for Counters {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let (_, total, asked) = self.lap(variant, CHECKED)?;
        let seen = format!("the counter is {total} after {asked} additions");
        Ok(if total == asked { Seen::Met(seen) } else { Seen::Broken(seen) })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let (lap, total, asked) = self.lap(variant, iterations)?;
        match total == asked {
            true => Ok(lap),
            false => Err(Failure::Wrong(format!("the counter is {total} after {asked} additions"))),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.counters.shift(layout);
        self.team.shift_stack(layout);
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        if self.team.size() == 1 {
            return Ok(Vec::new());
        }
        let clock = self.team.clock();
        // The longest time, and the longest row.
        let worst = Arc::new([const { AtomicU64::new(0) }; 2]);
        let seen = Arc::clone(&worst);
        let task = self.task(self.ways[variant], move |addition, counter, iterations, backoff| {
            let starved = starvation(addition, clock, counter, iterations, backoff);
            seen[0].fetch_max(starved.longest.0, Ordering::Relaxed);
            seen[1].fetch_max(starved.failures_in_a_row, Ordering::Relaxed);
            0
        });
        self.counters.reset();
        self.team.lap(&task, WATCHED)?;
        let [time, row] = worst.each_ref().map(|worst| worst.load(Ordering::Relaxed));
        let gauge = |name: &str, reading| Gauge { variant, name: name.into(), reading };
        Ok(vec![
            gauge("longest starvation", Reading::Time(Picoseconds(time))),
            gauge("failures in a row", Reading::Count(row as f64)),
        ])
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let finding = |sentence, evidence, confidence: &str| Finding {
            experiment: "atomics".into(),
            sentence,
            evidence,
            confidence: confidence.into(),
        };
        let mut findings = Vec::new();
        if let Some(length) = self.hint {
            let (Waits { shortest, longest, .. }, (least, most)) = (self.waits, self.hints);
            let (hint, length) = (kernels::HINT, Picoseconds(length as u64));
            findings.push(finding(
                format!(
                    "One `{hint}` takes {length} here; waits are given in nanoseconds and counted in them."
                ),
                format!("{shortest} ns is {least} of them, {longest} ns is {most}"),
                "the shortest of five runs of 2000",
            ));
        }
        let missing = kernels::additions().iter().filter(|addition| !addition.is_supported());
        let missing = missing.filter_map(|addition| {
            let feature = addition.requires?;
            Some(format!("{}: no {} says {}", addition.name, feature.name(), feature.witness()))
        });
        let missing: Vec<String> = missing.collect();
        if !missing.is_empty() {
            let count = missing.len();
            findings.push(finding(
                format!("{count} variants were not tested: this CPU lacks what they need."),
                semicolon(&missing),
                "the kernel's word",
            ));
        }
        Ok(findings)
    }
}

/// The published figures. Its user seconds are the sums over all threads, as `perf stat` prints them.
fn published() -> Vec<Published> {
    const CAS: &str = "cas by lr/sc";
    const ADD: &str = "amoadd";
    let rows = published::TABLES[0].rows();
    let mut published = Vec::new();
    let mut publish = |threads, measure: &str, what: String, ratio| {
        published.push(Published {
            machine: "Sophgo SG2038, 64 cores".into(),
            date: "2024-02-24".into(),
            what,
            measure: measure.into(),
            cell: at_threads(threads),
            left: phrase(PAIR.0),
            right: phrase(PAIR.1),
            ratio,
        });
    };
    for cas in rows.iter().filter(|row| row.text("variant") == CAS) {
        let same = |row: &&Row| ["run", "threads"].iter().all(|column| row.text(column) == cas.text(column));
        let add = rows.iter().filter(same).find(|row| row.text("variant") == ADD);
        let threads = cas.number("threads").unwrap_or_default() as usize;
        let loops = cas.text("loops_per_thread");
        for (column, measure) in [("elapsed_s", "elapsed time"), ("user_s", "user time")] {
            let Some(seconds) = cas.number(column) else { continue };
            let loop_alone =
                format!("compare-and-swap by lr/sc {seconds} s of {measure} for {loops} additions a thread");
            let fast = add.and_then(|add| add.number(column));
            let what = fast.map_or(loop_alone.clone(), |fast| format!("{loop_alone}, amoadd {fast} s"));
            publish(threads, measure, what, fast.map(|fast| seconds / fast));
        }
    }
    published
}

fn describe() -> Descriptor {
    let additions = kernels::additions().iter();
    let mut variants: Vec<Variant> =
        additions.map(|addition| Variant::measured(&phrase(addition.name), addition.what)).collect();
    variants.push(Variant::measured(SHARDED, "each thread adds to a line of its own: the limit"));
    let fault = kernels::lost_update();
    variants.push(Variant::sabotage(fault.name, fault.what));
    Descriptor {
        name: "atomics".into(),
        question: "Which instruction should add to a shared counter: compare-and-swap or add?".into(),
        requirement: "on 64 cores a compare-and-swap loop took 702 times as long as amoadd; how long on \
                      this machine, and does waiting help"
            .into(),
        specification: "the final counter equals the sum of the successes".into(),
        subject: "One shared counter".into(),
        variants,
        parameters: Parameter::list(&[
            ("threads", "1,2,4,… all CPUs, twice as many", "numbers of threads, 1 to 1024"),
            ("backoff", "all (none with --quick)", "whether to wait after a failure: all, none"),
            ("wait", "50", "the shortest wait in nanoseconds"),
            ("longest", "3200", "the longest wait in nanoseconds"),
            ("turns", "16", "no-ops or divisions in a wait that is made of them"),
        ]),
        margin: 0.02,
        // Instructions beside each other on a core that another guest's thread shares: seen from 0 to 11 % in
        // runs of one minute (docs/truth.md).
        sway: 0.15,
        sources: vec![
            Source::new(
                "F. Wu, \"RISC-V Atomic LR/SC vs AMO\", 2024-02-24",
                "the question, the loop of lr, bne and sc, the figures",
            ),
            Source::new(
                "Dice, Hendler, Mirsky, \"Lightweight Contention Management for Efficient \
                 Compare-and-Swap Operations\", 2013",
                "backoff on failure",
            ),
            Source::new("Jain, Chiu, Hawe, DEC-TR-301, 1984", "the fairness index"),
            Source::new("RISC-V unprivileged ISA, chapter A", "what a constrained LR/SC loop promises"),
        ],
        published: published(),
        ..Descriptor::default()
    }
}

/// The atomics experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    published: published::TABLES,
    formats: published::FORMATS,
    ..Experiment::new(&describe, &plan)
};
