//! From bits to an [`Instruction`].
//!
//! Hints decode as what they are, instructions that write x0 or order nothing. A `fence` whose mode is
//! reserved is a normal fence, and fields that the manual calls reserved for finer fences are not looked at,
//! as it asks of implementations. What is not supported is named as far as its opcode tells, so that a
//! message can say more than a number.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, chapters "RV32/64G Instruction Set Listings" and
//! "C Extension for Compressed Instructions", and volume II, "Machine-Mode Privileged Instructions".

use std::fmt;

pub use super::compressed::Kind;
use super::compressed::{self, signed};
use super::{
    Accesses, Arithmetic, Atomic, Condition, CsrChange, CsrOperand, Decoded, Instruction, Register, Width,
};

/// Bits that are no instruction of RV64IMAC, Zicsr and Zifencei in machine mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Error {
    /// The bits: 16 of them if `length` is 2, else the first 32.
    pub bits: u32,
    /// Bytes of the encoding: 2 or 4, or 6 for all that are longer.
    pub length: u64,
    /// What they are.
    pub kind: Kind,
}

impl fmt::Display for Error {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = if self.length == 2 { 4 } else { 8 };
        let what = match self.kind {
            Kind::Illegal => "an illegal instruction by definition",
            Kind::Unknown => "not an instruction of RV64IMAC, Zicsr or Zifencei",
            Kind::FloatingPoint => "a floating-point instruction, which is not supported",
            Kind::Vector => "a vector instruction, which is not supported",
            Kind::Custom => "a custom instruction, which is not supported",
            Kind::Privileged => "a privileged instruction other than mret and wfi, which is not supported",
            Kind::Long => "the beginning of an instruction of more than four bytes, which is not supported",
        };
        write!(formatter, "0x{:0digits$x} is {what}", self.bits)
    }
}

impl std::error::Error for Error {}

/// The instruction at the beginning of these 32 bits. Of a compressed one, only the low 16 are looked at.
///
/// # Errors
///
/// What the bits are instead.
pub fn decode(bits: u32) -> Result<Decoded, Error> {
    let (bits, length, instruction) = match bits {
        _ if bits & 3 != 3 => (bits & 0xffff, 2, compressed::expand(bits & 0xffff)),
        u32::MAX => (bits, 4, Err(Kind::Illegal)),
        _ if bits & 0x1f == 0x1f => (bits, 6, Err(Kind::Long)),
        _ => (bits, 4, Long(bits).instruction()),
    };
    match instruction {
        Ok(instruction) => Ok(Decoded { instruction, length }),
        Err(kind) => Err(Error { bits, length, kind }),
    }
}

/// Four bytes of an instruction, with its fields by the names of the manual.
struct Long(u32);

impl Long {
    const fn field(&self, low: u32, width: u32) -> u32 {
        (self.0 >> low) & ((1 << width) - 1)
    }

    const fn rd(&self) -> Register {
        Register::of_bits(self.field(7, 5))
    }

    const fn rs1(&self) -> Register {
        Register::of_bits(self.field(15, 5))
    }

    const fn rs2(&self) -> Register {
        Register::of_bits(self.field(20, 5))
    }

    const fn funct3(&self) -> u32 {
        self.field(12, 3)
    }

    const fn funct7(&self) -> u32 {
        self.field(25, 7)
    }

    const fn i_immediate(&self) -> i64 {
        signed(self.field(20, 12), 12)
    }

    const fn s_immediate(&self) -> i64 {
        signed(self.field(25, 7) << 5 | self.field(7, 5), 12)
    }

    const fn b_immediate(&self) -> i64 {
        let bits =
            self.field(31, 1) << 12 | self.field(7, 1) << 11 | self.field(25, 6) << 5 | self.field(8, 4) << 1;
        signed(bits, 13)
    }

    const fn u_immediate(&self) -> i64 {
        signed(self.0 & 0xffff_f000, 32)
    }

    const fn j_immediate(&self) -> i64 {
        let bits = self.field(31, 1) << 20
            | self.field(12, 8) << 12
            | self.field(20, 1) << 11
            | self.field(21, 10) << 1;
        signed(bits, 21)
    }

