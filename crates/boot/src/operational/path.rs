//! The instructions of one hart that are begun: what follows from a [`Local`] and the program, up to where it
//! cannot be known.

use std::collections::BTreeMap;

use super::control;
use super::local::{Early, LEFT, Left, Local, Notice, Sides};
use super::observe::observe;
use super::own::own;
use super::program::{AnnotatedInstruction, Fetched, Program, Region, Word};
use crate::isa::execute::{Action, Uses, execute};
use crate::isa::{Atomic, CsrChange, CsrOperand, Decoded, Instruction, Register, Width};

/// One begun instruction that matters to memory.
#[derive(Debug, Clone)]
pub(super) struct Item {
    pub(super) pc: u64,
    /// In instructions from the oldest one; of a store that was left behind, its place there and [`LEFT`].
    pub(super) distance: u16,
    pub(super) kind: ItemKind,
}

#[derive(Debug, Clone)]
pub(super) enum ItemKind {
    Access(BegunAccess),
    /// What it orders: earlier reads, writes, then later ones; of `fence.tso`, `tso`.
    Fence(Sides),
    /// A branch or a jump through a register of which it is not known where it goes.
    Branch,
    /// An access to a control and status register that waits: what a fence takes it for, as `iorw` bits.
    Control(u8),
    Sleep,
}

#[derive(Debug, Clone)]
pub(super) struct BegunAccess {
    pub(super) what: What,
    pub(super) width: Width,
    pub(super) acquire: bool,
    pub(super) release: bool,
    /// If what it depends on is known.
    pub(super) address: Option<u64>,
    /// What it stores, or the operand of an atomic operation.
    pub(super) data: Option<u64>,
    pub(super) done: Option<Early>,
    pub(super) tells: Option<Notice>,
    pub(super) device: bool,
    /// Whether it goes to a word that is the hart's own.
    pub(super) own: bool,
    /// Of a store-conditional: what is reserved.
    pub(super) reserved: Reserved,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Load,
    Store,
    LoadReserved,
    StoreConditional,
    Amo(Atomic),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reserved {
    Nothing,
    Held(u64, Width),
    /// By the `lr` that is this item.
    By(usize),
}

impl BegunAccess {
    pub(super) fn reads(&self) -> bool {
        !matches!(self.what, What::Store | What::StoreConditional)
    }

    pub(super) fn writes(&self) -> bool {
        !matches!(self.what, What::Load | What::LoadReserved) && self.done != Some(Early::Failed)
    }

    pub(super) fn is_consistent(&self) -> bool {
        !matches!(self.what, What::Load | What::Store) && (self.acquire || self.release)
    }

    pub(super) fn class(&self) -> u8 {
        let class = u8::from(self.reads()) << 1 | u8::from(self.writes());
        if self.device { class << 2 } else { class }
    }

    /// What a fence takes it for: where the address is not known yet, it may be a device's.
    pub(super) fn seen(&self) -> u8 {
        if self.address.is_some() { self.class() } else { self.class() * 5 }
    }

