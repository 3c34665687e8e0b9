//! Change points: where a sequence stops being one experiment and becomes another.
//!
//! Wanted is any number of changes, of states that last; single values that lie far out, however far, must
//! not count as one. So intervals of many lengths and places are each split in two at every place, and the
//! parts compared:
//!
//! - the intervals are those of *seeded binary segmentation* (S. Kovács, P. Bühlmann, H. Li, A. Munk, "Seeded
//!   binary segmentation: a general methodology for fast and optimal changepoint detection", Biometrika
//!   2023): fixed, and n log n elements in all;
//! - the parts are compared by the rank sum of Wilcoxon (1945) and of Mann and Whitney (1947), standardized,
//!   and by how many values lie above each quartile of the interval: where something else disturbs half of
//!   the values either way, ranks say little of where the others lie;
//! - of the splits above the threshold the one in the *narrowest* interval is taken first, and all intervals
//!   that hold it are left out from there on (R. Baranowski, Y. Chen, P. Fryzlewicz,
//!   "Narrowest-over-threshold detection of multiple change points and change-point-like features", JRSS B
//!   2019). A narrow interval holds one change and not two that hide each other, so a state that comes and
//!   goes is seen.
//!
//! # The threshold
//!
//! It is that of a permutation test, by a bound in place of drawn permutations. Where nothing changed, every
//! order of the values is as likely as every other. With m values on the one side and k on the other, the
//! rank sum then has the generating function ∏ⱼ sinh((k+j)t/2)·j / (sinh(jt/2)·(k+j)) over j = 1…m, around
//! its mean. With g(x) = ln(sinh(x)/x), which has g″ ≤ 1/3, g(x) − x²/6 falls for x > 0, and so the logarithm
//! of that function is at most ½·t²·variance: the rank sum is sub-Gaussian with its own variance, for every m
//! and k. Ties get middle ranks, which are means over the ways to break them, so by Jensen's inequality the
//! bound holds for them as well. A standardized rank sum therefore exceeds z with probability at most
//! 2·exp(−z²/2), exactly. The same holds for a count of values above a quartile, standardized by
//! ½·√(m·(1 − (m−1)/n)), with m the fewer of the n values: sampling without replacement (R. J. Serfling,
//! "Probability inequalities for the sum in sampling without replacement", Annals of Statistics 1974). So M
//! comparisons of a sequence together are at a level α if z = √(2·ln(2M/α)); ranks have nine tenths of the
//! level that is asked for, and counts the rest.
//!
//! What it takes to be seen: about 25 values beside as many others, about 12 beside many, completely apart.

use std::ops::Range;

use tenbin_model::Order;

use super::is_level;
use super::order::Ordered;

/// The fewest values in a part. Fewer could not pass the threshold at any level that is asked for.
pub(super) const LEAST: usize = 8;

/// More values than this are taken together, neighbour by neighbour, and each group stands as its median.
/// That bounds the work, and a state shorter than a hundredth of the whole is not looked for.
const MOST: usize = 2_048;

/// The parts of `values` that differ from their neighbours, in order: together they are the whole sequence.
///
/// One part where nothing changes; then more than one comes out with probability at most `level`, if the
/// values can be exchanged with each other. None if there are no values, one is NaN, or `level` is no level.
pub fn parts(values: &[f64], level: f64) -> Option<Vec<Range<usize>>> {
    if values.is_empty() || values.iter().any(|value| value.is_nan()) || !is_level(level) {
        return None;
    }
    let size = values.len().div_ceil(MOST);
    let medians = values.chunks(size).filter_map(|group| Some(Ordered::new(group.to_vec())?.median()));
    let mut ends: Vec<usize> =
        changes(&medians.collect::<Vec<_>>(), level).into_iter().map(|change| change * size).collect();
    ends.push(values.len());
    let mut start = 0;
    Some(ends.into_iter().map(|end| std::mem::replace(&mut start, end)..end).collect())
}

/// A split of an interval that is above the threshold.
struct Split {
    interval: Range<usize>,
    at: usize,
    height: f64,
}

/// The first values of the parts after the first one, ascending.
fn changes(values: &[f64], level: f64) -> Vec<usize> {
    let intervals = intervals(values.len());
    let splits: usize = intervals.iter().map(|interval| interval.len() + 1 - 2 * LEAST).sum();
    let threshold = |comparisons: usize, level: f64| (2.0 * (2.0 * comparisons as f64 / level).ln()).sqrt();
    let thresholds = Thresholds {
        ranks: threshold(splits, RANKS * level),
        counts: threshold(QUARTILES.len() * splits, (1.0 - RANKS) * level),
    };
    let mut candidates: Vec<Split> = intervals
        .into_iter()
        .filter_map(|interval| {
            let (at, height) = split(&values[interval.clone()], &thresholds)?;
            Some(Split { at: interval.start + at, interval, height })
        })
        .collect();
    candidates.order_by(|one, other| {
        one.interval.len().cmp(&other.interval.len()).then(other.height.total_cmp(&one.height))
    });
    let mut changes: Vec<usize> = Vec::new();
    for split in candidates {
        // A change at the edge of an interval lies between it and its neighbour, and not within it.
        let explained = |&change: &usize| split.interval.start < change && change < split.interval.end;
        if !changes.iter().any(explained) {
            changes.push(split.at);
        }
    }
    changes.sort_unstable();
    changes
}

