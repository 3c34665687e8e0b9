//! The judge of transfers: what a line costs to move between two CPUs, and into which classes the pairs fall.

use std::collections::BTreeMap;

use tenbin_model::topology::{Shared, shared};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Cell, Cpu, Descriptor, Figure, Grid, Machine, Refusal, Trial, Variant, Verdict};

use super::comparisons::{self, empty};
use super::decide::{LEVEL, percent};
use super::sentence::{outward, show};
use super::{caveat, sentence};
use crate::stats::order::Ordered;

/// A control pair whose median moves by more than this factor says that the machine changed meanwhile.
const STEADY: f64 = 1.25;

/// Epochs this many times as long as the median were interrupted: a handover is not.
const INTERRUPTED: f64 = 3.0;

/// The answer for the experiment first, then each pair's own.
pub(super) fn answers(machine: &Machine, trial: &Trial) -> Vec<Answer> {
    let pairs: Vec<Pair> = trial.cells.iter().filter_map(|cell| Pair::of(machine, cell)).collect();
    let own = |cell: &Cell| {
        let answers = comparisons::of_cell(machine, trial, cell);
        answers.into_iter().map(|answer| Answer { headline: false, ..answer })
    };
    let each: Vec<Answer> = trial.cells.iter().flat_map(own).collect();
    let measured: Vec<&Pair> = pairs.iter().filter(|pair| !pair.control).collect();
    let Some(first) = measured.first() else {
        // Nothing was timed: the refusal of the first cell stands for all.
        return each
            .into_iter()
            .enumerate()
            .map(|(place, answer)| Answer { headline: place == 0, ..answer })
            .collect();
    };
    let classes = classes(&measured);
    let drift = drift(&pairs, first);
    let mut headline = match classes.as_slice() {
        [only] => one_class(trial, only, &each),
        several => several_classes(trial, several, drift),
    };
    let unsteady = (drift > STEADY).then(|| {
        format!(
            "{} and {} took {}x as long at one time as at another.",
            first.cpus.0,
            first.cpus.1,
            three_digits(drift)
        )
    });
    let placement = trial.cells.first().and_then(|cell| caveat::placement(machine, cell));
    let caveats: Vec<String> = unsteady.into_iter().chain(placement).collect();
    headline.caveat =
        (!caveats.is_empty() && headline.verdict != Verdict::Refused).then(|| caveats.join(" "));
    headline.figures = figures(&by_class(machine, trial), drift);
    headline.grids = grids(&trial.descriptor, &measured);
    std::iter::once(headline).chain(each).collect()
}

/// One pair, as it was measured.
struct Pair {
    cpus: (Cpu, Cpu),
    class: Shared,
    /// Whether it is a repetition of the first pair, for the sake of drift.
    control: bool,
    /// By variant, in the order of the cell.
    spreads: Vec<Spread>,
}

/// The handovers of one pair by one protocol, in nanoseconds for one way.
#[derive(Clone, Copy)]
struct Spread {
    low: f64,
    median: f64,
    high: f64,
    /// The part of the epochs that took [`INTERRUPTED`] times the median or longer.
    interrupted: f64,
}

impl Pair {
    /// None where nothing was timed.
    fn of(machine: &Machine, cell: &Cell) -> Option<Self> {
        let &[one, other] = cell.arrangement.cpus.as_slice() else { return None };
        let spreads = cell.arrangement.variants.iter().map(|&variant| Spread::of(cell, variant));
        Some(Self {
            cpus: (one, other),
            class: shared(machine, one, other),
            control: cell.arrangement.parameter("control").is_some_and(|number| !number.is_empty()),
            spreads: spreads.collect::<Option<_>>()?,
        })
    }
}

impl Spread {
    fn of(cell: &Cell, variant: u32) -> Option<Self> {
        let samples = cell.samples.iter().filter(|sample| sample.variant == variant);
        let one_way = samples
            .map(|sample| sample.elapsed.as_nanos() / (sample.iterations * cell.arrangement.work) as f64);
        let ordered = Ordered::new(one_way.collect())?;
        let median = ordered.median();
        let late = ordered.values().iter().filter(|&&time| time >= INTERRUPTED * median).count();
        Some(Self {
            low: ordered.quantile(0.05)?,
            median,
            high: ordered.quantile(0.95)?,
            interrupted: late as f64 / ordered.count() as f64,
        })
    }

    fn in_words(&self) -> String {
        let Self { low, median, high, .. } = self;
        format!("{} ns (p5 {} to p95 {})", three_digits(*median), three_digits(*low), three_digits(*high))
    }
}

/// The pairs that share one thing, nearest class first.
struct Class<'a> {
    shared: Shared,
    pairs: Vec<&'a Pair>,
}

