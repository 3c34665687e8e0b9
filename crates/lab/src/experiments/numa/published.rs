//! Times by core and memory that others took: the published columns of a Socionext SC2A11, and a user's own.

use std::collections::BTreeMap;

use tenbin_model::machine::Observed;
use tenbin_model::{
    Arrangement, Cell, Cpu, Descriptor, Machine, Picoseconds, Rows, Sample, Sizes, Trial, Variant,
    VariantIndex, order,
};

use super::{BY_CHASE, BY_STORES, again, by_chase, by_stores, describe};
use crate::published::{self, Claim, Figure, Format, OnMachine, Reading, Table};

pub(super) const TABLES: &[Table] = &[Table {
    file: "numa_sc2a11.csv",
    csv: include_str!("../../../published/numa_sc2a11.csv"),
    source: "S. Takeuchi, undated",
    machine: || Machine {
        architecture: "aarch64".into(),
        // The author looked for `numa-node-id` in the device tree and found none.
        nodes: Observed::Known(Vec::new()),
        ..published::machine("Socionext SC2A11, 24 cores")
    },
    claims,
    unweighed: None,
}];

pub(super) const FORMATS: &[Format] = &[
    Format {
        titles: &["series", "index", "ns_per_access"],
        row: "series `core`: one core's time in a buffer of core 0; series `repeat`: core 0 again",
        reading: Reading::Trial(column),
    },
    Format {
        titles: &["reader", "home", "ns"],
        row: "the time of an access by CPU `reader` to memory that CPU `home` touched first; a pair again is a \
              repetition",
        reading: Reading::Trial(matrix),
    },
];

fn claims(rows: &Rows) -> Vec<Claim> {
    let of = |series: &str, index: &str| {
        Figure::at(rows, "ns_per_access", &[("series", series), ("index", index)])
    };
    let nano = Figure::exact(1e9);
    vec![
        Claim::is("all figures lie within about 1 of each other", "1", of("repeat", "17") - of("core", "8")),
        Claim::is(
            "an access takes 37 s, of figures that the program prints in ns",
            "37",
            of("core", "0") / nano,
        ),
    ]
}

/// Both published columns: a variant for each core, and one for what core 0 repeated.
fn column(rows: &Rows, machine: Machine) -> OnMachine {
    let mut variants: Vec<Variant> = Vec::new();
    let mut samples = Vec::new();
    let mut timed = |variant: Variant, block, reader, time| {
        let known = variants.iter().position(|known| *known == variant);
        let place = known.unwrap_or_else(|| {
            variants.push(variant);
            variants.len() - 1
        });
        samples.push(sample(samples.len(), place, block, reader, time));
    };
    for row in rows {
        let (series, time) = (row.one_of("series", &["core", "repeat"])?, row.positive("ns_per_access")?);
        match series {
            "core" => {
                let reader = row.cpu("index")?;
                timed(by_stores(reader, Cpu(0)), 0, reader, time);
            }
            _ => timed(again(Cpu(0), 1), row.whole("index")? as u32, Cpu(0), time),
        }
    }
    Ok((machine, trial(BY_STORES, rows, variants, samples)))
}

/// Every reader in the memory of every home.
fn matrix(rows: &Rows, machine: Machine) -> OnMachine {
    // Where a pair stands, and how often it was timed.
    let mut known: BTreeMap<(Cpu, Cpu), (usize, u32)> = BTreeMap::new();
    let (mut variants, mut samples) = (Vec::new(), Vec::new());
    for row in rows {
        let (reader, home) = (row.cpu("reader")?, row.cpu("home")?);
        let (place, block) = known.entry((reader, home)).or_insert_with(|| {
            variants.push(by_chase(reader, home));
            (variants.len() - 1, 0)
        });
        samples.push(sample(samples.len(), *place, *block, reader, row.positive("ns")?));
        *block += 1;
    }
    Ok((machine, trial(BY_CHASE, rows, variants, samples)))
}

fn sample(order: usize, variant: usize, block: u32, cpu: Cpu, nanoseconds: f64) -> Sample {
    // Picoseconds of one access would be too coarse.
    const ACCESSES: u64 = 1 << 20;
    Sample {
        order: order as u32,
        block,
        variant: variant.into(),
        iterations: ACCESSES,
        elapsed: Picoseconds((nanoseconds * 1e3 * ACCESSES as f64) as u64),
        cpu,
        ..Sample::default()
    }
}

fn trial(label: &str, rows: &Rows, variants: Vec<Variant>, samples: Vec<Sample>) -> Trial {
    let cpus = order::distinct(samples.iter().map(|sample| sample.cpu));
    // How large buffers and caches were, where the table has it.
    let bytes =
        |title: &str| Some((rows.iter().find_map(|row| row.number(title))? * f64::from(1 << 20)) as u64);
    let mut parameters = Vec::new();
    parameters.extend(bytes("buffer_mib").map(|buffer| ("buffer".into(), buffer.to_string())));
    let beyond = bytes("last_cache_mib").map(|cache| cache.saturating_mul(Sizes::BEYOND));
    parameters.extend(beyond.map(|beyond| ("beyond".into(), beyond.to_string())));
    let arrangement = Arrangement {
        label: label.into(),
        parameters,
        cpus,
        variants: VariantIndex::range(0..variants.len()),
        headline: true,
        ..Arrangement::default()
    };
    let cell = Cell { samples, ..Cell::unmeasured(arrangement) };
    let descriptor = Descriptor { variants, published: Vec::new(), ..describe() };
    Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() }
}
