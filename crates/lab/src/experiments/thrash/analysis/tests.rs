//! Thresholds on cells whose ratio is known.

use tenbin_analysis::Comparisons;
use tenbin_analysis::specimen::{cell, descriptor, sharing};
use tenbin_model::machine::Virtualisation;
use tenbin_model::{Ended, Picoseconds, Probe, Quantity, Sample, Share};

use super::super::{PRIVATE, SHARED};
use super::*;

fn guest() -> Machine {
    Machine { virtualisation: Virtualisation::Hypervisor("KVM".into()), ..Machine::unobserved("a test") }
}

fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    Thrashing.judge(machine, trial).answers
}

/// A trial of one cell in case C, `ratio` apart with this much noise.
fn trial(blocks: u32, ratio: f64, noise: f64) -> Trial {
    let mut cell = cell(blocks, ratio, noise, Ended::Budget, 11);
    cell.arrangement.parameters = vec![("case".into(), "C".into())];
    let descriptor =
        Descriptor { analysis: Thrashing.name().into(), ..descriptor(Quantity::NanosecondsPerOperation) };
    Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() }
}

fn judged(blocks: u32, ratio: f64, noise: f64) -> Answer {
    answers(&Machine::unobserved("a test"), &trial(blocks, ratio, noise)).remove(0)
}

#[test]
fn five_times_as_much_is_thrashing_and_less_is_not() {
    let table = [
        (1.0, Verdict::Equivalent),
        (2.0, Verdict::Equivalent),
        (4.9, Verdict::Equivalent),
        (5.3, Verdict::Different),
        (20.0, Verdict::Different),
        (0.5, Verdict::Equivalent),
    ];
    for (ratio, verdict) in table {
        let answer = judged(200, ratio, 0.01);
        assert_eq!(answer.verdict, verdict, "{ratio}: {}", answer.sentence);
        assert_eq!(answer.sentence.starts_with("Thrashing"), verdict == Verdict::Different);
    }
}

#[test]
fn a_guest_claims_nothing_that_another_place_would_turn_round() {
    for (ratio, verdict) in [
        (1.2, Verdict::Equivalent),
        (2.0, Verdict::Refused),
        (4.8, Verdict::Refused),
        (14.0, Verdict::Refused),
        (99.0, Verdict::Different),
    ] {
        let answer = answers(&guest(), &trial(200, ratio, 0.01)).remove(0);
        assert_eq!(answer.verdict, verdict, "{ratio}: {}", answer.sentence);
        let says_why =
            answer.sentence.contains("above 15.0x or below 1.67x, as where the host puts these CPUs");
        assert_eq!(says_why, verdict == Verdict::Refused, "{ratio}: {}", answer.sentence);
    }
}

#[test]
fn an_interval_across_the_threshold_is_refused_with_both_ends() {
    let answer = judged(20, 4.0, 3.0);
    assert_eq!(answer.verdict, Verdict::Refused, "{}", answer.sentence);
    assert!(answer.sentence.contains("an interval above 5x, or one below it"), "{}", answer.sentence);
    assert!(answer.refusal.is_some() && answer.evidence.is_some());
}

#[test]
fn too_few_blocks_are_refused_as_in_any_comparison() {
    let answer = judged(3, 20.0, 0.01);
    assert_eq!((answer.verdict, answer.evidence), (Verdict::Refused, None));
}

#[test]
fn one_published_run_of_each_is_judged_by_its_ratio_and_says_so() {
    let mut trial = trial(1, 7.9, 0.0);
    trial.cells[0].ended = None;
    let answer = answers(&Machine::unobserved("a test"), &trial).remove(0);
    assert_eq!(answer.verdict, Verdict::Different);
    assert!(answer.caveat.unwrap().contains("no interval"));
}

#[test]
fn the_footnote_is_tested_only_where_all_cpus_share_one_l3() {
    let footnote = |groups: &[&[u32]], ratio: f64| {
        let trial = trial(200, ratio, 0.01);
        let mut findings = Thrashing.judge(&sharing(3, groups), &trial).findings.into_iter();
        findings.find(|finding| finding.sentence.contains("footnote")).unwrap().sentence
    };
    assert!(footnote(&[&[0, 1]], 1.1).ends_with("holds."));
    assert!(footnote(&[&[0, 1]], 9.0).ends_with("does not hold."));
    assert!(footnote(&[&[0, 1], &[2, 3]], 1.1).starts_with("This machine cannot test"));
    assert!(footnote(&[], 1.1).contains("not known"));
}

/// Under load the second of two threads is stopped now and again. That is no cost of sharing.
#[test]
fn it_is_the_first_thread_s_own_time_that_is_weighed() {
    let mut trial = trial(200, 1.0, 0.001);
    for sample in trial.cells[0].samples.iter_mut().filter(|sample| sample.variant == SHARED) {
        let stopped = if sample.order % 3 == 0 { 1 } else { 30 };
        let own = Share { elapsed: sample.elapsed, failures: 0 };
        sample.elapsed.0 *= stopped;
        sample.shares = vec![own, Share { elapsed: sample.elapsed, failures: 0 }];
    }
    let answer = answers(&Machine::unobserved("a test"), &trial).remove(0);
    let ratio = answer.evidence.unwrap().ratio;
    assert!((0.9..1.3).contains(&ratio), "{ratio}");
}

