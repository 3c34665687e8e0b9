//! `c2c`: what does a line cost to move between two cores? Two protocols, every pair of CPUs.

mod analysis;
mod tables;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use tenbin_analysis::Analysis;
use tenbin_metal::exchange::{Exchange, PLACES, Protocol};
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::topology::{Shared, shared};
use tenbin_model::{
    Arrangement, Bytes, Comparison, Cpu, Descriptor, Effort, Parameter, Picoseconds, Source, Variant,
    VariantIndex,
};

use self::analysis::Transfers;
use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};
use crate::memory::{self, within_allowance};

const SWAP: VariantIndex = VariantIndex(0);
const FLAGS: VariantIndex = VariantIndex(1);
const SHORT: VariantIndex = VariantIndex(2);

/// Round trips of an epoch: enough to make a clock's step small, few enough that an epoch is seldom
/// interrupted.
const ROUND_TRIPS: u64 = 100;

/// Epochs of each protocol and pair. A block holds two of each.
const SAMPLES: u32 = 1_000;
const SAMPLES_QUICKLY: u32 = 300;
const LEAST_SAMPLES: u32 = 20;

/// CPUs whose pairs are measured, all of them: classes can only be told from slow cores where pairs share
/// CPUs, and 128 CPUs have 8 128 pairs.
const CORES: usize = 16;
const CORES_QUICKLY: usize = 8;

/// CPUs of a group that are measured together at least, so that it has several pairs of its own.
const OF_A_GROUP: usize = 4;

/// Both cores are busy for so long before the first epoch is timed: a governor needs some milliseconds to
/// find a clock.
const HEAT: Picoseconds = Picoseconds::from_millis(10);

/// Bytes that a sample of two workers takes while the run is held, about.
const BYTES_OF_A_SAMPLE: u64 = 192;

/// The control is measured again after so many pairs, and at both ends.
const PAIRS_BETWEEN_CONTROLS: usize = 24;

/// Turns of a wait for a partner that will not come.
const PATIENCE_WITH_A_FAULT: u64 = 1 << 20;

/// Round trips on the pass that is checked.
const CHECKED: u64 = 1_000;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    request.two_cpus("a line moves between two")?;
    let samples = if request.effort == Effort::Quick { SAMPLES_QUICKLY } else { SAMPLES };
    let samples = request.settings.one("samples", samples, "a number from 20 to 20000", |samples| {
        (LEAST_SAMPLES..=20_000).contains(samples)
    })?;
    let most = match request.settings.given("cores") {
        Some("all") => usize::MAX,
        None if request.effort == Effort::Quick => CORES_QUICKLY,
        _ => request
            .settings
            .one("cores", CORES, "`all`, or a number from 2 to 1024", |most| (2..=1024).contains(most))?,
    };
    let pairs = pairs(request, &measured(request, most));
    let kept = |samples: u64| pairs.len() as u64 * samples * 2 * BYTES_OF_A_SAMPLE;
    let asked = u64::from(samples);
    within_allowance(request.machine, Bytes(kept(asked)), "the samples of all pairs", |room| {
        let samples = memory::largest(LEAST_SAMPLES.into(), asked, |samples| kept(samples) <= room.0)?;
        Some(format!("samples={samples}"))
    })?;
    // The first pair stands for the experiment; being measured again and again, it shows a drift.
    let control = pairs[0];
    let mut cells = Vec::new();
    for (number, some) in pairs.chunks(PAIRS_BETWEEN_CONTROLS).enumerate() {
        cells.extend(some.iter().map(|&pair| cell(pair, samples, None, pair == control)));
        cells.push(cell(control, samples, Some(number + 1), false));
    }
    Ok(Plan::new(cells, open))
}

