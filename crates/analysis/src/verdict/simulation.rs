//! Verdicts on machines that change while they are measured, counted over seeded runs.
//!
//! Whole: the two stretches of a cell, the looks that may stop it, the level that each of them leaves, and
//! the verdict at the end. A verdict is *wrong* where it contradicts a regime that lasted for a twentieth of
//! the blocks that were measured: "different" where the two cost the same then, or the other one was cheaper;
//! "equivalent" where they differed by more than the margin.
//!
//! Run with `--nocapture` to see the table of `docs/truth.md`. `TENBIN_SIMULATED_RUNS` says how many runs of
//! each kind.

use std::collections::BTreeMap;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::{Ended, Machine, Order, Picoseconds, Quantity, Sample, VariantIndex, Verdict};

use tenbin_stats::LEVEL;

use super::comparisons::answers;
use super::decide::decided;
use super::whole_epoch;
use crate::specimen::{cell, descriptor, trial};
use tenbin_stats::proportion::clopper_pearson;

/// Blocks that fit into the time of a cell.
const BLOCKS: usize = 1_024;

/// Relative spread of a block's ratio, and the margin of equivalence: a difference of the one is one of the
/// other.
const SPREAD: f64 = 0.01;
const MARGIN: f64 = 0.01;

/// What is around the ratio of each block.
#[derive(Clone, Copy, Debug)]
enum Around {
    Normal,
    /// Autoregressive of order 1: each block keeps this part of the one before it.
    Related(f64),
    /// By Cauchy's distribution: no variance, and no mean.
    Heavy,
    /// One block in three lies 5 % higher, whichever comes before it.
    TwoModes,
    /// Half of the time, by sixty blocks, a neighbour on the other half of a core holds up the one side or
    /// the other in every second block, by 10 to 50 %.
    Neighbour,
}

impl Around {
    fn draw(self, random: &mut Pcg64Mcg, block: u32, before: f64) -> f64 {
        let normal = {
            // Box and Muller (1958).
            let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
            radius * (std::f64::consts::TAU * random.random::<f64>()).cos()
        };
        match self {
            Self::Normal => SPREAD * normal,
            Self::Related(part) => part * before + SPREAD * (1.0 - part * part).sqrt() * normal,
            Self::Heavy => 0.3 * SPREAD * (std::f64::consts::PI * (random.random::<f64>() - 0.5)).tan(),
            Self::TwoModes if random.random_bool(1.0 / 3.0) => 0.05 + 0.2 * SPREAD * normal,
            Self::TwoModes => 0.2 * SPREAD * normal,
            Self::Neighbour if block / 60 % 2 == 1 && random.random() => {
                let held_up = random.random_range(0.1..0.5_f64).ln_1p();
                if random.random() { held_up } else { -held_up }
            }
            Self::Neighbour => 0.2 * SPREAD * normal,
        }
    }
}

/// How the machine changes: for a block, which part of the way it is from the first state to the second.
#[derive(Clone, Copy, Debug)]
enum Course {
    Steady,
    /// The second state comes in the end, for this part of the time.
    Last(f64),
    /// It comes in the middle and goes.
    Middle(f64),
    /// They take turns of so many blocks.
    Turns(usize),
    /// They take turns of so many blocks, and the second one's are a tenth as long.
    Visits(usize),
    /// From the one to the other, a little each block.
    Drift,
}

impl Course {
    fn at(self, block: usize) -> f64 {
        let part = block as f64 / BLOCKS as f64;
        let second = match self {
            Self::Steady => false,
            Self::Last(length) => part >= 1.0 - length,
            Self::Middle(length) => (part - 0.5).abs() <= length / 2.0,
            Self::Turns(length) => block / length % 2 == 1,
            Self::Visits(length) => block % (length + length / 10) >= length,
            Self::Drift => return part,
        };
        f64::from(u8::from(second))
    }
}

/// What came of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Right,
    Depends,
    Undecided,
    Wrong,
}

