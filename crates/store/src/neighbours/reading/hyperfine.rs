//! hyperfine's JSON (1.x), every run in it; and its CSV, which has means only.

use std::collections::BTreeMap;

use serde::Deserialize;
use tenbin_model::Rows;

use super::{Benchmark, Measured, means, parsed, sample, time};

const TOOL: &str = "hyperfine";

#[derive(Deserialize)]
struct Summary {
    results: Vec<Timed>,
}

#[derive(Deserialize)]
struct Timed {
    command: String,
    mean: Option<f64>,
    stddev: Option<f64>,
    /// In seconds. Absent where somebody took them out.
    #[serde(default)]
    times: Vec<f64>,
    /// Since 1.20.
    #[serde(default)]
    memory_usage_byte: Vec<u64>,
    /// Since 1.12; of a signal 128 and its number, or null where the system does not tell.
    #[serde(default)]
    exit_codes: Vec<Option<i64>>,
    /// Since 1.11.
    #[serde(default)]
    parameters: BTreeMap<String, String>,
}

pub(super) fn json(text: &str) -> Result<Measured, String> {
    let Summary { results } = parsed(text)?;
    let mut benchmarks = Vec::new();
    for (result, timed) in results.into_iter().enumerate() {
        let mut samples = Vec::new();
        for (run, &seconds) in timed.times.iter().enumerate() {
            let mut sample = sample(&format!("results[{result}].times[{run}]"), 1, seconds * 1e12)?;
            sample.peak_memory = timed.memory_usage_byte.get(run).copied();
            sample.exit_status =
                timed.exit_codes.get(run).copied().flatten().and_then(|code| code.try_into().ok());
            samples.push(sample);
        }
        benchmarks.push(Benchmark {
            what: timed.command.clone(),
            figures: figures(timed.mean, timed.stddev),
            name: timed.command,
            parameters: timed.parameters.into_iter().collect(),
            samples,
            ..Benchmark::default()
        });
    }
    Ok(Measured::by(TOOL, benchmarks))
}

fn figures(mean: Option<f64>, deviation: Option<f64>) -> String {
    match (mean, deviation) {
        (Some(mean), Some(deviation)) => means(mean, deviation),
        (Some(mean), None) => format!("mean {}", time(mean)),
        (None, _) => "neither times nor a mean".into(),
    }
}

/// Means only; a command may hold commas, in quotes.
pub(super) fn csv(text: &str) -> Result<Measured, String> {
    let rows = Rows::read(text).map_err(|wrong| wrong.to_string())?;
    let benchmarks = rows.iter().map(|row| {
        let mean = row.positive("mean").map_err(|wrong| wrong.to_string())?;
        let figures = figures(Some(mean), row.number("stddev"));
        Ok(Benchmark { name: row.text("command").into(), figures, ..Benchmark::default() })
    });
    Ok(Measured::by(TOOL, benchmarks.collect::<Result<_, String>>()?))
}
