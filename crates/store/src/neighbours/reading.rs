//! What the neighbours' tools wrote, read into a run: hyperfine's JSON, Google Benchmark's JSON, Go's
//! benchmark text, pyperf's JSON, criterion's `sample.json`; and CSV, whoever wrote it.
//!
//! What a file is, its contents say, whatever its name is. Samples come as they stand there; that of one
//! benchmark were taken one after the other, and nothing says what happened between those of two. So they are
//! kept in the order of the file, and the run names the analysis that knows this
//! ([`AnalysisName::UNORDERED`]).

mod columns;
mod criterion;
mod go;
mod google;
mod hyperfine;
mod pyperf;

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};
use tenbin_model::words::comma;
use tenbin_model::{
    AnalysisName, Arrangement, Cell, Comparison, Descriptor, Finding, Machine, Parameter, Picoseconds,
    Provenance, Quantity, Refusal, Run, Sample, Source, Trial, Variant, VariantIndex,
};

use crate::kind_of_file::MAGIC;

/// A file that is larger is none of these: its samples would be of many days.
const LARGEST: u64 = 256 << 20;

/// Every pair of so many benchmarks is weighed; of more each against the first, as commands are.
const ALL_PAIRS: usize = 4;

/// The tools whose files are read.
pub const TOOLS: &str = "hyperfine's JSON, Google Benchmark's JSON, Go's benchmark text, pyperf's JSON, criterion's sample.json, CSV \
     with a title over each column";

/// Why a neighbour's file was not read. The text names the file, the place in it, and what is wrong there.
#[derive(Debug, thiserror::Error)]
pub enum Unread {
    /// The system does not give it.
    #[error("read {}: {error}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        error: io::Error,
    },
    /// It is a store of tenbin's, or of no format that is known here.
    #[error("{}: it is in none of the known formats: {TOOLS}", .0.display())]
    Unknown(PathBuf),
    /// It has too many bytes.
    #[error("{}: it has more than {} MiB", .0.display(), LARGEST >> 20)]
    TooLarge(PathBuf),
    /// Its contents are not what they should be.
    #[error("{}: {what}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// Where in it, and what is wrong.
        what: String,
    },
}

/// What a tool measured.
struct Measured {
    tool: &'static str,
    /// When, if the file says so.
    date: Option<String>,
    architecture: Option<String>,
    cpu_model: Option<String>,
    benchmarks: Vec<Benchmark>,
}

impl Measured {
    fn by(tool: &'static str, benchmarks: Vec<Benchmark>) -> Self {
        Self { tool, date: None, architecture: None, cpu_model: None, benchmarks }
    }
}

/// One benchmark of a file.
#[derive(Default)]
struct Benchmark {
    name: String,
    /// Which of several files it is of, and its name there.
    file: (usize, String),
    /// What was run, where that is more than the name.
    what: String,
    parameters: Vec<(String, String)>,
    samples: Vec<Sample>,
    /// What the file says of it besides, in words: for benchmarks without samples.
    figures: String,
}

/// The benchmark of this name among some, which is added where it is not there.
fn named_in(benchmarks: &mut Vec<Benchmark>, name: String) -> &mut Benchmark {
    let known = benchmarks.iter().position(|benchmark| benchmark.name == name);
    let place = known.unwrap_or(benchmarks.len());
    if known.is_none() {
        benchmarks.push(Benchmark { name, ..Benchmark::default() });
    }
    &mut benchmarks[place]
}

/// Reads one file, or several as one run, by what they hold.
///
/// # Errors
/// A file cannot be read, is too large, of no format that is known here, or damaged.
pub fn read(paths: &[PathBuf]) -> Result<Run, Unread> {
    let mut all = Vec::new();
    for (number, path) in paths.iter().enumerate() {
        let mut measured = measured(path)?;
        if paths.len() > 1 {
            for benchmark in &mut measured.benchmarks {
                benchmark.file = (number, benchmark.name.clone());
                benchmark.name = format!("{} [{}]", benchmark.name, path.display());
            }
        }
        all.push(measured);
    }
    Ok(run(all))
}

