//! A run as it lies in a file, a packed document and packed chunks; and a calibration, which is a document.

use rusqlite::{Connection, OptionalExtension, Transaction, params};
use serde::Deserialize;
use tenbin_model::machine::Observed;
use tenbin_model::{Calibration, Cell, Provenance, Run, RunSummary};

use crate::codec::{self, CHUNK, Codec};
use crate::columns::{self, Columns, NAMES};
use crate::document;
use crate::error::Unfaithful;
use crate::identity::{CalibrationId, RunId};

/// The rows of a run.
#[derive(Debug)]
pub(crate) struct Packed {
    pub(crate) id: RunId,
    /// The run without its samples, as JSON under zstd.
    document: Vec<u8>,
    /// In the order of cell, field and part.
    chunks: Vec<Chunk>,
}

/// A row of the table `chunk`.
#[derive(Debug)]
struct Chunk {
    cell: u64,
    field: u64,
    part: u64,
    codec: u64,
    count: u64,
    data: Vec<u8>,
}

impl Packed {
    /// Packs a run. Fails if the run holds a value that JSON cannot hold.
    pub(crate) fn from_run(run: &Run) -> Result<Self, Unfaithful> {
        let document = document::write(&without_samples(run))?;
        let cells = columns_of(run);
        let mut chunks = Vec::new();
        for (cell, columns) in cells.iter().enumerate() {
            for field in (0..NAMES.len()).chain(columns.metrics()) {
                let kinds = columns.kinds(field);
                for (part, (values, kinds)) in
                    columns.values(field).chunks(CHUNK).zip(kinds.chunks(CHUNK)).enumerate()
                {
                    let (codec, data) = codec::pack(values, kinds);
                    chunks.push(Chunk {
                        cell: cell as u64,
                        field: field as u64,
                        part: part as u64,
                        codec: u64::from(codec.tag()),
                        count: values.len() as u64,
                        data,
                    });
                }
            }
        }
        let id = RunId::of(&document, &cells);
        Ok(Self { id, document: document::compress(&document)?, chunks })
    }

    /// Unpacks the run and compares its hash with its name. An error says what is wrong with it.
    pub(crate) fn verify(&self) -> Result<Run, String> {
        let document = document::decompress(&self.document)?;
        let mut run: Run = document::read(&document)?;
        let mut places: Vec<&mut Cell> = run.trials.iter_mut().flat_map(|trial| &mut trial.cells).collect();
        if places.iter().any(|cell| !cell.samples.is_empty()) {
            return Err("its document holds samples".into());
        }
        let mut rest = self.chunks.as_slice();
        let mut cells = Vec::with_capacity(places.len());
        for cell in 0..places.len() as u64 {
            let mut columns = Columns::default();
            let mut fields = 0..NAMES.len();
            while let Some(field) = fields.next().or_else(|| metric(rest, cell)) {
                let end = rest.partition_point(|chunk| (chunk.cell, chunk.field) <= (cell, field as u64));
                let (own, others) = rest.split_at(end);
                rest = others;
                unpack_column(&mut columns, field, own)
                    .map_err(|flaw| format!("column {} of cell {cell}: {flaw}", columns::name(field)))?;
            }
            cells.push(columns);
        }
        if !rest.is_empty() {
            return Err("it has chunks of cells or columns that do not exist".into());
        }
        let hash = RunId::of(&document, &cells);
        if hash != self.id {
            return Err(format!("its contents hash to {}", hash.short()));
        }
        for (cell, columns) in places.iter_mut().zip(cells) {
            cell.samples = columns.into_samples()?;
        }
        Ok(run)
    }

    /// Writes the rows, as part of a transaction.
    pub(crate) fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<()> {
        transaction
            .prepare_cached("INSERT INTO run (id, document) VALUES (?1, ?2)")?
            .execute(params![self.id.to_string(), self.document])?;
        let key = transaction.last_insert_rowid();
        let mut insert = transaction.prepare_cached(
            "INSERT INTO chunk (run, cell, field, part, codec, count, data) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
        )?;
        for chunk in &self.chunks {
            insert.execute(params![
                key,
                chunk.cell as i64,
                chunk.field as i64,
                chunk.part as i64,
                chunk.codec as i64,
                chunk.count as i64,
                chunk.data
            ])?;
        }
        Ok(())
    }

