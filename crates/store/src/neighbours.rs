//! A run written for other people's tools: CSV, Go's benchmark format, Google Benchmark's JSON, JSON of the
//! whole run, and, of commands, what hyperfine writes.
//!
//! Pure functions of a run. The time of one operation is `elapsed / (iterations × work)`, where
//! [`Arrangement::work`](tenbin_model::Arrangement) is what one iteration of the whole team does; nothing
//! is subtracted from it. Epochs without an operation have no such time and are left out of the two
//! benchmark formats.

pub mod hyperfine;
pub mod reading;

use std::collections::HashMap;
use std::io::{self, Write};

use serde_json::{Value, json};
use tenbin_model::sample::{METRICS, Metric};
use tenbin_model::words::capitalised;
use tenbin_model::{Cell, ExportedRun, Quantity, Run, Sample, Trial, VariantIndex};

/// Writes every epoch as one row of CSV (RFC 4180: CRLF at the end of a line, quotes where needed).
///
/// Lengths are in picoseconds. The shares of several workers stand in one field, separated by `;`.
///
/// # Errors
/// Those of `out`.
pub fn csv(run: &Run, out: &mut impl Write) -> io::Result<()> {
    const HEADER: [&str; 16] = [
        "experiment",
        "cell",
        "variant",
        "order",
        "block",
        "iterations",
        "work",
        "elapsed_ps",
        "ns_per_operation",
        "cpu",
        "user_ps",
        "system_ps",
        "voluntary_switches",
        "involuntary_switches",
        "share_elapsed_ps",
        "share_failures",
    ];
    // A column for what was counted of any epoch, and none for what an older tenbin did not count.
    let is_known = |metric: &&Metric| epochs(run).any(|epoch| (metric.read)(epoch.sample).is_some());
    let metrics: Vec<&Metric> = METRICS.iter().filter(is_known).collect();
    let header: Vec<&str> = HEADER.into_iter().chain(metrics.iter().map(|metric| metric.name)).collect();
    write!(out, "{}\r\n", header.join(","))?;
    for epoch in epochs(run) {
        let Epoch { trial, cell, sample, .. } = epoch;
        let per_operation = epoch.nanoseconds_per_operation().map_or(String::new(), |time| time.to_string());
        let shares = |value: fn(&tenbin_model::Share) -> u64| {
            sample.shares.iter().map(|share| value(share).to_string()).collect::<Vec<_>>().join(";")
        };
        write!(
            out,
            "{},{},{},{},{},{},{},{},{per_operation},{},{},{},{},{},{},{}",
            csv_field(&trial.descriptor.name),
            csv_field(&cell.arrangement.label),
            csv_field(&variant_name(trial, sample)),
            sample.order,
            sample.block,
            sample.iterations,
            cell.arrangement.work,
            sample.elapsed.0,
            sample.cpu.0,
            sample.user.0,
            sample.system.0,
            sample.voluntary_switches,
            sample.involuntary_switches,
            shares(|share| share.elapsed.0),
            shares(|share| share.failures),
        )?;
        for metric in &metrics {
            write!(out, ",{}", (metric.read)(sample).map_or(String::new(), |count| count.to_string()))?;
        }
        write!(out, "\r\n")?;
    }
    Ok(())
}

