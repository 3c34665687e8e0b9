//! Regimes: the states that a sequence was in, each for long, whichever order they came in.
//!
//! Parts between change points ([`super::changes`]) that are alike are one regime, so that a state that comes
//! back is the same state. Each regime has a median and an interval of its own. A verdict on the whole
//! sequence that is to hold must hold in each of them, because the median of the whole is that of whichever
//! regime lasted longest.
//!
//! An interval that covers the whole's *and* every regime's is at least as wide as the whole's. So whatever a
//! change point does, rightly or wrongly, it can widen an answer and never bring one about: the level of a
//! verdict stays that of [`super::sequential`], and what a false change costs is power.

use std::ops::Range;

use tenbin_model::{Interval, Order};

use super::changes;
use super::is_level;
use super::order::Ordered;
use super::sign;

/// A regime that lasted for less than this part of all values is a disturbance, which a median is made to
/// bear.
const LASTING: f64 = 0.04;

/// Parts are alike where a value of the one exceeds one of the other no more often than this. Noise that is
/// related from one value to the next wanders, and its stretches have medians that differ; they overlap far
/// more than states do.
const APART: f64 = 0.8;

/// Parts are alike only where their medians are no further apart than so many times the lesser of the
/// distances between their quartiles. Noise that wanders takes its stretches about as far as it is wide;
/// states may be told by their centres, though half of the epochs of one were disturbed and fall anywhere.
const WANDERS: f64 = 2.0;

/// A mode is a state that takes turns with another where its turns last for so many values in the middle.
/// Noise that is larger at some times than at others has values far out in bunches as well; within a bunch
/// they come one by one, on either side.
const TURN: f64 = 2.0;

/// A state of a sequence that lasted.
#[derive(Clone, Debug, PartialEq)]
pub struct Regime {
    /// Where it was, ascending.
    pub parts: Vec<Range<usize>>,
    /// Median of its values.
    pub median: f64,
    /// Where that lies. Of a regime with too few values for its level, all that they span.
    pub interval: Interval,
}

impl Regime {
    /// How many values it has.
    pub fn count(&self) -> usize {
        self.parts.iter().map(Range::len).sum()
    }
}

/// The regimes of `values`, in the order in which they first came: at least two, or none where one state
/// lasted throughout.
///
/// `change` is the probability of a false change point if values can be exchanged; `level` that of an
/// interval to miss, which the regimes share.
pub fn regimes(values: &[f64], change: f64, level: f64) -> Vec<Regime> {
    let Some(parts) = changes::parts(values, change).filter(|_| is_level(level)) else { return Vec::new() };
    let alike = grouped(values, parts, level);
    let mut groups: Vec<Group> = alike.into_iter().flat_map(|group| group.in_modes(values, change)).collect();
    groups.retain(|group| group.sorted.count() as f64 >= LASTING * values.len() as f64);
    if groups.len() < 2 {
        return Vec::new();
    }
    groups.order_by_key(|group| group.parts[0].start);
    let shared = level / groups.len() as f64;
    let regime = |group: Group| Regime {
        median: group.sorted.median(),
        interval: group.interval(shared),
        parts: joined(group.parts),
    };
    groups.into_iter().map(regime).collect()
}

/// Ascending parts, with those that touch made one.
fn joined(parts: Vec<Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for part in parts {
        match joined.last_mut() {
            Some(last) if last.end == part.start => last.end = part.end,
            _ => joined.push(part),
        }
    }
    joined
}

/// The parts in groups of those that are alike: each joins the nearest of those it is like, the longest
/// first.
///
/// So a short part whose interval meets those of two long ones joins one of them, and does not make them one.
fn grouped(values: &[f64], parts: Vec<Range<usize>>, level: f64) -> Vec<Group> {
    let shared = level / parts.len() as f64;
    let mut parts: Vec<Group> = parts.into_iter().filter_map(|part| Group::of(values, vec![part])).collect();
    parts.order_by_key(|part| (std::cmp::Reverse(part.sorted.count()), part.parts[0].start));
    let mut groups: Vec<Group> = Vec::new();
    for part in parts {
        let own = part.interval(shared);
        let distance = |group: &Group| (group.sorted.median() - part.sorted.median()).abs();
        let alike = |group: &&mut Group| {
            let other = group.interval(shared);
            (own.low <= other.high && other.low <= own.high) || group.overlaps(&part)
        };
        let nearest =
            groups.iter_mut().filter(alike).min_by(|one, other| distance(one).total_cmp(&distance(other)));
        match nearest {
            Some(group) => group.join(part),
            None => groups.push(part),
        }
    }
    groups
}

/// Parts that are taken for one regime.
struct Group {
    parts: Vec<Range<usize>>,
    sorted: Ordered,
}

impl Group {
    fn of(values: &[f64], parts: Vec<Range<usize>>) -> Option<Self> {
        let own = parts.iter().flat_map(|part| values[part.clone()].iter().copied());
        Some(Self { sorted: Ordered::new(own.collect())?, parts })
    }

