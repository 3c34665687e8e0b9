//! `tenbin` and `tenbin run`: measure, keep, answer.

mod processes;

use std::cell::Cell;
use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_analysis::processes::Processes;
use tenbin_analysis::{Reported, report};
use tenbin_lab::analyses;
use tenbin_lab::survey::{self, Survey, descriptors, names};
use tenbin_model::Run as Measured;
use tenbin_model::words::comma;
use tenbin_model::{Effort, Order, Report, Verdict};
use tenbin_store::Label;
use tenbin_store::neighbours::reading;

use super::{Outlet, Schema, Verb, Work, calibrate, json, label, processes as count};
use crate::measurement;
use crate::output::{self, Answer, Exit, Trouble};
use crate::spelling::near;
use crate::store::{self, Keeper};
use crate::terminal;

/// Measure experiments and show everything about them
///
/// Each is shown as soon as it is known, and of several a line each at the end. `-o FILE.html` and
/// `FILE.md` write the page that `tenbin report` draws. An interrupt (Ctrl-C) ends it early: what is
/// finished is shown and kept; a second one ends it at once. `all` takes about 100 seconds with --quick,
/// 260 seconds without, and up to half an hour with --thorough; one takes 2 to 40 seconds.
#[derive(Args)]
#[command(after_help = knobs())]
pub struct Run {
    /// Their names, as `tenbin list` has them, or `all`; of --from published all of them if none is given
    #[arg(value_name = "EXPERIMENT")]
    experiments: Vec<String>,
    /// Turn a knob of an experiment (see `tenbin show EXPERIMENT`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Judge figures of others instead of measuring: `published` ones, of every experiment if none is named;
    /// or those in a table of yours, in CSV, about the one that is named (see docs/figures.md)
    #[arg(
        long,
        value_name = "published|FILE",
        conflicts_with_all = ["settings", "quick", "thorough", "seed", "cpus", "label", "processes"]
    )]
    from: Option<PathBuf>,
    /// Measure in so many processes, one after the other, and answer over them: quickly in each, unless
    /// --thorough is given. What a process has by chance is then in the interval; 8 answer one
    /// comparison, 13 answer 40
    #[arg(long, value_name = "N", value_parser = count)]
    processes: Option<NonZero<u32>>,
    #[command(flatten)]
    measure: Measure,
}

/// How to measure.
#[derive(Args, Default)]
pub struct Measure {
    /// Two seconds a cell, and only the cells that answer the question (what `tenbin` alone does)
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Fifteen seconds a cell
    #[arg(long)]
    pub thorough: bool,
    /// Seed of every random choice; the time of day if not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// CPUs to place workers on, in this order (like 0,2-3)
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Measure without keeping the run
    #[arg(long)]
    pub no_store: bool,
    /// Keep the run under a label of yours, which then names it
    #[arg(long, value_name = "NAME", value_parser = label, conflicts_with = "no_store")]
    pub label: Option<Label>,
    #[command(flatten)]
    pub outlet: Outlet,
}

/// The word for what was published; a file of that name is `./published`.
const PUBLISHED: &str = "published";

pub const VERB: Verb = Verb {
    schemas: &[
        Schema::of::<Report>("report", "Measurements: `tenbin`, `run`, `show RUN`"),
        Schema::of::<Processes>("processes", "One question in several processes: `run --processes`"),
    ],
    words: &[("experiments", offered)],
    ..Verb::of::<Run>("run")
};

/// What a shell may offer to run.
fn offered() -> Vec<String> {
    names().into_iter().chain([survey::ALL.into()]).collect()
}

/// The experiments, the tables that each reads, and what `--set` turns in it, for the help.
fn knobs() -> String {
    let mut text =
        String::from("Experiments, the titles of tables of yours (--from), and what --set turns:\n");
    for (descriptor, titles) in descriptors().into_iter().zip(survey::titles()) {
        text.push_str(&format!("  {:9} {}\n", descriptor.name, descriptor.question));
        for titles in titles {
            text.push_str(&format!("{:12}--from: {titles}\n", ""));
        }
        for parameter in &descriptor.parameters {
            text.push_str(&format!("{:12}{}={}\n", "", parameter.name, parameter.default));
            text.push_str(&format!("{:14}{}\n", "", parameter.what));
        }
    }
    text
}

