//! One comparison: its interval, its level, its verdict.

use tenbin_model::unit::three_digits;
use tenbin_model::{
    Arrangement, Cell, Comparison, Descriptor, Evidence, Interval, Judge, Quantity, Refusal, Sample, Verdict,
};

use super::sentence::outward;
use super::{lateness, laws, overhead};
use crate::stats::detectable;
use crate::stats::order::Ordered;
use crate::stats::paired::{Epoch, LogRatios, Side, as_ratios, log_ratios};
use crate::stats::sequential::Plan;
use crate::stats::sign;

/// The probability of any false "different" among all comparisons of one experiment.
pub const LEVEL: f64 = 0.01;

/// What a comparison came to, before it is put in words.
pub(super) struct Outcome {
    pub(super) verdict: Verdict,
    pub(super) evidence: Option<Evidence>,
    pub(super) refusal: Option<Refusal>,
}

/// The fewest blocks for which a trial of this description can be judged.
///
/// Of comparisons, as many as any of `family` can be decided with: more signs than that are needed before
/// even a unanimous vote is rarer than the level. Where times are set side by side and nothing is voted on,
/// as many as make a median and its deviation hold against a sample or two that were disturbed.
pub fn least_blocks(descriptor: &Descriptor, family: usize) -> u32 {
    match descriptor.judge {
        Judge::Comparisons | Judge::Thrashing | Judge::Transfers => votes(family),
        Judge::Laws => votes(laws::family(descriptor, family)),
        Judge::Capacities => 3,
        Judge::Distances => 8,
        // A cell that can have as many takes them, as its tail is part of the answer; others say how many they take.
        Judge::Lateness => votes(family).max(lateness::BLOCKS_FOR_TAILS),
    }
}

fn votes(family: usize) -> u32 {
    let plan = Plan::new(LEVEL, family.max(1));
    plan.and_then(|plan| plan.least_blocks()).map_or(u32::MAX, |blocks| blocks as u32)
}

/// Whether every comparison of a cell is decided at this moment, if this is a planned look.
///
/// Decided: the interval lies within the margin of equivalence, or it excludes 1 and is no wider than
/// that margin on either side of its middle, so that the ratio can be quoted. A cell that doubles is
/// decided once its overhead is known as well.
pub fn decided(
    descriptor: &Descriptor,
    family: usize,
    arrangement: &Arrangement,
    samples: &[Sample],
) -> bool {
    if !matches!(descriptor.judge, Judge::Comparisons | Judge::Thrashing) {
        // Those are not stopped by what they saw: they take the blocks or the time that they were given.
        return false;
    }
    let Some(blocks) = samples.last().map(|sample| sample.block as usize + 1) else { return false };
    let Some(plan) = Plan::new(LEVEL, family.max(1)) else { return false };
    let Some(level) = plan.is_look(blocks).and_then(|look| plan.level_at(look)) else { return false };
    let margin = log_margin(descriptor);
    let all = arrangement.comparisons.iter().all(|comparison| {
        let interval = Ordered::new(paired(descriptor.judge, samples, comparison).values)
            .and_then(|ratios| sign::interval(&ratios, level))
            .map(|found| found.interval);
        interval.is_some_and(|interval| {
            let different = interval.low > 0.0 || interval.high < 0.0;
            let narrow = interval.high - interval.low <= 2.0 * margin;
            within(interval, margin) || (different && narrow)
        })
    });
    all && overhead::known(arrangement, samples)
}

