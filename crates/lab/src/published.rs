//! Figures that others took, judged: the tables in `fixtures/published`, and tables of a user's in the same
//! forms.
//!
//! A table has a form ([`Format`]), by which its rows become samples of a question. Where several of a side
//! were published they are weighed, and where there is one, its ratio is shown and refused. What a source
//! derives from its own figures is a [`Claim`], which is computed again.

mod claims;

use tenbin_model::machine::Observed;
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{
    AnalysisName, Arrangement, Cell, Comparison, Descriptor, Effort, Machine, Parameter, Picoseconds,
    Provenance, Quantity, Refusal, Row, Rows, Run, Sample, Trial, Variant, VariantIndex, WrongCell,
};

pub use self::claims::{Claim, Figure};

/// A form in which figures stand in a table.
#[derive(Clone, Copy)]
pub struct Format {
    /// The titles by which it is known; others may stand beside them.
    pub titles: &'static [&'static str],
    /// What a row is.
    pub row: &'static str,
    /// How its rows become samples.
    pub reading: Reading,
}

/// How rows become samples.
#[derive(Clone, Copy)]
pub enum Reading {
    /// Each row holds times of sides, which are weighed as samples that other tools took.
    Times(fn(&Row) -> Result<Vec<Time>, WrongCell>),
    /// All together are cells of the question, which its own analysis judges, on this machine with what else
    /// they say of it.
    Trial(fn(&Rows, Machine) -> OnMachine),
}

/// Cells of a question and the machine that they are of, or what is wrong in the table.
pub type OnMachine = Result<(Machine, Trial), WrongCell>;

/// The time of one operation of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Time {
    /// Where it was measured: sides are weighed within a cell.
    pub cell: String,
    /// What was measured.
    pub side: String,
    /// In seconds, above 0.
    pub seconds: f64,
}

/// What `tenbin export --format csv` writes, of which these columns are enough; for every question.
const EPOCHS: Format = Format {
    titles: &["cell", "variant", "ns_per_operation"],
    row: "an epoch, as `tenbin export --format csv` has it",
    reading: Reading::Times(|row| {
        // An epoch without an operation has no time of one.
        if row.text("ns_per_operation").is_empty() {
            return Ok(Vec::new());
        }
        Ok(vec![Time {
            cell: row.text("cell").into(),
            side: row.text("variant").into(),
            seconds: row.positive("ns_per_operation")? * 1e-9,
        }])
    }),
};

/// A published table.
pub struct Table {
    /// Its name in `fixtures/published`.
    pub file: &'static str,
    /// What is in it.
    pub csv: &'static str,
    /// Who published it and when, as the source has it; `undated` where it has nothing.
    pub source: &'static str,
    /// The machine, as far as it was published.
    pub machine: fn() -> Machine,
    /// What the source derives from its own figures.
    pub claims: fn(&Rows) -> Vec<Claim>,
    /// Why nothing in it can be weighed, if so.
    pub unweighed: Option<&'static str>,
}

impl Table {
    /// Its rows.
    pub fn rows(&self) -> Rows {
        rows(self.csv)
    }

    /// What was published, as a run that the same code judges as any other.
    ///
    /// # Panics
    /// It has none of these formats. It is part of this program, and a test judges every one.
    pub fn run(&self, descriptor: &Descriptor, formats: &[Format]) -> Run {
        let (rows, machine) = (self.rows(), (self.machine)());
        let (machine, mut trial) = match self.unweighed {
            Some(reached) => {
                let refusal = Refusal {
                    reached: reached.into(),
                    needs: "runs of two sides, each with its time".into(),
                    remedy: "no more was published".into(),
                };
                let trial = unordered(descriptor, self.source, &[]);
                (machine, Trial { refusal: Some(refusal), ..trial })
            }
            None => {
                let format = format(formats, &rows).expect("a published table has a format of its question");
                let read = format.trial(descriptor, &rows, machine, self.source);
                read.expect("a published table is well formed")
            }
        };
        trial.findings.extend(claims::finding(&descriptor.name, self.source, &(self.claims)(&rows)));
        run(self.source, machine, trial)
    }
}

/// A machine of which little more than this name was published.
pub fn machine(name: &str) -> Machine {
    Machine { cpu_model: Observed::Known(name.into()), ..unknown("it was not published") }
}

fn unknown(why: &str) -> Machine {
    Machine { architecture: "unknown".into(), ..Machine::unobserved(why) }
}

/// The rows of a published table.
///
/// # Panics
/// It is malformed. It is part of this program, and a test reads every one.
fn rows(table: &str) -> Rows {
    Rows::read(table).expect("a published table is well formed")
}

