//! From arguments to a calibration: load is made, pairs are weighed and judged one by one.

#![expect(clippy::disallowed_methods, reason = "the date and the running time of budgets")]

use std::num::NonZero;
use std::time::Instant;

use jiff::Timestamp;
use tenbin_analysis::calibration;
use tenbin_lab::ladder::{EFFECTS, Extent, MOST_ROUNDS, Order, WORKS, refusal, series};
use tenbin_lab::survey::cpus;
use tenbin_lab::{Bench, Ladder};
use tenbin_metal::{Load, interrupt, machine};
use tenbin_model::words::comma;
use tenbin_model::{Calibration, CalibrationReport, Cpu, Effort, Picoseconds, Provenance, Refusal, Series};

use super::Calibrate;
use crate::again;
use crate::measurement::{observed, seed, words};
use crate::output::{Exit, Trouble};
use crate::terminal::Progress;

/// Names beside the works that `--works` knows.
const LAYOUT: &str = "layout";
const TRUTH: &str = "truth";
const COMMANDS: &str = "commands";
const FUNCTIONS: &str = "functions";

/// What the default command takes, all in all: ten minutes, less what the last pair may take.
const USUAL: Picoseconds = Picoseconds::from_millis(590_000);

/// What is to be calibrated: checked before the first pair.
pub struct Plan {
    order: Order,
    cpus: Vec<Cpu>,
    load: u32,
    effort: Effort,
}

/// How a calibration ended that did not fail.
pub enum Outcome {
    /// It was made.
    Made(Box<Made>),
    /// This machine cannot be timed.
    Refused(Refusal),
}

/// A calibration, and whether it was seen that the instrument does what it should.
pub struct Made {
    /// The calibration.
    pub calibration: Calibration,
    /// Whether a check came out wrong: a work did not do its operations, or a planted fault went unseen.
    pub faulty: bool,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
}

