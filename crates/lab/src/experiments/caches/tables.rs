//! Times of loads over sizes that others took.

use std::collections::BTreeMap;

use tenbin_model::{
    Arrangement, Cell, Cpu, Descriptor, Machine, Picoseconds, Rows, Sample, Trial, Variant, VariantIndex,
};

use super::{describe, variant};
use crate::published::{Format, OnMachine, Reading};

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["bytes", "ns"],
    row: "the time of a dependent load from a buffer of so many bytes; a size again is a repetition",
    reading: Reading::Trial(curve),
}];

/// Loads that stand for a figure: picoseconds of one would be too coarse.
const LOADS: u64 = 1_000;

fn curve(rows: &Rows, machine: Machine) -> OnMachine {
    let mut times: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for row in rows {
        times.entry(row.whole("bytes")?).or_default().push(row.positive("ns")?);
    }
    let variants: Vec<Variant> = times.keys().map(|&bytes| variant("base", Cpu(0), bytes)).collect();
    let samples = times.values().enumerate().flat_map(|(place, times)| {
        (0..).zip(times).map(move |(block, time)| Sample {
            block,
            variant: place.into(),
            iterations: LOADS,
            elapsed: Picoseconds((time * 1e3 * LOADS as f64) as u64),
            ..Sample::default()
        })
    });
    let arrangement = Arrangement {
        label: "in the table".into(),
        cpus: vec![Cpu(0)],
        variants: VariantIndex::range(0..variants.len()),
        headline: true,
        ..Arrangement::default()
    };
    let samples = (0..).zip(samples).map(|(order, sample)| Sample { order, ..sample }).collect();
    let cell = Cell { samples, ..Cell::unmeasured(arrangement) };
    let descriptor = Descriptor { variants, ..describe() };
    Ok((machine, Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() }))
}