impl Work for Run {
    fn run(mut self) -> Result<Answer, Trouble> {
        if let Some(from) = &self.from {
            return of_others(&self, from);
        }
        self.experiments = survey::asked_for(&self.experiments, &self.settings)?;
        let known = names();
        let unknown = self.experiments.iter().find(|name| !known.contains(name));
        if let Some((unknown, meant)) =
            unknown.and_then(|it| Some((it, near(it, &known).into_iter().next()?)))
        {
            let why = format!("there is no experiment `{unknown}`; did you mean `{meant}`?");
            return Err(Trouble::usage(why));
        }
        match self.processes {
            Some(count) => processes::run(&self, count),
            None => measured(&self),
        }
    }
}

/// Every question that needs no other program, quickly; a line each.
pub fn survey(measure: &Measure) -> Result<Answer, Trouble> {
    let survey = measurement::survey(&[], &[], measure, Effort::Quick)?;
    let is_begun = Cell::new(false);
    let line = |part: &Reported, width: usize| {
        let head = if is_begun.replace(true) {
            String::new()
        } else {
            report::measured_on(&part.report).space().text(width)
        };
        head + &report::survey(&part.report, width).text(width)
    };
    Ok(answered(&survey, measure, &line, Ending::Marks)?.answer)
}

/// Some experiments, and everything about them.
fn measured(asked: &Run) -> Result<Answer, Trouble> {
    let survey = measurement::survey(&asked.experiments, &asked.settings, &asked.measure, Effort::Normal)?;
    let names = survey.asked();
    let Outcome { mut answer, report, .. } = answered(&survey, &asked.measure, &detail, Ending::Survey)?;
    let mut asked_for =
        report.answers.iter().filter(|answer| names.contains(&answer.experiment.as_str())).peekable();
    // Where nothing was to be weighed, what was found is the answer.
    let all_refused =
        asked_for.peek().is_some() && asked_for.all(|answer| answer.verdict == Verdict::Refused);
    if answer.exit == Exit::Answered && asked.experiments.len() == 1 && all_refused {
        answer.exit = Exit::Refused;
    }
    Ok(answer)
}

/// Figures that others took, judged as a measurement is. Nothing is measured or kept.
fn of_others(asked: &Run, from: &Path) -> Result<Answer, Trouble> {
    let names = &asked.experiments;
    let outlet = &asked.measure.outlet;
    outlet.can_be_written()?;
    let runs = if from.as_os_str() == PUBLISHED {
        survey::published(names)?
    } else {
        let text = reading::text(from).map_err(|unread| Trouble::usage(unread.to_string()))?;
        vec![survey::of_table(names, &from.display().to_string(), &text)?]
    };
    let Some(reported) = analyses().report_together(&runs) else {
        return Err(Trouble::internal("nothing was published"));
    };
    let text = outlet.form().text(&reported.report, |_, width| match names.as_slice() {
        [_] => detail(&reported, width),
        _ => format!(
            "{}{}\n{}",
            report::survey(&reported.report, width).text(width),
            report::marks().text(width),
            detail(&reported, width)
        ),
    })?;
    let is_refused = reported.report.answers.iter().all(|answer| answer.verdict == Verdict::Refused);
    let exit = if names.len() == 1 && is_refused { Exit::Refused } else { Exit::Answered };
    Ok(Answer { to: outlet.output.clone(), exit, ..Answer::text(text) })
}

/// Everything about every experiment of a run.
pub fn detail(reported: &Reported, width: usize) -> String {
    let texts: Vec<String> = reported.sheets.iter().map(|page| page.text(width)).collect();
    texts.join("\n")
}

/// A run as a survey shows it: a line for every experiment.
pub fn brief(report: &Report, width: usize) -> String {
    let mut head = report::measured_on(report);
    head.space();
    let parts = [head, report::survey(report, width), report::marks(), report::instrument(report)];
    parts.map(|part| part.text(width)).concat()
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

/// What stands below the experiments of a run.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Nothing.
    None,
    /// Of several a line each.
    Survey,
    /// What the marks of the lines mean.
    Marks,
}

