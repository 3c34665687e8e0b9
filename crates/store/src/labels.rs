//! Labels: names that users give to runs, beside what the runs say of themselves.
//!
//! A label is no part of a run and of its name. Several runs may bear one label, and a run several labels.

use std::collections::BTreeMap;
use std::fmt;
use std::str::FromStr;

use rusqlite::Connection;

use crate::error::{Error, Place};
use crate::identity::RunId;
use crate::schema;

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
