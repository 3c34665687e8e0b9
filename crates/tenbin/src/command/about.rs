//! The commands that describe: list, show an experiment, schema, completions, man, kernels.

use clap_complete::Shell;
use serde_json::json as value;
use tenbin_analysis::report;
use tenbin_analysis::verdict::{Across, Processes};
use tenbin_metal::kernels;
use tenbin_model::{Blame, Boot, BootReplay, CalibrationReport, Litmus, Report};

use super::json;
use crate::arguments::{Arguments, Form, Shape};
use crate::measurement::descriptors;
use crate::output::{Answer, Trouble};
use crate::terminal;

pub fn list(form: Form) -> Result<Answer, Trouble> {
    let descriptors = descriptors();
    let text = if form.json { json(&descriptors)? } else { report::listed(&descriptors) };
    Ok(Answer::text(text))
}

/// The experiment of this name, if there is one.
pub fn experiment(name: &str, form: Form) -> Option<Answer> {
    let descriptor = descriptors().into_iter().find(|descriptor| descriptor.name == name)?;
    let text =
        if form.json { json(&descriptor).ok()? } else { report::described(&descriptor, terminal::width()) };
    Some(Answer::text(text))
}

pub fn schema(what: Shape) -> Result<Answer, Trouble> {
    let schema = match what {
        Shape::Report => schemars::schema_for!(Report),
        Shape::Calibration => schemars::schema_for!(CalibrationReport),
        Shape::Boot => schemars::schema_for!(Boot),
        Shape::Litmus => schemars::schema_for!(Litmus),
        Shape::Replay => schemars::schema_for!(BootReplay),
        Shape::Blame => schemars::schema_for!(Blame),
        Shape::Compare => schemars::schema_for!(Across),
        Shape::Processes => schemars::schema_for!(Processes),
    };
    Ok(Answer::text(json(&schema)?))
}

pub fn completions(shell: Shell) -> Result<Answer, Trouble> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut Arguments::whole(&descriptors()), "tenbin", &mut text);
    written(text)
}

pub fn manual() -> Result<Answer, Trouble> {
    let mut text = Vec::new();
    clap_mangen::Man::new(Arguments::whole(&descriptors()))
        .render(&mut text)
        .map_err(|error| Trouble::internal(format!("render the manual page: {error}")))?;
    written(text)
}

fn written(text: Vec<u8>) -> Result<Answer, Trouble> {
    String::from_utf8(text)
        .map(Answer::text)
        .map_err(|error| Trouble::internal(format!("generated text is not UTF-8: {error}")))
}

/// The kernels of this binary: symbol, name, what the machine code must contain.
pub fn kernels(form: Form) -> Result<Answer, Trouble> {
    let additions = kernels::additions().iter().chain([kernels::lost_update()]);
    let mut rows: Vec<serde_json::Value> = additions
        .map(|addition| {
            value!({
                "symbol": addition.symbol, "name": addition.name,
                "instructions": addition.instruction, "available": addition.is_supported(),
            })
        })
        .collect();
    rows.extend(kernels::LOOPS.iter().map(|counted| {
        value!({
            "symbol": counted.symbol, "name": counted.name,
            "instructions": counted.instruction, "available": true,
        })
    }));
    if form.json {
        return Ok(Answer::text(json(&rows)?));
    }
    let lines = rows.iter().map(|row| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{:40}{}\n", text("symbol"), text("name"))
    });
    Ok(Answer::text(lines.collect()))
}
