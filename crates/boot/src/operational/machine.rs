//! The whole machine: its harts, its memory, and its steps. Every state of a hart and every content of memory
//! is kept once, so a state of the machine is a few numbers.

use std::rc::Rc;

use indexmap::{IndexMap, IndexSet};
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::control;
use super::footprint::{Standing, Written};
use super::local::{Local, Notice, Position};
use super::observe::observe_atomic;
use super::path::{Task, overlap};
use super::program::{Program, Region, Word};
use super::step::{Possible, Signal, after, begin, possible, touched};
use crate::answer::Fault;
use crate::isa::Width;
use crate::unset::UNSET;

pub(crate) const MOST_HARTS: usize = 8;

/// A state: a number for each hart, and one for memory, the last.
pub(crate) type State = [u32; MOST_HARTS + 1];

pub(super) const MEMORY: usize = MOST_HARTS;

/// Addresses of what is noted about the boot, beyond all memory.
const NOTES: u64 = 0xffff_ffff_ffff_f000;
pub(super) const CLEARED: u64 = NOTES;
pub(super) const BOOTS: u64 = NOTES + 8;
pub(super) const NOTICES: u64 = NOTES + 16;

/// Steps of one state of a hart that are looked through one by one.
const FEW_STEPS: usize = 32;

#[derive(Debug, Clone)]
pub(crate) struct Move {
    pub(crate) state: State,
    pub(crate) hart: usize,
    pub(crate) op: usize,
    /// What it read, cut to its width.
    pub(crate) read: u64,
    /// Whether a hart that goes on must do this in the end, or something else that is oldest.
    pub(crate) forced: bool,
    /// Whether a store-conditional fails for no reason. No hart does so for ever.
    pub(crate) spurious: bool,
    pub(crate) signals: Rc<[Signal]>,
    pub(crate) faults: Vec<Fault>,
}

/// A hart before its first step: which, what happened on the way there, and what is wrong with it.
pub(crate) type Begun = (usize, Rc<[Signal]>, Vec<Fault>);

/// What a hart's step leads to, memory apart: the hart's state, and what is noted on the way, by their
/// numbers.
type Next = Option<(u32, u32)>;

/// A step of a hart that was worked out.
#[derive(Debug)]
struct KnownStep {
    op: u32,
    /// Whether the program was told, as with [`Machine::possible`].
    is_told: bool,
    value: u64,
    next: Next,
}

pub(crate) struct Machine<'p> {
    pub(crate) program: &'p dyn Program,
    pub(crate) harts: usize,
    locals: IndexSet<Local, FxBuildHasher>,
    /// Of each of them, what it leads to; and whether the program was told on the way what is compared and
    /// computed: not on a [`walk`](super::walk), which may do what no run does.
    possible: Vec<(Rc<Possible>, bool)>,
    /// By address, what they hold at first.
    pub(super) slots: IndexMap<u64, Word, FxBuildHasher>,
    /// Contents of words. Number 0 stands for what a word holds at first.
    words: IndexSet<Word, FxBuildHasher>,
    memories: IndexSet<Box<[u32]>, FxBuildHasher>,
    /// Of each state of a hart. They are few, and mostly wanted together: looking through them costs less
    /// than a table of all.
    steps: Vec<Vec<KnownStep>>,
    /// Where those of more than [`FEW_STEPS`] stand: by the state, the operation and the value.
    places: FxHashMap<(u32, u32, u64), u32>,
    /// What is noted on the way. Number 0: nothing.
    signals: IndexSet<Rc<[Signal]>, FxBuildHasher>,
    touched: FxHashMap<(u32, u64, Width), u32>,
    pub(super) standing: FxHashMap<(u32, bool, u32), Vec<Standing>>,
    /// What harts on a walk are told that others write. Number 0: nothing.
    pub(super) messages: IndexSet<Rc<[Written]>, FxBuildHasher>,
    /// Whether this is not what harts do, but more than they can.
    pub(super) is_walking: bool,
    /// What made a run impossible to follow, if anything did.
    pub(crate) stopped: Option<Signal>,
    /// Bytes of all tables but that of the states, roughly.
    pub(crate) bytes: u64,
    /// Where there are more of them, nobody goes on a walk.
    pub(crate) limit: u64,
}

