//! Taking runs out of a store: those that are named, and the oldest where there are too many.

use rusqlite::{Connection, Transaction};

use crate::error::{Attempt, Error};
use crate::identity::{CalibrationId, RunId};
use crate::labels;
use crate::schema;
use crate::store::{Store, holds};

impl Store {
    /// Removes runs and calibrations, all or none, with the labels of the runs; and gives their room back to
    /// the disk where that can be done.
    ///
    /// # Errors
    /// There is no such run or calibration, or the store cannot be written. It is then as it was.
    pub fn remove(&mut self, runs: &[RunId], calibrations: &[CalibrationId]) -> Result<(), Error> {
        self.change(Attempt::Remove, |transaction, place| {
            for id in runs {
                if !holds(transaction, id)? {
                    return Ok(Err(Error::UnknownRun(place.lookup(id.short()), Vec::new())));
                }
                remove_run(transaction, id)?;
            }
            for id in calibrations {
                if transaction.execute("DELETE FROM calibration WHERE id = ?1", [id.to_string()])? == 0 {
                    return Ok(Err(Error::UnknownCalibration(place.lookup(id.short()))));
                }
            }
            Ok(Ok(()))
        })?;
        self.give_room_back();
        Ok(())
    }

    /// Removes all runs that bear no label but the `newest` ones of them by their start, and returns the
    /// names of those that went. What is damaged stays, since nobody knows when it was measured.
    ///
    /// # Errors
    /// The store cannot be read or written. It is then as it was.
    pub fn remove_all_but(&mut self, newest: usize) -> Result<Vec<RunId>, Error> {
        let order: Vec<RunId> = self.runs()?.iter().rev().map(|entry| entry.id).collect();
        let gone = self.change(Attempt::Remove, |transaction, _| {
            // Under the lock: a label that somebody has given meanwhile counts.
            let labels = labels::of_file(transaction)?;
            let bare = order.iter().filter(|id| !labels.contains_key(id));
            let gone: Vec<RunId> = bare.skip(newest).copied().collect();
            for id in &gone {
                remove_run(transaction, id)?;
            }
            Ok(Ok(gone))
        })?;
        self.give_room_back();
        Ok(gone)
    }

    /// Holds the store to a bound: of the runs that were measured into this very file and bear no label, the
    /// newest stay that take `bytes` together, and the others go; their names are returned. Always stays: the
    /// newest run, what bears a label, and what was imported. The room is used for the next runs.
    ///
    /// # Errors
    /// The store cannot be read or written. It is then as it was.
    pub fn bound(&mut self, bytes: u64) -> Result<Vec<RunId>, Error> {
        let place = self.place(Attempt::Remove);
        // Cheap, and nearly always enough: a file that is smaller than the bound holds no more than that.
        if in_use(&self.connection).map_err(|error| place.sqlite(error))? <= bytes {
            return Ok(Vec::new());
        }
        self.change(Attempt::Remove, |transaction, _| {
            schema::add_beside(transaction)?;
            let mut select = transaction.prepare(
                "SELECT id, length(document) +
                        (SELECT coalesce(sum(length(data)), 0) FROM chunk WHERE run = key)
                 FROM run WHERE id IN (SELECT run FROM measured) AND id NOT IN (SELECT run FROM label)
                 ORDER BY key DESC",
            )?;
            let rows = select.query_map([], |row| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?)))?;
            let (mut total, mut gone) = (0, Vec::new());
            for (place, row) in rows.enumerate() {
                let (name, size) = row?;
                total += size as u64;
                if let (true, Ok(id)) = (place > 0 && total > bytes, name.parse::<RunId>()) {
                    gone.push(id);
                }
            }
            for id in &gone {
                remove_run(transaction, id)?;
            }
            Ok(Ok(gone))
        })
    }

    /// Shrinks the file. Where another process reads it, or the disk has no room for the smaller copy, the
    /// room stays with the file, which uses it for the next runs: no reason to fail.
    fn give_room_back(&self) {
        let _ = self.connection.execute_batch("VACUUM");
    }
}

fn remove_run(transaction: &Transaction<'_>, id: &RunId) -> rusqlite::Result<()> {
    let name = id.to_string();
    transaction.execute("DELETE FROM chunk WHERE run = (SELECT key FROM run WHERE id = ?1)", [&name])?;
    transaction.execute("DELETE FROM run WHERE id = ?1", [&name])?;
    for table in ["label", "measured"] {
        if schema::has_table(transaction, table)? {
            transaction.execute(&format!("DELETE FROM {table} WHERE run = ?1"), [&name])?;
        }
    }
    Ok(())
}

/// Bytes of the file that hold something.
fn in_use(connection: &Connection) -> rusqlite::Result<u64> {
    let number = |pragma: &str| connection.pragma_query_value(None, pragma, |row| row.get::<_, i64>(0));
    let pages = number("page_count")? - number("freelist_count")?;
    Ok((pages * number("page_size")?).max(0) as u64)
}
