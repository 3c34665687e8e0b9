//! Times between pairs of CPUs that others took.

use std::collections::BTreeMap;

use tenbin_model::machine::{Cache, CoreKind, CpuPlace, Observed, Witness};
use tenbin_model::{
    Arrangement, Cell, Cpu, Descriptor, Machine, Picoseconds, Row, Rows, Sample, Trial, Variant,
    VariantIndex, WrongCell,
};

use super::describe;
use crate::published::{Format, OnMachine, Reading};

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["one", "other", "ns"],
    row: "the time in which a line moves from one CPU to another; a pair again is a repetition; CPUs of one \
          `one_l3`, `other_l3` share that cache",
    reading: Reading::Trial(pairs),
}];

/// Round trips that stand for a figure: picoseconds of one would be too coarse.
const TRIPS: u64 = 1_000;

/// A cell for each pair, and both halves of one pair that was repeated as its control.
fn pairs(rows: &Rows, machine: Machine) -> OnMachine {
    let mut pairs: BTreeMap<(Cpu, Cpu), Vec<f64>> = BTreeMap::new();
    let mut caches: BTreeMap<Cpu, String> = BTreeMap::new();
    for row in rows {
        let [one, other] = ["one", "other"].map(|title| cpu(row, title, &mut caches));
        let (one, other) = (one?, other?);
        if one == other {
            return Err(row.wrong("other", format!("{other} is no other CPU")));
        }
        pairs.entry((one.min(other), one.max(other))).or_default().push(row.positive("ns")?);
    }
    let repeated = pairs.iter().find(|(_, times)| times.len() > 1);
    let controls = repeated.into_iter().flat_map(|(&cpus, times)| {
        let (early, late) = times.split_at(times.len() / 2);
        [(1, early), (2, late)].map(|(number, times)| cell(cpus, Some(number), times))
    });
    let cells = pairs.iter().map(|(&cpus, times)| cell(cpus, None, times)).chain(controls).collect();
    let variants = vec![Variant::measured("the table's protocol", "a line moves from one CPU to the other")];
    let descriptor = Descriptor { variants, ..describe() };
    let trial = Trial { descriptor, refusal: None, cells, findings: Vec::new() };
    Ok((Machine { cpus: places(&caches), ..machine }, trial))
}

/// The CPU in this column, and which last cache it has, where the table says that.
fn cpu(row: &Row, title: &str, caches: &mut BTreeMap<Cpu, String>) -> Result<Cpu, WrongCell> {
    let cpu = row.cpu(title)?;
    let (column, cache) = (format!("{title}_l3"), row.text(&format!("{title}_l3")));
    match caches.insert(cpu, cache.to_owned()) {
        Some(known) if known != cache => {
            Err(row.wrong(&column, format!("`{cache}`, and {cpu} was in `{known}` before")))
        }
        _ => Ok(cpu),
    }
}

fn cell((one, other): (Cpu, Cpu), control: Option<u32>, times: &[f64]) -> Cell {
    let label = format!("between {one} and {other}");
    let arrangement = Arrangement {
        label: control.map_or_else(|| label.clone(), |number| format!("{label} (control {number})")),
        parameters: vec![("control".into(), control.map_or_else(String::new, |number| number.to_string()))],
        cpus: vec![one, other],
        work: 1,
        variants: VariantIndex::range(0..1),
        ..Arrangement::default()
    };
    let sample = |(order, &time): (u32, &f64)| Sample {
        order,
        block: order,
        iterations: TRIPS,
        elapsed: Picoseconds((time * 1e3 * TRIPS as f64) as u64),
        cpu: one,
        ..Sample::default()
    };
    Cell { samples: (0..).zip(times).map(sample).collect(), ..Cell::unmeasured(arrangement) }
}

/// CPUs by the last cache that they share; nothing else of them is known.
fn places(caches: &BTreeMap<Cpu, String>) -> Vec<CpuPlace> {
    fn unknown<T>() -> Observed<T> {
        Observed::NotObservable("the table does not say".into())
    }
    let place = |(&cpu, cache): (&Cpu, &String)| {
        let sharers = caches.iter().filter(|(_, other)| *other == cache).map(|(&cpu, _)| cpu);
        let last = Cache {
            level: 3,
            kind: "Unified".into(),
            size: unknown(),
            line: unknown(),
            shared_by: sharers.collect(),
            witness: Witness::Sysfs,
        };
        CpuPlace {
            cpu,
            package: unknown(),
            core: unknown(),
            siblings: unknown(),
            node: unknown(),
            kind: Observed::Known(CoreKind::Uniform),
            caches: if cache.is_empty() { unknown() } else { Observed::Known(vec![last]) },
        }
    };
    caches.iter().map(place).collect()
}
