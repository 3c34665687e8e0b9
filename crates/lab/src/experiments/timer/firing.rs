//! One cell of `timer`, set up: who waits, alone or many at a time, and what a firing must be.

use std::collections::{BTreeMap, VecDeque};

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::timers::{self, Firing, Order, Waiters};
use tenbin_metal::{Fault, Lap};
use tenbin_model::{Cpu, Finding, Picoseconds, VariantIndex};

use super::surroundings::{finding, of_slack, of_waking};
use super::{GAP, MEASURED, SLEEP, SLEEP_LEAST, WAYS};
use crate::experiment::{Apparatus, Failure, Seen};

/// The check waits for no longer than this, however long the timer of the cell is: what is timed is held
/// against the specification as well.
const CHECKED: Picoseconds = Picoseconds::from_millis(10);

/// Waits of a check, and those of one whose timer is short: it can be due before its caller could fall
/// asleep.
const WAITS: usize = 16;
const WAITS_SHORT: usize = 64;

/// A timer of this length and longer is waited for asleep, or something is wrong: a caller that never gave
/// its CPU away and was charged this part of the time did not mean to sleep, or it was preempted before it
/// could and charged for what the host took from the guest meanwhile. The latter does not come again at once.
const SURELY_ASLEEP: Picoseconds = Picoseconds::from_millis(1);
const AWAKE: u64 = 2;

/// How often a call whose firing broke the specification is asked again, alone and briefly, before it is
/// accused.
const AGAIN: usize = 8;

/// How long a timer waits whose slack is read.
const SLACK_READ: Picoseconds = Picoseconds::from_micros(50);

pub(super) struct Firings {
    time: Picoseconds,
    /// One process for each variant, or fewer.
    alone: Vec<Waiters>,
    wave: Option<Wave>,
    cpu: Cpu,
    /// Firings that broke the specification once and that did not come again, by variant and clause: how
    /// many, and what the first of them was.
    single: BTreeMap<(VariantIndex, Clause), (u64, String)>,
    /// Whether the first block has begun. Before that the engine looks for the number of iterations of an
    /// epoch, which is one whatever it sees.
    begun: bool,
}

/// The part of the specification that a firing broke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Clause {
    /// Before its time.
    Early,
    /// Not exactly once, or armed still.
    Once,
    /// The caller did not sleep. Load can look like it.
    Asleep,
}

/// Many timers that wait at the same time, so that long ones need not be waited for one by one.
pub(super) struct Wave {
    waiters: Waiters,
    blocks: u32,
    variants: Vec<VariantIndex>,
    random: Pcg64Mcg,
    /// What has fired and was not asked for yet, by variant, the oldest first.
    fired: BTreeMap<VariantIndex, VecDeque<Firing>>,
}

impl Wave {
    /// As many processes as `blocks` have timers.
    pub(super) fn of(waiters: Waiters, blocks: u32, variants: &[VariantIndex], seed: u64) -> Self {
        let random = Pcg64Mcg::seed_from_u64(seed);
        Self { waiters, blocks, variants: variants.to_vec(), random, fired: BTreeMap::new() }
    }

    /// The variants in the order in which they are armed: for each block a random one and then its mirror
    /// image, so that the two firings of a variant stand around the same moment. The engine hands them to its
    /// blocks two by two.
    fn drawn(&mut self) -> Vec<VariantIndex> {
        let mut drawn = Vec::new();
        for _ in 0..self.blocks {
            let mut order = self.variants.clone();
            order.shuffle(&mut self.random);
            drawn.extend(order.iter().chain(order.iter().rev()));
        }
        drawn
    }

    /// The next firing of `variant`: of this wave, or of a new one.
    fn next(&mut self, variant: VariantIndex, time: Picoseconds) -> Result<Option<Firing>, Fault> {
        if self.fired.get(&variant).is_none_or(VecDeque::is_empty) {
            let drawn = self.drawn();
            let armed = |(&variant, place): (&VariantIndex, u64)| {
                let drawn = self.random.random_range(0..=GAP.0 / 2);
                order(variant, time, Picoseconds(place * GAP.0 + drawn))
            };
            let orders: Vec<Order> = drawn.iter().zip(1..).map(armed).collect();
            for (variant, firing) in drawn.into_iter().zip(self.waiters.wait(&orders)?) {
                self.fired.entry(variant).or_default().push_back(firing);
            }
        }
        Ok(self.fired.get_mut(&variant).and_then(VecDeque::pop_front))
    }
}

fn order(variant: VariantIndex, length: Picoseconds, after: Picoseconds) -> Order {
    let (way, slack) = WAYS[variant];
    Order { way, slack, length, after }
}

impl Firings {
    pub(super) fn of(time: Picoseconds, alone: Vec<Waiters>, wave: Option<Wave>, cpu: Cpu) -> Self {
        Self { time, alone, wave, cpu, single: BTreeMap::new(), begun: false }
    }

    /// A timer that nobody else waits beside.
    pub(super) fn alone(&mut self, variant: VariantIndex, time: Picoseconds) -> Result<Firing, Fault> {
        let process = variant.place().min(MEASURED).min(self.alone.len() - 1);
        let mut firings = self.alone[process].wait(&[order(variant, time, Picoseconds::ZERO)])?;
        firings.pop().ok_or_else(|| Fault::system("wait for a timer", std::io::ErrorKind::NotFound))
    }

