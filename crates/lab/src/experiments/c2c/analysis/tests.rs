//! Made-up machines of which it is known which pairs are near.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_analysis::specimen::{descriptor, run, samples, sharing};
use tenbin_model::machine::Virtualisation;
use tenbin_model::{Arrangement, Comparison, Ended, Picoseconds, Quantity, Run, Shared, Variant};

use super::super::{FLAGS, SWAP};
use super::*;

fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    Transfers.judge(machine, trial).answers
}

/// A machine of `cpus` CPUs in one package, every `cluster` of which share an L3.
fn machine(cpus: u32, cluster: u32) -> Machine {
    let all: Vec<u32> = (0..cpus).collect();
    sharing(3, &all.chunks(cluster as usize).collect::<Vec<_>>())
}

/// Every pair of `machine`, then the first one again, `drift` times as slow. A pair takes `near` nanoseconds
/// a handover where it shares an L3, else `far`; flags take twice as long as swaps. One epoch in fifty is
/// interrupted.
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
        let samples = samples(50, &[SWAP, FLAGS, FLAGS, SWAP], 100, |_, variant| {
            let late = if random.random_bool(0.02) { 40.0 } else { 1.0 };
            own * f64::from(1 + variant.0) * random.random_range(0.98..1.02) * late * 200.0 * 1e3
        });
        let arrangement = Arrangement {
            label: format!("between {one} and {other}{control}"),
            parameters: vec![("control".into(), control.into())],
            cpus: vec![one, other],
            work: 2,
            variants: vec![SWAP, FLAGS],
            comparisons: Comparison::of(control.is_empty().then_some((SWAP, FLAGS))),
            headline: one == cpus[0] && other == cpus[1] && control.is_empty(),
            ..Arrangement::default()
        };
        Cell { samples, ended: Some(Ended::Budget), ..Cell::unmeasured(arrangement) }
    };
    let cells = places.into_iter().map(&mut cell).collect();
    let descriptor =
        Descriptor { analysis: Transfers.name().into(), ..descriptor(Quantity::NanosecondsPerOperation) };
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
fn two_cpus_are_told_what_one_pair_can_say() {
    let machine = machine(2, 2);
    let headline = answers(&machine, &trial(&machine, 30.0, 90.0, 1.0)).remove(0);
    assert_eq!(headline.verdict, Verdict::Different);
    insta::assert_snapshot!(headline.sentence);
}

#[test]
fn classes_that_are_alike_are_so_and_too_few_cpus_are_refused() {
    let machine = self::machine(16, 8);
    let mut flat = trial(&machine, 30.0, 30.0, 1.0);
    let unknown = answers(&machine, &flat).remove(0);
    assert_eq!(unknown.verdict, Verdict::Refused);
    insta::assert_snapshot!("a_gap_too_small_to_be_known", unknown.sentence);
    flat.descriptor.margin = 0.05;
    let alike = answers(&machine, &flat).remove(0);
    assert_eq!(alike.verdict, Verdict::Equivalent);
    assert!(alike.sentence.contains("the same within 5 %"), "{}", alike.sentence);
    // One near pair and two far ones: the CPU that is far may be slow.
    let three = self::machine(3, 2);
    let few = answers(&three, &trial(&three, 30.0, 90.0, 1.0)).remove(0);
    assert_eq!(few.verdict, Verdict::Refused);
    insta::assert_snapshot!(few.sentence);
}

/// Slows the epochs of all cells that `slow` says, by so much.
fn slowed(trial: &mut Trial, slow: impl Fn(&Arrangement) -> f64) {
    for cell in &mut trial.cells {
        let factor = slow(&cell.arrangement);
        for sample in &mut cell.samples {
            sample.elapsed = Picoseconds((sample.elapsed.0 as f64 * factor) as u64);
        }
    }
}

#[test]
fn a_slow_cpu_is_not_taken_for_a_far_one() {
    // Alone in its L3: its 7 pairs are the farthest and the slowest, and it is not known why.
    let alone = sharing(3, &[&[0, 1, 2, 3, 4, 5, 6], &[7]]);
    let mut lone = trial(&alone, 30.0, 30.0, 1.0);
    let of_seven = |arrangement: &Arrangement| if arrangement.cpus.contains(&Cpu(7)) { 2.0 } else { 1.0 };
    slowed(&mut lone, of_seven);
    let headline = answers(&alone, &lone).remove(0);
    assert_eq!(headline.verdict, Verdict::Refused);
    assert!(headline.sentence.contains("a slow CPU and a far one"), "{}", headline.sentence);
    // Among others: its slowness leaves the classes what they are.
    let machine = machine(8, 4);
    let mut flat = trial(&machine, 30.0, 30.0, 1.0);
    slowed(&mut flat, of_seven);
    assert_eq!(answers(&machine, &flat).remove(0).verdict, Verdict::Refused);
    let mut far = trial(&machine, 30.0, 90.0, 1.0);
    slowed(&mut far, of_seven);
    let headline = answers(&machine, &far).remove(0);
    assert_eq!(headline.verdict, Verdict::Different);
    let factor = headline.figures.iter().find(|figure| figure.name.ends_with(": factor")).unwrap().value;
    assert!((factor / 3.0 - 1.0).abs() < 0.05, "{factor}");
}