/// The seeded intervals of a sequence, each long enough for two parts; from one layer to the next they are
/// shorter by √2.
fn intervals(count: usize) -> Vec<Range<usize>> {
    let mut intervals = Vec::new();
    let mut shrunk = 1.0_f64;
    loop {
        let length = (count as f64 * shrunk).ceil() as usize;
        if length < 2 * LEAST {
            return intervals;
        }
        let places = 2 * (1.0 / shrunk).ceil() as usize - 1;
        let step = if places > 1 { (count - length) as f64 / (places - 1) as f64 } else { 0.0 };
        intervals.extend((0..places).map(|place| {
            let start = (place as f64 * step) as usize;
            start..(start + length).min(count)
        }));
        shrunk *= std::f64::consts::FRAC_1_SQRT_2;
    }
}

/// What a split has to exceed.
struct Thresholds {
    ranks: f64,
    counts: f64,
}

/// The part of the level that the comparisons by ranks have: they find most of what there is.
const RANKS: f64 = 0.9;

/// The quarters of an interval's values, in ascending order, that end with a quartile.
const QUARTILES: [usize; 3] = [1, 2, 3];

/// Where the parts of an interval are farthest apart, and how far, if that is above its threshold: by ranks,
/// which tell the place best, else by counts.
fn split(values: &[f64], thresholds: &Thresholds) -> Option<(usize, f64)> {
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_unstable_by(|&one, &other| values[one].total_cmp(&values[other]));
    let quartile = |quarters: usize| values[order[(values.len() - 1) * quarters / 4]];
    let by_counts = QUARTILES.iter().map(|&quarters| highest_by_count(values, quartile(quarters)));
    let by_counts = by_counts.max_by(|one, other| one.1.total_cmp(&other.1));
    let by_ranks = Some(highest_by_ranks(values, &order));
    by_ranks
        .filter(|split| split.1 > thresholds.ranks)
        .or(by_counts.filter(|split| split.1 > thresholds.counts))
}

/// Where the parts are farthest apart by how many values lie above `quartile`, and how far.
fn highest_by_count(values: &[f64], quartile: f64) -> (usize, f64) {
    let count = values.len() as f64;
    let is_above = |value: &f64| f64::from(u8::from(*value > quartile));
    let part = values.iter().map(is_above).sum::<f64>() / count;
    let (mut beyond, mut highest) = (0.0, (LEAST, 0.0));
    for (place, value) in values.iter().enumerate().take(values.len() - LEAST) {
        beyond += is_above(value) - part;
        let before = (place + 1) as f64;
        if place + 1 >= LEAST {
            let fewer = before.min(count - before);
            let height = beyond.abs() / (0.5 * (fewer * (1.0 - (fewer - 1.0) / count)).sqrt());
            if height > highest.1 {
                highest = (place + 1, height);
            }
        }
    }
    highest
}