/// What this text holds about an experiment that reads these formats, as a run that is judged as any other.
/// `name` is that of its file.
///
/// # Errors
/// It is no table, or of none of these formats, or a cell is wrong: the line, the column and
/// what is wrong there.
pub fn read(descriptor: &Descriptor, formats: &[Format], name: &str, text: &str) -> Result<Run, String> {
    if text.trim_start().starts_with('{') {
        return Err("it is JSON and no table; `tenbin weigh --from` reads what other tools wrote".into());
    }
    let rows = Rows::read(text).map_err(|wrong| wrong.to_string())?;
    let known = || {
        let forms =
            with_epochs(formats).map(|format| format!("{} ({})", format.titles.join(","), format.row));
        semicolon(forms)
    };
    let format = format(formats, &rows).ok_or_else(|| {
        let titles = comma(rows.titles());
        format!("the titles are {titles}; of `{}` a table has the titles {}", descriptor.name, known())
    })?;
    let machine = unknown("the file does not say");
    let read = format.trial(descriptor, &rows, machine, name);
    let (machine, trial) = read.map_err(|wrong| wrong.to_string())?;
    if trial.cells.is_empty() {
        return Err(format!("no row is about `{}`", descriptor.name));
    }
    Ok(run(name, machine, trial))
}

fn with_epochs(formats: &[Format]) -> impl Iterator<Item = &Format> {
    formats.iter().chain([&EPOCHS])
}

fn format<'a>(formats: &'a [Format], rows: &Rows) -> Option<&'a Format> {
    with_epochs(formats).find(|format| rows.has(format.titles))
}

impl Format {
    fn trial(&self, descriptor: &Descriptor, rows: &Rows, machine: Machine, source: &str) -> OnMachine {
        match self.reading {
            Reading::Trial(read) => read(rows, machine),
            Reading::Times(read) => {
                // A run that was exported whole has other questions in it.
                let is_own = |row: &&Row| ["", &descriptor.name].contains(&row.text("experiment"));
                let times: Vec<Vec<Time>> = rows.iter().filter(is_own).map(read).collect::<Result<_, _>>()?;
                Ok((machine, unordered(descriptor, source, &times.concat())))
            }
        }
    }
}

/// Samples of which nobody knows in which order they were taken: a cell for each that the times name, a
/// variant for each side, every one against the first of its cell.
fn unordered(descriptor: &Descriptor, source: &str, times: &[Time]) -> Trial {
    let distinct = |names: &mut dyn Iterator<Item = &String>| {
        let mut known: Vec<String> = Vec::new();
        for name in names {
            if !known.contains(name) {
                known.push(name.clone());
            }
        }
        known
    };
    let sides = distinct(&mut times.iter().map(|time| &time.side));
    let place = |side: &String| VariantIndex::from(sides.iter().position(|known| known == side).unwrap_or(0));
    let labels = distinct(&mut times.iter().map(|time| &time.cell));
    // Where there is something to weigh, and most is known: the first of several.
    let headline = labels.iter().rev().max_by_key(|label| {
        let own = || times.iter().filter(|time| time.cell == **label);
        (distinct(&mut own().map(|time| &time.side)).len() > 1, own().count())
    });
    let cells = labels.iter().map(|label| {
        let own = || times.iter().filter(|time| time.cell == *label);
        let variants: Vec<VariantIndex> =
            distinct(&mut own().map(|time| &time.side)).iter().map(place).collect();
        let samples = (0..).zip(own()).map(|(order, time)| sample(order, place(&time.side), time.seconds));
        let others = variants.iter().skip(1).map(|&other| (variants[0], other));
        let arrangement = Arrangement {
            label: label.clone(),
            epoch: Picoseconds::ZERO,
            comparisons: Comparison::of(others),
            headline: Some(label) == headline,
            variants: variants.clone(),
            ..Arrangement::default()
        };
        Cell { samples: samples.collect(), ..Cell::unmeasured(arrangement) }
    });
    let descriptor = Descriptor {
        quantity: Quantity::WallTime,
        further: Vec::new(),
        analysis: AnalysisName::from(AnalysisName::UNORDERED),
        parameters: vec![Parameter::new("tool", source, "who took the samples")],
        published: Vec::new(),
        variants: sides.iter().map(|side| Variant::measured(side, side)).collect(),
        ..descriptor.clone()
    };
    Trial { descriptor, refusal: None, cells: cells.collect(), findings: Vec::new() }
}

/// Of so many iterations that picoseconds are fine enough for its time.
fn sample(order: u32, variant: VariantIndex, seconds: f64) -> Sample {
    let iterations = if seconds < 1.0 { 1_000_000 } else { 1 };
    let elapsed = Picoseconds((seconds * 1e12 * iterations as f64).round() as u64);
    Sample { order, block: order, variant, iterations, elapsed, ..Sample::default() }
}

fn run(source: &str, machine: Machine, trial: Trial) -> Run {
    let provenance = Provenance {
        version: source.into(),
        build: None,
        started: "undated".into(),
        seed: 0,
        effort: Effort::Normal,
        arguments: Vec::new(),
    };
    Run { provenance, machine, trials: vec![trial] }
}

#[cfg(test)]
mod tests;
