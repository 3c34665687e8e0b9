//! Error rates: proportions over verdicts.

use std::collections::BTreeMap;

use tenbin_model::calibration::{
    Between, Bias, LayoutRates, OneLayout, Proportion, Rates, Step, Unanswered, Unweighed, VerdictTime,
    WeighRates, WorkRates,
};
use tenbin_model::order::grouped;
use tenbin_model::{Calibration, MeasuredRatio, Order, Pair, Picoseconds, Purpose, Series, Verdict};

use crate::across::in_order;
use tenbin_stats::order::Ordered;
use tenbin_stats::proportion::clopper_pearson;

/// The probability that the interval of one proportion misses.
pub const LEVEL: f64 = 0.01;

/// Every rate of a calibration, from its pairs.
///
/// Proportions get the exact interval of Clopper and Pearson at [`LEVEL`], each by itself: they are
/// not corrected for being many. It holds if pairs are independent; that works of unlike rates are
/// pooled can only make it wider than it need be (W. Hoeffding, "On the Distribution of the Number
/// of Successes in Independent Trials", 1956).
///
/// A calibration that was cut short, or of which every series was refused, has rates as well:
/// proportions of 0, without an interval.
pub fn rates(calibration: &Calibration) -> Rates {
    let all = WeighedPair::of(calibration, |_| true);
    let ladder = WeighedPair::of(calibration, |series| series.purpose == Purpose::Ladder);
    Rates {
        level: LEVEL,
        alarms: proportion(&ladder, WeighedPair::answered_equals, WeighedPair::different),
        excluded: proportion(&ladder, WeighedPair::answered_equals, WeighedPair::excludes_1),
        undecided: proportion(&ladder, WeighedPair::equals, WeighedPair::refused),
        wrong_signs: proportion(&ladder, WeighedPair::answered_differing, WeighedPair::wrong),
        covered: proportion(&ladder, WeighedPair::answered, WeighedPair::covered),
        refused: proportion(&all, |_| true, WeighedPair::refused),
        took: took(&ladder),
        works: works(calibration, Purpose::Ladder),
        commands: weighed(calibration, Purpose::Command),
        functions: weighed(calibration, Purpose::Function),
        layout: layout(calibration),
        biases: calibration.series.iter().filter_map(bias).collect(),
        between: calibration.series.iter().filter_map(between).collect(),
        unweighed: calibration.series.iter().filter_map(unweighed).collect(),
        unanswered: unanswered(&all),
    }
}

fn unanswered(pairs: &[WeighedPair]) -> Vec<Unanswered> {
    let reasons = grouped(pairs.iter().filter_map(|weighed| Some((weighed.pair.why.clone()?, ()))));
    let reasons = reasons.into_iter().map(|(why, all)| Unanswered { why, count: all.len() as u64 });
    reasons.collect()
}

/// None unless a pair was weighed for `purpose`.
fn weighed(calibration: &Calibration, purpose: Purpose) -> Option<WeighRates> {
    let pairs = WeighedPair::of(calibration, |series| series.purpose == purpose);
    (!pairs.is_empty()).then(|| WeighRates {
        alarms: proportion(&pairs, WeighedPair::answered_equals, WeighedPair::different),
        wrong_signs: proportion(&pairs, WeighedPair::answered_differing, WeighedPair::wrong),
        works: works(calibration, purpose),
    })
}

