//! The commands on the store: show, runs, compare, export, import, merge.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use serde_json::json as value;
use tenbin_analysis::{calibration as analysis, report, verdict};
use tenbin_model::{Calibration, Report, Run};
use tenbin_store::{Error, Existing, Store, neighbours};

use super::{calibrate, json};
use crate::arguments::{Form, Format};
use crate::measurement::{cpus, observed};
use crate::output::{Answer, Exit, Trouble, write_whole};
use crate::terminal;

/// Opens the user's store and creates it where there is none.
pub fn open() -> Result<Store, Trouble> {
    Store::open(&path()?).map_err(trouble)
}

/// The store, which must exist: whoever reads has kept something before.
pub fn open_existing() -> Result<Store, Trouble> {
    Store::open_existing(&path()?).map_err(|error| match error {
        Error::NoSuchFile { path, .. } => Trouble::usage(format!(
            "there is no store at {} yet; `tenbin` or `tenbin run` makes one, TENBIN_STORE names another",
            path.display()
        )),
        other => trouble(other),
    })
}

/// `$TENBIN_STORE`, else `tenbin/store.db` under the XDG data folder (XDG base directory
/// specification 0.8: `$XDG_DATA_HOME` if absolute, else `$HOME/.local/share`).
pub(super) fn path() -> Result<PathBuf, Trouble> {
    if let Some(path) = named("TENBIN_STORE") {
        return Ok(path);
    }
    let data = named("XDG_DATA_HOME").filter(|path| path.is_absolute());
    let data = data.or_else(|| named("HOME").map(|home| home.join(".local/share")));
    data.map(|data| data.join("tenbin/store.db")).ok_or_else(|| {
        Trouble::usage("no place for the store: set TENBIN_STORE to a file, or HOME, or use --no-store")
    })
}

/// What a variable of the environment names, if it is set to anything.
fn named(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable).filter(|text| !text.is_empty()).map(PathBuf::from)
}

/// Whether the user named a store.
pub(super) fn is_named() -> bool {
    named("TENBIN_STORE").is_some()
}

/// The store's path as text, for remarks.
pub fn path_shown() -> String {
    path().map_or_else(|_| "the store".into(), |path| path.display().to_string())
}

/// What the store says went wrong, and whose fault it is.
pub fn trouble(error: Error) -> Trouble {
    let exit = match &error {
        // A path that cannot be a file's is the request's fault and not the disk's.
        Error::Io { source, .. }
            if matches!(source.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory) =>
        {
            Exit::Usage
        }
        Error::Io { .. } | Error::Sqlite { .. } | Error::Locked { .. } | Error::NoSpace { .. } => {
            Exit::Internal
        }
        _ => Exit::Usage,
    };
    Trouble { exit, message: error.to_string() }
}

/// A run and its report, computed again from its samples.
fn load(store: &Store, which: &str) -> Result<(Run, Report), Trouble> {
    let id = store.find(which).map_err(trouble)?;
    let run = store.load(&id).map_err(trouble)?;
    let mut report = verdict::report(&run, Some(&id.to_string()));
    report.instrument = calibrate::remark(store, &run.machine);
    Ok((run, report))
}

/// Everything about every experiment of a run.
pub fn detail(run: &Run, report: &Report, width: usize) -> String {
    let trials = run.trials.iter();
    let texts = trials.map(|trial| report::trial(run, report, &trial.descriptor.name, width));
    texts.collect::<Vec<_>>().join("\n")
}

/// The calibrations of this machine, by a word.
const CALIBRATION: &str = "calibration";

pub fn show(which: &str, form: Form) -> Result<Answer, Trouble> {
    let store = open_existing()?;
    if let Some((id, calibration)) = calibration(&store, which)? {
        return Ok(Answer::text(calibrate::text(calibration, Some(id), form)?));
    }
    let (run, report) = load(&store, which)?;
    let text = if form.json {
        json(&report)?
    } else {
        let width = terminal::width();
        detail(&run, &report, width) + &report::instrument(&report, width)
    };
    Ok(Answer::text(text))
}

/// The calibration that is meant by `which`, if one is.
fn calibration(store: &Store, which: &str) -> Result<Option<(String, Calibration)>, Trouble> {
    if which == CALIBRATION {
        let (machine, _) = observed(&cpus(None)?)?;
        let found = calibrate::of_machine(store, &machine)?.map(|(id, found)| (id.to_string(), found));
        return found.map(Some).ok_or_else(|| {
            Trouble::usage("this machine is not calibrated as it is now; `tenbin calibrate` does it")
        });
    }
    let Some(id) = store.find_calibration(which).map_err(trouble)? else { return Ok(None) };
    match store.find(which) {
        Err(Error::UnknownRun { .. }) => {}
        Err(other) => return Err(trouble(other)),
        Ok(run) => {
            return Err(Trouble::usage(format!(
                "`{which}` begins the name of run {} and of calibration {}: give more digits",
                run.short(),
                id.short()
            )));
        }
    }
    Ok(Some((id.to_string(), store.load_calibration(&id).map_err(trouble)?)))
}

