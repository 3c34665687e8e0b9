//! Lateness that is made up, so that the truth about it is known.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_analysis::specimen::{cell, descriptor, run, samples, trial};
use tenbin_model::{Arrangement, Comparison, Cpu, Ended, Quantity, Refusal, Run, Variant, VariantIndex};

use super::*;
use crate::rehearsal::says;

const TIMERFD: Called = ("timerfd", None, 6_000.0);
const SLEEP: Called = ("clock_nanosleep", Some(50_000), 56_000.0);
const LEAST: Called = ("clock_nanosleep with 1 ns of slack", Some(1), 6_200.0);

/// A way to be called: its name, its slack in nanoseconds if it has any, and its lateness at the least in
/// nanoseconds.
type Called = (&'static str, Option<u64>, f64);

/// A cell of timers and the description that goes with it. Each firing of a way is late by the least of that
/// way and by up to a tenth more; one in fifty is preempted and comes a millisecond later. The first way is
/// weighed against the second, and then the third, if there is one.
fn late(ways: &[Called], blocks: u32, seed: u64) -> Trial {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let order: Vec<VariantIndex> = (0..ways.len()).chain((0..ways.len()).rev()).map(Into::into).collect();
    let samples = samples(blocks, &order, 1, |_, variant| {
        let preempted = if random.random_bool(0.02) { 1e6 } else { 0.0 };
        (ways[variant.place()].2 * (1.0 + 0.1 * random.random::<f64>()) + preempted) * 1e3
    });
    let pairs = [(0, 1), (2, 1)].map(|(left, right)| (VariantIndex(left), VariantIndex(right)));
    let comparisons = Comparison::of(pairs.into_iter().take(ways.len() - 1));
    let arrangement = Arrangement {
        label: "armed for 1 ms".into(),
        cpus: vec![Cpu(0); ways.len()],
        variants: VariantIndex::range(0..ways.len()),
        comparisons,
        headline: true,
        ..Arrangement::default()
    };
    let variant = |&(name, slack, _): &Called| {
        let variant = Variant::measured(name, "");
        slack.map_or(variant.clone(), |slack| variant.at(&[(SLACK, slack)]))
    };
    Trial {
        descriptor: Descriptor {
            name: "timer".into(),
            question: "When does a timer of T fire?".into(),
            subject: "A timer".into(),
            analysis: Lateness.name().into(),
            variants: ways.iter().map(variant).collect(),
            margin: 0.05,
            ..descriptor(Quantity::Lateness)
        },
        ..trial(
            Quantity::Lateness,
            vec![Cell { arrangement, samples, ..cell(0, 1.0, 0.0, Ended::Budget, 0) }],
        )
    }
}

fn judged(trial: &Trial) -> Vec<Answer> {
    Lateness.judge(&Machine::unobserved("a test"), trial).answers
}

fn first(ways: &[Called], blocks: u32) -> Answer {
    judged(&late(ways, blocks, 3)).remove(0)
}

fn figure(answer: &Answer, name: &str) -> Option<f64> {
    answer.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
}

#[test]
fn medians_and_tails_are_those_of_the_events() {
    let answer = first(&[TIMERFD, SLEEP, LEAST], 1_000);
    for (name, least, _) in [TIMERFD, SLEEP, LEAST].map(|(name, _, least)| (name, least, ())) {
        let read = |what: &str| figure(&answer, &format!("{name}: {what}")).unwrap();
        assert_eq!(read("firings"), 2_000.0);
        // Uniform over a tenth, and a fiftieth of all a millisecond later.
        for (what, truth) in [
            ("median lateness", 1.0 + 0.1 * 0.5 / 0.98),
            ("p5", 1.0 + 0.1 * 0.05 / 0.98),
            ("p95", 1.0 + 0.1 * 0.95 / 0.98),
        ] {
            let lateness = read(what) / least;
            assert!((lateness - truth).abs() < 0.004, "{name} {what}: {lateness} and not {truth}");
        }
        assert!(read("p99") >= 1e6 && read("worst") >= read("p99"));
        let (low, high) = (read("median lateness, low end"), read("median lateness, high end"));
        assert!(low <= read("median lateness") && read("median lateness") <= high);
    }
    assert!(answer.figures.iter().all(|figure| figure.unit == "ns" || figure.name.ends_with("firings")));
}

/// The interval of a median misses no more often than its level says, where the true median is known.
#[test]
fn the_interval_of_a_median_holds_the_truth() {
    const TRIALS: u64 = 400;
    let truth = 6_000.0 * (1.0 + 0.1 * 0.5 / 0.98);
    let missed = (0..TRIALS).filter(|&seed| {
        let trial = late(&[TIMERFD, SLEEP], 40, seed);
        let within = Late::all(&trial, &trial.cells[0])[0].within.unwrap();
        !(within.low..=within.high).contains(&truth)
    });
    // At 1 % of 400 trials, more than 12 have a probability below one in a thousand.
    assert!(missed.count() <= 12);
}

/// Equals are called different no more often than the level says, tails and all.
#[test]
fn equals_are_seldom_called_different() {
    const TRIALS: u64 = 400;
    let other = ("the same", None, TIMERFD.2);
    let verdicts: Vec<Verdict> =
        (0..TRIALS).map(|seed| judged(&late(&[TIMERFD, other], 150, seed))[0].verdict).collect();
    let count = |wanted| verdicts.iter().filter(|&&verdict| verdict == wanted).count();
    assert!(count(Verdict::Different) <= 12, "{} of {TRIALS}", count(Verdict::Different));
    assert!(count(Verdict::Equivalent) > TRIALS as usize * 9 / 10, "and most are seen to be equal");
}

#[test]
fn a_tail_is_told_from_so_many_events_on() {
    // Wilks' table for 95 % confidence, one side.
    for (tail, events) in [(0.1, 29), (0.05, 59), (0.01, 299)] {
        assert_eq!((tells_tail(events - 1, tail), tells_tail(events, tail)), (false, true), "{tail}");
    }
    assert!(tells_tail(2 * BLOCKS_FOR_TAILS as usize, 0.01));
    for (blocks, named, absent) in [
        (150, "(median of 300; p5 ", "p95"),
        (149, " to p95 ", "p99"),
        (30, " to p95 ", "p99"),
        (29, "(median; the smallest of 58 is ", "p95"),
        (4, "the smallest of 8 is ", "p5 "),
    ] {
        let answer = first(&[TIMERFD, SLEEP], blocks);
        assert!(answer.sentence.contains(named), "{blocks}: {}", answer.sentence);
        assert!(!answer.sentence.contains(absent), "{blocks}: {}", answer.sentence);
        let has_p99 = figure(&answer, "timerfd: p99").is_some();
        assert_eq!(
            (has_p99, figure(&answer, "timerfd: p95").is_some()),
            (blocks >= 150, blocks >= 30),
            "{blocks}"
        );
        assert!(figure(&answer, "timerfd: worst").is_some(), "the worst is always told");
    }
}

#[test]
fn the_sentence_says_the_times_the_ratio_and_what_explains_it() {
    let answer = first(&[TIMERFD, SLEEP, LEAST], 200);
    assert_eq!(answer.verdict, Verdict::Different);
    let sentence = &answer.sentence;
    assert!(sentence.starts_with("A timer armed for 1 ms fires 6.3"), "{sentence}");
    let parts = [
        " µs late with timerfd (median of 400; p5 6.0",
        " µs late with clock_nanosleep (median of 400; p5 56.",
        "; timerfd is 9.3",
        "x less late than clock_nanosleep (9.",
        ". Timer slack of 50 µs explains it: with 1 ns of slack, clock_nanosleep is 6.5",
    ];
    says(sentence, &parts);
    let others = judged(&late(&[TIMERFD, SLEEP, LEAST], 200, 3));
    assert!(others[1].sentence.contains("with 1 ns of slack is 9"), "{}", others[1].sentence);
    assert!(others[1].figures.is_empty() && !others[1].headline);
}

#[test]
fn slack_explains_only_what_goes_away_with_it() {
    let least = |lateness| ("least", Some(1), lateness);
    let table = [
        ("all of it goes", SLEEP, LEAST, true),
        ("nothing goes", SLEEP, least(56_000.0), false),
        ("more goes than slack can hold", ("a sleep", Some(50_000), 500_000.0), LEAST, false),
        ("it gets worse", SLEEP, least(90_000.0), false),
        ("half goes", SLEEP, least(30_000.0), false),
        ("the second was not later", ("a sleep", Some(50_000), 5_000.0), least(4_000.0), false),
    ];
    for (name, second, third, explains) in table {
        let sentence = first(&[TIMERFD, second, third], 200).sentence;
        assert_eq!(sentence.contains("explains it"), explains, "{name}: {sentence}");
        assert_eq!(sentence.contains("With 1 ns of slack instead of 50 µs"), !explains, "{name}: {sentence}");
    }
    for without in [vec![TIMERFD, SLEEP], vec![TIMERFD, SLEEP, ("another", None, 6_000.0)]] {
        let sentence = first(&without, 200).sentence;
        assert!(!sentence.contains("slack"), "{sentence}");
    }
}

#[test]
fn the_later_one_may_stand_first_and_equals_are_called_equal() {
    let later = first(&[SLEEP, TIMERFD], 200).sentence;
    assert!(later.contains("clock_nanosleep is 9.") && later.contains("x as late as timerfd"), "{later}");
    let near = first(&[("one", None, 6_000.0), ("other", None, 6_400.0)], 2_000).sentence;
    assert!(near.contains("one is 6.") && near.contains(" % less late than other ("), "{near}");
    let equal = first(&[TIMERFD, ("the same", None, 6_000.0)], 400);
    assert_eq!(equal.verdict, Verdict::Equivalent);
    says(&equal.sentence, &["; both are equally late within 5 % (ratio ", "; a difference of "]);
    assert!(!equal.sentence.contains("below that margin"), "{}", equal.sentence);
    let near = first(&[TIMERFD, ("the same, nearly", None, 6_180.0)], 2_000);
    assert_eq!(near.verdict, Verdict::Equivalent);
    says(&near.sentence, &[", a difference below that margin; a difference of "]);
}

#[test]
fn times_are_said_where_the_comparison_is_refused() {
    let answer = first(&[TIMERFD, SLEEP], 4);
    assert_eq!((answer.verdict, answer.evidence.is_none()), (Verdict::Refused, true));
    says(&answer.sentence, &["A timer armed for 1 ms fires 6.", "largest"]);
    says(&answer.sentence, &[". Which is less late was refused: timerfd and clock_nanosleep were"]);
    assert_eq!(figure(&answer, "timerfd: firings"), Some(8.0));
    // Enough blocks, and still no telling.
    let wide = first(&[TIMERFD, ("other", None, 6_100.0)], 12);
    says(&wide.sentence, &["was refused: other is anything from", "times as late as"]);
}

#[test]
fn what_was_taken_before_a_refusal_is_no_figure() {
    let mut trial = late(&[TIMERFD, SLEEP], 200, 1);
    let refusal = Refusal {
        reached: "implementation error: `timerfd` broke the specification (timerfd of 1.00 ms fired 3.00 µs before its time)"
            .into(),
        needs: "a timer that waits".into(),
        remedy: "mend it".into(),
    };
    trial.cells[0].refusal = Some(refusal);
    let answers = judged(&trial);
    assert_eq!(answers.len(), 1);
    assert!(answers[0].figures.is_empty() && answers[0].grids.is_empty());
    assert!(answers[0].sentence.contains("before its time"), "{}", answers[0].sentence);
}

#[test]
fn cells_stand_side_by_side_in_the_answer_for_the_experiment() {
    let mut trial = late(&[TIMERFD, SLEEP], 200, 1);
    let mut longer = late(&[TIMERFD, ("clock_nanosleep", Some(50_000), 70_000.0)], 20, 2).cells.remove(0);
    longer.arrangement.label = "armed for 1 s".into();
    longer.arrangement.headline = false;
    let mut refused = longer.clone();
    refused.arrangement.label = "armed for 10 s".into();
    refused.refusal = Some(Refusal { reached: "x".into(), needs: "y".into(), remedy: "z".into() });
    trial.cells.extend([longer, refused]);
    let answers = judged(&trial);
    let medians = &answers[0].grids[0];
    assert_eq!(medians.columns, ["armed for 1 ms", "armed for 1 s"]);
    assert_eq!(medians.rows, ["timerfd", "clock_nanosleep"]);
    let close = |value: Option<f64>, truth: f64| (value.unwrap() / truth - 1.05).abs() < 0.02;
    assert!(close(medians.values[0][0], 6_000.0) && close(medians.values[1][1], 70_000.0), "{medians:?}");
    assert!(answers[1..].iter().all(|answer| answer.grids.is_empty()));
}

/// Nothing is looked at while it is measured: a cell takes the blocks that it was given.
#[test]
fn lateness_is_not_stopped_by_what_it_sees() {
    let trial = late(&[TIMERFD, SLEEP], 512, 1);
    assert!(!Lateness.may_end_early());
    assert_eq!(Lateness.least_blocks(&trial.descriptor, 3), BLOCKS_FOR_TAILS);
}

#[test]
fn lateness_is_shown_with_its_tails_and_cells_side_by_side() {
    let mut trial = late(&[TIMERFD, SLEEP, LEAST], 200, 1);
    let mut long = late(&[TIMERFD, SLEEP, LEAST], 7, 2).cells.remove(0);
    long.arrangement.label = "armed for 10 s".into();
    long.arrangement.headline = false;
    trial.cells.push(long);
    let run = Run { trials: vec![trial], ..run(2.0, Machine::unobserved("a test")) };
    insta::assert_snapshot!(crate::analyses().report(&run, None).sheets[0].text(100));
}
