//! Runs that are made up, next to each other.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::machine::Observed;
use tenbin_model::{AnalysisName, Ended, Machine};

use super::*;
use crate::report;
use crate::specimen::{cell, run};
use crate::{Analysis, Basis, Comparisons};

/// An analysis that answers by no ratio.
struct TimesAlone;

impl Analysis for TimesAlone {
    fn name(&self) -> &'static str {
        "times"
    }

    fn basis(&self) -> Basis {
        Basis::Blocks
    }
}

fn across(first: &[Kept<'_>], second: &[Kept<'_>], others: &[&Run]) -> Across {
    super::across(&Analyses(vec![&Comparisons, &TimesAlone]), first, second, others)
}

fn machine() -> Machine {
    Machine::unobserved("a test")
}

fn kept(run: &Run) -> [Kept<'_>; 1] {
    [Kept { id: "a", run }]
}

/// So many runs of equal ways but for `ratio`, of which each run sees another one: up to a tenth more or
/// less.
fn runs(count: u64, ratio: f64, seed: u64) -> Vec<Run> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    (0..count)
        .map(|number| {
            let mut run = run(ratio, machine());
            let seen = ratio * random.random_range(-0.1_f64..0.1).exp();
            run.trials[0].cells = vec![cell(64, seen, 0.002, Ended::Budget, seed * 1_000 + number)];
            run.provenance.started = format!("2026-11-21T00:00:{number:02}Z");
            run
        })
        .collect()
}

/// So many runs that see the same ratio.
fn twins(count: u64, ratio: f64, noise: f64, seed: u64) -> Vec<Run> {
    let mut runs = runs(count, ratio, seed);
    for (run, seed) in runs.iter_mut().zip(seed..) {
        run.trials[0].cells = vec![cell(64, ratio, noise, Ended::Budget, seed)];
    }
    runs
}

fn all(runs: &[Run]) -> Vec<Kept<'_>> {
    runs.iter().map(|run| Kept { id: "a", run }).collect()
}

/// Of two runs neither interval holds the other's ratio, as of most pairs of equal runs.
#[test]
fn equal_runs_that_vary_are_not_called_different() {
    let runs = runs(20, 12.0, 1);
    let mut different = 0;
    for one in 0..runs.len() {
        for other in 0..one {
            let rest: Vec<&Run> =
                (0..runs.len()).filter(|&it| it != one && it != other).map(|it| &runs[it]).collect();
            let across = across(&kept(&runs[one]), &kept(&runs[other]), &rest);
            let compared = &across.comparisons[0];
            assert_eq!((compared.sides[0].counts.different, compared.sides[1].counts.different), (1, 1));
            assert_eq!(compared.known.as_ref().unwrap().runs, 20);
            different += usize::from(compared.verdict == Verdict::Different);
        }
    }
    println!("{different} of 190 pairs different");
    assert!(different <= 1, "{different}");
}

#[test]
fn one_run_a_side_is_refused_where_no_others_are_known() {
    let runs = runs(2, 12.0, 2);
    let across = across(&kept(&runs[0]), &kept(&runs[1]), &[]);
    let compared = &across.comparisons[0];
    assert_eq!((compared.verdict, compared.interval), (Verdict::Refused, None));
    assert!(compared.ratio.is_some());
    let refusal = compared.refusal.as_ref().unwrap();
    assert!(refusal.reached.contains("one run a side"), "{refusal:?}");
    assert!(refusal.needs.starts_with("5 runs a side"), "{refusal:?}");
    let text = report::compared(&across).text(100);
    let first = "Of 1 comparison, 0 different, 0 equivalent, 1 refused: one run a side";
    assert!(text.starts_with(first), "{text}");
    assert!(text.contains("take 5 runs a side"), "{text}");
}

#[test]
fn several_runs_a_side_find_a_change_and_equal_sides_none() {
    const TIMES: u64 = 100;
    let count = |ratio: f64, wanted: Verdict| {
        (0..TIMES)
            .filter(|seed| {
                let (one, other) = (runs(8, 12.0, 2 * seed + 10), runs(8, ratio, 2 * seed + 11));
                across(&all(&one), &all(&other), &[]).comparisons[0].verdict == wanted
            })
            .count()
    };
    let (alarms, power) = (count(12.0, Verdict::Different), count(12.0 * 1.2, Verdict::Different));
    println!("8 runs a side, up to a tenth apart: {alarms} of {TIMES} alarms, 1.2x found {power} times");
    // A rule of 1 % passes 5 of 100 in 999 of 1000.
    assert!(alarms <= 5 && power >= 90, "{alarms} {power}");
}

