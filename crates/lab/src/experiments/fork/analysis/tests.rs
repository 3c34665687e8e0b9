//! Laws of which the truth is known, in words.

use tenbin_analysis::specimen::{descriptor, run, samples};
use tenbin_model::{Arrangement, Comparison, Cpu, Ended, Quantity, Run, VariantIndex};

use super::*;
use crate::rehearsal::{refuses, says};

fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    Laws.judge(machine, trial).answers
}

const MIB: [u64; 5] = [0, 4, 16, 64, 256];

/// What something costs, in picoseconds, with so many MiB.
type Cost = fn(f64) -> f64;

/// A way and what it costs.
#[derive(Clone, Copy)]
struct Made {
    name: &'static str,
    way: u64,
    huge: bool,
    cost: Cost,
}

const MADE: [Made; 4] = [
    Made { name: "fork", way: 0, huge: false, cost: |mib| 60e6 + 256.0 * 7e3 * mib },
    Made { name: "fork in huge pages", way: 0, huge: true, cost: |mib| 60e6 + 256.0 * 30.0 * mib },
    Made { name: "vfork", way: 1, huge: false, cost: |_| 25e6 },
    Made { name: "a thread", way: 2, huge: false, cost: |_| 12e6 },
];

fn fork(cost: Cost) -> Made {
    Made { cost, ..MADE[0] }
}

/// So many blocks of every way at every size, with up to this much noise.
fn trial(made: &[Made], blocks: u32, noise: f64) -> Trial {
    use rand::{RngExt, SeedableRng};
    let mut random = rand_pcg::Pcg64Mcg::seed_from_u64(5);
    let mut variants = Vec::new();
    let mut costs = Vec::new();
    for line in made {
        for mib in MIB {
            let name =
                if mib == 0 { line.name.into() } else { format!("{} with {}", line.name, Bytes(mib << 20)) };
            let point = [(PAGES, mib * 256), (HUGE, u64::from(line.huge)), (WAY, line.way)];
            variants.push(Variant::measured(&name, "").at(&point));
            costs.push((line.cost)(mib as f64));
        }
    }
    let measured = VariantIndex::range(0..variants.len());
    variants.push(Variant::sabotage("a fork that shares the memory", ""));
    let order: Vec<VariantIndex> = measured.iter().chain(measured.iter().rev()).copied().collect();
    let samples = samples(blocks, &order, 10, |_, variant| {
        10.0 * costs[variant] * (1.0 + noise * random.random::<f64>())
    });
    let vfork = variants.iter().position(|variant| variant.name == "vfork");
    let arrangement = Arrangement {
        label: "on one CPU".into(),
        cpus: vec![Cpu(0); 10],
        comparisons: Comparison::of(vfork.map(|vfork| (vfork.into(), VariantIndex(0)))),
        variants: measured,
        headline: true,
        ..Arrangement::default()
    };
    let cell = Cell { samples, ended: Some(Ended::Budget), ..Cell::unmeasured(arrangement) };
    let descriptor = Descriptor {
        name: "fork".into(),
        subject: "A new process".into(),
        analysis: Laws.name().into(),
        variants,
        margin: 0.05,
        ..descriptor(Quantity::NanosecondsPerOperation)
    };
    Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() }
}

fn machine() -> Machine {
    Machine { page_size: Bytes(4096), ..Machine::unobserved("a test") }
}

fn judged(made: &[Made], blocks: u32, noise: f64) -> Vec<Answer> {
    answers(&machine(), &trial(made, blocks, noise))
}

#[test]
fn the_headline_is_the_first_law_and_names_what_does_not_grow() {
    let answers = judged(&MADE, 60, 0.01);
    let headline = &answers[0];
    assert!(headline.headline && answers.iter().filter(|answer| answer.headline).count() == 1);
    assert_eq!(headline.verdict, Verdict::Different);
    insta::assert_snapshot!(headline.sentence);
    let figure = |name: &str| headline.figures.iter().find(|figure| figure.name == name).unwrap().value;
    assert!((figure("a resident page") - 7.0).abs() < 0.1 && figure("a resident page, low end") < 7.1);
    assert!((figure("constant") - 60_300.0).abs() < 500.0);
    let grid = &headline.grids[0];
    assert_eq!((grid.rows.len(), grid.columns.len(), grid.columns[0].as_str()), (4, 5, "none"));
    assert!((grid.values[2][4].unwrap() - 25_100.0).abs() < 300.0);
}