    /// The order of a new wave, as it would be armed.
    #[cfg(test)]
    pub(super) fn drawn(&mut self) -> Vec<VariantIndex> {
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

    pub(super) fn firing(&mut self, variant: VariantIndex) -> Result<Firing, Fault> {
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
///
/// # Errors
/// The clause that it broke, and what was seen.
pub(super) fn judged(firing: &Firing) -> Result<(), (Clause, String)> {
    let Firing { order, lap, early, fired, armed, .. } = firing;
    let (name, length) = (order.way.name(), order.length);
    let charged = lap.usage.user + lap.usage.system;
    // What is charged beyond the wait was charged for something else. The sixteenth: what lies around the
    // wait is charged too.
    let waited = length + lap.elapsed;
    let is_possible = charged.0 <= waited.0 + waited.0 / 16;
    if let Some(early) = early {
        Err((Clause::Early, format!("{name} of {length} fired {early} before its time")))
    } else if *fired != 1 {
        Err((Clause::Once, format!("{name} of {length} fired {fired} times until its caller ran again")))
    } else if *armed {
        Err((Clause::Once, format!("{name} of {length} is still armed after it fired")))
    } else if length >= SURELY_ASLEEP && slept(lap) == 0 && is_possible && charged.0 >= length.0 / AWAKE {
        Err((Clause::Asleep, format!("{name} of {length} did not sleep: it took {charged} of CPU time")))
    } else {
        Ok(())
    }
}

/// Whether what broke `clause` once is broken again by firings of the same call: by a single one where
/// nothing around the caller can make a timer early or fire twice, and by all of them where load can look
/// like it.
///
/// # Errors
/// The first fault of `ask`.
pub(super) fn comes_again(
    clause: Clause,
    mut ask: impl FnMut() -> Result<Firing, Fault>,
) -> Result<bool, Fault> {
    for _ in 0..AGAIN {
        let again = judged(&ask()?).is_err_and(|(other, _)| other == clause);
        match (clause, again) {
            (Clause::Asleep, false) => return Ok(false),
            (Clause::Early | Clause::Once, true) => return Ok(true),
            _ => {}
        }
    }
    Ok(clause == Clause::Asleep)
}

/// How often the caller gave its CPU away.
fn slept(lap: &Lap) -> u64 {
    lap.usage.voluntary_switches
}

impl Firings {
    /// What is wrong with this firing of `variant`, if it came again when it was asked for again, or a second
    /// time in this cell.
    fn accused(&mut self, variant: VariantIndex, firing: &Firing) -> Result<Option<String>, Fault> {
        let Err((clause, seen)) = judged(firing) else { return Ok(None) };
        let time = firing.order.length.min(CHECKED);
        if comes_again(clause, || self.alone(variant, time))? {
            return Ok(Some(seen));
        }
        let (times, first) = self.single.entry((variant, clause)).or_insert((0, seen.clone()));
        *times += 1;
        let is_second = *times > 1 && clause != Clause::Asleep;
        Ok(is_second.then(|| format!("{first}; and {seen}")))
    }
}

impl Apparatus for Firings {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let time = self.time.min(CHECKED);
        let waits = if time < SURELY_ASLEEP { WAITS_SHORT } else { WAITS };
        let (mut asleep, mut soonest) = (0, None);
        for _ in 0..waits {
            let firing = self.alone(variant, time)?;
            if let Some(seen) = self.accused(variant, &firing)? {
                return Ok(Seen::Broken(seen));
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

    fn epoch(&mut self, variant: VariantIndex, _iterations: u64) -> Result<Lap, Failure> {
        let firing = self.firing(variant)?;
        match self.accused(variant, &firing)? {
            // How late it was stands, also where its caller may not have slept.
            None => Ok(firing.lap),
            Some(seen) => Err(Failure::Wrong(seen)),
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
        let mut slack =
            |variant| self.alone(variant, SLACK_READ).map(|firing| Picoseconds::from_nanos(firing.slack));
        let (inherited, least) = (slack(SLEEP)?, slack(SLEEP_LEAST)?);
        Ok(vec![
            of_slack(inherited, least),
            of_waking(self.cpu, &timers::idle(self.cpu), timers::resolution()),
        ])
    }

    /// What was seen once, came no more, and accuses nobody.
    fn remarks(&mut self) -> Vec<Finding> {
        let remark = |(&(_, clause), (times, first)): (&(VariantIndex, Clause), &(u64, String))| {
            let times = if *times == 1 { "Once".to_owned() } else { format!("{times} times") };
            let why = match clause {
                Clause::Asleep => "a caller preempted before it sleeps may be charged for what the host took",
                Clause::Early | Clause::Once => "a second one in this cell would have been called a fault",
            };
            finding(
                format!("{times} a firing seemed to break the specification and did not again: {first}."),
                format!("the same call was asked {AGAIN} more times at once and kept it; {why}"),
                "what does not repeat accuses nobody",
            )
        };
        self.single.iter().map(remark).collect()
    }
}
