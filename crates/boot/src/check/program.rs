//! ImageProgram as a program of the operational model: code and memory of an image, and what its places mean.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use rustc_hash::FxHashMap;
use tenbin_model::order;

use super::garbage::{self, Compared, Garbage, Looks};
use super::report::{BootQuestion, Landmarks};
use crate::axiomatic::Model;
use crate::image::FetchError;
use crate::isa::execute::Uses;
use crate::isa::{Decoded, Instruction, Register, Width};
use crate::operational::machine::interrupt_of;
use crate::operational::program::{
    self, AnnotatedInstruction, Fetched, Inverse, Program, Region, Tells, Word, bit,
};
use crate::unset::{UNSET, unset_control};

/// Numbers that garbage may be compared with and that are then tried as garbage.
const MOST_COMPARED: usize = 64;

/// Of garbage that must be less than this, every number is tried.
const SMALL_BOUND: u64 = 32;

/// What was learned in one exploration and must be known from the start of the next.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Learned {
    pub(super) compared: BTreeSet<u64>,
    /// Those of them of which some bits do not matter.
    pub(super) open: BTreeSet<u64>,
    /// Where jumps through registers lead.
    pub(super) jumps: BTreeMap<u64, BTreeSet<u64>>,
    /// Where jumps through registers lead in some run.
    pub(super) targets: BTreeMap<u64, BTreeSet<u64>>,
    /// Words of 8 bytes that are not one hart's own.
    pub(super) shared: BTreeSet<u64>,
    /// How undetermined memory is looked at.
    pub(super) looks: Looks,
    /// The lowest bytes of all numbers in the code.
    pub(super) named: BTreeSet<u8>,
}

impl Learned {
    /// What the code shows by itself.
    pub(super) fn of(question: &BootQuestion<'_>) -> Self {
        Self { jumps: calls(question), named: named(question), ..Self::default() }
    }
}

pub(super) struct ImageProgram<'a> {
    question: &'a BootQuestion<'a>,
    garbage: Garbage,
    known: &'a Learned,
    live: BTreeMap<u64, u32>,
    code: RefCell<FxHashMap<u64, Fetched>>,
    learned: RefCell<Learned>,
    owners: RefCell<FxHashMap<u64, u8>>,
    /// The harts, as bits, that accessed a word.
    visitors: RefCell<FxHashMap<u64, u8>>,
    /// Whether what is told is so in some run.
    in_a_run: Cell<bool>,
    pub(super) is_new: Cell<bool>,
    /// Whether a number was computed of garbage, or garbage compared with more numbers than are tried.
    partly: Cell<bool>,
    pub(super) unset: Cell<Option<u64>>,
    /// Jumps behind which a hart went on before it was known where they lead.
    guessed: RefCell<BTreeSet<u64>>,
    /// Where control and status registers are read that nobody set, by their numbers.
    unset_reads: RefCell<BTreeMap<u16, u64>>,
    /// One of them, on which a hart's way depends.
    unset_control: Cell<Option<u16>>,
    mixed: RefCell<BTreeSet<u64>>,
    /// A word of which a part was reserved, and another one stored to.
    reserved: Cell<Option<u64>>,
    pub(super) overwritten: Cell<Option<u64>>,
}

impl<'a> ImageProgram<'a> {
    pub(super) fn new(question: &'a BootQuestion<'a>, known: &'a Learned) -> Self {
        let mut firmware = Self {
            question,
            garbage: Garbage::new(question.harts, &known.compared, &known.open, &known.named),
            known,
            live: BTreeMap::new(),
            code: RefCell::default(),
            learned: RefCell::new(known.clone()),
            owners: RefCell::default(),
            visitors: RefCell::default(),
            in_a_run: Cell::new(true),
            is_new: Cell::new(false),
            partly: Cell::new(false),
            unset: Cell::new(None),
            guessed: RefCell::default(),
            unset_reads: RefCell::default(),
            unset_control: Cell::new(None),
            mixed: RefCell::default(),
            reserved: Cell::new(None),
            overwritten: Cell::new(None),
        };
        firmware.live = firmware.liveness();
        firmware
    }

