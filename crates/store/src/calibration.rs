//! Calibrations beside the runs: each is one document, for its samples are verdicts.

use rusqlite::Connection;
use tenbin_model::{Calibration, Order};

use crate::error::{Attempt, Error, Place};
use crate::identity::CalibrationId;
use crate::packed::PackedCalibration;
use crate::schema;
use crate::store::{Contents, Damage, Store, moment, names};

/// The calibrations of a store.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct CalibrationListing {
    /// Those that can be read, with their names, by their start, newest first.
    pub sound: Vec<(CalibrationId, Calibration)>,
    /// Those that cannot.
    pub damaged: Vec<Damage>,
}

impl Store {
    /// Keeps a calibration and returns its name. One that is there already is left as it is.
    ///
    /// When this returns, the calibration is on disk; before, no reader sees any of it.
    ///
    /// # Errors
    /// The disk is full, the store is locked or damaged, or the calibration holds a value that JSON
    /// cannot hold ([`Error::Unfaithful`]). The store is then as it was.
    pub fn keep_calibration(&mut self, calibration: &Calibration) -> Result<CalibrationId, Error> {
        let tried = Attempt::KeepCalibration;
        let packed = PackedCalibration::from_calibration(calibration)
            .map_err(|what| Error::Unfaithful(self.place(tried).task(), what))?;
        let id = packed.id;
        self.insert(tried, &Contents { calibrations: vec![packed], ..Contents::default() })?;
        Ok(id)
    }

    /// All calibrations with their names, by their start, newest first. One that is damaged is left out:
    /// [`Store::list_calibrations`] has it.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn calibrations(&self) -> Result<Vec<(CalibrationId, Calibration)>, Error> {
        Ok(self.list_calibrations()?.sound)
    }

    /// The calibrations that can be read, newest first, and those that cannot.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn list_calibrations(&self) -> Result<CalibrationListing, Error> {
        let tried = Attempt::ListCalibrations;
        let (mut sound, mut damaged) = (Vec::new(), Vec::new());
        let names = match lenient(&self.connection, self.place(tried)) {
            Err(Error::Damaged(_, what)) => {
                damaged.push(Damage { name: "calibrations".into(), what });
                Vec::new()
            }
            other => other?,
        };
        for name in names {
            let Ok(id) = name.parse::<CalibrationId>() else {
                damaged.push(Damage { name, what: "this cannot be the name of a calibration".into() });
                continue;
            };
            match self.read_calibration(&id, tried).map(|packed| packed.verify()) {
                Ok(Ok(calibration)) => sound.push((id, calibration)),
                Ok(Err(what)) | Err(Error::Damaged(_, what)) => damaged.push(Damage { name, what }),
                // Another process has removed it meanwhile.
                Err(Error::UnknownCalibration { .. }) => {}
                Err(other) => return Err(other),
            }
        }
        let oldest_first = |(id, calibration): &(CalibrationId, Calibration)| {
            (moment(&calibration.provenance.started).to_owned(), *id)
        };
        sound.order_by_key(oldest_first);
        sound.reverse();
        Ok(CalibrationListing { sound, damaged })
    }

    /// The one calibration whose name begins with `prefix`, if there is any. Reads names alone, so that
    /// it works where a calibration is damaged.
    ///
    /// # Errors
    /// [`Error::AmbiguousCalibration`] with those that there are; or the store cannot be read.
    pub fn find_calibration(&self, prefix: &str) -> Result<Option<CalibrationId>, Error> {
        let lower = prefix.to_ascii_lowercase();
        let names = match lenient(&self.connection, self.place(Attempt::ListCalibrations)) {
            // The runs are to be found all the same; the list says what is wrong.
            Err(Error::Damaged { .. }) => Vec::new(),
            other => other?,
        };
        let begun = names.iter().filter(|name| !lower.is_empty() && name.starts_with(&lower));
        let candidates: Vec<CalibrationId> = begun.filter_map(|name| name.parse().ok()).collect();
        match candidates.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(*one)),
            _ => {
                let lookup = self.place(Attempt::ListCalibrations).lookup(prefix);
                Err(Error::AmbiguousCalibration(lookup, candidates))
            }
        }
    }

    /// Loads a calibration and verifies that it is the one that was kept under this name.
    ///
    /// # Errors
    /// There is no such calibration, or it is damaged, or the store cannot be read.
    pub fn load_calibration(&self, id: &CalibrationId) -> Result<Calibration, Error> {
        let tried = Attempt::LoadCalibration;
        let packed = self.read_calibration(id, tried)?;
        packed.verify().map_err(|what| self.place(tried).damaged_calibration(id, &what))
    }

    /// The row of a calibration that must be there.
    pub(crate) fn read_calibration(
        &self,
        id: &CalibrationId,
        tried: Attempt,
    ) -> Result<PackedCalibration, Error> {
        PackedCalibration::read(&self.connection, id)
            .map_err(|error| self.place(tried).sqlite(error))?
            // Not an error of the file: the caller asked for a name that it made up or remembered.
            .ok_or_else(|| Error::UnknownCalibration(self.place(tried).lookup(id.short())))
    }
}

/// What stands for names of calibrations, in ascending order: none in a file of format 1 that may not be
/// brought up to date.
fn lenient(connection: &Connection, place: Place<'_>) -> Result<Vec<String>, Error> {
    let read = || match schema::has_table(connection, "calibration")? {
        true => names(connection, "calibration"),
        false => Ok(Vec::new()),
    };
    read().map_err(|error| place.sqlite(error))
}
