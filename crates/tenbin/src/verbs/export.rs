//! `tenbin export`: runs in a file of their own.

use std::io::{self, IsTerminal};
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use tenbin_analysis::calibration as analysis;
use tenbin_lab::analyses;
use tenbin_model::ExportedRun;
use tenbin_model::words::counted;
use tenbin_store::neighbours::hyperfine;
use tenbin_store::{CalibrationId, Damage, Error, Existing, RunId, Store, neighbours, same_file};

use super::{Schema, Verb, Work};
use crate::output::{Answer, Destination, Trouble, write_whole};
use crate::store::{open_existing, shorts, trouble};

/// Write runs to a file of their own
#[derive(Args)]
pub struct Export {
    /// Ids of runs, starts of ids, labels, or `latest`
    #[arg(required_unless_present = "intact", value_name = "RUN")]
    runs: Vec<String>,
    /// Write every run and calibration that is not damaged, and say which are
    #[arg(long, conflicts_with = "runs")]
    intact: bool,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// What to write: another store, or what the neighbours' tools read (one run)
    #[arg(long, value_enum, default_value_t = Format::Store)]
    format: Format,
    /// Replace the file if it exists
    #[arg(long)]
    force: bool,
}

/// What `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// A store of its own, for `import` and `merge`
    Store,
    /// The whole run as JSON
    Json,
    /// One row an epoch
    Csv,
    /// Go's benchmark format, for benchstat
    Go,
    /// Google Benchmark's JSON, for its compare.py
    GoogleBenchmark,
    /// hyperfine's JSON, of a run that `weigh` measured
    Hyperfine,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<ExportedRun<'_>>("run", "A whole run with its samples: `export --format json`")],
    words: &[("runs", || vec!["latest".into()])],
    ..Verb::of::<Export>("export")
};

impl Work for Export {
    fn run(self) -> Result<Answer, Trouble> {
        // What is half written beside its place would stay there.
        let _whole = tenbin_metal::signals::Held::all()?;
        let Self { runs, intact, output, format, force } = &self;
        let store = open_existing()?;
        let Chosen { runs: ids, calibrations, left_out } =
            if *intact { all_intact(&store)? } else { chosen(&store, runs, *format == Format::Store)? };
        let destination = Destination::of(output)?;
        if let Destination::File(path) = &destination {
            if same_file(path, store.path()) {
                return Err(trouble(Error::IsTheStore(output.clone())));
            }
            if path.exists() && !force {
                return Err(Trouble::usage(format!(
                    "{} exists and was left alone; --force replaces it, another name leaves it alone",
                    output.display()
                )));
            }
        }
        if *format == Format::Store {
            match &destination {
                Destination::File(path) => {
                    let existing = if *force { Existing::Replace } else { Existing::Refuse };
                    store.export(&ids, &calibrations, path, existing).map_err(trouble)?;
                }
                Destination::StandardOutput if io::stdout().is_terminal() => {
                    return Err(Trouble::usage("a store is not text: name a file with -o, or redirect it"));
                }
                _ => {
                    let mut failed = None;
                    write_whole(output, |out| match store.export_to(&ids, &calibrations, out) {
                        Ok(written) => written,
                        Err(error) => {
                            failed = Some(trouble(error));
                            Ok(())
                        }
                    })?;
                    failed.map_or(Ok(()), Err)?;
                }
            }
        } else {
            let ([id], []) = (ids.as_slice(), calibrations.as_slice()) else {
                return Err(Trouble::usage("this format holds one run: name one, or use --format store"));
            };
            let run = store.load(id).map_err(trouble)?;
            let of_commands = (*format == Format::Hyperfine).then(|| hyperfine::Results::of(&run));
            let of_commands =
                of_commands.transpose().map_err(|why| Trouble::usage(format!("{}: {why}", id.short())))?;
            write_whole(output, |mut out| match format {
                Format::Csv => neighbours::csv(&run, &mut out),
                Format::Go => neighbours::go_benchmark(&run, &mut out),
                Format::GoogleBenchmark => neighbours::google_benchmark(&run, &mut out),
                Format::Hyperfine => of_commands.map_or(Ok(()), |results| results.json(&mut out)),
                Format::Json | Format::Store => neighbours::json(&run, &mut out),
            })?;
        }
        let to = match destination {
            Destination::StandardOutput => "standard output".into(),
            _ => output.display().to_string(),
        };
        let named = runs.len() <= NAMED && !intact;
        let what = if named && !ids.is_empty() {
            shorts(&ids)
        } else {
            format!("{} and {}", counted(ids.len(), "run"), counted(calibrations.len(), "calibration"))
        };
        let mut remarks = vec![format!("Wrote {what} to {to}.")];
        remarks.extend(left_out.iter().map(|damage| format!("Left out {}: {}.", damage.name, damage.what)));
        Ok(Answer { remarks, ..Answer::default() })
    }
}

/// Runs that are named one by one where they were written.
const NAMED: usize = 8;

/// What is to be exported.
struct Chosen {
    runs: Vec<RunId>,
    calibrations: Vec<CalibrationId>,
    /// What is not, because it is damaged.
    left_out: Vec<Damage>,
}

/// The runs and calibrations that are named, and, where `with_errors` is asked for, what is known of the
/// instrument's errors where the runs were measured.
fn chosen(store: &Store, words: &[String], with_errors: bool) -> Result<Chosen, Trouble> {
    let (mut runs, mut calibrations) = (Vec::new(), Vec::new());
    for word in words {
        match store.resolve(word) {
            Ok(meant) => runs.extend(meant),
            Err(Error::UnknownRun { .. }) if store.find_calibration(word).is_ok_and(|id| id.is_some()) => {
                calibrations.extend(store.find_calibration(word).map_err(trouble)?);
            }
            Err(error) => return Err(trouble(error)),
        }
    }
    let known = if with_errors { store.calibrations().map_err(trouble)? } else { Vec::new() };
    for id in runs.iter().filter(|_| with_errors) {
        let run = store.load(id).map_err(trouble)?;
        let purpose = analyses().calibrated_by(&run);
        let of_it = analysis::of_machine(&run.machine, purpose, &known, |(_, calibration)| calibration);
        calibrations.extend(of_it.map(|(id, _)| *id));
    }
    Ok(Chosen { runs, calibrations, left_out: Vec::new() })
}

/// Every run and every calibration that is as it was kept, samples included.
fn all_intact(store: &Store) -> Result<Chosen, Trouble> {
    let listing = store.list().map_err(trouble)?;
    let calibrations = store.list_calibrations().map_err(trouble)?;
    let mut left_out: Vec<Damage> = [listing.damaged, calibrations.damaged].concat();
    let mut runs = Vec::new();
    for entry in listing.runs {
        match store.load(&entry.id) {
            Ok(_) => runs.push(entry.id),
            Err(Error::Damaged(_, what)) => left_out.push(Damage { name: entry.id.short(), what }),
            Err(error) => return Err(trouble(error)),
        }
    }
    Ok(Chosen { runs, calibrations: calibrations.sound.into_iter().map(|(id, _)| id).collect(), left_out })
}
