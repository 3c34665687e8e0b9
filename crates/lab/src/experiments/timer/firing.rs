//! One cell of `timer`, set up: who waits, alone or many at a time, and what a firing must be.

use std::collections::{BTreeMap, VecDeque};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::timers::{Firing, Order, Waiters};
use tenbin_metal::{Fault, Lap};
use tenbin_model::{Cpu, Finding, Picoseconds};

use super::{GAP, MEASURED, WAYS, found};
use crate::experiment::{Apparatus, Failure, Seen};

/// The check waits for no longer than this, however long the timer of the cell is: what is timed is held against the
/// specification as well.
const CHECKED: Picoseconds = Picoseconds::from_millis(10);

/// Waits of a check, and those of one whose timer is short: it can be due before its caller could fall asleep.
const WAITS: usize = 16;
const WAITS_SHORT: usize = 64;

/// A timer of this length and longer is waited for asleep, or something is wrong: who never gave the CPU away was preempted
/// before it could, or it cost this part of the time and did not mean to sleep. No smaller part: whoever is preempted may be charged
/// for what another guest of the host took, and a quarter was seen.
const SURELY_ASLEEP: Picoseconds = Picoseconds::from_millis(1);
const AWAKE: u64 = 2;

pub(super) struct Firings {
    time: Picoseconds,
    /// One process for each variant, or fewer.
    alone: Vec<Waiters>,
    wave: Option<Wave>,
    cpu: Cpu,
    /// Whether the first block has begun. Before that the engine looks for the number of iterations of an epoch, which
    /// is one whatever it sees.
    begun: bool,
}

/// Many timers that wait at the same time, so that long ones need not be waited for one by one.
pub(super) struct Wave {
    waiters: Waiters,
    blocks: u32,
    variants: Vec<u32>,
    random: Pcg64Mcg,
    /// What has fired and was not asked for yet, by variant, the oldest first.
    fired: BTreeMap<u32, VecDeque<Firing>>,
}

impl Wave {
    /// As many processes as `blocks` have timers.
    pub(super) fn of(waiters: Waiters, blocks: u32, variants: &[u32], seed: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { waiters, blocks, variants: variants.to_vec(), random, fired: BTreeMap::new() }
    }

    /// The variants in the order in which they are armed: for each block a random one and then its mirror image, so that
    /// the two firings of a variant stand around the same moment. The engine hands them to its blocks two by two.
    fn drawn(&mut self) -> Vec<u32> {
        let mut drawn = Vec::new();
        for _ in 0..self.blocks {
            let mut order = self.variants.clone();
            order.shuffle(&mut self.random);
            drawn.extend(order.iter().chain(order.iter().rev()));
        }
        drawn
    }

    /// The next firing of `variant`: of this wave, or of a new one.
    fn next(&mut self, variant: u32, time: Picoseconds) -> Result<Option<Firing>, Fault> {
        if self.fired.get(&variant).is_none_or(VecDeque::is_empty) {
            let drawn = self.drawn();
            let orders: Vec<Order> = drawn
                .iter()
                .zip(1..)
                .map(|(&variant, place)| {
                    let drawn = self.random.random_range(0..=GAP.0 / 2);
                    order(variant, time, Picoseconds(place * GAP.0 + drawn))
                })
                .collect();
            for (variant, firing) in drawn.into_iter().zip(self.waiters.wait(&orders)?) {
                self.fired.entry(variant).or_default().push_back(firing);
            }
        }
        Ok(self.fired.get_mut(&variant).and_then(VecDeque::pop_front))
    }
}

fn order(variant: u32, length: Picoseconds, after: Picoseconds) -> Order {
    let (way, slack) = WAYS[variant as usize];
    Order { way, slack, length, after }
}

impl Firings {
    /// Timers of this length.
    pub(super) fn of(time: Picoseconds, alone: Vec<Waiters>, wave: Option<Wave>, cpu: Cpu) -> Self {
        Self { time, alone, wave, cpu, begun: false }
    }

