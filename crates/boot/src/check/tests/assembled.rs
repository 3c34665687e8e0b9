//! Images made of assembly, so that a test shows the code that it asks about.

use std::collections::BTreeMap;

use super::super::{BootQuestion, CheckLimits, Landmarks, Refused, Report};
use crate::axiomatic::Model;
use crate::image::{Image, Segment};
use crate::isa::decode::decode;
use crate::isa::{Arithmetic, Atomic, CsrOperand, Instruction, Register, assembly};

/// Where the code begins, which can only be read.
pub(super) const CODE: u64 = 0x1_0000;

/// Where the memory begins that can be written: `lui s0,0x20` is its address.
pub(super) const DATA: u64 = 0x2_0000;

pub(super) const SIZE: u64 = 0x100;

/// Code with memory, and where its labels are.
pub(super) struct Assembled {
    pub(super) image: Image,
    labels: BTreeMap<String, u64>,
}

impl Assembled {
    /// Of lines with one instruction each, with `label:` before some of them, and of the first bytes of the
    /// memory. The others are undetermined.
    pub(super) fn of(text: &str, memory: &[u8]) -> Self {
        let mut labels = BTreeMap::new();
        let mut lines = Vec::new();
        for line in text.lines() {
            let mut rest = line.trim();
            while let Some((label, behind)) = rest.split_once(':') {
                labels.insert(label.trim().to_owned(), CODE + 4 * lines.len() as u64);
                rest = behind.trim();
            }
            if !rest.is_empty() {
                lines.push(rest);
            }
        }
        let mut bytes = Vec::new();
        for (line, pc) in lines.iter().zip((CODE..).step_by(4)) {
            let label = |name: &str| Some(labels.get(name)?.wrapping_sub(pc).cast_signed());
            let bits = match line.strip_prefix(".word ") {
                Some(number) => u32::from_str_radix(number, 16).unwrap(),
                None => {
                    let instruction =
                        assembly::parse(line, label).unwrap_or_else(|error| panic!("{line}: {error}"));
                    let bits = bits(&instruction);
                    assert_eq!(decode(bits).unwrap().instruction, instruction, "{line}");
                    bits
                }
            };
            bytes.extend(bits.to_le_bytes());
        }
        let code =
            Segment { address: CODE, size: bytes.len() as u64, bytes, writable: false, executable: true };
        let data =
            Segment { address: DATA, size: SIZE, bytes: memory.to_vec(), writable: true, executable: false };
        let image = Image { entry: CODE, segments: vec![code, data], symbols: Vec::new() };
        Self { image, labels }
    }

    pub(super) fn at(&self, label: &str) -> u64 {
        *self.labels.get(label).unwrap_or_else(|| panic!("no label {label}"))
    }

    /// A question in which labels are landmarks: `arrived`, `all_arrived`, `primary`, `started`, `cleared`,
    /// `tell`, `tell_all`.
    pub(super) fn question(&self, harts: u32, memory: Model) -> BootQuestion<'_> {
        let mark = |label: &str| self.labels.get(label).copied();
        let landmarks = Landmarks {
            arrived: mark("arrived").into_iter().collect(),
            all_arrived: mark("all_arrived").into_iter().collect(),
            primary: mark("primary"),
            started: mark("started"),
            tell: mark("tell").into_iter().collect(),
            tell_all: mark("tell_all").into_iter().collect(),
            cleared: mark("cleared"),
            to_clear: Some((DATA + 0x80, DATA + SIZE)),
        };
        BootQuestion {
            image: &self.image,
            harts,
            memory,
            window: 8,
            landmarks,
            expected: Vec::new(),
            controls: BTreeMap::new(),
        }
    }

    /// What is found, with limits that no small program reaches.
    pub(super) fn check(&self, harts: u32, memory: Model) -> Result<Report, Refused> {
        super::super::check(&self.question(harts, memory), LIMITS)
    }
}

/// Limits that no small program reaches.
pub(super) const LIMITS: CheckLimits<'static> =
    CheckLimits { bytes: 1 << 30, stop: Some(&|states| states > 1_000_000) };

/// `funct3` and `funct7` of an operation on registers.
fn arithmetic(op: Arithmetic) -> (u32, u32) {
    match op {
        Arithmetic::Add => (0, 0),
        Arithmetic::Subtract => (0, 0x20),
        Arithmetic::ShiftLeft => (1, 0),
        Arithmetic::SetLess => (2, 0),
        Arithmetic::SetLessUnsigned => (3, 0),
        Arithmetic::Xor => (4, 0),
        Arithmetic::ShiftRight => (5, 0),
        Arithmetic::ShiftRightArithmetic => (5, 0x20),
        Arithmetic::Or => (6, 0),
        Arithmetic::And => (7, 0),
        _ => panic!("{op:?} is not needed here"),
    }
}

