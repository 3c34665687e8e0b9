//! A cell's samples as columns of whole numbers, and back.

use std::collections::{BTreeMap, HashMap};

use tenbin_model::sample::METRICS;
use tenbin_model::{Cpu, Picoseconds, Sample, Share, VariantIndex};

use crate::codec::bytes::Flaw;

/// The columns that every cell has, in the order in which they are written, read and hashed. A column's
/// number is its place in this list and never changes. Those of [`METRICS`] have the numbers behind.
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
/// This column and the next have one value a worker of each sample; all others one a sample.
const SHARE_ELAPSED: usize = 11;
const SHARE_FAILURES: usize = 12;

/// The columns of one cell. While they are read, the later ones are still empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Columns {
    own: [Vec<u64>; NAMES.len()],
    /// By field. What a newer tenbin counted and this one does not know is kept apart in the same way.
    metrics: BTreeMap<usize, Vec<u64>>,
}

impl Columns {
    /// Takes samples apart. Nothing is lost: [`Columns::into_samples`] returns the same.
    pub(crate) fn of(samples: &[Sample]) -> Self {
        let mut columns = Self::default();
        for sample in samples {
            let row = [
                u64::from(sample.order),
                u64::from(sample.block),
                u64::from(sample.variant.0),
                sample.iterations,
                sample.elapsed.0,
                u64::from(sample.cpu.0),
                sample.user.0,
                sample.system.0,
                u64::from(sample.voluntary_switches),
                u64::from(sample.involuntary_switches),
                sample.shares.len() as u64,
            ];
            for (column, value) in columns.own.iter_mut().zip(row) {
                column.push(value);
            }
            columns.own[SHARE_ELAPSED].extend(sample.shares.iter().map(|share| share.elapsed.0));
            columns.own[SHARE_FAILURES].extend(sample.shares.iter().map(|share| share.failures));
        }
        for metric in METRICS {
            let values: Option<Vec<u64>> = samples.iter().map(metric.read).collect();
            if let Some(values) = values.filter(|values| !values.is_empty()) {
                columns.metrics.insert(metric.field as usize, values);
            }
        }
        columns
    }

    /// Puts samples together.
    pub(crate) fn into_samples(self) -> Result<Vec<Sample>, Flaw> {
        for field in (0..NAMES.len()).chain(self.metrics()) {
            if self.values(field).len() as u64 != self.expected_length(field)? {
                return Err("the columns of a cell differ in length");
            }
        }
        let small = |field: usize, row: usize| {
            u32::try_from(self.own[field][row]).map_err(|_| "a number does not fit into its 32 bits")
        };
        let length = |field: usize, row: usize| Picoseconds(self.own[field][row]);
        let mut shares = self.own[SHARE_ELAPSED]
            .iter()
            .zip(&self.own[SHARE_FAILURES])
            .map(|(&elapsed, &failures)| Share { elapsed: Picoseconds(elapsed), failures });
        let metrics: Vec<_> = METRICS
            .iter()
            .filter_map(|metric| Some((metric, self.metrics.get(&(metric.field as usize))?)))
            .collect();
        (0..self.own[0].len())
            .map(|row| {
                let mut sample = Sample {
                    order: small(0, row)?,
                    block: small(BLOCK, row)?,
                    variant: VariantIndex(small(VARIANT, row)?),
                    iterations: self.own[ITERATIONS][row],
                    elapsed: length(4, row),
                    cpu: Cpu(small(5, row)?),
                    user: length(6, row),
                    system: length(7, row),
                    voluntary_switches: small(8, row)?,
                    involuntary_switches: small(9, row)?,
                    // The sum of the workers was compared with the length of both columns above.
                    shares: shares.by_ref().take(self.own[WORKERS][row] as usize).collect(),
                    ..Sample::default()
                };
                for (metric, values) in &metrics {
                    (metric.write)(&mut sample, values[row]);
                }
                Ok(sample)
            })
            .collect()
    }

    /// The numbers of the columns that not every cell has, in their order.
    pub(crate) fn metrics(&self) -> impl Iterator<Item = usize> {
        self.metrics.keys().copied()
    }

    /// The values of a column. None where there are none.
    pub(crate) fn values(&self, field: usize) -> &[u64] {
        self.own.get(field).or_else(|| self.metrics.get(&field)).map_or(&[], Vec::as_slice)
    }

    /// Sets a column. The columns before it must have been set.
    pub(crate) fn set(&mut self, field: usize, values: Vec<u64>) {
        match self.own.get_mut(field) {
            Some(column) => *column = values,
            None => drop(self.metrics.insert(field, values)),
        }
    }

    /// How many values a column must have, from the columns before it.
    pub(crate) fn expected_length(&self, field: usize) -> Result<u64, Flaw> {
        if !is_of_shares(field) {
            return Ok(self.own[0].len() as u64);
        }
        self.own[WORKERS]
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
        let rows = 0..self.own[0].len();
        let of = |column: usize, row: usize| self.own[column][row];
        match field {
            0..ITERATIONS => vec![0; rows.len()],
            // Every second block may run twice the iterations.
            ITERATIONS => rows.map(|row| number((of(VARIANT, row), of(BLOCK, row) & 1, 0))).collect(),
            _ => {
                let workers = |row| if is_of_shares(field) { of(WORKERS, row) } else { 1 };
                let each = rows.flat_map(|row| (0..workers(row)).map(move |worker| (row, worker)));
                each.map(|(row, it)| number((of(VARIANT, row), of(ITERATIONS, row), it))).collect()
            }
        }
    }
}

/// The name of a column, as messages give it.
pub(crate) fn name(field: usize) -> &'static str {
    let metric = || METRICS.iter().find(|metric| metric.field as usize == field);
    NAMES.get(field).copied().or_else(|| metric().map(|metric| metric.name)).unwrap_or("of a newer tenbin")
}

fn is_of_shares(field: usize) -> bool {
    (SHARE_ELAPSED..NAMES.len()).contains(&field)
}
