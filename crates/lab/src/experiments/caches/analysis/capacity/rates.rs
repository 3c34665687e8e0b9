//! How often a knee is found, and how often the firmware is called wrong, counted over made-up machines.
//!
//! Run with `--nocapture` to see the counts. The seeds are fixed, so an outcome never changes by chance.

use super::machine::{Disturbance, HONEST, Hardware, OVERSTATED, Pages, Replacement, SLC};
use super::*;

/// Curves of each machine with each replacement and each disturbance.
const CURVES: u64 = 1_000;

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    curves: u64,
    /// The knee is as near the truth as [`tolerance`] has it.
    right: u64,
    differ: u64,
    undecided: u64,
}

impl Count {
    fn add(&mut self, level: &Level, truth: u64, tolerance: f64) {
        let near = |knee: Bytes| (1.0 / tolerance..=tolerance).contains(&(knee.0 as f64 / truth as f64));
        self.curves += 1;
        self.right += u64::from(level.measured().is_some_and(near));
        self.differ += u64::from(matches!(level.outcome(), LevelOutcome::Differ(..)));
        self.undecided += u64::from(level.rise.is_err());
    }

    fn with(self, other: Self) -> Self {
        Self {
            curves: self.curves + other.curves,
            right: self.right + other.right,
            differ: self.differ + other.differ,
            undecided: self.undecided + other.undecided,
        }
    }

    /// Whether the level of [`CURVES`] curves was found in so many percent of them: one without a level
    /// counts against it.
    fn is_found(&self, percent: u64) -> bool {
        self.right * 100 >= CURVES * percent
    }

    fn nearly_always_differs(&self) -> bool {
        self.differ * 100 >= CURVES * 99
    }

    fn hardly_ever_differs(&self) -> bool {
        self.curves >= CURVES && self.differ * 100 <= CURVES
    }
}

const KINDS: [(Replacement, Disturbance); 4] = [
    (Replacement::Oldest, Disturbance::Normal),
    (Replacement::Oldest, Disturbance::HeavyTail),
    (Replacement::Random, Disturbance::Normal),
    (Replacement::Random, Disturbance::HeavyTail),
];

/// How far a knee may be from the truth: a step of half an octave, or what replacement at random and
/// scattered pages add to it.
fn tolerance(replacement: Replacement, pages: Pages) -> f64 {
    match (replacement, pages) {
        // Sizes are rounded to pages, so that a step may be a little wider.
        (Replacement::Oldest, Pages::Huge) => std::f64::consts::SQRT_2 * 1.01,
        _ => 2.0,
    }
}

/// The counts of each level of `machine` over [`CURVES`] curves, when the firmware states `stated`.
fn count(
    machine: &Hardware,
    stated: &[Stated],
    (replacement, disturbance): (Replacement, Disturbance),
    pages: Pages,
) -> Vec<Count> {
    let tolerance = tolerance(replacement, pages);
    let mut counts = vec![Count::default(); machine.caches.len()];
    for seed in 0..CURVES {
        let curve = machine.curve(replacement, disturbance, pages, seed);
        let capacities = judge(&[curve], stated).unwrap();
        for (count, (level, (truth, _))) in
            counts.iter_mut().zip(capacities.levels.iter().zip(machine.caches))
        {
            count.add(level, *truth, tolerance);
        }
    }
    let sizes: Vec<String> = stated.iter().filter_map(|cache| Some(cache.size?.to_string())).collect();
    println!("{}, {replacement:?}, {disturbance:?}, {pages:?}, stated {sizes:?}: {counts:?}", machine.name);
    counts
}

fn total(counts: impl IntoIterator<Item = Count>) -> Count {
    counts.into_iter().fold(Count::default(), Count::with)
}

/// Knees are found and honest firmware is believed, on every level of every machine.
fn believed(pages: Pages, percent: u64) {
    let mut all = Vec::new();
    for machine in &HONEST {
        for kind in KINDS {
            for count in &count(machine, &machine.stated_times(1), kind, pages)[..machine.stated] {
                assert!(count.is_found(percent), "{}, {kind:?}: {count:?}", machine.name);
                assert!(count.hardly_ever_differs(), "{}, {kind:?}: {count:?}", machine.name);
                all.push(*count);
            }
        }
    }
    println!("all honest machines, {pages:?}: {:?}", total(all));
}

#[test]
fn knees_are_found_and_honest_firmware_is_believed() {
    believed(Pages::Huge, 99);
}

#[test]
fn knees_are_found_within_a_factor_of_two_in_base_pages() {
    believed(Pages::Base, 98);
}

#[test]
fn firmware_that_states_four_times_the_truth_is_found_out() {
    let mut all = Vec::new();
    // Of the machine with the larger system-level cache, four times L2 is very nearly that cache.
    for machine in HONEST.iter().filter(|machine| machine.name != SLC) {
        for kind in KINDS {
            for count in &count(machine, &machine.stated_times(4), kind, Pages::Huge)[..machine.stated] {
                assert!(count.nearly_always_differs(), "{}, {kind:?}: {count:?}", machine.name);
                all.push(*count);
            }
        }
    }
    println!("all sizes stated four times as large: {:?}", total(all));
}

#[test]
fn a_last_cache_stated_far_too_large_costs_inner_ones_nothing() {
    for machine in HONEST.iter().filter(|machine| machine.name != SLC) {
        let mut stated = machine.stated_times(1);
        let last = stated.len() - 1;
        stated[last].size = stated[last].size.map(|size| Bytes(16 * size.0));
        for kind in KINDS {
            let counts = count(machine, &stated, kind, Pages::Huge);
            assert!(counts[last].nearly_always_differs(), "{}, {kind:?}: {counts:?}", machine.name);
            assert!(counts[..last].iter().all(|count| count.is_found(99) && count.hardly_ever_differs()));
        }
    }
}

#[test]
fn virtual_machines_that_get_part_of_the_last_cache_are_seen_to() {
    let [half, most] = &OVERSTATED;
    for kind in KINDS {
        // A half agrees still, by the definition of agreement; the inner levels are honest.
        let counts = count(half, &half.stated_times(1), kind, Pages::Huge);
        assert!(counts.iter().all(|count| count.is_found(99)), "{kind:?}: {counts:?}");
        let counts = count(most, &most.stated_times(1), kind, Pages::Huge);
        assert!(counts.iter().all(|count| count.is_found(99)), "{kind:?}: {counts:?}");
        assert!(counts[2].nearly_always_differs(), "{kind:?}: {counts:?}");
        assert!(counts[..2].iter().all(|count| count.hardly_ever_differs()), "{kind:?}: {counts:?}");
    }
}

#[test]
fn a_cache_that_is_in_no_list_is_found() {
    let machine = HONEST.iter().find(|machine| machine.name == SLC).unwrap();
    for kind in KINDS {
        let counts = count(machine, &machine.stated_times(1), kind, Pages::Huge);
        assert!(counts[2].is_found(99), "{kind:?}: {counts:?}");
    }
}