pub fn runs(form: Form) -> Result<Answer, Trouble> {
    let store = open_existing()?;
    let entries = store.runs().map_err(trouble)?;
    if form.json {
        let rows: Vec<_> = entries
            .iter()
            .map(|entry| {
                value!({
                    "id": entry.id.to_string(), "started": entry.started, "version": entry.version,
                    "architecture": entry.architecture, "cpu_model": entry.cpu_model,
                    "effort": entry.effort, "experiments": entry.experiments,
                    "samples": entry.samples, "bytes": entry.bytes,
                })
            })
            .collect();
        return Ok(Answer::text(json(&rows)?));
    }
    let calibrations = store.calibrations().map_err(trouble)?;
    let calibrations = calibrations.iter().map(|(id, calibration)| {
        let started = calibration.provenance.started.get(..19).unwrap_or(&calibration.provenance.started);
        let pairs: usize = calibration.series.iter().map(|series| series.pairs.len()).sum();
        let cpu = &calibration.machine.cpu_model;
        format!("{}  {started}  {pairs:>8} pairs   {cpu}  calibration\n", id.short())
    });
    let lines = entries.iter().map(|entry| {
        let started = entry.started.get(..19).unwrap_or(&entry.started);
        format!(
            "{}  {started}  {:>8} epochs  {}  {}\n",
            entry.id.short(),
            entry.samples,
            entry.cpu_model,
            entry.experiments.join(" ")
        )
    });
    Ok(Answer::text(lines.chain(calibrations).collect()))
}

pub fn compare(first: &str, second: &str, form: Form) -> Result<Answer, Trouble> {
    let store = open_existing()?;
    let across = verdict::across(&load(&store, first)?.0, &load(&store, second)?.0);
    let text = if form.json { json(&across)? } else { report::compared(&across, terminal::width()) };
    Ok(Answer::text(text))
}

pub fn export(runs: &[String], output: &Path, format: Format, force: bool) -> Result<Answer, Trouble> {
    // What is half written beside its place would stay there.
    let _whole = tenbin_metal::signals::Held::all().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let store = open_existing()?;
    let ids = runs.iter().map(|run| store.find(run).map_err(trouble)).collect::<Result<Vec<_>, _>>()?;
    if format == Format::Store {
        let existing = if force { Existing::Replace } else { Existing::Refuse };
        // Whoever reads the runs elsewhere is told of the instrument's errors where they were measured.
        let mut calibrations = Vec::new();
        let known = store.calibrations().map_err(trouble)?;
        for id in &ids {
            let machine = store.load(id).map_err(trouble)?.machine;
            let found = analysis::of_machine(&machine, &known, |(_, calibration)| calibration);
            calibrations.extend(found.map(|(id, _)| *id));
        }
        store.export(&ids, &calibrations, output, existing).map_err(trouble)?;
    } else {
        let [id] = ids[..] else {
            return Err(Trouble::usage("this format holds one run: name one, or use --format store"));
        };
        let run = store.load(&id).map_err(trouble)?;
        if output.exists() && !force {
            return Err(Trouble::usage(format!("{} exists; --force replaces it", output.display())));
        }
        write_whole(output, |out| match format {
            Format::Csv => neighbours::csv(&run, out),
            Format::Go => neighbours::go_benchmark(&run, out),
            Format::GoogleBenchmark => neighbours::google_benchmark(&run, out),
            Format::Json | Format::Store => neighbours::json(&run, out),
        })?;
    }
    let names: Vec<String> = ids.iter().map(tenbin_store::RunId::short).collect();
    let mut answer = Answer::text(String::new());
    answer.remark = Some(format!("Wrote {} to {}.", names.join(", "), output.display()));
    Ok(answer)
}

pub fn import(files: &[PathBuf]) -> Result<Answer, Trouble> {
    let mut store = open()?;
    let mut lines = String::new();
    for file in files {
        let merge = store.import(file).map_err(trouble)?;
        let (added, present) = (merge.added.len(), merge.present.len());
        lines.push_str(&format!("{}: {added} new, {present} already there", file.display()));
        let (added, present) = (merge.calibrations_added.len(), merge.calibrations_present.len());
        if added + present > 0 {
            lines.push_str(&format!("; calibrations: {added} new, {present} already there"));
        }
        lines.push('\n');
    }
    Ok(Answer::text(lines))
}
