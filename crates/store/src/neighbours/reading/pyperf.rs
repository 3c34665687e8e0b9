//! pyperf's JSON: the values of every process, in seconds
//! (<https://pyperf.readthedocs.io/en/latest/api.html#pyperf-json-file-format>).

use serde::Deserialize;

use super::{Benchmark, Measured, parsed, sample};

#[derive(Deserialize)]
struct Document {
    benchmarks: Vec<Entry>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Entry {
    runs: Vec<Process>,
    #[serde(default)]
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Process {
    /// Absent of a process that only calibrated.
    #[serde(default)]
    values: Vec<f64>,
    #[serde(default)]
    metadata: Metadata,
}

/// What holds for a file, a benchmark or a process; the inner one goes before the outer.
#[derive(Default, Deserialize)]
struct Metadata {
    name: Option<String>,
    unit: Option<String>,
    date: Option<String>,
    cpu_model_name: Option<String>,
    loops: Option<u64>,
    inner_loops: Option<u64>,
}

pub(super) fn json(text: &str) -> Result<Measured, String> {
    let Document { benchmarks: entries, metadata } = parsed(text)?;
    let mut measured = Measured::by("pyperf", Vec::new());
    for (number, entry) in entries.into_iter().enumerate() {
        let mut samples = Vec::new();
        for (process, run) in entry.runs.iter().enumerate() {
            let layers = [&run.metadata, &entry.metadata, &metadata];
            let unit = layers.iter().find_map(|layer| layer.unit.as_deref()).unwrap_or("second");
            if unit != "second" {
                return Err(format!("benchmarks[{number}]: its values are {unit}s, not times"));
            }
            if measured.date.is_none() {
                measured.date = layers.iter().find_map(|layer| layer.date.clone());
            }
            if measured.cpu_model.is_none() {
                measured.cpu_model = layers.iter().find_map(|layer| layer.cpu_model_name.clone());
            }
            let count =
                |read: fn(&Metadata) -> Option<u64>| layers.iter().find_map(|layer| read(layer)).unwrap_or(1);
            let iterations =
                count(|layer| layer.loops).saturating_mul(count(|layer| layer.inner_loops)).max(1);
            for (place, value) in run.values.iter().enumerate() {
                let place = format!("benchmarks[{number}].runs[{process}].values[{place}]");
                samples.push(sample(&place, iterations, value * 1e12 * iterations as f64)?);
            }
        }
        let name = entry.metadata.name.or_else(|| metadata.name.clone());
        let name = name.ok_or_else(|| format!("benchmarks[{number}].metadata: no name"))?;
        measured.benchmarks.push(Benchmark {
            name,
            samples,
            figures: "no values".into(),
            ..Benchmark::default()
        });
    }
    Ok(measured)
}