/// Judges one comparison of a cell that was timed.
pub(super) fn decide(
    descriptor: &Descriptor,
    family: usize,
    cell: &Cell,
    comparison: &Comparison,
) -> Outcome {
    let name = |variant: u32| descriptor.variants[variant as usize].name.clone();
    let (left, right) = (name(comparison.left), name(comparison.right));
    let ratios = paired(descriptor.judge, &cell.samples, comparison);
    let blocks = ratios.values.len();
    let measured = cell.samples.last().map_or(0, |sample| sample.block as usize + 1);
    let level = cell.ended.and_then(|ended| Plan::new(LEVEL, family.max(1))?.level_after(ended, measured));
    let found = level.and_then(|level| {
        let ordered = Ordered::new(ratios.values)?;
        let estimate = sign::Estimate::of(&ordered, level);
        let found = estimate.interval?;
        let effect = detectable::smallest(estimate.median, found.interval, found.ranks.level)?;
        Some((estimate.median, found, effect))
    });
    let Some((median, found, effect)) = found else {
        let needed = votes(family);
        return Outcome {
            verdict: Verdict::Refused,
            evidence: None,
            refusal: Some(Refusal {
                reached: format!("{left} and {right} were compared in {blocks} blocks in the time given"),
                needs: format!(
                    "at least {needed} blocks, with {family} to be judged at a level of {}",
                    percent(LEVEL)
                ),
                remedy: "give it more time (--thorough)".into(),
            }),
        };
    };
    let interval = found.interval;
    let margin = log_margin(descriptor);
    let evidence = Evidence {
        left,
        right,
        ratio: median.exp(),
        interval: as_ratios(interval),
        family_level: LEVEL,
        family,
        level: found.ranks.level,
        blocks,
        detectable: detectable::as_fraction(effect),
        margin: descriptor.margin,
    };
    // Equivalence first: a difference that is known to be smaller than anybody asked for is no reason to
    // prefer one side, and which side it favours is the least certain thing about it.
    let verdict = if within(interval, margin) {
        Verdict::Equivalent
    } else if interval.low > 0.0 || interval.high < 0.0 {
        Verdict::Different
    } else {
        Verdict::Refused
    };
    let refusal = (verdict == Verdict::Refused).then(|| undecided(descriptor.quantity, &evidence));
    Outcome { verdict, evidence: Some(evidence), refusal }
}

/// Neither different nor equivalent: how far it came and what is missing.
fn undecided(quantity: Quantity, evidence: &Evidence) -> Refusal {
    let Evidence { left, right, interval, blocks, detectable, .. } = evidence;
    let anything = match quantity {
        Quantity::NanosecondsPerOperation => {
            format!("{right} costs anything from {} times what {left} costs", outward(*interval))
        }
        Quantity::BytesPerSecond => {
            format!("{left} carries anything from {} times what {right} carries", outward(*interval))
        }
        Quantity::Lateness => {
            format!("{right} is anything from {} times as late as {left}", outward(*interval))
        }
    };
    let effect =
        if *detectable < 1.0 { percent(*detectable) } else { format!("{}x", three_digits(1.0 + detectable)) };
    Refusal {
        reached: format!(
            "{anything}, after {blocks} blocks that would have shown a difference of {effect} nine times of ten"
        ),
        needs: format!("an interval that excludes 1 or lies within {} of it", percent(evidence.margin)),
        remedy: "give it more time (--thorough) or a quieter machine".into(),
    }
}

/// The time of an epoch that its ratio is of, for one iteration, in picoseconds.
///
/// Thrashing asks what the other thread costs the first, and weighs one thread against two: two are preempted twice as often
/// as one, so the whole of an epoch would tell them apart under load by that alone. The first thread's own part does not.
pub(crate) fn time(judge: Judge, sample: &Sample) -> f64 {
    let own = sample.shares.first().filter(|_| judge == Judge::Thrashing);
    own.map_or(sample.elapsed, |share| share.elapsed).0 as f64 / sample.iterations as f64
}

/// The log ratios of one comparison, a block each.
pub(super) fn paired(judge: Judge, samples: &[Sample], comparison: &Comparison) -> LogRatios {
    log_ratios(samples.iter().filter_map(|sample| {
        let side = match sample.variant {
            variant if variant == comparison.left => Side::Left,
            variant if variant == comparison.right => Side::Right,
            _ => return None,
        };
        Some(Epoch { block: sample.block, side, time: time(judge, sample) })
    }))
}

fn within(interval: Interval, margin: f64) -> bool {
    interval.low >= -margin && interval.high <= margin
}

/// The margin as a distance of log ratios; the nearer of 1 + margin and 1 − margin bounds both sides.
fn log_margin(descriptor: &Descriptor) -> f64 {
    descriptor.margin.ln_1p()
}

/// A fraction in percent with up to three digits: `1 %`, `0.25 %`, `14.5 %`.
pub(crate) fn percent(fraction: f64) -> String {
    let digits = three_digits(fraction * 100.0);
    let trimmed =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{trimmed} %")
}