    fn instruction(&self) -> Result<Instruction, Kind> {
        let rd = self.rd();
        match self.field(0, 7) {
            0x03 => self.load(),
            0x0f => self.fence(),
            0x13 => self.immediate(),
            0x17 => Ok(Instruction::Auipc { rd, value: self.u_immediate() }),
            0x1b => self.immediate_word(),
            0x23 => self.store(),
            0x2f => self.atomic(),
            0x33 => self.registers(false),
            0x37 => Ok(Instruction::Lui { rd, value: self.u_immediate() }),
            0x3b => self.registers(true),
            0x63 => self.branch(),
            0x67 if self.funct3() == 0 => {
                Ok(Instruction::Jalr { rd, base: self.rs1(), offset: self.i_immediate() })
            }
            0x6f => Ok(Instruction::Jal { rd, offset: self.j_immediate() }),
            0x73 => self.system(),
            // The loads and stores of vectors share opcodes with those of floating point, and differ in the
            // width.
            0x07 | 0x27 if matches!(self.funct3(), 0 | 5..=7) => Err(Kind::Vector),
            0x07 | 0x27 | 0x43 | 0x47 | 0x4b | 0x4f | 0x53 => Err(Kind::FloatingPoint),
            0x57 => Err(Kind::Vector),
            0x0b | 0x2b | 0x5b | 0x7b => Err(Kind::Custom),
            _ => Err(Kind::Unknown),
        }
    }

    fn load(&self) -> Result<Instruction, Kind> {
        let (width, signed) = match self.funct3() {
            7 => return Err(Kind::Unknown),
            funct3 => (Width::ALL[funct3 as usize & 3], funct3 < 4),
        };
        Ok(Instruction::Load { width, signed, rd: self.rd(), base: self.rs1(), offset: self.i_immediate() })
    }

    fn store(&self) -> Result<Instruction, Kind> {
        let width = *Width::ALL.get(self.funct3() as usize).ok_or(Kind::Unknown)?;
        Ok(Instruction::Store { width, source: self.rs2(), base: self.rs1(), offset: self.s_immediate() })
    }

    fn branch(&self) -> Result<Instruction, Kind> {
        let when = match self.funct3() {
            0 => Condition::Equal,
            1 => Condition::NotEqual,
            4 => Condition::Less,
            5 => Condition::GreaterOrEqual,
            6 => Condition::LessUnsigned,
            7 => Condition::GreaterOrEqualUnsigned,
            _ => return Err(Kind::Unknown),
        };
        Ok(Instruction::Branch { when, left: self.rs1(), right: self.rs2(), offset: self.b_immediate() })
    }

    fn immediate(&self) -> Result<Instruction, Kind> {
        let shift = i64::from(self.field(20, 6));
        let (op, value) = match (self.funct3(), self.field(26, 6)) {
            (0, _) => (Arithmetic::Add, self.i_immediate()),
            (2, _) => (Arithmetic::SetLess, self.i_immediate()),
            (3, _) => (Arithmetic::SetLessUnsigned, self.i_immediate()),
            (4, _) => (Arithmetic::Xor, self.i_immediate()),
            (6, _) => (Arithmetic::Or, self.i_immediate()),
            (7, _) => (Arithmetic::And, self.i_immediate()),
            (1, 0) => (Arithmetic::ShiftLeft, shift),
            (5, 0) => (Arithmetic::ShiftRight, shift),
            (5, 0x10) => (Arithmetic::ShiftRightArithmetic, shift),
            _ => return Err(Kind::Unknown),
        };
        Ok(Instruction::Immediate { op, word: false, rd: self.rd(), left: self.rs1(), value })
    }

    fn immediate_word(&self) -> Result<Instruction, Kind> {
        let shift = i64::from(self.field(20, 5));
        let (op, value) = match (self.funct3(), self.funct7()) {
            (0, _) => (Arithmetic::Add, self.i_immediate()),
            (1, 0) => (Arithmetic::ShiftLeft, shift),
            (5, 0) => (Arithmetic::ShiftRight, shift),
            (5, 0x20) => (Arithmetic::ShiftRightArithmetic, shift),
            _ => return Err(Kind::Unknown),
        };
        Ok(Instruction::Immediate { op, word: true, rd: self.rd(), left: self.rs1(), value })
    }