    /// Reads the rows of a run, if there is one of that name. They are not verified.
    pub(crate) fn read(connection: &Connection, id: &RunId) -> rusqlite::Result<Option<Self>> {
        // One transaction, so that both tables are seen as of the same moment.
        let snapshot = connection.unchecked_transaction()?;
        let row = snapshot
            .prepare_cached("SELECT key, document FROM run WHERE id = ?1")?
            .query_row([id.to_string()], |row| Ok((row.get::<_, i64>(0)?, row.get::<_, Vec<u8>>(1)?)))
            .optional()?;
        let Some((key, document)) = row else { return Ok(None) };
        let chunks = snapshot
            .prepare_cached(
                "SELECT cell, field, part, codec, count, data FROM chunk WHERE run = ?1 ORDER BY cell, field, part",
            )?
            .query_map([key], |row| {
                // A negative number in a damaged row becomes one that no check below lets pass.
                let number = |column: usize| row.get::<_, i64>(column).map(|number| number as u64);
                Ok(Chunk {
                    cell: number(0)?,
                    field: number(1)?,
                    part: number(2)?,
                    codec: number(3)?,
                    count: number(4)?,
                    data: row.get(5)?,
                })
            })?
            .collect::<rusqlite::Result<Vec<_>>>()?;
        drop(snapshot);
        Ok(Some(Self { id: *id, document, chunks }))
    }
}

/// The column that the next chunk begins, if it is one of this cell behind those that every cell has.
fn metric(rest: &[Chunk], cell: u64) -> Option<usize> {
    let chunk = rest.first().filter(|chunk| chunk.cell == cell)?;
    usize::try_from(chunk.field).ok().filter(|&field| field >= NAMES.len())
}

fn unpack_column(columns: &mut Columns, field: usize, chunks: &[Chunk]) -> Result<(), codec::bytes::Flaw> {
    let mut total = 0;
    for (part, chunk) in chunks.iter().enumerate() {
        if chunk.field != field as u64 || chunk.part != part as u64 {
            return Err("a part is missing or out of place");
        }
        if chunk.count == 0 || chunk.count > CHUNK as u64 {
            return Err("a chunk has an impossible number of values");
        }
        total += chunk.count;
    }
    // The first column says how many samples there are, the others must agree with it.
    if field > 0 && total != columns.expected_length(field)? {
        return Err("it differs in length from the columns before it");
    }
    let kinds = if field == 0 { vec![0; total as usize] } else { columns.kinds(field) };
    let mut kinds = kinds.as_slice();
    let mut values = Vec::with_capacity(total as usize);
    for chunk in chunks {
        let codec =
            u8::try_from(chunk.codec).ok().and_then(Codec::from_tag).ok_or("a chunk has an unknown codec")?;
        let (own, others) = kinds.split_at(chunk.count as usize);
        kinds = others;
        values.extend(codec::unpack(codec, &chunk.data, own.len(), own)?);
    }
    columns.set(field, values);
    Ok(())
}

/// What a list of runs shows, read from a document alone.
#[derive(Deserialize)]
struct Outline {
    provenance: Provenance,
    machine: MachineOutline,
    trials: Vec<TrialOutline>,
}

#[derive(Deserialize)]
struct MachineOutline {
    architecture: String,
    cpu_model: Observed<String>,
}

#[derive(Deserialize)]
struct TrialOutline {
    descriptor: DescriptorOutline,
}

#[derive(Deserialize)]
struct DescriptorOutline {
    name: String,
}

/// What is known of a run without reading its samples.
#[derive(Clone, Debug, PartialEq)]
pub struct Entry {
    /// Its name.
    pub id: RunId,
    /// What its document says of it.
    pub summary: RunSummary,
}

