//! Compressed instructions of RV64IC: each stands for one long instruction.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, "C Extension for Compressed Instructions", whose
//! tables of the three quadrants are the order here.

use super::{Arithmetic, Condition, Instruction, Register, Width};

/// What bits are that are not decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// All zeros or all ones, which are illegal for ever: what runs into cleared memory meets this.
    Illegal,
    /// Reserved, or of an extension that is not known here.
    Unknown,
    /// Floating point: F, D, or their compressed loads and stores.
    FloatingPoint,
    /// Vectors: V.
    Vector,
    /// An opcode that the manual leaves to makers.
    Custom,
    /// An instruction of supervisor or hypervisor mode, or of the debugger.
    Privileged,
    /// Longer than four bytes.
    Long,
}

/// The low `width` bits of `value`, their sign extended.
pub(super) const fn signed(value: u32, width: u32) -> i64 {
    (((value as u64) << (64 - width)) as i64) >> (64 - width)
}

/// The long form of the 16 bits of `half`.
pub(super) fn expand(half: u32) -> Result<Instruction, Kind> {
    let half = Half(half);
    match half.bits(0, 2) {
        0 => half.quadrant_0(),
        1 => half.quadrant_1(),
        _ => half.quadrant_2(),
    }
}

struct Half(u32);

impl Half {
    const fn bits(&self, low: u32, width: u32) -> u32 {
        (self.0 >> low) & ((1 << width) - 1)
    }

    /// Bits from several places, each with how many they are and where they come to stand.
    fn gathered(&self, parts: &[(u32, u32, u32)]) -> u32 {
        parts.iter().fold(0, |bits, &(low, width, place)| bits | self.bits(low, width) << place)
    }

    const fn funct3(&self) -> u32 {
        self.bits(13, 3)
    }

    /// rd and rs1, the same five bits.
    const fn rd(&self) -> Register {
        Register::of_bits(self.bits(7, 5))
    }

    const fn rs2(&self) -> Register {
        Register::of_bits(self.bits(2, 5))
    }

    /// The register that three bits name, x8 to x15.
    const fn short(&self, low: u32) -> Register {
        Register::of_bits(8 + self.bits(low, 3))
    }

    /// Six bits, the highest apart: the immediate of most instructions.
    fn immediate(&self) -> u32 {
        self.gathered(&[(12, 1, 5), (2, 5, 0)])
    }

    /// The distance of `c.lw` and `c.sw`.
    fn word_offset(&self) -> i64 {
        self.gathered(&[(5, 1, 6), (10, 3, 3), (6, 1, 2)]).into()
    }

    /// The distance of `c.ld` and `c.sd`.
    fn double_offset(&self) -> i64 {
        self.gathered(&[(5, 2, 6), (10, 3, 3)]).into()
    }

    fn quadrant_0(&self) -> Result<Instruction, Kind> {
        let (low, high) = (self.short(2), self.short(7));
        let load = |width, offset| Instruction::Load { width, signed: true, rd: low, base: high, offset };
        let store = |width, offset| Instruction::Store { width, source: low, base: high, offset };
        match self.funct3() {
            0 => {
                let value = self.gathered(&[(7, 4, 6), (11, 2, 4), (5, 1, 3), (6, 1, 2)]);
                match value {
                    0 if self.0 == 0 => Err(Kind::Illegal),
                    0 => Err(Kind::Unknown),
                    _ => Ok(add(low, Register::SP, i64::from(value))),
                }
            }
            2 => Ok(load(Width::Word, self.word_offset())),
            3 => Ok(load(Width::Double, self.double_offset())),
            6 => Ok(store(Width::Word, self.word_offset())),
            7 => Ok(store(Width::Double, self.double_offset())),
            1 | 5 => Err(Kind::FloatingPoint),
            _ => Err(Kind::Unknown),
        }
    }

