//! One comparison: its interval, its level, its verdict.

use tenbin_document::interval::outward;
use tenbin_document::words::{and, percent};
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Arrangement, Cell, Comparison, Descriptor, Evidence, Interval, Machine, Quantity, Refusal, Sample,
    VariantIndex, Verdict,
};

use super::disturbance::disturbances;
use super::overhead;
use super::regimes::{self, Stance};
use super::sentence::{self, ComparisonOutcome};
use tenbin_stats::detectable;
use tenbin_stats::multiple::bonferroni;
use tenbin_stats::order::{Ordered, QuantileInterval};
use tenbin_stats::paired::{Epoch, LogRatios, Side, as_ratios, log_ratios};
use tenbin_stats::regimes::{Regime, regimes as regimes_of};
use tenbin_stats::sequential::Plan;
use tenbin_stats::sign;

/// The fewest blocks with which any comparison of `family` can be decided at this level: more signs than that
/// are needed before even a unanimous vote is rarer.
pub fn votes(level: f64, family: usize) -> u32 {
    let plan = Plan::new(level, family.max(1));
    plan.and_then(|plan| plan.least_blocks()).map_or(u32::MAX, |blocks| blocks as u32)
}

/// The last planned look at or before so many blocks; none where there was none yet.
pub fn last_look(level: f64, family: usize, blocks: u32) -> Option<u32> {
    let plan = Plan::new(level, family.max(1))?;
    (1..=blocks).rev().find(|&count| plan.is_look(count as usize).is_some())
}

/// Whether what was measured up to this block is looked at, by plan.
pub fn is_look(descriptor: &Descriptor, family: usize, samples: &[Sample]) -> bool {
    level_of_look(descriptor, family, samples).is_some()
}

/// The level that this look has, if it is one.
fn level_of_look(descriptor: &Descriptor, family: usize, samples: &[Sample]) -> Option<f64> {
    let plan = Plan::new(descriptor.level, family.max(1))?;
    plan.level_at(plan.is_look(samples.last()?.block as usize + 1)?)
}

/// Whether every comparison of a cell is decided at this moment, if this is a planned look.
///
/// Decided: the interval lies within the margin of equivalence, or it excludes 1 and is no wider than
/// the tolerance on either side of its middle, so that the ratio can be quoted. The interval is that over
/// all regimes, so a cell whose regimes disagree is not. A cell that doubles is decided once its overhead
/// is known as well.
pub fn decided(
    time: Time,
    descriptor: &Descriptor,
    family: usize,
    arrangement: &Arrangement,
    samples: &[Sample],
) -> bool {
    let Some(level) = level_of_look(descriptor, family, samples) else { return false };
    // As a distance of log ratios; the nearer of 1 + margin and 1 − margin bounds both sides.
    let margin = descriptor.margin.ln_1p();
    let comparisons = descriptor.family(arrangement.comparisons.len());
    // The cheaper look first: regimes can only widen what is decided without them.
    let settled = |interval: Interval| {
        let different = interval.low > 0.0 || interval.high < 0.0;
        let narrow = || interval.high - interval.low <= 2.0 * tolerance(descriptor, interval);
        within(interval, margin) || (different && narrow())
    };
    let all = |settled: &dyn Fn(&[f64]) -> bool| {
        arrangement.comparisons.iter().all(|one| settled(&paired(time, samples, one).values))
    };
    all(&|ratios| whole(ratios, level).is_some_and(|(_, quantile)| settled(quantile.interval)))
        && overhead::known(arrangement, samples)
        && all(&|ratios| {
            weighed(ratios, (descriptor.level, level), comparisons)
                .is_some_and(|weighed| settled(weighed.covering))
        })
}

/// How far a difference may reach to either side of its middle to be quoted, as a distance of log ratios:
/// the margin. Who waits for an answer about things of his own gets it sooner where they differ plainly:
/// there a third of the difference will do, up to five margins.
fn tolerance(descriptor: &Descriptor, interval: Interval) -> f64 {
    let margin = descriptor.margin.ln_1p();
    let third = (interval.low + interval.high).abs() / 6.0;
    if descriptor.is_of_user() { third.clamp(margin, 5.0 * margin) } else { margin }
}

/// The median of one comparison's log ratios, where it lies, and the regimes that they fall into.
struct Weighed {
    median: f64,
    /// The exact interval over all blocks.
    quantile: QuantileInterval,
    /// The least interval that covers that one and those of all regimes.
    covering: Interval,
    /// Two or more, or none.
    regimes: Vec<Regime>,
}

/// The median and its interval over all blocks. None if there are too few for the level.
fn whole(ratios: &[f64], level: f64) -> Option<(f64, QuantileInterval)> {
    let estimate = sign::Estimate::of(&Ordered::new(ratios.to_vec())?, level);
    Some((estimate.median, estimate.interval?))
}