/// The same by the rank sum; `order` names the values in ascending order.
fn highest_by_ranks(values: &[f64], order: &[usize]) -> (usize, f64) {
    let count = values.len();
    // Twice the middle rank of each value, less twice the mean of all: whole numbers.
    let mut ranks = vec![0_i64; count];
    let mut first = 0;
    while first < count {
        let mut last = first;
        while last + 1 < count && values[order[last + 1]] == values[order[first]] {
            last += 1;
        }
        for &place in &order[first..=last] {
            ranks[place] = (first + last + 2) as i64 - (count as i64 + 1);
        }
        first = last + 1;
    }
    let (mut sum, mut highest) = (0_i64, (LEAST, 0.0));
    for (place, rank) in ranks.iter().enumerate().take(count - LEAST) {
        sum += rank;
        let (before, after) = ((place + 1) as f64, (count - place - 1) as f64);
        if place + 1 >= LEAST {
            let height = sum.abs() as f64 / 2.0 / (before * after * (count as f64 + 1.0) / 12.0).sqrt();
            if height > highest.1 {
                highest = (place + 1, height);
            }
        }
    }
    highest
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// Values around `levels`, so many of each, spread by `spread` in an order that has no pattern.
    pub(crate) fn steps(levels: &[(usize, f64)], spread: f64) -> Vec<f64> {
        let levels = levels.iter().flat_map(|&(count, level)| std::iter::repeat_n(level, count));
        // Weyl's sequence: equidistributed, and no two neighbours alike.
        let golden = 0.618_033_988_749_895;
        levels
            .zip(0_u32..)
            .map(|(level, place)| level + spread * ((f64::from(place) * golden).fract() - 0.5))
            .collect()
    }

    #[test]
    fn parts_begin_where_the_level_changes_whichever_part_is_larger() {
        for at in [50, 100, 256, 500, 768, 924, 974] {
            let parts = parts(&steps(&[(at, 2.7), (1_024 - at, 0.01)], 0.1), 0.01).unwrap();
            // A block on the wrong side of a change moves no median.
            assert!(parts.len() == 2 && parts[0].end.abs_diff(at) <= 2, "{at}: {parts:?}");
        }
    }

    #[test]
    fn a_state_that_comes_back_and_one_that_alternates_are_seen() {
        let back = parts(&steps(&[(300, 0.0), (60, 1.0), (400, 0.0)], 0.1), 0.01).unwrap();
        assert_eq!(back, [0..300, 300..360, 360..760]);
        let turns: Vec<(usize, f64)> = (0..20).map(|turn| (50, f64::from(turn % 2))).collect();
        let parts = parts(&steps(&turns, 0.1), 0.01).unwrap();
        assert_eq!(parts.len(), 20, "{parts:?}");
    }

    #[test]
    fn single_values_far_out_are_no_state_and_ties_are_none() {
        let mut values = steps(&[(1_000, 0.0)], 0.1);
        for place in (0..1_000).step_by(30) {
            values[place] = 1e9;
        }
        assert_eq!(parts(&values, 0.01).unwrap().len(), 1);
        assert_eq!(parts(&[1.0; 500], 0.01).unwrap().len(), 1);
        assert_eq!(parts(&[1.0], 0.01).unwrap().len(), 1);
    }

    #[test]
    fn a_long_sequence_is_seen_in_groups_and_covered_whole() {
        let parts = parts(&steps(&[(5_000, 0.0), (15_003, 1.0)], 0.1), 0.01).unwrap();
        assert_eq!(parts, [0..5_000, 5_000..20_003]);
    }

    #[test]
    fn what_cannot_be_answered_is_none() {
        assert_eq!(parts(&[], 0.01), None);
        assert_eq!(parts(&[1.0, f64::NAN], 0.01), None);
        assert_eq!(parts(&[1.0], 0.0), None);
    }

    /// Of a standardized sum, by the module's documentation.
    fn bound(z: f64) -> f64 {
        2.0 * (-z * z / 2.0).exp()
    }

    /// The bound of counts, against the hypergeometric distribution.
    #[test]
    fn a_count_is_no_rarer_than_its_bound_says() {
        let ways = |of: usize, taken: usize| {
            (0..taken).map(|step| (of - step) as f64 / (step + 1) as f64).product::<f64>()
        };
        for (all, above, taken) in [(16, 4, 8), (40, 10, 8), (40, 20, 20), (64, 16, 12)] {
            let deviation = 0.5 * (taken as f64 * (1.0 - (taken as f64 - 1.0) / all as f64)).sqrt();
            let mean = (taken * above) as f64 / all as f64;
            for z in (5..60).map(|tenths| f64::from(tenths) / 10.0) {
                let beyond = (0..=taken.min(above)).filter(|&count| {
                    all - above >= taken - count && (count as f64 - mean).abs() / deviation > z
                });
                let probability: f64 = beyond
                    .map(|count| ways(above, count) * ways(all - above, taken - count) / ways(all, taken))
                    .sum();
                assert!(probability <= bound(z), "{taken} of {all} beyond {z}: {probability}");
            }
        }
    }

    /// The bound of ranks, against the exact distribution of small rank sums.
    #[test]
    fn a_rank_sum_is_no_rarer_than_its_bound_says() {
        for (one, other) in [(8_usize, 8_usize), (8, 20), (3, 9), (12, 12)] {
            // Ways to have each rank sum, by adding one rank after another.
            let all = one + other;
            let most = all * (all + 1) / 2;
            let mut ways = vec![vec![0.0_f64; most + 1]; one + 1];
            ways[0][0] = 1.0;
            for rank in 1..=all {
                for taken in (1..=one).rev() {
                    for sum in (rank..=most).rev() {
                        ways[taken][sum] += ways[taken - 1][sum - rank];
                    }
                }
            }
            let total: f64 = ways[one].iter().sum();
            let mean = (one * (all + 1)) as f64 / 2.0;
            let deviation = ((one * other * (all + 1)) as f64 / 12.0).sqrt();
            for z in (5..80).map(|tenths| f64::from(tenths) / 10.0) {
                let beyond = ways[one]
                    .iter()
                    .enumerate()
                    .filter(|(sum, _)| (*sum as f64 - mean).abs() / deviation > z);
                let probability = beyond.map(|(_, ways)| ways).sum::<f64>() / total;
                assert!(probability <= bound(z), "{one} and {other} beyond {z}: {probability}");
            }
        }
    }
}