/// One cell from its first block to its verdict. `truths` are the log ratios of the two states.
///
/// `may_stop` says whether the looks before the end may stop it. Most runs of two states far apart are over
/// before the second one comes, and then there was one; what regimes do to a verdict shows in those that go
/// on to the end.
fn outcome(truths: [f64; 2], course: Course, around: Around, may_stop: bool, seed: u64) -> Outcome {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let mut noise = 0.0;
    let mut made = cell(0, 1.0, 0.0, Ended::Budget, seed);
    let truth: Vec<f64> =
        (0..BLOCKS).map(|block| truths[0] + (truths[1] - truths[0]) * course.at(block)).collect();
    let mut descriptor = descriptor(Quantity::NanosecondsPerOperation);
    descriptor.margin = MARGIN;
    // The engine's two stretches: the second begins where the first was decided or had half of the time, and
    // other cells come between them, so that its noise knows nothing of the first one's.
    let mut confirms = false;
    for (block, truth) in (0_u32..).zip(&truth) {
        noise = around.draw(&mut random, block, noise);
        let right = 1e11 * (truth + noise).exp();
        for (variant, elapsed) in [(0, 1e11), (1, right), (1, right), (0, 1e11)] {
            made.samples.push(Sample {
                order: made.samples.len() as u32,
                block,
                variant: VariantIndex(variant),
                iterations: 1_000,
                elapsed: Picoseconds(elapsed as u64),
                ..Sample::default()
            });
        }
        let blocks = block as usize + 1;
        let look = blocks >= 16 && blocks.is_power_of_two();
        let decided =
            look && may_stop && decided(whole_epoch, &descriptor, 1, &made.arrangement, &made.samples);
        if decided && confirms {
            made.ended = Some(Ended::Precision);
            break;
        }
        if !confirms && (decided || blocks == BLOCKS / 2) {
            confirms = true;
            noise = 0.0;
        }
    }
    let truth = &truth[..made.samples.len() / 4];
    let mut trial = trial(Quantity::NanosecondsPerOperation, vec![made]);
    trial.descriptor = descriptor;
    let answer = answers(|_| whole_epoch, &Machine::unobserved("a simulation"), &trial).remove(0);
    // A regime that lasted: whatever a twentieth of the blocks had, to either side.
    let mut sorted = truth.to_vec();
    sorted.order_by(f64::total_cmp);
    let (low, high) = (sorted[sorted.len() / 20], sorted[sorted.len() - 1 - sorted.len() / 20]);
    let margin = MARGIN.ln_1p();
    match (answer.verdict, &answer.evidence) {
        (Verdict::Refused, _) if answer.sentence.contains("it depends") => Outcome::Depends,
        (Verdict::Different, Some(evidence)) if evidence.ratio > 1.0 && low > 0.0 => Outcome::Right,
        (Verdict::Different, Some(evidence)) if evidence.ratio < 1.0 && high < 0.0 => Outcome::Right,
        (Verdict::Equivalent, _) if low >= -margin && high <= margin => Outcome::Right,
        (Verdict::Refused, _) => Outcome::Undecided,
        _ => Outcome::Wrong,
    }
}

/// So many runs of each kind, unless the environment says otherwise.
fn runs(usual: u64) -> u64 {
    std::env::var("TENBIN_SIMULATED_RUNS").ok().and_then(|runs| runs.parse().ok()).unwrap_or(usual)
}

/// Counts outcomes over `runs` of each of these kinds.
fn counted(
    title: &str,
    runs: u64,
    may_stop: bool,
    kinds: &[([f64; 2], Course, Around)],
) -> BTreeMap<Outcome, u64> {
    let mut counts = BTreeMap::new();
    for (kind, &(truths, course, around)) in (0_u64..).zip(kinds) {
        for run in 0..runs {
            let outcome = outcome(truths, course, around, may_stop, 1_000_000 * kind + run);
            *counts.entry(outcome).or_default() += 1;
        }
    }
    let of = |outcome| counts.get(&outcome).copied().unwrap_or(0);
    let all = runs * kinds.len() as u64;
    let bound = clopper_pearson(of(Outcome::Wrong), all, 0.01).unwrap();
    println!(
        "| {title} | {all} | {} | {} | {} | {} | {:.2} % |",
        of(Outcome::Right),
        of(Outcome::Depends),
        of(Outcome::Undecided),
        of(Outcome::Wrong),
        bound.high * 100.0
    );
    counts
}

fn part(counts: &BTreeMap<Outcome, u64>, outcome: Outcome) -> f64 {
    counts.get(&outcome).copied().unwrap_or(0) as f64 / counts.values().sum::<u64>() as f64
}

const AROUND: [Around; 3] = [Around::Normal, Around::Related(0.3), Around::Heavy];

