//! From a request to a run: the machine is observed, the engine is given its rule, its clock and its
//! listener.

#![expect(clippy::disallowed_methods, reason = "the date and the running time of budgets")]

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use jiff::Timestamp;
use tenbin_lab::engine::budget;
use tenbin_lab::{Bench, EXPERIMENTS, Experiment, Request, Settings, Unfit, known_sizes};
use tenbin_metal::{Clock, Counters, allowed_cpus, interrupt, machine};
use tenbin_model::machine::Observed;
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{Cpu, Descriptor, Effort, Machine, Picoseconds, Provenance, Run, Sizes};

use crate::output::Trouble;
use crate::terminal::Planned;
use crate::verbs::Measure;

/// Readers of JSON that keep numbers as doubles hold 53 bits: a seed that is drawn here survives them.
const EXACT_IN_JSON: u64 = (1 << 53) - 1;

/// What is to be measured: every step was planned once, so that wrong input is found before anything is
/// measured.
pub struct Order {
    machine: Machine,
    clock: Clock,
    steps: Vec<Step>,
    /// How many cells each step has, as far as that is known before anything is measured.
    cells: Vec<usize>,
    cpus: Vec<Cpu>,
    effort: Effort,
    seed: u64,
}

/// What was measured.
pub struct Measured {
    /// The trials that came to their end, one at least.
    pub run: Run,
    /// The signal that ended it early.
    pub interrupted: Option<i32>,
    /// What ended it early otherwise.
    pub trouble: Option<Trouble>,
    /// Names of the experiments that were asked for and of which nothing was finished.
    pub unmeasured: Vec<String>,
}

/// One experiment of an order.
struct Step {
    experiment: Experiment<'static>,
    descriptor: Descriptor,
    settings: Settings,
    /// Whether it was asked for, or is measured quickly because another one builds on it.
    asked: bool,
}

impl Order {
    /// Observes the machine, and checks names, CPUs and settings with their values.
    ///
    /// # Errors
    /// A usage error that names the word that is wrong and what would be right.
    pub fn new(
        names: &[String],
        settings: &[String],
        measure: &Measure,
        usual: Effort,
    ) -> Result<Self, Trouble> {
        let effort = match (measure.quick, measure.thorough) {
            (true, _) => Effort::Quick,
            (_, true) => Effort::Thorough,
            _ => usual,
        };
        let (steps, cpus) = (chosen(names, settings)?, cpus(measure.cpus.as_deref())?);
        let (machine, clock) = observed(&cpus)?;
        let (steps, seed) = (with_foundations(steps), seed(measure.seed));
        let mut order = Self { machine, clock, steps, cells: Vec::new(), cpus, effort, seed };
        order.cells = order.planned()?;
        Ok(order)
    }

    /// Plans every step by the firmware's word on the caches, for the sake of the values that `--set` gave,
    /// and says how many cells each has. What the machine cannot answer is left for the measurement, which
    /// may know more by then.
    fn planned(&self) -> Result<Vec<usize>, Trouble> {
        let sizes = known_sizes(&self.machine, &[]);
        let plans = self.steps.iter().map(|step| (step.experiment.plan)(&self.request(step, &sizes)));
        plans
            .map(|plan| match plan {
                Ok(plan) => Ok(plan.cells.len()),
                Err(usage @ Unfit::Usage(_)) => Err(trouble(usage)),
                Err(_) => Ok(0),
            })
            .collect()
    }

