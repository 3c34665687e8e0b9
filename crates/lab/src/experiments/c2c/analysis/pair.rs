//! Pairs as they were measured, and the classes that they fall into.

use std::collections::BTreeMap;

use tenbin_model::topology::{Shared, shared};
use tenbin_model::unit::three_digits;
use tenbin_model::{Cell, Cpu, Machine, Picoseconds, Sample, VariantIndex};

use tenbin_stats::order::Ordered;

/// Epochs this many times as long as the median were interrupted: a handover is not.
const INTERRUPTED: f64 = 3.0;

pub(super) struct Pair {
    pub(super) label: String,
    pub(super) cpus: (Cpu, Cpu),
    pub(super) class: Shared,
    /// Whether it repeats another cell, for the sake of drift.
    pub(super) control: bool,
    /// By variant, in the order of the cell: at least one.
    pub(super) spreads: Vec<Spread>,
}

/// The handovers of one pair by one protocol, in nanoseconds for one way.
#[derive(Clone, Copy)]
pub(super) struct Spread {
    pub(super) variant: VariantIndex,
    pub(super) low: f64,
    /// Positive and finite.
    pub(super) median: f64,
    pub(super) high: f64,
    /// The part of the epochs that took [`INTERRUPTED`] times the median or longer.
    pub(super) interrupted: f64,
}

impl Pair {
    /// None where a protocol was not timed, and where the cell was refused: what was taken before a lost
    /// update or a broken pin is kept with it, and is no figure.
    pub(super) fn of(machine: &Machine, cell: &Cell) -> Option<Self> {
        let &[one, other] = cell.arrangement.cpus.as_slice() else { return None };
        if cell.refusal.is_some() || cell.arrangement.variants.is_empty() {
            return None;
        }
        let spreads = cell.arrangement.variants.iter().map(|&variant| Spread::of(cell, variant));
        Some(Self {
            label: cell.arrangement.label.clone(),
            cpus: (one, other),
            class: shared(machine, one, other),
            control: cell.arrangement.parameter("control").is_some_and(|number| !number.is_empty()),
            spreads: spreads.collect::<Option<_>>()?,
        })
    }

    pub(super) fn spread(&self, variant: VariantIndex) -> Option<&Spread> {
        self.spreads.iter().find(|spread| spread.variant == variant)
    }
}

/// How long the two exchanged once both were there: the part of whoever came later. Before that one waits for
/// the other to start, which moves no line.
fn both_there(sample: &Sample) -> Picoseconds {
    sample.shares.iter().map(|share| share.elapsed).min().unwrap_or(sample.elapsed)
}

impl Spread {
    fn of(cell: &Cell, variant: VariantIndex) -> Option<Self> {
        let samples = cell.samples.iter().filter(|sample| sample.variant == variant);
        let one_way = samples
            .map(|sample| both_there(sample).as_nanos() / (sample.iterations * cell.arrangement.work) as f64);
        let ordered = Ordered::new(one_way.collect())?;
        let median = ordered.median();
        let late = ordered.values().iter().filter(|&&time| time >= INTERRUPTED * median).count();
        (median.is_finite() && median > 0.0).then_some(Self {
            variant,
            low: ordered.quantile(0.05)?,
            median,
            high: ordered.quantile(0.95)?,
            interrupted: late as f64 / ordered.count() as f64,
        })
    }

    pub(super) fn in_words(&self) -> String {
        let Self { low, median, high, .. } = self;
        format!("{} ns (p5 {} to p95 {})", three_digits(*median), three_digits(*low), three_digits(*high))
    }
}

pub(super) struct Class<'a> {
    pub(super) shared: Shared,
    /// At least one.
    pub(super) pairs: Vec<&'a Pair>,
}

impl Class<'_> {
    /// The middle of the pairs' medians by `variant`. None if none was timed by it.
    fn median(&self, variant: VariantIndex) -> Option<String> {
        let medians = self.pairs.iter().filter_map(|pair| Some(pair.spread(variant)?.median)).collect();
        Some(three_digits(Ordered::new(medians)?.median()))
    }

    /// That median, in a few words.
    pub(super) fn brief(&self, variant: VariantIndex) -> Option<String> {
        Some(format!("{} ns within {}", self.median(variant)?, self.shared))
    }

    /// That median, and how many pairs there are.
    pub(super) fn in_words(&self, variant: VariantIndex) -> Option<String> {
        let time = self.median(variant)?;
        let plural = if self.pairs.len() == 1 { "" } else { "s" };
        Some(format!("{time} ns between CPUs that share {} ({} pair{plural})", self.shared, self.pairs.len()))
    }
}

/// The classes of `pairs`, the nearest first.
pub(super) fn classes<'a>(pairs: &[&'a Pair]) -> Vec<Class<'a>> {
    let mut classes: BTreeMap<Shared, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        classes.entry(pair.class).or_default().push(pair);
    }
    classes.into_iter().map(|(shared, pairs)| Class { shared, pairs }).collect()
}

/// How a pair that is there to be measured again changed meanwhile.
pub(super) struct Drift {
    pub(super) cpus: (Cpu, Cpu),
    /// The largest factor between two of its medians by one protocol: 1 or more.
    pub(super) factor: f64,
}

/// The drift of the pairs that a control repeats: of that which moved most. None without two measurements of
/// one.
pub(super) fn drift(pairs: &[Pair]) -> Option<Drift> {
    let of = |control: &Pair| {
        let same: Vec<&Pair> = pairs.iter().filter(|pair| pair.cpus == control.cpus).collect();
        let factor = |spread: &Spread| {
            let times = || same.iter().filter_map(|pair| Some(pair.spread(spread.variant)?.median));
            times().fold(0.0, f64::max) / times().fold(f64::INFINITY, f64::min)
        };
        (same.len() >= 2).then(|| Drift {
            cpus: control.cpus,
            factor: control.spreads.iter().map(factor).fold(1.0, f64::max),
        })
    };
    let controls = pairs.iter().filter(|pair| pair.control);
    controls.filter_map(of).max_by(|one, other| one.factor.total_cmp(&other.factor))
}
