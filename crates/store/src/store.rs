//! The store: one file of finished runs, and of calibrations beside them.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use rusqlite::{Connection, OpenFlags, OptionalExtension, Transaction, TransactionBehavior};
use tempfile::TempDir;
use tenbin_model::{Order, Run, order};

use crate::error::{Attempt, Error, PATIENCE, Place};
use crate::filesystem;
use crate::foreign::{self, ReadOnlyStore};
use crate::identity::{CalibrationId, RunId};
use crate::labels::{self, Label};
use crate::packed::{Entry, Packed, PackedCalibration};
use crate::schema;

/// A file of finished runs and calibrations. Several processes of one machine may use it at once.
#[derive(Debug)]
pub struct Store {
    pub(crate) connection: Connection,
    path: PathBuf,
    /// Whether the file's log could not be read: then the newest runs may not be seen.
    log_unread: bool,
    /// Where the file was copied, if it had to be; removed with this.
    _copy: Option<TempDir>,
}

/// What is to be written together.
#[derive(Debug, Default)]
pub(crate) struct Contents {
    pub(crate) runs: Vec<Packed>,
    pub(crate) calibrations: Vec<PackedCalibration>,
    pub(crate) labels: BTreeMap<RunId, Vec<Label>>,
    /// Whether the runs were measured into this very file, and not brought from another one.
    pub(crate) measured_here: bool,
}

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// Runs that were new here, in ascending order of their names.
    pub added: Vec<RunId>,
    /// Runs that were here already, in ascending order.
    pub present: Vec<RunId>,
    /// Calibrations that were new here, in ascending order of their names.
    pub calibrations_added: Vec<CalibrationId>,
    /// Calibrations that were here already, in ascending order.
    pub calibrations_present: Vec<CalibrationId>,
    /// How many labels were new here: a label that two runs bear counts twice.
    pub labels_added: usize,
}

/// The runs of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// Those that can be read, by their start, oldest first.
    pub runs: Vec<Entry>,
    /// Those that cannot.
    pub damaged: Vec<Damage>,
}

/// A run or a calibration that cannot be read; or the labels, or all calibrations, where their table cannot.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
    /// The name that it has in the file, or `labels`, or `calibrations`.
    pub name: String,
    /// What is wrong with it.
    pub what: String,
}

/// How changes reach the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Journal {
    /// A log of its own, in memory that all users of the file share.
    WriteAhead,
    /// The old contents are set aside until the new ones are written.
    Rollback,
}