impl Entry {
    /// Puts an entry together from the row of a run. An error says what is wrong with the document.
    pub(crate) fn of(id: RunId, document: &[u8], samples: u64, bytes: u64) -> Result<Self, String> {
        let outline: Outline = document::read(&document::decompress(document)?)?;
        let summary = RunSummary {
            started: outline.provenance.started,
            version: outline.provenance.version,
            architecture: outline.machine.architecture,
            cpu_model: outline.machine.cpu_model,
            effort: outline.provenance.effort,
            experiments: outline.trials.into_iter().map(|trial| trial.descriptor.name).collect(),
            samples,
            bytes,
        };
        Ok(Self { id, summary })
    }
}

fn columns_of(run: &Run) -> Vec<Columns> {
    run.trials.iter().flat_map(|trial| &trial.cells).map(|cell| Columns::of(&cell.samples)).collect()
}

fn without_samples(run: &Run) -> Run {
    let mut bare = run.clone();
    for cell in bare.trials.iter_mut().flat_map(|trial| &mut trial.cells) {
        cell.samples = Vec::new();
    }
    bare
}

/// The row of a calibration.
#[derive(Debug)]
pub(crate) struct PackedCalibration {
    pub(crate) id: CalibrationId,
    /// The calibration as JSON under zstd.
    document: Vec<u8>,
}

impl PackedCalibration {
    /// Packs a calibration. Fails if it holds a value that JSON cannot hold.
    pub(crate) fn from_calibration(calibration: &Calibration) -> Result<Self, Unfaithful> {
        let document = document::write(calibration)?;
        Ok(Self { id: CalibrationId::of(&document), document: document::compress(&document)? })
    }

    /// Unpacks the calibration and compares its hash with its name. An error says what is wrong with it.
    pub(crate) fn verify(&self) -> Result<Calibration, String> {
        let document = document::decompress(&self.document)?;
        let hash = CalibrationId::of(&document);
        if hash != self.id {
            return Err(format!("its contents hash to {}", hash.short()));
        }
        document::read(&document)
    }

    /// Writes the row, as part of a transaction, unless it is there already. Tells whether it was new.
    pub(crate) fn insert(&self, transaction: &Transaction<'_>) -> rusqlite::Result<bool> {
        let rows = transaction
            .prepare_cached(
                "INSERT INTO calibration (id, document) VALUES (?1, ?2) ON CONFLICT (id) DO NOTHING",
            )?
            .execute(params![self.id.to_string(), self.document])?;
        Ok(rows > 0)
    }

    /// Reads the row of a calibration, if there is one of that name. It is not verified.
    pub(crate) fn read(connection: &Connection, id: &CalibrationId) -> rusqlite::Result<Option<Self>> {
        connection
            .prepare_cached("SELECT document FROM calibration WHERE id = ?1")?
            .query_row([id.to_string()], |row| Ok(Self { id: *id, document: row.get(0)? }))
            .optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specimens::small_run;

    /// A newer tenbin may count what this one does not know: the run is read without it, and keeps its name.
    #[test]
    fn a_metric_of_a_newer_tenbin_is_verified_and_passed_over() {
        const UNKNOWN: usize = 1_000;
        let run = small_run(1);
        let mut packed = Packed::from_run(&run).unwrap();
        let document = document::write(&without_samples(&run)).unwrap();
        let mut cells = columns_of(&run);
        let values: Vec<u64> = (0..cells[0].values(0).len() as u64).collect();
        cells[0].set(UNKNOWN, values.clone());
        let (codec, data) = codec::pack(&values, &cells[0].kinds(UNKNOWN));
        let codec = u64::from(codec.tag());
        let place = packed.chunks.partition_point(|chunk| chunk.cell == 0);
        let count = values.len() as u64;
        packed.chunks.insert(place, Chunk { cell: 0, field: UNKNOWN as u64, part: 0, codec, count, data });
        assert!(packed.verify().unwrap_err().contains("hash"), "a column more is another run");
        packed.id = RunId::of(&document, &cells);
        assert_eq!(packed.verify().unwrap(), run);
        packed.chunks[place].count -= 1;
        let error = packed.verify().unwrap_err();
        assert!(error.contains("of a newer tenbin of cell 0: it differs in length"), "{error}");
    }
}