/// A second comparison of the same cell: an ordinary one, with a margin of 1 %.
#[test]
fn other_comparisons_differ_only_beyond_the_margin_as_a_whole() {
    for (ratio, verdict) in [(1.0, Verdict::Equivalent), (1.01, Verdict::Refused), (1.03, Verdict::Different)]
    {
        let mut trial = trial(200, ratio, 0.01);
        let again = trial.cells[0].arrangement.comparisons[0];
        trial.cells[0].arrangement.comparisons.push(again);
        let answer = answers(&Machine::unobserved("a test"), &trial).remove(1);
        assert_eq!(answer.verdict, verdict, "{ratio}: {}", answer.sentence);
        assert_eq!(answer.refusal.is_some(), verdict == Verdict::Refused);
    }
}

/// What sharing costs is taken apart in every cell, and only what costs something is called a cost.
#[test]
fn nothing_is_dear_where_nothing_thrashes() {
    for (ratio, is_dear) in [(0.99, false), (1.0, false), (20.0, true)] {
        let mut trial = trial(200, ratio, 0.001);
        let weighed = trial.cells[0].arrangement.comparisons[0];
        trial.cells[0].arrangement.comparisons = vec![weighed; 5];
        let taken = Thrashing.judge(&Machine::unobserved("a test"), &trial).findings.remove(0).sentence;
        assert_eq!(taken.starts_with("What makes it dear"), is_dear, "{taken}");
        let costs = ["which is room", "which is coherence"].iter().all(|cost| taken.contains(cost));
        assert_eq!(costs, is_dear, "{taken}");
        assert_eq!(taken.contains("no cost of room that shows"), !is_dear, "{taken}");
    }
}

/// The run of `fixtures/regimes`: 256 of 1024 blocks at 15 times, the others at 1.
fn first_run() -> (Machine, Trial) {
    let rows = include_str!("../../../../../../fixtures/regimes/first_run.csv").lines();
    let rows = rows.filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let mut trial = trial(1, 1.0, 0.0);
    let cell = &mut trial.cells[0];
    cell.samples.clear();
    for row in rows {
        let fields: Vec<u64> = row.split(',').map(|field| field.parse().unwrap()).collect();
        let &[block, private, private_again, shared, shared_again] = fields.as_slice() else {
            panic!("{row}")
        };
        let times = [(PRIVATE, private), (SHARED, shared), (SHARED, shared_again), (PRIVATE, private_again)];
        cell.samples.extend(times.map(|(variant, elapsed)| Sample {
            block: block as u32,
            variant,
            iterations: if variant == PRIVATE { 580_000 } else { 40_000 },
            elapsed: Picoseconds(elapsed),
            ..Sample::default()
        }));
    }
    // A line took a tenth of the time once both CPUs were on one core.
    let line = |block: u32| Some(Picoseconds::from_nanos(if block < 256 { 160 } else { 16 }));
    let since = |block: u32| Picoseconds(u64::from(block));
    let probe = |block| Probe { block, line: line(block), since: since(block), ..Probe::default() };
    cell.probes = (0..=1_024).step_by(64).map(probe).collect();
    (guest(), trial)
}

/// The median over all blocks is 1.01 and its interval is narrow, and for a quarter of them sharing thrashed.
#[test]
fn a_quarter_of_the_time_at_15_times_is_not_called_no_thrashing() {
    let (machine, trial) = first_run();
    let answer = answers(&machine, &trial).remove(0);
    let evidence = answer.evidence.as_ref().unwrap();
    assert!((0.99..1.03).contains(&evidence.ratio), "{}", evidence.ratio);
    assert_eq!(answer.verdict, Verdict::Refused, "{}", answer.sentence);
    insta::assert_snapshot!(answer.sentence);
    let shares: Vec<usize> = evidence.regimes.iter().map(|regime| regime.blocks).collect();
    assert!(shares[0].abs_diff(256) <= 2 && shares.len() == 2, "{shares:?}");
    assert!(evidence.interval.low < 1.02 && evidence.interval.high > 14.0, "{:?}", evidence.interval);
    // The footnote of case C rests on the same answer, and stays open with it.
    assert!(Thrashing.depends(&trial.descriptor, 1, &trial.cells[0]));
}

/// The same blocks as an ordinary comparison, and in any order of the two states.
#[test]
fn states_with_two_answers_depend_and_with_one_answer_do_not() {
    let (machine, mut trial) = first_run();
    let answer = Comparisons.judge(&machine, &trial).answers.remove(0);
    assert_eq!(answer.verdict, Verdict::Refused);
    assert!(answer.sentence.starts_with("Refused: it depends: "), "{}", answer.sentence);
    // Three times as dear throughout: 45 times and 3 times, which is one answer with a word on when.
    for sample in trial.cells[0].samples.iter_mut().filter(|sample| sample.variant == SHARED) {
        sample.elapsed.0 *= 3;
    }
    let answer = Comparisons.judge(&machine, &trial).answers.remove(0);
    assert_eq!(answer.verdict, Verdict::Different, "{}", answer.sentence);
    let caveat = answer.caveat.unwrap();
    assert!(caveat.starts_with("It changed while it was measured: 2.9"), "{caveat}");
    let interval = answer.evidence.unwrap().interval;
    assert!(interval.low < 3.1 && interval.high > 44.0, "{interval:?}");
}
