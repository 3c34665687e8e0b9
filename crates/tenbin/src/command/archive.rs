//! The store, and the commands that take runs out of it and into it: show, export, import, merge.

use std::io::{self, ErrorKind, IsTerminal};
use std::path::{Path, PathBuf};

use tenbin_analysis::{Reported, calibration as analysis, report};
use tenbin_lab::analyses;
use tenbin_model::words::{comma, counted};
use tenbin_model::{Calibration, Run};
use tenbin_store::{
    Attempt, CalibrationId, Damage, Error, Existing, Label, Merge, RunId, Store, neighbours, same_file,
};

use super::{calibrate, json};
use crate::arguments::{Export, Form, Format};
use crate::measurement::{cpus, observed};
use crate::output::{Answer, Destination, Exit, Trouble, say, write_whole};
use crate::terminal;

/// Opens the user's store and creates it where there is none.
pub fn open() -> Result<Store, Trouble> {
    limit()?;
    Store::open(&path()?).map_err(trouble)
}

/// The store, to read it; it must exist: whoever reads has kept something before.
pub fn open_existing() -> Result<Store, Trouble> {
    let store = Store::open_to_read(&path()?).map_err(absent)?;
    if store.is_log_unread() {
        say(&format!(
            "The log beside {} cannot be read: runs that were kept last may be missing here.",
            store.path().display()
        ));
    }
    Ok(store)
}

/// The store, to change what is in it; it must exist.
///
/// # Errors
/// As [`open_existing`], and those of writing.
pub fn open_to_change() -> Result<Store, Trouble> {
    Store::open_existing(&path()?).map_err(absent)
}

fn absent(error: Error) -> Trouble {
    match error {
        Error::NoSuchFile { path, .. } => Trouble::usage(format!(
            "there is no store at {} yet; `tenbin` or `tenbin run` makes one, TENBIN_STORE names another",
            path.display()
        )),
        other => trouble(other),
    }
}

/// What the runs may take together that were measured into the store and bear no label, if nobody says
/// otherwise.
const LIMIT: u64 = 1 << 30;

/// `$TENBIN_STORE_LIMIT`, in MiB, else [`LIMIT`]; in bytes.
pub(super) fn limit() -> Result<u64, Trouble> {
    let Some(text) = std::env::var_os("TENBIN_STORE_LIMIT").filter(|text| !text.is_empty()) else {
        return Ok(LIMIT);
    };
    let mib = text.to_str().and_then(|text| text.parse::<u64>().ok());
    mib.and_then(|mib| mib.checked_mul(1 << 20)).ok_or_else(|| {
        Trouble::usage(format!(
            "TENBIN_STORE_LIMIT={}: it is what unlabelled runs may take in the store, in MiB, like 1024",
            text.display()
        ))
    })
}

/// Keeps a run, and holds the store to its limit; what was removed for that is said.
pub fn keep(store: &mut Store, run: &Run, label: Option<&Label>) -> Result<RunId, Error> {
    let id = store.keep_as(run, label)?;
    // The run is kept. That nothing could be removed is no reason to say otherwise: the next one will try
    // again.
    let gone = limit().map_or_else(|_| Vec::new(), |bytes| store.bound(bytes).unwrap_or_default());
    if !gone.is_empty() {
        say(&format!(
            "Removed the oldest runs without a label, which took more room than {} may give them: {}. `tenbin runs --label \
             NAME RUN` keeps a run for good.",
            path_shown(),
            shorts(&gone)
        ));
    }
    Ok(id)
}

/// The names of runs, as far as a table shows them.
pub fn shorts(ids: &[RunId]) -> String {
    comma(ids.iter().map(RunId::short))
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
        // Which file is imported, the user says. What became of the own store is no fault of the request.
        Error::Damaged { tried: Attempt::Import, .. } => Exit::Usage,
        Error::Io { .. }
        | Error::Sqlite { .. }
        | Error::Locked { .. }
        | Error::NoSpace { .. }
        | Error::Damaged { .. }
        | Error::Unfaithful { .. } => Exit::Internal,
        _ => Exit::Usage,
    };
    Trouble { exit, message: error.to_string() }
}

