//! Runs and calibrations between files: a file of their own out, a merge in.

use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use tempfile::NamedTempFile;
use tenbin_model::order;

use crate::error::{Attempt, Error, Place};
use crate::foreign::{ForeignStore, regular, same_file};
use crate::identity::{CalibrationId, RunId};
use crate::labels;
use crate::packed::{Packed, PackedCalibration};
use crate::schema;
use crate::store::{self, Contents, Merge, Store, folder_of};

/// What to do with a file that stands where an export is to go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Existing {
    /// Leave it alone and fail.
    #[default]
    Refuse,
    /// Replace it, in one step, once the new file is complete.
    Replace,
}

impl Store {
    /// Writes runs, with their labels, and calibrations to a file of their own, a store like this one. Every
    /// one is verified on the way, and written once however often it is named.
    ///
    /// The file appears complete or not at all: it is written beside its place, brought to disk and
    /// then renamed. It has no log beside it and can be read from a medium that is read only.
    ///
    /// # Errors
    /// A run or a calibration is unknown or damaged, the file exists ([`Existing::Refuse`]) or is this store,
    /// or cannot be written.
    pub fn export(
        &self,
        runs: &[RunId],
        calibrations: &[CalibrationId],
        to: &Path,
        existing: Existing,
    ) -> Result<(), Error> {
        let place = Place { tried: Attempt::Export, path: to };
        match regular(place) {
            Err(Error::NoSuchFile { .. }) => {}
            Ok(()) if same_file(self.path(), to) => return Err(Error::IsTheStore(to.into())),
            Ok(()) if existing == Existing::Refuse => return Err(Error::Exists(place.task())),
            other => other?,
        }
        let folder = folder_of(to);
        let beside = tempfile::Builder::new()
            .prefix(".tenbin-")
            .suffix(".part")
            // What the user's umask leaves of it, as for any file that a program writes.
            .permissions(Permissions::from_mode(0o666))
            .tempfile_in(folder)
            .map_err(|error| place.io(error))?;
        self.write(&distinct(runs), &distinct(calibrations), beside.path(), place)?;
        publish(beside, to, existing, place)?;
        // The name is on disk only when its folder is.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| place.io(error))
    }

    /// Writes what [`Store::export`] writes to `out`, where there is no file to be written: to a pipe, say.
    /// It goes by a file in the folder for temporary ones, which is removed.
    ///
    /// # Errors
    /// As [`Store::export`]; and those of `out`, in the inner result.
    pub fn export_to(
        &self,
        runs: &[RunId],
        calibrations: &[CalibrationId],
        out: &mut dyn Write,
    ) -> Result<io::Result<()>, Error> {
        let folder = std::env::temp_dir();
        let place = Place { tried: Attempt::Export, path: &folder };
        let mut file = NamedTempFile::new().map_err(|error| place.io(error))?;
        self.write(&distinct(runs), &distinct(calibrations), file.path(), place)?;
        Ok(io::copy(file.as_file_mut(), out).and_then(|_| out.flush()))
    }

    fn write(
        &self,
        runs: &[RunId],
        calibrations: &[CalibrationId],
        to: &Path,
        place: Place<'_>,
    ) -> Result<(), Error> {
        let sqlite = |error| place.sqlite(error);
        let source = Place { path: self.path(), ..place };
        let mut target = Connection::open(to).map_err(sqlite)?;
        // Nobody sees the file before it is complete, so nothing needs to be undone after a crash.
        target.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(())).map_err(sqlite)?;
        target.pragma_update(None, "synchronous", "OFF").map_err(sqlite)?;
        let transaction = target.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(sqlite)?;
        schema::install(&transaction).map_err(sqlite)?;
        for id in runs {
            let packed = self.read(id, Attempt::Export)?;
            packed.verify().map_err(|what| source.damaged_run(id, &what))?;
            packed.insert(&transaction).map_err(sqlite)?;
        }
        for id in calibrations {
            let packed = self.read_calibration(id, Attempt::Export)?;
            packed.verify().map_err(|what| source.damaged_calibration(id, &what))?;
            packed.insert(&transaction).map_err(sqlite)?;
        }
        let mut labels = self.labels()?;
        labels.retain(|run, _| runs.contains(run));
        if !labels.is_empty() {
            schema::add_beside(&transaction).map_err(sqlite)?;
            labels::insert(&transaction, &labels).map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        target.close().map_err(|(_, error)| sqlite(error))
    }

    /// Merges the runs, labels and calibrations of another file into this store, all or none. Merging a file
    /// twice changes nothing, and neither does the order in which files are merged.
    ///
    /// The other file, which may be of an older format, is not changed and nothing is left beside it.
    /// Everything in it is verified before the first run is written here, and held packed in memory
    /// meanwhile.
    ///
    /// # Errors
    /// The file is missing, no store, damaged, made by a newer tenbin or unreadable; or this store
    /// is locked or its disk full. This store is then as it was.
    pub fn import(&mut self, from: &Path) -> Result<Merge, Error> {
        let place = Place { tried: Attempt::Import, path: from };
        if same_file(self.path(), from) {
            let (runs, calibrations) = (Attempt::List, Attempt::ListCalibrations);
            return Ok(Merge {
                present: store::ids(&self.connection, "run", self.place(runs))?,
                calibrations_present: store::ids(&self.connection, "calibration", self.place(calibrations))?,
                ..Merge::default()
            });
        }
        let foreign = ForeignStore::open(place)?;
        let contents = Contents {
            runs: verified_runs(&foreign, place)?,
            calibrations: verified_calibrations(&foreign, place)?,
            labels: labels::verified(&foreign.connection, place)?,
            measured_here: false,
        };
        // Errors from here on are about this store and not about the file that was read.
        self.insert(Attempt::Keep, &contents)
    }
}

/// All runs of a file, in ascending order of their names.
fn verified_runs(foreign: &ForeignStore, place: Place<'_>) -> Result<Vec<Packed>, Error> {
    let verified = |id| {
        let packed = Packed::read(&foreign.connection, &id)
            .map_err(|error| place.sqlite(error))?
            .ok_or_else(|| place.damaged_run(&id, "it is listed but cannot be found"))?;
        packed.verify().map_err(|what| place.damaged_run(&id, &what))?;
        Ok(packed)
    };
    store::ids(&foreign.connection, "run", place)?.into_iter().map(verified).collect()
}

/// All calibrations of a file, in ascending order of their names.
fn verified_calibrations(foreign: &ForeignStore, place: Place<'_>) -> Result<Vec<PackedCalibration>, Error> {
    if !schema::has_calibrations(foreign.format) {
        return Ok(Vec::new());
    }
    let verified = |id| {
        let packed = PackedCalibration::read(&foreign.connection, &id)
            .map_err(|error| place.sqlite(error))?
            .ok_or_else(|| place.damaged_calibration(&id, "it is listed but cannot be found"))?;
        packed.verify().map_err(|what| place.damaged_calibration(&id, &what))?;
        Ok(packed)
    };
    store::ids(&foreign.connection, "calibration", place)?.into_iter().map(verified).collect()
}

fn distinct<Id: Copy + Ord>(ids: &[Id]) -> Vec<Id> {
    order::set(ids.iter().copied()).into_iter().collect()
}

fn publish(file: NamedTempFile, to: &Path, existing: Existing, place: Place<'_>) -> Result<(), Error> {
    file.as_file().sync_all().map_err(|error| place.io(error))?;
    let renamed = match existing {
        Existing::Refuse => file.persist_noclobber(to),
        Existing::Replace => file.persist(to),
    };
    renamed.map(drop).map_err(|error| place.io(error.error))
}