impl Class<'_> {
    /// The medians of its pairs by the variant at `place`.
    fn medians(&self, place: usize) -> Vec<f64> {
        self.pairs.iter().filter_map(|pair| Some(pair.spreads.get(place)?.median)).collect()
    }

    /// The middle of the pairs' medians.
    fn median(&self, place: usize) -> Option<f64> {
        Some(Ordered::new(self.medians(place))?.median())
    }

    fn in_words(&self, place: usize) -> Option<String> {
        let plural = if self.pairs.len() == 1 { "" } else { "s" };
        let time = three_digits(self.median(place)?);
        Some(format!("{time} ns between CPUs that share {} ({} pair{plural})", self.shared, self.pairs.len()))
    }
}

fn classes<'a>(pairs: &[&'a Pair]) -> Vec<Class<'a>> {
    let mut classes: BTreeMap<Shared, Vec<&Pair>> = BTreeMap::new();
    for pair in pairs {
        classes.entry(pair.class).or_default().push(pair);
    }
    classes.into_iter().map(|(shared, pairs)| Class { shared, pairs }).collect()
}

/// One protocol between the CPUs of one class, over its pairs: medians of what each pair took for one way.
pub(crate) struct ByClass {
    pub(crate) way: String,
    pub(crate) shared: Shared,
    pub(crate) pairs: usize,
    /// In nanoseconds.
    pub(crate) median: f64,
    pub(crate) low: f64,
    pub(crate) high: f64,
    /// The largest part of a pair's epochs that was interrupted.
    pub(crate) interrupted: f64,
}

/// What each protocol costs within each class, nearest first.
pub(crate) fn by_class(machine: &Machine, trial: &Trial) -> Vec<ByClass> {
    let pairs: Vec<Pair> = trial.cells.iter().filter_map(|cell| Pair::of(machine, cell)).collect();
    let measured: Vec<&Pair> = pairs.iter().filter(|pair| !pair.control).collect();
    let ways = trial.descriptor.variants.iter().enumerate();
    let rows = classes(&measured).into_iter().flat_map(|class| {
        let row = |(place, way): (usize, &Variant)| {
            let spreads = || class.pairs.iter().filter_map(move |pair| pair.spreads.get(place));
            let middle = |read: Read| Some(Ordered::new(spreads().map(read).collect())?.median());
            Some(ByClass {
                way: way.name.clone(),
                shared: class.shared,
                pairs: class.pairs.len(),
                median: middle(|spread| spread.median)?,
                low: middle(|spread| spread.low)?,
                high: middle(|spread| spread.high)?,
                interrupted: spreads().map(|spread| spread.interrupted).fold(0.0, f64::max),
            })
        };
        ways.clone().filter_map(row).collect::<Vec<_>>()
    });
    rows.collect()
}

/// The largest factor between two medians of the first pair, over its repetitions and both protocols.
fn drift(pairs: &[Pair], first: &Pair) -> f64 {
    let times = |place: usize| {
        let same = pairs.iter().filter(move |pair| pair.cpus == first.cpus);
        same.filter_map(move |pair| Some(pair.spreads.get(place)?.median))
    };
    let factor = |place: usize| times(place).fold(0.0, f64::max) / times(place).fold(f64::INFINITY, f64::min);
    (0..first.spreads.len()).map(factor).fold(1.0, f64::max)
}

/// All pairs are alike by what they share: the protocols are what can be weighed.
fn one_class(trial: &Trial, class: &Class<'_>, each: &[Answer]) -> Answer {
    let first = class.pairs[0];
    let names = &trial.descriptor.variants;
    let ways: Vec<String> = first
        .spreads
        .iter()
        .zip(names)
        .map(|(spread, variant)| format!("{} by {}", spread.in_words(), variant.name))
        .collect();
    let weighed = each.first();
    let apart = match weighed.and_then(|answer| answer.evidence.as_ref()) {
        Some(evidence) if evidence.ratio > 1.0 => {
            format!(", {}x as much ({})", show(evidence.ratio, evidence.interval), outward(evidence.interval))
        }
        _ => String::new(),
    };
    let others = match class.pairs.len() {
        1 => "One pair says what a line costs there; which pairs are near takes 3 CPUs or more.".to_owned(),
        count => format!("All {count} pairs share the same, so none is near by what is known."),
    };
    let (one, other) = first.cpus;
    Answer {
        verdict: weighed.map_or(Verdict::Refused, |answer| answer.verdict),
        evidence: weighed.and_then(|answer| answer.evidence.clone()),
        refusal: weighed.and_then(|answer| answer.refusal.clone()),
        sentence: format!(
            "Between {one} and {other}, which share {}, a line moves in {}{apart}. {others}",
            class.shared,
            ways.join(" and in ")
        ),
        ..empty(&trial.descriptor, "", true)
    }
}

