//! Labels are given to runs of a store and taken from them.

use std::collections::BTreeMap;

use rusqlite::Connection;

use crate::error::{Attempt, Error};
use crate::identity::RunId;
use crate::labels::{self, Label};
use crate::schema;
use crate::store::{Store, holds};

impl Store {
    /// Gives every one of the runs a label, or none of them. One that bears it already keeps it.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be written. It is then as it was.
    pub fn label(&mut self, label: &Label, runs: &[RunId]) -> Result<(), Error> {
        self.change_labels(runs, |connection, run| {
            labels::insert(connection, &BTreeMap::from([(*run, vec![label.clone()])]))
        })
    }

    /// Takes a label from every one of the runs. One that does not bear it stays as it is.
    ///
    /// # Errors
    /// As [`Store::label`].
    pub fn unlabel(&mut self, label: &Label, runs: &[RunId]) -> Result<(), Error> {
        self.change_labels(runs, |connection, run| {
            connection
                .prepare_cached("DELETE FROM label WHERE name = ?1 AND run = ?2")?
                .execute([label.to_string(), run.to_string()])
        })
    }

    fn change_labels(
        &mut self,
        runs: &[RunId],
        change: impl Fn(&Connection, &RunId) -> rusqlite::Result<usize>,
    ) -> Result<(), Error> {
        self.change(Attempt::Label, |transaction, place| {
            schema::add_beside(transaction)?;
            for run in runs {
                if !holds(transaction, run)? {
                    return Ok(Err(Error::UnknownRun(place.lookup(run.short()), Vec::new())));
                }
                change(transaction, run)?;
            }
            Ok(Ok(()))
        })
    }

    /// The labels of every run that has any, in ascending order. What cannot be a label is left out; where
    /// the table of labels is damaged there are none, which [`Store::list`] says.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn labels(&self) -> Result<BTreeMap<RunId, Vec<Label>>, Error> {
        match self.undamaged_labels() {
            Err(Error::Damaged { .. }) => Ok(BTreeMap::new()),
            other => other,
        }
    }

    /// As [`Store::labels`], but damage is an error.
    pub(crate) fn undamaged_labels(&self) -> Result<BTreeMap<RunId, Vec<Label>>, Error> {
        labels::of_file(&self.connection).map_err(|error| self.place(Attempt::List).sqlite(error))
    }
}