    /// A timer that nobody else waits beside.
    pub(super) fn alone(&mut self, variant: u32, time: Picoseconds) -> Result<Firing, Fault> {
        let process = (variant as usize).min(MEASURED).min(self.alone.len() - 1);
        let mut firings = self.alone[process].wait(&[order(variant, time, Picoseconds::ZERO)])?;
        firings.pop().ok_or_else(|| Fault::system("wait for a timer", std::io::ErrorKind::NotFound))
    }

    /// The order of a new wave, as it would be armed.
    #[cfg(test)]
    pub(super) fn drawn(&mut self) -> Vec<u32> {
        self.wave.as_mut().map(Wave::drawn).unwrap_or_default()
    }

    /// How many timers have fired that nobody has asked for yet.
    #[cfg(test)]
    pub(super) fn left(&self) -> usize {
        self.wave.iter().flat_map(|wave| wave.fired.values()).map(VecDeque::len).sum()
    }

    #[cfg(test)]
    pub(super) fn lengthen(&mut self, time: Picoseconds) {
        self.time = time;
    }

    pub(super) fn firing(&mut self, variant: u32) -> Result<Firing, Fault> {
        let (time, begun) = (self.time, self.begun);
        if let Some(wave) = self.wave.as_mut().filter(|wave| begun && wave.variants.contains(&variant))
            && let Some(firing) = wave.next(variant, time)?
        {
            return Ok(firing);
        }
        self.alone(variant, if begun { time } else { time.min(CHECKED) })
    }
}

/// Holds one firing against the specification.
pub(super) fn judged(firing: &Firing) -> Seen {
    let Firing { order, lap, early, fired, armed, .. } = firing;
    let (name, length) = (order.way.name(), order.length);
    let charged = lap.usage.user + lap.usage.system;
    if let Some(early) = early {
        Seen::Broken(format!("{name} of {length} fired {early} before its time"))
    } else if *fired != 1 {
        Seen::Broken(format!("{name} of {length} fired {fired} times until its caller ran again"))
    } else if *armed {
        Seen::Broken(format!("{name} of {length} is still armed after it fired"))
    } else if length >= SURELY_ASLEEP && slept(lap) == 0 && charged.0 >= length.0 / AWAKE {
        Seen::Broken(format!("{name} of {length} did not sleep: it took {charged} of CPU time"))
    } else {
        Seen::Met(format!("{name} of {length} fired once, {} late", lap.elapsed))
    }
}

/// How often the caller gave its CPU away.
fn slept(lap: &Lap) -> u64 {
    lap.usage.voluntary_switches
}

impl Apparatus for Firings {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        let time = self.time.min(CHECKED);
        let waits = if time < SURELY_ASLEEP { WAITS_SHORT } else { WAITS };
        let (mut asleep, mut soonest) = (0, None);
        for _ in 0..waits {
            let firing = self.alone(variant, time)?;
            if let broken @ Seen::Broken(_) = judged(&firing) {
                return Ok(broken);
            }
            asleep += slept(&firing.lap);
            soonest = soonest.into_iter().chain([firing.lap.elapsed]).min();
        }
        let soonest = soonest.unwrap_or_default();
        Ok(if asleep == 0 {
            Seen::Broken(format!("its caller never slept in {waits} waits for {time}"))
        } else {
            Seen::Met(format!("{waits} of {waits} fired once, the soonest {soonest} late"))
        })
    }

    fn epoch(&mut self, variant: u32, _iterations: u64) -> Result<Lap, Failure> {
        let firing = self.firing(variant)?;
        match judged(&firing) {
            Seen::Met(_) => Ok(firing.lap),
            Seen::Broken(seen) => Err(Failure::Wrong(seen)),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.begun = true;
        self.alone.iter_mut().for_each(|waiters| waiters.shift_stack(layout));
        if let Some(wave) = &mut self.wave {
            wave.waiters.shift_stack(layout);
        }
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        found::look(self, self.cpu)
    }
}
