//! `tenbin` and `tenbin run`: measure, keep, answer.

use tenbin_analysis::{report, verdict};
use tenbin_model::{Effort, Report, Run, Verdict};

use super::{archive, calibrate, json};
use crate::arguments::Measure;
use crate::measurement::{self, Order};
use crate::output::{Answer, Exit, Trouble, can_be_written};
use crate::terminal;

/// Every question, quickly; a sentence each.
pub fn survey(measure: &Measure) -> Result<Answer, Trouble> {
    let order = Order::new(&[], &[], measure, Effort::Quick)?;
    let (_, report) = measured(&order, measure)?;
    answer(&report, measure, |width| report::survey(&report, width))
}

/// Some experiments, and everything about them.
pub fn run(
    experiments: &[String],
    settings: &[String],
    measure: &Measure,
    usual: Effort,
) -> Result<Answer, Trouble> {
    let order = Order::new(experiments, settings, measure, usual)?;
    let (run, report) = measured(&order, measure)?;
    let mut answer = answer(&report, measure, |width| archive::detail(&run, &report, width))?;
    let asked = order.asked();
    let mut asked_for =
        report.answers.iter().filter(|answer| asked.contains(&answer.experiment.as_str())).peekable();
    // Where nothing was to be weighed, what was found is the answer.
    let all_refused =
        asked_for.peek().is_some() && asked_for.all(|answer| answer.verdict == Verdict::Refused);
    if answer.exit == Exit::Answered && experiments.len() == 1 && all_refused {
        answer.exit = Exit::Refused;
    }
    Ok(answer)
}

/// What somebody else published about one experiment, judged as a measurement is. Nothing is measured or kept.
pub fn published(experiments: &[String], measure: &Measure) -> Result<Answer, Trouble> {
    let run = measurement::published(experiments)?;
    let report = verdict::report(&run, None);
    let text =
        if measure.form.json { json(&report)? } else { archive::detail(&run, &report, terminal::width()) };
    Ok(Answer { text, to: measure.output.clone(), remark: None, exit: Exit::Answered })
}

/// Measures and keeps. Where the answer and the run go is tried first: a place that cannot be written
/// costs no minute.
fn measured(order: &Order, measure: &Measure) -> Result<(Run, Report), Trouble> {
    if let Some(path) = &measure.output {
        can_be_written(path)?;
    }
    let store = if measure.no_store { None } else { Some(archive::open()?) };
    let run = order.measure()?;
    let (id, store) = match store {
        Some(mut store) => {
            (Some(archive::keep(&mut store, &run, measure.label.as_ref())?.to_string()), Some(store))
        }
        // What is not to be kept may still be read beside what is.
        None => (None, archive::open_existing().ok()),
    };
    let mut report = verdict::report(&run, id.as_deref());
    report.instrument = store.and_then(|store| calibrate::remark(&store, &run.machine));
    Ok((run, report))
}

fn answer(report: &Report, measure: &Measure, text: impl Fn(usize) -> String) -> Result<Answer, Trouble> {
    let text = if measure.form.json {
        json(report)?
    } else {
        let width = terminal::width();
        text(width) + &report::instrument(report, width)
    };
    let remark = report.run.as_ref().map(|id| {
        let short = &id[..12];
        format!("Kept as run {short} in {}; `tenbin show {short}` shows all of it.", archive::path_shown())
    });
    let faulty = report.checks.iter().any(|checked| !checked.check.as_expected());
    let exit = if faulty { Exit::Fault } else { Exit::Answered };
    Ok(Answer { text, to: measure.output.clone(), remark, exit })
}
