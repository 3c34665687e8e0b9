//! From arguments to a calibration: load is made, pairs are weighed and judged one by one.

use std::time::Instant;

use jiff::Timestamp;
use tenbin_analysis::{calibration, verdict};
use tenbin_lab::ladder::{EFFECTS, Extent, MOST_ROUNDS, Order, WORKS, refusal, series};
use tenbin_lab::{Bench, Ladder};
use tenbin_metal::{Fault, Load, interrupt, machine};
use tenbin_model::{Calibration, Cpu, Effort, Picoseconds, Provenance, Refusal};

use crate::arguments::Calibrate;
use crate::measurement::{BySignTest, cpus, observed, seed, words};
use crate::output::Trouble;
use crate::terminal::Progress;

/// Names beside the works that `--works` knows.
const LAYOUT: &str = "layout";
const TRUTH: &str = "truth";

/// What the default command takes, all in all: five minutes, less what the last pair may take.
const USUAL: Picoseconds = Picoseconds::from_millis(290_000);

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
        let known: Vec<&'static str> = WORKS.iter().map(|work| work.name).chain([LAYOUT, TRUTH]).collect();
        let chosen = match &arguments.works {
            None => known.clone(),
            Some(list) => list
                .split(',')
                .map(|name| {
                    let found = known.iter().find(|known| **known == name.trim());
                    found.copied().ok_or_else(|| {
                        let names = known.join(", ");
                        Trouble::usage(format!("--works {list}: there is no `{name}`; there are: {names}"))
                    })
                })
                .collect::<Result<_, _>>()?,
        };
        let (extent, effort) = match (arguments.pairs, arguments.thorough) {
            (Some(pairs), _) => (Extent::Pairs(pairs), Effort::Quick),
            (None, true) => (Extent::Rounds(MOST_ROUNDS), Effort::Thorough),
            (None, false) => (Extent::Time(USUAL), Effort::Normal),
        };
        let order = Order {
            layout: chosen.contains(&LAYOUT),
            truth: chosen.contains(&TRUTH),
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
    /// The machine failed before the first pair: no CPU to pin to, no memory, no thread. Or it was interrupted by then.
    pub fn calibrate(&self) -> Result<Outcome, Trouble> {
        let started = Timestamp::now();
        let clock_started = Instant::now();
        let failed = |fault: Fault| Trouble::internal(fault.to_string());
        interrupt::listen().map_err(failed)?;
        let (machine, clock) = observed(&self.cpus)?;
        if let Some(refusal) = refusal(&machine, if self.load == 0 { &self.cpus[..1] } else { &self.cpus }) {
            return Ok(Outcome::Refused(refusal));
        }
        let average = machine.load.known().copied();
        let threads = self.load as usize * self.cpus.len();
        let load = Load::start(threads, &self.cpus, self.order.seed).map_err(failed)?;
        let mut ladder = Ladder::gather(clock, self.cpus[0], &self.order).map_err(failed)?;
        let questions = ladder.questions(&self.order).map_err(failed)?;
        let (mut series, places) = series(&questions);
        let mut faulty = false;
        let watch = || Picoseconds::from_nanos(clock_started.elapsed().as_nanos() as u64);
        let mut ignored = |_: tenbin_lab::Event<'_>| {};
        let stop = || interrupt::requested().is_some();
        let mut bench =
            Bench { rule: &BySignTest, watch: &watch, stop: &stop, counters: None, sink: &mut ignored };
        let mut progress = Progress::new();
        let pairs = self.order.extent.pairs(&questions, &self.order);
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
            series[places[index]].pairs.push(calibration::pair(&machine, &weighed.trial, known));
            done += 1;
            let part = match pairs {
                Some(pairs) => done as f64 / pairs as f64,
                None => watch().0 as f64 / USUAL.0 as f64,
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
            level: verdict::LEVEL,
            time: self.order.limit,
            series,
        };
        Ok(Outcome::Made(Box::new(Made { calibration, faulty, interrupted })))
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
                Trouble::usage(format!("--effects {list}: `{item}` is not a per cent from 0 to 100"))
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
