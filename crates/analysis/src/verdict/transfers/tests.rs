//! Made-up machines of which it is known which pairs are near.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::{Arrangement, Comparison, Ended, Judge, Picoseconds, Quantity, Sample};

use super::*;
use crate::report;
use crate::specimen::{descriptor, sharing};

#[test]
fn an_order_of_pairs_is_as_rare_as_it_is() {
    assert_eq!(by_chance(1, 1), 0.5);
    assert!((by_chance(2, 2) - 1.0 / 6.0).abs() < 1e-12);
    assert!((by_chance(3, 5) - 1.0 / 56.0).abs() < 1e-12);
}

/// A machine of `cpus` CPUs in one package, every `cluster` of which share an L3.
fn machine(cpus: u32, cluster: u32) -> Machine {
    let all: Vec<u32> = (0..cpus).collect();
    sharing(3, &all.chunks(cluster as usize).collect::<Vec<_>>())
}

/// Every pair of `machine`, then the first one again, `drift` times as slow. A pair takes `near` nanoseconds a
/// handover where it shares an L3, else `far`; flags take twice as long as swaps. One epoch in fifty is interrupted.
fn trial(machine: &Machine, near: f64, far: f64, drift: f64) -> Trial {
    let mut random = Pcg64Mcg::seed_from_u64(7);
    let cpus: Vec<Cpu> = machine.cpus.iter().map(|place| place.cpu).collect();
    let pairs = cpus.iter().flat_map(|&one| cpus.iter().map(move |&other| (one, other)));
    let mut places: Vec<(Cpu, Cpu, &str, f64)> =
        pairs.filter(|(one, other)| one < other).map(|(one, other)| (one, other, "", 1.0)).collect();
    places.push((cpus[0], cpus[1], "1", drift));
    let mut cell = |(one, other, control, factor): (Cpu, Cpu, &str, f64)| {
        let base = if shared(machine, one, other) == Shared::Cache(3) { near } else { far };
        let own = base * factor * random.random_range(0.97..1.03);
        let mut samples = Vec::new();
        for block in 0..50 {
            for variant in [0, 1, 1, 0] {
                let late = if random.random_bool(0.02) { 40.0 } else { 1.0 };
                let time = own * f64::from(1 + variant) * random.random_range(0.98..1.02) * late;
                samples.push(Sample {
                    order: samples.len() as u32,
                    block,
                    variant,
                    iterations: 100,
                    elapsed: Picoseconds((time * 200.0 * 1e3) as u64),
                    cpu: one,
                    ..Sample::default()
                });
            }
        }
        Cell {
            arrangement: Arrangement {
                label: format!("between {one} and {other}{control}"),
                parameters: vec![("control".into(), control.into())],
                cpus: vec![one, other],
                work: 2,
                variants: vec![0, 1],
                comparisons: if control.is_empty() { vec![Comparison { left: 0, right: 1 }] } else { vec![] },
                headline: one == cpus[0] && other == cpus[1] && control.is_empty(),
                ..Arrangement::default()
            },
            checks: Vec::new(),
            refusal: None,
            ended: Some(Ended::Budget),
            gauges: Vec::new(),
            samples,
        }
    };
    let cells = places.into_iter().map(&mut cell).collect();
    let descriptor = Descriptor { judge: Judge::Transfers, ..descriptor(Quantity::NanosecondsPerOperation) };
    Trial { descriptor, refusal: None, cells, findings: Vec::new() }
}

#[test]
fn near_pairs_and_far_ones_are_told_apart_and_counted() {
    let machine = machine(8, 4);
    let answers = answers(&machine, &trial(&machine, 30.0, 90.0, 1.02));
    let headline = &answers[0];
    assert_eq!(headline.verdict, Verdict::Different);
    assert_eq!(answers.iter().filter(|answer| answer.headline).count(), 1);
    // 28 pairs with an answer each; the control has none of its own.
    assert_eq!(answers.len(), 1 + 28);
    insta::assert_snapshot!(headline.sentence);
}

#[test]
fn pairs_that_share_the_same_are_not_called_near_or_far() {
    let machine = machine(4, 4);
    let headline = answers(&machine, &trial(&machine, 30.0, 90.0, 1.0)).remove(0);
    assert!(headline.sentence.contains("All 6 pairs share the same"), "{}", headline.sentence);
}

#[test]
fn two_cpus_are_told_what_one_pair_can_say() {
    let machine = machine(2, 2);
    let headline = answers(&machine, &trial(&machine, 30.0, 90.0, 1.0)).remove(0);
    assert_eq!(headline.verdict, Verdict::Different);
    insta::assert_snapshot!(headline.sentence);
}

#[test]
fn classes_that_overlap_and_pairs_that_are_too_few_are_refused() {
    let machine = self::machine(8, 4);
    let alike = answers(&machine, &trial(&machine, 30.0, 30.0, 1.0)).remove(0);
    assert_eq!(alike.verdict, Verdict::Refused);
    assert!(alike.sentence.contains("Needs every pair of the nearest class below"), "{}", alike.sentence);
    // One near pair and two far ones: such an order comes up once in three times.
    let three = self::machine(3, 2);
    let few = answers(&three, &trial(&three, 30.0, 90.0, 1.0)).remove(0);
    assert_eq!(few.verdict, Verdict::Refused);
    assert!(few.sentence.contains("happens by chance in 33.3 %"), "{}", few.sentence);
}

#[test]
fn a_control_pair_that_drifted_keeps_classes_from_being_compared() {
    let machine = machine(8, 4);
    let headline = answers(&machine, &trial(&machine, 30.0, 90.0, 1.5)).remove(0);
    assert_eq!(headline.verdict, Verdict::Refused);
    assert!(headline.sentence.contains("within 1.25x of itself"), "{}", headline.sentence);
    let pair = self::machine(2, 2);
    let headline = answers(&pair, &trial(&pair, 30.0, 90.0, 1.5)).remove(0);
    let caveat = headline.caveat.unwrap();
    assert!(caveat.contains("as long at one time as at another"), "{caveat}");
}

#[test]
fn the_map_and_the_classes_are_shown() {
    let machine = machine(6, 3);
    let trial = trial(&machine, 30.0, 90.0, 1.0);
    let mut run = crate::specimen::run(1.0, machine);
    run.trials = vec![trial];
    let report = crate::verdict::report(&run, None);
    let name = run.trials[0].descriptor.name.clone();
    insta::assert_snapshot!(report::trial(&run, &report, &name, 100));
}
