//! The ladder: pairs of which the truth is known, weighed by the same engine as everything else.
//!
//! A sceptic's questions, and where each is asked:
//! - How often are equals called different? Both sides of a [`works`] pair do the same (`rung.rs`).
//! - Which effect is found? The right side does a known part more of the same operations (`rung.rs`).
//! - Does it matter where code and stack lie? Twins of one function, elsewhere (`twins.rs`).
//! - Is a ratio right, and not only repeatable? Ratios that are whole numbers at any clock rate (`truth.rs`).
//! - And of whole processes, which are started one after the other? (`commands.rs`)
//! - And of functions in files, which lie at other places in each block? (`functions.rs`)

mod commands;
mod functions;
mod round;
mod rung;
mod truth;
mod twins;
pub mod works;

use std::sync::Arc;

use tenbin_analysis::{Analysis, Comparisons};
use tenbin_metal::{Clock, Fault, Task, Team, kernels};
use tenbin_model::{
    Arrangement, Cell, Comparison, Cpu, Descriptor, Effort, Machine, Picoseconds, Purpose, Refusal, Series,
    Sizes, Source, Trial, Variant, VariantIndex,
};

use crate::engine::{self, Bench, Setting};
use crate::experiment::{Apparatus, Experiment, Request, Settings, Unfit};
use crate::weigh::Weighing;

pub use round::{Extent, MOST_ROUNDS};
pub use truth::Known;
pub use works::{Labour, WORKS, Work};

/// The smallest effect is at least this many whole operations of an epoch, or it is not asked for: one
/// operation more or less must not be what is found.
const LEAST_OPERATIONS: f64 = 2.0;

/// A longer epoch than this is no longer short against a slice of the scheduler.
const LONGEST_EPOCH: Picoseconds = Picoseconds::from_millis(2);

/// Length of an epoch of twins and of truths.
const EPOCH: Picoseconds = Picoseconds::from_micros(100);

/// The margin of equivalence that `tenbin weigh` has unless another is asked for.
const MARGIN: f64 = 0.01;

/// Why an effect on commands or functions is not asked for.
fn unneeded(effect: f64) -> Option<String> {
    let is_small = effect > 0.0 && effect < MARGIN;
    is_small.then(|| "the effect is less than the margin, so it need not be found".into())
}

/// The steps of the ladder, as fractions, unless others are asked for; 0 are the equals.
pub const EFFECTS: &[f64] = &[0.0, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05];

/// What a question is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subject {
    /// The work of this index, of those that were set up.
    Work(usize),
    /// Twins in the region of memory of this number.
    Twins(u32),
    /// A ratio that is known.
    Truth(Known),
    /// Two whole processes.
    Command(commands::Pair),
    /// Two functions in files.
    Function(functions::Pair),
}

/// What a pair asks.
#[derive(Clone, Debug, PartialEq)]
pub struct Question {
    /// What it is about.
    pub subject: Subject,
    /// Name of the work, or of the truth.
    pub work: &'static str,
    /// What is done, in words.
    pub what: String,
    /// By which part the right side does more than the left.
    pub effect: f64,
    /// The margin of equivalence.
    pub margin: f64,
    /// Why it cannot be asked here.
    pub refused: Option<String>,
}

impl Question {
    /// What it is asked for.
    pub fn purpose(&self) -> Purpose {
        match self.subject {
            Subject::Work(_) => Purpose::Ladder,
            Subject::Twins(_) => Purpose::Layout,
            Subject::Truth(_) => Purpose::Truth,
            Subject::Command(_) => Purpose::Command,
            Subject::Function(_) => Purpose::Function,
        }
    }

    /// Which of several layouts it is asked in.
    pub fn layout(&self) -> Option<u32> {
        if let Subject::Twins(region) = self.subject { Some(region) } else { None }
    }
}