/// The runs that are meant by `which`: the beginning of an id, `latest`, a label, or several of them with
/// commas between.
///
/// # Errors
/// There are none, or a calibration is meant.
pub fn resolve(store: &Store, which: &str) -> Result<Vec<RunId>, Trouble> {
    store.resolve(which).map_err(|error| no_run(store, error))
}

/// The one run that is meant by `which`.
///
/// # Errors
/// As [`resolve`], and where several are meant.
pub fn find(store: &Store, which: &str) -> Result<RunId, Trouble> {
    store.find(which).map_err(|error| no_run(store, error))
}

fn no_run(store: &Store, error: Error) -> Trouble {
    if let Error::UnknownRun { wanted, .. } = &error
        && let Ok(Some(id)) = store.find_calibration(wanted)
    {
        return Trouble::usage(format!(
            "`{wanted}` is calibration {}, and no run; `tenbin show {wanted}` shows it",
            id.short()
        ));
    }
    trouble(error)
}

/// A run and its report, computed again from its samples.
fn load(store: &Store, which: &str) -> Result<Reported, Trouble> {
    let id = find(store, which)?;
    let run = store.load(&id).map_err(trouble)?;
    let mut reported = analyses().report(&run, Some(&id.to_string()));
    reported.report.instrument = calibrate::remark(store, &run.machine);
    Ok(reported)
}

/// Everything about every experiment of a run.
pub fn detail(reported: &Reported, width: usize) -> String {
    let texts: Vec<String> = reported.pages.iter().map(|page| page.text(width)).collect();
    texts.join("\n")
}

/// The calibrations of this machine, by a word.
const CALIBRATION: &str = "calibration";

pub fn show(which: &str, form: Form) -> Result<Answer, Trouble> {
    if which == CALIBRATION {
        return show_calibration(form);
    }
    let store = open_existing()?;
    if let Some((id, calibration)) = calibration(&store, which)? {
        return Ok(Answer::text(calibrate::text(calibration, Some(id), form)?));
    }
    let reported = load(&store, which)?;
    let text = if form.json {
        json(&reported.report)?
    } else {
        let width = terminal::width();
        detail(&reported, width) + &report::instrument(&reported.report).text(width)
    };
    Ok(Answer::text(text))
}

/// The calibration of this machine that knows most. That there is none is what is missing here, and no usage
/// error.
fn show_calibration(form: Form) -> Result<Answer, Trouble> {
    let missing = || Trouble {
        exit: Exit::Missing,
        message: "this machine is not calibrated as it is now; `tenbin calibrate` does it, in five minutes"
            .into(),
    };
    if !path()?.exists() {
        return Err(missing());
    }
    let store = open_existing()?;
    let (machine, _) = observed(&cpus(None)?)?;
    let all = store.calibrations().map_err(trouble)?;
    let newest = all.iter().find(|(_, known)| analysis::holds_for(known, &machine)).map(|(id, _)| *id);
    let (id, calibration) = analysis::of_machine(&machine, all, |(_, known)| known).ok_or_else(missing)?;
    let mut answer = Answer::text(calibrate::text(calibration, Some(id.to_string()), form)?);
    answer.remark = newest.filter(|newest| *newest != id).map(|newest| {
        format!(
            "Calibration {} knows most of this machine and stands beside its answers; the newest, {}, knows less: `tenbin show {}`.",
            id.short(),
            newest.short(),
            newest.short()
        )
    });
    Ok(answer)
}

