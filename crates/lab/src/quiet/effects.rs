//! What each remedy does to figures here: the same work with it and without it, in turns, weighed as any
//! question is. Whatever can be taken and undone between two epochs is tried; of the rest it is said why not.

mod analysis;

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use tenbin_analysis::Analysis;
use tenbin_metal::attributes::Attribute;
use tenbin_metal::knobs::{self, Switch, Switched};
use tenbin_metal::{Fault, Lap, Task, Team, kernels};
use tenbin_model::noise::RemedyState;
use tenbin_model::words::semicolon;
use tenbin_model::{
    Arrangement, Comparison, Cpu, Descriptor, Finding, Picoseconds, Refusal, Source, Variant, VariantIndex,
};

use super::{Action, Plan, Step};
use crate::experiment::{self, Apparatus, Failure, Opened, PlannedCell, Request, Seen, Unfit};

const WITHOUT: VariantIndex = VariantIndex(0);
const WITH: VariantIndex = VariantIndex(1);

/// How these cells become answers.
pub const EFFECTS: &dyn Analysis = &analysis::Effects;

/// What is done with a remedy and without it.
const WORKS: [Work; 2] = [
    Work { name: "a loop", epoch: Picoseconds::from_micros(100), task: additions },
    Work { name: "a sleep", epoch: Picoseconds::from_millis(1), task: sleeps },
];

/// How long what was set goes on to change the machine: the kernel starts and ends threads for some of it.
const SETTLING: Duration = Duration::from_millis(2);

/// How long a sleep is to be.
const SLEEP: Duration = Duration::from_micros(50);

struct Work {
    name: &'static str,
    epoch: Picoseconds,
    task: fn(u64),
}

fn additions(turns: u64) {
    std::hint::black_box(kernels::dependent_additions(turns));
}

fn sleeps(turns: u64) {
    (0..turns).for_each(|_| thread::sleep(SLEEP));
}

/// Every remedy there is, also those that are not usual, for a command on this CPU.
fn steps(cpu: Cpu) -> Result<Vec<Step>, Unfit> {
    Plan::new(Some(vec![cpu]), &super::names()).map(|plan| plan.steps)
}

/// Why a remedy is not tried. None where it is.
fn left_out(step: &Step) -> Option<&str> {
    if step.remedy.state != RemedyState::Possible {
        return Some(&step.remedy.words);
    }
    step.actions.iter().find_map(|action| match action {
        Action::Switch(Switch::Setting { .. }, _) => None,
        Action::Switch(Switch::Group { .. }, _) | Action::Inside { .. } => {
            Some("it cannot be taken and undone between two epochs")
        }
        Action::Attribute(attribute) => match attribute {
            Attribute::Niceness(_) | Attribute::TimerSlack(_) | Attribute::NoIdleStates => None,
            Attribute::Cpus(_) => Some("what is timed here has a CPU of its own"),
            Attribute::FixedLayout => Some("it holds for programs that are started"),
            Attribute::Group(_) => Some("it cannot be taken and undone between two epochs"),
        },
    })
}

/// A cell for each remedy and each work.
///
/// # Errors
/// Refused where no remedy can be tried.
pub fn plan(request: &Request<'_>) -> Result<experiment::Plan, Unfit> {
    let cpu = request.cpus[0];
    let steps = steps(cpu)?;
    let mut cells = Vec::new();
    for step in steps.iter().filter(|step| left_out(step).is_none()) {
        for work in &WORKS {
            let arrangement = Arrangement {
                label: format!("{}: {}", step.remedy.name, work.name),
                cpus: vec![cpu],
                epoch: work.epoch,
                variants: vec![WITHOUT, WITH],
                comparisons: Comparison::of([(WITHOUT, WITH)]),
                headline: cells.is_empty(),
                ..Arrangement::default()
            };
            let name = step.remedy.name.clone();
            let task = work.task;
            cells.push(PlannedCell::new(arrangement, move |arrangement, request| {
                open(&name, task, arrangement, request)
            }));
        }
    }
    if cells.is_empty() {
        return Err(Unfit::Refused(Refusal {
            reached: format!("no remedy can be tried: {}", untried(&steps)),
            needs: "one at least that can be taken and undone".into(),
            remedy: "run it as root".into(),
        }));
    }
    Ok(experiment::Plan { cells, look: Some(look), ..experiment::Plan::default() })
}

fn untried(steps: &[Step]) -> String {
    let each = |step: &Step| Some(format!("{} ({})", step.remedy.name, left_out(step)?));
    semicolon(steps.iter().filter_map(each))
}

fn look(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    let steps = steps(request.cpus[0])?;
    let tried = steps.iter().filter(|step| left_out(step).is_none());
    Ok(vec![Finding {
        experiment: describe().name,
        sentence: format!("Not tried: {}.", untried(&steps)),
        evidence: format!("{} remedies of {} can be taken and undone here", tried.count(), steps.len()),
        confidence: "what the machine says of itself".into(),
    }])
}

