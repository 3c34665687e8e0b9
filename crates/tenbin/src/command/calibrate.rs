//! `tenbin calibrate`, and what it says beside later verdicts.

use tenbin_analysis::{calibration, report};
use tenbin_model::{Calibration, CalibrationReport, Machine};
use tenbin_store::{CalibrationId, Store};

use super::{archive, json};
use crate::arguments::{Calibrate, Form};
use crate::calibration::{Outcome, Plan};
use crate::output::{Answer, Exit, Trouble, can_be_written};
use crate::terminal;

/// Weighs pairs of known truth, keeps what came of it, and says how often this instrument errs here.
pub fn calibrate(arguments: &Calibrate) -> Result<Answer, Trouble> {
    let plan = Plan::new(arguments)?;
    if let Some(path) = &arguments.output {
        can_be_written(path)?;
    }
    let store = if arguments.no_store { None } else { Some(archive::open()?) };
    let made = match plan.calibrate()? {
        Outcome::Made(made) => made,
        Outcome::Refused(refusal) => {
            let text =
                format!("Refused: {}. Needs {}. {}.\n", refusal.reached, refusal.needs, refusal.remedy);
            return Ok(Answer { text, to: arguments.output.clone(), remark: None, exit: Exit::Refused });
        }
    };
    let id = match store {
        Some(mut store) => Some(store.keep_calibration(&made).map_err(archive::trouble)?.to_string()),
        None => None,
    };
    let remark = id.as_ref().map(|id| {
        let path = archive::path_shown();
        format!(
            "Kept as calibration {} in {path}; `tenbin show calibration` shows it, and every verdict names it.",
            &id[..12]
        )
    });
    let text = text(*made, id, arguments.form)?;
    Ok(Answer { text, to: arguments.output.clone(), remark, exit: Exit::Answered })
}

/// A calibration, its rates computed again from its pairs.
pub fn text(calibration: Calibration, id: Option<String>, form: Form) -> Result<String, Trouble> {
    let rates = calibration::rates(&calibration);
    if form.json {
        let schema = CalibrationReport::SCHEMA.into();
        return json(&CalibrationReport { schema, id, rates, calibration });
    }
    Ok(report::calibration(&calibration, &rates, terminal::width()))
}

/// The calibration of `machine` that the store holds. One that is damaged does not hide the others.
pub fn of_machine(store: &Store, machine: &Machine) -> Result<Option<(CalibrationId, Calibration)>, Trouble> {
    let names = store.calibrations().map_err(archive::trouble)?;
    let newest_first = names.iter().filter_map(|name| Some((*name, store.load_calibration(name).ok()?)));
    Ok(calibration::of_machine(machine, newest_first, |(_, calibration)| calibration))
}

/// What is known of this instrument's errors on `machine`, in words.
pub fn remark(store: &Store, machine: &Machine) -> Result<Option<String>, Trouble> {
    let found = of_machine(store, machine)?;
    Ok(found.map(|(_, calibration)| calibration::remark(&calibration, env!("CARGO_PKG_VERSION"))))
}