/// A series for all questions that differ in their layout only, still without pairs, and the place among
/// them of each question's.
pub fn series(questions: &[Question]) -> (Vec<Series>, Vec<usize>) {
    let mut series: Vec<Series> = Vec::new();
    let mut places = Vec::with_capacity(questions.len());
    for question in questions {
        let own = |it: &Series| {
            (it.purpose, it.work.as_str(), it.effect) == (question.purpose(), question.work, question.effect)
        };
        let place = series.iter().position(own).unwrap_or(series.len());
        if place == series.len() {
            series.push(Series {
                purpose: question.purpose(),
                work: question.work.into(),
                what: question.what.clone(),
                effect: question.effect,
                margin: question.margin,
                refused: question.refused.clone(),
                pairs: Vec::new(),
            });
        }
        places.push(place);
    }
    (series, places)
}

/// A pair, weighed: what the judge needs.
pub struct Weighed {
    /// The pair as a trial of one cell.
    pub trial: Trial,
    /// Cost of the right side over cost of the left, as it is known.
    pub truth: f64,
    /// Operations that the left side did in an epoch, or of a truth the side that came first.
    pub operations: u64,
    /// Time from the first epoch to the last, its preparation counted in.
    pub took: Picoseconds,
}

/// What to weigh.
#[derive(Clone, Debug)]
pub struct Order {
    /// Names of works, of [`WORKS`].
    pub works: Vec<&'static str>,
    /// Steps of the ladder, ascending; 0 are the equals.
    pub effects: Vec<f64>,
    /// Whether twins are weighed.
    pub layout: bool,
    /// Whether truths are weighed.
    pub truth: bool,
    /// Whether commands are weighed.
    pub commands: bool,
    /// Whether functions in files are weighed.
    pub functions: bool,
    /// How many pairs.
    pub extent: Extent,
    /// The most time for a verdict.
    pub limit: Picoseconds,
    /// Seed of every random choice.
    pub seed: u64,
}

/// Why no pair can be timed on this machine, if none can. `cpus` are all that are to be in use, by load as
/// well.
pub fn refusal(machine: &Machine, cpus: &[Cpu]) -> Option<Refusal> {
    let epoch = engine::long_enough(machine, EPOCH);
    engine::refusal(machine, &Arrangement { cpus: cpus.to_vec(), ..arrangement(cpus[0], epoch, 1) }, &[])
}

/// The works, set up on one CPU.
pub struct Ladder {
    team: Team,
    works: Vec<(&'static Work, Arc<dyn Labour>)>,
    /// What says when a pair is decided.
    analysis: &'static dyn Analysis,
}

impl Ladder {
    /// Sets up the works of `order` on `cpu`.
    ///
    /// # Errors
    /// The CPU cannot be pinned to, or a work cannot be set up.
    pub fn gather(clock: Clock, cpu: Cpu, order: &Order) -> Result<Self, Fault> {
        let team = Team::gather(clock, &[cpu])?;
        let chosen = WORKS.iter().filter(|work| order.works.contains(&work.name));
        let works =
            chosen.map(|work| Ok((work, (work.prepare)(order.seed)?))).collect::<Result<Vec<_>, Fault>>()?;
        Ok(Self { team, works, analysis: &Comparisons })
    }

    /// The questions of `order`, those that cannot be asked here among them.
    ///
    /// # Errors
    /// The machine failed while the cost of an operation was looked at.
    pub fn questions(&mut self, order: &Order) -> Result<Vec<Question>, Fault> {
        let mut questions = Vec::new();
        for index in 0..self.works.len() {
            let cost = self.cost(index)?;
            let work = self.works[index].0;
            for &effect in &order.effects {
                let longest = LONGEST_EPOCH.0 as f64;
                let needed = least_operations(effect) as f64 * cost;
                questions.push(Question {
                    subject: Subject::Work(index),
                    work: work.name,
                    what: work.what.into(),
                    effect,
                    margin: work.margin,
                    refused: (needed > longest).then(|| {
                        format!(
                            "two more whole operations need an epoch of {}, and the longest is {LONGEST_EPOCH}",
                            Picoseconds(needed as u64)
                        )
                    }),
                });
            }
        }
        if order.layout {
            questions.extend((0..kernels::REGIONS as u32).map(twins::question));
        }
        if order.truth {
            questions.extend(truth::questions());
        }
        if order.commands {
            questions.extend(commands::questions(&order.effects)?);
        }
        if order.functions {
            questions.extend(functions::questions(&order.effects));
        }
        Ok(questions)
    }

