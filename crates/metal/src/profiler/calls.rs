//! System calls: each is seen to begin and to end; while they come fast, those of a tenth of the time are.
//!
//! To see a call at both ends costs twice as much as to see its end. Of the others, the number is known there
//! still; and where one waits, or an interrupt comes in it, the kernel's registers say so.

use aya::Ebpf;
use aya::maps::Array;
use aya::programs::tp_btf::BtfTracePointLink;
use aya::programs::{Program, ProgramError};

use super::UNSEEN;
use super::layout::{RawCpu, RawTally};

/// What sees calls begin, and its tracepoint.
pub(super) const PROGRAM: (&str, &str) = ("entered", "sys_enter");

/// So many between two looks are many. Where there are fewer, to see each at both ends costs little.
const MANY: u32 = 2000;

/// Calls of a kind of which each is to be timed, and microseconds in them, that there may be between two
/// looks.
const RARE: u32 = 300;

/// So many come to a page fault within one, and to a switch of threads.
const UNDISTURBED: u32 = 64;

/// Where they are more than so many times as many as in the time before, or as few, they may be of another
/// kind.
const ALIKE: u32 = 2;

/// Looks after which they are not seen at most, since that ended before its time.
const PATIENCE: u32 = 64;

/// What sees calls begin.
#[derive(Debug)]
pub(super) struct Calls {
    /// None while nothing does.
    attached: Option<BtfTracePointLink>,
    /// When nothing does. None if each is seen at any time.
    rests: Option<Rests>,
    last: Counts,
}

impl Calls {
    /// What sees none of them begin yet.
    pub(super) fn new(rests: bool) -> Self {
        Self { attached: None, rests: rests.then(Rests::default), last: Counts::default() }
    }

    /// Whether there are times in which only the end of each is seen.
    pub(super) fn rest_at_times(&self) -> bool {
        self.rests.is_some()
    }

    /// From now on, each one is seen to begin.
    pub(super) fn see(&mut self, loaded: &mut Ebpf) -> Result<(), ProgramError> {
        let (name, _) = PROGRAM;
        if let (None, Some(Program::BtfTracePoint(program))) = (&self.attached, loaded.program_mut(name)) {
            let link = program.attach()?;
            self.attached = Some(program.take_link(link)?);
        }
        set_resting(loaded, false);
        Ok(())
    }

    /// From now on, none is.
    pub(super) fn rest(&mut self, loaded: &mut Ebpf) {
        set_resting(loaded, true);
        self.attached = None;
    }

    /// Looks how many there were, and has them seen to begin or not until the next look.
    pub(super) fn look(&mut self, loaded: &mut Ebpf) {
        let (Some(rests), Some(counts)) = (&mut self.rests, Counts::read(loaded)) else { return };
        let since = counts.since(self.last);
        self.last = counts;
        match (self.attached.is_none(), rests.next(self.attached.is_none(), since)) {
            // Where that fails, those of before stand for all others.
            (true, false) => drop(self.see(loaded)),
            (false, true) => self.rest(loaded),
            _ => {}
        }
    }
}

/// When calls are not seen to begin.
#[derive(Debug, Default)]
struct Rests {
    /// How many there were between the two looks before.
    calls: u32,
    /// Looks since that began, or since they could have been left.
    looks: u32,
    /// How many of these it takes before it begins.
    patience: u32,
}

impl Rests {
    /// Whether they are not seen to begin from now on, given whether they were not since the look before,
    /// and how many there were.
    fn next(&mut self, is_resting: bool, since: Counts) -> bool {
        let are_alike = (self.calls / ALIKE..=self.calls.saturating_mul(ALIKE)).contains(&since.calls);
        self.calls = since.calls;
        let can_rest = since.are_of_few_kinds() && are_alike;
        self.looks += 1;
        let next = match is_resting {
            true => can_rest && self.looks < UNSEEN,
            false => can_rest && self.looks > self.patience,
        };
        if is_resting && !next {
            self.patience = if can_rest { 0 } else { (2 * self.patience + 1).min(PATIENCE) };
        }
        if next != is_resting || !can_rest {
            self.looks = 0;
        }
        next
    }
}

/// How many there were so far on all CPUs. They begin anew behind 2³².
#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    calls: u32,
    /// Those of a kind of which each is to be timed, and their time in microseconds.
    rare: u32,
    /// Page faults in calls.
    within: u32,
    switches: u32,
}

impl Counts {
    /// None where they cannot be read.
    fn read(loaded: &Ebpf) -> Option<Self> {
        let cpus = Array::<_, RawCpu>::try_from(loaded.map("cpus")?).ok()?;
        let tallies = Array::<_, RawTally>::try_from(loaded.map("tallies")?).ok()?;
        let switches = tallies.get(&0, 0).ok()?.switches;
        let mut sum = Self { switches: (switches & u64::from(u32::MAX)) as u32, ..Self::default() };
        for number in 0..cpus.len() {
            let cpu = cpus.get(&number, 0).ok()?;
            sum.calls = sum.calls.wrapping_add(cpu.calls);
            sum.rare = sum.rare.wrapping_add(cpu.rare);
            sum.within = sum.within.wrapping_add(cpu.within);
        }
        Some(sum)
    }

    fn since(self, before: Self) -> Self {
        Self {
            calls: self.calls.wrapping_sub(before.calls),
            rare: self.rare.wrapping_sub(before.rare),
            within: self.within.wrapping_sub(before.within),
            switches: self.switches.wrapping_sub(before.switches),
        }
    }

    /// Whether a tenth of such calls stands for all.
    fn are_of_few_kinds(self) -> bool {
        self.calls >= MANY && self.rare <= RARE && self.within.max(self.switches) <= self.calls / UNDISTURBED
    }
}

fn set_resting(loaded: &mut Ebpf, is_resting: bool) {
    if let Some(mut resting) = loaded.map_mut("resting").and_then(|map| Array::<_, u32>::try_from(map).ok()) {
        let _ = resting.set(0, u32::from(is_resting), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One letter a look: whether they were seen to begin after it (`s`) or not (`-`).
    fn course(looks: &[Counts]) -> String {
        let (mut rests, mut is_resting) = (Rests::default(), false);
        let mut letter = |since: &Counts| {
            is_resting = rests.next(is_resting, *since);
            if is_resting { '-' } else { 's' }
        };
        looks.iter().map(&mut letter).collect()
    }

    #[test]
    fn a_tenth_is_seen_at_both_ends_while_nothing_else_comes() {
        let fast = Counts { calls: 20_000, ..Counts::default() };
        assert_eq!(course(&[fast; 24]), "s---------s---------s---");
        for other in [
            Counts { calls: 1_000, ..fast },
            Counts { calls: 50_000, ..fast },
            Counts { rare: 500, ..fast },
            Counts { within: 400, ..fast },
            Counts { switches: 400, ..fast },
        ] {
            assert_eq!(course(&[other; 24]).contains('-'), other.calls == 50_000, "{other:?}");
            let mut looks = [fast; 24];
            looks[6] = other;
            looks[14] = other;
            let course = course(&looks);
            assert!(course.starts_with("s-----s"), "{other:?}: {course}");
            // The longer, the more often it ends early.
            let waits = |from: usize| course[from..].find('-').unwrap_or(course.len());
            assert!(waits(14) > waits(6), "{other:?}: {course}");
        }
    }
}
