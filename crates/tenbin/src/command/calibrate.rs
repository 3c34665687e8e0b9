//! `tenbin calibrate`, and what it says beside later verdicts.

use tenbin_analysis::{calibration, report, verdict};
use tenbin_model::{Calibration, CalibrationReport, Machine};
use tenbin_store::{CalibrationId, Store};

use super::keep::Keeper;
use super::{archive, json};
use crate::arguments::{Calibrate, Form};
use crate::calibration::{Outcome, Plan, over_processes};
use crate::output::{Answer, Exit, Trouble, can_be_written};
use crate::terminal;

/// Weighs pairs of known truth, keeps what came of it, and says how often this instrument errs here.
pub fn calibrate(arguments: &Calibrate) -> Result<Answer, Trouble> {
    let plan = Plan::new(arguments)?;
    if let Some(path) = &arguments.output {
        can_be_written(path)?;
    }
    let mut keeper = Keeper::open(arguments.no_store)?;
    let outcome = match arguments.processes {
        Some(count) => over_processes(arguments, count)?,
        None => plan.calibrate()?,
    };
    let made = match outcome {
        Outcome::Made(made) => made,
        Outcome::Refused(refusal) => {
            let text = if arguments.form.json {
                json(&CalibrationReport { refusal: Some(refusal), ..empty() })?
            } else {
                verdict::refused_in_words(&refusal) + "\n"
            };
            return Ok(Answer { text, to: arguments.output.clone(), remark: None, exit: Exit::Refused });
        }
    };
    let kept = keeper
        .keep("calibration", |store| store.keep_calibration(&made.calibration).map(|id| id.to_string()));
    let mut remarks = Vec::from_iter(kept.remark);
    if let (Some(id), true) = (&kept.id, remarks.is_empty()) {
        let (short, path) = (&id[..12], archive::path_shown());
        remarks
            .push(format!("Kept as calibration {short} in {path}; every later report says what it found."));
    }
    remarks.extend(made.interrupted.map(|signal| {
        format!("tenbin: interrupted by signal {signal}: the fewer pairs, the wider the intervals")
    }));
    let usual = if made.faulty { Exit::Fault } else { Exit::Answered };
    let exit = made.interrupted.map(Exit::Interrupted).or(kept.exit).unwrap_or(usual);
    let text = text(made.calibration, kept.id, arguments.form)?;
    let remark = Some(remarks.join("\n")).filter(|remark| !remark.is_empty());
    Ok(Answer { text, to: arguments.output.clone(), remark, exit })
}

/// A report of nothing yet.
fn empty() -> CalibrationReport {
    let schema = CalibrationReport::SCHEMA.into();
    CalibrationReport { schema, id: None, refusal: None, rates: None, calibration: None }
}

/// A calibration, its rates computed again from its pairs.
pub fn text(calibration: Calibration, id: Option<String>, form: Form) -> Result<String, Trouble> {
    let rates = calibration::rates(&calibration);
    if form.json {
        return json(&CalibrationReport {
            id,
            rates: Some(rates),
            calibration: Some(calibration),
            ..empty()
        });
    }
    Ok(report::calibration(&calibration, &rates).text(terminal::width()))
}

/// The calibration of `machine` that the store holds. One that is damaged does not hide the others.
pub fn of_machine(store: &Store, machine: &Machine) -> Result<Option<(CalibrationId, Calibration)>, Trouble> {
    let newest_first = store.calibrations().map_err(archive::trouble)?;
    Ok(calibration::of_machine(machine, newest_first, |(_, calibration)| calibration))
}

/// What is known of this instrument's errors on `machine`, in words. A store that cannot say is no reason to
/// keep an answer back.
pub fn remark(store: &Store, machine: &Machine) -> Option<String> {
    let (_, calibration) = of_machine(store, machine).ok()??;
    Some(calibration::remark(&calibration, env!("CARGO_PKG_VERSION")))
}