/// Writes every epoch as one line of Go's benchmark format, which `benchstat` reads.
///
/// `BenchmarkAtomics/cell=at_2_threads/variant=lock_xadd-2  1000  12.5 ns/op`: the number behind the
/// name is the number of workers, the next one counts operations. Where the quantity is bytes in a
/// second, an operation is one iteration and `MB/s` follows (10⁶ bytes, as Go has it); how late an event came
/// has the unit `ns-late/op`. Compare variants
/// with `benchstat -col /variant FILE`.
///
/// # Errors
/// Those of `out`.
pub fn go_benchmark(run: &Run, out: &mut impl Write) -> io::Result<()> {
    writeln!(out, "goos: linux")?;
    let architecture = match run.machine.architecture.as_str() {
        "x86_64" => "amd64",
        "aarch64" => "arm64",
        other => other,
    };
    writeln!(out, "goarch: {architecture}")?;
    if let Some(model) = run.machine.cpu_model.known() {
        writeln!(out, "cpu: {}", model.split_whitespace().collect::<Vec<_>>().join(" "))?;
    }
    if run.trials.iter().any(|trial| trial.descriptor.quantity == Quantity::Lateness) {
        writeln!(out, "Unit {LATENESS} better=lower")?;
    }
    for trial in &run.trials {
        // `benchstat` takes lines for benchmarks only if a capital letter or no letter follows the word.
        let trial_name = capitalised(&go_name(&trial.descriptor.name));
        let cells = distinct(trial.cells.iter().map(|cell| go_name(&cell.arrangement.label)));
        let variants = distinct(trial.descriptor.variants.iter().map(|variant| go_name(&variant.name)));
        for (cell, cell_name) in trial.cells.iter().zip(&cells) {
            let workers = cell.arrangement.cpus.len().max(1);
            for sample in
                cell.samples.iter().filter(|sample| sample.iterations > 0 && cell.arrangement.work > 0)
            {
                let index = sample.variant.0.to_string();
                let variant = variants.get(sample.variant.place()).unwrap_or(&index);
                write!(out, "Benchmark{trial_name}/cell={cell_name}/variant={variant}-{workers} ")?;
                go_figures(trial.descriptor.quantity, cell.arrangement.work, sample, out)?;
            }
        }
    }
    Ok(())
}

/// The unit of how late an event came, which is no time that an operation took.
const LATENESS: &str = "ns-late/op";

fn go_figures(quantity: Quantity, work: u64, sample: &Sample, out: &mut impl Write) -> io::Result<()> {
    let (iterations, elapsed) = (sample.iterations, sample.elapsed.as_nanos());
    match quantity {
        Quantity::BytesPerSecond => {
            // Bytes in a nanosecond are thousands of 10⁶ bytes in a second.
            let bytes = iterations as f64 * work as f64;
            writeln!(out, "{iterations} {} ns/op {} MB/s", elapsed / iterations as f64, bytes / elapsed * 1e3)
        }
        _ => {
            let operations = u128::from(iterations) * u128::from(work);
            let unit = if quantity == Quantity::Lateness { LATENESS } else { "ns/op" };
            writeln!(out, "{operations} {} {unit}", elapsed / operations as f64)
        }
    }
}

/// Writes every epoch as one iteration of a benchmark in Google Benchmark's JSON, which its
/// `compare.py` reads. The epochs of a variant in a cell are the repetitions of one benchmark.
///
/// Times are nanoseconds for one operation; CPU time is user and system time of the process.
///
/// # Errors
/// Those of `out`.
pub fn google_benchmark(run: &Run, out: &mut impl Write) -> io::Result<()> {
    // A family is a variant in a cell: its number, in order of appearance, and its epochs so far.
    let mut families: HashMap<(usize, VariantIndex), (usize, u64)> = HashMap::new();
    let timed = || epochs(run).filter_map(|epoch| Some((epoch, epoch.operations()?)));
    let family_of = |epoch: &Epoch<'_>| (epoch.place, epoch.sample.variant);
    let mut totals: HashMap<(usize, VariantIndex), u64> = HashMap::new();
    for (epoch, _) in timed() {
        *totals.entry(family_of(&epoch)).or_insert(0) += 1;
    }
    let mut benchmarks: Vec<Value> = Vec::new();
    for (epoch, operations) in timed() {
        let Epoch { trial, cell, sample, .. } = epoch;
        let next = families.len();
        let (family, repetition) = families.entry(family_of(&epoch)).or_insert((next, 0));
        let name =
            format!("{}/{}/{}", trial.descriptor.name, cell.arrangement.label, variant_name(trial, sample));
        benchmarks.push(json!({
            "name": name,
            "family_index": *family,
            "per_family_instance_index": 0,
            "run_name": name,
            "run_type": "iteration",
            "repetitions": totals[&family_of(&epoch)],
            "repetition_index": *repetition,
            "threads": cell.arrangement.cpus.len().max(1),
            "iterations": sample.iterations,
            "real_time": sample.elapsed.as_nanos() / operations,
            "cpu_time": (sample.user + sample.system).as_nanos() / operations,
            "time_unit": "ns",
        }));
        *repetition += 1;
    }
    let machine = &run.machine;
    let context = json!({
        "date": run.provenance.started,
        "executable": "tenbin",
        "tenbin_version": run.provenance.version,
        "cpu_model": machine.cpu_model.known(),
        "num_cpus": machine.cpus.len(),
        "cpu_scaling_enabled": machine.governor.known().map(|governor| governor != "performance"),
        "load_avg": machine.load.known().map_or(Vec::new(), |load| vec![*load]),
        "json_schema_version": 1,
    });
    finish_json(&json!({ "context": context, "benchmarks": benchmarks }), out)
}