/// The text of a file of figures.
///
/// # Errors
/// It cannot be read, is a store, no text, or too large.
pub fn text(path: &Path) -> Result<String, Unread> {
    let io = |error| Unread::Io { path: path.into(), error };
    let file = File::open(path).map_err(io)?;
    let metadata = file.metadata().map_err(io)?;
    if !metadata.is_file() {
        return Err(Unread::Unknown(path.into()));
    }
    let mut bytes = Vec::new();
    let mut file = file.take(LARGEST + 1);
    // A store may be large, and is known by its first bytes.
    (&mut file).take(MAGIC.len() as u64).read_to_end(&mut bytes).map_err(io)?;
    if bytes == MAGIC {
        return Err(Unread::Unknown(path.into()));
    }
    if metadata.len() <= LARGEST {
        file.read_to_end(&mut bytes).map_err(io)?;
    }
    // It may have grown meanwhile.
    if metadata.len().max(bytes.len() as u64) > LARGEST {
        return Err(Unread::TooLarge(path.into()));
    }
    String::from_utf8(bytes).map_err(|_| Unread::Unknown(path.into()))
}

fn measured(path: &Path) -> Result<Measured, Unread> {
    let malformed = |what| Unread::Malformed { path: path.into(), what };
    let text = text(path)?;
    let text = text.trim_start_matches('\u{feff}');
    let read = if text.trim_start().starts_with('{') {
        match parsed::<Keys>(text).map_err(malformed)? {
            Keys { iters: Some(_), times: Some(_), .. } => criterion::samples(text, path),
            Keys { mean: Some(_), std_dev: Some(_), .. } => criterion::estimates(text, path),
            Keys { results: Some(_), .. } => hyperfine::json(text),
            Keys { benchmarks: Some(_), context: Some(_), .. } => google::json(text),
            Keys { benchmarks: Some(_), .. } => pyperf::json(text),
            Keys { .. } => return Err(Unread::Unknown(path.into())),
        }
    } else if text.starts_with("command,mean,stddev,") {
        hyperfine::csv(text)
    } else if go::is_one(text) {
        go::text(text)
    } else if columns::is_one(text) {
        columns::text(text)
    } else {
        return Err(Unread::Unknown(path.into()));
    };
    let measured = read.map_err(malformed)?;
    if measured.benchmarks.is_empty() {
        return Err(malformed(format!("it is a file of {} and holds no benchmark", measured.tool)));
    }
    Ok(measured)
}

/// What tells the formats apart.
#[derive(Deserialize)]
struct Keys {
    results: Option<IgnoredAny>,
    benchmarks: Option<IgnoredAny>,
    context: Option<IgnoredAny>,
    iters: Option<IgnoredAny>,
    times: Option<IgnoredAny>,
    mean: Option<IgnoredAny>,
    std_dev: Option<IgnoredAny>,
}

/// JSON as a value of this type; serde's message names line and column.
fn parsed<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    serde_json::from_slice(text.as_bytes()).map_err(|error| error.to_string())
}

/// A sample of so many iterations that took `picoseconds` together; `place` says where it stands in the file.
fn sample(place: &str, iterations: u64, picoseconds: f64) -> Result<Sample, String> {
    // Longer than a hundred days is no time of a benchmark, and would not fit.
    const LONGEST: f64 = 1e19;
    if iterations == 0 {
        return Err(format!("{place}: no iterations"));
    }
    if !(0.0..LONGEST).contains(&picoseconds) {
        return Err(format!("{place}: {} s is not a time that a benchmark takes", picoseconds / 1e12));
    }
    Ok(Sample { iterations, elapsed: Picoseconds(picoseconds.round() as u64), ..Sample::default() })
}

/// A length of time in words, for figures that come without samples.
fn time(seconds: f64) -> String {
    Picoseconds((seconds * 1e12).round() as u64).to_string()
}

/// Figures of runs that took so many seconds.
fn means(mean: f64, deviation: f64) -> String {
    format!("mean {}, standard deviation {}", time(mean), time(deviation))
}