impl<'p> Machine<'p> {
    pub(crate) fn new(program: &'p dyn Program, harts: usize) -> Self {
        let mut words = IndexSet::default();
        words.insert(Word { value: 0, known: 0 });
        Self {
            program,
            harts,
            locals: IndexSet::default(),
            possible: Vec::new(),
            slots: IndexMap::default(),
            words,
            memories: IndexSet::default(),
            steps: Vec::new(),
            places: FxHashMap::default(),
            signals: IndexSet::from_iter([Rc::from([])]),
            touched: FxHashMap::default(),
            standing: FxHashMap::default(),
            messages: IndexSet::from_iter([Rc::from([])]),
            is_walking: false,
            stopped: None,
            bytes: 0,
            limit: u64::MAX,
        }
    }

    /// The first state, and what is wrong with it already.
    pub(crate) fn first(&mut self) -> Option<(State, Vec<Begun>)> {
        let mut state = [0; MOST_HARTS + 1];
        state[MEMORY] = self.memory(Vec::new());
        let mut begun = Vec::new();
        for (hart, place) in state.iter_mut().enumerate().take(self.harts) {
            let (local, signals) = begin(self.program, hart as u8)?;
            *place = self.intern(local);
            begun.push(signals);
        }
        // What is wrong with one hart may lie in where another one is, so all are in their places by now.
        let mut noted = Vec::new();
        for (hart, signals) in begun.into_iter().enumerate() {
            let signals: Rc<[Signal]> = signals.into();
            let mut faults = Vec::new();
            self.note(&mut state, hart, &signals, &mut faults);
            noted.push((hart, signals, faults));
        }
        Some((state, noted))
    }

    pub(crate) fn local(&self, number: u32) -> &Local {
        &self.locals[number as usize]
    }

    pub(crate) fn possible(&self, number: u32) -> Rc<Possible> {
        Rc::clone(&self.possible[number as usize].0)
    }

    fn intern(&mut self, local: Local) -> u32 {
        let is_told = !self.is_walking;
        let (number, is_new) = self.locals.insert_full(local);
        if is_new {
            let possible_here = possible(self.program, &self.locals[number]);
            self.bytes += 500 + 100 * possible_here.ops.len() as u64;
            self.possible.push((Rc::new(possible_here), is_told));
            self.steps.push(Vec::new());
        } else if is_told && !self.possible[number].1 {
            possible(self.program, &self.locals[number]);
            self.possible[number].1 = true;
        }
        number as u32
    }

    fn memory(&mut self, mut content: Vec<u32>) -> u32 {
        while content.last() == Some(&0) {
            content.pop();
        }
        self.bytes += 4 * content.len() as u64 / 2;
        self.memories.insert_full(content.into()).0 as u32
    }

    /// The number of the word at an address, which is a multiple of 8.
    pub(super) fn slot(&mut self, address: u64) -> usize {
        let program = self.program;
        let entry = self.slots.entry(address);
        let index = entry.index();
        entry.or_insert_with(|| match program.region(address) {
            _ if address >= NOTES => Word::of(0),
            Region::Memory(word) => word,
            Region::SoftwareInterrupt | Region::Nowhere => Word::of(0),
        });
        index
    }

    pub(super) fn held(&self, memory: u32, slot: usize) -> u32 {
        self.memories[memory as usize].get(slot).copied().unwrap_or(0)
    }

    fn word(&self, memory: u32, slot: usize) -> Word {
        match self.held(memory, slot) {
            0 => self.slots[slot],
            number => self.words[number as usize],
        }
    }

    fn store(&mut self, memory: u32, slot: usize, word: Word) -> u32 {
        let number = if self.slots[slot] == word { 0 } else { self.words.insert_full(word).0 as u32 };
        let content = &self.memories[memory as usize];
        if content.get(slot).copied().unwrap_or(0) == number {
            return memory;
        }
        let mut content = content.to_vec();
        if content.len() <= slot {
            content.resize(slot + 1, 0);
        }
        content[slot] = number;
        self.memory(content)
    }

    /// What the bytes at an address hold, as far as that is known, and which bits are.
    pub(crate) fn peek(&mut self, state: &State, address: u64, width: Width) -> (u64, u64) {
        let slot = self.slot(address & !7);
        let word = self.word(state[MEMORY], slot);
        let shift = 8 * (address & 7);
        (width.truncate(word.value >> shift), width.truncate(word.known >> shift))
    }

