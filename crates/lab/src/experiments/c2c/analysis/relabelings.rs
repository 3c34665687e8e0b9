//! Other ways to deal the same classes to the same CPUs: what a gap is held against.
//!
//! Pairs share CPUs, so the times of two pairs are no independent witnesses. What can be dealt anew are the
//! CPUs: if classes had nothing to do with times, any other relabeling of the CPUs would have shown as large
//! a gap. N. Mantel, "The Detection of Disease Clustering and a Generalized Regression Approach" (1967); with
//! what else the pairs depend on taken out first, D. Dekker, D. Krackhardt & T. A. B. Snijders, "Sensitivity
//! of MRQAP Tests to Collinearity and Autocorrelation Conditions" (2007).

use std::collections::BTreeSet;

use tenbin_stats::LEVEL;

/// One pair by the places of its CPUs, its class (0 is the nearest), and the logarithm of its time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Timed {
    pub(super) one: usize,
    pub(super) other: usize,
    pub(super) class: usize,
    pub(super) log: f64,
}

/// Up to so many CPUs every relabeling is tried: there are 40 320 of 8.
const MOST_TRIED: usize = 8;

/// Relabelings drawn where there are too many to try, so that the part that reaches a gap is known to 0.1 %
/// at 1 %.
const DRAWN: usize = 9_999;

/// Where the drawing begins: the same run gives the same report.
const SEED: u64 = 0x7465_6e62_696e;

/// The class of each pair of CPUs, by their places; symmetric. None of a CPU with itself, and of classes
/// nobody timed.
pub(super) struct Labels {
    cpus: usize,
    classes: Vec<Option<usize>>,
}

impl Labels {
    /// `class` says it for two different places below `cpus`.
    pub(super) fn new(cpus: usize, class: impl Fn(usize, usize) -> Option<usize>) -> Self {
        let of = |cell: usize| {
            let (one, other) = (cell / cpus, cell % cpus);
            if one == other { None } else { class(one.min(other), one.max(other)) }
        };
        Self { cpus, classes: (0..cpus * cpus).map(of).collect() }
    }

    fn at(&self, one: usize, other: usize) -> Option<usize> {
        self.classes[one * self.cpus + other]
    }

    /// The classes of all pairs, each CPU having taken the place that `order` gives it.
    fn dealt<'a>(&'a self, order: &'a [usize]) -> impl Iterator<Item = Option<usize>> + 'a {
        let pairs = (0..self.cpus).flat_map(|other| (0..other).map(move |one| (one, other)));
        pairs.map(|(one, other)| self.at(order[one], order[other]))
    }
}

/// Relabelings of the CPUs: all that differ, or so many drawn ones.
pub(super) struct Relabelings {
    labels: Labels,
    orders: Vec<Vec<usize>>,
    /// Whether `orders` are all that differ, the one that is true among them.
    all: bool,
    /// The part that gives every pair the class that it has.
    same: f64,
}

impl Relabelings {
    pub(super) fn of(labels: Labels) -> Self {
        let plain: Vec<usize> = (0..labels.cpus).collect();
        if labels.cpus <= MOST_TRIED {
            let orders = different(&labels, plain);
            let same = 1.0 / orders.len().max(1) as f64;
            return Self { labels, orders, all: true, same };
        }
        let mut random = SplitMix(SEED);
        let orders: Vec<Vec<usize>> = (0..DRAWN).map(|_| random.shuffled(plain.clone())).collect();
        let again = orders.iter().filter(|order| labels.dealt(order).eq(labels.dealt(&plain))).count();
        Self { same: again as f64 / DRAWN as f64, labels, orders, all: false }
    }

    /// Whether there are too few to speak: less than twice as many as the level needs at the least.
    ///
    /// With just as many, as the 105 of four pairs of siblings, the true labels must beat every other, those
    /// too that share half of their near pairs: a gap of 10 % would be missed one time in six.
    pub(super) fn too_few(&self) -> bool {
        2.0 * self.same > LEVEL
    }

    /// The part of the relabelings under which `pairs` show a gap as large as they do between class 0 and
    /// `farthest`.
    ///
    /// `times` are those of `pairs`, freed of what the CPUs cost. Where relabelings were drawn the true one
    /// counts as one of them, and drawing ends as soon as the part is known to exceed the level (J. Besag &
    /// P. Clifford, "Sequential Monte Carlo p-values", 1991).
    pub(super) fn reaching(&self, pairs: &[Timed], times: &[f64], farthest: usize) -> f64 {
        /// Sums in another order differ in their last digits.
        const ROUNDING: f64 = 1e-9;
        let gap = |order: Option<&Vec<usize>>| {
            let (mut near, mut far) = ((0.0, 0.0), (0.0, 0.0));
            for (pair, time) in pairs.iter().zip(times) {
                let class = match order {
                    Some(order) => self.labels.at(order[pair.one], order[pair.other]),
                    None => Some(pair.class),
                };
                let sum = match class {
                    Some(0) => &mut near,
                    Some(class) if class == farthest => &mut far,
                    _ => continue,
                };
                sum.0 += time;
                sum.1 += 1.0;
            }
            far.0 / far.1 - near.0 / near.1
        };
        let limit = gap(None) - ROUNDING;
        // Not a number where a relabeling leaves a class without a pair that was timed: it counts as
        // reaching.
        let reaches = |order: &&Vec<usize>| {
            let gap = gap(Some(order));
            gap.is_nan() || gap >= limit
        };
        if self.all {
            return self.orders.iter().filter(reaches).count() as f64 / self.orders.len().max(1) as f64;
        }
        let enough = (LEVEL * (1 + DRAWN) as f64) as usize;
        let mut reached = 1;
        for (place, order) in self.orders.iter().enumerate() {
            reached += usize::from(reaches(&order));
            if reached > enough {
                return reached as f64 / (place + 2) as f64;
            }
        }
        reached as f64 / (1 + DRAWN) as f64
    }
}

