//! Both published columns on a Socionext SC2A11, as a run that the same judge judges.

use tenbin_model::machine::Observed;
use tenbin_model::{
    Arrangement, Cell, Cpu, Descriptor, Machine, Picoseconds, Run, Sample, Sizes, Variant, VariantIndex,
};

use super::{BY_STORES, again, by_stores, describe};
use crate::engine::unmeasured;
use crate::published::{self, Row, rows};

/// Accesses behind each figure: the published program averages over 64 Mi.
const ACCESSES: u64 = 64 << 20;

const BUFFER: u64 = 16 << 20;

/// The SC2A11's L3, in its firmware's device tree (edk2-platforms, `SynQuacerCaches.dtsi`).
const LAST_CACHE: u64 = 4 << 20;

/// Both columns: a variant for each core, and one for what core 0 repeated.
pub(super) fn run() -> Run {
    let rows = rows(include_str!("../../../../../fixtures/published/numa_sc2a11.csv"));
    let of = |series: &'static str| rows.iter().filter(move |row| row.text("series") == series);
    let number = |row: &Row| row.number("index").unwrap_or_default() as u32;
    let mut variants: Vec<Variant> = of("core").map(|row| by_stores(Cpu(number(row)), Cpu(0))).collect();
    let repeated = VariantIndex::from(variants.len());
    variants.push(again(Cpu(0), 1));
    let sample = |row: &Row, variant: VariantIndex, block: u32| Sample {
        block,
        variant,
        iterations: ACCESSES,
        elapsed: Picoseconds(
            (row.number("ns_per_access").unwrap_or_default() * 1e3 * ACCESSES as f64) as u64,
        ),
        cpu: Cpu(if variant == repeated { 0 } else { variant.0 }),
        ..Sample::default()
    };
    let cores = of("core").map(|row| sample(row, VariantIndex(number(row)), 0));
    let repeats = of("repeat").map(|row| sample(row, repeated, number(row)));
    let samples = cores.chain(repeats).zip(0..).map(|(sample, order)| Sample { order, ..sample }).collect();
    let arrangement = Arrangement {
        label: BY_STORES.into(),
        parameters: vec![
            ("buffer".into(), BUFFER.to_string()),
            ("homes".into(), "0".into()),
            ("beyond".into(), (Sizes::BEYOND * LAST_CACHE).to_string()),
        ],
        cpus: (0..repeated.0).map(Cpu).collect(),
        variants: VariantIndex::range(0..variants.len()),
        headline: true,
        ..Arrangement::default()
    };
    let machine = Machine {
        architecture: "aarch64".into(),
        cpu_model: Observed::Known("Socionext SC2A11, 24 cores".into()),
        // The author looked for `numa-node-id` in the device tree and found none.
        nodes: Observed::Known(Vec::new()),
        ..Machine::unobserved("it was not published")
    };
    let cell = Cell { samples, ..unmeasured(arrangement) };
    published::run("S. Takeuchi, 2018", machine, Descriptor { variants, ..describe() }, vec![cell])
}