    /// All that the bytes at an address can hold when they are read now, each with memory as it then is.
    pub(super) fn read(&mut self, memory: u32, address: u64, width: Width) -> Vec<(u64, u32)> {
        let slot = self.slot(address & !7);
        let word = self.word(memory, slot);
        let shift = 8 * (address & 7);
        let mask = width.truncate(u64::MAX) << shift;
        if mask & !self.slots[slot].known != 0 {
            self.program.looks(address, width);
        }
        if mask & !word.known == 0 {
            if width != Width::Double {
                self.program.sees(address, width, word);
            }
            return vec![(width.truncate(word.value >> shift), memory)];
        }
        let contents = self.program.garbage(address, width, word).into_iter();
        let known = word.known | mask;
        let reading =
            |value| (width.truncate(value >> shift), self.store(memory, slot, Word { value, known }));
        contents.map(reading).collect()
    }

    fn write(&mut self, state: &mut State, hart: usize, address: u64, width: Width, value: u64) {
        let slot = self.slot(address & !7);
        let word = self.word(state[MEMORY], slot);
        let shift = 8 * (address & 7);
        let mask = width.truncate(u64::MAX) << shift;
        // Of a software interrupt only the lowest bit can be written.
        let value =
            if self.program.region(address & !7) == Region::SoftwareInterrupt { value & 1 } else { value };
        let value = (word.value & !mask) | ((value << shift) & mask);
        state[MEMORY] = self.store(state[MEMORY], slot, Word { value, known: word.known | mask });
        for other in (0..self.harts).filter(|&other| other != hart) {
            let before = state[other];
            let watches = &self.possible[before as usize].0.watched;
            if watches.iter().any(|&watched| overlap(watched, (address, width))) {
                state[other] = self.touched(before, address, width);
            }
        }
    }

    fn touched(&mut self, before: u32, address: u64, width: Width) -> u32 {
        if let Some(&known) = self.touched.get(&(before, address, width)) {
            return known;
        }
        let changed = touched(self.program, &self.locals[before as usize], address, width);
        let number = changed.map_or(before, |changed| self.intern(changed));
        self.touched.insert((before, address, width), number);
        number
    }

    pub(super) fn after(&mut self, before: u32, op: usize, value: u64) -> Next {
        let is_told = !self.is_walking;
        let steps = &self.steps[before as usize];
        let few = &steps[..steps.len().min(FEW_STEPS)];
        let mut known = few.iter().position(|step| step.op == op as u32 && step.value == value);
        if known.is_none() && steps.len() > FEW_STEPS {
            known = self.places.get(&(before, op as u32, value)).map(|&place| place as usize);
        }
        if let Some(known) = known
            && (steps[known].is_told || !is_told)
        {
            return steps[known].next;
        }
        let possible = self.possible(before);
        let results = after(self.program, &self.locals[before as usize], &possible.ops[op], value);
        let next = results
            .map(|(local, signals)| (self.intern(local), self.signals.insert_full(signals.into()).0 as u32));
        let steps = &mut self.steps[before as usize];
        if let Some(known) = known {
            steps[known].is_told = true;
        } else {
            self.bytes += 2 * size_of::<KnownStep>() as u64;
            if steps.len() >= FEW_STEPS {
                self.bytes += 64;
                self.places.insert((before, op as u32, value), steps.len() as u32);
            }
            steps.push(KnownStep { op: op as u32, is_told, value, next });
        }
        next
    }

    pub(super) fn signals(&self, number: u32) -> Rc<[Signal]> {
        Rc::clone(&self.signals[number as usize])
    }

    /// Puts what happened on the way to a hart's new place into the notes, and says what is wrong with it.
    fn note(&mut self, state: &mut State, hart: usize, signals: &[Signal], faults: &mut Vec<Fault>) {
        for &signal in signals {
            match signal {
                Signal::Primary => {
                    if self.is_marked(state, BOOTS) {
                        faults.push(Fault::StartedTwice);
                    }
                    self.mark(state, BOOTS);
                }
                Signal::Cleared => self.mark(state, CLEARED),
                Signal::Started => {
                    if !self.is_marked(state, NOTICES + 8 * hart as u64) {
                        faults.push(Fault::StartedEarly);
                    }
                }
                Signal::StartedAgain => faults.push(Fault::StartedTwice),
                Signal::Arrived | Signal::ArrivedStale | Signal::AllArrived => {
                    if signal == Signal::ArrivedStale {
                        faults.push(Fault::Stale);
                    }
                    let stack = self.local(state[hart]).registers[2];
                    let shared = (0..self.harts).filter(|&other| other != hart).any(|other| {
                        let other = self.local(state[other]);
                        matches!(other.at, Position::Arrived(_)) && other.registers[2] == stack
                    });
                    if shared && stack != UNSET {
                        faults.push(Fault::SharedStack);
                    }
                }
                Signal::Astray => faults.push(Fault::Astray),
                Signal::Undecoded(_) | Signal::Unsupported(_) | Signal::TooLong(_) => {
                    self.stopped.get_or_insert(signal);
                }
            }
        }
    }

