//! A survey: from the names that a user gave to a run. Which experiments are measured, in which order, what
//! they build on, and what is wrong with the request, before anything is measured.

use std::collections::{BTreeMap, VecDeque};

use tenbin_metal::{Clock, Counters, allowed_cpus, machine};
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{Cpu, Descriptor, Effort, Machine, Order, Picoseconds, Provenance, Run, Sizes, order};

use crate::engine::{Bench, Event, budget};
use crate::experiment::{Apparatus, Experiment, Request, Settings, Unfit, has, parameters};
use crate::experiments::{EXPERIMENTS, caches::known_sizes};
use crate::published;

/// Experiments that were asked for, with the values of their parameters.
pub struct Selection<'a>(Vec<Step<'a>>);

/// What is to be measured, and on what: every step was planned once, so that wrong input is known before
/// anything is measured.
pub struct Survey<'a> {
    machine: Machine,
    clock: Clock,
    cpus: Vec<Cpu>,
    effort: Effort,
    seed: u64,
    steps: Vec<Step<'a>>,
    /// The most time that each step is expected to take; none is 0.
    times: Vec<Picoseconds>,
}

/// What was measured.
pub struct Measured {
    /// The trials that came to their end, one at least: those that were asked for, then what they build on.
    pub run: Run,
    /// What ended it early, but for being asked to stop.
    pub unfit: Option<Unfit>,
    /// Names of the experiments that were asked for and of which nothing was finished.
    pub unmeasured: Vec<String>,
}

struct Step<'a> {
    experiment: Experiment<'a>,
    descriptor: Descriptor,
    settings: Settings,
    /// Whether it was asked for, or is measured quickly because another one builds on it.
    asked: bool,
}

impl<'a> Selection<'a> {
    /// One experiment, which is not in the list.
    pub fn of(experiment: Experiment<'a>) -> Self {
        let descriptor = (experiment.describe)();
        Self(vec![Step { experiment, descriptor, settings: Settings::default(), asked: true }])
    }

    /// The experiments that are `named`, or all that a survey asks, each with the settings (`KEY=VALUE`) that
    /// are its own.
    ///
    /// # Errors
    /// A usage error that names the word that is wrong and what would be right.
    pub fn new(named: &[String], settings: &[String]) -> Result<Self, Unfit> {
        let picked = self::named(named)?;
        let mut given = BTreeMap::new();
        for setting in settings {
            let (key, value) = setting
                .split_once('=')
                .filter(|(key, _)| !key.is_empty())
                .ok_or_else(|| Unfit::Usage(format!("--set {setting}: it has the form KEY=VALUE")))?;
            if given.insert(key.to_owned(), value.to_owned()).is_some() {
                return Err(Unfit::Usage(format!("--set {key} is given twice")));
            }
        }
        // A key that nobody knows is left to the first experiment, which names what it does know.
        let orphan = |key: &&String| !picked.iter().any(|(_, descriptor)| has(descriptor, key));
        let orphans: Vec<&String> = given.keys().filter(orphan).collect();
        if let (true, Some(key)) = (picked.len() > 1, orphans.first()) {
            let knobs = picked
                .iter()
                .map(|(_, descriptor)| format!("`{}` has {}", descriptor.name, parameters(descriptor)));
            return Err(Unfit::Usage(format!(
                "--set {key}: none of the named experiments has a parameter `{key}`: {}",
                semicolon(knobs)
            )));
        }
        let steps = picked.into_iter().map(|(experiment, descriptor)| {
            let own = given.iter().filter(|(key, _)| has(&descriptor, key) || orphans.contains(key));
            let own = order::map(own.map(|(key, value)| (key.clone(), value.clone())));
            let settings = Settings::new(own, &descriptor)?;
            Ok(Step { experiment, descriptor, settings, asked: true })
        });
        steps.collect::<Result<_, _>>().map(Self)
    }
}