/// What was weighed for `purpose`, work by work.
fn works(calibration: &Calibration, purpose: Purpose) -> Vec<WorkRates> {
    let ladder = || calibration.series.iter().filter(move |series| series.purpose == purpose);
    in_order(ladder().map(|series| series.work.as_str()))
        .into_iter()
        .map(|name| {
            let of_work = |series: &Series| series.purpose == purpose && series.work == name;
            let pairs = WeighedPair::of(calibration, of_work);
            let mut effects: Vec<f64> = ladder().filter(|series| of_work(series)).map(|s| s.effect).collect();
            effects.retain(|&effect| effect != 0.0);
            effects.order_by(f64::total_cmp);
            effects.dedup();
            let step = |effect: f64| {
                let of_effect = |weighed: &WeighedPair<'_>| weighed.series.effect == effect;
                Step { effect, detected: proportion(&pairs, of_effect, WeighedPair::found_rightly) }
            };
            let steps: Vec<Step> = effects.into_iter().map(step).collect();
            let what = ladder().find(|series| of_work(series)).map(|series| series.what.clone());
            WorkRates {
                work: name.to_owned(),
                what: what.unwrap_or_default(),
                alarms: proportion(&pairs, WeighedPair::answered_equals, WeighedPair::different),
                undecided: proportion(&pairs, WeighedPair::equals, WeighedPair::refused),
                covered: proportion(&pairs, WeighedPair::of_known_truth, WeighedPair::covered),
                ninety: ninety(&steps),
                steps,
                took: took(&pairs),
            }
        })
        .collect()
}

/// The last step, coming from the largest, up to which at least nine of ten were found.
fn ninety(steps: &[Step]) -> Option<Step> {
    let weighed = steps.iter().rev().filter(|step| step.detected.of > 0);
    weighed.take_while(|step| 10 * step.detected.count >= 9 * step.detected.of).last().copied()
}

fn layout(calibration: &Calibration) -> LayoutRates {
    let pairs = WeighedPair::of(calibration, |series| series.purpose == Purpose::Layout);
    let mut numbers: Vec<u32> = pairs.iter().filter_map(|weighed| weighed.pair.layout).collect();
    numbers.order();
    numbers.dedup();
    let one = |layout: u32| OneLayout {
        layout,
        different: proportion(&pairs, |weighed| weighed.pair.layout == Some(layout), WeighedPair::different),
    };
    LayoutRates {
        different: proportion(&pairs, |_| true, WeighedPair::different),
        layouts: numbers.into_iter().map(one).collect(),
    }
}

/// None unless the series is one of known ratios, of which at least one was found.
fn bias(series: &Series) -> Option<Bias> {
    if series.purpose != Purpose::Truth {
        return None;
    }
    let answered: Vec<(f64, MeasuredRatio)> =
        series.pairs.iter().filter_map(|pair| Some((pair.truth, pair.measured?))).collect();
    let (truth, _) = *answered.first()?;
    let median = Ordered::new(answered.iter().map(|(_, measured)| measured.ratio).collect())?.median();
    let errors = answered.iter().map(|(truth, measured)| measured.ratio / truth - 1.0);
    Some(Bias {
        work: series.work.clone(),
        what: series.what.clone(),
        truth,
        runs: answered.len() as u64,
        median,
        error: median / truth - 1.0,
        worst: errors.max_by(|one, other| one.abs().total_cmp(&other.abs()))?,
    })
}

/// None unless two processes found a ratio, of a series in which nothing is laid anew that belongs to the
/// pair.
fn between(series: &Series) -> Option<Between> {
    if series.purpose == Purpose::Layout {
        return None;
    }
    let measured =
        || series.pairs.iter().filter_map(|pair| Some((pair.process?, pair.truth, pair.measured?)));
    let mut by_process: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for (process, truth, measured) in measured() {
        by_process.entry(process).or_default().push(measured.ratio / truth);
    }
    let medians: Option<Vec<f64>> =
        by_process.into_values().map(|ratios| Some(Ordered::new(ratios)?.median())).collect();
    let medians = Ordered::new(medians?)?;
    let values = medians.values();
    let (mut disjoint, mut of) = (0, 0);
    for (place, (process, truth, one)) in measured().enumerate() {
        for (_, other_truth, other) in measured().skip(place + 1).filter(|other| other.0 != process) {
            let (one, other) = (one.interval, other.interval);
            of += 1;
            let below = one.high / truth < other.low / other_truth;
            disjoint += u64::from(below || other.high / other_truth < one.low / truth);
        }
    }
    (values.len() > 1).then(|| Between {
        purpose: series.purpose,
        work: series.work.clone(),
        effect: series.effect,
        processes: values.len() as u64,
        apart: values[values.len() - 1] / values[0],
        disjoint: Proportion { count: disjoint, of, interval: None },
    })
}