    fn tell(&mut self, state: &mut State, tells: Option<Notice>) {
        let harts = match tells {
            Some(Notice::One(hart)) if hart < MOST_HARTS as u64 => hart..hart + 1,
            Some(Notice::All) => 0..self.harts as u64,
            _ => return,
        };
        for hart in harts {
            self.mark(state, NOTICES + 8 * hart);
        }
    }

    fn mark(&mut self, state: &mut State, note: u64) {
        let slot = self.slot(note);
        state[MEMORY] = self.store(state[MEMORY], slot, Word::of(1));
    }

    fn is_marked(&mut self, state: &State, note: u64) -> bool {
        let slot = self.slot(note);
        self.word(state[MEMORY], slot).value != 0
    }

    /// Whether a sleeping hart has an interrupt that ends its sleep.
    fn is_called(&mut self, state: &State, hart: usize) -> bool {
        let is_awaited = control::is_awaited(self.program, self.local(state[hart]));
        is_awaited && self.peek(state, interrupt_of(hart), Width::Word).0 & 1 != 0
    }

    pub(crate) fn moves(&mut self, state: &State, hart: usize, op: usize) -> Vec<Move> {
        let possible = self.possible(state[hart]);
        let operation = &possible.ops[op];
        if let Some((address, whole)) = operation.task.accesses() {
            self.program.accesses(hart as u8, address, whole);
        }
        let readings = match operation.task {
            Task::Read { address, width } | Task::Swap { address, width, .. } => {
                self.read(state[MEMORY], address, width)
            }
            Task::Forward { value, .. } => vec![(value, state[MEMORY])],
            _ => vec![(0, state[MEMORY])],
        };
        let mut moves = Vec::new();
        for (value, memory) in readings {
            let mut next = *state;
            next[MEMORY] = memory;
            let Some((local, signals)) = self.after(state[hart], op, value) else { continue };
            next[hart] = local;
            let mut faults = Vec::new();
            let mut forced = operation.oldest;
            let spurious = matches!(operation.task, Task::Fail { forced: false });
            let write = match operation.task {
                Task::Write { address, width, value, tells }
                | Task::Succeed { address, width, value, tells } => Some((address, width, value, tells)),
                Task::Swap { address, width, op, operand, tells } => {
                    observe_atomic(self.program, op, width, value, operand);
                    Some((address, width, op.apply(width, value, operand), tells))
                }
                Task::Fail { forced: must } => {
                    forced &= must;
                    None
                }
                Task::Wake => {
                    forced &= self.is_called(state, hart);
                    None
                }
                Task::Read { .. } | Task::Forward { .. } => None,
            };
            if let Some((address, width, value, tells)) = write {
                self.program.writes(address, width);
                self.write(&mut next, hart, address, width, value);
                self.tell(&mut next, tells);
                if self.may_be_lost(state[hart], address, value) && !self.is_marked(&next, CLEARED) {
                    faults.push(Fault::LostStore);
                }
            }
            let signals = self.signals(signals);
            self.note(&mut next, hart, &signals, &mut faults);
            moves.push(Move { state: next, hart, op, read: value, forced, spurious, signals, faults });
        }
        moves
    }

    pub(super) fn may_be_lost(&self, local: u32, address: u64, value: u64) -> bool {
        value != 0 && self.program.is_to_clear(address) && !self.local(local).boots
    }
}

/// Where the software interrupt of a hart is: QEMU's virt machine has it where SiFive's CLINT has it.
pub(crate) fn interrupt_of(hart: usize) -> u64 {
    0x200_0000 + 4 * hart as u64
}