/// The calibration that is meant by `which`, if one is.
fn calibration(store: &Store, which: &str) -> Result<Option<(String, Calibration)>, Trouble> {
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

/// Writes runs to a file of their own.
pub fn export(arguments: &Export) -> Result<Answer, Trouble> {
    // What is half written beside its place would stay there.
    let _whole = tenbin_metal::signals::Held::all().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let Export { runs, intact, output, format, force } = arguments;
    let store = open_existing()?;
    let Chosen { runs: ids, calibrations, left_out } =
        if *intact { all_intact(&store)? } else { chosen(&store, runs, *format == Format::Store)? };
    let destination = Destination::of(output)?;
    if let Destination::File(path) = &destination
        && same_file(path, store.path())
    {
        return Err(trouble(Error::IsTheStore { path: output.clone() }));
    }
    if let Destination::File(path) = &destination
        && path.exists()
        && !force
    {
        return Err(Trouble::usage(format!(
            "{} exists and was left alone; --force replaces it, another name leaves it alone",
            output.display()
        )));
    }
    if *format == Format::Store {
        match &destination {
            Destination::File(path) => {
                let existing = if *force { Existing::Replace } else { Existing::Refuse };
                store.export(&ids, &calibrations, path, existing).map_err(trouble)?;
            }
            Destination::StandardOutput if io::stdout().is_terminal() => {
                return Err(Trouble::usage("a store is no text: name a file with -o, or redirect it"));
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
        write_whole(output, |mut out| match format {
            Format::Csv => neighbours::csv(&run, &mut out),
            Format::Go => neighbours::go_benchmark(&run, &mut out),
            Format::GoogleBenchmark => neighbours::google_benchmark(&run, &mut out),
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
    let mut remark = format!("Wrote {what} to {to}.");
    for damage in left_out {
        remark.push_str(&format!("\nLeft out {}: {}.", damage.name, damage.what));
    }
    Ok(Answer { remark: Some(remark), ..Answer::text(String::new()) })
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
        let machine = store.load(id).map_err(trouble)?.machine;
        let of_it = analysis::of_machine(&machine, &known, |(_, calibration)| calibration);
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
            Err(Error::Damaged { what, .. }) => left_out.push(Damage { name: entry.id.short(), what }),
            Err(error) => return Err(trouble(error)),
        }
    }
    Ok(Chosen { runs, calibrations: calibrations.sound.into_iter().map(|(id, _)| id).collect(), left_out })
}

/// Takes in what is in the files: all or nothing of each. Of several files one that cannot be taken in does
/// not keep the others out, and what was taken in is said before it is named.
pub fn import(files: &[PathBuf]) -> Result<Answer, Trouble> {
    let mut store = open()?;
    let mut answer = Answer::text(String::new());
    let mut failures = Vec::new();
    for (place, file) in files.iter().enumerate() {
        match store.import(file) {
            Ok(merge) => answer.text.push_str(&imported(file, &merge)),
            Err(error) => {
                let trouble = trouble(error);
                failures.push(trouble.to_string());
                answer.exit = trouble.exit;
                // It is not the file's fault: the next one would meet the same.
                if trouble.exit == Exit::Internal {
                    let rest = files[place + 1..].iter().map(|file| file.display().to_string());
                    let rest: Vec<String> = rest.collect();
                    if !rest.is_empty() {
                        failures.push(format!("tenbin: not tried: {}", comma(&rest)));
                    }
                    break;
                }
            }
        }
    }
    answer.remark = (!failures.is_empty()).then(|| failures.join("\n"));
    Ok(answer)
}

fn imported(file: &Path, merge: &Merge) -> String {
    let (added, present) = (merge.added.len(), merge.present.len());
    let mut line = format!("{}: {added} new, {present} already there", file.display());
    let (added, present) = (merge.calibrations_added.len(), merge.calibrations_present.len());
    if added + present > 0 {
        line.push_str(&format!("; calibrations: {added} new, {present} already there"));
    }
    if merge.labels_added > 0 {
        line.push_str(&format!("; labels: {} new", merge.labels_added));
    }
    line + "\n"
}