impl Plan {
    /// Checks names and numbers.
    ///
    /// # Errors
    /// A usage error that names the word that is wrong and what would be right.
    pub fn new(arguments: &Calibrate) -> Result<Self, Trouble> {
        let known: Vec<&'static str> =
            WORKS.iter().map(|work| work.name).chain([LAYOUT, TRUTH, COMMANDS, FUNCTIONS]).collect();
        let chosen = match &arguments.works {
            None => known.clone(),
            Some(list) => list
                .split(',')
                .map(|name| {
                    let matching = known.iter().find(|known| **known == name.trim());
                    matching.copied().ok_or_else(|| {
                        let names = comma(&known);
                        Trouble::usage(format!("--works {list}: there is no `{name}`; there are: {names}"))
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        let (extent, effort) = match (arguments.pairs, arguments.thorough) {
            (Some(pairs), _) => (Extent::Pairs(pairs), Effort::Quick),
            (None, true) => (Extent::Rounds(MOST_ROUNDS), Effort::Thorough),
            (None, false) => {
                let within = arguments.within.map(|seconds| Picoseconds::from_millis(seconds * 1_000));
                (Extent::Time(within.unwrap_or(USUAL)), Effort::Normal)
            }
        };
        let order = Order {
            layout: chosen.contains(&LAYOUT),
            truth: chosen.contains(&TRUTH),
            commands: chosen.contains(&COMMANDS),
            functions: chosen.contains(&FUNCTIONS),
            works: chosen,
            effects: effects(arguments.effects.as_deref())?,
            extent,
            limit: seconds(arguments.seconds)?,
            seed: seed(arguments.seed),
        };
        Ok(Self { order, cpus: cpus(arguments.cpus.as_deref())?, load: arguments.load, effort })
    }

    /// Calibrates. Whoever interrupts it gets what was weighed by then.
    ///
    /// # Errors
    /// The machine failed before the first pair: no CPU to pin to, no memory, no thread. Or it was
    /// interrupted by then.
    pub fn calibrate(&self) -> Result<Outcome, Trouble> {
        let started = Timestamp::now();
        let clock_started = Instant::now();
        interrupt::listen()?;
        let (machine, clock) = observed(&self.cpus)?;
        if let Some(refusal) = refusal(&machine, if self.load == 0 { &self.cpus[..1] } else { &self.cpus }) {
            return Ok(Outcome::Refused(refusal));
        }
        let average = machine.load.known().copied();
        let threads = self.load as usize * self.cpus.len();
        let load = Load::start(threads, &self.cpus, self.order.seed)?;
        let mut ladder = Ladder::gather(clock, self.cpus[0], &self.order)?;
        let questions = ladder.questions(&self.order)?;
        let (mut series, places) = series(&questions);
        let mut faulty = false;
        let watch = || Picoseconds::from_nanos(clock_started.elapsed().as_nanos() as u64);
        let mut ignored = |_: tenbin_lab::Event<'_>| {};
        let stop = || interrupt::requested().is_some();
        let mut bench = Bench { watch: &watch, stop: &stop, counters: None, probe: None, sink: &mut ignored };
        let mut progress = Progress::new();
        let pairs = self.order.extent.pairs(&questions, &self.order);
        let analyses = tenbin_lab::analyses();
        let mut done = 0;
        ladder.climb(&mut bench, &machine, &self.order, &questions, &mut |index, weighed| {
            let known = calibration::Known {
                truth: weighed.truth,
                operations: weighed.operations,
                took: weighed.took,
                layout: questions[index].layout(),
            };
            let checks = weighed.trial.cells.iter().flat_map(|cell| &cell.checks);
            faulty |= checks.into_iter().any(|check| !check.as_expected());
            series[places[index]].pairs.push(calibration::pair(&analyses, &machine, &weighed.trial, known));
            done += 1;
            let part = match pairs {
                Some(pairs) => done as f64 / pairs as f64,
                None => match self.order.extent {
                    Extent::Time(time) => watch().0 as f64 / time.0 as f64,
                    _ => 0.0,
                },
            };
            progress.pair(part, watch(), questions[index].work);
        });
        progress.finish();
        drop(load);
        let interrupted = interrupt::requested();
        if let (Some(signal), 0) = (interrupted, done) {
            return Err(Trouble::interrupted(signal));
        }
        let after = machine::observe_this().load.known().copied();
        let calibration = Calibration {
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").into(),
                build: Some(crate::measurement::build()),
                started: started.to_string(),
                seed: self.order.seed,
                effort: self.effort,
                arguments: words(),
            },
            machine,
            load: tenbin_model::Load {
                per_cpu: self.load,
                threads: threads as u32,
                average: [average, after],
            },
            level: tenbin_stats::LEVEL,
            time: self.order.limit,
            series,
        };
        Ok(Outcome::Made(Box::new(Made { calibration, faulty, interrupted })))
    }
}

/// Calibrates in `count` processes of this program, one after the other, and puts what they weighed together.
/// The request was checked: it is a [`Plan`].
///
/// # Errors
/// One of them has no answer.
pub fn over_processes(arguments: &Calibrate, count: NonZero<u32>) -> Result<Outcome, Trouble> {
    let started = Timestamp::now();
    let seed = seed(arguments.seed);
    let progress = Progress::new();
    let mut whole: Option<Made> = None;
    for number in 0..count.get() {
        progress.processes(number, count.get());
        let words = words_of_one(arguments, count, seed.wrapping_add(u64::from(number)));
        let answer = again::answer::<CalibrationReport>(&words).map_err(|trouble| {
            progress.finish();
            Trouble { message: format!("process {} of {count}: {}", number + 1, trouble.message), ..trouble }
        });
        let (report, exit) = answer?;
        let mut calibration = match (report.calibration, report.refusal) {
            (Some(calibration), _) => calibration,
            (None, Some(refusal)) => return Ok(Outcome::Refused(refusal)),
            (None, None) => return Err(Trouble::internal("a process calibrated and has no calibration")),
        };
        for pair in calibration.series.iter_mut().flat_map(|series| &mut series.pairs) {
            pair.process = Some(number);
        }
        let faulty = exit == Exit::Fault;
        match &mut whole {
            None => {
                calibration.provenance.started = started.to_string();
                calibration.provenance.seed = seed;
                calibration.provenance.arguments = self::words();
                whole = Some(Made { calibration, faulty, interrupted: None });
            }
            Some(whole) => {
                whole.faulty |= faulty;
                add(&mut whole.calibration, calibration);
            }
        }
    }
    progress.finish();
    whole.map(|made| Outcome::Made(Box::new(made))).ok_or_else(|| Trouble::internal("no process was asked"))
}

/// The words for one of `count` processes: the same work, without the store, and its part of the time.
fn words_of_one(arguments: &Calibrate, count: NonZero<u32>, seed: u64) -> Vec<String> {
    let mut words: Vec<String> = ["calibrate", "--json", "--no-store"].map(String::from).to_vec();
    let mut word = |name: &str, value: Option<String>| {
        words.extend(value.map(|value| format!("--{name}={value}")));
    };
    word("works", arguments.works.clone());
    word("effects", arguments.effects.clone());
    word("cpus", arguments.cpus.clone());
    word("load", Some(arguments.load.to_string()));
    word("seconds", Some(arguments.seconds.to_string()));
    word("seed", Some(seed.to_string()));
    let share = USUAL.0 / Picoseconds::from_millis(1_000).0 / u64::from(count.get());
    match arguments.pairs {
        Some(pairs) => word("pairs", Some(pairs.to_string())),
        None => word("within", Some(share.max(1).to_string())),
    }
    words
}

/// Adds the pairs of `other`, which was asked the same, to those of `whole`.
fn add(whole: &mut Calibration, other: Calibration) {
    whole.load.average[1] = other.load.average[1];
    for series in other.series {
        let same = |known: &&mut Series| {
            (known.purpose, known.work.as_str(), known.effect)
                == (series.purpose, series.work.as_str(), series.effect)
        };
        match whole.series.iter_mut().find(same) {
            Some(known) => {
                // One that could be weighed in one process and not in another was weighed.
                known.refused = known.refused.take().and(series.refused);
                known.pairs.extend(series.pairs);
            }
            None => whole.series.push(series),
        }
    }
}

/// The steps of the ladder as fractions, ascending.
fn effects(list: Option<&str>) -> Result<Vec<f64>, Trouble> {
    let Some(list) = list else { return Ok(EFFECTS.to_vec()) };
    let mut effects = list
        .split(',')
        .map(|item| {
            let number: Option<f64> =
                item.trim().parse().ok().filter(|number| (0.0..=100.0).contains(number));
            number.map(|number| number / 100.0).ok_or_else(|| {
                Trouble::usage(format!("--effects {list}: `{item}` is not a percentage from 0 to 100"))
            })
        })
        .collect::<Result<Vec<_>, _>>()?;
    effects.sort_unstable_by(f64::total_cmp);
    effects.dedup();
    Ok(effects)
}

fn seconds(given: f64) -> Result<Picoseconds, Trouble> {
    if (0.01..=60.0).contains(&given) {
        Ok(Picoseconds((given * 1e12) as u64))
    } else {
        Err(Trouble::usage(format!("--seconds {given}: a verdict takes from 0.01 to 60 seconds")))
    }
}
