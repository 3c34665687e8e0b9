//! Cells as a run keeps them, and what is said of them.

use tenbin_model::{Arrangement, Descriptor, Picoseconds, Sample, VariantIndex};

use super::distance::node;
use super::*;
use crate::rehearsal::{refuses, says};

const MIB: u64 = 1 << 20;

/// Times in picoseconds an access, each with the variant that took it.
type Epoch = (VariantIndex, u64);

fn pair(reader: u32, home: u32) -> Variant {
    let at = [(READER, u64::from(reader)), (HOME, u64::from(home))];
    Variant::measured(&format!("CPU {reader} in CPU {home}'s memory"), "a test").at(&at)
}

fn again(number: u64) -> Variant {
    Variant::measured("CPU 0 again", "a test").at(&[(READER, 0), (HOME, 0), (REPEAT, number)])
}

fn answer(
    variants: Vec<Variant>,
    blocks: &[Vec<Epoch>],
    parameters: &[(&str, u64)],
    nodes: &[Node],
) -> Answer {
    let machine = Machine { nodes: Observed::Known(nodes.to_vec()), ..Machine::unobserved("a test") };
    let mut samples = Vec::new();
    for (block, epochs) in (0..).zip(blocks) {
        samples.extend(epochs.iter().map(|&(variant, time)| Sample {
            block,
            variant,
            iterations: 1_000,
            elapsed: Picoseconds(1_000 * time),
            ..Sample::default()
        }));
    }
    let arrangement = Arrangement {
        label: "a cell".into(),
        parameters: parameters.iter().map(|(name, value)| ((*name).into(), value.to_string())).collect(),
        variants: VariantIndex::range(0..variants.len()),
        headline: true,
        ..Arrangement::default()
    };
    let descriptor = Descriptor { analysis: Nearness.name().into(), variants, ..Descriptor::default() };
    let cell = Cell { samples, ..Cell::unmeasured(arrangement) };
    let trial = Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() };
    let mut answers = Nearness.judge(&machine, &trial).answers;
    assert_eq!(answers.len(), 1);
    answers.remove(0)
}

/// A time near to `time`, with a pattern in place of noise: at most 0.6 % more.
fn near(time: u64, block: usize, variant: usize) -> u64 {
    time + time * ((block * 5 + variant * 3) % 7) as u64 / 1_000
}

/// Eight readers in the memory of CPU 0 and CPU 4, in ten blocks; `time` is of reader and home.
fn matrix_of(time: impl Fn(u32, u32) -> u64, parameters: &[(&str, u64)], nodes: &[Node]) -> Answer {
    let pairs: Vec<(u32, u32)> =
        [0, 4].into_iter().flat_map(|home| (0..8).map(move |reader| (reader, home))).collect();
    let variants = pairs.iter().map(|&(reader, home)| pair(reader, home)).collect();
    let block = |block: usize| {
        let epoch = |(variant, &(reader, home)): (usize, &(u32, u32))| {
            (variant.into(), near(time(reader, home), block, variant))
        };
        pairs.iter().enumerate().map(epoch).collect()
    };
    answer(variants, &(0..10).map(block).collect::<Vec<_>>(), parameters, nodes)
}

/// The other half's memory takes `far` instead of 100 ns.
fn matrix(far: u64, parameters: &[(&str, u64)], nodes: &[Node]) -> Answer {
    matrix_of(|reader, home| if reader / 4 == home / 4 { 100_000 } else { far }, parameters, nodes)
}

/// Eight cores at one buffer, twice a block, and as many variants of what CPU 0 repeats. Four cores take
/// `far` instead of 37 ns, and the repeats begin in block `repeats_from`.
fn column(far: u64, blocks: usize, repeats_from: usize) -> Answer {
    let variants = (0..8).map(|reader| pair(reader, 0)).chain((0..8).map(again)).collect();
    let block = |block: usize| {
        let planned = (0..16).chain((0..16).rev()).filter(|variant| *variant < 8 || block >= repeats_from);
        let epoch = |variant: usize| {
            (variant.into(), near(if (4..8).contains(&variant) { far } else { 37_000 }, block, variant))
        };
        planned.map(epoch).collect()
    };
    let blocks: Vec<Vec<Epoch>> = (0..blocks).map(block).collect();
    answer(variants, &blocks, &[("buffer", 16 * MIB), ("beyond", 16 * MIB)], &[])
}

const LARGE: &[(&str, u64)] = &[("buffer", 64 * MIB), ("beyond", 64 * MIB)];