impl Store {
    /// Opens the store at `path`, creating the file and the folders above it if they are missing. A
    /// store of an older format becomes one of this format, in one step.
    ///
    /// # Errors
    /// What stands there is not a store, is damaged, was made by a newer tenbin, or cannot be read
    /// and written.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let place = Place { tried: Attempt::Open, path };
        let folder = folder_of(path);
        fs::create_dir_all(folder).map_err(|error| Place { path: folder, ..place }.io(error))?;
        Self::open_with(path, true, journal_in(folder))
    }

    /// Opens the store at `path`, which must exist. A store of an older format becomes one of this
    /// format, in one step.
    ///
    /// # Errors
    /// As [`Store::open`], and [`Error::NoSuchFile`].
    pub fn open_existing(path: &Path) -> Result<Self, Error> {
        Self::open_with(path, false, journal_in(folder_of(path)))
    }

    /// Opens the store at `path`, which must exist, to read it: where it cannot be written (it is another
    /// user's, lies on a medium that is read only, or on a disk that is full) it is read as it is.
    ///
    /// # Errors
    /// As [`Store::open_existing`], but for those of writing.
    pub fn open_to_read(path: &Path) -> Result<Self, Error> {
        match Self::open_existing(path) {
            Err(Error::NoPermission(_) | Error::NoSpace(_) | Error::Io(..) | Error::Sqlite(..)) => {}
            other => return other,
        }
        let ReadOnlyStore { connection, log_unread, copy } =
            ReadOnlyStore::open(Place { tried: Attempt::Read, path })?;
        Ok(Self { connection, path: path.into(), log_unread, _copy: copy })
    }

    /// Whether the file has a log that cannot be read: what was written last may then be missing here.
    pub fn is_log_unread(&self) -> bool {
        self.log_unread
    }

    fn open_with(path: &Path, create: bool, journal: Journal) -> Result<Self, Error> {
        let place = Place { tried: Attempt::Open, path };
        let sqlite = |error| place.sqlite(error);
        match foreign::regular(place) {
            Err(Error::NoSuchFile { .. }) if create => {}
            other => other?,
        }
        let mut flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        flags.set(OpenFlags::SQLITE_OPEN_CREATE, create);
        let mut connection = Connection::open_with_flags(path, flags).map_err(sqlite)?;
        connection.busy_timeout(PATIENCE).map_err(sqlite)?;
        connection.pragma_update(None, "foreign_keys", true).map_err(sqlite)?;
        connection.pragma_update(None, "trusted_schema", false).map_err(sqlite)?;
        // After a power failure too, a run that was reported as kept is there.
        connection.pragma_update(None, "synchronous", "FULL").map_err(sqlite)?;
        if journal == Journal::Rollback {
            // Should the file have come with a write-ahead log, this keeps the log's index out of shared
            // memory.
            set(&connection, "locking_mode", "EXCLUSIVE").map_err(sqlite)?;
        }
        schema::establish(&mut connection, place, create)?;
        match journal {
            // Changing over needs the file alone for a moment. Where another process does not leave
            // it, the rollback journal serves as well, and the next process tries again.
            Journal::WriteAhead => match set(&connection, "journal_mode", "WAL") {
                Err(error) if error.sqlite_error_code() == Some(rusqlite::ErrorCode::DatabaseBusy) => {}
                other => other.map_err(sqlite)?,
            },
            Journal::Rollback => {
                set(&connection, "journal_mode", "DELETE").map_err(sqlite)?;
                set(&connection, "locking_mode", "NORMAL").map_err(sqlite)?;
                // The lock is given back at the end of the next read.
                schema::check(&connection, place)?;
            }
        }
        Ok(Self { connection, path: path.into(), log_unread: false, _copy: None })
    }

    /// Where the store lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Keeps a finished run and returns its name. A run that is there already is left as it is.
    ///
    /// When this returns, the run is on disk; before, no reader sees any of it.
    ///
    /// # Errors
    /// The disk is full, the store is locked or damaged, or the run holds a value that JSON cannot
    /// hold ([`Error::Unfaithful`]). The store is then as it was.
    pub fn keep(&mut self, run: &Run) -> Result<RunId, Error> {
        self.keep_as(run, None)
    }

    /// Keeps a finished run as [`Store::keep`] does, and gives it a label in the same transaction.
    ///
    /// # Errors
    /// As [`Store::keep`].
    pub fn keep_as(&mut self, run: &Run, label: Option<&Label>) -> Result<RunId, Error> {
        let tried = Attempt::Keep;
        let packed =
            Packed::from_run(run).map_err(|what| Error::Unfaithful(self.place(tried).task(), what))?;
        let id = packed.id;
        let labels = order::map(label.map(|label| (id, vec![label.clone()])));
        let contents = Contents { runs: vec![packed], labels, measured_here: true, ..Contents::default() };
        self.insert(tried, &contents)?;
        Ok(id)
    }

    /// Writes the runs, calibrations and labels that are not there yet, all or none, and says which those
    /// were.
    pub(crate) fn insert(&mut self, tried: Attempt, contents: &Contents) -> Result<Merge, Error> {
        self.change(tried, |transaction, _| {
            if contents.measured_here || !contents.labels.is_empty() {
                schema::add_beside(transaction)?;
            }
            let mut merge = Merge::default();
            for run in &contents.runs {
                if holds(transaction, &run.id)? {
                    merge.present.push(run.id);
                    continue;
                }
                run.insert(transaction)?;
                merge.added.push(run.id);
                if contents.measured_here {
                    transaction
                        .prepare_cached("INSERT INTO measured (run) VALUES (?1) ON CONFLICT DO NOTHING")?
                        .execute([run.id.to_string()])?;
                }
            }
            for calibration in &contents.calibrations {
                if calibration.insert(transaction)? {
                    merge.calibrations_added.push(calibration.id);
                } else {
                    merge.calibrations_present.push(calibration.id);
                }
            }
            merge.labels_added = labels::insert(transaction, &contents.labels)?;
            Ok(Ok(merge))
        })
    }

    /// Makes a change in one transaction, which is kept where it comes to something.
    pub(crate) fn change<Outcome>(
        &mut self,
        tried: Attempt,
        change: impl FnOnce(&Transaction<'_>, Place<'_>) -> rusqlite::Result<Result<Outcome, Error>>,
    ) -> Result<Outcome, Error> {
        let place = Place { tried, path: &self.path };
        let sqlite = |error| place.sqlite(error);
        // Taking the lock for writing at once lets SQLite wait for others instead of failing later.
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        let outcome = change(&transaction, place).map_err(sqlite)??;
        transaction.commit().map_err(sqlite)?;
        Ok(outcome)
    }

    /// The names of all runs, in ascending order. Reads nothing else, so that it works where a run is
    /// damaged; what cannot be a name is left out ([`Store::list`] has it).
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn ids(&self) -> Result<Vec<RunId>, Error> {
        let names =
            names(&self.connection, "run").map_err(|error| self.place(Attempt::List).sqlite(error))?;
        Ok(names.iter().filter_map(|name| name.parse().ok()).collect())
    }

    /// The runs that can be read, by start of the run, oldest first. Samples are not read.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn runs(&self) -> Result<Vec<Entry>, Error> {
        Ok(self.list()?.runs)
    }

    /// What the store holds, by start of the run, oldest first, and what of it is damaged: that hides nothing
    /// else. Samples are not read, so damage to them is not seen here.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list(&self) -> Result<Listing, Error> {
        let place = self.place(Attempt::List);
        let mut listing = Listing::default();
        for name in names(&self.connection, "run").map_err(|error| place.sqlite(error))? {
            let Ok(id) = name.parse::<RunId>() else {
                let what = "this cannot be the name of a run".into();
                listing.damaged.push(Damage { name, what });
                continue;
            };
            match self.entry(&id).map_err(|error| place.sqlite(error)) {
                Ok(Some(Ok(entry))) => listing.runs.push(entry),
                // Another process has removed it meanwhile.
                Ok(None) => {}
                Ok(Some(Err(what))) | Err(Error::Damaged(_, what)) => {
                    listing.damaged.push(Damage { name, what });
                }
                Err(other) => return Err(other),
            }
        }
        if let Err(Error::Damaged(_, what)) = self.undamaged_labels() {
            listing.damaged.push(Damage { name: "labels".into(), what });
        }
        listing
            .runs
            .order_by(|a, b| (moment(&a.summary.started), a.id).cmp(&(moment(&b.summary.started), b.id)));
        Ok(listing)
    }

    /// The line of a run in the list, if there is the run; where its document is damaged, what is wrong with
    /// it.
    fn entry(&self, id: &RunId) -> rusqlite::Result<Option<Result<Entry, String>>> {
        let row = self
            .connection
            .prepare_cached(
                "SELECT document,
                        (SELECT coalesce(sum(count), 0) FROM chunk WHERE run = key AND field = 0),
                        (SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE run = key)
                 FROM run WHERE id = ?1",
            )?
            .query_row([id.to_string()], |row| {
                Ok((row.get::<_, Vec<u8>>(0)?, row.get::<_, i64>(1)? as u64, row.get::<_, i64>(2)? as u64))
            })
            .optional()?;
        Ok(row.map(|(document, samples, bytes)| {
            Entry::of(*id, &document, samples, document.len() as u64 + bytes)
        }))
    }

    /// The one run that is meant by `spec`, as [`Store::resolve`] reads it.
    ///
    /// # Errors
    /// As [`Store::resolve`]; and [`Error::AmbiguousRun`] where several runs bear the label.
    pub fn find(&self, spec: &str) -> Result<RunId, Error> {
        match self.resolve(spec)?.as_slice() {
            [one] => Ok(*one),
            several => Err(Error::AmbiguousRun(self.place(Attempt::List).lookup(spec), several.to_vec())),
        }
    }

    /// The runs that are meant by `spec`, each once: `latest` is the run that was started last, of those with
    /// a date if there are any; a label means all runs that bear it, oldest first; anything else is the
    /// beginning of one run's name. Several of these may stand in a row, with commas between them. Never
    /// empty.
    ///
    /// # Errors
    /// [`Error::UnknownRun`], and [`Error::AmbiguousRun`] where several names begin so, both with what there
    /// is; or the store cannot be read.
    pub fn resolve(&self, spec: &str) -> Result<Vec<RunId>, Error> {
        let mut runs = Vec::new();
        for word in spec.split(',') {
            for run in self.meant_by(word)? {
                if !runs.contains(&run) {
                    runs.push(run);
                }
            }
        }
        Ok(runs)
    }

    fn meant_by(&self, word: &str) -> Result<Vec<RunId>, Error> {
        let lookup = self.place(Attempt::List).lookup(word);
        if word == "latest" {
            // What another tool wrote may say of no date, and whoever took it in has measured since.
            let is_dated =
                |entry: &&Entry| entry.summary.started.starts_with(|letter: char| letter.is_ascii_digit());
            let runs = self.runs()?;
            let last = runs.iter().rev().find(is_dated).or(runs.last()).map(|entry| vec![entry.id]);
            return last.ok_or(Error::UnknownRun(lookup, Vec::new()));
        }
        if let Ok(label) = word.parse::<Label>() {
            let labels = self.labels()?;
            let bears = |id: &RunId| labels.get(id).is_some_and(|labels| labels.contains(&label));
            // Those whose document is damaged have no start, and come last.
            let mut runs: Vec<RunId> = self.runs()?.iter().map(|entry| entry.id).filter(bears).collect();
            let damaged: Vec<RunId> =
                labels.keys().filter(|id| bears(id) && !runs.contains(id)).copied().collect();
            runs.extend(damaged);
            if !runs.is_empty() {
                return Ok(runs);
            }
        }
        let lower = word.to_ascii_lowercase();
        let mut candidates = self.ids()?;
        // Nothing begins every name, and means none: it is what a variable of a script holds that was never
        // set.
        candidates.retain(|id| !lower.is_empty() && id.to_string().starts_with(&lower));
        match candidates.as_slice() {
            [] => {
                const SHOWN: usize = 8;
                let newest = self.runs()?.iter().rev().take(SHOWN).map(|entry| entry.id).collect();
                Err(Error::UnknownRun(lookup, newest))
            }
            [_] => Ok(candidates),
            _ => Err(Error::AmbiguousRun(lookup, candidates)),
        }
    }

    /// Loads a run and verifies that it is the one that was kept under this name.
    ///
    /// # Errors
    /// There is no such run, or it is damaged, or the store cannot be read.
    pub fn load(&self, id: &RunId) -> Result<Run, Error> {
        let place = self.place(Attempt::Load);
        self.read(id, Attempt::Load)?.verify().map_err(|what| place.damaged_run(id, &what))
    }

    /// The rows of a run that must be there.
    pub(crate) fn read(&self, id: &RunId, tried: Attempt) -> Result<Packed, Error> {
        match Packed::read(&self.connection, id).map_err(|error| self.place(tried).sqlite(error))? {
            Some(packed) => Ok(packed),
            // Not an error of the file: the caller asked for a name that it made up or remembered.
            None => Err(Error::UnknownRun(self.place(tried).lookup(id.short()), self.ids()?)),
        }
    }

    pub(crate) fn place(&self, tried: Attempt) -> Place<'_> {
        Place { tried, path: &self.path }
    }
}