/// Weighs `ratios` at `level`; so many comparisons of the cell share the probability of a false change point,
/// which is `shared`.
fn weighed(ratios: &[f64], (shared, level): (f64, f64), comparisons: usize) -> Option<Weighed> {
    let (median, quantile) = whole(ratios, level)?;
    let regimes = regimes_of(ratios, bonferroni(shared, comparisons)?, level);
    let covering = regimes.iter().fold(quantile.interval, |all, regime| Interval {
        low: all.low.min(regime.interval.low),
        high: all.high.max(regime.interval.high),
    });
    Some(Weighed { median, quantile, covering, regimes })
}

/// What is known of one comparison of a cell that was timed. None if there are too few blocks for the level.
pub fn evidence(
    time: Time,
    descriptor: &Descriptor,
    family: usize,
    cell: &Cell,
    comparison: &Comparison,
) -> Option<Evidence> {
    let ratios = paired(time, &cell.samples, comparison);
    let measured = cell.samples.last().map_or(0, |sample| sample.block as usize + 1);
    let level = Plan::new(descriptor.level, family.max(1))?.level_after(cell.ended?, measured)?;
    let comparisons = descriptor.family(cell.arrangement.comparisons.len());
    let weighed = weighed(&ratios.values, (descriptor.level, level), comparisons)?;
    let quantile = weighed.quantile;
    let effect = detectable::smallest(weighed.median, quantile.interval, quantile.ranks.level)?;
    let name = |variant: VariantIndex| descriptor[variant].name.clone();
    Some(Evidence {
        left: name(comparison.left),
        right: name(comparison.right),
        ratio: weighed.median.exp(),
        interval: as_ratios(weighed.covering),
        family_level: descriptor.level,
        family,
        level: quantile.ranks.level,
        blocks: ratios.values.len(),
        detectable: detectable::as_fraction(effect),
        margin: descriptor.margin,
        regimes: regimes::described(cell, &ratios, &weighed.regimes),
    })
}

/// Judges one comparison of a cell that was timed.
pub(super) fn decide(
    time: Time,
    machine: &Machine,
    descriptor: &Descriptor,
    family: usize,
    cell: &Cell,
    comparison: &Comparison,
) -> ComparisonOutcome {
    let Some(evidence) = evidence(time, descriptor, family, cell, comparison) else {
        let quote = if descriptor.quantity.of_command().is_some() { "`" } else { "" };
        let name = |variant: VariantIndex| format!("{quote}{}{quote}", descriptor[variant].name);
        let (left, right) = (name(comparison.left), name(comparison.right));
        let blocks = paired(time, &cell.samples, comparison).values.len();
        let needed = votes(descriptor.level, family);
        let is_limited = cell.arrangement.most_blocks < needed && descriptor.is_of_user();
        let (limit, remedy) = if is_limited {
            let runs = cell.arrangement.runs(needed);
            (", as many as were asked for", format!("allow more runs (--runs {runs})"))
        } else {
            (" in the time given", format!("give it more time ({})", more_time(descriptor)))
        };
        let level = percent(descriptor.level);
        let refusal = Refusal {
            reached: format!("{left} and {right} were compared in {blocks} blocks{limit}"),
            needs: format!("at least {needed} blocks, with {family} to be judged at a level of {level}"),
            remedy,
        };
        return ComparisonOutcome { verdict: Verdict::Refused, evidence: None, refusal: Some(refusal) };
    };
    let (verdict, refusal) = match contradiction(&evidence) {
        Some(two) => {
            let in_words = |regime: &tenbin_model::Regime| {
                let alone = Evidence { ratio: regime.ratio, interval: regime.interval, ..evidence.clone() };
                sentence::alone(descriptor.quantity, &alone, of_interval(regime.interval, evidence.margin))
            };
            let refusal = regimes::it_depends(machine, cell, &evidence, two, in_words);
            (Verdict::Refused, Some(refusal))
        }
        None => {
            let verdict = of_interval(evidence.interval, evidence.margin);
            (verdict, (verdict == Verdict::Refused).then(|| undecided(descriptor, cell, &evidence)))
        }
    };
    ComparisonOutcome { verdict, evidence: Some(evidence), refusal }
}

/// Two regimes with two answers.
pub fn contradiction(evidence: &Evidence) -> Option<(&tenbin_model::Regime, &tenbin_model::Regime)> {
    regimes::contradiction(evidence, |regime| {
        let verdict = of_interval(regime.interval, evidence.margin);
        Stance(verdict, verdict == Verdict::Different && regime.interval.low > 1.0)
    })
}

