//! One epoch, as it was measured.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::experiment::VariantIndex;
use crate::unit::{Cpu, Picoseconds};

/// One epoch: a run of iterations of one variant, timed as a whole.
///
/// Raw. Nothing is subtracted, dropped or averaged before it is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sample {
    /// Position among all epochs of the cell, from 0.
    pub order: u32,
    /// The block that this epoch belongs to; a block holds every variant twice, mirrored, or once.
    pub block: u32,
    /// Index into the descriptor's variants.
    pub variant: VariantIndex,
    /// Iterations that every worker ran.
    pub iterations: u64,
    /// From the first worker's start to the last worker's end.
    pub elapsed: Picoseconds,
    /// Where the first worker ran; the pin was read back before and after.
    pub cpu: Cpu,
    /// User time of the workers across their parts of the epoch.
    pub user: Picoseconds,
    /// System time of the workers across their parts of the epoch.
    pub system: Picoseconds,
    /// Context switches that the workers asked for across their parts of the epoch.
    pub voluntary_switches: u32,
    /// Context switches that were forced on the workers across their parts of the epoch.
    pub involuntary_switches: u32,
    /// One entry per worker when there are several or when an attempt failed, else empty.
    pub shares: Vec<Share>,
    /// Page faults of the workers across their parts of the epoch that no disk was read for. None where they
    /// were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minor_faults: Option<u64>,
    /// Page faults of the workers that waited for a disk. None where they were not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub major_faults: Option<u64>,
    /// The most memory, in bytes, that a command had resident at a time. None where none was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub peak_memory: Option<u64>,
    /// The status that a command ended with, or 256 and the number of the signal that ended it. None where
    /// none was run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exit_status: Option<u64>,
    /// Instructions that a command and its children, or a worker, retired in user space. None where they were
    /// not counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instructions: Option<u64>,
    /// Cycles that a command and its children, or a worker, took in user space. None where they were not
    /// counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cycles: Option<u64>,
    /// What the iterations take by the middle one of the calls that they were done in: the median of what an
    /// iteration takes there, times their number. None where they were not divided.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub middle_call: Option<Picoseconds>,
}

/// What may be known of an epoch beside its time: one number a sample, or none.
///
/// The store, CSV and the tables go by this list alone. A metric more is a field of [`Sample`] that has a
/// default, a row here, and the line of the engine that fills the field.
#[derive(Debug)]
pub struct Metric {
    /// Number of its column in a store, from 13 on; never used again for another one (`docs/store.md`).
    pub field: u64,
    /// Name of its column in a store and in CSV.
    pub name: &'static str,
    /// Header of its column in a table, where it stands for each unit of work; none where it has no column.
    pub header: Option<&'static str>,
    /// Reads it from a sample.
    pub read: fn(&Sample) -> Option<u64>,
    /// Writes it into a sample.
    pub write: fn(&mut Sample, u64),
}

/// Every metric that there is.
pub const METRICS: &[Metric] = &[
    Metric {
        field: 13,
        name: "minor_faults",
        header: Some("page faults/op"),
        read: |sample| sample.minor_faults,
        write: |sample, count| sample.minor_faults = Some(count),
    },
    Metric {
        field: 14,
        name: "major_faults",
        header: Some("from disk/op"),
        read: |sample| sample.major_faults,
        write: |sample, count| sample.major_faults = Some(count),
    },
    Metric {
        field: 15,
        name: "peak_memory",
        header: Some("peak bytes"),
        read: |sample| sample.peak_memory,
        write: |sample, count| sample.peak_memory = Some(count),
    },
    Metric {
        field: 16,
        name: "exit_status",
        header: Some("exit status"),
        read: |sample| sample.exit_status,
        write: |sample, count| sample.exit_status = Some(count),
    },
    Metric {
        field: 17,
        name: "instructions",
        header: Some("instructions"),
        read: |sample| sample.instructions,
        write: |sample, count| sample.instructions = Some(count),
    },
    Metric {
        field: 18,
        name: "cycles",
        header: Some("cycles"),
        read: |sample| sample.cycles,
        write: |sample, count| sample.cycles = Some(count),
    },
    Metric {
        field: 19,
        name: "middle_call_ps",
        header: None,
        read: |sample| sample.middle_call.map(|time| time.0),
        write: |sample, picoseconds| sample.middle_call = Some(Picoseconds(picoseconds)),
    },
];

/// What one worker of several did in an epoch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Share {
    /// From this worker's start to its end.
    pub elapsed: Picoseconds,
    /// Attempts that did not succeed (a failed compare-and-swap), 0 where that has no meaning.
    pub failures: u64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_metric_has_a_column_and_a_place_of_its_own() {
        let mut sample = Sample::default();
        for (number, metric) in (13..).zip(METRICS) {
            assert_eq!((metric.field, (metric.read)(&sample)), (number, None), "{}", metric.name);
            (metric.write)(&mut sample, number);
        }
        let read: Vec<Option<u64>> = METRICS.iter().map(|metric| (metric.read)(&sample)).collect();
        assert_eq!(read, (13..).take(METRICS.len()).map(Some).collect::<Vec<_>>());
    }
}