    /// Whether it touches bytes that `other` does; `None` if that is not known.
    pub(super) fn overlaps(&self, other: &Self) -> Option<bool> {
        Some(overlap((self.address?, self.width), (other.address?, other.width)))
    }
}

pub(super) fn overlap(one: (u64, Width), other: (u64, Width)) -> bool {
    one.0 < other.0.wrapping_add(other.1.bytes()) && other.0 < one.0.wrapping_add(one.1.bytes())
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Op {
    pub(crate) pc: u64,
    /// In instructions from the oldest one that is not performed; of a store that was left behind, its place
    /// there and [`LEFT`].
    pub(crate) distance: u16,
    pub(crate) oldest: bool,
    pub(crate) overtakes: u32,
    pub(crate) task: Task,
    /// Where the branches go that it lies behind and whose conditions are not known.
    pub(super) choices: Vec<(u16, u64)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Task {
    Read { address: u64, width: Width },
    // Takes the value of an older store of its own, at this distance.
    Forward { address: u64, width: Width, value: u64, from: u16 },
    Write { address: u64, width: Width, value: u64, tells: Option<Notice> },
    Swap { address: u64, width: Width, op: Atomic, operand: u64, tells: Option<Notice> },
    Succeed { address: u64, width: Width, value: u64, tells: Option<Notice> },
    // A store-conditional does not. `forced` if it cannot succeed.
    Fail { forced: bool },
    Wake,
}

impl Task {
    /// Where it looks at memory, and whether that is a load or store of 8 bytes that tells nobody anything.
    pub(super) fn accesses(&self) -> Option<(u64, bool)> {
        match *self {
            Self::Read { address, width } => Some((address, width == Width::Double)),
            Self::Write { address, width, tells, .. } => {
                Some((address, width == Width::Double && tells.is_none()))
            }
            Self::Swap { address, .. } | Self::Succeed { address, .. } => Some((address, false)),
            Self::Forward { .. } | Self::Fail { .. } | Self::Wake => None,
        }
    }

    /// Who is told by what it stores.
    pub(crate) fn tells(&self) -> Option<Notice> {
        match *self {
            Self::Write { tells, .. } | Self::Succeed { tells, .. } | Self::Swap { tells, .. } => tells,
            _ => None,
        }
    }
}

/// Why a path goes no further.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Went {
    On,
    Forks(Vec<u64>),
    End,
    Full,
    /// What is younger than this instruction is not begun, though it could be.
    Held(u64),
    /// What was assumed is not so: there is no such run.
    Contradiction,
}

/// A hart's begun instructions, followed so far.
#[derive(Clone)]
pub(super) struct Path<'a> {
    pub(super) program: &'a dyn Program,
    pub(super) local: &'a Local,
    pub(super) pc: u64,
    pub(super) distance: u16,
    registers: [Option<u64>; 32],
    pub(super) items: Vec<Item>,
    unfinished: u32,
    reservation: Reserved,
    telling: Option<Notice>,
    /// What begun stores put into the hart's own words; `None` where that is not known yet.
    own: BTreeMap<u64, Option<u64>>,
    /// What control and status registers hold by now; `None` where that is not known yet.
    csrs: BTreeMap<u16, Option<Word>>,
    pub(super) choices: Vec<(u16, u64)>,
    /// Assumed branches whose conditions are known now.
    pub(super) resolved: Vec<u16>,
    /// Whether nothing younger can be performed before what is left behind.
    closed: bool,
    /// Where backward jumps went, and with what.
    visits: Vec<(u64, [Option<u64>; 32])>,
}

/// Instructions that a path may have: what a window of eight holds is far less, except in loops that never
/// touch memory.
const LONGEST: u16 = 1000;

impl<'a> Path<'a> {
    pub(super) fn new(program: &'a dyn Program, local: &'a Local) -> Self {
        let mut path = Self {
            program,
            local,
            pc: local.at.pc(),
            distance: 0,
            registers: local.registers.map(Some),
            items: Vec::new(),
            unfinished: 0,
            reservation: local.reservation.map_or(Reserved::Nothing, |(at, width)| Reserved::Held(at, width)),
            telling: local.telling,
            own: BTreeMap::new(),
            csrs: BTreeMap::new(),
            choices: Vec::new(),
            resolved: Vec::new(),
            closed: false,
            visits: Vec::new(),
        };
        for (place, left) in local.left.iter().enumerate() {
            let distance = LEFT + place as u16;
            let (pc, kind) = match *left {
                Left::Store { pc, address, width, value, acquire, release, tells } => {
                    path.unfinished += 1;
                    let device = program.region(address & !7) == Region::SoftwareInterrupt;
                    let kind = ItemKind::Access(BegunAccess {
                        what: What::Store,
                        width,
                        acquire,
                        release,
                        address: Some(address),
                        data: Some(value),
                        done: None,
                        tells,
                        device,
                        own: false,
                        reserved: Reserved::Nothing,
                    });
                    (pc, kind)
                }
                // What is no store keeps its place, so that places are those of what is left.
                Left::Fence(sides) => (0, ItemKind::Fence(sides)),
                Left::Cleared => (0, ItemKind::Fence(Sides::Sets(0, 0))),
            };
            path.items.push(Item { pc, distance, kind });
            path.closed |= path.is_closed();
        }
        path
    }