/// What an interval of ratios comes to by itself; `margin` is a fraction.
pub fn of_interval(ratios: Interval, margin: f64) -> Verdict {
    let Interval { low, high } = ratios;
    // Equivalence first: a difference that is known to be smaller than anybody asked for is no reason to
    // prefer one side, and which side it favours is the least certain thing about it.
    if within(Interval { low: low.ln(), high: high.ln() }, margin.ln_1p()) {
        Verdict::Equivalent
    } else if low > 1.0 || high < 1.0 {
        Verdict::Different
    } else {
        Verdict::Refused
    }
}

/// Neither different nor equivalent: how far it came and what is missing.
fn undecided(descriptor: &Descriptor, cell: &Cell, evidence: &Evidence) -> Refusal {
    let Evidence { left, right, interval, blocks, detectable, .. } = evidence;
    let from = format!("anything from {} times", outward(*interval));
    let anything = match descriptor.quantity {
        Quantity::NanosecondsPerOperation => format!("{right} costs {from} what {left} costs"),
        Quantity::BytesPerSecond => format!("{left} carries {from} what {right} carries"),
        Quantity::Lateness => format!("{right} is {from} as late as {left}"),
        Quantity::WallTime => format!("`{right}` takes {from} as long as `{left}`"),
        other => format!("`{right}` needs {from} the {} of `{left}`", other.of_command().unwrap_or_default()),
    };
    let effect =
        if *detectable < 1.0 { percent(*detectable) } else { format!("{}x", three_digits(1.0 + detectable)) };
    let measured = cell.samples.last().map_or(0, |sample| sample.block + 1);
    let more = match measured >= cell.arrangement.most_blocks && descriptor.is_of_user() {
        true => "allow more runs (--runs)".to_owned(),
        false => format!("give it more time ({})", more_time(descriptor)),
    };
    let meanwhile = match disturbances(descriptor, cell).as_slice() {
        [] => String::new(),
        seen => format!(", while {}", and(seen)),
    };
    Refusal {
        reached: format!(
            "{anything}, after {blocks} blocks that would have shown a difference of {effect} nine times in ten{meanwhile}"
        ),
        needs: format!("an interval that excludes 1 or lies within {} of it", percent(evidence.margin)),
        remedy: format!("{more} or a quieter machine"),
    }
}

/// The option that gives a question more time.
fn more_time(descriptor: &Descriptor) -> &'static str {
    if descriptor.is_of_user() { "--within" } else { "--thorough" }
}

/// Takes the time of an epoch that its ratio is of, for one iteration, in picoseconds.
pub type Time = fn(&Sample) -> f64;

/// Takes what is measured of a command: a time in picoseconds, bytes, or a count. What was not counted is 0,
/// which is no side of a ratio.
pub fn of_command(quantity: Quantity) -> Time {
    match quantity {
        Quantity::UserTime => |sample| sample.user.0 as f64,
        Quantity::KernelTime => |sample| sample.system.0 as f64,
        Quantity::CpuTime => |sample| (sample.user + sample.system).0 as f64,
        Quantity::PeakMemory => |sample| sample.peak_memory.unwrap_or(0) as f64,
        Quantity::PageFaults => {
            |sample| (sample.minor_faults.unwrap_or(0) + sample.major_faults.unwrap_or(0)) as f64
        }
        Quantity::ContextSwitches => {
            |sample| f64::from(sample.voluntary_switches) + f64::from(sample.involuntary_switches)
        }
        Quantity::Instructions => |sample| sample.instructions.unwrap_or(0) as f64,
        Quantity::Cycles => |sample| sample.cycles.unwrap_or(0) as f64,
        _ => whole_epoch,
    }
}

/// One value for each block, in their order: the mean of its epochs. Those share a process, a layout or a
/// moment, and the values of an interval have to be strangers to each other.
pub fn by_block(samples: &[&Sample], read: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let blocks = samples.chunk_by(|one, other| one.block == other.block);
    blocks.map(|block| block.iter().map(|sample| read(sample)).sum::<f64>() / block.len() as f64).collect()
}

/// The whole epoch's.
pub fn whole_epoch(sample: &Sample) -> f64 {
    sample.elapsed.0 as f64 / sample.iterations as f64
}

/// The log ratios of one comparison, a block each.
pub fn paired(time: Time, samples: &[Sample], comparison: &Comparison) -> LogRatios {
    log_ratios(samples.iter().filter_map(|sample| {
        let side = match sample.variant {
            variant if variant == comparison.left => Side::Left,
            variant if variant == comparison.right => Side::Right,
            _ => return None,
        };
        Some(Epoch { block: sample.block, side, time: time(sample) })
    }))
}

fn within(interval: Interval, margin: f64) -> bool {
    interval.low >= -margin && interval.high <= margin
}
