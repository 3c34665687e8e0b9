//! Made-up machines by the thousand: how often a gap is found that is there, and one that is not.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use super::super::relabelings::Labels;
use super::*;

/// Groups by their sizes, by how many CPUs they have in all.
const MACHINES: [(usize, &[&[usize]]); 4] = [
    (4, &[&[2, 2], &[3, 1]]),
    (6, &[&[3, 3], &[4, 2], &[2, 2, 2]]),
    (8, &[&[4, 4], &[6, 2], &[7, 1], &[2, 2, 2, 2], &[3, 3, 2]]),
    (16, &[&[8, 8], &[4, 4, 4, 4], &[12, 4], &[2, 2, 2, 2, 2, 2, 2, 2]]),
];

struct Made {
    relabelings: Relabelings,
    groups: Vec<usize>,
}

impl Made {
    fn of(sizes: &[usize]) -> Self {
        let groups: Vec<usize> =
            sizes.iter().enumerate().flat_map(|(group, &size)| vec![group; size]).collect();
        let labels = Labels::new(groups.len(), |one, other| Some(class(&groups, one, other)));
        Self { relabelings: Relabelings::of(labels), groups }
    }

    /// Pairs that are farther by `gap` between groups.
    fn pairs(&self, gap: f64, noise: Noise, random: &mut Pcg64Mcg) -> Vec<Timed> {
        let cpus = self.groups.len();
        let own: Vec<f64> = (0..cpus)
            .map(|_| if random.random_bool(0.3) { random.random_range(0.0..=noise.slow.ln()) } else { 0.0 })
            .collect();
        let mut pairs = Vec::new();
        for other in 0..cpus {
            for one in 0..other {
                let class = class(&self.groups, one, other);
                let disturbed =
                    if random.random_bool(noise.disturbed) { random.random_range(0.0..1.0) } else { 0.0 };
                let log = own[one]
                    + own[other]
                    + class as f64 * gap.ln_1p()
                    + noise.normal * normal(random)
                    + disturbed;
                pairs.push(Timed { one, other, class, log });
            }
        }
        pairs
    }
}

/// What makes pairs differ that are equally far.
#[derive(Clone, Copy)]
struct Noise {
    /// The standard deviation of a pair.
    normal: f64,
    /// Up to how many times as long three CPUs in ten take as the others.
    slow: f64,
    /// The part of the pairs that is disturbed, by a factor up to e.
    disturbed: f64,
}

impl Noise {
    /// Each of 2 and 3 %, CPUs alike and not, a twentieth of the pairs disturbed and none, in turn.
    fn of(machine: u32) -> Self {
        let bit = |place: u32| machine >> place & 1 == 1;
        Self {
            normal: if bit(0) { 0.03 } else { 0.02 },
            slow: if bit(1) { 2.0 } else { 1.0 },
            disturbed: if bit(2) { 0.05 } else { 0.0 },
        }
    }
}

fn class(groups: &[usize], one: usize, other: usize) -> usize {
    usize::from(groups[one] != groups[other])
}

fn normal(random: &mut Pcg64Mcg) -> f64 {
    normal_quantile(random.random_range(1e-12..1.0 - 1e-12))
}

/// Of 5 %, in logarithms: that of `c2c`.
const MARGIN: f64 = 0.048_790_164;

#[derive(Default)]
struct Counted {
    different: u32,
    alike: u32,
    covered: u32,
    sized: u32,
}

impl Counted {
    fn add(&mut self, gap: f64, weighed: &Gap) {
        self.different += u32::from(weighed.outcome == Outcome::Different);
        self.alike += u32::from(weighed.outcome == Outcome::Alike);
        if let Some(GapSize { interval, .. }) = weighed.size {
            self.sized += 1;
            self.covered += u32::from(interval.low <= gap.ln_1p() && gap.ln_1p() <= interval.high);
        }
    }
}

#[test]
fn flat_machines_are_seldom_called_different() {
    const EACH: u32 = 1_000;
    let mut random = Pcg64Mcg::seed_from_u64(1967);
    let mut all = Counted::default();
    for (cpus, kinds) in MACHINES {
        let made: Vec<Made> = kinds.iter().map(|sizes| Made::of(sizes)).collect();
        let mut counted = Counted::default();
        for machine in 0..EACH {
            let made = &made[random.random_range(0..made.len())];
            let pairs = made.pairs(0.0, Noise::of(machine), &mut random);
            let weighed = judge(&pairs, 1, &made.relabelings, MARGIN);
            counted.add(0.0, &weighed);
            all.add(0.0, &weighed);
        }
        let Counted { different, alike, covered, sized } = counted;
        println!("{cpus} CPUs: {different} of {EACH} different, {alike} alike; covered {covered} of {sized}");
        assert!(different <= EACH / 100, "{cpus} CPUs: {different}");
    }
    assert!(all.sized > 3_000 && f64::from(all.covered) >= 0.98 * f64::from(all.sized));
}

