//! Statistics compared with SciPy's and NumPy's answers, case by case.
//!
//! The cases are in `fixtures/statistics/reference.txt`, made by `reference.py` beside it. Data vectors
//! are not stored: both sides make them from a seed. Run with `--nocapture` for the counts.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::fmt::Debug;
use std::str::FromStr;

use tenbin_model::Interval;
use tenbin_stats::detectable;
use tenbin_stats::fairness::jain;
use tenbin_stats::order::{Ordered, QuantileInterval, Ranks};
use tenbin_stats::overhead::{Doubling, epoch_cost};
use tenbin_stats::paired::{Epoch, Side, log_ratios};
use tenbin_stats::proportion::clopper_pearson;
use tenbin_stats::sign::{Estimate, Signs};

const REFERENCE: &str = include_str!("../../../fixtures/statistics/reference.txt");

/// SplitMix64 (Steele, Lea, Flood 2014), as in `reference.py`.
struct SplitMix64(u64);

impl SplitMix64 {
    fn uniform(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 * 2_f64.powi(-53)
    }
}

fn vector(shape: &str, seed: u64, count: usize) -> Vec<f64> {
    let mut generator = SplitMix64(seed);
    let shaped: fn(f64) -> f64 = match shape {
        "uniform" => |u| u - 0.5,
        "steps" => |u| (u * 32.0).floor() / 8.0 - 2.0,
        "tail" => |u| 1.0 / (1.0 - u) - 2.0,
        other => panic!("no shape is called {other}"),
    };
    (0..count).map(|_| shaped(generator.uniform())).collect()
}

/// The fields of one line after its kind, taken in order.
struct Case<'a> {
    line: &'a str,
    fields: std::str::SplitAsciiWhitespace<'a>,
    /// The largest relative difference seen so far in cases of this kind.
    worst: &'a mut f64,
}

impl Case<'_> {
    fn word(&mut self) -> &str {
        self.fields.next().unwrap()
    }

    fn number<Number: FromStr<Err: Debug>>(&mut self) -> Number {
        self.word().parse().unwrap()
    }

    /// Compares with the next field, to `tolerance` relative to the larger of it and `scale`.
    fn close(&mut self, ours: Option<f64>, tolerance: f64, scale: f64) {
        let theirs: Option<f64> = match self.word() {
            "none" => None,
            number => Some(number.parse().unwrap()),
        };
        let (Some(ours), Some(theirs)) = (ours, theirs) else {
            assert_eq!(ours, theirs, "{}", self.line);
            return;
        };
        let difference = (ours - theirs).abs();
        if difference > 0.0 {
            let relative = difference / theirs.abs().max(scale);
            *self.worst = self.worst.max(relative);
            assert!(relative <= tolerance, "{relative:e}: {ours} for {}", self.line);
        }
    }

    fn interval(&mut self, ours: Option<QuantileInterval>, scale: f64) {
        self.close(ours.map(|it| it.interval.low), 1e-12, scale);
        self.close(ours.map(|it| it.interval.high), 1e-12, scale);
    }
}

/// Runs `compare` on every case of `kind`, which must be `expected` many.
fn every(kind: &str, expected: usize, compare: impl Fn(&mut Case)) {
    let (mut seen, mut worst) = (0, 0.0);
    for line in REFERENCE.lines() {
        let mut fields = line.split_ascii_whitespace();
        if fields.next() != Some(kind) {
            continue;
        }
        let mut case = Case { line, fields, worst: &mut worst };
        compare(&mut case);
        assert_eq!(case.fields.next(), None, "a field was not compared: {line}");
        seen += 1;
    }
    println!("{kind}: {seen} cases compared, largest relative difference {worst:.1e}");
    assert_eq!(seen, expected);
}

#[test]
fn ranks_of_order_statistics() {
    every("ranks", 1_837, |case| {
        let (count, quantile, level) = (case.number(), case.number(), case.number());
        let ranks = Ranks::of(count, quantile, level);
        // Exact: a tolerance of zero.
        case.close(ranks.map(|ranks| ranks.low as f64), 0.0, 1.0);
        case.close(ranks.map(|ranks| ranks.high as f64), 0.0, 1.0);
        // SciPy's own tails lose digits beyond this; `stats::binomial` has a case with 50 digits.
        let tolerance = if count <= 100_000 { 1e-11 } else { 1e-10 };
        case.close(ranks.map(|ranks| ranks.level), tolerance, 0.0);
    });
}