    fn join(&mut self, other: Self) {
        self.parts.extend(other.parts);
        self.parts.order_by_key(|part| part.start);
        self.sorted = self.sorted.with(&other.sorted);
    }

    /// This group in two where its values lie in two modes that last for more than a value each; else as it
    /// is.
    ///
    /// States that take turns faster than a change point can be told show like this. Values that fall into
    /// either mode by chance, one by one, are noise of one state, whatever its shape: then the runs of one
    /// mode are no longer than chance makes them. Source: A. Wald and J. Wolfowitz, "On a Test Whether Two
    /// Samples Are from the Same Population" (1940).
    fn in_modes(self, values: &[f64], level: f64) -> Vec<Self> {
        let Some(between) = valley(self.sorted.values()) else { return vec![self] };
        let above = |place: usize| values[place] > between;
        let mut sides: [Vec<Range<usize>>; 2] = [Vec::new(), Vec::new()];
        for part in &self.parts {
            let mut start = part.start;
            for end in part.start + 1..=part.end {
                if end == part.end || above(end) != above(start) {
                    sides[usize::from(above(start))].push(start..end);
                    start = end;
                }
            }
        }
        let [below, beyond] = sides.each_ref().map(|side| side.iter().map(Range::len).sum::<usize>() as f64);
        let (runs, count) = ((sides[0].len() + sides[1].len()) as f64, below + beyond);
        // Each part begins a run, which chance need not have made.
        let expected = 1.0 + 2.0 * below * beyond / count + (self.parts.len() - 1) as f64;
        let variance =
            2.0 * below * beyond * (2.0 * below * beyond - count) / (count * count * (count - 1.0));
        let fewer = (expected - runs) / variance.sqrt();
        let lasts = |side: &Vec<Range<usize>>, count: f64| count >= TURN * side.len() as f64;
        let last = lasts(&sides[0], below) && lasts(&sides[1], beyond);
        if fewer < (2.0 * (1.0 / level).ln()).sqrt() || !last {
            return vec![self];
        }
        sides.into_iter().filter_map(|parts| Self::of(values, parts)).collect()
    }

    /// The interval of the median; where there are too few values, all that they span.
    fn interval(&self, level: f64) -> Interval {
        let values = self.sorted.values();
        let spanned = Interval { low: values[0], high: values[values.len() - 1] };
        sign::interval(&self.sorted, level).map_or(spanned, |it| it.interval)
    }

    /// Whether neither lies above the other: by no more than [`APART`] of all pairs of values (Mann and
    /// Whitney 1947), not by its central half, and with medians that are near ([`WANDERS`]). Epochs that
    /// something else disturbed fall on either side of any value, and with enough of them no state would be
    /// above another by most pairs, or by its central half.
    fn overlaps(&self, other: &Self) -> bool {
        let (own, others) = (self.sorted.values(), other.sorted.values());
        let mut below = 0;
        let mut pairs = 0.0;
        for &value in own {
            while below < others.len() && others[below] < value {
                below += 1;
            }
            pairs += below as f64;
        }
        let above = pairs / (own.len() * others.len()) as f64;
        let half = |values: &[f64]| [values[values.len() / 4], values[3 * values.len() / 4]];
        let ([low, high], [other_low, other_high]) = (half(own), half(others));
        let near = WANDERS * (high - low).min(other_high - other_low);
        (1.0 - APART..=APART).contains(&above)
            && low <= other_high
            && other_low <= high
            && (self.sorted.median() - other.sorted.median()).abs() <= near
    }
}