/// A remedy that is taken and undone again and again.
struct Taken {
    switched: Option<Switched>,
    /// Settings with their values.
    settings: Vec<(String, String)>,
    /// Attributes as they are to be, and as they were.
    attributes: Vec<(Attribute, Option<Attribute>)>,
    held: Vec<File>,
    is_taken: bool,
}

impl Taken {
    fn of(step: &Step) -> Result<Self, Unfit> {
        let mut taken = Self {
            switched: None,
            settings: Vec::new(),
            attributes: Vec::new(),
            held: Vec::new(),
            is_taken: false,
        };
        let mut switches = Vec::new();
        for action in &step.actions {
            match action {
                Action::Switch(switch, value) => {
                    taken.settings.push((switch.path().to_owned(), value.clone()));
                    switches.push(switch.clone());
                }
                Action::Attribute(attribute) => {
                    taken.attributes.push((attribute.clone(), attribute.now()?));
                }
                Action::Inside { .. } => {}
            }
        }
        if !switches.is_empty() {
            let switched = Switched::guard(switches, Path::new(knobs::JOURNAL))?;
            // Of several files the kernel may keep some as they are.
            taken.settings.retain(|(path, value)| switched.set(path, value).is_ok());
            for (path, _) in &taken.settings {
                switched.reset(path)?;
            }
            taken.switched = Some(switched);
        }
        if taken.settings.is_empty() && taken.attributes.is_empty() {
            return Err(Unfit::Refused(Refusal {
                reached: format!("the kernel keeps all that {} would set", step.remedy.name),
                needs: "a setting that it lets go".into(),
                remedy: "leave it out".into(),
            }));
        }
        Ok(taken)
    }

    fn take(&mut self, is_taken: bool) -> Result<(), Fault> {
        if self.is_taken == is_taken {
            return Ok(());
        }
        for (path, value) in &self.settings {
            let Some(switched) = &self.switched else { continue };
            if is_taken {
                switched.set(path, value)?
            } else {
                switched.reset(path)?
            };
        }
        if !self.settings.is_empty() {
            thread::sleep(SETTLING);
        }
        self.held.clear();
        for (taken, before) in &self.attributes {
            match (is_taken, before) {
                (true, _) => self.held.extend(taken.set()?),
                (false, Some(before)) => drop(before.set()?),
                // It held for as long as the file was open.
                (false, None) => {}
            }
        }
        self.is_taken = is_taken;
        Ok(())
    }

    /// Whether the machine and this thread are as they are to be where it is taken.
    fn is_in_force(&self) -> Result<bool, Fault> {
        for (path, value) in &self.settings {
            if knobs::word(path)? != *value {
                return Ok(false);
            }
        }
        for (taken, before) in &self.attributes {
            let is_so =
                if before.is_some() { taken.now()?.as_ref() == Some(taken) } else { !self.held.is_empty() };
            if !is_so {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        // The settings are their guardian's; attributes end with the thread.
        let _ = self.take(false);
    }
}

fn open(name: &str, task: fn(u64), arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let steps = steps(arrangement.cpus[0])?;
    let step = steps.iter().find(|step| step.remedy.name == name).ok_or(Unfit::Stopped)?;
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    let task: Task = Arc::new(move |_, turns| {
        task(turns);
        0
    });
    Ok(Box::new(Effect { taken: Taken::of(step)?, team, task }))
}

struct Effect {
    /// Before the team: what it set back is this thread's.
    taken: Taken,
    team: Team,
    task: Task,
}

impl Apparatus for Effect {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        self.taken.take(variant == WITH)?;
        let (expected, is_in_force) = (variant != WITHOUT, self.taken.is_in_force()?);
        let words = if is_in_force { "in force" } else { "not in force" };
        Ok(if expected == is_in_force { Seen::Met(words.into()) } else { Seen::Broken(words.into()) })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        self.taken.take(variant == WITH)?;
        Ok(self.team.lap(&self.task, iterations)?)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

/// The question.
pub fn describe() -> Descriptor {
    Descriptor {
        name: "remedies".into(),
        question: "Which remedies against noise change figures on this machine?".into(),
        requirement:
            "lists of what to switch before one measures are long, and nobody says what of it helps here"
                .into(),
        specification: "the remedy is in force in one of two epochs and not in the other".into(),
        subject: "The same work, with a remedy and without it".into(),
        variants: vec![
            Variant::measured("as it is", "the machine as it was"),
            Variant::measured("with it", "the remedy taken before the epoch, and undone after it"),
            Variant::sabotage("said to be with it", "nothing is switched"),
        ],
        analysis: EFFECTS.name().into(),
        margin: 0.01,
        privileges: "root for most of it".into(),
        touches: "each remedy's settings in turn, put back after it (docs/quiet.md)".into(),
        sources: vec![Source::new(
            "pyperf, documentation of `pyperf system tune`",
            "a list of what to switch, without a figure for each",
        )],
        ..Descriptor::default()
    }
}
