//! Runs and calibrations to test with: small ones that touch every field, and columns shaped like
//! measured ones.

#![allow(dead_code, reason = "every test uses a part of this")]

use tenbin_model::machine::{Clock, Machine, Observed, Virtualisation};
use tenbin_model::{
    Arrangement, Bytes, Calibration, Cell, Check, Comparison, Cpu, Descriptor, Effort, Ended, Finding, Gauge,
    Interval, Load, MeasuredRatio, Pair, Parameter, Picoseconds, Provenance, Purpose, Reading, Refusal, Run,
    Sample, Series, Share, Source, Trial, Variant, VariantIndex, Verdict,
};

/// SplitMix64 (Steele, Lea and Flood 2014): numbers that look random and never change.
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }

    /// Uniform in (0, 1].
    pub(crate) fn fraction(&mut self) -> f64 {
        ((self.next() >> 11) + 1) as f64 / (1u64 << 53) as f64
    }

    /// Standard normal, by Box and Muller.
    pub(crate) fn normal(&mut self) -> f64 {
        (-2.0 * self.fraction().ln()).sqrt() * (std::f64::consts::TAU * self.fraction()).cos()
    }
}

pub(crate) struct Shape {
    pub(crate) variants: usize,
    /// Blocks; each holds every variant twice, mirrored.
    pub(crate) blocks: u32,
    /// The clock's step in picoseconds.
    pub(crate) tick: f64,
    /// Standard deviation of an epoch, as a fraction.
    pub(crate) noise: f64,
    /// Standard deviation of the machine's pace, as a fraction, which lasts for about 30 epochs.
    pub(crate) drift: f64,
    pub(crate) workers: usize,
}

/// Epochs of about 100 µs in balanced random order, every second block twice as long, 1.5 % of them
/// held up for another 2 to 300 µs, read from a counter and cut to whole picoseconds as `metal` does.
pub(crate) fn samples(shape: &Shape, seed: u64) -> Vec<Sample> {
    let mut numbers = Numbers(seed);
    let mut order = 0;
    let mut pace = 0.0;
    let mut samples = Vec::new();
    for block in 0..shape.blocks {
        let mut half: Vec<usize> = (0..shape.variants).collect();
        for last in (1..half.len()).rev() {
            half.swap(last, numbers.below(last as u64 + 1) as usize);
        }
        let mirrored: Vec<usize> = half.iter().chain(half.iter().rev()).copied().collect();
        for variant in mirrored {
            let doubled = 1 + u64::from(block % 2);
            pace = pace * 0.967 + shape.drift * 0.255 * numbers.normal();
            let base = (100e6 + 2.3e5 * variant as f64) * doubled as f64;
            let held_up = if numbers.below(1000) < 15 { 2e6 + 3e8 * numbers.fraction().powi(3) } else { 0.0 };
            let length = base * (1.0 + pace + shape.noise * numbers.normal()) + held_up;
            let ticks = (length / shape.tick).round();
            // Late by as many ticks: how a worker of several comes to have a smaller share.
            let after = |late: u64| Picoseconds(((ticks - late as f64) * shape.tick) as u64);
            let shares = if shape.workers < 2 { 0 } else { shape.workers };
            samples.push(Sample {
                order,
                block,
                variant: variant.into(),
                iterations: (22_000 + 130 * variant as u64) * doubled,
                elapsed: after(0),
                cpu: Cpu(1),
                user: Picoseconds::from_micros((length / 1e6) as u64 + numbers.below(2)),
                involuntary_switches: u32::from(held_up > 1e7),
                shares: (0..shares)
                    .map(|worker| Share {
                        elapsed: after(worker as u64 * 40 + numbers.below(40)),
                        failures: if variant == 0 { 0 } else { 400 + numbers.below(60) },
                    })
                    .collect(),
                ..Sample::default()
            });
            order += 1;
        }
    }
    samples
}

/// A run with one timed cell for each list of samples, and a cell that was refused.
pub(crate) fn run_of(seed: u64, cells: Vec<Vec<Sample>>) -> Run {
    let arrangement = |index: usize| Arrangement {
        label: format!("at {index} threads, \"quoted\""),
        parameters: vec![("threads".into(), index.to_string())],
        cpus: vec![Cpu(1); index.max(1)],
        work: 1 + index as u64,
        epoch: Picoseconds::from_micros(100),
        variants: VariantIndex::range(0..2),
        comparisons: Comparison::of([(VariantIndex(0), VariantIndex(1))]),
        headline: index == 0,
        doubling: true,
        ..Arrangement::default()
    };
    let mut timed: Vec<Cell> = cells
        .into_iter()
        .enumerate()
        .map(|(index, samples)| Cell {
            checks: vec![
                Check { variant: VariantIndex(0), sabotage: false, seen: "sum 1000".into(), met: true },
                Check { variant: VariantIndex(3), sabotage: true, seen: "sum 999".into(), met: false },
            ],
            ended: Some(Ended::Precision),
            gauges: vec![Gauge {
                variant: VariantIndex(1),
                name: "longest starvation".into(),
                reading: Reading::Time(Picoseconds(7)),
            }],
            samples,
            ..Cell::unmeasured(arrangement(index))
        })
        .collect();
    let refusal =
        Refusal { reached: "2 CPUs".into(), needs: "64 CPUs".into(), remedy: "a larger machine".into() };
    timed.push(Cell { refusal: Some(refusal.clone()), ..Cell::unmeasured(arrangement(64)) });
    let trial = |name: &str, cells: Vec<Cell>, refusal: Option<Refusal>| Trial {
        descriptor: descriptor(name),
        refusal,
        cells,
        findings: vec![Finding {
            experiment: name.into(),
            sentence: "a sentence".into(),
            evidence: "seen".into(),
            confidence: "certain".into(),
        }],
    };
    Run {
        provenance: provenance(seed),
        machine: machine(),
        trials: vec![trial("atomics", timed, None), trial("numa", Vec::new(), Some(refusal))],
    }
}

