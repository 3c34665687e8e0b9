//! Runs that are made up, so that the truth about them is known: for tests, here and beside analyses that
//! stand elsewhere.

use crate::analysis::{Analyses, Comparisons, Reported};
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::machine::{Cache, CoreKind, CpuPlace, Observed, Witness};
use tenbin_model::{
    Arrangement, Bytes, Cell, Check, Comparison, Cpu, Descriptor, Effort, Ended, Machine, Parameter,
    Picoseconds, Provenance, Quantity, Run, Sample, Source, Trial, Variant, VariantIndex,
};

/// A question about two variants, with a planted fault.
pub fn descriptor(quantity: Quantity) -> Descriptor {
    Descriptor {
        name: "made-up".into(),
        question: "Which is cheaper?".into(),
        requirement: "a test".into(),
        specification: "nothing is lost".into(),
        subject: "One shared counter".into(),
        quantity,
        variants: vec![
            Variant::measured("lock xadd", ""),
            Variant::measured("a lock cmpxchg loop", ""),
            Variant::sabotage("lost update", ""),
        ],
        parameters: vec![Parameter::new("threads", "2", "")],
        margin: 0.01,
        sources: vec![Source::new("a test", "")],
        ..Descriptor::default()
    }
}

const LEFT: VariantIndex = VariantIndex(0);
const RIGHT: VariantIndex = VariantIndex(1);

/// Blocks of two variants, `ratio` apart, with multiplicative noise of up to `noise` and, once in
/// fifty epochs, a preemption that makes it thirty times as long.
pub fn cell(blocks: u32, ratio: f64, noise: f64, ended: Ended, seed: u64) -> Cell {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut samples = Vec::new();
    for block in 0..blocks {
        let order =
            if random.random_bool(0.5) { [LEFT, RIGHT, RIGHT, LEFT] } else { [RIGHT, LEFT, LEFT, RIGHT] };
        for variant in order {
            let cost = if variant == LEFT { 1e8 } else { 1e8 * ratio };
            let preempted = if random.random_bool(0.02) { 30.0 } else { 1.0 };
            let elapsed = cost * (1.0 + noise * random.random::<f64>()) * preempted;
            samples.push(Sample {
                order: samples.len() as u32,
                block,
                variant,
                iterations: 1_000,
                elapsed: Picoseconds(elapsed as u64),
                ..Sample::default()
            });
        }
    }
    Cell {
        arrangement: Arrangement {
            label: "at 2 threads".into(),
            cpus: vec![Cpu(0), Cpu(1)],
            work: 2,
            epoch: Picoseconds::from_micros(100),
            variants: vec![LEFT, RIGHT],
            comparisons: Comparison::of([(LEFT, RIGHT)]),
            headline: true,
            ..Arrangement::default()
        },
        checks: vec![Check { variant: LEFT, sabotage: false, seen: "all there".into(), met: true }],
        ended: Some(ended),
        samples,
        ..Cell::default()
    }
}

/// Samples of so many blocks, in each of which the variants come in this order: epochs of so many iterations
/// that take the picoseconds which `elapsed` says of block and variant.
pub fn samples(
    blocks: u32,
    variants: &[VariantIndex],
    iterations: u64,
    mut elapsed: impl FnMut(u32, VariantIndex) -> f64,
) -> Vec<Sample> {
    let epochs = (0..blocks).flat_map(|block| variants.iter().map(move |&variant| (block, variant)));
    let sample = |(order, (block, variant))| {
        let elapsed = Picoseconds(elapsed(block, variant) as u64);
        Sample { order, block, variant, iterations, elapsed, ..Sample::default() }
    };
    (0..).zip(epochs).map(sample).collect()
}

/// Random noise with the standard normal distribution, by Box and Muller (1958).
pub fn normal(random: &mut Pcg64Mcg) -> f64 {
    let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
    radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
}

/// A trial of these cells.
pub fn trial(quantity: Quantity, cells: Vec<Cell>) -> Trial {
    Trial { descriptor: descriptor(quantity), refusal: None, cells, findings: Vec::new() }
}

/// A run of one trial of one cell.
pub fn run(ratio: f64, machine: Machine) -> Run {
    let cells = vec![cell(200, ratio, 0.01, Ended::Budget, 7)];
    Run {
        provenance: Provenance {
            version: "0".into(),
            started: "2026-11-21T00:00:00Z".into(),
            seed: 1,
            effort: Effort::Quick,
            ..Provenance::default()
        },
        machine,
        trials: vec![trial(Quantity::NanosecondsPerOperation, cells)],
    }
}

/// A machine in one package whose CPUs share caches of this level as listed, each a core of its own.
pub fn sharing(level: u8, groups: &[&[u32]]) -> Machine {
    let place = |&cpu: &u32, group: &[u32]| CpuPlace {
        cpu: Cpu(cpu),
        package: Observed::Known(0),
        core: Observed::Known(cpu),
        siblings: Observed::Known(vec![Cpu(cpu)]),
        node: Observed::Known(0),
        kind: Observed::Known(CoreKind::Uniform),
        caches: Observed::Known(vec![Cache {
            level,
            kind: "Unified".into(),
            size: Observed::Known(Bytes(8 << 20)),
            line: Observed::Known(Bytes(64)),
            shared_by: group.iter().copied().map(Cpu).collect(),
            witness: Witness::Sysfs,
        }]),
    };
    let cpus = groups.iter().flat_map(|group| group.iter().map(move |cpu| place(cpu, group)));
    Machine { cpus: cpus.collect(), ..Machine::unobserved("a test") }
}

/// What a run comes to by comparisons.
pub fn reported(run: &Run, id: Option<&str>) -> Reported {
    comparing().report(run, id)
}

/// Comparisons, and no other analysis.
pub fn comparing() -> Analyses {
    Analyses(vec![&Comparisons])
}
