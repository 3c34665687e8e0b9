//! A machine of a few instructions, all of four bytes, that does what a debugger asks at once.

use std::array;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::debugger::{Harts, PC, Trouble};
use crate::replay::code::{Code, CodeKind};

/// More than any hart needs to arrive.
const FAR: u32 = 1000;

/// Where the program counter is among the registers.
const PLACE: usize = PC as usize;

/// An instruction. Registers are numbers, addresses whole.
#[derive(Clone, Copy)]
pub(super) enum Instruction {
    /// A register takes a number.
    Set(u8, u64),
    /// A register takes 8 bytes at the address in another one.
    Load(u8, u8),
    /// 8 bytes at the address in the second take the first.
    Store(u8, u8),
    /// The first takes 8 bytes at the address in the third, which take the second.
    Swap(u8, u8, u8),
    /// 8 bytes at the address in the third take the second, and the first takes 0.
    Conditional(u8, u8, u8),
    /// Goes there if the register is 0.
    IfZero(u8, u64),
    /// Goes there.
    Go(u64),
    /// Sleeps for ever.
    Wait,
}

/// Harts, a program that all have in common, and memory where words were put.
#[derive(Clone, Default)]
pub(super) struct Toy {
    pub(super) program: BTreeMap<u64, Instruction>,
    pub(super) registers: Vec<[u64; 33]>,
    pub(super) words: BTreeMap<u64, u64>,
    breakpoints: BTreeSet<u64>,
    /// How many more times harts are told to run and get no turn.
    pub(super) busy: u32,
    /// Whether every third step that is asked for is not taken.
    pub(super) lazy: bool,
    asked: u32,
    /// Where a hart goes that loads what is not there. None: it loads 0.
    pub(super) trap: Option<u64>,
}

impl Toy {
    /// A machine whose harts begin at these addresses.
    pub(super) fn new(program: &[(u64, &[Instruction])], starts: &[u64], words: &[(u64, u64)]) -> Self {
        let lines = program.iter().flat_map(|(from, lines)| (*from..).step_by(4).zip(lines.iter().copied()));
        Self {
            program: lines.collect(),
            registers: starts
                .iter()
                .map(|&pc| array::from_fn(|it| if it == PLACE { pc } else { 0 }))
                .collect(),
            words: words.iter().copied().collect(),
            breakpoints: BTreeSet::new(),
            busy: 0,
            lazy: false,
            asked: 0,
            trap: None,
        }
    }

    /// What a follower must know.
    pub(super) fn code(program: &BTreeMap<u64, Instruction>, pc: u64) -> Option<Code> {
        let kind = match *program.get(&pc)? {
            Instruction::Load(target, base) => CodeKind::Load { target, base, offset: 0, signed: true },
            Instruction::Store(source, base) => CodeKind::Store { source, base, offset: 0 },
            Instruction::Swap(target, _, base) => CodeKind::Swap { target, base },
            Instruction::Conditional(target, source, base) => CodeKind::Conditional { target, source, base },
            Instruction::Wait => CodeKind::Wait,
            Instruction::Set(..) | Instruction::IfZero(..) | Instruction::Go(_) => CodeKind::Plain,
        };
        Some(Code { length: 4, kind })
    }

    fn sleeps(&self, hart: usize) -> bool {
        matches!(self.program.get(&self.registers[hart][PLACE].wrapping_sub(4)), Some(Instruction::Wait))
    }
}

impl Harts for Toy {
    fn step(&mut self, hart: u32) -> Result<(), Trouble> {
        self.asked += 1;
        if self.lazy && self.asked.is_multiple_of(3) {
            return Ok(());
        }
        let hart = hart as usize;
        let pc = self.registers[hart][PLACE];
        let line = self.program.get(&pc).copied().ok_or(Trouble::Gone)?;
        let held = |register: u8| self.registers[hart][usize::from(register)];
        let word = |address| self.words.get(&address).copied().unwrap_or(0);
        if let (Instruction::Load(_, base), Some(trap)) = (line, self.trap)
            && !self.words.contains_key(&held(base))
        {
            self.registers[hart][PLACE] = trap;
            return Ok(());
        }
        let (mut takes, mut store, mut next) = (None, None, pc + 4);
        match line {
            Instruction::Set(register, number) => takes = Some((register, number)),
            Instruction::Load(register, base) => takes = Some((register, word(held(base)))),
            Instruction::Store(source, base) => store = Some((held(base), held(source))),
            Instruction::Swap(register, source, base) => {
                takes = Some((register, word(held(base))));
                store = Some((held(base), held(source)));
            }
            Instruction::Conditional(register, source, base) => {
                takes = Some((register, 0));
                store = Some((held(base), held(source)));
            }
            Instruction::IfZero(register, to) if held(register) == 0 => next = to,
            Instruction::Go(to) => next = to,
            Instruction::IfZero(..) | Instruction::Wait => {}
        }
        if let Some((register, number)) = takes {
            self.registers[hart][usize::from(register)] = number;
        }
        self.words.extend(store);
        self.registers[hart][PLACE] = next;
        Ok(())
    }

    /// In turns. Its time is counted in instructions, and is over for all at once.
    fn run(&mut self, harts: &[u32], _: Duration) -> Result<Option<u32>, Trouble> {
        if self.busy > 0 {
            self.busy -= 1;
            return Ok(None);
        }
        for _ in 0..FAR {
            for &hart in harts {
                if !self.sleeps(hart as usize) {
                    self.step(hart)?;
                }
                if self.breakpoints.contains(&self.registers[hart as usize][PLACE]) {
                    return Ok(Some(hart));
                }
            }
        }
        Ok(None)
    }

    fn register(&mut self, hart: u32, number: u8) -> Result<u64, Trouble> {
        Ok(self.registers[hart as usize][usize::from(number)])
    }

    fn set_register(&mut self, hart: u32, number: u8, value: u64) -> Result<(), Trouble> {
        self.registers[hart as usize][usize::from(number)] = value;
        Ok(())
    }

    fn memory(&mut self, address: u64, _: u32) -> Result<Option<u64>, Trouble> {
        Ok(self.words.get(&address).copied())
    }

    fn set_memory(&mut self, address: u64, _: u32, value: u64) -> Result<bool, Trouble> {
        Ok(self.words.get_mut(&address).map(|word| *word = value).is_some())
    }

    fn set_breakpoint(&mut self, address: u64) -> Result<(), Trouble> {
        self.breakpoints.insert(address);
        Ok(())
    }

    fn clear_breakpoint(&mut self, address: u64) -> Result<(), Trouble> {
        self.breakpoints.remove(&address);
        Ok(())
    }
}
