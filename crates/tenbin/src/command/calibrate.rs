//! `tenbin calibrate`, and what it says beside later verdicts.

use tenbin_analysis::{calibration, report, verdict};
use tenbin_model::{Calibration, CalibrationReport, Machine};
use tenbin_store::{CalibrationId, Store};

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
    let store = if arguments.no_store { None } else { Some(archive::open()?) };
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
    let mut exit = if made.faulty { Exit::Fault } else { Exit::Answered };
    let (id, remark) = match store.map(|mut store| store.keep_calibration(&made.calibration)) {
        None => (None, None),
        Some(Ok(id)) => {
            let (short, path) = (id.short(), archive::path_shown());
            let remark =
                format!("Kept as calibration {short} in {path}; every later report says what it found.");
            (Some(id.to_string()), Some(remark))
        }
        // What was measured for so long is said, though it could not be kept.
        Some(Err(error)) => {
            exit = Exit::Internal;
            (None, Some(format!("tenbin: {error}")))
        }
    };
    let text = text(made.calibration, id, arguments.form)?;
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
    Ok(report::calibration(&calibration, &rates, terminal::width()))
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