    /// What was left behind, up to this place.
    pub(super) fn until(program: &'a dyn Program, local: &'a Local, place: usize) -> Self {
        let mut path = Self::new(program, local);
        path.items.truncate(place + 1);
        path
    }

    /// The begun instructions up to the last one that was performed early; `None` if what was assumed of them
    /// is not so.
    pub(super) fn committed(program: &'a dyn Program, local: &'a Local) -> Option<Self> {
        let mut path = Self::new(program, local);
        let last = local.ahead.last().map(|&(distance, _)| distance);
        while Some(path.distance) <= last && last.is_some() {
            match path.step() {
                Went::On => {}
                Went::Contradiction => return None,
                Went::Forks(_) | Went::End | Went::Full | Went::Held(_) => break,
            }
        }
        Some(path)
    }

    fn get(&self, register: Register) -> Option<u64> {
        if register.is_zero() { Some(0) } else { self.registers[register.index()] }
    }

    fn set(&mut self, register: Register, value: Option<u64>) {
        if !register.is_zero() {
            self.registers[register.index()] = value;
        }
    }

    /// Whether a loop was gone round twice, and all is as it was.
    pub(super) fn goes_round(&self) -> bool {
        let Some((last, before)) = self.visits.split_last() else { return false };
        before.iter().filter(|&each| each == last).count() >= 2
    }

    fn jump(&mut self, to: u64) {
        if to <= self.pc {
            self.visits.push((to, self.registers));
        }
        self.pc = to;
        self.distance += 1;
    }

    /// One more instruction that is begun and not done. Whether the window has room for it.
    fn begin(&mut self) -> bool {
        self.unfinished += 1;
        self.unfinished <= self.program.window()
    }

    /// It could go on, and is not followed: as if the window ended here, unless all so far is done.
    fn too_far(&self) -> Went {
        if self.unfinished > 0 { Went::Held(self.pc) } else { Went::End }
    }

    pub(super) fn step(&mut self) -> Went {
        if self.closed || self.is_closed() {
            return Went::End;
        }
        if self.distance >= LONGEST {
            return self.too_far();
        }
        let Fetched::Code(line) = self.program.at(self.pc) else { return Went::End };
        let landmarks = self.program.landmarks(self.pc);
        if landmarks.arrived || landmarks.all_arrived {
            return Went::End;
        }
        if let Some(tells) = landmarks.tells {
            let Some(a0) = self.registers[10] else { return self.too_far() };
            self.telling = Some(Notice::new(tells, a0));
        }
        let early = self.local.early(self.distance);
        let next = self.pc.wrapping_add(line.length);
        match line.instruction {
            Instruction::Load { .. }
            | Instruction::Store { .. }
            | Instruction::LoadReserved { .. }
            | Instruction::StoreConditional { .. }
            | Instruction::Amo { .. } => return self.access(&line, early),
            Instruction::Fence { before, after } => {
                self.push(ItemKind::Fence(Sides::Sets(before.bits(), after.bits())));
            }
            Instruction::FenceTso => self.push(ItemKind::Fence(Sides::Tso)),
            Instruction::FenceI => {}
            Instruction::Wfi => {
                if early != Some(Early::Woke) {
                    if !self.begin() {
                        return Went::Full;
                    }
                    self.push(ItemKind::Sleep);
                }
            }
            Instruction::Csr { change, rd, csr, operand } => {
                return self.control(change, rd, csr, operand, next);
            }
            Instruction::Ecall | Instruction::Ebreak | Instruction::Mret => return Went::End,
            _ => return self.compute(&line, early),
        }
        self.jump(next);
        Went::On
    }

    fn push(&mut self, kind: ItemKind) {
        self.items.push(Item { pc: self.pc, distance: self.distance, kind });
    }