/// What sorts by time: ISO 8601 does as text once the Z is gone, behind which a fraction of a second
/// would sort first.
pub(crate) fn moment(started: &str) -> &str {
    started.trim_end_matches('Z')
}

/// What stands for names in a table, in ascending order. Where the table's index is damaged, the table is
/// read without it.
pub(crate) fn names(connection: &Connection, table: &str) -> rusqlite::Result<Vec<String>> {
    let read = |order: &str| -> rusqlite::Result<Vec<String>> {
        let mut select = connection.prepare(&format!("SELECT id FROM {table} {order}"))?;
        select.query_map([], |row| row.get(0))?.collect()
    };
    let mut names = read("ORDER BY id").or_else(|_| read("NOT INDEXED"))?;
    names.sort_unstable();
    Ok(names)
}

/// The names in a table of a file, `run` or `calibration`, in ascending order.
pub(crate) fn ids<Id: FromStr>(
    connection: &Connection,
    table: &str,
    place: Place<'_>,
) -> Result<Vec<Id>, Error> {
    let sqlite = |error| place.sqlite(error);
    let select = format!("SELECT id FROM {table} ORDER BY id");
    let mut select = connection.prepare_cached(&select).map_err(sqlite)?;
    let names = select.query_map([], |row| row.get::<_, String>(0)).map_err(sqlite)?;
    let id = |name: String| {
        name.parse::<Id>().map_err(|_| place.damaged(format!("'{name}' cannot be the name of a {table}")))
    };
    names.map(|name| id(name.map_err(sqlite)?)).collect()
}

pub(crate) fn holds(connection: &Connection, id: &RunId) -> rusqlite::Result<bool> {
    let row = connection
        .prepare_cached("SELECT 1 FROM run WHERE id = ?1")?
        .query_row([id.to_string()], |_| Ok(()))
        .optional()?;
    Ok(row.is_some())
}

/// A pragma that answers with the value that it took, which may be another.
fn set(connection: &Connection, pragma: &str, value: &str) -> rusqlite::Result<()> {
    connection.pragma_update_and_check(None, pragma, value, |_| Ok(()))
}

fn journal_in(folder: &Path) -> Journal {
    if filesystem::is_shared(folder) { Journal::Rollback } else { Journal::WriteAhead }
}

/// The folder of a file; of a bare name, the current one.
pub(crate) fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

#[cfg(test)]
mod tests;
