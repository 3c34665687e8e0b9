//! Runs that are made by hand: whoever writes one says which hart goes how far, and which stores are
//! performed late. What instructions do is `tenbin_boot::isa`'s; memory is plain.

use std::collections::BTreeMap;

use tenbin_boot::axiomatic::Model;
use tenbin_boot::image::Image;
use tenbin_boot::isa::execute::{AccessKind, Action, execute};
use tenbin_boot::isa::{Instruction, Register, Width};
use tenbin_boot::{BootAction, BootMachine, BootStep, Counterexample, Fault, HartEnd, Hex, Planted, Writer};

/// More instructions than a hart takes to anywhere here.
const FAR: usize = 10_000;

#[derive(Clone)]
struct Hart {
    pc: u64,
    registers: [u64; 32],
    csrs: BTreeMap<u16, u64>,
    /// Stores whose turn was and that are not performed: instruction, address, width, value.
    late: Vec<(u64, u64, Width, u64)>,
}

/// A machine that writes down what it does.
pub struct Recorder<'a> {
    image: &'a Image,
    harts: Vec<Hart>,
    memory: BTreeMap<u64, u8>,
    set: Vec<Planted>,
    garbage: Vec<Planted>,
    steps: Vec<BootStep>,
}

impl<'a> Recorder<'a> {
    /// A machine with so many harts, of which `boot_hart` boots.
    pub fn new(image: &'a Image, harts: u32, boot_hart: u32) -> Self {
        let hart = |number: u32| {
            let csrs = BTreeMap::from([(0xf14, u64::from(number))]);
            let mut registers = [tenbin_boot::UNSET; 32];
            (registers[0], registers[10]) = (0, number.into());
            Hart { pc: image.entry, registers, csrs, late: Vec::new() }
        };
        let harts = (0..harts).map(hart).collect::<Vec<_>>();
        // A lottery has no word for who boots.
        let words = [("harts", harts.len() as u64), ("boot_hart", boot_hart.into())];
        let words = words.into_iter().filter(|(name, _)| image.symbol(name).is_some());
        let (memory, garbage, steps) = (BTreeMap::new(), Vec::new(), Vec::new());
        let mut new = Self { image, harts, memory, set: Vec::new(), garbage, steps };
        for (name, value) in words {
            let word = new.word(name, value);
            new.set.push(word);
        }
        new
    }

    fn word(&mut self, name: &str, value: u64) -> Planted {
        let address = self.place(name);
        self.write(address, Width::Double, value);
        Planted { address: Hex(address), name: name.into(), bytes: 8, value: Hex(value) }
    }

    /// Puts garbage into a word.
    pub fn garbage(mut self, name: &str, value: u64) -> Self {
        let word = self.word(name, value);
        self.garbage.push(word);
        self
    }

    fn place(&self, name: &str) -> u64 {
        let (name, distance) = name.split_once('+').unwrap_or((name, "0"));
        let symbol = self.image.symbol(name).unwrap_or_else(|| panic!("no {name}"));
        symbol.address + distance.parse::<u64>().unwrap()
    }

    fn read(&self, address: u64, width: Width) -> u64 {
        let byte = |at: u64| self.memory.get(&at).copied().or_else(|| self.image.byte(at)).unwrap_or(0);
        (0..width.bytes()).rev().fold(0, |number, at| number << 8 | u64::from(byte(address + at)))
    }

    fn write(&mut self, address: u64, width: Width, value: u64) {
        for (at, byte) in (address..address + width.bytes()).zip(value.to_le_bytes()) {
            self.memory.insert(at, byte);
        }
    }

    fn name(&self, address: u64) -> String {
        match self.image.name_of(address) {
            Some((symbol, distance)) => format!("{}+{distance}", symbol.name),
            None => format!("{address:#x}"),
        }
    }

    /// One instruction of a hart; its store is performed later if `late`.
    pub fn step(&mut self, number: usize, late: bool) {
        let pc = self.harts[number].pc;
        let decoded = self.image.fetch(pc).unwrap();
        if matches!(decoded.instruction, Instruction::Fence { .. } | Instruction::FenceTso) {
            self.catch_up(number);
        }
        let registers = self.harts[number].registers;
        let effect = execute(&decoded, pc, |register: Register| registers[register.index()]);
        let mut takes = None;
        match effect.action {
            Action::Write(register, value) => takes = Some((register, value)),
            Action::Csr { change, rd, csr, operand, .. } => {
                let held = self.harts[number].csrs.get(&csr).copied().unwrap_or(0);
                if let Some(operand) = operand {
                    self.harts[number].csrs.insert(csr, change.apply(held, operand));
                }
                takes = Some((rd, held));
            }
            Action::Wfi => {
                self.catch_up(number);
                self.record(number, pc, BootAction::Woke { called: false });
            }
            Action::Memory(access) => {
                let (address, width) = (access.address, access.width);
                let bytes = width.bytes() as u32;
                let mut there = self.read(address, width);
                let mut from = Writer::Garbage;
                // The youngest late store of the same bytes is what a load sees.
                let pending =
                    self.harts[number].late.iter().rev().find(|it| it.1 == address && it.2 == width);
                if let Some(&(.., value)) = pending {
                    (there, from) = (width.truncate(value), Writer::Forwarded);
                }
                takes = access.loaded(there);
                let (name, address) = (self.name(address), Hex(address));
                match access.kind {
                    AccessKind::Load { .. } | AccessKind::LoadReserved { .. } => {
                        // What is never written is no step.
                        if !self.is_constant(address.0) {
                            let value = Hex(there);
                            self.record(number, pc, BootAction::Read { address, name, bytes, value, from });
                        }
                    }
                    AccessKind::Store { value } => {
                        let value = width.truncate(value);
                        let again = self.harts[number].late.iter().any(|it| it.1 == address.0);
                        if again {
                            self.catch_up(number);
                        }
                        if late {
                            self.harts[number].late.push((pc, address.0, width, value));
                        } else {
                            let value = Hex(value);
                            self.write(address.0, width, value.0);
                            self.record(number, pc, BootAction::Wrote { address, name, bytes, value });
                        }
                    }
                    AccessKind::Amo { op, operand, .. } => {
                        self.catch_up(number);
                        let there = self.read(address.0, width);
                        takes = access.loaded(there);
                        let value = op.apply(width, there, operand);
                        self.write(address.0, width, value);
                        let (read, value) = (Some(Hex(there)), Hex(value));
                        let from = Writer::Garbage;
                        self.record(
                            number,
                            pc,
                            BootAction::Swapped { address, name, bytes, read, value, from },
                        );
                    }
                    AccessKind::StoreConditional { .. } => panic!("no handshake has one"),
                }
            }
            _ => {}
        }
        let hart = &mut self.harts[number];
        if let Some((register, value)) = takes.filter(|(register, _)| !register.is_zero()) {
            hart.registers[register.index()] = value;
        }
        hart.pc = effect.next;
    }