    fn quadrant_1(&self) -> Result<Instruction, Kind> {
        let rd = self.rd();
        let value = signed(self.immediate(), 6);
        match self.funct3() {
            0 => Ok(add(rd, rd, value)),
            1 if !rd.is_zero() => {
                Ok(Instruction::Immediate { op: Arithmetic::Add, word: true, rd, left: rd, value })
            }
            2 => Ok(add(rd, Register::ZERO, value)),
            3 if value == 0 => Err(Kind::Unknown),
            3 if rd == Register::SP => {
                let bits = self.gathered(&[(12, 1, 9), (3, 2, 7), (5, 1, 6), (2, 1, 5), (6, 1, 4)]);
                Ok(add(rd, rd, signed(bits, 10)))
            }
            3 => Ok(Instruction::Lui { rd, value: value << 12 }),
            4 => self.arithmetic(),
            5 => {
                let bits = self.gathered(&[
                    (12, 1, 11),
                    (8, 1, 10),
                    (9, 2, 8),
                    (6, 1, 7),
                    (7, 1, 6),
                    (2, 1, 5),
                    (11, 1, 4),
                    (3, 3, 1),
                ]);
                Ok(Instruction::Jal { rd: Register::ZERO, offset: signed(bits, 12) })
            }
            6 => Ok(self.branch(Condition::Equal)),
            7 => Ok(self.branch(Condition::NotEqual)),
            _ => Err(Kind::Unknown),
        }
    }

    fn arithmetic(&self) -> Result<Instruction, Kind> {
        let rd = self.short(7);
        let shift = i64::from(self.immediate());
        let immediate = |op, value| Instruction::Immediate { op, word: false, rd, left: rd, value };
        let (op, word) = match (self.bits(10, 2), self.bits(12, 1), self.bits(5, 2)) {
            (0, _, _) => return Ok(immediate(Arithmetic::ShiftRight, shift)),
            (1, _, _) => return Ok(immediate(Arithmetic::ShiftRightArithmetic, shift)),
            (2, _, _) => return Ok(immediate(Arithmetic::And, signed(self.immediate(), 6))),
            (_, 0, 0) => (Arithmetic::Subtract, false),
            (_, 0, 1) => (Arithmetic::Xor, false),
            (_, 0, 2) => (Arithmetic::Or, false),
            (_, 0, _) => (Arithmetic::And, false),
            (_, _, 0) => (Arithmetic::Subtract, true),
            (_, _, 1) => (Arithmetic::Add, true),
            _ => return Err(Kind::Unknown),
        };
        Ok(Instruction::Registers { op, word, rd, left: rd, right: self.short(2) })
    }

    fn branch(&self, when: Condition) -> Instruction {
        let bits = self.gathered(&[(12, 1, 8), (5, 2, 6), (2, 1, 5), (10, 2, 3), (3, 2, 1)]);
        Instruction::Branch { when, left: self.short(7), right: Register::ZERO, offset: signed(bits, 9) }
    }

    fn quadrant_2(&self) -> Result<Instruction, Kind> {
        let (rd, rs2, base) = (self.rd(), self.rs2(), Register::SP);
        let load = |width, offset: u32| {
            Ok(Instruction::Load { width, signed: true, rd, base, offset: offset.into() })
        };
        let store =
            |width, offset: u32| Ok(Instruction::Store { width, source: rs2, base, offset: offset.into() });
        match self.funct3() {
            0 => {
                let (op, value) = (Arithmetic::ShiftLeft, i64::from(self.immediate()));
                Ok(Instruction::Immediate { op, word: false, rd, left: rd, value })
            }
            2 if !rd.is_zero() => load(Width::Word, self.gathered(&[(2, 2, 6), (12, 1, 5), (4, 3, 2)])),
            3 if !rd.is_zero() => load(Width::Double, self.gathered(&[(2, 3, 6), (12, 1, 5), (5, 2, 3)])),
            4 => {
                let linked = self.bits(12, 1) == 1;
                match (linked, rd.is_zero(), rs2.is_zero()) {
                    (false, true, true) => Err(Kind::Unknown),
                    (true, true, true) => Ok(Instruction::Ebreak),
                    (_, false, true) => {
                        let link = if linked { Register::RA } else { Register::ZERO };
                        Ok(Instruction::Jalr { rd: link, base: rd, offset: 0 })
                    }
                    (_, _, false) => {
                        let (op, left) = (Arithmetic::Add, if linked { rd } else { Register::ZERO });
                        Ok(Instruction::Registers { op, word: false, rd, left, right: rs2 })
                    }
                }
            }
            6 => store(Width::Word, self.gathered(&[(7, 2, 6), (9, 4, 2)])),
            7 => store(Width::Double, self.gathered(&[(7, 3, 6), (10, 3, 3)])),
            1 | 5 => Err(Kind::FloatingPoint),
            _ => Err(Kind::Unknown),
        }
    }
}

fn add(rd: Register, left: Register, value: i64) -> Instruction {
    Instruction::Immediate { op: Arithmetic::Add, word: false, rd, left, value }
}