fn unweighed(series: &Series) -> Option<Unweighed> {
    let why = series.refused.clone()?;
    Some(Unweighed { purpose: series.purpose, work: series.work.clone(), effect: series.effect, why })
}

fn took(pairs: &[WeighedPair]) -> Option<VerdictTime> {
    let times = Ordered::new(pairs.iter().map(|weighed| weighed.pair.took.0 as f64).collect())?;
    let whole = |time: f64| Picoseconds(time.round() as u64);
    Some(VerdictTime { median: whole(times.median()), ninetieth: whole(times.quantile(0.9)?) })
}

/// How often it `happened`, counted `among` some of the pairs.
fn proportion<'a>(
    pairs: &[WeighedPair<'a>],
    among: impl Fn(&WeighedPair<'a>) -> bool,
    happened: impl Fn(&WeighedPair<'a>) -> bool,
) -> Proportion {
    let of = pairs.iter().filter(|weighed| among(weighed)).count() as u64;
    let count = pairs.iter().filter(|weighed| among(weighed) && happened(weighed)).count() as u64;
    Proportion { count, of, interval: clopper_pearson(count, of, LEVEL) }
}

/// The side of 1 on which a ratio lies.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Below,
    Above,
}

/// A pair with the question that it was weighed for.
#[derive(Clone, Copy)]
struct WeighedPair<'a> {
    series: &'a Series,
    pair: &'a Pair,
}

impl<'a> WeighedPair<'a> {
    fn of(calibration: &'a Calibration, wanted: impl Fn(&Series) -> bool) -> Vec<Self> {
        let series = calibration.series.iter().filter(|series| wanted(series));
        series.flat_map(|series| series.pairs.iter().map(move |pair| Self { series, pair })).collect()
    }

    fn equals(&self) -> bool {
        self.series.effect == 0.0
    }

    /// A pair without an interval could not have been called different: it must not make alarms rarer.
    fn answered_equals(&self) -> bool {
        self.equals() && self.answered()
    }

    fn excludes_1(&self) -> bool {
        self.pair.measured.is_some_and(|measured| measured.interval.low > 1.0 || measured.interval.high < 1.0)
    }

    fn answered_differing(&self) -> bool {
        !self.equals() && self.answered()
    }

    fn different(&self) -> bool {
        self.pair.verdict == Verdict::Different
    }

    fn refused(&self) -> bool {
        self.pair.verdict == Verdict::Refused
    }

    fn answered(&self) -> bool {
        self.pair.measured.is_some()
    }

    /// Whether it has an interval, and the truth is known better than that could tell: what starting a
    /// command costs is an estimate.
    fn of_known_truth(&self) -> bool {
        self.answered() && (self.series.purpose != Purpose::Command || self.equals())
    }

    fn covered(&self) -> bool {
        let truth = self.pair.truth;
        self.pair
            .measured
            .is_some_and(|measured| measured.interval.low <= truth && truth <= measured.interval.high)
    }

    fn found_rightly(&self) -> bool {
        self.claimed_side().is_some() && self.claimed_side() == self.true_side()
    }

    fn wrong(&self) -> bool {
        self.claimed_side().is_some_and(|claimed| self.true_side().is_some_and(|side| side != claimed))
    }

    /// The side on which the whole interval lies, if the verdict is "different". An end that was
    /// rounded to 1 still belongs to its side: the verdict was made from logarithms.
    fn claimed_side(&self) -> Option<Side> {
        let interval = self.pair.measured.filter(|_| self.different())?.interval;
        match (interval.low >= 1.0, interval.high <= 1.0) {
            (true, false) => Some(Side::Above),
            (false, true) => Some(Side::Below),
            _ => None,
        }
    }

    fn true_side(&self) -> Option<Side> {
        match self.pair.truth {
            truth if truth > 1.0 => Some(Side::Above),
            truth if truth < 1.0 => Some(Side::Below),
            _ => None,
        }
    }
}