    /// Picoseconds for one operation, roughly: the best of a few short epochs.
    fn cost(&mut self, index: usize) -> Result<f64, Fault> {
        const OPERATIONS: u64 = 200;
        let task = task(&self.works[index].1);
        let mut best = f64::INFINITY;
        for _ in 0..20 {
            best = best.min(self.team.lap(&task, OPERATIONS)?.elapsed.0 as f64 / OPERATIONS as f64);
        }
        Ok(best)
    }

    /// Weighs pairs round after round, as many as `order` says or until `bench` is to stop, and hands each to
    /// `judge`. A pair that was being weighed then is dropped.
    pub fn climb(
        &mut self,
        bench: &mut Bench<'_>,
        machine: &Machine,
        order: &Order,
        questions: &[Question],
        judge: &mut dyn FnMut(usize, Weighed),
    ) {
        let start = (bench.watch)();
        for number in 0.. {
            if order.extent.is_reached(number) {
                return;
            }
            for (place, index) in round::of(questions, number, order).into_iter().enumerate() {
                if order.extent.is_spent((bench.watch)().saturating_sub(start)) {
                    return;
                }
                let seed = engine::cell_seed(order.seed, "ladder", (number as usize) << 16 | place);
                let weighed = self.weigh(bench, machine, order.limit, &questions[index], seed);
                if (bench.stop)() {
                    return;
                }
                judge(index, weighed);
            }
        }
    }

    fn weigh(
        &mut self,
        bench: &mut Bench<'_>,
        machine: &Machine,
        limit: Picoseconds,
        question: &Question,
        seed: u64,
    ) -> Weighed {
        let start = (bench.watch)();
        let cpu = self.team.cpus()[0];
        let effect = question.effect;
        let longer = Picoseconds(limit.0.saturating_mul(question.purpose().times()));
        let weighed = |bench: &Bench<'_>, trial, truth, operations| {
            let took = (bench.watch)().saturating_sub(start);
            Weighed { trial, truth, operations, took }
        };
        let (mut apparatus, arrangement, truth): (Box<dyn Apparatus + '_>, _, Truth) = match question.subject
        {
            Subject::Work(index) => {
                let (work, labour) = &self.works[index];
                let rung = rung::Rung::new(&mut self.team, Arc::clone(labour), effect);
                let arrangement = arrangement(cpu, work.epoch, least_operations(effect));
                (Box::new(rung), arrangement, Box::new(move |operations| rung::truth(operations, effect)))
            }
            Subject::Twins(region) => {
                let twins = twins::Twins::new(&mut self.team, region, seed);
                (Box::new(twins), arrangement(cpu, EPOCH, 1), Box::new(|_| 1.0))
            }
            Subject::Truth(known) => {
                let truth = truth::Truth::new(&mut self.team, known);
                (Box::new(truth), arrangement(cpu, EPOCH, 1), Box::new(move |_| known.ratio()))
            }
            Subject::Command(pair) => {
                let trial = self.all_the_way(bench, machine, question, seed, pair.read(longer));
                return weighed(bench, trial, pair.truth(), pair.operations());
            }
            Subject::Function(pair) => {
                let trial = self.all_the_way(bench, machine, question, seed, pair.read(cpu, longer));
                return weighed(bench, trial, pair.truth(), pair.operations());
            }
        };
        let descriptor = describe(question);
        let mut cell = Cell::unmeasured(arrangement);
        let known_alike = question.purpose() != Purpose::Truth;
        // Twice the time is enough: a pair that has no verdict by then is refused, as it would be for a user.
        let setting = Setting {
            analysis: self.analysis,
            descriptor: &descriptor,
            family: 1,
            machine,
            limit,
            overtime: 2,
            by_looks: false,
            known_alike,
            seed,
        };
        bench.weigh(&setting, &mut *apparatus, &mut cell);
        let operations = cell.samples.first().map_or(0, |sample| sample.iterations);
        let trial = Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() };
        weighed(bench, trial, truth(operations), operations)
    }