#[test]
fn one_disturbed_pair_of_two_thousand_changes_nothing() {
    let machine = machine(64, 8);
    let mut trial = trial(&machine, 30.0, 36.0, 1.0);
    slowed(&mut trial, |arrangement| {
        let disturbed = arrangement.cpus == [Cpu(2), Cpu(3)];
        if disturbed { 20.0 } else { 1.0 }
    });
    let headline = answers(&machine, &trial).remove(0);
    assert_eq!(headline.verdict, Verdict::Different, "{}", headline.sentence);
    insta::assert_snapshot!(headline.sentence);
}

fn refuse(cell: &mut Cell) {
    cell.refusal = Some(Refusal {
        reached: "a round trip was lost".into(),
        needs: "every round trip".into(),
        remedy: "look at the protocol".into(),
    });
}

#[test]
fn a_cell_that_was_refused_midway_gives_no_figures() {
    // Refused cells keep the samples that were taken before.
    let machine = machine(4, 4);
    let mut trial = trial(&machine, 30.0, 90.0, 1.0);
    refuse(&mut trial.cells[0]);
    slowed(&mut trial, |arrangement| if arrangement.label == "between CPU 0 and CPU 1" { 9.0 } else { 1.0 });
    let answers = self::answers(&machine, &trial);
    let headline = &answers[0];
    // The pair of the figures is the pair of the verdict.
    assert!(headline.sentence.starts_with("Between CPU 0 and CPU 2,"), "{}", headline.sentence);
    assert_eq!((headline.verdict, headline.evidence.is_some()), (Verdict::Different, true));
    assert!(headline.sentence.contains("All 5 pairs share the same"), "{}", headline.sentence);
    assert!(headline.grids[0].values[0][1].is_none() && headline.grids[0].values[0][2].is_some());
    // Its control was measured once, then.
    assert!(headline.caveat.as_ref().unwrap().contains("no control pair"), "{:?}", headline.caveat);
    for cell in &mut trial.cells {
        refuse(cell);
    }
    let answers = self::answers(&machine, &trial);
    assert!(answers.iter().all(|answer| answer.verdict == Verdict::Refused && answer.figures.is_empty()));
    assert_eq!(answers.iter().filter(|answer| answer.headline).count(), 1);
}

#[test]
fn protocols_that_cannot_be_told_apart_still_have_their_figures() {
    let machine = machine(2, 2);
    let mut trial = trial(&machine, 30.0, 90.0, 1.0);
    for cell in &mut trial.cells {
        cell.samples.truncate(24);
    }
    let headline = answers(&machine, &trial).remove(0);
    assert_eq!(headline.verdict, Verdict::Refused);
    assert!(headline.refusal.is_some());
    insta::assert_snapshot!(headline.sentence);
}

#[test]
fn without_a_control_classes_are_not_compared() {
    let machine = machine(8, 4);
    let mut trial = trial(&machine, 30.0, 90.0, 1.0);
    trial.cells.pop();
    let headline = answers(&machine, &trial).remove(0);
    assert_eq!(headline.verdict, Verdict::Refused);
    assert!(headline.figures.iter().all(|figure| !figure.name.contains("drift")));
    insta::assert_snapshot!(headline.sentence);
}

#[test]
fn on_a_virtual_machine_every_headline_says_so() {
    for (far, cpus, cluster) in [(90.0, 8, 4), (30.0, 8, 4), (90.0, 4, 4)] {
        let mut machine = machine(cpus, cluster);
        machine.virtualisation = Virtualisation::Hypervisor("made up".into());
        let headline = answers(&machine, &trial(&machine, 30.0, far, 1.0)).remove(0);
        assert!(headline.caveat.as_ref().unwrap().starts_with("Holds while the host"), "{headline:?}");
    }
}

#[test]
fn a_description_that_names_no_measured_protocol_is_survived() {
    let machine = machine(8, 4);
    let mut trial = trial(&machine, 30.0, 90.0, 1.0);
    trial.descriptor.variants = vec![Variant::sabotage("planted", ""); 2];
    assert_eq!(answers(&machine, &trial).remove(0).verdict, Verdict::Refused);
    for cell in &mut trial.cells {
        cell.arrangement.variants.clear();
        cell.arrangement.comparisons.clear();
    }
    assert!(answers(&machine, &trial).is_empty());
}

#[test]
fn a_control_pair_that_drifted_keeps_classes_from_comparison() {
    let machine = machine(8, 4);
    let headline = answers(&machine, &trial(&machine, 30.0, 90.0, 1.5)).remove(0);
    assert_eq!(headline.verdict, Verdict::Refused);
    assert!(headline.sentence.contains("within 1.25x of itself"), "{}", headline.sentence);
    let pair = self::machine(2, 2);
    let mut drifted = trial(&pair, 30.0, 90.0, 1.5);
    for blocks in [200, 24] {
        drifted.cells.iter_mut().for_each(|cell| cell.samples.truncate(blocks));
        let caveat = answers(&pair, &drifted).remove(0).caveat.unwrap();
        assert!(caveat.contains("as long at one time as at another"), "{caveat}");
    }
}

#[test]
fn the_map_and_the_classes_are_shown() {
    let machine = machine(6, 3);
    let trial = trial(&machine, 30.0, 90.0, 1.0);
    let run = Run { trials: vec![trial], ..run(1.0, machine) };
    insta::assert_snapshot!(crate::analyses().report(&run, None).sheets[0].text(100));
}
