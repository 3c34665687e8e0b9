//! Which words of memory a step reads and writes, so that it can be told whether the order of two steps
//! matters.

use super::local::Notice;
use super::machine::State;
use super::machine::{BOOTS, CLEARED, MOST_HARTS, Machine, NOTICES, interrupt_of};
use super::path::Task;
use super::step::{Possible, Signal};

/// Sets of words of memory, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct Words([u64; 4]);

impl Words {
    pub(super) fn insert(&mut self, slot: usize) {
        // Beyond what the set holds, words share a number: that makes more of them meet, and never fewer.
        let slot = slot % 256;
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }

    fn extend(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one |= other);
    }
}

/// Which words are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    pub(crate) reads: Words,
    pub(crate) writes: Words,
}

impl Footprint {
    /// Whether the order of two steps could matter.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.writes.meets(&other.writes) || self.writes.meets(&other.reads) || self.reads.meets(&other.writes)
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }
}

impl Machine<'_> {
    /// What an operation touches, whatever it leads to.
    pub(crate) fn footprint(&mut self, state: &State, hart: usize, op: usize) -> Footprint {
        let possible = self.possible(state[hart]);
        let mut print = Footprint::default();
        self.touch(state[hart], &possible, op, &mut print);
        let mut moves = Vec::new();
        self.moves(state, hart, op, &mut moves);
        for each in &moves {
            self.hear(hart, &each.signals, &mut print);
        }
        print
    }

    /// Adds what an operation of a hart touches in memory.
    pub(super) fn touch(&mut self, local: u32, possible: &Possible, op: usize, print: &mut Footprint) {
        for &(address, _) in &possible.watched {
            print.reads.insert(self.slot(address & !7));
        }
        let hart = self.local(local).hart;
        match possible.ops[op].task {
            Task::Read { address, .. } => print.reads.insert(self.slot(address & !7)),
            Task::Wake => print.reads.insert(self.slot(interrupt_of(usize::from(hart)) & !7)),
            Task::Forward { .. } | Task::Fail { .. } => {}
            Task::Write { address, tells, value, .. } | Task::Succeed { address, tells, value, .. } => {
                self.touch_write(local, address, tells, value, print);
            }
            Task::Swap { address, tells, .. } => self.touch_write(local, address, tells, 1, print),
        }
    }

    fn touch_write(
        &mut self,
        local: u32,
        address: u64,
        tells: Option<Notice>,
        value: u64,
        print: &mut Footprint,
    ) {
        print.writes.insert(self.slot(address & !7));
        if self.may_be_lost(local, address, value) {
            print.reads.insert(self.slot(CLEARED));
        }
        match tells {
            None => {}
            Some(Notice::One(hart)) if hart < MOST_HARTS as u64 => {
                print.writes.insert(self.slot(NOTICES + 8 * hart));
            }
            Some(_) => {
                for hart in 0..self.harts as u64 {
                    print.writes.insert(self.slot(NOTICES + 8 * hart));
                }
            }
        }
    }

    /// Adds what is noted on the way.
    pub(super) fn hear(&mut self, hart: usize, signals: &[Signal], print: &mut Footprint) {
        for signal in signals {
            match signal {
                Signal::Primary => print.writes.insert(self.slot(BOOTS)),
                Signal::Cleared => print.writes.insert(self.slot(CLEARED)),
                Signal::Started => print.reads.insert(self.slot(NOTICES + 8 * hart as u64)),
                _ => {}
            }
        }
    }
}
