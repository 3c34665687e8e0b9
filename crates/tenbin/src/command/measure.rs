//! `tenbin` and `tenbin run`: measure, keep, answer.

use std::fmt::Write;

use tenbin_analysis::{Reported, report};
use tenbin_lab::analyses;
use tenbin_model::words::comma;
use tenbin_model::{Effort, Report, Verdict};

use super::keep::Keeper;
use super::{archive, calibrate, json};
use crate::arguments::Measure;
use crate::measurement::{self, Measured, Order};
use crate::output::{self, Answer, Exit, Trouble, can_be_written};
use crate::terminal;

/// Every question, quickly; a sentence each.
pub fn survey(measure: &Measure) -> Result<Answer, Trouble> {
    let order = Order::new(&[], &[], measure, Effort::Quick)?;
    let sentence = |part: &Reported, width: usize| report::survey(&part.report).text(width);
    Ok(answered(&order, measure, &sentence, false)?.0)
}

/// Some experiments, and everything about them.
pub fn run(
    experiments: &[String],
    settings: &[String],
    measure: &Measure,
    usual: Effort,
) -> Result<Answer, Trouble> {
    let order = Order::new(experiments, settings, measure, usual)?;
    let (mut answer, report) = answered(&order, measure, &archive::detail, true)?;
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

/// What somebody else published about one experiment, judged as a measurement is. Nothing is measured or
/// kept.
pub fn published(experiments: &[String], measure: &Measure) -> Result<Answer, Trouble> {
    let run = measurement::published(experiments)?;
    let reported = analyses().report(&run, None);
    let text = if measure.form.json {
        json(&reported.report)?
    } else {
        archive::detail(&reported, terminal::width())
    };
    Ok(Answer { text, to: measure.output.clone(), remark: None, exit: Exit::Answered })
}

/// An answer that is written as it becomes known, or kept together for a file.
struct Page {
    at_once: bool,
    text: String,
    trouble: Option<Trouble>,
}

impl Page {
    fn add(&mut self, part: &str) {
        if !self.at_once {
            self.text.push_str(part);
        } else if self.trouble.is_none() {
            // The measurement goes on: what cannot be shown can still be kept.
            self.trouble = output::show(part).err();
        }
    }
}

/// Measures, answers and keeps: each experiment's text as soon as it is judged, then, where `summary` says so
/// and there are several, a sentence each. Where the answer and the run go is tried first: a place that
/// cannot be written costs no minute.
fn answered(
    order: &Order,
    measure: &Measure,
    text: &dyn Fn(&Reported, usize) -> String,
    summary: bool,
) -> Result<(Answer, Report), Trouble> {
    if let Some(path) = &measure.output {
        can_be_written(path)?;
    }
    let mut keeper = Keeper::open(measure.no_store)?;
    let width = terminal::width();
    let at_once = measure.output.is_none() && !measure.form.json;
    let mut page = Page { at_once, text: String::new(), trouble: None };
    let mut known: Option<Report> = None;
    let measured = order.measure(&mut |run| {
        let part = analyses().report(run, None);
        let between = if summary && known.is_some() { "\n" } else { "" };
        if !measure.form.json {
            page.add(&format!("{between}{}", text(&part, width)));
        }
        let part = part.report;
        match &mut known {
            None => known = Some(part),
            Some(known) => {
                known.answers.extend(part.answers);
                known.findings.extend(part.findings);
                known.checks.extend(part.checks);
            }
        }
    })?;
    // What was finished is one thing at least.
    let mut report = known.unwrap_or_else(|| analyses().report(&measured.run, None).report);
    report.instrument = match keeper.store() {
        Some(store) => calibrate::remark(store, &measured.run.machine),
        // What is not to be kept may still be read beside what is.
        None => {
            archive::open_existing().ok().and_then(|store| calibrate::remark(&store, &measured.run.machine))
        }
    };
    if !measure.form.json {
        if summary && measured.run.trials.len() > 1 {
            page.add(&format!("\nAll of it, a sentence each\n\n{}", report::survey(&report).text(width)));
        }
        page.add(&report::instrument(&report).text(width));
    }
    let kept = keeper.keep("run", |store| {
        archive::keep(store, &measured.run, measure.label.as_ref()).map(|id| id.to_string())
    });
    report.run = kept.id;
    let text = if measure.form.json { json(&report)? } else { page.text };
    let mut remark = kept.remark.unwrap_or_default();
    if let (Some(id), true) = (&report.run, remark.is_empty()) {
        let (short, path) = (&id[..12], archive::path_shown());
        remark = format!("Kept as run {short} in {path}; `tenbin show {short}` shows all of it.");
    }
    for ended in ended_early(&measured).into_iter().chain(page.trouble.as_ref().map(Trouble::to_string)) {
        let _ = write!(remark, "{}{ended}", if remark.is_empty() { "" } else { "\n" });
    }
    // Among hundreds of lines nobody finds what the status is for: it stands at the end, on standard error.
    let faults = report::faults(&report).map(|faults| faults.text(width));
    if let Some(faults) = &faults {
        remark = format!("{}{}{remark}", faults.trim_end(), if remark.is_empty() { "" } else { "\n" });
    }
    let exit = measured
        .interrupted
        .map(Exit::Interrupted)
        .or(measured.trouble.map(|trouble| trouble.exit))
        .or(page.trouble.map(|trouble| trouble.exit))
        .or(kept.exit)
        .unwrap_or(if faults.is_some() { Exit::Fault } else { Exit::Answered });
    let remark = Some(remark).filter(|remark| !remark.is_empty());
    Ok((Answer { text, to: measure.output.clone(), remark, exit }, report))
}

/// What ended the measurement before its end, and what is missing therefore.
fn ended_early(measured: &Measured) -> Option<String> {
    let why = match (&measured.trouble, measured.interrupted) {
        (Some(trouble), _) => trouble.to_string(),
        (None, Some(signal)) => format!("tenbin: interrupted by signal {signal}"),
        (None, None) => return None,
    };
    let missing = match measured.unmeasured.as_slice() {
        [] => String::new(),
        names => format!("; not measured: {}", comma(names)),
    };
    Some(format!("{why}{missing}"))
}
