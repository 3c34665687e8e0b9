//! What makes figures vary on this machine: every source of noise that can be seen without privileges.
//!
//! A source is a function and a line in the list of its file: what it reads under the root of the machine,
//! twice where only a change tells, and what that means. To add a file, declare it here and add its list to
//! `sources`.

mod frequency;
mod interrupts;
mod kernel;
mod memory;
mod moment;
mod neighbours;
#[cfg(test)]
mod tests;

use std::path::Path;
use std::thread;
use std::time::Duration;

use tenbin_metal::child;
use tenbin_metal::machine::{Reading, Root};
use tenbin_model::machine::Observed;
use tenbin_model::noise::{Diagnosis, Disturbance, Noise, RemedyState};
use tenbin_model::{Cpu, Descriptor, Machine, Order, Picoseconds};

use crate::experiment::{Aspect, Experiment, Unfit};
use crate::quiet::Plan;
use crate::survey;
use moment::{Moment, Spent};

/// How long counters are watched. Ticks of 10 ms are the coarsest of them.
const WATCHED: Duration = Duration::from_millis(100);

struct Source {
    name: &'static str,
    /// What it does to figures.
    effect: &'static str,
    /// What it disturbs; nothing for whatever is timed.
    disturbs: &'static [Aspect],
    examine: fn(&Sight<'_>) -> Reading<Symptom>,
}

impl Source {
    /// One that disturbs whatever is timed.
    const fn new(
        name: &'static str,
        effect: &'static str,
        examine: fn(&Sight<'_>) -> Reading<Symptom>,
    ) -> Self {
        Self { name, effect, disturbs: &[], examine }
    }

    /// One that disturbs these alone.
    const fn that_disturbs(self, disturbs: &'static [Aspect]) -> Self {
        Self { disturbs, ..self }
    }
}

#[derive(Debug, PartialEq, Eq)]
struct Symptom {
    state: Disturbance,
    seen: String,
    remedy: Option<String>,
}

impl Symptom {
    fn quiet(seen: impl Into<String>) -> Self {
        Self { state: Disturbance::Quiet, seen: seen.into(), remedy: None }
    }

    fn active(seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: Disturbance::Active, seen: seen.into(), remedy: Some(remedy.into()) }
    }

    fn not_observable(why: String) -> Self {
        Self { state: Disturbance::NotObservable, ..Self::quiet(why) }
    }

    fn possible(seen: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { state: Disturbance::Possible, ..Self::active(seen, remedy) }
    }
}

/// What sources are examined by: a machine, and its counters at two moments.
struct Sight<'a> {
    root: Root<'a>,
    machine: &'a Machine,
    /// The CPUs that figures are to be taken on, ascending.
    cpus: &'a [Cpu],
    before: &'a Moment,
    after: &'a Moment,
}

/// Examines this machine for questions of these names, all where there are none, on these CPUs. Sleeps for a
/// tenth of a second, changes nothing, and needs no privileges.
///
/// # Errors
/// A usage error: there is no question of a name.
pub fn examine(machine: &Machine, cpus: &[Cpu], names: &[String]) -> Result<Diagnosis, Unfit> {
    // Known to be wrong before anything is watched.
    let every = survey::names();
    let asked = survey::named(if names.is_empty() { &every } else { names })?;
    let root = Root::new(Path::new("/"));
    let mut cpus = cpus.to_vec();
    cpus.order();
    let before = Moment::of(root, &cpus);
    let started = child::monotonic();
    thread::sleep(WATCHED);
    let after = Moment::of(root, &cpus);
    let watched = child::monotonic().saturating_sub(started);
    let sight = Sight { root, machine, cpus: &cpus, before: &before, after: &after };
    Ok(Diagnosis {
        watched: Picoseconds::from_nanos(u64::try_from(watched.as_nanos()).unwrap_or(u64::MAX)),
        questions: names.to_vec(),
        cpus: cpus.clone(),
        sources: sight.noises(&asked),
        remedies: remedies(&cpus)?,
    })
}

/// The remedies that could be taken for a command on these CPUs. Those that need CPUs of its own are among
/// them where it has not got all.
fn remedies(cpus: &[Cpu]) -> Result<Vec<String>, Unfit> {
    let is_part = survey::cpus(None)?.iter().any(|cpu| !cpus.contains(cpu));
    let remedies = Plan::new(is_part.then(|| cpus.to_vec()), &[])?.remedies();
    Ok(remedies.in_state(RemedyState::Possible).map(|remedy| remedy.name.clone()).collect())
}

fn sources() -> impl Iterator<Item = &'static Source> {
    let files =
        [neighbours::SOURCES, frequency::SOURCES, interrupts::SOURCES, kernel::SOURCES, memory::SOURCES];
    files.into_iter().flatten()
}

impl Sight<'_> {
    /// How these CPUs spent the time while they were watched.
    fn passed(&self, cpus: &[Cpu]) -> Reading<Spent> {
        self.after.spent_since(self.before, cpus)
    }

    /// What there is to say for these questions, of those first that disturb now.
    fn noises(&self, asked: &[(Experiment<'static>, Descriptor)]) -> Vec<Noise> {
        let mut noises: Vec<Noise> = sources().filter_map(|source| self.noise(source, asked)).collect();
        noises.order_by_key(|noise| noise.state);
        noises
    }

    /// What there is to say of a source. None where it matters to nothing that was asked for.
    fn noise(&self, source: &Source, asked: &[(Experiment<'static>, Descriptor)]) -> Option<Noise> {
        let matters = |(experiment, _): &&(Experiment<'static>, Descriptor)| {
            source.disturbs.iter().any(|aspect| experiment.aspects.contains(aspect))
        };
        let concerned = asked.iter().filter(matters);
        let matters_to: Vec<String> = concerned.map(|(_, descriptor)| descriptor.name.clone()).collect();
        if matters_to.is_empty() && !source.disturbs.is_empty() {
            return None;
        }
        let symptom = (source.examine)(self).unwrap_or_else(Symptom::not_observable);
        Some(Noise {
            source: source.name.into(),
            state: symptom.state,
            seen: symptom.seen,
            effect: source.effect.into(),
            matters_to,
            remedy: symptom.remedy,
        })
    }
}

/// The value, or why there is none.
fn known<T>(observed: &Observed<T>) -> Reading<&T> {
    match observed {
        Observed::Known(value) => Ok(value),
        Observed::NotObservable(why) => Err(why.clone()),
    }
}