    fn registers(&self, word: bool) -> Result<Instruction, Kind> {
        let op = match (self.funct7(), self.funct3()) {
            (0x00, 0) => Arithmetic::Add,
            (0x20, 0) => Arithmetic::Subtract,
            (0x00, 1) => Arithmetic::ShiftLeft,
            (0x00, 2) => Arithmetic::SetLess,
            (0x00, 3) => Arithmetic::SetLessUnsigned,
            (0x00, 4) => Arithmetic::Xor,
            (0x00, 5) => Arithmetic::ShiftRight,
            (0x20, 5) => Arithmetic::ShiftRightArithmetic,
            (0x00, 6) => Arithmetic::Or,
            (0x00, 7) => Arithmetic::And,
            // The M extension has its eight in their order.
            (0x01, funct3) => Arithmetic::ALL[Arithmetic::Multiply as usize + funct3 as usize],
            _ => return Err(Kind::Unknown),
        };
        if word && !op.has_word() {
            return Err(Kind::Unknown);
        }
        Ok(Instruction::Registers { op, word, rd: self.rd(), left: self.rs1(), right: self.rs2() })
    }

    fn fence(&self) -> Result<Instruction, Kind> {
        let before = Accesses::of_bits(self.field(24, 4));
        let after = Accesses::of_bits(self.field(20, 4));
        match self.funct3() {
            0 if self.field(28, 4) == 8 && before == Accesses::MEMORY && after == Accesses::MEMORY => {
                Ok(Instruction::FenceTso)
            }
            0 => Ok(Instruction::Fence { before, after }),
            1 => Ok(Instruction::FenceI),
            _ => Err(Kind::Unknown),
        }
    }

    fn atomic(&self) -> Result<Instruction, Kind> {
        let width = match self.funct3() {
            2 => Width::Word,
            3 => Width::Double,
            _ => return Err(Kind::Unknown),
        };
        let (rd, source, address) = (self.rd(), self.rs2(), self.rs1());
        let (acquire, release) = (self.field(26, 1) == 1, self.field(25, 1) == 1);
        let op = match self.field(27, 5) {
            0x00 => Atomic::Add,
            0x01 => Atomic::Swap,
            0x02 if source.is_zero() => {
                return Ok(Instruction::LoadReserved { width, rd, address, acquire, release });
            }
            0x03 => {
                return Ok(Instruction::StoreConditional { width, rd, source, address, acquire, release });
            }
            0x04 => Atomic::Xor,
            0x08 => Atomic::Or,
            0x0c => Atomic::And,
            0x10 => Atomic::Minimum,
            0x14 => Atomic::Maximum,
            0x18 => Atomic::MinimumUnsigned,
            0x1c => Atomic::MaximumUnsigned,
            _ => return Err(Kind::Unknown),
        };
        Ok(Instruction::Amo { op, width, rd, source, address, acquire, release })
    }

    fn system(&self) -> Result<Instruction, Kind> {
        let change = match self.funct3() {
            0 => {
                return match self.0 {
                    0x0000_0073 => Ok(Instruction::Ecall),
                    0x0010_0073 => Ok(Instruction::Ebreak),
                    0x1050_0073 => Ok(Instruction::Wfi),
                    0x3020_0073 => Ok(Instruction::Mret),
                    _ => Err(Kind::Privileged),
                };
            }
            4 => return Err(Kind::Privileged),
            1 | 5 => CsrChange::Write,
            2 | 6 => CsrChange::Set,
            _ => CsrChange::Clear,
        };
        let operand = if self.funct3() < 4 {
            CsrOperand::Register(self.rs1())
        } else {
            CsrOperand::Immediate(self.field(15, 5) as u8)
        };
        Ok(Instruction::Csr { change, rd: self.rd(), csr: self.field(20, 12) as u16, operand })
    }
}