    /// A word that several harts access, and of which a load needed a part of what its own hart was about to
    /// store; or one of which a store-conditional went to a part of what was reserved.
    pub(super) fn mixed(&self) -> Option<u64> {
        if let Some(reserved) = self.reserved.get() {
            return Some(reserved);
        }
        let visitors = self.visitors.borrow();
        let several = |word: &&u64| visitors.get(word).is_some_and(|harts| harts.count_ones() > 1);
        self.mixed.borrow().iter().find(several).copied()
    }

    /// A control and status register whose first value nobody knows, on which a hart's way depends, and where
    /// it is read.
    pub(super) fn unset_control(&self) -> Option<(u64, u16)> {
        let csr = self.unset_control.get()?;
        self.unset_reads.borrow().get(&csr).map(|&pc| (pc, csr))
    }

    /// Notes that something depends on this number, if it stands for what a control and status register holds
    /// at first.
    fn depends(&self, value: u64) {
        if self.unset_control.get().is_none() {
            self.unset_control.set(unset_control(value));
        }
    }

    /// Whether garbage may be something that was not tried, and that matters.
    pub(super) fn partly(&self) -> bool {
        self.partly.get() || self.garbage.partly.get()
    }

    pub(super) fn learned(&self) -> Learned {
        self.learned.borrow().clone()
    }

    fn marks(&self) -> &Landmarks {
        &self.question.landmarks
    }

    fn fetch(&self, pc: u64) -> Fetched {
        let image = self.question.image;
        if !image.segment(pc).is_some_and(|segment| segment.executable) {
            return Fetched::Nowhere;
        }
        match image.fetch(pc) {
            Ok(decoded) => {
                let Decoded { instruction, length } = decoded;
                let (acquire, release) = instruction.annotations();
                Fetched::Code(AnnotatedInstruction { instruction, length, acquire, release })
            }
            Err(FetchError::Odd(_) | FetchError::Undetermined(_)) => Fetched::Nowhere,
            Err(FetchError::Decode { .. }) => Fetched::Undecoded,
        }
    }

    /// Where an instruction may lead; `None` if that is not known.
    fn successors(&self, pc: u64, line: &AnnotatedInstruction) -> Option<Vec<u64>> {
        let next = pc.wrapping_add(line.length);
        Some(match line.instruction {
            Instruction::Jal { offset, .. } => vec![pc.wrapping_add_signed(offset)],
            Instruction::Branch { offset, .. } => vec![pc.wrapping_add_signed(offset), next],
            Instruction::Jalr { .. } => self.known.jumps.get(&pc)?.iter().copied().collect(),
            Instruction::Ecall | Instruction::Ebreak | Instruction::Mret => return None,
            _ => vec![next],
        })
    }

    /// For each instruction that can be reached, the registers that are read later before they are written.
    fn liveness(&self) -> BTreeMap<u64, u32> {
        let mut lines = BTreeMap::new();
        let mut open = vec![self.question.image.entry];
        while let Some(pc) = open.pop() {
            if lines.contains_key(&pc) {
                continue;
            }
            let Fetched::Code(line) = self.at(pc) else { continue };
            let next = if self.is_goal(pc) { Some(Vec::new()) } else { self.successors(pc, &line) };
            open.extend(next.iter().flatten().copied());
            lines.insert(pc, (line, next));
        }
        let mut live: BTreeMap<u64, u32> = order::map(lines.keys().map(|&pc| (pc, 0)));
        loop {
            let mut changed = false;
            for (&pc, (line, next)) in lines.iter().rev() {
                let live_at = |to: &u64| live.get(to).copied().unwrap_or(u32::MAX);
                let after =
                    next.as_ref().map_or(u32::MAX, |next| next.iter().fold(0, |all, to| all | live_at(to)));
                let uses = Uses::of(&line.instruction);
                let written = uses.written.map_or(0, bit);
                let read =
                    uses.values.iter().flatten().chain(&uses.address).fold(0, |all, &each| all | bit(each));
                let mut now = (after & !written) | read;
                if self.is_goal(pc) {
                    let expected = self.question.expected.iter().map(|each| each.register);
                    now = expected.fold(bit(Register::SP), |all, each| all | bit(each));
                }
                if self.marks().tell.contains(&pc) {
                    now |= 1 << 10;
                }
                changed |= live.insert(pc, now) != Some(now);
            }
            if !changed {
                return live;
            }
        }
    }

