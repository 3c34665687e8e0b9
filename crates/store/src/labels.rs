//! Labels: names that users give to runs, beside what the runs say of themselves.
//!
//! A label is no part of a run and of its name. Several runs may bear one label, and a run several labels.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rusqlite::{Connection, TransactionBehavior};

use crate::error::{Attempt, Error, Place};
use crate::identity::RunId;
use crate::schema;
use crate::store::Store;

/// A name that a user gave to runs.
///
/// One to 64 letters, digits, `.`, `_`, `-` and `+`, of which the first is a letter or a digit, and which are
/// not all hexadecimal digits: those could begin the name of a run. Not `latest` or `calibration`, which mean
/// something.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Label(String);

/// The text cannot be a label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a label is 1 to 64 letters, digits and any of . _ - +, begins with a letter or digit, is not all \
     hexadecimal digits (as the name of a run is), and neither `latest` nor `calibration`"
)]
pub struct NotALabel;

/// Longest label, in characters.
const LONGEST: usize = 64;

/// Words that mean something else where a run is named.
const TAKEN: [&str; 2] = ["latest", "calibration"];

impl FromStr for Label {
    type Err = NotALabel;

    fn from_str(text: &str) -> Result<Self, NotALabel> {
        let allowed = |character: char| character.is_alphanumeric() || "._-+".contains(character);
        let sound = text.starts_with(char::is_alphanumeric)
            && text.chars().all(allowed)
            && text.chars().count() <= LONGEST
            && !text.chars().all(|character| character.is_ascii_hexdigit())
            && !TAKEN.contains(&text);
        if sound { Ok(Self(text.to_owned())) } else { Err(NotALabel) }
    }
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Store {
    /// Gives every one of the runs a label, or none of them. One that bears it already keeps it.
    ///
    /// # Errors
    /// There is no such run, or the store cannot be written. It is then as it was.
    pub fn label(&mut self, label: &Label, runs: &[RunId]) -> Result<(), Error> {
        self.change_labels(runs, |connection, run| {
            insert(connection, &BTreeMap::from([(*run, vec![label.clone()])]))
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
        let path = self.path().to_owned();
        let place = Place { tried: Attempt::Label, path: &path };
        let sqlite = |error| place.sqlite(error);
        let transaction =
            self.connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(sqlite)?;
        schema::add_beside(&transaction).map_err(sqlite)?;
        for run in runs {
            if !crate::store::holds(&transaction, run).map_err(sqlite)? {
                return Err(Error::UnknownRun(place.lookup(run.short()), Vec::new()));
            }
            change(&transaction, run).map_err(sqlite)?;
        }
        transaction.commit().map_err(sqlite)
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
        of_file(&self.connection).map_err(|error| self.place(Attempt::List).sqlite(error))
    }
}

/// The labels of a file, by run; what cannot be a label is left out.
pub(crate) fn of_file(connection: &Connection) -> rusqlite::Result<BTreeMap<RunId, Vec<Label>>> {
    let mut labels: BTreeMap<RunId, Vec<Label>> = BTreeMap::new();
    for (name, run) in rows(connection)? {
        if let (Ok(label), Ok(run)) = (name.parse(), run.parse()) {
            labels.entry(run).or_default().push(label);
        }
    }
    Ok(labels)
}

/// The labels of a file from elsewhere, by run: what cannot be a label is damage, since tenbin did not write
/// it.
pub(crate) fn verified(
    connection: &Connection,
    place: Place<'_>,
) -> Result<BTreeMap<RunId, Vec<Label>>, Error> {
    let rows = rows(connection).map_err(|error| place.sqlite(error))?;
    if let Some((name, _)) = rows.iter().find(|(name, _)| name.parse::<Label>().is_err()) {
        return Err(place.damaged(format!("{name:?} cannot be a label")));
    }
    of_file(connection).map_err(|error| place.sqlite(error))
}

/// Labels and the names of the runs that bear them, in ascending order of the labels. Of runs that are not
/// there, none.
fn rows(connection: &Connection) -> rusqlite::Result<Vec<(String, String)>> {
    if !schema::has_table(connection, "label")? {
        return Ok(Vec::new());
    }
    connection
        .prepare_cached("SELECT name, run FROM label WHERE run IN (SELECT id FROM run) ORDER BY name")?
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?
        .collect()
}

/// Writes the labels of runs that are there, as part of a transaction, and says how many were new. The table
/// must be there.
pub(crate) fn insert(
    connection: &Connection,
    labels: &BTreeMap<RunId, Vec<Label>>,
) -> rusqlite::Result<usize> {
    let mut added = 0;
    for (run, labels) in labels {
        for label in labels {
            added += connection
                .prepare_cached("INSERT INTO label (name, run) VALUES (?1, ?2) ON CONFLICT DO NOTHING")?
                .execute([label.to_string(), run.to_string()])?;
        }
    }
    Ok(added)
}