/// The CPUs whose pairs are measured, at most `most`: of groups that share a last cache, evenly spread over
/// the machine, the same number each, threads of one core together.
fn measured(request: &Request<'_>, most: usize) -> Vec<Cpu> {
    if request.cpus.len() <= most {
        return request.cpus.to_vec();
    }
    let near = |one: Cpu, other: Cpu| shared(request.machine, one, other);
    let mut groups: Vec<Vec<Cpu>> = Vec::new();
    for &cpu in request.cpus {
        match groups.iter_mut().find(|group| matches!(near(group[0], cpu), Shared::Core | Shared::Cache(_))) {
            // A thread stands behind the one that it shares its core with.
            Some(group) => {
                let sibling = group.iter().rposition(|&known| near(known, cpu) == Shared::Core);
                group.insert(sibling.map_or(group.len(), |place| place + 1), cpu);
            }
            None => groups.push(vec![cpu]),
        }
    }
    let taken = (most / OF_A_GROUP).clamp(1, groups.len());
    let spread = (0..taken).map(|place| &groups[place * groups.len() / taken]);
    let of_each = most / taken;
    spread.flat_map(|group| group.iter().copied().take(of_each)).collect()
}

/// Every pair of these CPUs, in random order.
fn pairs(request: &Request<'_>, cpus: &[Cpu]) -> Vec<(Cpu, Cpu)> {
    let each = cpus.iter().enumerate();
    let mut pairs: Vec<(Cpu, Cpu)> =
        each.flat_map(|(place, &one)| cpus[place + 1..].iter().map(move |&other| (one, other))).collect();
    pairs.shuffle(&mut Pcg64Mcg::seed_from_u64(request.seed));
    pairs
}

