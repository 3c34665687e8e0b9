//! criterion's `sample.json`, which does not name its benchmark: `benchmark.json` beside it does, or the
//! folder. And its `estimates.json`, which has no samples.

use std::path::Path;

use serde::Deserialize;

use super::{Benchmark, Measured, means, parsed, sample};

const TOOL: &str = "criterion";

#[derive(Deserialize)]
struct Document {
    iters: Vec<f64>,
    /// Nanoseconds of all iterations of a sample.
    times: Vec<f64>,
}

#[derive(Deserialize)]
struct Estimates {
    mean: Estimate,
    std_dev: Estimate,
}

#[derive(Deserialize)]
struct Estimate {
    /// In nanoseconds.
    point_estimate: f64,
}

#[derive(Deserialize)]
struct Named {
    full_id: Option<String>,
    title: Option<String>,
}

pub(super) fn samples(text: &str, path: &Path) -> Result<Measured, String> {
    let Document { iters, times } = parsed(text)?;
    if iters.len() != times.len() {
        return Err(format!("{} iters and {} times: each sample has one of each", iters.len(), times.len()));
    }
    let mut samples = Vec::new();
    for (number, (&iterations, &nanoseconds)) in iters.iter().zip(&times).enumerate() {
        let place = format!("iters[{number}], times[{number}]");
        samples.push(sample(&place, iterations as u64, nanoseconds * 1e3)?);
    }
    Ok(Measured::by(TOOL, vec![Benchmark { name: name(path), samples, ..Benchmark::default() }]))
}

pub(super) fn estimates(text: &str, path: &Path) -> Result<Measured, String> {
    let Estimates { mean, std_dev } = parsed(text)?;
    let figures = means(mean.point_estimate / 1e9, std_dev.point_estimate / 1e9);
    Ok(Measured::by(TOOL, vec![Benchmark { name: name(path), figures, ..Benchmark::default() }]))
}

/// What the file beside says, else the folder: that above `new` and `base`, where criterion puts the last
/// samples and those before.
fn name(path: &Path) -> String {
    let beside = std::fs::read_to_string(path.with_file_name("benchmark.json")).ok();
    let named = beside.and_then(|text| parsed::<Named>(&text).ok());
    let folder = || {
        let absolute = std::path::absolute(path).ok()?;
        let folders = absolute.ancestors().skip(1).filter_map(Path::file_name);
        let mut names = folders.map(|name| name.to_string_lossy().into_owned());
        names.find(|name| name != "new" && name != "base")
    };
    let named = named.and_then(|named| named.full_id.or(named.title));
    named.or_else(folder).unwrap_or_else(|| path.display().to_string())
}
