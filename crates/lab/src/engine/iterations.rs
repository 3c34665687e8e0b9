//! How many iterations make an epoch of the wanted length.

use tenbin_model::Arrangement;

use crate::experiment::{Apparatus, Failure};

/// More than this is not tried: a variant that costs nothing has no epoch.
const MOST_ITERATIONS: u64 = 1 << 40;

/// Variants whose counts are no further apart than this get the same count.
const ALIKE: f64 = 1.25;

/// The iterations of an epoch for each variant of the arrangement, in its order.
///
/// What is found here decides only how long epochs are, never what they are taken to mean. All the same
/// it must not differ between variants that cost the same: what an epoch costs once (two clock readings,
/// a cold start) is divided by the count, and so equals with unequal counts would not come out equal.
///
/// Variants that are `known_alike` get one count however far apart their own were: under load, two that are
/// the same can be found to differ by half.
pub(super) fn choose(
    apparatus: &mut dyn Apparatus,
    arrangement: &Arrangement,
    known_alike: bool,
) -> Result<Vec<u64>, (u32, Failure)> {
    let mut counts = Vec::with_capacity(arrangement.variants.len());
    for &variant in &arrangement.variants {
        counts.push(fitting(apparatus, arrangement, variant).map_err(|failure| (variant, failure))?);
    }
    Ok(levelled(counts, if known_alike { f64::INFINITY } else { ALIKE }))
}

/// The iterations that make an epoch of `variant` as long as wanted.
///
/// Iterations are doubled until an epoch takes half of the wanted length, then scaled. Each count is
/// tried three times and the shortest counts, because a preemption can only lengthen an epoch.
fn fitting(apparatus: &mut dyn Apparatus, arrangement: &Arrangement, variant: u32) -> Result<u64, Failure> {
    let wanted = arrangement.epoch.0.max(1);
    let least = arrangement.least_iterations.max(1);
    // Every second block may run twice the iterations.
    let doubled = if arrangement.doubling { 2 } else { 1 };
    let most = MOST_ITERATIONS.min(arrangement.most_iterations / doubled).max(least);
    let mut iterations = least;
    let mut elapsed = shortest(apparatus, variant, iterations)?;
    while elapsed < wanted / 2 && iterations < most {
        // Grow faster while far away, as a timer's resolution allows.
        iterations = most.min(iterations * if elapsed < wanted / 64 { 16 } else { 2 });
        elapsed = shortest(apparatus, variant, iterations)?;
    }
    let scaled = u128::from(iterations) * u128::from(wanted) / u128::from(elapsed.max(1));
    Ok((scaled.min(u128::from(most)) as u64).max(least))
}

fn shortest(apparatus: &mut dyn Apparatus, variant: u32, iterations: u64) -> Result<u64, Failure> {
    let mut shortest = u64::MAX;
    for _ in 0..3 {
        shortest = shortest.min(apparatus.epoch(variant, iterations)?.elapsed.0);
    }
    Ok(shortest)
}

/// The counts with those that are within a factor of each other made the same: the smallest of each group.
fn levelled(counts: Vec<u64>, within: f64) -> Vec<u64> {
    let mut ascending = counts.clone();
    ascending.sort_unstable();
    let mut groups: Vec<u64> = Vec::new();
    for count in ascending {
        if groups.last().is_none_or(|&first| count as f64 > first as f64 * within) {
            groups.push(count);
        }
    }
    let own = |count: &u64| groups.iter().rev().find(|&first| first <= count).copied();
    counts.iter().map(|count| own(count).unwrap_or(*count)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_that_are_near_become_the_same_and_others_stay() {
        assert_eq!(levelled(vec![1_000, 1_030], ALIKE), [1_000, 1_000]);
        assert_eq!(levelled(vec![1_030, 300, 1_000, 100], ALIKE), [1_000, 300, 1_000, 100]);
        assert_eq!(levelled(vec![1_300, 1_240, 1_000], ALIKE), [1_300, 1_000, 1_000]);
        assert_eq!(levelled(vec![1_300, 500], f64::INFINITY), [500, 500]);
        assert_eq!(levelled(Vec::new(), ALIKE), [0_u64; 0]);
    }
}
