//! `calls`: what a call costs, rung by rung, from a loop without one down to the kernel.

mod described;
mod promise;
mod published;
mod rungs;
mod surroundings;
mod traced;

use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::calls::{Answer, Question, Seccomp, UNKNOWN, Watchers, answer_to_unknown};
use tenbin_metal::vdso::{NoVdso, Vdso};
use tenbin_metal::{Crew, Fault, Lap, Task, Team};
use tenbin_model::{Arrangement, Comparison, Effort, Finding, Machine, VariantIndex};

use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Look, Opened, Plan, Request, Seen, Unfit};
use crate::repeated::every_time;

use described::describe;
use promise::Promise;
use rungs::{Absent, RUNGS, Rung, Subject, What, index};

/// What is weighed, where both are there; the first of those answers for the experiment.
///
/// A direct call and one through a linkage table are no pair: the jump between them costs less than the place
/// of the code does, which one binary cannot vary, so a verdict would be on the place.
const COMPARISONS: [(&str, &str); 6] = [
    (rungs::CLOCK_IN_THE_VDSO, rungs::CLOCK_BY_SYSTEM_CALL),
    (rungs::CALLED, rungs::UNKNOWN_CALL),
    (rungs::INLINED, rungs::CALLED),
    (rungs::UNKNOWN_CALL, rungs::PARENT_BY_SYSTEM_CALL),
    (rungs::PARENT_BY_SYSTEM_CALL, rungs::PARENT_BY_LIBRARY),
    (rungs::CLOCK_IN_THE_VDSO, rungs::CLOCK_BY_LIBRARY),
];

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    if traced::alone(request)? {
        return Ok(Plan { look: Some(traced::findings), ..Plan::default() });
    }
    let here = Here::of(request);
    let variants = VariantIndex::select(RUNGS, |rung| rung.plant.is_none() && here.subject(rung).is_ok());
    let pairs = COMPARISONS.map(|(left, right)| (index(left), index(right))).into_iter();
    let pairs = pairs.filter(|(left, right)| variants.contains(left) && variants.contains(right));
    let cell = Arrangement {
        label: "on one CPU".into(),
        cpus: request.cpus[..1].to_vec(),
        epoch: describe().epoch,
        comparisons: Comparison::of(pairs),
        variants,
        headline: true,
        ..Arrangement::default()
    };
    // A survey asks what a call costs; what it becomes fills pages.
    let look = (request.effort != Effort::Quick).then_some(traced::findings as Look);
    Ok(Plan { look, ..Plan::new([cell], open) })
}

/// What this process can ask.
struct Here {
    vdso: Result<Vdso, NoVdso>,
    /// What keeps a number that stands for no call from being asked for.
    unknown: Result<(), String>,
}

impl Here {
    fn of(request: &Request<'_>) -> Self {
        // A filter may answer in the kernel's place, or kill for it. Without one there is nothing to be
        // afraid of.
        let filtered = Watchers::of_this_process().map_or(true, |seen| seen.seccomp != Some(Seccomp::Off));
        Self {
            vdso: Vdso::of_this_process(),
            unknown: if filtered { unknown_in_a_child(request) } else { Ok(()) },
        }
    }

    fn subject(&self, rung: &Rung) -> Result<Subject, Absent> {
        if let (What::Asked(_, Question::Unknown), Err(why)) = (rung.what_is_called, &self.unknown) {
            return Err(Absent::Filtered(why.clone()));
        }
        rung.subject(self.vdso.as_ref().map_err(Clone::clone))
    }
}

/// Makes the call in a process of its own, which a filter may kill.
fn unknown_in_a_child(request: &Request<'_>) -> Result<(), String> {
    // What it answered comes back as the count of failures, of which a child can report one.
    let task: Task = Arc::new(|_, _| u64::from(answer_to_unknown() != UNKNOWN));
    let asked =
        Crew::gather(request.clock, &request.cpus[..1], vec![task]).and_then(|mut crew| crew.lap(0, 1));
    match asked {
        Ok(lap) if lap.shares.iter().all(|share| share.failures == 0) => Ok(()),
        Ok(_) => Err("a seccomp filter answers it in the kernel's place".into()),
        Err(Fault::Died { how, .. }) => Err(format!("a seccomp filter ends its caller ({how})")),
        Err(fault) => Err(fault.to_string()),
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let here = Here::of(request);
    let cpu = arrangement.cpus[0];
    let step = |rung: &Rung| Ok(Step::new(here.subject(rung)?, Promise::of(rung.what_is_called, cpu)));
    Ok(Box::new(Ladder {
        steps: RUNGS.iter().map(step).collect(),
        team: Team::gather(request.clock, &arrangement.cpus)?,
        machine: request.machine.clone(),
        vdso: here.vdso,
    }))
}

/// The rungs of this machine, set up.
struct Ladder {
    team: Team,
    /// In the order of the descriptor.
    steps: Vec<Result<Step, Absent>>,
    vdso: Result<Vdso, NoVdso>,
    machine: Machine,
}

/// One rung, ready to be called.
struct Step {
    subject: Arc<Subject>,
    promise: Promise,
    task: Task,
    /// What the last epoch's last call answered.
    last: Arc<Mutex<Answer>>,
}

impl Step {
    fn new(subject: Subject, promise: Promise) -> Self {
        let (subject, last) = (Arc::new(subject), Arc::new(Mutex::new(Answer::default())));
        let (called, answered) = (Arc::clone(&subject), Arc::clone(&last));
        let task: Task = Arc::new(move |_, iterations| {
            let answer = called.call(iterations);
            *answered.lock().unwrap_or_else(PoisonError::into_inner) = answer;
            0
        });
        Self { subject, promise, task, last }
    }
}

impl Ladder {
    /// The rung of this variant. It is there: the plan names no other, and what is planted needs the kernel
    /// alone.
    fn step(&mut self, variant: VariantIndex) -> Result<&mut Step, Fault> {
        self.steps[variant.place()].as_mut().map_err(|absent| {
            let error = std::io::Error::new(std::io::ErrorKind::NotFound, absent.to_string());
            Fault::system(format!("call {}", RUNGS[variant].name), error)
        })
    }
}

impl Apparatus for Ladder {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let step = self.step(variant)?;
        // A clock may be set and a parent may end while a check runs.
        every_time(|| Ok(step.promise.held(&step.subject)))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let task = Arc::clone(&self.step(variant)?.task);
        let lap = self.team.lap(&task, iterations)?;
        let step = self.step(variant)?;
        let answer = *step.last.lock().unwrap_or_else(PoisonError::into_inner);
        step.promise.held_while_timed(&answer, iterations).map_err(Failure::Wrong)?;
        Ok(lap)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let steps = RUNGS.iter().zip(&self.steps);
        let absent: Vec<(&str, &Absent)> =
            steps.filter_map(|(rung, step)| Some((rung.name, step.as_ref().err()?))).collect();
        Ok(surroundings::findings(&self.machine, &self.vdso, &absent, &Watchers::of_this_process()))
    }
}

/// The calls experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    published: published::TABLES,
    formats: published::FORMATS,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Calls])
};

#[cfg(test)]
mod tests;
