//! Runs between files: a file of their own out, a merge in.

use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use rusqlite::{Connection, TransactionBehavior};
use tempfile::NamedTempFile;

use crate::error::{Attempt, Error, Place};
use crate::foreign::{ForeignStore, regular, same_file};
use crate::identity::RunId;
use crate::packed::Packed;
use crate::schema;
use crate::store::{self, Store, folder_of};

/// What an import came to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merge {
    /// Runs that were new here, in ascending order of their names.
    pub added: Vec<RunId>,
    /// Runs that were here already.
    pub present: Vec<RunId>,
}

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
    /// Writes runs to a file of their own, a store like this one. Every run is verified on the way.
    ///
    /// The file appears complete or not at all: it is written beside its place, brought to disk and
    /// then renamed. It has no log beside it and can be read from a medium that is read only.
    ///
    /// # Errors
    /// A run is unknown or damaged, the file exists ([`Existing::Refuse`]) or is this store, or
    /// cannot be written.
    pub fn export(&self, ids: &[RunId], to: &Path, existing: Existing) -> Result<(), Error> {
        let place = Place { tried: Attempt::Export, path: to };
        match regular(place) {
            Err(Error::NoSuchFile { .. }) => {}
            Ok(()) if existing == Existing::Refuse || same_file(self.path(), to) => {
                return Err(Error::Exists { path: to.into() });
            }
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
        let mut ids = ids.to_vec();
        ids.sort_unstable();
        ids.dedup();
        self.write_runs(&ids, beside.path(), place)?;
        publish(beside, to, existing, place)?;
        // The name is on disk only when its folder is.
        File::open(folder).and_then(|folder| folder.sync_all()).map_err(|error| place.io(error))
    }

    fn write_runs(&self, ids: &[RunId], to: &Path, place: Place<'_>) -> Result<(), Error> {
        let sqlite = |error| place.sqlite(error);
        let mut target = Connection::open(to).map_err(sqlite)?;
        // Nobody sees the file before it is complete, so nothing needs to be undone after a crash.
        target.pragma_update_and_check(None, "journal_mode", "MEMORY", |_| Ok(())).map_err(sqlite)?;
        target.pragma_update(None, "synchronous", "OFF").map_err(sqlite)?;
        let transaction = target.transaction_with_behavior(TransactionBehavior::Exclusive).map_err(sqlite)?;
        schema::install(&transaction).map_err(sqlite)?;
        for id in ids {
            let packed = self.read(id, Attempt::Export)?;
            let source = Place { path: self.path(), ..place };
            packed.verify().map_err(|what| source.damaged_run(id, &what))?;
            packed.insert(&transaction).map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)?;
        target.close().map_err(|(_, error)| sqlite(error))
    }

    /// Merges the runs of another file into this store, all or none. Merging a file twice changes
    /// nothing, and neither does the order in which files are merged.
    ///
    /// The other file is not changed and nothing is left beside it. Every run in it is verified
    /// before the first is written here; the packed runs are held in memory meanwhile.
    ///
    /// # Errors
    /// The file is missing, no store, damaged, made by a newer tenbin or unreadable; or this store
    /// is locked or its disk full. This store is then as it was.
    pub fn import(&mut self, from: &Path) -> Result<Merge, Error> {
        let place = Place { tried: Attempt::Import, path: from };
        if same_file(self.path(), from) {
            return Ok(Merge { added: Vec::new(), present: self.ids()? });
        }
        let foreign = ForeignStore::open(place)?;
        let mut present = store::ids(&foreign.connection, place)?;
        let mut verified = Vec::new();
        for id in &present {
            let packed = Packed::read(&foreign.connection, id)
                .map_err(|error| place.sqlite(error))?
                .ok_or_else(|| place.damaged_run(id, "it is listed but cannot be found"))?;
            packed.verify().map_err(|what| place.damaged_run(id, &what))?;
            verified.push(packed);
        }
        // Errors from here on are about this store and not about the file that was read.
        let added = self.insert(Attempt::Keep, &verified)?;
        present.retain(|id| added.binary_search(id).is_err());
        Ok(Merge { added, present })
    }
}

/// Gives a complete file its name.
fn publish(file: NamedTempFile, to: &Path, existing: Existing, place: Place<'_>) -> Result<(), Error> {
    file.as_file().sync_all().map_err(|error| place.io(error))?;
    let renamed = match existing {
        Existing::Refuse => file.persist_noclobber(to),
        Existing::Replace => file.persist(to),
    };
    renamed.map(drop).map_err(|error| place.io(error.error))
}