fn run(all: Vec<Measured>) -> Run {
    let mut tools: Vec<&str> = all.iter().map(|measured| measured.tool).collect();
    tools.dedup();
    let tool = comma(&tools);
    let why = "the file that it was imported from does not say";
    let mut machine = Machine { architecture: "unknown".into(), ..Machine::unobserved(why) };
    if let [only] = all.as_slice() {
        machine.architecture = only.architecture.clone().unwrap_or(machine.architecture);
        machine.cpu_model =
            only.cpu_model.clone().map_or(machine.cpu_model, tenbin_model::machine::Observed::Known);
    }
    let provenance = Provenance {
        version: tool.clone(),
        started: all.iter().find_map(|measured| measured.date.clone()).unwrap_or_else(|| "undated".into()),
        ..Provenance::default()
    };
    let benchmarks: Vec<Benchmark> = all.into_iter().flat_map(|measured| measured.benchmarks).collect();
    let (timed, figures): (Vec<_>, Vec<_>) =
        benchmarks.into_iter().partition(|benchmark| !benchmark.samples.is_empty());
    let descriptor = Descriptor {
        name: "weigh".into(),
        question: "Which of these takes less time?".into(),
        requirement: "whoever has measured already wants to know what that shows".into(),
        specification: format!("whatever {tool} asked of them"),
        quantity: Quantity::WallTime,
        analysis: AnalysisName::from(AnalysisName::UNORDERED),
        variants: named(&timed),
        parameters: vec![Parameter::new("tool", &tool, "what took the samples")],
        margin: 0.01,
        epoch: Picoseconds(0),
        sources: Source::list(&[(&format!("a file of {tool}"), "every sample")]),
        ..Descriptor::default()
    };
    let findings = figures.into_iter().map(|benchmark| Finding {
        experiment: descriptor.name.clone(),
        sentence: format!("`{}`: {}.", benchmark.name, benchmark.figures),
        evidence: "figures without the samples that they were made of".into(),
        confidence: format!("as {tool} has it"),
    });
    let findings = findings.collect();
    let refusal = timed.is_empty().then(|| Refusal {
        reached: format!("this file of {tool} holds means and no samples"),
        needs: "the time of every run".into(),
        remedy: "have the tool write all of them (hyperfine --export-json, Google Benchmark --benchmark_repetitions \
                 without aggregates only, criterion's sample.json)"
            .into(),
    });
    let cells = if timed.is_empty() { Vec::new() } else { vec![cell(timed)] };
    Run { provenance, machine, trials: vec![Trial { descriptor, refusal, cells, findings }] }
}

/// A variant for each; no two have one name.
fn named(benchmarks: &[Benchmark]) -> Vec<Variant> {
    let with_values = |benchmark: &Benchmark| {
        let values = benchmark.parameters.iter().map(|(name, value)| format!("{name} = {value}"));
        format!("{} ({})", benchmark.name, comma(values))
    };
    let count = |name: &str| benchmarks.iter().filter(|other| other.name == name).count();
    let mut variants: Vec<Variant> = Vec::new();
    for benchmark in benchmarks {
        let is_double = count(&benchmark.name) > 1 && !benchmark.parameters.is_empty();
        let base = if is_double { with_values(benchmark) } else { benchmark.name.clone() };
        let mut name = base.clone();
        let mut number = 2;
        while variants.iter().any(|variant| variant.name == name) {
            name = format!("{base} ({number})");
            number += 1;
        }
        let what = if benchmark.what.is_empty() { &name } else { &benchmark.what };
        variants.push(Variant { parameters: benchmark.parameters.clone(), ..Variant::measured(&name, what) });
    }
    variants
}

fn cell(benchmarks: Vec<Benchmark>) -> Cell {
    let count = benchmarks.len();
    let place = VariantIndex::from;
    let firsts = |count: usize| if count <= ALL_PAIRS { count } else { 1 };
    let pairs =
        |firsts: usize| (0..firsts).flat_map(move |one| (one + 1..count).map(move |other| (one, other)));
    // Several files are compared because the same was measured in them.
    let is_across = |&(one, other): &(usize, usize)| {
        let (one, other) = (&benchmarks[one], &benchmarks[other]);
        one.file.0 != other.file.0 && one.file.1 == other.file.1 && one.parameters == other.parameters
    };
    let across: Vec<_> = pairs(count).filter(is_across).collect();
    let pairs = if across.is_empty() { pairs(firsts(count)).collect() } else { across };
    let pairs = pairs.into_iter().map(|(one, other)| (place(one), place(other)));
    let arrangement = Arrangement {
        epoch: Picoseconds(0),
        variants: VariantIndex::range(0..count),
        comparisons: Comparison::of(pairs),
        headline: true,
        ..Arrangement::default()
    };
    let samples = benchmarks.into_iter().enumerate().flat_map(|(variant, benchmark)| {
        let variant = place(variant);
        (0..).zip(benchmark.samples).map(move |(block, sample)| Sample { block, variant, ..sample })
    });
    let samples = (0..).zip(samples).map(|(order, sample)| Sample { order, ..sample }).collect();
    Cell { samples, ..Cell::unmeasured(arrangement) }
}

#[cfg(test)]
mod tests;