    /// The `lr` of every loop that tries a store-conditional again and is no constrained LR/SC loop.
    pub(super) fn retries(&self) -> Vec<u64> {
        let line = |&pc: &u64| match self.at(pc) {
            Fetched::Code(line) => Some((pc, line)),
            _ => None,
        };
        super::retries::unconstrained(&self.live.keys().filter_map(line).collect::<Vec<_>>())
    }

    fn is_goal(&self, pc: u64) -> bool {
        self.marks().arrived.contains(&pc) || self.marks().all_arrived.contains(&pc)
    }
}

/// The lowest bytes of the numbers that instructions of an image hold.
fn named(question: &BootQuestion<'_>) -> BTreeSet<u8> {
    let segments = question.image.segments.iter().filter(|segment| segment.executable);
    let places = segments
        .flat_map(|segment| (0..segment.bytes.len() as u64).step_by(2).map(|at| segment.address + at));
    let numbers = places.filter_map(|pc| match question.image.fetch(pc).ok()?.instruction {
        Instruction::Immediate { value, .. } => Some(value as u8),
        _ => None,
    });
    order::set(numbers)
}

/// Where the jumps through registers of an image lead, as far as the code shows it: calls whose address the
/// instruction before makes, and returns to behind calls.
fn calls(question: &BootQuestion<'_>) -> BTreeMap<u64, BTreeSet<u64>> {
    let none = Learned::default();
    let mut known = Learned::default();
    loop {
        let firmware = ImageProgram::new(question, &none);
        let (mut seen, mut open) = (BTreeSet::new(), vec![(question.image.entry, None)]);
        let (mut returns, mut sites) = (BTreeSet::new(), BTreeSet::new());
        let mut targets: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
        while let Some((pc, before)) = open.pop() {
            if !seen.insert(pc) {
                continue;
            }
            let Fetched::Code(line) = firmware.at(pc) else { continue };
            let next = pc.wrapping_add(line.length);
            match line.instruction {
                Instruction::Jal { rd, offset } => {
                    sites.extend(Some(next).filter(|_| !rd.is_zero()));
                    open.push((pc.wrapping_add_signed(offset), None));
                }
                Instruction::Jalr { rd, base, offset } => {
                    sites.extend(Some(next).filter(|_| !rd.is_zero()));
                    if let Some((from, Instruction::Auipc { rd, value })) = before
                        && rd == base
                    {
                        let to = u64::wrapping_add_signed(u64::wrapping_add_signed(from, value), offset) & !1;
                        targets.entry(pc).or_default().insert(to);
                        open.push((to, None));
                    } else if rd.is_zero() {
                        returns.insert(pc);
                    }
                    open.extend(known.jumps.get(&pc).into_iter().flatten().map(|&to| (to, None)));
                }
                instruction => {
                    let successors = firmware.successors(pc, &line).unwrap_or_default().into_iter();
                    open.extend(successors.map(|to| (to, Some((pc, instruction)))));
                }
            }
        }
        targets.extend(returns.into_iter().map(|pc| (pc, sites.clone())));
        if targets == known.jumps {
            return targets;
        }
        known.jumps = targets;
    }
}

