//! What some harts may do from here while all others stand still: each is walked through by itself, and told
//! what the others write. It is more than they can really do, and never less.

use std::rc::Rc;

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::footprint::{Footprint, Standing, Walk, WordSet, Written};
use super::local::Notice;
use super::machine::{BOOTS, CLEARED, MEMORY, MOST_HARTS, Machine, NOTICES, State, interrupt_of};
use super::path::{Task, overlap};
use super::step::{Possible, Signal};
use crate::isa::Width;

/// States of one hart that a walk looks at, over all kinds of garbage, before the hart is taken to do
/// anything.
const LONGEST_WALK: usize = 20_000;

/// Stores that a walk keeps.
const MOST_WRITTEN: usize = 100;

/// How often harts may hear from one another.
const ROUNDS: usize = 8;

impl Machine<'_> {
    /// What an operation touches, whatever it leads to.
    pub(crate) fn footprint(&mut self, state: &State, hart: usize, op: usize) -> Footprint {
        let possible = self.possible(state[hart]);
        let mut print = Footprint::default();
        self.touch(state[hart], &possible, op, &mut print);
        for each in self.moves(state, hart, op) {
            self.hear(hart, &each.signals, &mut print);
        }
        print
    }

    /// Adds what an operation of a hart touches in memory.
    fn touch(&mut self, local: u32, possible: &Possible, op: usize, print: &mut Footprint) {
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
        let harts = match tells {
            None => return,
            Some(Notice::One(hart)) if hart < MOST_HARTS as u64 => hart..hart + 1,
            Some(_) => 0..self.harts as u64,
        };
        for hart in harts {
            print.writes.insert(self.slot(NOTICES + 8 * hart));
        }
    }

    /// Adds what is noted on the way.
    fn hear(&mut self, hart: usize, signals: &[Signal], print: &mut Footprint) {
        for signal in signals {
            match signal {
                Signal::Primary => print.writes.insert(self.slot(BOOTS)),
                Signal::Cleared => print.writes.insert(self.slot(CLEARED)),
                Signal::Started => print.reads.insert(self.slot(NOTICES + 8 * hart as u64)),
                _ => {}
            }
        }
    }

    /// What these harts may touch from here when no other hart does anything; a hart that is marked so
    /// without its oldest operation, which is put off. None: too much to tell.
    pub(crate) fn without(&mut self, state: &State, harts: &[(usize, bool)]) -> Option<Vec<Footprint>> {
        // What is compared on a walk may be what no run compares: the program is not to take it for a number
        // that matters.
        self.is_walking = true;
        self.program.follows(false);
        let footprints = self.walks(state, harts);
        self.program.follows(true);
        self.is_walking = false;
        footprints
    }

    fn walks(&mut self, state: &State, harts: &[(usize, bool)]) -> Option<Vec<Footprint>> {
        let mut heard = vec![0; harts.len()];
        // What one of them writes and another reads goes round until nothing new comes up.
        for _ in 0..ROUNDS {
            let mut walks = Vec::new();
            for (&(hart, put_off), &heard) in harts.iter().zip(&heard) {
                walks.push(self.walk(state, hart, put_off, heard)?);
            }
            let mut next = Vec::new();
            for (place, walk) in walks.iter().enumerate() {
                let others = walks.iter().enumerate().filter(|&(other, _)| other != place);
                let messages =
                    others.filter(|(_, other)| other.footprint.writes.meets(&walk.footprint.reads));
                let mut messages: Vec<Written> =
                    messages.flat_map(|(_, other)| other.written.iter().copied()).collect();
                messages.sort_unstable();
                messages.dedup();
                next.push(self.messages.insert_full(messages.into()).0 as u32);
            }
            if next == heard {
                return Some(walks.iter().map(|walk| walk.footprint).collect());
            }
            heard = next;
        }
        None
    }

    fn walk(&mut self, state: &State, hart: usize, put_off: bool, heard: u32) -> Option<Rc<Walk>> {
        let (local, memory) = (state[hart], state[MEMORY]);
        let key = (local, put_off, heard);
        if let Some(known) = self.standing.get(&key) {
            let fits =
                |known: &&Standing| known.holding.iter().all(|&(slot, word)| self.held(memory, slot) == word);
            if let Some(known) = known.iter().find(fits) {
                return known.walk.clone();
            }
        }
        let mut read = IndexSet::default();
        let messages = self.messages[heard as usize].clone();
        let mut left = LONGEST_WALK;
        let walk = self.walk_on(local, memory, put_off, &messages, &mut read, &mut left).map(Rc::new);
        let holding: Box<[(usize, u32)]> =
            read.into_iter().map(|slot| (slot, self.held(memory, slot))).collect();
        self.bytes += 200 + 16 * holding.len() as u64;
        self.standing.entry(key).or_default().push(Standing { holding, walk: walk.clone() });
        walk
    }

    /// Walks through all that a hart can do. Every word holds what it does now, what the hart itself writes,
    /// or what it is told that others write. Also collects the words that it read.
    fn walk_on(
        &mut self,
        local: u32,
        memory: u32,
        put_off: bool,
        messages: &[Written],
        read: &mut IndexSet<usize, FxBuildHasher>,
        left: &mut usize,
    ) -> Option<Walk> {
        let hart = usize::from(self.local(local).hart);
        let mut print = Footprint::default();
        let mut written: Vec<Written> = Vec::new();
        loop {
            let before = written.len();
            // Where the hart looked or wrote, exactly: neighbours in one word know nothing of each other.
            let mut spots = IndexSet::<(u64, Width), FxBuildHasher>::default();
            // With each state of the hart, the spots of which it has seen that they do not hold what they
            // did: they never will again, unless somebody writes it.
            let mut seen = IndexSet::<(u32, WordSet), FxBuildHasher>::default();
            seen.insert((local, WordSet::default()));
            let mut next = 0;
            while let Some(&(number, moved)) = seen.get_index(next) {
                next += 1;
                *left = left.checked_sub(1)?;
                if written.len() > MOST_WRITTEN || self.bytes > self.limit {
                    return None;
                }
                let possible = self.possible(number);
                for (op, operation) in possible.ops.iter().enumerate() {
                    // The oldest stays the oldest until it is performed.
                    if put_off && operation.oldest {
                        continue;
                    }
                    self.touch(number, &possible, op, &mut print);
                    let mut values = vec![(0, moved)];
                    match operation.task {
                        Task::Read { address, width } | Task::Swap { address, width, .. } => {
                            let slot = self.slot(address & !7);
                            read.insert(slot);
                            let mut on = moved;
                            on.insert(spots.insert_full((address, width)).0);
                            let readings = self.read(memory, address, width);
                            // Garbage is what it is from the first look at it: every kind of it is a walk of
                            // its own.
                            if readings.iter().any(|&(_, decided)| decided != memory) {
                                let mut all = Walk::default();
                                for (_, decided) in readings {
                                    let one = self.walk_on(local, decided, put_off, messages, read, left)?;
                                    all.footprint.extend(&one.footprint);
                                    all.written.extend(one.written);
                                }
                                all.written.sort_unstable();
                                all.written.dedup();
                                return Some(all);
                            }
                            values = readings.into_iter().map(|(value, _)| (value, moved)).collect();
                            if on == moved {
                                values.clear();
                            }
                            for &(at, wide, value) in written.iter().chain(messages) {
                                if overlap((at, wide), (address, width)) {
                                    if (at, wide) != (address, width) {
                                        return None;
                                    }
                                    if !values.contains(&(value, on)) {
                                        values.push((value, on));
                                    }
                                }
                            }
                        }
                        Task::Forward { value, .. } => values = vec![(value, moved)],
                        _ => {}
                    }
                    for (value, mut moved) in values {
                        let wrote = match operation.task {
                            Task::Write { address, width, value, .. }
                            | Task::Succeed { address, width, value, .. } => Some((address, width, value)),
                            Task::Swap { address, width, op, operand, .. } => {
                                Some((address, width, op.apply(width, value, operand)))
                            }
                            _ => None,
                        };
                        if let Some(wrote) = wrote {
                            moved.insert(spots.insert_full((wrote.0, wrote.1)).0);
                            if !written.contains(&wrote) {
                                written.push(wrote);
                            }
                        }
                        if let Some((after, signals)) = self.after(number, op, value) {
                            if signals != 0 {
                                self.hear(hart, &self.signals(signals), &mut print);
                            }
                            seen.insert((after, moved));
                        }
                    }
                }
            }
            // Sets of spots must be exact here.
            if spots.len() > 256 {
                return None;
            }
            // What was written late may be read early the next time.
            if written.len() == before || !print.writes.meets(&print.reads) {
                return Some(Walk { footprint: print, written });
            }
        }
    }
}
