use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::{Ended, Machine, Quantity, Trial, Verdict};

use super::*;
use crate::weigh::{COMMANDS, Question};

/// What is said of two commands above `start` that are weighed by this quantity, of samples by block and
/// variant.
fn judged(quantity: Quantity, samples: impl IntoIterator<Item = (u32, usize, Sample)>) -> Answer {
    let asked = Question {
        commands: vec!["true a".into(), "true b".into()],
        above: Some("true".into()),
        quantities: vec![quantity],
        ..Question::default()
    };
    let weighing = asked.read().unwrap();
    let samples = samples.into_iter().zip(0..).map(|((block, variant, sample), order)| Sample {
        order,
        block,
        variant: VariantIndex::from(variant),
        iterations: 1,
        ..sample
    });
    let cell = Cell {
        ended: Some(Ended::Budget),
        samples: samples.collect(),
        ..Cell::unmeasured(weighing.arrangement.clone())
    };
    let trial =
        Trial { descriptor: weighing.describe(), refusal: None, cells: vec![cell], findings: Vec::new() };
    COMMANDS.judge(&Machine::unobserved("made up"), &trial).answers.remove(0)
}

/// What two commands are said to need above `start`, measured on a machine that is made up: `work` is what
/// each of them needs beyond a start of 20 ms, in milliseconds. Each run varies by half a millisecond, and
/// one of twenty is held up by 30 ms.
fn weighed(work: [f64; 2], blocks: u32, seed: u64) -> Answer {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut samples = Vec::new();
    for block in 0..blocks {
        let mut order = [0, 1, 2];
        if random.random_bool(0.5) {
            order.reverse();
        }
        for &variant in order.iter().chain(order.iter().rev()) {
            let held_up = if random.random_bool(0.05) { 30.0 } else { 0.0 };
            let work = work.get(variant).copied().unwrap_or(0.0);
            let milliseconds = 20.0 + work + 0.5 * random.random::<f64>() + held_up;
            let elapsed = Picoseconds((milliseconds * 1e9) as u64);
            samples.push((block, variant, Sample { elapsed, ..Sample::default() }));
        }
    }
    judged(Quantity::WallTime, samples)
}

#[test]
fn equal_work_is_not_told_apart_by_a_start_that_is_held_up() {
    let verdicts: Vec<Verdict> = (0..200).map(|seed| weighed([5.0, 5.0], 100, seed).verdict).collect();
    let different = verdicts.iter().filter(|verdict| **verdict == Verdict::Different).count();
    assert!(different <= 2, "{different} of 200");
}

#[test]
fn the_ratio_is_that_of_the_work() {
    for seed in 0..50 {
        let answer = weighed([5.0, 10.0], 100, seed);
        let evidence = answer.evidence.unwrap();
        assert_eq!(answer.verdict, Verdict::Different, "{}", answer.sentence);
        assert!(answer.sentence.starts_with("Above `true`, `true a` is "), "{}", answer.sentence);
        let interval = evidence.interval;
        assert!(
            (1.9..2.1).contains(&evidence.ratio) && interval.low < 2.0 && interval.high > 2.0,
            "{interval:?}"
        );
    }
}

#[test]
fn memory_that_is_no_more_than_that_of_the_start_is_refused() {
    let elapsed = Picoseconds(1_000_000_000);
    let samples = (0..20).flat_map(|block| {
        [(0, 40 << 20), (1, 5 << 20), (2, 10 << 20)].repeat(2).into_iter().map(move |(variant, peak)| {
            (block, variant, Sample { elapsed, peak_memory: Some(peak), ..Sample::default() })
        })
    });
    let answer = judged(Quantity::PeakMemory, samples);
    assert_eq!(answer.verdict, Verdict::Refused);
    assert!(answer.sentence.starts_with("Refused: `true b` needed no more peak memory"), "{answer:?}");
}

#[test]
fn work_that_is_lost_in_the_start_is_refused() {
    let answer = weighed([0.05, 0.1], 100, 1);
    assert_eq!(answer.verdict, Verdict::Refused);
    assert!(
        answer.sentence.starts_with("Refused: `true a` needed no more time than `true` in "),
        "{answer:?}"
    );
    assert!(answer.evidence.is_none());
}
