//! A cell's samples as columns of whole numbers, and back.

use std::collections::HashMap;

use tenbin_model::{Cpu, Picoseconds, Sample, Share};

use crate::codec::bytes::Flaw;

/// The columns of a cell, in the order in which they are written, read and hashed. A column's
/// number is its place in this list and never changes.
pub(crate) const NAMES: [&str; 13] = [
    "order",
    "block",
    "variant",
    "iterations",
    "elapsed",
    "cpu",
    "user",
    "system",
    "voluntary_switches",
    "involuntary_switches",
    "workers",
    "share_elapsed",
    "share_failures",
];

const BLOCK: usize = 1;
const VARIANT: usize = 2;
const ITERATIONS: usize = 3;
const WORKERS: usize = 10;
/// From here on a column has one value a worker of each sample; before, one a sample.
const SHARE_ELAPSED: usize = 11;
const SHARE_FAILURES: usize = 12;

/// The columns of one cell. While they are read, the later ones are still empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns([Vec<u64>; NAMES.len()]);

impl Columns {
    /// Takes samples apart. Nothing is lost: [`Columns::into_samples`] returns the same.
    pub(crate) fn of(samples: &[Sample]) -> Self {
        let mut columns = Self::default();
        for sample in samples {
            let row = [
                u64::from(sample.order),
                u64::from(sample.block),
                u64::from(sample.variant),
                sample.iterations,
                sample.elapsed.0,
                u64::from(sample.cpu.0),
                sample.user.0,
                sample.system.0,
                u64::from(sample.voluntary_switches),
                u64::from(sample.involuntary_switches),
                sample.shares.len() as u64,
            ];
            for (column, value) in columns.0.iter_mut().zip(row) {
                column.push(value);
            }
            columns.0[SHARE_ELAPSED].extend(sample.shares.iter().map(|share| share.elapsed.0));
            columns.0[SHARE_FAILURES].extend(sample.shares.iter().map(|share| share.failures));
        }
        columns
    }

    /// Puts samples together.
    pub(crate) fn into_samples(self) -> Result<Vec<Sample>, Flaw> {
        for field in 0..NAMES.len() {
            if self.0[field].len() as u64 != self.expected_length(field)? {
                return Err("the columns of a cell differ in length");
            }
        }
        let small = |field: usize, row: usize| {
            u32::try_from(self.0[field][row]).map_err(|_| "a number does not fit into its 32 bits")
        };
        let length = |field: usize, row: usize| Picoseconds(self.0[field][row]);
        let mut shares = self.0[SHARE_ELAPSED]
            .iter()
            .zip(&self.0[SHARE_FAILURES])
            .map(|(&elapsed, &failures)| Share { elapsed: Picoseconds(elapsed), failures });
        (0..self.0[0].len())
            .map(|row| {
                Ok(Sample {
                    order: small(0, row)?,
                    block: small(BLOCK, row)?,
                    variant: small(VARIANT, row)?,
                    iterations: self.0[ITERATIONS][row],
                    elapsed: length(4, row),
                    cpu: Cpu(small(5, row)?),
                    user: length(6, row),
                    system: length(7, row),
                    voluntary_switches: small(8, row)?,
                    involuntary_switches: small(9, row)?,
                    // The sum of the workers was compared with the length of both columns above.
                    shares: shares.by_ref().take(self.0[WORKERS][row] as usize).collect(),
                })
            })
            .collect()
    }

    /// The values of a column.
    pub(crate) fn values(&self, field: usize) -> &[u64] {
        &self.0[field]
    }

    /// Sets a column. The columns before it must have been set.
    pub(crate) fn set(&mut self, field: usize, values: Vec<u64>) {
        self.0[field] = values;
    }

    /// How many values a column must have, from the columns before it.
    pub(crate) fn expected_length(&self, field: usize) -> Result<u64, Flaw> {
        if field < SHARE_ELAPSED {
            return Ok(self.0[0].len() as u64);
        }
        self.0[WORKERS]
            .iter()
            .try_fold(0u64, |sum, &workers| sum.checked_add(workers))
            .ok_or("a cell is said to have more shares than can be counted")
    }

    /// A number for each value of a column, equal where the columns before it say that the values
    /// should be alike. It shapes only how the values are packed. The columns before it must have
    /// been set and have the right lengths.
    pub(crate) fn kinds(&self, field: usize) -> Vec<u32> {
        let mut known = HashMap::new();
        let mut number = |key: (u64, u64, u64)| {
            let next = known.len() as u32;
            *known.entry(key).or_insert(next)
        };
        let rows = 0..self.0[0].len();
        match field {
            0..ITERATIONS => vec![0; rows.len()],
            // Every second block may run twice the iterations.
            ITERATIONS => rows.map(|row| number((self.0[VARIANT][row], self.0[BLOCK][row] & 1, 0))).collect(),
            4..SHARE_ELAPSED => {
                rows.map(|row| number((self.0[VARIANT][row], self.0[ITERATIONS][row], 0))).collect()
            }
            _ => rows
                .flat_map(|row| (0..self.0[WORKERS][row]).map(move |worker| (row, worker)))
                .map(|(row, worker)| number((self.0[VARIANT][row], self.0[ITERATIONS][row], worker)))
                .collect(),
        }
    }
}
