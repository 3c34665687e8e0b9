//! Google Benchmark's JSON: its repetitions are samples, its aggregates are figures.

use serde::Deserialize;

use super::{Benchmark, Measured, named_in, parsed, sample, time};

#[derive(Deserialize)]
struct Document {
    context: Context,
    benchmarks: Vec<Entry>,
}

#[derive(Deserialize)]
struct Context {
    date: Option<String>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    /// Without the name of an aggregate; absent before 1.5.
    run_name: Option<String>,
    run_type: Option<String>,
    aggregate_name: Option<String>,
    #[serde(default)]
    error_occurred: bool,
    #[serde(default)]
    skipped: bool,
    /// A whole number, which some versions write as a float.
    iterations: Option<f64>,
    /// Of one iteration.
    real_time: Option<f64>,
    cpu_time: Option<f64>,
    time_unit: Option<String>,
}

pub(super) fn json(text: &str) -> Result<Measured, String> {
    let Document { context, benchmarks: entries } = parsed(text)?;
    let mut benchmarks: Vec<Benchmark> = Vec::new();
    for (number, entry) in entries.into_iter().enumerate() {
        let place = format!("benchmarks[{number}] (`{}`)", entry.name);
        // Nor is the law that it fitted a time (`BM_x_BigO`, `BM_x_RMS`).
        let is_law = entry.aggregate_name.is_some() && entry.real_time.is_none();
        if entry.error_occurred || entry.skipped || is_law {
            continue;
        }
        let name = entry.run_name.unwrap_or(entry.name);
        let benchmark = named_in(&mut benchmarks, name);
        let Some(real) = entry.real_time else { return Err(format!("{place}: no real_time")) };
        let picoseconds = match entry.time_unit.as_deref() {
            Some("ns") | None => 1e3,
            Some("us") => 1e6,
            Some("ms") => 1e9,
            Some("s") => 1e12,
            Some(other) => return Err(format!("{place}: time_unit is {other}, not ns, us, ms or s")),
        };
        if let Some(aggregate) =
            entry.aggregate_name.filter(|_| entry.run_type.as_deref() != Some("iteration"))
        {
            let figure = match aggregate.as_str() {
                // A quotient and no time.
                "cv" => format!("cv {real}"),
                name => format!("{name} {}", time(real * picoseconds / 1e12)),
            };
            let between = if benchmark.figures.is_empty() { "" } else { ", " };
            benchmark.figures.push_str(&format!("{between}{figure}"));
            continue;
        }
        let iterations = entry.iterations.unwrap_or(1.0);
        let mut timed = sample(&place, iterations as u64, real * picoseconds * iterations)?;
        if let Some(cpu) = entry.cpu_time {
            // User and system time together: the file does not part them.
            timed.user = sample(&place, 1, cpu * picoseconds * iterations)?.elapsed;
        }
        benchmark.samples.push(timed);
    }
    Ok(Measured { date: context.date, ..Measured::by("Google Benchmark", benchmarks) })
}