#[test]
fn buffers_that_a_cache_may_hold_are_never_called_alike() {
    let large = matrix(100_000, LARGE, &[]);
    assert_eq!(large.verdict, Verdict::Equivalent, "{}", large.sentence);
    says(&large.sentence, &["A buffer holds 64 MiB; from 64 MiB on no cache helps."]);
    for (parameters, reached, needs) in [
        (&[("buffer", MIB), ("beyond", 16 * MIB)][..], "buffers of 1 MiB", "at least 16 MiB"),
        (&[("buffer", 1024 * MIB)][..], "the last cache is not known", "4 times the last cache"),
        (&[][..], "unknown size", "4 times the last cache"),
    ] {
        let small = matrix(100_000, parameters, &[]);
        assert_eq!(small.verdict, Verdict::Refused, "{}", small.sentence);
        refuses(&small.refusal.unwrap(), reached, needs, "");
        says(&small.sentence, &["neither confirms nor contradicts"]);
        assert!(!small.sentence.contains("A buffer holds") && small.caveat.is_none(), "it is said once");
    }
}

#[test]
fn a_gap_in_small_buffers_is_said_with_its_caveat() {
    let large = matrix(142_000, LARGE, &[]);
    assert_eq!((large.verdict, large.caveat), (Verdict::Different, None), "{}", large.sentence);
    let small = matrix(142_000, &[("buffer", MIB), ("beyond", 16 * MIB)], &[]);
    assert_eq!(small.verdict, Verdict::Different);
    assert!(small.sentence.contains("A buffer holds 1 MiB; caches help up to 16 MiB."), "{}", small.sentence);
    assert!(small.caveat.unwrap().contains("caches"));
}

#[test]
fn nodes_that_nobody_read_are_not_spoken_for() {
    let sentence = matrix(100_000, LARGE, &[node(0, 0..64), node(1, 64..128)]).sentence;
    let readers = "names 2 nodes, and the readers are on 1 of them";
    says(&sentence, &[readers, "no way between nodes was tried"]);
    let parameters = [LARGE, &[("unread", 120)]].concat();
    assert!(matrix(100_000, &parameters, &[]).sentence.contains("120 other CPUs"));
}

#[test]
fn one_buffer_is_alike_where_repetition_explains_the_cores() {
    let alike = column(37_000, 20, 0);
    assert_eq!(alike.verdict, Verdict::Equivalent, "{}", alike.sentence);
    assert!(alike.caveat.unwrap().contains("faster"));
    let far = column(39_220, 20, 0);
    assert_eq!(far.verdict, Verdict::Refused, "{}", far.sentence);
    assert!(far.refusal.unwrap().needs.contains("second buffer"));
    assert!(far.sentence.contains("A buffer holds 16 MiB"), "{}", far.sentence);
    assert_eq!(far.caveat, None);
}

/// By what was planned, and not by what there is: by swap the cell would be refused for its two CPUs or its
/// homes.
#[test]
fn a_column_cut_before_anything_was_repeated_is_still_one() {
    let cut = column(37_000, 3, 3);
    let refusal = cut.refusal.unwrap();
    assert_eq!(cut.verdict, Verdict::Refused);
    assert!(refusal.reached.contains("8 cores and 0 repetitions of one"), "{refusal:?}");
    // Cut in the middle: the variants that repeated have fewer epochs than a core, and give no value.
    let cut = column(37_000, 6, 3);
    assert!(cut.refusal.unwrap().reached.contains("0 repetitions"));
}

#[test]
fn slow_cores_are_not_alike_where_memory_cannot_be_chosen() {
    let node = |number: u32| node(number, 4 * number..4 * number + 4);
    let slow_half = |slow: u64, nodes: &[Node]| {
        matrix_of(|reader, _| if reader < 4 { 100_000 } else { slow }, LARGE, nodes)
    };
    assert_eq!(slow_half(100_000, &[node(0)]).verdict, Verdict::Equivalent);
    let two = slow_half(140_000, &[node(0), node(1)]);
    assert_eq!(
        two.verdict,
        Verdict::Equivalent,
        "with two nodes a slow core is a slow core: {}",
        two.sentence
    );
    for nodes in [&[node(0)][..], &[]] {
        let hidden = slow_half(140_000, nodes);
        assert_eq!(hidden.verdict, Verdict::Refused);
        assert!(hidden.sentence.contains("the cores differ by 40"), "{}", hidden.sentence);
    }
}