    fn request<'a>(&'a self, step: &'a Step, sizes: &'a Sizes) -> Request<'a> {
        Request {
            machine: &self.machine,
            clock: self.clock,
            cpus: &self.cpus,
            effort: self.effort_of(step),
            settings: &step.settings,
            sizes,
            seed: self.seed,
        }
    }

    fn effort_of(&self, step: &Step) -> Effort {
        if step.asked { self.effort } else { Effort::Quick }
    }

    /// Names of the experiments that were asked for, whatever else has to be measured for their sake.
    pub fn asked(&self) -> Vec<&str> {
        let asked = self.steps.iter().filter(|step| step.asked);
        asked.map(|step| step.descriptor.name.as_str()).collect()
    }

    /// Measures, and hands every experiment that is finished to `answered` as a run of its own. Whoever
    /// interrupts it gets what was finished.
    ///
    /// # Errors
    /// What ended it before anything was finished.
    pub fn measure(&self, answered: &mut dyn FnMut(&Run)) -> Result<Measured, Trouble> {
        interrupt::listen().map_err(|fault| Trouble::internal(fault.to_string()))?;
        let started = Timestamp::now();
        let clock_started = Instant::now();
        let watch = || Picoseconds::from_nanos(clock_started.elapsed().as_nanos() as u64);
        let stop = || interrupt::requested().is_some();
        let times = self.steps.iter().zip(&self.cells).map(|(step, &cells)| {
            // What is only looked at, or refused, takes a while as well.
            Picoseconds(budget(self.effort_of(step)).0 * cells.max(1) as u64)
        });
        let mut progress = Planned::new(times.collect(), &watch);
        let mut run = Run {
            provenance: Provenance {
                version: env!("CARGO_PKG_VERSION").into(),
                started: started.to_string(),
                seed: self.seed,
                effort: self.effort,
                arguments: words(),
            },
            machine: self.machine.clone(),
            trials: Vec::new(),
        };
        let mut failed = None;
        for step in &self.steps {
            let sizes = known_sizes(&self.machine, &run.trials);
            let request = self.request(step, &sizes);
            let mut sink = |event: tenbin_lab::Event<'_>| progress.follow(event);
            // Opened anew for each experiment: where there are none, the machine says why.
            let counters = Counters::hardware().ok();
            let probe = |cpus: &[Cpu]| tenbin_metal::probe(self.clock, cpus);
            let mut bench =
                Bench { watch: &watch, stop: &stop, counters, probe: Some(&probe), sink: &mut sink };
            let trial = match bench.run(&step.experiment, &request) {
                Ok(trial) => trial,
                Err(Unfit::Stopped) => break,
                Err(unfit) => {
                    failed = Some(trouble(unfit));
                    break;
                }
            };
            let earlier = std::mem::replace(&mut run.trials, vec![trial]);
            progress.aside(|| answered(&run));
            run.trials.splice(0..0, earlier);
        }
        progress.finish();
        let interrupted = interrupt::requested();
        if run.trials.is_empty() {
            return Err(match (failed, interrupted) {
                (Some(trouble), _) => trouble,
                (None, signal) => Trouble::interrupted(signal.unwrap_or_default()),
            });
        }
        let measured = |name: &str| run.trials.iter().any(|trial| trial.descriptor.name == name);
        let unmeasured = self.asked().into_iter().filter(|name| !measured(name)).map(str::to_owned).collect();
        Ok(Measured { run, interrupted, trouble: failed, unmeasured })
    }
}

/// The words after `tenbin` on the command line; what is no Unicode in them is replaced.
pub fn words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The seed that was given, or the time of day.
pub fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| Timestamp::now().as_nanosecond() as u64 & EXACT_IN_JSON)
}

fn trouble(unfit: Unfit) -> Trouble {
    match unfit {
        Unfit::Usage(message) => Trouble::usage(message),
        Unfit::Refused(refusal) => Trouble::internal(refusal.reached),
        Unfit::Missing(missing) => Trouble::missing(&missing),
        Unfit::Fault(fault) => Trouble::internal(fault.to_string()),
        Unfit::Stopped => Trouble::interrupted(interrupt::requested().unwrap_or_default()),
    }
}

/// The machine as it is now, and the clock that was chosen on it.
///
/// # Errors
/// Internal, where the clock cannot be looked at from all CPUs: no thread can be started.
pub fn observed(cpus: &[Cpu]) -> Result<(Machine, Clock), Trouble> {
    let mut machine = machine::observe_this();
    let limited = |fault| {
        Trouble::internal(format!(
            "{fault}; raise the limit on processes (ulimit -u, pids.max) or on memory (ulimit -v)"
        ))
    };
    let (clock, description) = Clock::choose(cpus).map_err(limited)?;
    machine.clock = Observed::Known(description);
    Ok((machine, clock))
}

/// Every experiment's description, in the order of the list.
pub fn descriptors() -> Vec<Descriptor> {
    all().map(|(_, descriptor)| descriptor).collect()
}

/// Every experiment's name.
pub fn names() -> Vec<String> {
    descriptors().into_iter().map(|descriptor| descriptor.name).collect()
}

/// The steps with what each builds on before it: where that was not asked for, it is added.
///
/// What others build on builds on nothing itself; a test holds the list to that.
fn with_foundations(asked: Vec<Step>) -> Vec<Step> {
    let mut waiting: VecDeque<Step> = asked.into();
    let mut steps: Vec<Step> = Vec::new();
    while let Some(step) = waiting.pop_front() {
        for name in &step.descriptor.builds_on {
            if steps.iter().any(|earlier| earlier.descriptor.name == *name) {
                continue;
            }
            let later = waiting.iter().position(|other| other.descriptor.name == *name);
            let foundation = later.and_then(|place| waiting.remove(place));
            steps.extend(foundation.or_else(|| unasked(name)));
        }
        steps.push(step);
    }
    steps
}

/// A step that nobody asked for, as every parameter stands by itself.
fn unasked(name: &str) -> Option<Step> {
    let (experiment, descriptor) = all().find(|(_, descriptor)| descriptor.name == name)?;
    Some(Step { experiment, descriptor, settings: Settings::default(), asked: false })
}

/// Every experiment with its description.
fn all() -> impl Iterator<Item = (Experiment<'static>, Descriptor)> {
    EXPERIMENTS.iter().map(|experiment| (*experiment, (experiment.describe)()))
}