#[test]
fn each_way_has_its_verdict_and_the_comparisons_follow() {
    let answers = judged(&MADE, 60, 0.01);
    let verdicts: Vec<(&str, Verdict)> =
        answers.iter().map(|answer| (answer.cell.as_str(), answer.verdict)).collect();
    assert_eq!(
        verdicts,
        [
            ("fork", Verdict::Different),
            // 0.03 ns a page over 65 536 pages are 2 µs of 60: less than the margin.
            ("fork in huge pages", Verdict::Equivalent),
            ("vfork", Verdict::Equivalent),
            ("a thread", Verdict::Equivalent),
            ("on one CPU", Verdict::Different),
        ]
    );
    says(&answers[2].sentence, &["the same at any size up to 256 MiB within 5 %"]);
    let evidence = answers[4].evidence.as_ref().unwrap();
    // A comparison, and for each of four ways two figures and two of each of five sizes.
    assert_eq!(evidence.family, 1 + 4 * 12);
    says(&answers[4].sentence, &["vfork is 2.4"]);
}

#[test]
fn a_bent_law_is_said_and_not_hidden() {
    let knee = fork(|mib| 60e6 + 256.0 * 7e3 * mib + 256.0 * 14e3 * (mib - 64.0).max(0.0));
    let answer = judged(&[knee], 60, 0.01).remove(0);
    assert_eq!(answer.verdict, Verdict::Different);
    insta::assert_snapshot!(answer.sentence);
    // A bump and no trend: neither the same at any size, nor growing.
    let bump = fork(|mib| if mib == 16.0 { 90e6 } else { 60e6 });
    let answer = judged(&[bump], 60, 0.01).remove(0);
    assert_eq!(answer.verdict, Verdict::Refused, "{}", answer.sentence);
    assert!(answer.sentence.contains("with 16 MiB, it costs 49.9 % more"), "{}", answer.sentence);
    assert!(answer.sentence.starts_with("Refused: fork follows no line: with"), "{}", answer.sentence);
}

/// A line can lie level and a size beside it: then that size does not cost the same.
#[test]
fn a_step_is_not_the_same_at_any_size() {
    let steps: [(&str, Cost); 2] = [
        ("with none", |mib| if mib == 0.0 { 100e6 } else { 109e6 }),
        ("with 64 MiB", |mib| if mib == 64.0 { 107e6 } else { 100e6 }),
    ];
    for (size, cost) in steps {
        let ways = [MADE[0], Made { cost, ..MADE[2] }];
        let answers = judged(&ways, 60, 0.01);
        assert_eq!(answers[1].verdict, Verdict::Refused, "{}", answers[1].sentence);
        refuses(answers[1].refusal.as_ref().unwrap(), size, "every size within 5 %", "");
        assert!(!answers[0].sentence.contains("the same at any size"), "{}", answers[0].sentence);
    }
    let small = fork(|mib| if mib == 0.0 { 100e6 } else { 103e6 });
    assert_eq!(judged(&[small], 60, 0.01)[0].verdict, Verdict::Equivalent, "the margin is 5 %");
}

/// What huge pages do is said in the headline, and a bend there is not said to be the same.
#[test]
fn a_bent_sister_is_not_said_to_be_the_same() {
    let headline = |cost| judged(&[MADE[0], Made { cost, ..MADE[1] }], 60, 0.01).remove(0).sentence;
    let bent = headline(|mib| if mib == 16.0 { 90e6 } else { 60e6 });
    assert!(bent.contains("; in huge pages not along one line (with 16 MiB, it costs 4"), "{bent}");
    assert!(!bent.contains("the same at any size"), "{bent}");
    let step = headline(|mib| if mib == 0.0 { 100e6 } else { 109e6 });
    assert!(step.contains("; in huge pages not surely the same at every size (with none "), "{step}");
    assert!(headline(|_| 60e6).contains("; in huge pages the same at any size ("));
}

/// A line that says less than nothing somewhere is no line, and no figure is infinite.
#[test]
fn a_line_below_nothing_is_bent_with_finite_figures() {
    let square = fork(|mib| 1e6 * (1.0 + mib * mib));
    let answer = judged(&[square], 60, 0.01).remove(0);
    assert!(answer.figures.iter().all(|figure| figure.value.is_finite()), "{:?}", answer.figures);
    let bend = "With none, fork costs more than the line through all sizes says, which is nothing or less.";
    assert!(answer.sentence.contains(bend), "{}", answer.sentence);
}

#[test]
fn the_most_is_said_with_three_digits_and_never_too_small() {
    for (value, expected) in
        [(0.000_926_1, "0.000927"), (0.000_93, "0.000930"), (1.234_1, "1.24"), (0.0, "0"), (999.1, "1000")]
    {
        assert_eq!(words::three_digits_up(value), expected);
    }
}

