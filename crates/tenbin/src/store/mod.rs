//! The user's store: where it is, how it is opened, which run a word means, whose fault its errors are.

mod keeper;

use std::io::ErrorKind;
use std::path::PathBuf;

pub use keeper::Keeper;
use tenbin_lab::survey::names;
use tenbin_model::Run;
use tenbin_model::words::comma;
use tenbin_store::{Attempt, Error, Label, Lookup, RunId, Store, Task};

use crate::output::{Exit, Trouble, say};
use crate::spelling::near;

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
        Error::NoSuchFile(Task { path, .. }) => Trouble::usage(format!(
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
fn limit() -> Result<u64, Trouble> {
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
pub fn path() -> Result<PathBuf, Trouble> {
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

/// The store's path as text, for remarks.
pub fn path_shown() -> String {
    path().map_or_else(|_| "the store".into(), |path| path.display().to_string())
}

/// What the store says went wrong, and whose fault it is.
pub fn trouble(error: Error) -> Trouble {
    let exit = match &error {
        // A path that cannot be a file's is the request's fault and not the disk's.
        Error::Io(_, source)
            if matches!(source.kind(), ErrorKind::AlreadyExists | ErrorKind::NotADirectory) =>
        {
            Exit::Usage
        }
        // Which file is imported, the user says. What became of the own store is no fault of the request.
        Error::Damaged(Task { tried: Attempt::Import, .. }, _) => Exit::Usage,
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
    let Error::UnknownRun(Lookup { wanted, .. }, _) = &error else { return trouble(error) };
    if let Ok(Some(id)) = store.find_calibration(wanted) {
        return Trouble::usage(format!(
            "`{wanted}` is calibration {}, not a run; `tenbin show {wanted}` shows it",
            id.short()
        ));
    }
    let meant = near(wanted, &names()).into_iter().next();
    let mut trouble = trouble(error);
    if let Some(meant) = meant {
        trouble.message.push_str(&format!("; if the question `{meant}` was meant: `tenbin show {meant}`"));
    }
    trouble
}
