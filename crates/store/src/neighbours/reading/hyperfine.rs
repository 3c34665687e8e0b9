//! hyperfine's JSON (1.x), every run in it; and its CSV, which has means only.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{Benchmark, Measured, parsed, sample, time};

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
        (Some(mean), Some(deviation)) => {
            format!("mean {}, standard deviation {}", time(mean), time(deviation))
        }
        (Some(mean), None) => format!("mean {}", time(mean)),
        (None, _) => "neither times nor a mean".into(),
    }
}

/// Means only; a command may hold commas, in quotes.
pub(super) fn csv(text: &str) -> Result<Measured, String> {
    let mut benchmarks = Vec::new();
    for (number, record) in records(text).into_iter().enumerate().skip(1) {
        let figure = |place: usize| record.get(place).and_then(|field| field.parse().ok());
        let (Some(command), Some(mean)) = (record.first(), figure(1)) else {
            return Err(format!("row {}: no mean", number + 1));
        };
        let figures = figures(Some(mean), figure(2));
        benchmarks.push(Benchmark { name: command.clone(), figures, ..Benchmark::default() });
    }
    Ok(Measured::by(TOOL, benchmarks))
}

/// The rows of CSV (RFC 4180).
fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = vec![vec![String::new()]];
    let (mut quoted, mut letters) = (false, text.chars().peekable());
    while let Some(letter) = letters.next() {
        let Some(field) = records.last_mut().and_then(|record| record.last_mut()) else { break };
        match letter {
            '"' if quoted && letters.next_if_eq(&'"').is_some() => field.push('"'),
            '"' => quoted = !quoted,
            ',' if !quoted => records.last_mut().into_iter().for_each(|record| record.push(String::new())),
            '\n' if !quoted => records.push(vec![String::new()]),
            '\r' if !quoted => {}
            other => field.push(other),
        }
    }
    records.retain(|record| record.len() > 1);
    records
}
