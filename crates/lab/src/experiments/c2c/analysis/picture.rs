//! The figures of a map of pairs: by class, and by pair.

use tenbin_model::topology::Shared;
use tenbin_model::{Cpu, Descriptor, Figure, Grid, Trial, Variant, VariantIndex, order};

use super::pair::{Pair, Spread, classes};
use tenbin_stats::order::Ordered;

/// One protocol between the CPUs of one class, over its pairs: medians of what each pair took for one way.
pub(super) struct ByClass {
    pub(super) way: String,
    pub(super) shared: Shared,
    pub(super) pairs: usize,
    /// In nanoseconds.
    pub(super) median: f64,
    pub(super) low: f64,
    pub(super) high: f64,
    /// The largest part of a pair's epochs that was interrupted.
    pub(super) interrupted: f64,
}

/// What each protocol costs within each class, nearest first.
pub(super) fn by_class(trial: &Trial, pairs: &[Pair]) -> Vec<ByClass> {
    let measured: Vec<&Pair> = pairs.iter().filter(|pair| !pair.control).collect();
    let rows = classes(&measured).into_iter().flat_map(|class| {
        let row = |(variant, way): (VariantIndex, &Variant)| {
            let spreads = || class.pairs.iter().filter_map(move |pair| pair.spread(variant));
            let middle = |read: Read| Some(Ordered::new(spreads().map(read).collect())?.median());
            Some(ByClass {
                way: way.name.clone(),
                shared: class.shared,
                pairs: spreads().count(),
                median: middle(|spread| spread.median)?,
                low: middle(|spread| spread.low)?,
                high: middle(|spread| spread.high)?,
                interrupted: spreads().map(|spread| spread.interrupted).fold(0.0, f64::max),
            })
        };
        trial.descriptor.numbered_variants().filter_map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

pub(super) fn figures(rows: &[ByClass]) -> Vec<Figure> {
    let mut figures = Vec::new();
    for row in rows {
        let mut add = |what: &str, value: f64, unit: &str| {
            let name = format!("{}, CPUs that share {}: {what}", row.way, row.shared);
            figures.push(Figure::new(&name, value, unit));
        };
        add("pairs", row.pairs as f64, "1");
        add("median", row.median, "ns");
        add("p5", row.low, "ns");
        add("p95", row.high, "ns");
        add("largest share of a pair's epochs that was interrupted", row.interrupted, "1");
    }
    figures
}

type Read = fn(&Spread) -> f64;

pub(super) fn grids(descriptor: &Descriptor, pairs: &[&Pair]) -> Vec<Grid> {
    let cpus = order::distinct(pairs.iter().flat_map(|pair| [pair.cpus.0, pair.cpus.1]));
    let names: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let figures: [(&str, Read); 3] =
        [("median", |spread| spread.median), ("p5", |spread| spread.low), ("p95", |spread| spread.high)];
    let mut grids = Vec::new();
    for (name, read) in figures {
        for (number, variant) in descriptor.numbered_variants() {
            let mut values = vec![vec![None; cpus.len()]; cpus.len()];
            for pair in pairs {
                let Some(spread) = pair.spread(number) else { continue };
                let place = |cpu: Cpu| cpus.iter().position(|&known| known == cpu);
                if let (Some(one), Some(other)) = (place(pair.cpus.0), place(pair.cpus.1)) {
                    values[one][other] = Some(read(spread));
                    values[other][one] = Some(read(spread));
                }
            }
            if values.iter().flatten().any(Option::is_some) {
                grids.push(Grid {
                    name: format!("{name} of {}", variant.name),
                    unit: "ns".into(),
                    rows: names.clone(),
                    columns: names.clone(),
                    values,
                });
            }
        }
    }
    grids
}