/// Whether the nearest class is nearer than the farthest, by the last protocol: flags need the fewest instructions.
fn several_classes(trial: &Trial, classes: &[Class<'_>], drift: f64) -> Answer {
    let descriptor = &trial.descriptor;
    let place =
        descriptor.variants.iter().filter(|variant| variant.role == tenbin_model::Role::Measured).count() - 1;
    let said: Vec<String> = classes.iter().filter_map(|class| class.in_words(place)).collect();
    let way = &descriptor.variants[place].name;
    let reached = format!("a line moves by {way} in {}", said.join(", in "));
    let refused = |needs: String, remedy: &str| {
        let refusal = Refusal { reached: reached.clone(), needs, remedy: remedy.into() };
        Answer {
            sentence: sentence::refusal(&refusal),
            refusal: Some(refusal),
            ..empty(descriptor, "", true)
        }
    };
    if drift > STEADY {
        let needs = format!(
            "a control pair that stays within {STEADY}x of itself, and it moved by {}x",
            three_digits(drift)
        );
        return refused(needs, "a quieter machine, or CPUs that stay where they are");
    }
    let (Some(near), Some(far)) = (classes.first(), classes.last()) else {
        return refused(String::new(), "");
    };
    let (nearest, farthest) = (near.medians(place), far.medians(place));
    let apart =
        nearest.iter().copied().fold(0.0, f64::max) < farthest.iter().copied().fold(f64::INFINITY, f64::min);
    let chance = by_chance(nearest.len(), farthest.len());
    let few = chance > LEVEL;
    let factor = far.median(place).zip(near.median(place)).map_or(f64::NAN, |(far, near)| far / near);
    if !apart || few {
        let why = if apart {
            format!(
                "enough pairs: such an order of {} and {} happens by chance in {}",
                nearest.len(),
                farthest.len(),
                percent(chance)
            )
        } else {
            "every pair of the nearest class below every pair of the farthest".into()
        };
        return refused(why, "measure all pairs (without --quick), or more CPUs");
    }
    Answer {
        verdict: Verdict::Different,
        sentence: format!(
            "A line moves by {way} in {}: {}x from the nearest class to the farthest, and every pair of the one is below every pair of the other.",
            said.join(", in "),
            three_digits(factor)
        ),
        ..empty(descriptor, "", true)
    }
}

/// The probability that `near` values all lie below `far` others, were all drawn alike: one order of the classes in
/// as many as there are (the extreme of Mann and Whitney, "On a test of whether one of two random variables is
/// stochastically larger than the other", 1947).
fn by_chance(near: usize, far: usize) -> f64 {
    (1..=near).map(|place| place as f64 / (far + place) as f64).product()
}

fn figures(rows: &[ByClass], drift: f64) -> Vec<Figure> {
    let mut figures = vec![Figure::new("drift of the control pair", drift, "1")];
    for row in rows {
        let mut add = |what: &str, value: f64, unit: &str| {
            let name = format!("{}, CPUs that share {}: {what}", row.way, row.shared);
            figures.push(Figure::new(&name, value, unit));
        };
        add("pairs", row.pairs as f64, "1");
        add("median", row.median, "ns");
        add("p5", row.low, "ns");
        add("p95", row.high, "ns");
        add("largest part of a pair's epochs that was interrupted", row.interrupted, "1");
    }
    figures
}

/// Takes one figure of a pair's handovers.
type Read = fn(&Spread) -> f64;

/// Median, p5 and p95 of each protocol, by pair.
fn grids(descriptor: &Descriptor, pairs: &[&Pair]) -> Vec<Grid> {
    let mut cpus: Vec<Cpu> = pairs.iter().flat_map(|pair| [pair.cpus.0, pair.cpus.1]).collect();
    cpus.sort_unstable();
    cpus.dedup();
    let names: Vec<String> = cpus.iter().map(|cpu| cpu.0.to_string()).collect();
    let figures: [(&str, Read); 3] =
        [("median", |spread| spread.median), ("p5", |spread| spread.low), ("p95", |spread| spread.high)];
    let mut grids = Vec::new();
    for (name, read) in figures {
        for (place, variant) in descriptor.variants.iter().enumerate() {
            let mut values = vec![vec![None; cpus.len()]; cpus.len()];
            for pair in pairs {
                let Some(spread) = pair.spreads.get(place) else { continue };
                let found = |cpu: Cpu| cpus.iter().position(|&known| known == cpu);
                if let (Some(one), Some(other)) = (found(pair.cpus.0), found(pair.cpus.1)) {
                    values[one][other] = Some(read(spread));
                    values[other][one] = Some(read(spread));
                }
            }
            if values.iter().flatten().any(Option::is_some) {
                grids.push(Grid {
                    name: format!("{name} of {}", variant.name),
                    unit: "ns".into(),
                    rows: names.clone(),
                    columns: names.clone(),
                    values,
                });
            }
        }
    }
    grids
}

#[cfg(test)]
mod tests;