/// Writes the whole run as JSON: the shape of [`ExportedRun`], samples included.
///
/// # Errors
/// Those of `out`.
pub fn json(run: &Run, out: &mut impl Write) -> io::Result<()> {
    finish_json(&ExportedRun::of(run), out)
}

fn finish_json(value: &impl serde::Serialize, out: &mut impl Write) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

/// A sample with what it is a sample of.
#[derive(Clone, Copy)]
struct Epoch<'a> {
    trial: &'a Trial,
    cell: &'a Cell,
    /// The cell's position among all cells of the run.
    place: usize,
    sample: &'a Sample,
}

impl Epoch<'_> {
    /// Units of work that the epoch did, if it did any.
    fn operations(&self) -> Option<f64> {
        let operations = self.sample.iterations as f64 * self.cell.arrangement.work as f64;
        (operations > 0.0).then_some(operations)
    }

    fn nanoseconds_per_operation(&self) -> Option<f64> {
        Some(self.sample.elapsed.as_nanos() / self.operations()?)
    }
}

fn epochs(run: &Run) -> impl Iterator<Item = Epoch<'_>> {
    let cells = run.trials.iter().flat_map(|trial| trial.cells.iter().map(move |cell| (trial, cell)));
    cells.enumerate().flat_map(|(place, (trial, cell))| {
        cell.samples.iter().map(move |sample| Epoch { trial, cell, place, sample })
    })
}

/// The variant's name, or its index where the descriptor has no such variant.
fn variant_name(trial: &Trial, sample: &Sample) -> String {
    let variant = trial.variant(sample.variant);
    variant.map_or_else(|| sample.variant.0.to_string(), |variant| variant.name.clone())
}

/// Quotes a field that holds a comma, a quote or the end of a line.
fn csv_field(text: &str) -> String {
    if text.contains([',', '"', '\r', '\n']) {
        format!("\"{}\"", text.replace('"', "\"\""))
    } else {
        text.into()
    }
}

/// A part of a benchmark's name in Go: no space, which ends the name, and none of `/`, `=`, which divide it.
fn go_name(text: &str) -> String {
    let allowed = |character: char| character.is_alphanumeric() || "_.+:,-".contains(character);
    let mut name = String::new();
    for character in text.chars() {
        // One stroke for whatever stands between two words, and none behind a comma.
        match allowed(character) {
            true => name.push(character),
            false if !name.ends_with(['_', ',']) => name.push('_'),
            false => {}
        }
    }
    let name = name.trim_matches('_').to_owned();
    if name.is_empty() { "_".into() } else { name }
}

/// Numbers names that have become equal: `benchstat` would pool what bears one name.
fn distinct(names: impl Iterator<Item = String>) -> Vec<String> {
    let mut taken: Vec<String> = Vec::new();
    for name in names {
        let mut unique = name.clone();
        let mut number = 2;
        while taken.contains(&unique) {
            unique = format!("{name}_{number}");
            number += 1;
        }
        taken.push(unique);
    }
    taken
}

#[cfg(test)]
mod tests;