/// Measures, answers and keeps: each experiment's text as soon as it is judged, then the ending. Where the
/// answer and the run go is tried first: a place that cannot be written costs no minute.
pub fn answered(
    survey: &Survey<'_>,
    measure: &Measure,
    text: &dyn Fn(&Reported, usize) -> String,
    ending: Ending,
) -> Result<Outcome, Trouble> {
    measure.outlet.output.as_deref().map_or(Ok(()), output::can_be_written)?;
    let mut keeper = Keeper::open(measure.no_store)?;
    let width = terminal::width();
    let at_once = measure.outlet.output.is_none() && !measure.outlet.form().json;
    let mut page = Page { at_once, text: String::new(), trouble: None };
    let mut known: Vec<Reported> = Vec::new();
    // Whoever asks for no answer gets no words beside one.
    let mut silent = true;
    // What an experiment builds on was not asked for: its answers alone, below those of the experiment.
    let (asked, mut foundations) = (survey.asked(), String::new());
    let is_asked = |part: &Reported| {
        part.report.answers.first().is_none_or(|first| asked.contains(&first.experiment.as_str()))
    };
    let (measured, interrupted) = measurement::measure(survey, &mut |run| {
        let part = analyses().report(run, None);
        if !measure.outlet.form().json {
            if is_asked(&part) {
                let between = if ending == Ending::Survey && !silent { "\n" } else { "" };
                let text = text(&part, width);
                silent &= text.is_empty();
                page.add(&format!("{between}{text}"));
                if !foundations.is_empty() {
                    page.add(&format!("\nIt builds on\n\n{}", std::mem::take(&mut foundations)));
                }
            } else {
                foundations += &report::survey(&part.report, width).text(width);
            }
        }
        known.push(part);
    })?;
    // As in the run.
    known.order_by_key(|part| !is_asked(part));
    // What was finished is one thing at least.
    let mut reported = Reported::together(known).unwrap_or_else(|| analyses().report(&measured.run, None));
    let report = &mut reported.report;
    report.instrument = match &keeper {
        Keeper::Open(store) => calibrate::remark(store, &measured.run),
        // What is not to be kept may still be read beside what is.
        _ => store::open_existing().ok().and_then(|store| calibrate::remark(&store, &measured.run)),
    };
    if !measure.outlet.form().json {
        // What builds on them was not measured.
        silent &= foundations.is_empty();
        page.add(&foundations);
        let is_several = asked.len() > 1;
        match ending {
            Ending::Survey if is_several => {
                let lines = report::survey(report, width).text(width) + &report::marks().text(width);
                page.add(&format!("\nAll of it, a line each\n\n{lines}"));
            }
            Ending::Marks => page.add(&report::marks().text(width)),
            Ending::None | Ending::Survey => {}
        }
        if !silent {
            // A survey begins with what it was measured on.
            let is_survey = ending == Ending::Marks;
            let tail = if is_survey { report::instrument(report) } else { report::tail(report) };
            page.add(&tail.text(width));
        }
    }
    let kept = keeper.keep("run", |store| {
        store::keep(store, &measured.run, measure.label.as_ref()).map(|id| id.to_string())
    });
    report.run = kept.id;
    let text = match measure.outlet.page() {
        Some(render) => render(&report::as_page(&analyses(), &measured.run, &reported, false)),
        None if measure.outlet.form().json => json(&reported.report)?,
        None => page.text,
    };
    let report = reported.report;
    let mut remarks = Vec::from_iter(kept.remark);
    if let (Some(id), true) = (&report.run, remarks.is_empty()) {
        let (short, path) = (&id[..12], store::path_shown());
        let of_one = if ending == Ending::Marks { " [QUESTION]" } else { "" };
        remarks
            .push(format!("Kept as run {short} in {path}; `tenbin show {short}{of_one}` shows all of it."));
    }
    let trouble = measured.unfit.map(Trouble::from);
    remarks.extend(ended_early(trouble.as_ref(), interrupted, &measured.unmeasured));
    remarks.extend(page.trouble.as_ref().map(Trouble::to_string));
    // Among hundreds of lines nobody finds what the status is for: it stands at the end, on standard error.
    let faults = report::faults(&report).map(|faults| faults.text(width).trim_end().to_owned());
    let is_fault = faults.is_some();
    remarks.splice(0..0, faults);
    let exit = interrupted
        .map(Exit::Interrupted)
        .or(trouble.map(|trouble| trouble.exit))
        .or(page.trouble.map(|trouble| trouble.exit))
        .or(kept.exit)
        .unwrap_or(if is_fault { Exit::Fault } else { Exit::Answered });
    let answer = Answer { text, to: measure.outlet.output.clone(), remarks, exit };
    Ok(Outcome { answer, report, run: measured.run })
}

/// What was measured, and what it came to.
pub struct Outcome {
    /// What is shown.
    pub answer: Answer,
    /// What programs read.
    pub report: Report,
    /// What was measured.
    pub run: Measured,
}

/// What ended the measurement before its end, and what is missing therefore.
fn ended_early(trouble: Option<&Trouble>, signal: Option<i32>, unmeasured: &[String]) -> Option<String> {
    let why = match (trouble, signal) {
        (Some(trouble), _) => trouble.to_string(),
        (None, Some(signal)) => format!("tenbin: interrupted by signal {signal}"),
        (None, None) => return None,
    };
    let missing = match unmeasured {
        [] => String::new(),
        names => format!("; not measured: {}", comma(names)),
    };
    Some(format!("{why}{missing}"))
}