/// The 32 bits of an instruction. Source: The RISC-V Instruction Set Manual, volume I, 20240411, chapter
/// "RV32/64G Instruction Set Listings".
fn bits(instruction: &Instruction) -> u32 {
    let number = |register: Register| register.number() as u32;
    let rd = |register: Register| number(register) << 7;
    let rs1 = |register: Register| number(register) << 15;
    let rs2 = |register: Register| number(register) << 20;
    let low = |value: i64| (value as u32 & 0xfff) << 20;
    let amo = |five: u32, acquire: bool, release: bool| {
        five << 27 | u32::from(acquire) << 26 | u32::from(release) << 25 | 0x2f
    };
    match *instruction {
        Instruction::Lui { rd: to, value } => value as u32 & 0xffff_f000 | rd(to) | 0x37,
        Instruction::Auipc { rd: to, value } => value as u32 & 0xffff_f000 | rd(to) | 0x17,
        Instruction::Jal { rd: to, offset } => {
            let offset = offset as u32;
            let high = (offset >> 20 & 1) << 31 | (offset >> 1 & 0x3ff) << 21;
            high | (offset >> 11 & 1) << 20 | (offset >> 12 & 0xff) << 12 | rd(to) | 0x6f
        }
        Instruction::Jalr { rd: to, base, offset } => low(offset) | rs1(base) | rd(to) | 0x67,
        Instruction::Branch { when, left, right, offset } => {
            let (when, offset) = ([0, 1, 4, 5, 6, 7][when as usize], offset as u32);
            let high = (offset >> 12 & 1) << 31 | (offset >> 5 & 0x3f) << 25;
            let low = (offset >> 1 & 0xf) << 8 | (offset >> 11 & 1) << 7;
            high | rs2(right) | rs1(left) | when << 12 | low | 0x63
        }
        Instruction::Load { width: wide, signed, rd: to, base, offset } => {
            low(offset) | rs1(base) | (wide as u32 | u32::from(!signed) << 2) << 12 | rd(to) | 0x03
        }
        Instruction::Store { width: wide, source, base, offset } => {
            let offset = offset as u32;
            (offset >> 5 & 0x7f) << 25
                | rs2(source)
                | rs1(base)
                | (wide as u32) << 12
                | (offset & 0x1f) << 7
                | 0x23
        }
        Instruction::Immediate { op, word, rd: to, left, value } => {
            let (three, seven) = arithmetic(op);
            low(value) | seven << 25 | rs1(left) | three << 12 | rd(to) | if word { 0x1b } else { 0x13 }
        }
        Instruction::Registers { op, word, rd: to, left, right } => {
            let (three, seven) = arithmetic(op);
            seven << 25 | rs2(right) | rs1(left) | three << 12 | rd(to) | if word { 0x3b } else { 0x33 }
        }
        Instruction::Fence { before, after } => {
            u32::from(before.bits()) << 24 | u32::from(after.bits()) << 20 | 0x0f
        }
        Instruction::FenceTso => 0x8330_000f,
        Instruction::LoadReserved { width: wide, rd: to, address, acquire, release } => {
            amo(2, acquire, release) | rs1(address) | (wide as u32) << 12 | rd(to)
        }
        Instruction::StoreConditional { width: wide, rd: to, source, address, acquire, release } => {
            amo(3, acquire, release) | rs2(source) | rs1(address) | (wide as u32) << 12 | rd(to)
        }
        Instruction::Amo { op, width: wide, rd: to, source, address, acquire, release } => {
            let five = match op {
                Atomic::Swap => 1,
                Atomic::Add => 0,
                Atomic::Or => 8,
                _ => panic!("{op:?} is not needed here"),
            };
            amo(five, acquire, release) | rs2(source) | rs1(address) | (wide as u32) << 12 | rd(to)
        }
        Instruction::Csr { change, rd: to, csr, operand } => {
            let (form, operand) = match operand {
                CsrOperand::Register(register) => (0, number(register)),
                CsrOperand::Immediate(value) => (4, u32::from(value)),
            };
            u32::from(csr) << 20 | operand << 15 | (form | (change as u32 + 1)) << 12 | rd(to) | 0x73
        }
        Instruction::Ecall => 0x73,
        Instruction::Ebreak => 0x10_0073,
        Instruction::Wfi => 0x1050_0073,
        Instruction::Mret => 0x3020_0073,
        _ => panic!("{instruction:?} is not needed here"),
    }
}