#[test]
fn p_values_of_the_sign_test() {
    every("sign", 1_146, |case| {
        let signs = Signs { positive: case.number(), negative: case.number(), zero: case.number() };
        case.close(Some(signs.p_value()), 1e-11, 0.0);
    });
}

#[test]
fn clopper_pearson_intervals() {
    every("clopper", 1_200, |case| {
        let (successes, trials, level) = (case.number(), case.number(), case.number());
        let interval = clopper_pearson(successes, trials, level).unwrap();
        case.close(Some(interval.low), 1e-12, 0.0);
        case.close(Some(interval.high), 1e-12, 0.0);
    });
}

#[test]
fn normal_quantiles() {
    every("normal", 298, |case| {
        let probability = case.number();
        case.close(Some(detectable::normal_quantile(probability)), 1e-12, 1e-3);
    });
}

#[test]
fn quantiles_of_samples() {
    every("sample", 400, |case| {
        let shape = case.word().to_owned();
        let values = Ordered::new(vector(&shape, case.number(), case.number())).unwrap();
        let (quantile, level) = (case.number(), case.number());
        case.close(Some(values.median()), 0.0, 1.0);
        case.close(values.quantile(quantile), 1e-12, 0.0);
        case.close(values.median_absolute_deviation(), 1e-12, 0.0);
        case.interval(values.quantile_interval(quantile, level), 0.0);
    });
}

#[test]
fn paired_log_ratios_from_epochs_to_intervals() {
    every("paired", 300, |case| {
        let (mut generator, blocks): (_, usize) = (SplitMix64(case.number()), case.number());
        let (shift, level): (f64, f64) = (case.number(), case.number());
        let mut epochs = Vec::new();
        for block in 0..blocks as u32 {
            for side in [Side::Left, Side::Right, Side::Right, Side::Left] {
                let time = 100.0 + 20.0 * generator.uniform();
                let cost = if side == Side::Right { 1.0 + shift } else { 1.0 };
                epochs.push(Epoch { block, side, time: time * cost });
            }
        }
        let ratios = log_ratios(epochs);
        assert_eq!((ratios.values.len(), ratios.skipped), (blocks, 0));
        let values = Ordered::new(ratios.values).unwrap();
        let estimate = Estimate::of(&values, level);
        // A log ratio is a difference of logarithms of about 4.6: what it may be off by is absolute.
        case.close(Some(estimate.median), 1e-12, 1.0);
        case.interval(estimate.interval, 1.0);
        case.close(Some(Signs::of(&values).p_value()), 1e-11, 0.0);
    });
}

#[test]
fn overheads_and_slopes() {
    every("overhead", 60, |case| {
        let (mut generator, count, level) = (SplitMix64(case.number()), case.number(), case.number());
        let once: Vec<f64> = (0..count).map(|_| 1000.0 + 100.0 * generator.uniform()).collect();
        let pairs: Vec<_> = once
            .into_iter()
            .map(|once| Doubling {
                iterations: 64,
                once: [once; 2],
                twice: 1980.0 + 200.0 * generator.uniform(),
            })
            .collect();
        let fitted = epoch_cost(&pairs, level).unwrap();
        for estimate in [fitted.overhead, fitted.slope] {
            case.close(Some(estimate.median), 1e-12, 1.0);
            case.interval(estimate.interval, 1.0);
        }
    });
}

#[test]
fn smallest_detectable_effects() {
    every("detectable", 100, |case| {
        let estimate = case.number();
        let interval = Interval { low: case.number(), high: case.number() };
        let level = case.number();
        case.close(detectable::smallest(estimate, interval, level), 1e-12, 0.0);
    });
}

#[test]
fn indices_of_fairness() {
    every("jain", 60, |case| {
        let shares: Vec<f64> =
            vector("uniform", case.number(), case.number()).iter().map(|share| share + 0.5).collect();
        case.close(jain(&shares), 1e-12, 0.0);
    });
}
