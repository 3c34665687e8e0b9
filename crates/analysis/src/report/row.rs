//! What one variant did in a cell, over all its epochs.

use tenbin_model::sample::{METRICS, Metric};
use tenbin_model::{Cell, Descriptor, Reading, Sample, VariantIndex};

use crate::verdict::{self, Time};
use tenbin_stats::LEVEL;
use tenbin_stats::fairness::jain;
use tenbin_stats::order::Ordered;
use tenbin_stats::sign;

pub(super) struct Row {
    pub(super) name: String,
    /// Time for one unit of work, in picoseconds: the median with its interval.
    pub(super) cost: sign::Estimate,
    /// Failed attempts for one success; none where nobody could fail.
    pub(super) failures: Option<f64>,
    /// Seconds of CPU time, in user mode and in the kernel together, for a million units of work.
    pub(super) charged: f64,
    /// How alike the workers fared, where there were several.
    pub(super) workers: Option<Workers>,
    pub(super) gauges: Vec<(String, Reading)>,
    /// The counts of [`METRICS`] for one unit of work, in that order; none where an epoch was not counted.
    pub(super) metrics: Vec<Option<f64>>,
}

/// How several workers fared: medians over the epochs.
pub(super) struct Workers {
    /// The fastest worker's time for one of its iterations, in picoseconds.
    pub(super) fastest: f64,
    /// The slowest worker's.
    pub(super) slowest: f64,
    /// Jain's index of the workers' speeds: 1 if all are alike, 1/n if one does everything.
    pub(super) fairness: f64,
}

impl Row {
    /// The row of `variant`. None if it was not timed.
    pub(super) fn of(
        time: Time,
        descriptor: &Descriptor,
        cell: &Cell,
        variant: VariantIndex,
    ) -> Option<Self> {
        let samples: Vec<&Sample> = cell.samples.iter().filter(|sample| sample.variant == variant).collect();
        let work = cell.arrangement.work as f64;
        let units = |sample: &Sample| sample.iterations as f64 * work;
        let costs = Ordered::new(verdict::by_block(&samples, |sample| time(sample) / work))?;
        let total: f64 = samples.iter().map(|sample| units(sample)).sum();
        let charged = samples.iter().map(|sample| (sample.user + sample.system).as_seconds()).sum::<f64>();
        let shares = || samples.iter().flat_map(|sample| &sample.shares);
        let failed: u64 = shares().map(|share| share.failures).sum();
        let gauges = cell.gauges.iter().filter(|gauge| gauge.variant == variant);
        let counted = |metric: &Metric| {
            let counts = samples.iter().map(|sample| (metric.read)(sample));
            counts.sum::<Option<u64>>().map(|count| count as f64 / total)
        };
        Some(Self {
            name: descriptor[variant].name.clone(),
            cost: sign::Estimate::of(&costs, LEVEL),
            failures: shares().next().map(|_| failed as f64 / total),
            charged: charged * 1e6 / total,
            workers: Workers::of(&samples),
            gauges: gauges.map(|gauge| (gauge.name.clone(), gauge.reading)).collect(),
            metrics: METRICS.iter().map(counted).collect(),
        })
    }
}

impl Workers {
    fn of(samples: &[&Sample]) -> Option<Self> {
        let mut fastest = Vec::new();
        let mut slowest = Vec::new();
        let mut fairness = Vec::new();
        for sample in samples.iter().filter(|sample| sample.shares.len() > 1) {
            let times = sample.shares.iter().map(|share| share.elapsed.0 as f64 / sample.iterations as f64);
            let times: Vec<f64> = times.collect();
            fastest.push(times.iter().copied().fold(f64::INFINITY, f64::min));
            slowest.push(times.iter().copied().fold(0.0, f64::max));
            // A worker too quick for the clock has no speed; its epoch says nothing about fairness.
            fairness.extend(jain(&times.iter().map(|time| 1.0 / time).collect::<Vec<_>>()));
        }
        let median = |values| Ordered::new(values).map(|values| values.median());
        Some(Self { fastest: median(fastest)?, slowest: median(slowest)?, fairness: median(fairness)? })
    }
}