/// The cell of a pair; `again` numbers the repetitions of the control.
fn cell((one, other): (Cpu, Cpu), samples: u32, again: Option<usize>, headline: bool) -> Arrangement {
    let label = format!("between {one} and {other}");
    Arrangement {
        label: again.map_or_else(|| label.clone(), |number| format!("{label} (control {number})")),
        parameters: vec![
            ("pair".into(), format!("{},{}", one.0, other.0)),
            ("control".into(), again.map_or_else(String::new, |number| number.to_string())),
        ],
        cpus: vec![one, other],
        // A round trip moves the line there and back.
        work: 2,
        epoch: describe().epoch,
        least_iterations: ROUND_TRIPS,
        most_iterations: ROUND_TRIPS,
        most_blocks: samples.div_ceil(2),
        variants: vec![SWAP, FLAGS],
        comparisons: Comparison::of(again.is_none().then_some((SWAP, FLAGS))),
        headline,
        ..Arrangement::default()
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    // A fresh mapping for each pair: where its lines have their home is drawn anew.
    let exchange = Arc::new(Exchange::new()?);
    let impatient = Arc::new(Exchange::new()?.with_patience(PATIENCE_WITH_A_FAULT));
    let mut lines = Lines { team, exchange, impatient, place: 0 };
    let mut heated = Picoseconds::ZERO;
    while heated < HEAT {
        heated += lines.lap(FLAGS, CHECKED)?.0.elapsed;
    }
    Ok(Box::new(lines))
}

struct Lines {
    team: Team,
    exchange: Arc<Exchange>,
    /// For the planted fault, whose partner is not worth waiting for.
    impatient: Arc<Exchange>,
    place: usize,
}

impl Lines {
    /// Runs `rounds` round trips and holds what came of them against the specification.
    fn lap(&mut self, variant: VariantIndex, rounds: u64) -> Result<(Lap, Seen), Fault> {
        let protocol = protocol(variant);
        let exchange = if variant == SHORT { &self.impatient } else { &self.exchange };
        let (exchange, place) = (Arc::clone(exchange), self.place);
        let partners = Arc::clone(&exchange);
        let done: Arc<[AtomicU64; 2]> = Arc::default();
        let seen = Arc::clone(&done);
        exchange.reset(place);
        let task: Task = Arc::new(move |worker, rounds| {
            let completed = match worker {
                0 => partners.lead(protocol, place, rounds),
                _ if variant == SHORT => partners.follow_short(protocol, place, rounds),
                _ => partners.follow(protocol, place, rounds),
            };
            seen[worker].store(completed, Ordering::Relaxed);
            0
        });
        let lap = self.team.lap(&task, rounds)?;
        let done = [0, 1].map(|worker| done[worker].load(Ordering::Relaxed));
        let value = exchange.value(place);
        // The planted fault is a partner that is not worth waiting for: giving it up is what shall be seen.
        if variant != SHORT && starved(variant, done, value, rounds, exchange.given_up()) {
            return Err(Fault::Unanswered { made: done[0], asked: rounds, elapsed: lap.elapsed });
        }
        Ok((lap, judged(variant, done, value, rounds)))
    }
}

impl Apparatus for Lines {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        Ok(self.lap(variant, CHECKED)?.1)
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        match self.lap(variant, iterations)? {
            (lap, Seen::Met(_)) => Ok(lap),
            (_, Seen::Broken(seen)) => Err(Failure::Wrong(seen)),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.place = layout as usize % PLACES;
        self.team.shift_stack(layout);
    }
}

fn protocol(variant: VariantIndex) -> Protocol {
    if variant == SWAP { Protocol::CompareAndSwap } else { Protocol::Flags }
}

/// Every round trip was made by both, and the lines hold what so many leave behind.
fn judged(variant: VariantIndex, done: [u64; 2], value: (u64, u64), rounds: u64) -> Seen {
    let expected = protocol(variant).value_after(rounds);
    let seen = format!(
        "{} and {} round trips of {rounds}, the lines hold {} and {}",
        done[0], done[1], value.0, value.1
    );
    if done == [rounds; 2] && value == expected { Seen::Met(seen) } else { Seen::Broken(seen) }
}

/// Whether the machine let one of the two wait too long, and both did right work as far as they came: each
/// gave up a wait, or the last answer came after it had been given up. Who stops short without waiting is no
/// such thing.
fn starved(
    variant: VariantIndex,
    [led, followed]: [u64; 2],
    value: (u64, u64),
    rounds: u64,
    given_up: u64,
) -> bool {
    let in_vain = given_up == 2 || (given_up == 1 && followed == rounds);
    let answered = followed == led || followed == led + 1;
    in_vain && answered && protocol(variant).may_stand(value, followed)
}

fn describe() -> Descriptor {
    Descriptor {
        name: "c2c".into(),
        question: "What does a line cost to move between two cores?".into(),
        requirement:
            "tools that answer this differ by up to 28 times on one pair, silently: two protocols, each \
                      named, medians and spreads for every pair"
                .into(),
        specification:
            "every round trip is made by both workers, and the lines hold what that many leave behind".into(),
        subject: "One line that goes back and forth".into(),
        analysis: Transfers.name().into(),
        variants: vec![
            Variant::measured("compare-and-swap on one line", Protocol::CompareAndSwap.name()),
            Variant::measured("flags on two lines", Protocol::Flags.name()),
            Variant::sabotage("a partner that stops short", "answers one round trip less than asked for"),
        ],
        parameters: Parameter::list(&[
            (
                "samples",
                "1000 (300 with --quick)",
                "epochs of 100 round trips for each pair and protocol, 20 to 20000",
            ),
            ("cores", "16 (8 with --quick)", "CPUs whose pairs are all measured, 2 to 1024, or all"),
        ]),
        margin: 0.05,
        // As `atomics`: different instructions on a core that another guest's thread may share.
        sway: 0.15,
        // What 100 round trips take, about; their number is fixed.
        epoch: Picoseconds::from_micros(20),
        sources: Source::list(&[
            ("E. Rigtorp, c2clat", "flags on two lines, one written by each side"),
            ("N. Viennot, core-to-core-latency", "compare-and-swap on one line"),
        ]),
        ..Descriptor::default()
    }
}

/// The experiment on lines between cores.
pub const EXPERIMENT: Experiment<'static> =
    Experiment { analysis: &Transfers, formats: tables::FORMATS, ..Experiment::new(&describe, &plan) };

#[cfg(test)]
mod tests;