impl Program for ImageProgram<'_> {
    fn model(&self) -> Model {
        self.question.memory
    }

    fn window(&self) -> u32 {
        self.question.window
    }

    fn start(&self, hart: u8) -> (u64, [u64; 32]) {
        let mut registers = [UNSET; 32];
        registers[0] = 0;
        registers[10] = u64::from(hart);
        (self.question.image.entry, registers)
    }

    fn at(&self, pc: u64) -> Fetched {
        *self.code.borrow_mut().entry(pc).or_insert_with(|| self.fetch(pc))
    }

    fn constant(&self, address: u64, width: Width) -> Option<u64> {
        let image = self.question.image;
        if image.segment(address)?.writable {
            return None;
        }
        (0..width.bytes()).try_fold(0, |value, byte| {
            Some(value | u64::from(image.byte(address.checked_add(byte)?)?) << (8 * byte))
        })
    }

    fn region(&self, address: u64) -> Region {
        let image = self.question.image;
        let interrupts = interrupt_of(0)..interrupt_of(self.question.harts as usize);
        if interrupts.contains(&address) {
            return Region::SoftwareInterrupt;
        }
        let mut word = Word { value: 0, known: 0 };
        let mut writable = false;
        for byte in 0..8 {
            let at = address.wrapping_add(byte);
            writable |= image.segment(at).is_some_and(|segment| segment.writable);
            if let Some(value) = image.byte(at) {
                word.value |= u64::from(value) << (8 * byte);
                word.known |= 0xff << (8 * byte);
            }
        }
        if writable { Region::Memory(word) } else { Region::Nowhere }
    }

    fn live(&self, pc: u64) -> u32 {
        self.live.get(&pc).copied().unwrap_or(u32::MAX)
    }

    fn landmarks(&self, pc: u64) -> program::LandmarksAt {
        let marks = self.marks();
        let all = marks.tell_all.contains(&pc).then_some(Tells::All);
        let tells = all.or(marks.tell.contains(&pc).then_some(Tells::One));
        program::LandmarksAt {
            arrived: marks.arrived.contains(&pc),
            all_arrived: marks.all_arrived.contains(&pc),
            primary: marks.primary == Some(pc),
            started: marks.started == Some(pc),
            cleared: marks.cleared == Some(pc),
            tells,
        }
    }

    fn is_as_expected(&self, hart: u8, registers: &[u64; 32]) -> bool {
        self.question.expected.iter().all(|each| registers[each.register.index()] == each.of(hart.into()))
    }

    fn is_to_clear(&self, address: u64) -> bool {
        self.marks().to_clear.is_some_and(|(from, to)| (from..to).contains(&address))
    }

    fn stack(&self, registers: &[u64; 32]) -> u64 {
        let held = registers[2];
        let mut stacks =
            self.question.expected.iter().filter(|each| each.register == Register::SP).peekable();
        // What is nobody's stack is wrong already: it need not be told from other wrong ones.
        let is_known = stacks.peek().is_some();
        let is_stack = stacks.any(|each| (0..self.question.harts).any(|hart| each.of(hart.into()) == held));
        if is_known && !is_stack { UNSET } else { held }
    }

    fn is_own(&self, address: u64) -> bool {
        !self.known.shared.contains(&address)
    }

    fn accesses(&self, hart: u8, address: u64, whole: bool) {
        let word = address & !7;
        *self.visitors.borrow_mut().entry(word).or_default() |= 1 << hart;
        if self.known.shared.contains(&word) {
            return;
        }
        let owner = *self.owners.borrow_mut().entry(word).or_insert(hart);
        if (owner != hart || !whole) && self.learned.borrow_mut().shared.insert(word) {
            self.is_new.set(true);
        }
    }

    fn mixes(&self, address: u64, shared: bool) {
        if !self.in_a_run.get() {
            return;
        }
        if shared {
            self.mixed.borrow_mut().insert(address);
        } else if self.reserved.get().is_none() {
            self.reserved.set(Some(address));
        }
    }

    fn follows(&self, a_run: bool) {
        self.in_a_run.set(a_run);
    }

    fn computes(&self, from: u64, result: u64, inverse: Option<Inverse>) {
        if !self.in_a_run.get() {
            return;
        }
        self.depends(from);
        if from == UNSET || self.garbage.computes(from, result, inverse) {
            self.partly.set(true);
        }
    }

    fn relates(&self, left: u64, right: u64) {
        if self.in_a_run.get() && self.garbage.are_related(left, right) {
            self.partly.set(true);
        }
    }

    fn writes(&self, address: u64, width: Width) {
        if !self.in_a_run.get() {
            return;
        }
        let code = self.code.borrow();
        let end = address + width.bytes();
        let length = |pc: u64| match code.get(&pc) {
            Some(Fetched::Code(line)) => line.length,
            _ => 0,
        };
        if (address.saturating_sub(3)..end).any(|pc| pc + length(pc) > address && length(pc) > 0) {
            self.overwritten.set(Some(address));
        }
    }

    fn looks(&self, address: u64, width: Width) {
        let (word, look) = (address & !7, (address & 7, width));
        let is_noted = |looks: &Looks| looks.get(&word).is_some_and(|looks| looks.contains(&look));
        if !is_noted(&self.known.looks)
            && !is_noted(&self.learned.borrow().looks)
            && garbage::note(&mut self.learned.borrow_mut().looks, word, look)
        {
            self.is_new.set(true);
        }
    }

    fn sees(&self, address: u64, width: Width, held: Word) {
        if self.in_a_run.get() {
            self.garbage.sees(address & !7, (address & 7, width), held);
        }
    }

    fn garbage(&self, address: u64, width: Width, held: Word) -> Vec<u64> {
        let none = BTreeSet::new();
        let word = address & !7;
        let looks = self.known.looks.get(&word).unwrap_or(&none);
        self.garbage.values(word, looks, (address & 7, width), held)
    }

    fn control(&self, csr: u16) -> Option<u64> {
        self.question.controls.get(&csr).copied()
    }

    fn reads_unset(&self, pc: u64, csr: u16) {
        self.unset_reads.borrow_mut().entry(csr).or_insert(pc);
    }

    /// Nothing that is performed early behind a jump before it is known where that leads is seen by others:
    /// it is loads alone. So where it leads in any run, it also leads in one where nothing was, and is
    /// learned there.
    fn targets(&self, pc: u64) -> Vec<u64> {
        let is_first = self.guessed.borrow_mut().insert(pc);
        let known = self.known.targets.get(&pc);
        if is_first && self.learned.borrow().targets.get(&pc) != known {
            self.is_new.set(true);
        }
        let is_code = |&to: &u64| matches!(self.at(to), Fetched::Code(_));
        known.into_iter().flatten().copied().filter(is_code).collect()
    }

    fn jumps(&self, from: u64, to: u64) {
        if self.in_a_run.get()
            && self.learned.borrow_mut().targets.entry(from).or_default().insert(to)
            && self.guessed.borrow().contains(&from)
        {
            self.is_new.set(true);
        }
        if !self.known.jumps.get(&from).is_some_and(|known| known.contains(&to))
            && self.learned.borrow_mut().jumps.entry(from).or_default().insert(to)
        {
            self.is_new.set(true);
        }
    }

    fn compares(&self, left: u64, right: u64) {
        if !self.in_a_run.get() {
            return;
        }
        for (garbage, other) in [(left, right), (right, left)] {
            match self.garbage.compares(garbage, other) {
                Compared::Known => {}
                Compared::Garbage => self.partly.set(true),
                Compared::New(number, _) if number == UNSET || unset_control(number).is_some() => {}
                Compared::New(number, is_open) => {
                    let mut learned = self.learned.borrow_mut();
                    if learned.compared.len() >= MOST_COMPARED {
                        self.partly.set(true);
                    } else if learned.compared.insert(number) {
                        if is_open {
                            learned.open.insert(number);
                        }
                        self.is_new.set(true);
                    }
                }
            }
        }
    }

    fn orders(&self, left: u64, right: u64) {
        if !self.in_a_run.get() {
            return;
        }
        [left, right].into_iter().for_each(|value| self.depends(value));
        // Where the order counts, the neighbours of a number may go another way.
        for (left, right) in [
            (left, right),
            (left, right.wrapping_add(1)),
            (left, right.wrapping_sub(1)),
            (left.wrapping_add(1), right),
            (left.wrapping_sub(1), right),
        ] {
            self.compares(left, right);
        }
        // What a small bound lets through may index a table. What a large one lets through is too much to
        // try.
        for (garbage, bound) in [(left, right), (right, left)] {
            if bound < SMALL_BOUND {
                (0..bound).for_each(|small| self.compares(garbage, small));
            } else if self.garbage.is_telling(garbage) || self.garbage.is_result(garbage) {
                self.partly.set(true);
            }
        }
    }

    fn decides(&self, pc: u64, left: u64, right: u64) {
        if self.in_a_run.get() {
            [left, right].into_iter().for_each(|value| self.depends(value));
        }
        if self.in_a_run.get() && (left == UNSET) != (right == UNSET) && self.unset.get().is_none() {
            self.unset.set(Some(pc));
        }
    }

    fn knows_who_boots(&self) -> bool {
        self.marks().primary.is_some()
    }
}