#[test]
fn a_change_is_found_in_one_run_where_many_are_known_to_agree() {
    let (known, changed) = (twins(210, 2.0, 0.002, 0), twins(1, 3.0, 0.002, 0));
    let others: Vec<&Run> = known[1..].iter().collect();
    let across = across(&kept(&known[0]), &kept(&changed[0]), &others);
    assert_eq!(across.comparisons[0].verdict, Verdict::Different, "{}", across.comparisons[0].sentence);
    assert!(across.comparisons[0].sentence.contains("1.5"), "{}", across.comparisons[0].sentence);
}

#[test]
fn what_no_run_answered_is_not_claimed() {
    let mut vague = run(1.0, machine());
    vague.trials[0].cells = vec![cell(64, 1.0, 3.0, Ended::Budget, 1)];
    let mut other = vague.clone();
    other.trials[0].cells = vec![cell(64, 1.0, 3.0, Ended::Budget, 2)];
    let across = across(&kept(&vague), &kept(&other), &[]);
    let compared = &across.comparisons[0];
    assert_eq!((compared.sides[0].counts.refused, compared.ratio), (1, None));
    assert!(compared.sentence.starts_with("Refused: "), "{}", compared.sentence);
    assert!(compared.sentence.contains("no run of either side"), "{}", compared.sentence);
    assert!(!report::compared(&across).text(200).contains("cheaper"));
}

#[test]
fn sentences_compare_ratios_and_say_what_each_run_answered() {
    let both = |one: f64, other: f64, noise: f64| {
        let (one, other) = (twins(8, one, noise, 100), twins(8, other, noise, 200));
        across(&all(&one), &all(&other), &[]).comparisons[0].sentence.clone()
    };
    let sentences = [both(2.0, 3.0, 0.01), both(2.0, 2.0, 0.001), both(1.0, 1.0, 0.4), both(1.0, 2.0, 0.4)];
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn runs_without_a_comparison_in_common_are_refused_first() {
    let one = run(2.0, machine());
    let mut other = one.clone();
    other.trials[0].descriptor.name = "another".into();
    let across = across(&kept(&one), &kept(&other), &[]);
    assert!(across.comparisons.is_empty());
    let text = report::compared(&across).text(200);
    assert!(text.starts_with("Refused: these runs have no comparison in common: the first side measured made-up, the second another."));
}

#[test]
fn machines_that_differ_are_named_and_their_runs_are_no_history() {
    let other = Machine { cpu_model: Observed::Known("another".into()), ..machine() };
    let (here, there) =
        (run(2.0, Machine { cpu_model: Observed::Known("one".into()), ..machine() }), run(3.0, other));
    let known = vec![&here; 300];
    let across = across(&kept(&here), &kept(&there), &known);
    assert!(across.machines.differences.iter().any(|difference| difference.key == "cpu_model"));
    assert_eq!(across.comparisons[0].known.as_ref().unwrap().runs, 2);
    assert_eq!(across.comparisons[0].verdict, Verdict::Refused);
}

#[test]
fn sides_that_were_not_taken_in_turns_are_told_so() {
    let (mut one, other) = (runs(8, 2.0, 1), runs(8, 2.0, 2));
    assert_eq!(across(&all(&one), &all(&other), &[]).remark, None);
    for run in &mut one {
        run.provenance.started = "2026-11-20T00:00:00Z".into();
    }
    assert!(across(&all(&one), &all(&other), &[]).remark.is_some_and(|remark| remark.contains("in turns")));
}

/// A law is made of times, so two runs have nothing to say about it; that is said and not passed over.
#[test]
fn answers_that_are_no_ratios_are_named_as_not_compared() {
    let with = |analysis: &str| {
        let mut run = run(2.0, machine());
        let mut law = run.trials[0].clone();
        law.descriptor.name = "fork".into();
        law.descriptor.analysis = AnalysisName::from(analysis);
        run.trials.push(law);
        run
    };
    let (law, ratios) = (with(TimesAlone.name()), with("comparisons"));
    let both = across(&kept(&law), &kept(&law), &[]);
    assert_eq!(both.uncompared, ["fork"]);
    let text = report::compared(&both).text(100);
    assert!(text.contains("What fork answers is not a ratio, and was not compared."), "{text}");
    // One run is enough, and what is judged by ratios is not named.
    assert_eq!(across(&kept(&run(2.0, machine())), &kept(&law), &[]).uncompared, ["fork"]);
    let both = across(&kept(&ratios), &kept(&ratios), &[]);
    assert!(both.uncompared.is_empty() && both.comparisons.len() == 2);
    assert!(!report::compared(&both).text(100).contains("no ratio"));
}