/// One order of the CPUs for each labeling that differs from the others.
fn different(labels: &Labels, plain: Vec<usize>) -> Vec<Vec<usize>> {
    let mut seen = BTreeSet::new();
    let mut orders = Vec::new();
    every_order(plain, 0, &mut |order| {
        if seen.insert(labels.dealt(order).collect::<Vec<_>>()) {
            orders.push(order.to_vec());
        }
    });
    orders
}

/// Every order that keeps the first `settled` places of `order`.
fn every_order(mut order: Vec<usize>, settled: usize, take: &mut impl FnMut(&[usize])) {
    if settled + 1 >= order.len() {
        take(&order);
        return;
    }
    for place in settled..order.len() {
        order.swap(settled, place);
        every_order(order.clone(), settled + 1, take);
        order.swap(settled, place);
    }
}

/// Pseudorandom numbers: G. L. Steele, D. Lea & C. H. Flood, "Fast Splittable Pseudorandom Number Generators"
/// (2014).
///
/// Its own, since a report must not change with the version of a library.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// R. Durstenfeld, "Algorithm 235: Random permutation" (1964).
    fn shuffled(&mut self, mut order: Vec<usize>) -> Vec<usize> {
        for place in (1..order.len()).rev() {
            let below = place as u128 + 1;
            order.swap(place, ((u128::from(self.next()) * below) >> 64) as usize);
        }
        order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn groups(sizes: &[usize]) -> Labels {
        let group: Vec<usize> =
            sizes.iter().enumerate().flat_map(|(group, &size)| vec![group; size]).collect();
        Labels::new(group.len(), |one, other| Some(usize::from(group[one] != group[other])))
    }

    #[test]
    fn labelings_that_differ_are_counted() {
        for (sizes, count, too_few) in [
            (&[2, 2][..], 3, true),
            (&[3, 3], 10, true),
            (&[4, 4], 35, true),
            (&[7, 1], 8, true),
            (&[2, 2, 2, 2], 105, true),
            (&[3, 3, 2], 280, false),
        ] {
            let relabelings = Relabelings::of(groups(sizes));
            assert_eq!((relabelings.orders.len(), relabelings.too_few()), (count, too_few), "{sizes:?}");
        }
    }

    #[test]
    fn of_many_cpus_some_are_drawn_and_true_labels_are_rare_or_not() {
        // One alone of 9 is one labeling of 9; halves of 16 are one of 6 435.
        let alone = Relabelings::of(groups(&[8, 1]));
        assert!((alone.same - 1.0 / 9.0).abs() < 0.02 && alone.too_few(), "{}", alone.same);
        let halves = Relabelings::of(groups(&[8, 8]));
        assert!(halves.orders.len() == DRAWN && !halves.too_few(), "{}", halves.same);
        let all_places = |order: &Vec<usize>| order.iter().collect::<BTreeSet<_>>().len() == 16;
        assert!(halves.orders.iter().all(all_places));
    }

    #[test]
    fn a_gap_is_reached_by_the_true_labels_alone_or_by_most() {
        for (sizes, least) in [(&[3, 3, 2][..], 1.0 / 280.0), (&[8, 8], 1e-4)] {
            let labels = groups(sizes);
            let cpus = labels.cpus;
            let pairs = (0..cpus).flat_map(|other| (0..other).map(move |one| (one, other)));
            let timed = |(one, other)| {
                let class = labels.at(one, other).unwrap();
                Timed { one, other, class, log: class as f64 }
            };
            let pairs: Vec<Timed> = pairs.map(timed).collect();
            let relabelings = Relabelings::of(labels);
            let clear: Vec<f64> = pairs.iter().map(|pair| pair.log).collect();
            let part = relabelings.reaching(&pairs, &clear, 1);
            assert!(part >= least && part < 1e-2, "{sizes:?}: {part}");
            // Nothing differs: every relabeling shows as much.
            assert_eq!(relabelings.reaching(&pairs, &vec![0.0; pairs.len()], 1), 1.0);
        }
    }
}