/// A run of a few dozen epochs that touches every column. Different seeds make different runs.
pub(crate) fn small_run(seed: u64) -> Run {
    let blocks = 4 + (seed % 5) as u32;
    let shape = |workers| Shape { variants: 2, blocks, tick: 385.14, noise: 0.01, drift: 0.0, workers };
    run_of(seed, vec![samples(&shape(1), seed), samples(&shape(2), seed ^ 1)])
}

/// A calibration of a few pairs. Different seeds make different calibrations.
pub(crate) fn calibration(seed: u64) -> Calibration {
    let mut numbers = Numbers(seed);
    let mut pair = |layout| Pair {
        truth: 1.01,
        verdict: [Verdict::Different, Verdict::Equivalent, Verdict::Refused][numbers.below(3) as usize],
        measured: (layout != Some(2)).then(|| MeasuredRatio {
            ratio: 1.0 + 0.01 * numbers.normal(),
            interval: Interval { low: numbers.fraction(), high: 1.0 + numbers.fraction() },
        }),
        why: (layout == Some(2)).then(|| "a worker was elsewhere".into()),
        blocks: numbers.below(500) as u32,
        operations: numbers.next(),
        took: Picoseconds(numbers.next()),
        layout,
        process: None,
    };
    let mut series = |purpose, effect, layouts: &[Option<u32>]| Series {
        purpose,
        work: "pipe".into(),
        what: "4 KiB written to a pipe and read back".into(),
        effect,
        margin: 0.03,
        refused: layouts.is_empty().then(|| "one per cent is less than two operations".into()),
        pairs: layouts.iter().map(|layout| pair(*layout)).collect(),
    };
    let series = vec![
        series(Purpose::Ladder, 0.01, &[None; 12]),
        series(Purpose::Ladder, 0.001, &[]),
        series(Purpose::Layout, 0.0, &[Some(0), Some(1), Some(2)]),
        series(Purpose::Truth, 1.0, &[None]),
    ];
    Calibration {
        provenance: provenance(seed),
        machine: machine(),
        load: Load { per_cpu: 2, threads: 4, average: [Some(0.1 + 0.2), None] },
        level: 0.05,
        time: Picoseconds::from_micros(500_000),
        series,
    }
}

fn provenance(seed: u64) -> Provenance {
    Provenance {
        version: "0.1.0".into(),
        build: None,
        started: {
            let (minute, second) = (seed / 60_000 % 60, seed / 1_000 % 60);
            format!("2025-11-21T04:{minute:02}:{second:02}.{:03}Z", seed % 1_000)
        },
        seed,
        effort: Effort::Quick,
        arguments: vec!["run".into(), "atomics".into()],
    }
}

pub(crate) fn descriptor(name: &str) -> Descriptor {
    Descriptor {
        name: name.into(),
        question: "Which instruction scales?".into(),
        requirement: "seed 004 asks".into(),
        specification: "the counter equals the sum".into(),
        subject: "One shared counter".into(),
        variants: vec![
            Variant::measured("lock xadd", "adds"),
            Variant::measured("lock cmpxchg", "compares"),
            Variant::measured("xchg", "exchanges"),
            Variant::sabotage("plain add", "loses"),
        ],
        parameters: vec![Parameter::new("threads", "2", "number of threads")],
        margin: 0.03,
        sources: vec![Source::new("seed 004", "the question")],
        ..Descriptor::default()
    }
}

pub(crate) fn machine() -> Machine {
    Machine {
        architecture: "x86_64".into(),
        cpu_model: Observed::Known("AMD EPYC".into()),
        clock: Observed::Known(Clock {
            name: "tsc".into(),
            // Not a short decimal: its last bit must survive.
            resolution_ps: 1e6 / 2_596.461_7,
            cost_ps: 10_013.6,
            backward_steps: 0,
            cross_readings: 200,
            why: "the kernel keeps time by it".into(),
        }),
        mitigations: Observed::Known(vec![("spectre_v2".into(), "Mitigation: Retpolines".into())]),
        virtualisation: Virtualisation::Hypervisor("kvm".into()),
        cpu_quota: Observed::Known(Some(0.1 + 0.2)),
        memory: Observed::Known(Bytes(24 << 30)),
        load: Observed::Known(1.37),
        ..Machine::unobserved("not in this test")
    }
}