    fn compute(&mut self, line: &AnnotatedInstruction, early: Option<Early>) -> Went {
        let uses = Uses::of(&line.instruction);
        let known = uses.values.iter().flatten().all(|&register| self.get(register).is_some());
        let decoded = Decoded { instruction: line.instruction, length: line.length };
        let is_jump = matches!(line.instruction, Instruction::Branch { .. } | Instruction::Jalr { .. });
        if known {
            let effect = execute(&decoded, self.pc, |register| self.get(register).unwrap_or(0));
            observe(self.program, &decoded, self.pc, |register| self.get(register).unwrap_or(0));
            if let Some(Early::Went(to)) = early {
                if to != effect.next {
                    return Went::Contradiction;
                }
                self.resolved.push(self.distance);
            }
            if let Action::Write(register, value) = effect.action {
                self.set(register, Some(value));
            }
            if matches!(line.instruction, Instruction::Jalr { .. }) {
                self.program.jumps(self.pc, effect.next);
            }
            self.jump(effect.next);
            return Went::On;
        }
        if !self.begin() {
            return Went::Full;
        }
        let next = self.pc.wrapping_add(line.length);
        if let Some(register) = uses.written {
            self.set(register, is_jump.then_some(next));
        }
        if !is_jump {
            self.jump(next);
            return Went::On;
        }
        self.push(ItemKind::Branch);
        let mut ways = match line.instruction {
            Instruction::Branch { offset, .. } => vec![self.pc.wrapping_add_signed(offset), next],
            _ => self.program.targets(self.pc),
        };
        ways.dedup();
        match (early, line.instruction, ways.as_slice()) {
            (Some(Early::Went(to)), ..) => self.jump(to),
            (_, Instruction::Branch { .. }, &[only]) => self.jump(only),
            // No run goes anywhere from here.
            (.., []) => return Went::End,
            _ => return Went::Forks(ways),
        }
        Went::On
    }

    /// An access to a control and status register. It is the hart's own business and in no order with
    /// accesses to memory, but where a dependency or a fence makes one, to which a read is input and a write
    /// is output (volume I, "CSR Access Ordering").
    fn control(&mut self, change: CsrChange, rd: Register, csr: u16, operand: CsrOperand, next: u64) -> Went {
        let (operand, is_nothing) = match operand {
            CsrOperand::Register(register) => (self.get(register), register.is_zero()),
            CsrOperand::Immediate(value) => (Some(u64::from(value)), value == 0),
        };
        let (reads, writes) =
            (change != CsrChange::Write || !rd.is_zero(), change == CsrChange::Write || !is_nothing);
        let Some(at_first) = control::held(self.program, self.local, csr, rd.is_zero()) else {
            return Went::End;
        };
        let held = self.csrs.get(&csr).copied().unwrap_or(Some(at_first));
        let value = held.zip(operand).map(|(held, operand)| control::changed(csr, change, held, operand));
        if writes && control::changes_accesses(csr, held, value) {
            return self.too_far();
        }
        let class = u8::from(reads) << 3 | u8::from(writes) << 2;
        let is_done = held.is_some() && (!writes || operand.is_some()) && !self.is_fenced(class);
        if !is_done {
            if !self.begin() {
                return Went::Full;
            }
            self.push(ItemKind::Control(class));
        }
        if writes {
            self.csrs.insert(csr, value.filter(|_| is_done));
        }
        self.set(rd, held.filter(|_| is_done).map(|held| control::seen(csr, held)));
        self.jump(next);
        Went::On
    }

    pub(super) fn choose(&mut self, to: u64) {
        self.choices.push((self.distance, to));
        self.jump(to);
    }