/// Two states and the log ratio in each: equal and not, by little and by much, and the other way round.
fn pairs() -> [[f64; 2]; 5] {
    [
        [0.0, 15_f64.ln()],
        [15_f64.ln(), 0.0],
        [0.0, 1.15_f64.ln()],
        [1.05_f64.ln(), 0.0],
        [-(1.3_f64.ln()), 1.3_f64.ln()],
    ]
}

fn kinds(courses: &[Course], pairs: &[[f64; 2]], around: &[Around]) -> Vec<([f64; 2], Course, Around)> {
    let all = courses.iter().flat_map(|&course| pairs.iter().map(move |&pair| (pair, course)));
    all.flat_map(|(pair, course)| around.iter().map(move |&around| (pair, course, around))).collect()
}

#[test]
fn a_verdict_contradicts_no_regime_that_lasted() {
    println!("| what changes | runs | right | it depends | undecided | wrong | at most |");
    let runs = runs(1);
    let (mut wrong, mut all) = (0, 0);
    for percent in [5, 10, 25, 50, 75, 90, 95] {
        let part_of = f64::from(percent) / 100.0;
        let courses = [Course::Last(part_of), Course::Middle(part_of)];
        let kinds = kinds(&courses, &pairs(), &AROUND);
        let stopped = counted(&format!("the same, {percent} %, until decided"), runs, true, &kinds);
        let counts = counted(&format!("two states, {percent} % in the second"), runs, false, &kinds);
        assert!(part(&counts, Outcome::Depends) >= 0.9, "{percent} %: {counts:?}");
        for counts in [stopped, counts] {
            wrong += counts.get(&Outcome::Wrong).copied().unwrap_or(0);
            all += counts.values().sum::<u64>();
        }
    }
    assert!(wrong as f64 <= LEVEL * all as f64, "{wrong} of {all}");
}

#[test]
fn a_verdict_contradicts_no_regime_that_comes_and_goes() {
    println!("| what changes | runs | right | it depends | undecided | wrong | at most |");
    let runs = runs(1);
    for (title, courses) in [
        ("two states, in turns of 3 and 10 blocks", vec![Course::Turns(3), Course::Turns(10)]),
        (
            "two states, in turns of 30, 60 and 120 blocks",
            vec![Course::Turns(30), Course::Turns(60), Course::Turns(120)],
        ),
        ("visits of 30 blocks, every 330", vec![Course::Visits(300)]),
        ("drifting from one to the other", vec![Course::Drift]),
    ] {
        let counts = counted(title, runs, false, &kinds(&courses, &pairs(), &AROUND));
        assert!(part(&counts, Outcome::Wrong) <= LEVEL, "{title}: {counts:?}");
    }
    let same = [[1.15_f64.ln(), 15_f64.ln()], [0.0, 0.004]];
    let counts = counted(
        "two states with one answer",
        runs,
        false,
        &kinds(&[Course::Last(0.3), Course::Turns(60)], &same, &AROUND),
    );
    assert!(part(&counts, Outcome::Wrong) <= LEVEL && part(&counts, Outcome::Depends) <= LEVEL, "{counts:?}");
}

#[test]
fn a_steady_machine_seldom_depends() {
    println!("| what is around the ratio | runs | right | it depends | undecided | wrong | at most |");
    let runs = runs(20);
    let pairs = [[0.0; 2], [0.02_f64.ln_1p(); 2], [1.15_f64.ln(); 2]];
    for may_stop in [true, false] {
        for around in [
            Around::Normal,
            Around::Related(0.3),
            Around::Related(0.5),
            Around::Related(0.8),
            Around::Heavy,
            Around::TwoModes,
            Around::Neighbour,
        ] {
            let title = format!("{around:?}, {}", if may_stop { "until decided" } else { "to the end" });
            let counts = counted(&title, runs, may_stop, &kinds(&[Course::Steady], &pairs, &[around]));
            // What each block has of the one before it costs the sign test its level, regimes or none: that
            // is shown.
            let related = if let Around::Related(part) = around { part } else { 0.0 };
            assert!(related > 0.5 || part(&counts, Outcome::Depends) <= LEVEL, "{title}: {counts:?}");
            assert!(related > 0.0 || part(&counts, Outcome::Wrong) <= LEVEL, "{title}: {counts:?}");
        }
    }
}
