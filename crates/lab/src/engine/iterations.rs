//! How many iterations make an epoch of the wanted length.

use tenbin_model::{Arrangement, Order, VariantIndex};

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
) -> Result<Vec<u64>, (VariantIndex, Failure)> {
    // What is run once for a sample has no count to be found, and may take long.
    if arrangement.epoch.0 == 0 {
        return Ok(vec![arrangement.least_iterations.max(1); arrangement.variants.len()]);
    }
    let mut counts = Vec::with_capacity(arrangement.variants.len());
    for &variant in &arrangement.variants {
        counts.push(fitting(apparatus, arrangement, variant).map_err(|failure| (variant, failure))?);
    }
    for _ in 0..ROUNDS {
        for (count, &variant) in counts.iter_mut().zip(&arrangement.variants) {
            let elapsed = apparatus.epoch(variant, *count).map_err(|failure| (variant, failure))?.elapsed.0;
            if elapsed < arrangement.epoch.0 / 2 {
                *count = scaled(arrangement, *count, elapsed).min(count.saturating_mul(GROWTH));
            }
        }
    }
    Ok(levelled(counts, if known_alike { f64::INFINITY } else { ALIKE }))
}

/// A count is raised by no more than this for what one epoch took: a clock that was set back in the middle of
/// it says that it took nothing, and the next epoch would have no end.
const GROWTH: u64 = 16;

/// Rounds over all variants in which a count that makes an epoch too short is raised, after each variant had
/// its own.
///
/// Where two workers seldom run at the same time, because others have their CPUs, the one variant may have
/// been met while they did and the other while they did not, with counts that are 16 times apart. Then every
/// wait is divided by the count, and a wait of milliseconds makes the variant with the smaller one dearer by
/// as much.
const ROUNDS: u32 = 4;

/// The iterations that make an epoch of `variant` as long as wanted.
///
/// Iterations are doubled until an epoch takes half of the wanted length, then scaled. Each count is
/// tried three times and the shortest counts, because a preemption can only lengthen an epoch.
fn fitting(
    apparatus: &mut dyn Apparatus,
    arrangement: &Arrangement,
    variant: VariantIndex,
) -> Result<u64, Failure> {
    let wanted = arrangement.epoch.0.max(1);
    let (least, most) = (arrangement.least_iterations.max(1), most(arrangement));
    let mut iterations = least;
    let mut elapsed = shortest(apparatus, variant, iterations)?;
    while elapsed < wanted / 2 && iterations < most {
        // Grow faster while far away, as a timer's resolution allows.
        iterations = most.min(iterations * if elapsed < wanted / 64 { GROWTH } else { 2 });
        elapsed = shortest(apparatus, variant, iterations)?;
    }
    Ok(scaled(arrangement, iterations, elapsed))
}

fn most(arrangement: &Arrangement) -> u64 {
    // Every second block may run twice the iterations.
    let doubled = if arrangement.doubling { 2 } else { 1 };
    MOST_ITERATIONS.min(arrangement.most_iterations / doubled).max(arrangement.least_iterations.max(1))
}

/// The iterations of an epoch as long as wanted, where so many take so long.
fn scaled(arrangement: &Arrangement, iterations: u64, elapsed: u64) -> u64 {
    let scaled = u128::from(iterations) * u128::from(arrangement.epoch.0.max(1)) / u128::from(elapsed.max(1));
    (scaled.min(u128::from(most(arrangement))) as u64).max(arrangement.least_iterations.max(1))
}

fn shortest(apparatus: &mut dyn Apparatus, variant: VariantIndex, iterations: u64) -> Result<u64, Failure> {
    let mut shortest = u64::MAX;
    for _ in 0..3 {
        shortest = shortest.min(apparatus.epoch(variant, iterations)?.elapsed.0);
    }
    Ok(shortest)
}

/// The counts with those that are within a factor of each other made the same: the smallest of each group.
fn levelled(counts: Vec<u64>, within: f64) -> Vec<u64> {
    let mut ascending = counts.clone();
    ascending.order();
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
    use tenbin_metal::{Fault, Lap};
    use tenbin_model::Picoseconds;

    use super::*;
    use crate::experiment::Seen;

    /// Two variants that cost the same, 10 ns an iteration; 16 times that while two workers meet, which they
    /// do only while the second variant gets its count.
    struct Meeting {
        second: u32,
    }

    impl Apparatus for Meeting {
        fn check(&mut self, _: VariantIndex) -> Result<Seen, Fault> {
            Ok(Seen::Met(String::new()))
        }

        fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
            self.second += variant.0;
            let meet = variant == VariantIndex(1) && self.second <= 21;
            let each = if meet { 160_000 } else { 10_000 };
            Ok(Lap { elapsed: Picoseconds(iterations * each), ..Lap::default() })
        }
    }

    #[test]
    fn equals_get_equal_counts_whatever_disturbed_one_of_them() {
        let epoch = Picoseconds::from_micros(100);
        let arrangement =
            Arrangement { epoch, variants: VariantIndex::range(0..2), ..Arrangement::default() };
        assert_eq!(fitting(&mut Meeting { second: 0 }, &arrangement, VariantIndex(1)).unwrap(), 625);
        let counts = choose(&mut Meeting { second: 0 }, &arrangement, false).unwrap();
        assert_eq!(counts, [10_000, 10_000]);
    }

    /// 10 ns an iteration, and a clock that says of one epoch that it took nothing.
    struct SetBack {
        epochs: u32,
        wrong: u32,
        longest: u64,
    }

    impl Apparatus for SetBack {
        fn check(&mut self, _: VariantIndex) -> Result<Seen, Fault> {
            Ok(Seen::Met(String::new()))
        }

        fn epoch(&mut self, _: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
            self.epochs += 1;
            self.longest = self.longest.max(iterations);
            let elapsed = if self.epochs == self.wrong { 0 } else { iterations * 10_000 };
            Ok(Lap { elapsed: Picoseconds(elapsed), ..Lap::default() })
        }
    }

    #[test]
    fn a_clock_that_is_set_back_once_makes_no_endless_epoch() {
        let epoch = Picoseconds::from_micros(100);
        let arrangement =
            Arrangement { epoch, variants: VariantIndex::range(0..2), ..Arrangement::default() };
        let chosen = |wrong| {
            let mut apparatus = SetBack { epochs: 0, wrong, longest: 0 };
            choose(&mut apparatus, &arrangement, false).unwrap();
            apparatus
        };
        for wrong in 1..=chosen(0).epochs {
            let longest = chosen(wrong).longest;
            assert!(longest <= 16 * 10_000, "{longest} iterations after epoch {wrong}");
        }
    }

    #[test]
    fn counts_that_are_near_become_the_same_and_others_stay() {
        assert_eq!(levelled(vec![1_000, 1_030], ALIKE), [1_000, 1_000]);
        assert_eq!(levelled(vec![1_030, 300, 1_000, 100], ALIKE), [1_000, 300, 1_000, 100]);
        assert_eq!(levelled(vec![1_300, 1_240, 1_000], ALIKE), [1_300, 1_000, 1_000]);
        assert_eq!(levelled(vec![1_300, 500], f64::INFINITY), [500, 500]);
        assert_eq!(levelled(Vec::new(), ALIKE), [0_u64; 0]);
    }
}