/// The experiments that are named, or all.
///
/// # Errors
/// A usage error: there is none of that name, or it is named twice.
pub fn named(names: &[String]) -> Result<Vec<(Experiment<'static>, Descriptor)>, Trouble> {
    let all: Vec<(Experiment<'static>, Descriptor)> = all().collect();
    let mut picked = Vec::new();
    for name in names {
        let found = all.iter().find(|(_, descriptor)| descriptor.name == *name).ok_or_else(|| {
            let known: Vec<&str> = all.iter().map(|(_, descriptor)| descriptor.name.as_str()).collect();
            Trouble::usage(format!("there is no experiment `{name}`; there are: {}", comma(&known)))
        })?;
        if picked.iter().any(|(_, descriptor): &(Experiment<'static>, Descriptor)| descriptor.name == *name) {
            return Err(Trouble::usage(format!("experiment `{name}` is named twice")));
        }
        picked.push(found.clone());
    }
    Ok(if names.is_empty() { all } else { picked })
}

/// What was published about the one experiment that is named, as a run.
///
/// # Errors
/// A usage error where it is not one, or nothing was published that can be judged.
pub fn published(names: &[String]) -> Result<Run, Trouble> {
    let has = |(experiment, descriptor): &(Experiment<'static>, Descriptor)| {
        experiment.published.is_some() || !descriptor.published.is_empty()
    };
    let with: Vec<String> = all().filter(has).map(|(_, known)| known.name).collect();
    let with = comma(&with);
    match named(names)?.as_slice() {
        [(experiment, descriptor)] => {
            let judged = experiment.published.map(|published| published());
            judged.or_else(|| tenbin_lab::published::figures(descriptor.clone())).ok_or_else(|| {
                let name = &descriptor.name;
                Trouble::usage(format!("nothing was published about `{name}`; it was about: {with}"))
            })
        }
        _ => Err(Trouble::usage(format!("--from published: name one experiment of: {with}"))),
    }
}

/// The experiments that are named, or all, each with the settings that are its own.
fn chosen(names: &[String], settings: &[String]) -> Result<Vec<Step>, Trouble> {
    let picked = named(names)?;
    let mut given = BTreeMap::new();
    for setting in settings {
        let (key, value) = setting
            .split_once('=')
            .filter(|(key, _)| !key.is_empty())
            .ok_or_else(|| Trouble::usage(format!("--set {setting}: it has the form KEY=VALUE")))?;
        if given.insert(key.to_owned(), value.to_owned()).is_some() {
            return Err(Trouble::usage(format!("--set {key} is given twice")));
        }
    }
    let has = |descriptor: &Descriptor, key: &str| {
        descriptor.parameters.iter().any(|parameter| parameter.name == key)
    };
    if names.is_empty()
        && let Some(key) = given.keys().next()
    {
        let with = all().filter(|(_, known)| has(known, key)).map(|(_, known)| known.name);
        let with: Vec<String> = with.collect();
        let which = if with.is_empty() { "none has it".into() } else { comma(&with) };
        return Err(Trouble::usage(format!(
            "--set {key}: name the experiment that it is for ({which}); without one all are measured, for minutes"
        )));
    }
    // A key that nobody knows is left to the first experiment, which names what it does know.
    let orphan = |key: &str| !picked.iter().any(|(_, descriptor)| has(descriptor, key));
    if let (true, Some(key)) = (picked.len() > 1, given.keys().find(|key| orphan(key))) {
        let knobs = picked.iter().map(|(_, descriptor)| {
            let own = descriptor.parameters.iter().map(|parameter| parameter.name.as_str());
            let own: Vec<&str> = own.collect();
            format!("`{}` has {}", descriptor.name, if own.is_empty() { "none".into() } else { comma(&own) })
        });
        return Err(Trouble::usage(format!(
            "--set {key}: none of the experiments that are named has a parameter `{key}`: {}",
            semicolon(knobs)
        )));
    }
    picked
        .iter()
        .map(|(experiment, descriptor)| {
            let own = given
                .iter()
                .filter(|(key, _)| has(descriptor, key) || orphan(key))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect();
            let settings = Settings::new(own, descriptor).map_err(trouble)?;
            Ok(Step { experiment: *experiment, descriptor: descriptor.clone(), settings, asked: true })
        })
        .collect()
}

/// The CPUs to use: those given, in their order, or all that this process may use.
pub fn cpus(list: Option<&str>) -> Result<Vec<Cpu>, Trouble> {
    let allowed = allowed_cpus().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let Some(list) = list else { return Ok(allowed) };
    let cpus = machine::cpus_in_order(list)
        .map_err(|why| Trouble::usage(format!("--cpus {list}: {why}; it is a list like 0,2-3")))?;
    if cpus.is_empty() {
        return Err(Trouble::usage("--cpus: the list is empty"));
    }
    if let Some(twice) = cpus.iter().enumerate().find(|(place, cpu)| cpus[..*place].contains(cpu)) {
        return Err(Trouble::usage(format!("--cpus {list}: {} is named twice", twice.1)));
    }
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(cpus),
        Some(absent) => {
            let ranges = tenbin_model::machine::cpu_ranges(&allowed);
            Err(Trouble::usage(format!(
                "--cpus {list}: there is no {absent} for this process; it has {ranges}"
            )))
        }
    }
}