/// A value between two modes of these ascending values, if there are two.
///
/// Of all ways to cut the values in two, each part lasting, the one whose medians are farthest apart by the
/// measure of the quartiles around them. Two normal distributions whose centres are four deviations apart
/// pass; whatever has one mode stays far below.
fn valley(sorted: &[f64]) -> Option<f64> {
    /// Distance of the medians over the sum of both distances between quartiles: 0.8 for one normal
    /// distribution cut in half, 1 for a uniform one, 1.5 for two normal ones four deviations apart.
    const CLEFT: f64 = 1.5;
    let count = sorted.len();
    let least = ((LASTING * count as f64).ceil() as usize).max(changes::LEAST);
    let at = |part: &[f64], quarters: usize| part[(part.len() - 1) * quarters / 4];
    let cleft = |&cut: &usize| {
        let (below, above) = sorted.split_at(cut);
        let spread = |part: &[f64]| at(part, 3) - at(part, 1);
        (at(above, 2) - at(below, 2)) / (spread(below) + spread(above))
    };
    let deepest =
        (least..=count.saturating_sub(least)).max_by(|one, other| cleft(one).total_cmp(&cleft(other)))?;
    // Quartiles let a few values of the other mode into a part; halfway between the medians lies the valley
    // itself.
    let (below, above) = sorted.split_at(deepest);
    (cleft(&deepest) >= CLEFT).then(|| at(below, 2).midpoint(at(above, 2)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// So many values around each level, within 5 % of it on either side.
    fn steps(levels: &[(usize, f64)]) -> Vec<f64> {
        changes::tests::steps(levels, 0.1)
    }

    #[test]
    fn a_state_that_comes_back_is_the_same_state() {
        let all = regimes(&steps(&[(200, 1.0), (300, 0.0), (100, 1.0), (400, 0.0)]), 0.01, 0.01);
        assert_eq!(all.len(), 2);
        assert_eq!((all[0].parts.len(), all[1].parts.len()), (2, 2));
        assert!(all[0].count().abs_diff(300) <= 4 && (all[0].median - 1.0).abs() < 0.02, "{all:?}");
        assert!(all[1].interval.low < 0.0 && all[1].interval.high > 0.0, "{all:?}");
    }

    /// As beside eight busy processes: one epoch in four was stopped midway, and its ratio lies anywhere.
    #[test]
    fn states_with_many_disturbed_epochs_are_two() {
        let mut values = steps(&[(80, 2.7_f64.ln()), (120, 0.0)]);
        for (place, value) in values.iter_mut().enumerate() {
            match (place < 80, place % 12) {
                (true, 0 | 6) => *value = 0.4_f64.ln(),
                (true, 3) => *value = 12.0_f64.ln(),
                (false, 5) => *value = 3.4_f64.ln(),
                (false, 11) => *value = 0.26_f64.ln(),
                _ => {}
            }
        }
        let all = regimes(&values, 0.01, 0.01);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!((all[0].median - 2.7_f64.ln()).abs() < 0.05 && all[1].median.abs() < 0.05, "{all:?}");
        assert!(all[0].count().abs_diff(80) <= 4, "{all:?}");
    }

    /// As beside fourteen: so many epochs were stopped midway that the central halves overlap.
    #[test]
    fn states_with_half_of_their_epochs_disturbed_are_two() {
        let mut values = steps(&[(80, 3.2_f64.ln()), (120, 0.0)]);
        for (place, value) in values.iter_mut().enumerate() {
            match (place < 80, place % 12) {
                (true, 0 | 3 | 6 | 9) | (false, 5) => *value = 0.35_f64.ln(),
                (true, 5) => *value = 9.0_f64.ln(),
                (false, 11) => *value = 3.4_f64.ln(),
                _ => {}
            }
        }
        let all = regimes(&values, 0.01, 0.01);
        assert_eq!(all.len(), 2, "{all:?}");
        assert!((all[0].median - 3.2_f64.ln()).abs() < 0.1 && all[1].median.abs() < 0.05, "{all:?}");
    }

    #[test]
    fn a_short_disturbance_is_no_regime_and_one_of_a_twentieth_is() {
        assert_eq!(regimes(&steps(&[(480, 0.0), (30, 1.0), (490, 0.0)]), 0.01, 0.01), []);
        let all = regimes(&steps(&[(480, 0.0), (50, 1.0), (470, 0.0)]), 0.01, 0.01);
        assert_eq!(all.len(), 2, "{all:?}");
    }

    #[test]
    fn states_in_quick_turns_are_two_and_chance_modes_are_one() {
        let turns: Vec<(usize, f64)> = (0..200).map(|turn| (5, f64::from(turn % 2))).collect();
        let all = regimes(&steps(&turns), 0.01, 0.01);
        assert_eq!(all.iter().map(|regime| regime.parts.len()).collect::<Vec<_>>(), [100, 100]);
        // The digits of π, even or odd.
        let digits = "314159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798";
        let chance: Vec<(usize, f64)> = digits.bytes().map(|digit| (1, f64::from(digit % 2))).collect();
        assert_eq!(regimes(&steps(&chance), 0.01, 0.01), []);
    }

    /// As beside a neighbour on the other half of a core: in one stretch of four any epoch may be hit, on
    /// either side of the ratio.
    #[test]
    fn noise_that_is_larger_at_times_is_one_state() {
        let digits = "31415926535897932384626433832795028841971693993751";
        let stretch = |hit: bool| {
            digits.bytes().map(move |digit| match digit % 5 {
                0 if hit => (1, -0.5),
                1 if hit => (1, 0.5),
                _ => (1, 0.0),
            })
        };
        let values: Vec<(usize, f64)> = (0..12).flat_map(|turn| stretch(turn % 3 == 1)).collect();
        assert_eq!(regimes(&steps(&values), 0.01, 0.01), []);
    }

    #[test]
    fn a_state_between_two_others_does_not_make_them_one() {
        let all = regimes(&steps(&[(300, 0.0), (300, 1.0), (40, 0.5)]), 0.01, 0.01);
        assert_eq!(all.len(), 3, "{all:?}");
    }
}