impl<'a> Survey<'a> {
    /// Plans every step by the firmware's word on the caches, for the sake of the values that were set. What
    /// the machine cannot answer is left for the measurement, which may know more by then.
    ///
    /// # Errors
    /// A usage error where a value is not one that the experiment takes.
    pub fn new(
        selection: Selection<'a>,
        (machine, clock): (Machine, Clock),
        cpus: Vec<Cpu>,
        effort: Effort,
        seed: u64,
    ) -> Result<Self, Unfit> {
        let steps = with_foundations(selection.0);
        let mut survey = Self { machine, clock, cpus, effort, seed, steps, times: Vec::new() };
        let sizes = known_sizes(&survey.machine, &[]);
        let plans = survey.steps.iter().map(|step| (step.experiment.plan)(&survey.request(step, &sizes)));
        survey.times = plans
            .zip(&survey.steps)
            .map(|(plan, step)| {
                let (cells, time) = match plan {
                    Ok(plan) => (plan.cells.len(), plan.time.map(|allowance| allowance.time)),
                    Err(usage @ Unfit::Usage(_)) => return Err(usage),
                    Err(_) => (0, None),
                };
                // What is only looked at, or refused, takes a while as well.
                Ok(Picoseconds(time.unwrap_or(budget(survey.effort_of(step))).0 * cells.max(1) as u64))
            })
            .collect::<Result<_, _>>()?;
        Ok(survey)
    }

