//! `tenbin show`: an experiment's description, a run's answers, a calibration.

use clap::Args;
use tenbin_analysis::{Reported, calibration as analysis, report};
use tenbin_lab::analyses;
use tenbin_lab::survey::{cpus, descriptors, names};
use tenbin_model::words::comma;
use tenbin_model::{Calibration, Purpose, Run};
use tenbin_store::{Error, Store};

use super::{Form, Verb, Work, calibrate, run};
use crate::measurement::observed;
use crate::output::{Answer, Exit, Trouble};
use crate::store::{find, open_existing, path, trouble};

/// Show an experiment's description, a run's answers, computed again from its samples, or a calibration
#[derive(Args)]
pub struct Show {
    /// An experiment's name, an id or the start of one, a label, `latest` (run) or `calibration` (of this
    /// machine)
    what: String,
    /// Of a run only this experiment
    experiment: Option<String>,
    /// Of a run a line a question, as `tenbin` alone prints it
    #[arg(long, conflicts_with = "json")]
    brief: bool,
    #[command(flatten)]
    form: Form,
}

pub const VERB: Verb = Verb { words: &[("what", shown), ("experiment", names)], ..Verb::of::<Show>("show") };

/// What a shell may offer to show.
fn shown() -> Vec<String> {
    let experiments = descriptors().into_iter().map(|descriptor| descriptor.name);
    experiments.chain(["latest".into(), CALIBRATION.into()]).collect()
}

/// The calibrations of this machine, by a word.
const CALIBRATION: &str = "calibration";

impl Work for Show {
    fn run(self) -> Result<Answer, Trouble> {
        let Self { what, experiment, brief, form } = self;
        let is_run = experiment.is_some();
        let for_a_run = |is_none: bool| match brief && is_none {
            true => Err(Trouble::usage(format!("--brief is for a run, and `{what}` is none"))),
            false => Ok(()),
        };
        let described = descriptors().into_iter().find(|descriptor| descriptor.name == what && !is_run);
        for_a_run(described.is_some() || what == CALIBRATION && !is_run)?;
        if let Some(descriptor) = described {
            return form.text(&descriptor, |it, width| report::described(it).text(width)).map(Answer::text);
        }
        if what == CALIBRATION && !is_run {
            return show_calibration(form);
        }
        let store = open_existing()?;
        if !is_run && let Some((id, calibration)) = calibration(&store, &what)? {
            for_a_run(true)?;
            return Ok(Answer::text(calibrate::text(calibration, Some(id), form)?));
        }
        let (_, reported) = load_only(&store, &what, experiment.as_deref())?;
        let text = form.text(&reported.report, |report, width| {
            if brief {
                run::brief(report, width)
            } else {
                run::detail(&reported, width) + &report::tail(report).text(width)
            }
        })?;
        Ok(Answer::text(text))
    }
}

/// A run and its report, computed again from its samples.
pub fn load(store: &Store, which: &str) -> Result<(Run, Reported), Trouble> {
    load_only(store, which, None)
}

/// The same with nothing but one of its experiments.
fn load_only(store: &Store, which: &str, experiment: Option<&str>) -> Result<(Run, Reported), Trouble> {
    let id = find(store, which)?;
    let mut run = store.load(&id).map_err(trouble)?;
    if let Some(name) = experiment {
        let names = comma(run.trials.iter().map(|trial| &trial.descriptor.name));
        run.trials.retain(|trial| trial.descriptor.name == name);
        if run.trials.is_empty() {
            return Err(Trouble::usage(format!("run {} has no `{name}`; it has {names}", id.short())));
        }
    }
    let mut reported = analyses().report(&run, Some(&id.to_string()));
    // What this instrument did not measure it did not err in.
    reported.report.instrument = if run.is_imported() { None } else { calibrate::remark(store, &run) };
    Ok((run, reported))
}

/// The calibration of this machine that knows most. That there is none is what is missing here, and no usage
/// error.
fn show_calibration(form: Form) -> Result<Answer, Trouble> {
    let missing = || Trouble {
        exit: Exit::Missing,
        message: "this machine is not calibrated as it is now; `tenbin calibrate` does it, in ten minutes"
            .into(),
    };
    if !path()?.exists() {
        return Err(missing());
    }
    let store = open_existing()?;
    let (machine, _) = observed(&cpus(None)?)?;
    let all = store.calibrations().map_err(trouble)?;
    let newest = all.iter().find(|(_, known)| analysis::holds_for(known, &machine)).map(|(id, _)| *id);
    let knows_most = |purpose| analysis::of_machine(&machine, purpose, &all, |(_, known)| known);
    let known = [Purpose::Ladder, Purpose::Command, Purpose::Function].into_iter().find_map(knows_most);
    let &(id, ref calibration) = known.ok_or_else(missing)?;
    let mut answer = Answer::text(calibrate::text(calibration.clone(), Some(id.to_string()), form)?);
    answer.remarks.extend(newest.filter(|newest| *newest != id).map(|newest| {
        format!(
            "Calibration {} knows most of this machine and is shown with its answers; the newest, {}, knows less: `tenbin show {}`.",
            id.short(),
            newest.short(),
            newest.short()
        )
    }));
    Ok(answer)
}

/// The calibration that is meant by `which`, if one is.
fn calibration(store: &Store, which: &str) -> Result<Option<(String, Calibration)>, Trouble> {
    let Some(id) = store.find_calibration(which).map_err(trouble)? else { return Ok(None) };
    match store.find(which) {
        Err(Error::UnknownRun { .. }) => {}
        Err(other) => return Err(trouble(other)),
        Ok(run) => {
            return Err(Trouble::usage(format!(
                "`{which}` begins the name of run {} and of calibration {}: give more digits",
                run.short(),
                id.short()
            )));
        }
    }
    Ok(Some((id.to_string(), store.load_calibration(&id).map_err(trouble)?)))
}
