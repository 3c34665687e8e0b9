//! What runs of commands came to, as hyperfine 1.20 writes it: JSON, CSV, and tables in Markdown, AsciiDoc
//! and org-mode.
//!
//! These formats say mean ± σ and a quotient of means, so that is what stands in them; the verdicts of tenbin
//! have no place there. Times are in seconds in JSON and CSV. JSON and CSV have the order of the commands,
//! tables that of `--sort`.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use serde::Serialize;
use tenbin_model::words::comma;
use tenbin_model::{Order, Parameter, Picoseconds, Run, Sample, Trial, Variant, order};

use super::{csv_field, finish_json};

/// A run that has nothing for these formats: why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotOfCommands {
    /// It is another experiment's: its name.
    #[error(
        "this run is of `{0}` and not of commands; hyperfine's formats hold what `tenbin weigh` measured"
    )]
    Other(String),
    /// Others took its samples.
    #[error("the samples of this run were imported; the file that they came from holds them")]
    Imported,
    /// No command was timed.
    #[error("no command was timed in this run")]
    Untimed,
}

/// The commands of a run with their figures.
#[derive(Debug)]
pub struct Results<'a> {
    timed: Vec<Timed<'a>>,
    unit: Option<&'static Unit>,
    by_time: bool,
    /// Whether the first command is what all others are held against.
    has_reference: bool,
}

/// A command's figures: the fields of hyperfine's JSON, in its order.
#[derive(Debug, Serialize)]
struct Timed<'a> {
    command: &'a str,
    mean: f64,
    stddev: Option<f64>,
    median: f64,
    user: f64,
    system: f64,
    min: f64,
    max: f64,
    times: Vec<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory_usage_byte: Option<Vec<u64>>,
    /// As a shell has it: 128 and the number of the signal that ended a command. None where it is not known.
    exit_codes: Vec<Option<u64>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    parameters: BTreeMap<&'a str, &'a str>,
    /// The name for tables, which says every parameter.
    #[serde(skip)]
    shown: &'a str,
}

impl<'a> Results<'a> {
    /// The figures of every command that was timed.
    ///
    /// # Errors
    /// The run is of no commands, or none was timed.
    pub fn of(run: &'a Run) -> Result<Self, NotOfCommands> {
        if run.is_imported() {
            return Err(NotOfCommands::Imported);
        }
        let of_commands = |trial: &&Trial| trial.descriptor.quantity.of_command().is_some();
        let Some(trial) = run.trials.iter().find(of_commands) else {
            return Err(NotOfCommands::Other(comma(run.trials.iter().map(|trial| &trial.descriptor.name))));
        };
        let timed: Vec<Timed<'_>> = (trial.descriptor.numbered_variants())
            .filter_map(|(index, variant)| {
                let samples = trial.cells.iter().flat_map(|cell| &cell.samples);
                Timed::of(variant, samples.filter(|sample| sample.variant == index && sample.iterations > 0))
            })
            .collect();
        if timed.is_empty() {
            return Err(NotOfCommands::Untimed);
        }
        let parameter = |name| trial.descriptor.parameter(name);
        Ok(Self {
            timed,
            unit: parameter(Parameter::TIME_UNIT).and_then(Unit::named),
            by_time: parameter(Parameter::ORDER).is_some(),
            has_reference: parameter(Parameter::REFERENCE).is_some(),
        })
    }