    fn is_constant(&self, address: u64) -> bool {
        self.image.segment(address).is_some_and(|segment| !segment.writable)
    }

    /// Performs the late stores of a hart, the oldest first.
    pub fn catch_up(&mut self, number: usize) {
        while !self.harts[number].late.is_empty() {
            let (pc, address, width, value) = self.harts[number].late.remove(0);
            self.write(address, width, value);
            let (name, address, value) = (self.name(address), Hex(address), Hex(value));
            let bytes = width.bytes() as u32;
            // The oldest is not performed before anything older.
            self.push(number, pc, BootAction::Wrote { address, name, bytes, value }, 0);
        }
    }

    fn record(&mut self, number: usize, pc: u64, action: BootAction) {
        let overtakes = self.harts[number].late.len() as u32;
        self.push(number, pc, action, overtakes);
    }

    fn push(&mut self, number: usize, pc: u64, action: BootAction, overtakes: u32) {
        self.steps.push(BootStep {
            hart: number as u32,
            pc: Hex(pc),
            place: self.name(pc),
            source: None,
            instruction: self.image.fetch(pc).unwrap().instruction.to_string(),
            action,
            overtakes,
            events: Vec::new(),
        });
    }

    /// Lets a hart go on until it is at a place.
    pub fn until(&mut self, hart: usize, place: &str) {
        let place = self.place(place);
        self.until_at(hart, place);
    }

    /// Lets a hart go on until it is at an address.
    pub fn until_at(&mut self, hart: usize, place: u64) {
        for _ in 0..FAR {
            if self.harts[hart].pc == place {
                return;
            }
            self.step(hart, false);
        }
        panic!("hart {hart} does not come to {place:#x}");
    }

    /// Lets a hart go on until its next instruction reads or writes (`stores`) this word; in an array,
    /// `order+8`.
    pub fn until_access(&mut self, hart: usize, name: &str, stores: bool) {
        let word = self.place(name);
        for _ in 0..FAR {
            let Hart { pc, registers, .. } = &self.harts[hart];
            let decoded = self.image.fetch(*pc).unwrap();
            let effect = execute(&decoded, *pc, |register: Register| registers[register.index()]);
            if let Action::Memory(access) = effect.action
                && access.address == word
                && stores == matches!(access.kind, AccessKind::Store { .. })
            {
                return;
            }
            self.step(hart, false);
        }
        panic!("hart {hart} does not access {name}");
    }

    /// The run, which is said to end in this fault.
    pub fn end(self, fault: Fault) -> Recorded {
        let mut goals = ["arrived", "all_arrived"].map(|name| self.place(name));
        goals.sort_unstable();
        let ends = self.harts.iter().map(|hart| {
            let pc = hart.late.first().map_or(hart.pc, |late| late.0);
            let arrived = goals.contains(&pc);
            HartEnd { pc: Hex(pc), place: self.name(pc), arrived, doing: String::new(), astray: false }
        });
        let ends = ends.collect();
        let reordered = self.steps.iter().any(|step| step.overtakes > 0);
        let machine = BootMachine {
            harts: self.harts.len() as u32,
            boot_hart: self.set.iter().find(|it| it.name == "boot_hart").map(|it| it.value.0 as u32),
            memory: if reordered { Model::Rvwmo } else { Model::Sc },
            window: 8,
            set: self.set,
            controls: vec![],
        };
        let (sentence, repeats_from) = (String::new(), None);
        let (garbage, steps) = (self.garbage, self.steps);
        let run = Counterexample {
            fault,
            sentence,
            garbage,
            steps,
            repeats_from,
            ends,
            reordered,
            values: Vec::new(),
        };
        Recorded { machine, goals: goals.map(Hex).to_vec(), run }
    }
}

/// A run, the machine that it is on, and where its harts arrive.
pub struct Recorded {
    pub machine: BootMachine,
    pub goals: Vec<Hex>,
    pub run: Counterexample,
}