/// Nobody reads 33 739 %: a size that lies so far off its line is told in multiples, and where those mean
/// nothing, in words.
#[test]
fn no_part_of_a_line_is_said_in_thousands_of_percent() {
    use proptest::prelude::*;
    let part = |low, high| Interval { low, high };
    assert_eq!(words::off(part(-0.03, 337.39)), "costs 0.970 to 339 times what is given by");
    assert_eq!(words::off(part(0.0, 0.32)), "lies 0 to 32 % off");
    assert_eq!(words::off(part(-40.0, 3.0)), "lies an unknown way off");
    proptest!(|(low in -1e6..1e6_f64, width in 0.0..1e6_f64)| {
        let text = [words::off(part(low, low + width)), words::parts(part(low, low + width))].join(" ");
        let figures = text.split_whitespace().collect::<Vec<_>>();
        for pair in figures.windows(2).filter(|pair| pair[1] == "%") {
            let figure: f64 = pair[0].parse().unwrap();
            prop_assert!(figure.abs() <= 1000.0, "{}", text);
        }
    });
}

/// Whatever the noise is: its epochs may take hundreds of times as long as the shortest.
#[test]
fn no_sentence_of_a_law_says_an_unusable_figure() {
    for (blocks, noise) in [(20, 0.5), (20, 30.0), (60, 30.0), (20, 2000.0), (60, 2000.0), (120, 2000.0)] {
        for answer in judged(&MADE, blocks, noise) {
            let words: Vec<&str> = answer.sentence.split_whitespace().collect();
            for pair in words.windows(2).filter(|pair| pair[1].starts_with('%')) {
                let figure = pair[0].trim_start_matches('(').parse::<f64>().unwrap();
                assert!(figure.abs() <= 1000.0, "{}", answer.sentence);
            }
            assert!(!answer.sentence.contains("GiB"), "nothing was measured there: {}", answer.sentence);
        }
    }
}

#[test]
fn what_falls_is_said_to_fall() {
    let falls = fork(|mib| 600e6 - 256.0 * 5e3 * mib);
    let answer = judged(&[falls], 60, 0.01).remove(0);
    assert_eq!(answer.verdict, Verdict::Different);
    says(&answer.sentence, &["fork costs 603 µs − 5.0", "less with 256 MiB than with none"]);
}

#[test]
fn noise_and_haste_are_refused_with_figures() {
    let flat = [MADE[2]];
    let noisy = judged(&flat, 20, 3.0).remove(0);
    assert_eq!(noisy.verdict, Verdict::Refused);
    says(&noisy.sentence, &["costs vfork anything is open after 20 blocks: from ", "5 % of the cost"]);
    let hasty = judged(&flat, 3, 0.01).remove(0);
    assert_eq!(hasty.verdict, Verdict::Refused);
    assert!(hasty.sentence.contains("3 blocks were measured. Needs 1"), "{}", hasty.sentence);
    let mut short = trial(&flat, 60, 0.01);
    short.cells[0].arrangement.variants.truncate(2);
    let short = answers(&machine(), &short).remove(0);
    assert!(short.sentence.contains("2 sizes were measured. Needs 3"), "{}", short.sentence);
}

#[test]
fn a_slope_that_changed_meanwhile_is_a_caveat() {
    let mut trial = trial(&MADE[..1], 80, 0.01);
    for sample in trial.cells[0].samples.iter_mut().filter(|sample| sample.block >= 40) {
        sample.elapsed.0 *= 2;
    }
    let answer = answers(&machine(), &trial).remove(0);
    let caveat = answer.caveat.unwrap();
    assert!(caveat.starts_with("It changed while it was measured: a page of 4 KiB cost 7.0"), "{caveat}");
    assert_eq!(judged(&MADE[..1], 80, 0.01)[0].caveat, None);
}

#[test]
fn epochs_that_are_far_apart_are_a_caveat() {
    let caveat = judged(&MADE[..1], 80, 4.0)[0].caveat.clone().unwrap();
    says(&caveat, &["The machine was not quiet: with 256 MiB one epoch in ten took less than"]);
    assert_eq!(judged(&MADE[..1], 80, 0.5)[0].caveat, None);
}

#[test]
fn a_refused_cell_is_refused_whole_and_blocks_are_for_all() {
    let mut trial = trial(&MADE, 60, 0.01);
    let comparisons = trial.family();
    assert!(Laws.least_blocks(&trial.descriptor, comparisons) > votes(trial.descriptor.level, 1));
    assert!(answers(&machine(), &trial)[0].verdict == Verdict::Different);
    let refusal = Refusal { reached: "x".into(), needs: "y".into(), remedy: "z".into() };
    trial.cells[0].refusal = Some(refusal);
    let answers = answers(&machine(), &trial);
    assert_eq!((answers.len(), answers[0].verdict, answers[0].headline), (1, Verdict::Refused, true));
}

#[test]
fn the_table_says_for_each_way_what_memory_does_to_it() {
    let trial = trial(&MADE, 60, 0.01);
    let run = Run { trials: vec![trial], ..run(1.0, machine()) };
    insta::assert_snapshot!(crate::analyses().report(&run, None).sheets[0].text(100));
}