    /// Writes JSON, every run of every command in it.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn json(&self, out: &mut impl Write) -> io::Result<()> {
        #[derive(Serialize)]
        struct Summary<'a> {
            results: &'a [Timed<'a>],
        }
        finish_json(&Summary { results: &self.timed }, out)
    }

    /// Writes CSV: a row a command, and a column for each parameter that any has.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn csv(&self, out: &mut impl Write) -> io::Result<()> {
        let names: BTreeSet<&str> =
            order::set(self.timed.iter().flat_map(|timed| timed.parameters.keys().copied()));
        let fixed = ["command", "mean", "stddev", "median", "user", "system", "min", "max"];
        let header = fixed.into_iter().map(str::to_owned);
        let header = header.chain(names.iter().map(|name| format!("parameter_{name}")));
        row_of_csv(header, out)?;
        for timed in &self.timed {
            let Timed { mean, stddev, median, user, system, min, max, .. } = timed;
            let figures = [*mean, stddev.unwrap_or(0.0), *median, *user, *system, *min, *max];
            let fields =
                [timed.command.to_owned()].into_iter().chain(figures.map(|figure| figure.to_string()));
            let value = |name: &&str| timed.parameters.get(name).copied().unwrap_or_default().to_owned();
            row_of_csv(fields.chain(names.iter().map(value)), out)?;
        }
        Ok(())
    }

    /// Writes a table in Markdown.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let [header, rows @ ..] = &*self.table('`') else { return Ok(()) };
        writeln!(out, "| {} |", header.join(" | "))?;
        writeln!(out, "|:---|---:|---:|---:|---:|")?;
        rows.iter().try_for_each(|row| writeln!(out, "| {} |", row.join(" | ")))
    }

    /// Writes a table in AsciiDoc.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn asciidoc(&self, out: &mut impl Write) -> io::Result<()> {
        write!(out, "[cols=\"<,>,>,>,>\"]\n|===")?;
        for row in self.table('`') {
            write!(out, "\n| {} \n", row.join(" \n| "))?;
        }
        writeln!(out, "|===")
    }

    /// Writes a table in Emacs' org-mode.
    ///
    /// # Errors
    /// Those of `out`.
    pub fn orgmode(&self, out: &mut impl Write) -> io::Result<()> {
        for (number, [command, figures @ ..]) in self.table('=').iter().enumerate() {
            writeln!(out, "| {command}  |  {} |", figures.join(" |  "))?;
            if number == 0 {
                writeln!(out, "|--+--+--+--+--|")?;
            }
        }
        Ok(())
    }

    /// The header and a row a command, whose name stands between two `marks`.
    fn table(&self, mark: char) -> Vec<[String; 5]> {
        let mut order: Vec<&Timed<'_>> = self.timed.iter().collect();
        if self.by_time {
            order.order_by(|one, other| one.mean.total_cmp(&other.mean));
        }
        let fastest = self.timed.iter().min_by(|one, other| one.mean.total_cmp(&other.mean));
        let reference = if self.has_reference { self.timed.first() } else { fastest };
        // The first command decides for all, as there is one header.
        let first = self.timed.first().map_or(1.0, |timed| timed.mean);
        let unit = self.unit.unwrap_or_else(|| Unit::fitting(first));
        let head = |name: &str| format!("{name} [{}]", unit.short);
        let mut rows = vec![["Command".into(), head("Mean"), head("Min"), head("Max"), "Relative".into()]];
        for timed in order {
            let spread =
                timed.stddev.map_or_else(String::new, |stddev| format!(" ± {}", unit.figure(stddev)));
            rows.push([
                format!("{mark}{}{mark}", timed.shown.replace('|', "\\|")),
                unit.figure(timed.mean) + &spread,
                unit.figure(timed.min),
                unit.figure(timed.max),
                reference.map_or_else(String::new, |reference| timed.relative_to(reference)),
            ]);
        }
        rows
    }
}

impl<'a> Timed<'a> {
    /// None where there are no samples.
    fn of(variant: &'a Variant, samples: impl Iterator<Item = &'a Sample>) -> Option<Self> {
        let samples: Vec<&Sample> = samples.collect();
        // A run of a command is one iteration; what others repeated inside a sample counts as one. Whole
        // picoseconds add up without an error that would show.
        let each = |time: fn(&Sample) -> Picoseconds| -> Vec<f64> {
            samples.iter().map(|sample| time(sample).0 as f64 / sample.iterations as f64).collect()
        };
        let seconds = |picoseconds: f64| picoseconds / 1e12;
        let elapsed = each(|sample| sample.elapsed);
        let mean = mean(&elapsed)?;
        let mut sorted = elapsed.clone();
        sorted.order_by(f64::total_cmp);
        let (low, high) = (sorted[(sorted.len() - 1) / 2], sorted[sorted.len() / 2]);
        Some(Self {
            command: plain_name(variant),
            mean: seconds(mean),
            stddev: deviation(&elapsed, mean).map(seconds),
            median: seconds(f64::midpoint(low, high)),
            user: seconds(self::mean(&each(|sample| sample.user))?),
            system: seconds(self::mean(&each(|sample| sample.system))?),
            min: seconds(*sorted.first()?),
            max: seconds(*sorted.last()?),
            times: elapsed.into_iter().map(seconds).collect(),
            memory_usage_byte: samples.iter().map(|sample| sample.peak_memory).collect(),
            exit_codes: samples.iter().map(|sample| sample.exit_status.map(status_of_a_shell)).collect(),
            parameters: order::map(variant.parameters.iter().map(|(name, value)| (&**name, &**value))),
            shown: &variant.name,
        })
    }

