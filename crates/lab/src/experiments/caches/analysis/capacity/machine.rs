//! Machines that are made up: what a walk over each size takes on them.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_analysis::specimen::normal;
use tenbin_model::Bytes;

use super::{Curve, Point, Stated};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const BASE: u64 = 4 * KIB;
const HUGE: u64 = 2 * MIB;

/// A machine with the truth about its caches.
#[derive(Clone, Copy)]
pub(super) struct Hardware {
    pub(super) name: &'static str,
    /// What a walk can use of each cache, innermost first, and the time of a hit in picoseconds.
    pub(super) caches: &'static [(u64, f64)],
    /// How many of them the firmware states.
    pub(super) stated: usize,
    /// Of the last of these it states so many times the truth.
    overstated: u64,
    /// Time of a load from memory in picoseconds.
    memory: f64,
}

const fn honest(name: &'static str, caches: &'static [(u64, f64)], stated: usize, memory: f64) -> Hardware {
    Hardware { name, caches, stated, overstated: 1, memory }
}

/// The machine with a system-level cache that is large enough to have a plateau of its own.
pub(super) const SLC: &str = "Apple, larger SLC";

pub(super) const HONEST: [Hardware; 7] = [
    honest("Zen", &[(32 * KIB, 1.1e3), (512 * KIB, 3.4e3), (8 * MIB, 11e3)], 3, 90e3),
    honest("Zen 5 VM", &[(48 * KIB, 0.9e3), (MIB, 3.2e3), (32 * MIB, 12e3)], 3, 110e3),
    honest("board without L3", &[(32 * KIB, 2e3), (2 * MIB, 11e3)], 2, 130e3),
    honest("A53", &[(32 * KIB, 2.2e3), (512 * KIB, 11e3)], 2, 140e3),
    // The system-level cache holds what falls out of L2, so both together reach to 20 MiB.
    honest("Apple", &[(128 * KIB, 1e3), (12 * MIB, 5.5e3), (20 * MIB, 28e3)], 2, 100e3),
    honest(SLC, &[(128 * KIB, 1e3), (12 * MIB, 5.5e3), (60 * MIB, 28e3)], 2, 100e3),
    honest("server", &[(48 * KIB, 1.3e3), (2 * MIB, 4.2e3), (60 * MIB, 23e3)], 3, 105e3),
];

/// Virtual machines whose firmware states more than they get: 32 MiB and 480 MiB.
pub(super) const OVERSTATED: [Hardware; 2] = [
    Hardware {
        overstated: 2,
        ..honest("Zen 5 VM, half", &[(48 * KIB, 0.9e3), (MIB, 3.2e3), (16 * MIB, 12e3)], 3, 110e3)
    },
    Hardware {
        overstated: 30,
        ..honest("VM that states 480 MiB", &[(48 * KIB, 1.2e3), (2 * MIB, 4.5e3), (16 * MIB, 22e3)], 3, 110e3)
    },
];

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Replacement {
    /// The oldest: of a cyclic walk that is larger than the cache, nothing ever hits.
    Oldest,
    /// Any: a walk of S over a cache of C hits C/S.
    Random,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Disturbance {
    /// Normal, of 3 %.
    Normal,
    /// Normal of 5 %, and one in twenty slowed down by a Pareto factor of tail index 1.1.
    HeavyTail,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Pages {
    Base,
    Huge,
}

impl Hardware {
    /// What the firmware states, every size `factor` times as large.
    pub(super) fn stated_times(&self, factor: u64) -> Vec<Stated> {
        let stated = |(&(truth, _), level): (&(u64, f64), u8)| {
            let times = if usize::from(level) == self.stated { self.overstated } else { 1 };
            Stated { level, size: Some(Bytes(truth * times * factor)), shared_by: 1 }
        };
        self.caches[..self.stated].iter().zip(1..).map(stated).collect()
    }

    /// Time of a step over a buffer of `size`, undisturbed.
    fn time(&self, size: u64, replacement: Replacement, pages: Pages) -> f64 {
        let mut time = 0.0;
        let mut held = 0.0;
        for (place, &(capacity, hit)) in self.caches.iter().enumerate() {
            let fits = match (replacement, pages) {
                // Only caches that are indexed by more than the offset in a page feel where pages lie.
                (Replacement::Oldest, Pages::Base) if place > 0 => scattered(size, capacity),
                (Replacement::Oldest, _) => f64::from(u8::from(size <= capacity)),
                (Replacement::Random, _) => (capacity as f64 / size as f64).min(1.0),
            };
            let fits = fits.max(held);
            time += hit * (fits - held);
            held = fits;
        }
        time += self.memory * (1.0 - held);
        // Rows of memory and walks for large pages: a few percent an octave, all along.
        time *= 1.0 + 0.02 * (size as f64 / self.caches[0].0 as f64).log2().max(0.0);
        if pages == Pages::Base {
            let missing = |entries: u64| (1.0 - (entries * BASE) as f64 / size as f64).max(0.0);
            let first = f64::from(u8::from(size > 64 * BASE));
            time += 1.7e3 * first + 8e3 * missing(2048);
        }
        time
    }

    /// Six samples of each size from 4 KiB to 512 MiB: half an octave apart up to 64 MiB, then an octave.
    pub(super) fn curve(
        &self,
        replacement: Replacement,
        disturbance: Disturbance,
        pages: Pages,
        seed: u64,
    ) -> Curve {
        let mut random = Pcg64Mcg::seed_from_u64(seed);
        let sizes = (0..28_u32).map(|half| {
            let size = 4096.0 * 2.0_f64.powf(f64::from(half) / 2.0);
            (size as u64).next_multiple_of(BASE)
        });
        let points = sizes.chain([64, 128, 256, 512].map(|size| size * MIB)).map(|size| {
            let time = self.time(size, replacement, pages);
            let times = (0..6).map(|_| time * disturbance.factor(&mut random)).collect();
            Point { bytes: Bytes(size), times }
        });
        let page = if pages == Pages::Base { BASE } else { HUGE };
        Curve { page: Bytes(page), points: points.collect() }
    }
}

impl Disturbance {
    fn factor(self, random: &mut Pcg64Mcg) -> f64 {
        let normal = normal(random);
        match self {
            Self::Normal => (0.03 * normal).exp(),
            Self::HeavyTail => {
                let disturbed = random.random_bool(0.05);
                let slowed = (1.0 - random.random::<f64>()).powf(-1.0 / 1.1);
                (0.05 * normal).exp() * if disturbed { slowed } else { 1.0 }
            }
        }
    }
}

/// The share of a buffer in scattered pages that a cache of 8 ways keeps: pages fall on its colours by
/// chance, and a colour with more than eight of them keeps none.
fn scattered(size: u64, capacity: u64) -> f64 {
    const WAYS: u32 = 8;
    let mean = f64::from(WAYS) * size as f64 / capacity as f64;
    // Of the pages, a share as that of a colour that has at most 7 others: Poisson.
    let mut term = (-mean).exp();
    let mut share = term;
    for others in 1..WAYS {
        term *= mean / f64::from(others);
        share += term;
    }
    share
}
