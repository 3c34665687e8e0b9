//! What a measurement needs of the process that makes it: the date, the running time, signals, and a bar.

#![expect(clippy::disallowed_methods, reason = "the date and the running time of budgets")]

use std::time::Instant;

use jiff::Timestamp;
use tenbin_lab::survey::{Measured, Selection, Survey, cpus};
use tenbin_lab::{Event, Unfit};
use tenbin_metal::{Clock, Fault, interrupt, machine};
use tenbin_model::machine::Observed;
use tenbin_model::{Cpu, Effort, Machine, Picoseconds, Run};

use crate::output::{Exit, Trouble};
use crate::terminal::Planned;
use crate::verbs::Measure;

/// Readers of JSON that keep numbers as doubles hold 53 bits: a seed that is drawn here survives them.
const EXACT_IN_JSON: u64 = (1 << 53) - 1;

/// What is to be measured, by the words of a user; `usual` is the effort where he names none.
///
/// # Errors
/// A usage error that names the word that is wrong and what would be right.
pub fn survey(
    names: &[String],
    settings: &[String],
    measure: &Measure,
    usual: Effort,
) -> Result<Survey<'static>, Trouble> {
    let effort = match (measure.quick, measure.thorough) {
        (true, _) => Effort::Quick,
        (_, true) => Effort::Thorough,
        _ => usual,
    };
    of(Selection::new(names, settings)?, measure, effort)
}

/// The same of what was selected otherwise.
///
/// # Errors
/// A usage error: what was set is no value, or the CPUs are none.
pub fn of<'a>(selection: Selection<'a>, measure: &Measure, effort: Effort) -> Result<Survey<'a>, Trouble> {
    let cpus = cpus(measure.cpus.as_deref())?;
    let machine = observed(&cpus)?;
    Ok(Survey::new(selection, machine, cpus, effort, seed(measure.seed))?)
}

/// Measures, and hands every experiment that is finished to `answered` as a run of its own. Whoever
/// interrupts it gets what was finished, and the number of his signal.
///
/// # Errors
/// What ended it before anything was finished.
pub fn measure(
    survey: &Survey<'_>,
    answered: &mut dyn FnMut(&Run),
) -> Result<(Measured, Option<i32>), Trouble> {
    interrupt::listen()?;
    let provenance = (env!("CARGO_PKG_VERSION"), build(), date(), words());
    let clock_started = Instant::now();
    let watch = || Picoseconds::from_nanos(clock_started.elapsed().as_nanos() as u64);
    let stop = || interrupt::requested().is_some();
    let mut progress = Planned::new(survey.times(), &watch);
    let measured = survey.measure(provenance, &watch, &stop, &mut |event| match event {
        Event::Finished { run } => progress.aside(|| answered(run)),
        event => progress.follow(event),
    });
    progress.progress.finish();
    Ok((measured?, interrupt::requested()))
}

/// The date and time, in UTC, as ISO 8601 has it.
pub fn date() -> String {
    Timestamp::now().to_string()
}

/// What this program was built of: `glibc 2.36, rustc 1.95.0`.
pub fn build() -> String {
    format!("{}, {}", tenbin_metal::c_library(), env!("TENBIN_COMPILER"))
}

/// The words after `tenbin` on the command line; what is no Unicode in them is replaced.
pub fn words() -> Vec<String> {
    std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect()
}

/// The seed that was given, or the time of day.
pub fn seed(given: Option<u64>) -> u64 {
    given.unwrap_or_else(|| Timestamp::now().as_nanosecond() as u64 & EXACT_IN_JSON)
}

impl From<Unfit> for Trouble {
    fn from(unfit: Unfit) -> Self {
        match unfit {
            Unfit::Usage(message) => Self::usage(message),
            Unfit::Refused(refusal) => {
                Self { exit: Exit::Refused, message: tenbin_analysis::verdict::refused_in_words(&refusal) }
            }
            Unfit::Missing(missing) => Self { exit: Exit::Missing, message: missing.to_string() },
            Unfit::Fault(fault) => fault.into(),
            Unfit::Stopped => Self::interrupted(interrupt::requested().unwrap_or_default()),
        }
    }
}

impl From<Fault> for Trouble {
    fn from(fault: Fault) -> Self {
        Self::internal(fault.to_string())
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