    fn request<'r>(&'r self, step: &'r Step<'_>, sizes: &'r Sizes) -> Request<'r> {
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

    fn effort_of(&self, step: &Step<'_>) -> Effort {
        if step.asked { self.effort } else { Effort::Quick }
    }

    /// Sets up the first cell of the first experiment, with that one's description.
    ///
    /// # Errors
    /// As the experiment has them.
    pub fn open(&self) -> Result<(Descriptor, Box<dyn Apparatus>), Unfit> {
        let step = self.steps.first().ok_or(Unfit::Stopped)?;
        let sizes = known_sizes(&self.machine, &[]);
        let request = self.request(step, &sizes);
        let plan = (step.experiment.plan)(&request)?;
        let cell = plan.cells.first().ok_or(Unfit::Stopped)?;
        Ok((step.descriptor.clone(), cell.open(&request)?))
    }

    /// Names of the experiments that were asked for, whatever else has to be measured for their sake.
    pub fn asked(&self) -> Vec<&str> {
        let asked = self.steps.iter().filter(|step| step.asked);
        asked.map(|step| step.descriptor.name.as_str()).collect()
    }

    /// The most time that each step is expected to take; none is 0.
    pub fn times(&self) -> Vec<Picoseconds> {
        self.times.clone()
    }

    /// Measures, and tells `sink` of every experiment that is finished, as a run of its own
    /// ([`Event::Finished`]). `watch` is the time since the beginning, and `stop` whether to end early: then
    /// what was finished is the run. Before that: this version and what it was built of, a date as ISO
    /// 8601 has it, and the words of the command line.
    ///
    /// # Errors
    /// What ended it before anything was finished.
    pub fn measure(
        &self,
        (version, build, started, arguments): (&str, String, String, Vec<String>),
        watch: &dyn Fn() -> Picoseconds,
        stop: &dyn Fn() -> bool,
        sink: &mut dyn FnMut(Event<'_>),
    ) -> Result<Measured, Unfit> {
        let Self { seed, effort, .. } = *self;
        let (version, build) = (version.into(), Some(build));
        let provenance = Provenance { version, build, started, seed, effort, arguments };
        let mut run = Run { provenance, machine: self.machine.clone(), trials: Vec::new() };
        let mut unfit = None;
        for step in &self.steps {
            let sizes = known_sizes(&self.machine, &run.trials);
            let request = self.request(step, &sizes);
            // Opened anew for each experiment: where there are none, the machine says why.
            let counters = Counters::hardware().ok();
            let probe = |cpus: &[Cpu]| tenbin_metal::probe(self.clock, cpus);
            let mut bench = Bench { watch, stop, counters, probe: Some(&probe), sink: &mut *sink };
            let trial = match bench.run(&step.experiment, &request) {
                Ok(trial) => trial,
                Err(Unfit::Stopped) => break,
                // A program that one question needs is nothing to the others.
                Err(missing @ Unfit::Missing(_)) => {
                    unfit.get_or_insert(missing);
                    continue;
                }
                Err(other) => {
                    unfit = Some(other);
                    break;
                }
            };
            let earlier = std::mem::replace(&mut run.trials, vec![trial]);
            sink(Event::Finished { run: &run });
            run.trials.splice(0..0, earlier);
        }
        if run.trials.is_empty() {
            return Err(unfit.unwrap_or(Unfit::Stopped));
        }
        // What was asked for is read first, wherever the run is read; what it builds on stands behind it.
        let asked = self.asked();
        run.trials.order_by_key(|trial| !asked.contains(&trial.descriptor.name.as_str()));
        let measured = |name: &str| run.trials.iter().any(|trial| trial.descriptor.name == name);
        let unmeasured = asked.into_iter().filter(|name| !measured(name)).map(str::to_owned).collect();
        Ok(Measured { run, unfit, unmeasured })
    }
}

/// Every experiment's description, in the order of the list.
pub fn descriptors() -> Vec<Descriptor> {
    all().map(|(_, descriptor)| descriptor).collect()
}

/// The titles of the tables that each experiment reads besides those of epochs, in the order of the list.
pub fn titles() -> Vec<Vec<String>> {
    let of = |experiment: &Experiment<'static>| {
        experiment.formats.iter().map(|format| format.titles.join(",")).collect()
    };
    EXPERIMENTS.iter().map(of).collect()
}

/// Every experiment's name.
pub fn names() -> Vec<String> {
    all().map(|(_, descriptor)| descriptor.name).collect()
}

/// The word for all of them.
pub const ALL: &str = "all";

/// The names of what is to be measured where these words are given, with these settings.
///
/// # Errors
/// A usage error where there is no word: what takes minutes is not begun by accident.
pub fn asked_for(words: &[String], settings: &[String]) -> Result<Vec<String>, Unfit> {
    match (words, settings) {
        ([], [setting, ..]) => {
            let key = setting.split('=').next().unwrap_or(setting);
            let with = all().filter(|(_, known)| has(known, key)).map(|(_, known)| known.name);
            let with: Vec<String> = with.collect();
            let which = if with.is_empty() { "none has it".into() } else { comma(&with) };
            Err(Unfit::Usage(format!("--set {key}: name the experiment that it is for ({which})")))
        }
        ([], []) => Err(Unfit::Usage(format!(
            "name a question, or several: {}; `tenbin run {ALL}` asks all of them, for minutes, and `tenbin` alone \
             asks those that need no other program quickly, with a line for an answer",
            comma(names())
        ))),
        ([word], _) if word == ALL => Ok(names()),
        (words, _) => Ok(words.to_vec()),
    }
}

fn all() -> impl Iterator<Item = (Experiment<'static>, Descriptor)> {
    EXPERIMENTS.iter().map(|experiment| (*experiment, (experiment.describe)()))
}

/// The steps with what each builds on before it: where that was not asked for, it is added.
///
/// What others build on builds on nothing itself; a test holds the list to that.
fn with_foundations(asked: Vec<Step<'_>>) -> Vec<Step<'_>> {
    let mut waiting: VecDeque<Step<'_>> = asked.into();
    let mut steps: Vec<Step<'_>> = Vec::new();
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
fn unasked(name: &str) -> Option<Step<'static>> {
    let (experiment, descriptor) = all().find(|(_, descriptor)| descriptor.name == name)?;
    Some(Step { experiment, descriptor, settings: Settings::default(), asked: false })
}

/// The experiments that are named, or all that a survey asks, with their descriptions.
///
/// # Errors
/// A usage error: there is none of that name, or it is named twice.
pub fn named(names: &[String]) -> Result<Vec<(Experiment<'static>, Descriptor)>, Unfit> {
    let all: Vec<(Experiment<'static>, Descriptor)> = all().collect();
    let mut picked: Vec<(Experiment<'static>, Descriptor)> = Vec::new();
    for name in names {
        let known = all.iter().find(|(_, descriptor)| descriptor.name == *name).ok_or_else(|| {
            let known = all.iter().map(|(_, descriptor)| descriptor.name.as_str()).collect::<Vec<_>>();
            Unfit::Usage(format!("there is no experiment `{name}`; there are: {}", comma(&known)))
        })?;
        if picked.iter().any(|(_, descriptor)| descriptor.name == *name) {
            return Err(Unfit::Usage(format!("experiment `{name}` is named twice")));
        }
        picked.push(known.clone());
    }
    let surveyed = all.into_iter().filter(|(experiment, _)| experiment.is_surveyed);
    Ok(if names.is_empty() { surveyed.collect() } else { picked })
}

/// What was published about the experiments that are named, or about all: a run for each table.
///
/// # Errors
/// A usage error where there is no such experiment, or nothing was published about it.
pub fn published(names: &[String]) -> Result<Vec<Run>, Unfit> {
    let picked = named(names)?;
    let is_unpublished =
        |(experiment, _): &&(Experiment<'static>, Descriptor)| experiment.published.is_empty();
    if let (false, Some((_, descriptor))) = (names.is_empty(), picked.iter().find(is_unpublished)) {
        let with = all().filter(|(experiment, _)| !experiment.published.is_empty());
        return Err(Unfit::Usage(format!(
            "nothing was published about `{}`; it was about: {}",
            descriptor.name,
            comma(with.map(|(_, known)| known.name))
        )));
    }
    let tables = |experiment: Experiment<'static>| {
        let descriptor = (experiment.describe)();
        experiment.published.iter().map(move |table| table.run(&descriptor, experiment.formats))
    };
    Ok(picked.into_iter().flat_map(|(experiment, _)| tables(experiment)).collect())
}

/// What a table of a user's holds about the one experiment that is named. `file` is where it stands.
///
/// # Errors
/// A usage error where it is not one, and where the table is wrong: the line and the column.
pub fn of_table(names: &[String], file: &str, text: &str) -> Result<Run, Unfit> {
    match named(names)?.as_slice() {
        [(experiment, _)] => {
            let read = published::read(&(experiment.describe)(), experiment.formats, file, text);
            read.map_err(|wrong| Unfit::Usage(format!("{file}: {wrong}")))
        }
        _ => Err(Unfit::Usage(format!("--from {file}: name the one experiment that the figures are about"))),
    }
}

/// The CPUs to use: those of `list` (like `0,2-3`), in their order, or all that this process may use.
///
/// # Errors
/// A usage error that says what is wrong with the list; a fault where the kernel does not say which CPUs
/// there are.
pub fn cpus(list: Option<&str>) -> Result<Vec<Cpu>, Unfit> {
    let allowed = allowed_cpus()?;
    let Some(list) = list else { return Ok(allowed) };
    let cpus = machine::cpus_in_order(list)
        .map_err(|why| Unfit::Usage(format!("--cpus {list}: {why}; it is a list like 0,2-3")))?;
    if cpus.is_empty() {
        return Err(Unfit::Usage("--cpus: the list is empty".into()));
    }
    if let Some(twice) = cpus.iter().enumerate().find(|(place, cpu)| cpus[..*place].contains(cpu)) {
        return Err(Unfit::Usage(format!("--cpus {list}: {} is named twice", twice.1)));
    }
    match cpus.iter().find(|cpu| !allowed.contains(cpu)) {
        None => Ok(cpus),
        Some(absent) => {
            let ranges = tenbin_model::machine::cpu_ranges(&allowed);
            Err(Unfit::Usage(format!(
                "--cpus {list}: there is no {absent} for this process; it has {ranges}"
            )))
        }
    }
}