    /// The quotient of two means, and the deviation that two independent ones give it (the first term of its
    /// Taylor series).
    fn relative_to(&self, reference: &Self) -> String {
        let itself = std::ptr::eq(self, reference);
        let ratio = if itself { 1.0 } else { self.mean / reference.mean };
        let part = |timed: &Self| timed.stddev.map(|stddev| stddev / timed.mean);
        match (part(self), part(reference)) {
            (Some(one), Some(other)) if !itself && one.is_finite() && other.is_finite() => {
                format!("{ratio:.2} ± {:.2}", ratio * one.hypot(other))
            }
            _ => format!("{ratio:.2}"),
        }
    }
}

/// The name of a command as it was given: without the values that tables say behind it, and without the
/// number that parts commands that read alike.
fn plain_name(variant: &Variant) -> &str {
    let Variant { name, what, parameters, .. } = variant;
    let is_number = |behind: &str| {
        let number = behind.strip_prefix(" (").and_then(|rest| rest.strip_suffix(')'));
        number.is_some_and(|number| number.parse::<usize>().is_ok())
    };
    if name.strip_prefix(what.as_str()).is_some_and(is_number) {
        return what;
    }
    let are_values = |behind: &str| {
        let mut rest = behind.strip_prefix(" (").unwrap_or_default();
        for (parameter, value) in parameters {
            if let Some(after) = rest.strip_prefix(&format!("{parameter} = {value}")) {
                rest = after.strip_prefix(", ").unwrap_or(after);
            }
        }
        rest == ")" && behind != " ()"
    };
    let parts = name.match_indices(" (").map(|(at, _)| name.split_at(at));
    parts.into_iter().find(|(_, behind)| are_values(behind)).map_or(name, |(plain, _)| plain)
}

/// The status that a shell gives for one of ours, which has 256 and the number of a signal.
fn status_of_a_shell(status: u64) -> u64 {
    if status < 256 { status } else { status - 128 }
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// The standard deviation of which these are a sample; one value has none.
fn deviation(values: &[f64], mean: f64) -> Option<f64> {
    let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (values.len() - 1) as f64).sqrt())
}

fn row_of_csv(fields: impl Iterator<Item = String>, out: &mut impl Write) -> io::Result<()> {
    let fields: Vec<String> = fields.map(|field| csv_field(&field)).collect();
    writeln!(out, "{}", fields.join(","))
}

/// The unit of the times in a table.
#[derive(Debug)]
struct Unit {
    /// As `--time-unit` has it.
    name: &'static str,
    short: &'static str,
    /// How many are a second, and with how many decimals they are shown.
    scale: f64,
    decimals: usize,
}

const UNITS: [Unit; 3] = [
    Unit { name: "microsecond", short: "µs", scale: 1e6, decimals: 1 },
    Unit { name: "millisecond", short: "ms", scale: 1e3, decimals: 1 },
    Unit { name: "second", short: "s", scale: 1.0, decimals: 3 },
];

impl Unit {
    fn named(name: &str) -> Option<&'static Self> {
        UNITS.iter().find(|unit| unit.name == name)
    }

    fn fitting(seconds: f64) -> &'static Self {
        match seconds {
            ..0.001 => &UNITS[0],
            ..1.0 => &UNITS[1],
            _ => &UNITS[2],
        }
    }

    fn figure(&self, seconds: f64) -> String {
        format!("{:.*}", self.decimals, seconds * self.scale)
    }
}

#[cfg(test)]
mod tests;