#[test]
fn gaps_are_found_that_are_said_to_show() {
    let mut random = Pcg64Mcg::seed_from_u64(2007);
    // Half of the machines have disturbed pairs, and half have none.
    for (sizes, machines) in
        [(&[4, 4][..], 96), (&[2, 2, 2, 2], 96), (&[3, 3, 2], 96), (&[8, 8], 32), (&[2; 8], 32)]
    {
        let made = Made::of(sizes);
        let (mut ten, mut smallest) = ([0; 2], [0; 2]);
        for machine in 0..machines {
            let noise = Noise::of(machine);
            let disturbed = usize::from(noise.disturbed > 0.0);
            let mut different = |gap: f64, margin: f64| {
                let weighed = judge(&made.pairs(gap, noise, &mut random), 1, &made.relabelings, margin);
                (u32::from(weighed.outcome == Outcome::Different), weighed.size.unwrap().detectable.exp_m1())
            };
            let (tenth, shows) = different(0.1, MARGIN);
            ten[disturbed] += tenth;
            // No margin: what is smaller than that is the same by decree.
            smallest[disturbed] += different(shows, 0.0).0;
        }
        println!(
            "{sizes:?}, {machines} machines: 10 % {ten:?}, the smallest that would have shown {smallest:?}"
        );
        let part = |count: u32| f64::from(2 * count) / f64::from(machines);
        assert!(part(ten[0]) >= 0.9 && part(ten[1]) >= 0.7, "{sizes:?}: {ten:?}");
        // Far below nine of ten, as 16 to 48 machines of a kind are few: these bounds hold with other seeds
        // too.
        assert!(part(smallest[0]) >= 0.75 && part(smallest[1]) >= 0.4, "{sizes:?}: {smallest:?}");
    }
}

/// Groups that the firmware knows nothing of, twice as far from each other: the classes that it states are
/// dealt at random.
#[test]
fn stated_classes_are_not_different_because_others_are() {
    const MACHINES: u32 = 500;
    let mut random = Pcg64Mcg::seed_from_u64(1947);
    for (half, least) in [(4, 5), (8, 0)] {
        let made = Made::of(&[half, half]);
        let (mut different, mut the_same) = (0, 0);
        for machine in 0..MACHINES {
            let mut hidden = made.groups.clone();
            for place in (1..hidden.len()).rev() {
                hidden.swap(place, random.random_range(0..=place));
            }
            let mut pairs = made.pairs(0.0, Noise::of(machine), &mut random);
            for pair in &mut pairs {
                pair.log += class(&hidden, pair.one, pair.other) as f64 * 2_f64.ln();
            }
            // Dealt by chance as they are hidden: then they do differ.
            let same = pairs.iter().all(|pair| pair.class == class(&hidden, pair.one, pair.other));
            let apart = judge(&pairs, 1, &made.relabelings, MARGIN).outcome == Outcome::Different;
            different += u32::from(apart && !same);
            the_same += u32::from(apart && same);
        }
        println!("two groups of {half}: {different} of {MACHINES} different, and {the_same} that are");
        // One deal in a hundred puts 7 of 8 in their places, which is the level; so that is what is counted,
        // give or take.
        assert!(different <= MACHINES / 50 && the_same >= least, "{different}, {the_same}");
    }
}

#[test]
fn three_times_as_far_is_found_in_two_groups_of_four() {
    let mut random = Pcg64Mcg::seed_from_u64(90);
    let made = Made::of(&[4, 4]);
    for machine in 0..64 {
        let weighed = judge(&made.pairs(2.0, Noise::of(machine), &mut random), 1, &made.relabelings, MARGIN);
        assert_eq!((weighed.outcome, weighed.relabeled), (Outcome::Different, None), "{weighed:?}");
    }
}

/// Siblings 1 apart, in groups of four 2 apart, all else 3: the class between is fitted and not weighed.
#[test]
fn farthest_is_weighed_against_nearest_whatever_lies_between() {
    let class = |one: usize, other: usize| match (one / 2 == other / 2, one / 4 == other / 4) {
        (true, _) => 0,
        (false, true) => 1,
        _ => 2,
    };
    let mut random = Pcg64Mcg::seed_from_u64(3);
    let relabelings = Relabelings::of(Labels::new(16, |one, other| Some(class(one, other))));
    let mut pairs: Vec<Timed> = Vec::new();
    for other in 0..16 {
        for one in 0..other {
            let slow = if other == 9 || one == 9 { 0.7 } else { 0.0 };
            let class = class(one, other);
            let log = (class as f64 + 1.0).ln() + slow + 0.02 * normal(&mut random);
            pairs.push(Timed { one, other, class, log });
        }
    }
    let weighed = judge(&pairs, 2, &relabelings, MARGIN);
    assert_eq!(weighed.outcome, Outcome::Different);
    assert!((weighed.size.unwrap().gap - 3_f64.ln()).abs() < 0.03 && weighed.relabeled.unwrap() < 1e-3);
    // Pairs that have no CPU in common leave it open whether these are slow or far.
    let apart =
        |pair: &Timed| [(0, 1), (2, 3), (4, 8), (5, 9), (6, 10), (7, 11)].contains(&(pair.one, pair.other));
    pairs.retain(apart);
    assert_eq!(pairs.len(), 6);
    assert_eq!(judge(&pairs, 2, &relabelings, MARGIN).outcome, Outcome::Undecided(Why::SlowOrFar));
}