    fn access(&mut self, line: &AnnotatedInstruction, early: Option<Early>) -> Went {
        let (what, width, rd, source, base, offset) = match line.instruction {
            Instruction::Load { width, rd, base, offset, .. } => (What::Load, width, rd, None, base, offset),
            Instruction::Store { width, source, base, offset } => {
                (What::Store, width, Register::ZERO, Some(source), base, offset)
            }
            Instruction::LoadReserved { width, rd, address, .. } => {
                (What::LoadReserved, width, rd, None, address, 0)
            }
            Instruction::StoreConditional { width, rd, source, address, .. } => {
                (What::StoreConditional, width, rd, Some(source), address, 0)
            }
            Instruction::Amo { op, width, rd, source, address, .. } => {
                (What::Amo(op), width, rd, Some(source), address, 0)
            }
            _ => return Went::End,
        };
        let signed = !matches!(line.instruction, Instruction::Load { signed: false, .. });
        let address = self.get(base).map(|base| base.wrapping_add_signed(offset));
        let data = source.and_then(|source| self.get(source)).map(|value| width.truncate(value));
        let next = self.pc.wrapping_add(line.length);
        let mut device = false;
        if let Some(address) = address {
            let constant = if what == What::Load { self.program.constant(address, width) } else { None };
            if let Some(value) = constant {
                self.set(rd, Some(width.extend(value, signed)));
                self.jump(next);
                return Went::On;
            }
            match self.program.region(address & !7) {
                _ if !address.is_multiple_of(width.bytes()) => return Went::End,
                Region::Nowhere => return Went::End,
                Region::SoftwareInterrupt => device = true,
                Region::Memory(_) => {}
            }
        }
        let access = BegunAccess {
            what,
            width,
            acquire: line.acquire,
            release: line.release,
            address,
            data,
            done: early,
            tells: None,
            device,
            own: false,
            reserved: self.reservation,
        };
        if let Some(address) = address
            && self.telling.is_none()
            && early.is_none()
        {
            let held = match self.own.get(&address) {
                Some(&held) => Some(held),
                None => own(self.program, self.local, &line.instruction, address, width).map(Some),
            };
            if let Some(held) = held {
                return self.access_own(access, rd, held, next);
            }
        }
        let result = match early {
            Some(Early::Read { value, .. } | Early::Swapped(value)) => Some(width.extend(value, signed)),
            Some(Early::Succeeded) => Some(0),
            Some(Early::Failed) => Some(1),
            _ => None,
        };
        if !self.begin() {
            return Went::Full;
        }
        let writes = !matches!(what, What::Load | What::LoadReserved);
        let tells = if writes && early != Some(Early::Failed) { self.telling.take() } else { None };
        match what {
            What::LoadReserved => self.reservation = Reserved::By(self.items.len()),
            What::StoreConditional => self.reservation = Reserved::Nothing,
            _ => {}
        }
        self.push(ItemKind::Access(BegunAccess { tells, ..access }));
        self.set(rd, result);
        self.jump(next);
        Went::On
    }

    /// An access to a word that is the hart's own. It is performed in the moment in which it may be: nobody
    /// can tell. So that need not be kept.
    fn access_own(&mut self, mut access: BegunAccess, rd: Register, held: Option<u64>, next: u64) -> Went {
        access.own = true;
        // A store whose address is not known yet may go to this word too.
        let is_hidden = |item: &Item| match &item.kind {
            ItemKind::Access(other) => other.what != What::Load && other.address.is_none(),
            _ => false,
        };
        let held = if self.items.iter().any(is_hidden) { None } else { held };
        let value = if access.what == What::Store { access.data } else { held };
        if value.is_some() && self.may_perform(&access, &self.items) {
            access.done = Some(Early::Wrote);
        } else if !self.begin() {
            return Went::Full;
        }
        if let (What::Store, Some(address)) = (access.what, access.address) {
            self.own.insert(address, value);
        }
        let is_done = access.done.is_some();
        self.push(ItemKind::Access(access));
        self.set(rd, if is_done { value } else { None });
        self.jump(next);
        Went::On
    }

    pub(super) fn is_last_done(&self) -> bool {
        match self.items.last() {
            Some(Item { distance: ..LEFT, kind: ItemKind::Access(access), .. }) => access.done.is_some(),
            _ => false,
        }
    }

    /// Whether the store at this distance is performed, or older than all here.
    pub(super) fn is_performed(&self, distance: u16) -> bool {
        let item = self.items.iter().find(|item| item.distance == distance);
        item.is_none_or(|item| matches!(&item.kind, ItemKind::Access(access) if access.done.is_some()))
    }

    pub(super) fn is_reserve(&self, distance: u16) -> bool {
        let item = self.items.iter().find(|item| item.distance == distance);
        item.is_some_and(
            |item| matches!(&item.kind, ItemKind::Access(access) if access.what == What::LoadReserved),
        )
    }
}