    /// Weighs a pair as `tenbin weigh` does. `read` is the pair as it was read, with what has to be there
    /// for as long as it is weighed.
    fn all_the_way<K>(
        &self,
        bench: &mut Bench<'_>,
        machine: &Machine,
        question: &Question,
        seed: u64,
        read: Result<(Weighing, K), Unfit>,
    ) -> Trial {
        let weighed = read.and_then(|(weighing, _kept)| {
            let (describe, plan) = (|| weighing.describe(), |request: &Request<'_>| weighing.plan(request));
            let experiment = Experiment { analysis: weighing.analysis, ..Experiment::new(&describe, &plan) };
            let (settings, sizes, cpus) = (Settings::default(), Sizes::default(), [] as [Cpu; 0]);
            let request = Request {
                machine,
                clock: self.team.clock(),
                cpus: &cpus,
                effort: Effort::Normal,
                sizes: &sizes,
                settings: &settings,
                seed,
            };
            bench.run(&experiment, &request)
        });
        weighed.unwrap_or_else(|unfit| {
            let refusal = Refusal {
                reached: engine::in_words(unfit),
                needs: "two sides that can be started".into(),
                remedy: "see `tenbin weigh true true`".into(),
            };
            Trial {
                descriptor: describe(question),
                refusal: Some(refusal),
                cells: Vec::new(),
                findings: Vec::new(),
            }
        })
    }
}

/// The ratio of the right side to the left, by how many operations the left did.
type Truth = Box<dyn Fn(u64) -> f64>;

const NAMES: [&str; 2] = ["the left side", "the right side"];
const LEFT: VariantIndex = VariantIndex(0);
const RIGHT: VariantIndex = VariantIndex(1);
/// The planted fault: one operation less than asked for.
const SHORT: VariantIndex = VariantIndex(2);

fn least_operations(effect: f64) -> u64 {
    if effect > 0.0 { (LEAST_OPERATIONS / effect).ceil() as u64 } else { 1 }
}

fn task(labour: &Arc<dyn Labour>) -> Task {
    let labour = Arc::clone(labour);
    Arc::new(move |_, operations| operations.saturating_sub(labour.work(operations)))
}

fn arrangement(cpu: Cpu, epoch: Picoseconds, least_iterations: u64) -> Arrangement {
    Arrangement {
        label: "as a pair".into(),
        cpus: vec![cpu],
        epoch,
        least_iterations,
        variants: vec![LEFT, RIGHT],
        comparisons: Comparison::of([(LEFT, RIGHT)]),
        ..Arrangement::default()
    }
}

fn describe(question: &Question) -> Descriptor {
    Descriptor {
        name: question.work.into(),
        question: "Does it find what is known of this pair?".into(),
        requirement: "an instrument that says \"different\" must say how often it is wrong".into(),
        specification: "as many operations are done as are asked for".into(),
        subject: question.what.clone(),
        variants: vec![
            Variant::measured(NAMES[0], "n operations"),
            Variant::measured(NAMES[1], "as many, or a known part more"),
            Variant::sabotage("one short", "one operation less than asked for"),
        ],
        margin: question.margin,
        epoch: EPOCH,
        sources: vec![Source::new(
            "Georges, Buytaert and Eeckhout, \"Statistically rigorous Java performance evaluation\", 2007",
            "a rule is judged by how often it errs where the truth is known",
        )],
        ..Descriptor::default()
    }
}

#[cfg(test)]
mod tests;
