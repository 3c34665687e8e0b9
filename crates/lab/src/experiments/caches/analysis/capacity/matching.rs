//! Which rise belongs to which cache that the firmware states.
//!
//! The order is kept: a larger cache leaves its mark at a larger size. Among all matchings of that kind the
//! cheapest is taken, by dynamic programming as for the alignment of two sequences (Needleman and Wunsch,
//! 1970). A cost of 1 is a factor of two between what is stated and what was measured.

use tenbin_model::Bytes;

use super::Stated;
use super::rise::Rise;

/// What it costs to leave a stated cache without a rise: more than any honest error of a size.
const CACHE_UNSEEN: f64 = 5.0;

/// What it costs to leave a rise unexplained, for each doubling of time in it: the larger it is, the less it
/// is the work of the address translation, which adds a rise of its own where a buffer of it is full.
const RISE_UNEXPLAINED: f64 = 2.0;

/// What it costs to explain a rise beyond all stated sizes by a cache that is in no list, as system-level
/// caches are not.
const CACHE_UNSTATED: f64 = 2.0;

/// What it costs to give a rise to a cache whose size is not stated: less than leaving it unseen.
const SIZE_UNKNOWN: f64 = 0.5;

/// How far, in octaves, the size of an inner cache may be from the truth. It comes from the processor itself.
const INNER_REACH: f64 = 3.0;

/// The same for the last cache. What a virtual machine states of it is often the whole of the host's.
const LAST_REACH: f64 = 8.0;

/// How much of its distance the last rise pays for the last cache: that is what the last rise is, unless
/// much speaks against it.
const LAST_DISCOUNT: f64 = 0.5;

/// For each of `stated` (ascending levels), the place of its rise in `rises`, if it has one. A rise that was
/// not seen to its end comes last among them: it is a cache's as well.
pub(super) fn matched(rises: &[Rise], stated: &[Stated]) -> Vec<Option<usize>> {
    let largest = stated.iter().filter_map(|cache| cache.size).max().unwrap_or(Bytes(u64::MAX));
    let unexplained = |rise: &Rise| {
        let cost = RISE_UNEXPLAINED * rise.ratio().log2();
        if rise.knee > largest { cost.min(CACHE_UNSTATED) } else { cost }
    };
    // Cost of the best matching of the first rises with the first caches, and how it was reached.
    let mut best = vec![vec![(0.0, Move::Start); stated.len() + 1]; rises.len() + 1];
    for seen in 0..=rises.len() {
        for named in 0..=stated.len() {
            let mut ways: Vec<(f64, Move)> = Vec::new();
            if seen > 0 {
                ways.push((best[seen - 1][named].0 + unexplained(&rises[seen - 1]), Move::SkipRise));
            }
            if named > 0 {
                ways.push((best[seen][named - 1].0 + CACHE_UNSEEN, Move::SkipCache));
            }
            if seen > 0 && named > 0 {
                let last = [seen == rises.len(), named == stated.len()];
                if let Some(cost) = distance(&rises[seen - 1], &stated[named - 1], last) {
                    ways.push((best[seen - 1][named - 1].0 + cost, Move::Match));
                }
            }
            if let Some(way) = ways.into_iter().min_by(|one, other| one.0.total_cmp(&other.0)) {
                best[seen][named] = way;
            }
        }
    }
    let mut matches = vec![None; stated.len()];
    let (mut seen, mut named) = (rises.len(), stated.len());
    loop {
        match best[seen][named].1 {
            Move::Start => return matches,
            Move::SkipRise => seen -= 1,
            Move::SkipCache => named -= 1,
            Move::Match => {
                (seen, named) = (seen - 1, named - 1);
                matches[named] = Some(seen);
            }
        }
    }
}

#[derive(Clone, Copy)]
enum Move {
    Start,
    SkipRise,
    SkipCache,
    Match,
}

/// What it costs to say that `rise` is where `cache` ends. None if it cannot be.
fn distance(rise: &Rise, cache: &Stated, [last_rise, last_cache]: [bool; 2]) -> Option<f64> {
    let Some(size) = cache.size else { return Some(SIZE_UNKNOWN) };
    let octaves = (rise.knee.0 as f64 / size.0 as f64).log2().abs();
    let (reach, weight) = match (last_cache, last_rise) {
        (true, true) => (LAST_REACH, LAST_DISCOUNT),
        (true, false) => (LAST_REACH, 1.0),
        (false, _) => (INNER_REACH, 1.0),
    };
    (octaves <= reach).then_some(weight * octaves)
}
