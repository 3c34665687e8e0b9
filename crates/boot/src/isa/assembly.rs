//! One line of GNU assembly, to instructions.
//!
//! Everything that [`super::print`] writes is read back as the same instruction, and so are the usual short
//! names. Both spellings of the two ordering bits are read, the assembler's `.aqrl` and herd's `.aq.rl`.
//! Where a branch goes to is a distance (`.+8`) or a label, which the caller knows.
//!
//! Source: the RISC-V Assembly Programmer's Manual, and the binutils documentation, "RISC-V-Dependent
//! Features".

use super::{
    Accesses, Arithmetic, Atomic, Condition, CsrChange, CsrOperand, Instruction, Register, Width, alias, csr,
};

/// Why a line is no instruction.
#[derive(Debug, Clone, PartialEq, Eq, Hash, thiserror::Error)]
#[expect(missing_docs, reason = "variants say it")]
pub enum Error {
    /// There is nothing in the line.
    #[error("there is no instruction")]
    Empty,
    /// No instruction has this name.
    #[error("`{0}` is not a supported instruction")]
    Mnemonic(String),
    /// This many operands do not go with the name.
    #[error("`{mnemonic}` does not take {given} operands")]
    Operands { mnemonic: String, given: usize },
    /// The operand is not what is needed here.
    #[error("`{text}` is not {wanted}")]
    Operand { text: String, wanted: &'static str },
    /// The number does not fit the instruction.
    #[error("{value} does not fit: it must be {least} to {greatest}")]
    Range { value: i64, least: i64, greatest: i64 },
    /// The distance of a branch or jump is odd.
    #[error("the offset {0} is odd")]
    Odd(i64),
    /// Nobody knows the label.
    #[error("there is no label `{0}`")]
    Label(String),
    /// The line stands for so many instructions, and one was asked for.
    #[error("the line stands for {0} instructions")]
    Several(usize),
}

/// The one instruction of a line, without comments and labels. `label` gives the distance in bytes to a
/// label.
///
/// # Errors
///
/// What in the line is not understood, or that the line stands for several instructions.
pub fn parse(line: &str, label: impl Fn(&str) -> Option<i64>) -> Result<Instruction, Error> {
    match assemble(line, label)?.as_slice() {
        [one] => Ok(*one),
        several => Err(Error::Several(several.len())),
    }
}

/// The instructions of a line, without comments and labels. Only `li` of a large number, and extensions of
/// bytes, half words and unsigned words, become more than one. `label` gives the distance in bytes to a
/// label.
///
/// # Errors
///
/// What in the line is not understood.
pub fn assemble(line: &str, label: impl Fn(&str) -> Option<i64>) -> Result<Vec<Instruction>, Error> {
    let line = line.trim();
    let (mnemonic, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    if mnemonic.is_empty() {
        return Err(Error::Empty);
    }
    let mnemonic = mnemonic.to_ascii_lowercase();
    let operands = if rest.trim().is_empty() { Vec::new() } else { rest.split(',').map(str::trim).collect() };
    let line = SplitLine { mnemonic: &mnemonic, operands: &operands, label: &label };
    if let Some(several) = line.several()? {
        return Ok(several);
    }
    let instruction = line.short().transpose().or_else(|| line.long().transpose());
    let unknown = || match alias::named(&mnemonic).next() {
        Some(_) => line.miscounted(),
        None => Error::Mnemonic(mnemonic.clone()),
    };
    Ok(vec![instruction.ok_or_else(unknown)??])
}

/// What `li` becomes: the shortest of the usual sequences of `lui`, `addi`, `addiw` and `slli`.
#[must_use]
pub fn load_immediate(rd: Register, value: i64) -> Vec<Instruction> {
    let immediate = |op, word, left, value| Instruction::Immediate { op, word, rd, left, value };
    let low = (value << 52) >> 52;
    if low == value {
        return vec![immediate(Arithmetic::Add, false, Register::ZERO, value)];
    }
    let mut instructions;
    let word = i32::try_from(value).is_ok();
    if word {
        // The upper part may wrap to the other sign; adding on 32 bits wraps back.
        let high = i64::from((value.wrapping_sub(low)) as i32);
        instructions = vec![Instruction::Lui { rd, value: high }];
    } else {
        let high = value.wrapping_sub(low);
        let zeros = high.trailing_zeros();
        instructions = load_immediate(rd, high >> zeros);
        instructions.push(immediate(Arithmetic::ShiftLeft, false, rd, i64::from(zeros)));
    }
    if low != 0 {
        instructions.push(immediate(Arithmetic::Add, word, rd, low));
    }
    instructions
}

struct SplitLine<'a> {
    mnemonic: &'a str,
    operands: &'a [&'a str],
    label: &'a dyn Fn(&str) -> Option<i64>,
}

const TWELVE_BITS: (i64, i64) = (-2048, 2047);

impl SplitLine<'_> {
    fn operands<const N: usize>(&self) -> Result<[&str; N], Error> {
        self.operands.try_into().map_err(|_| self.miscounted())
    }

    fn miscounted(&self) -> Error {
        Error::Operands { mnemonic: self.mnemonic.to_owned(), given: self.operands.len() }
    }

    /// The distance to a label or `.+8`, within `bits` bits.
    fn target(&self, text: &str, bits: u32) -> Result<i64, Error> {
        let offset = match text.strip_prefix('.').map(str::trim_start) {
            Some("") => 0,
            Some(rest) if rest.starts_with(['+', '-']) => {
                let (sign, digits) = rest.split_at(1);
                number(&format!("{}{}", sign.trim_start_matches('+'), digits.trim_start()))?
            }
            _ => (self.label)(text).ok_or_else(|| Error::Label(text.to_owned()))?,
        };
        let bound = 1 << (bits - 1);
        in_range(offset, (-bound, bound - 2))?;
        if offset % 2 == 0 { Ok(offset) } else { Err(Error::Odd(offset)) }
    }

    /// Lines that stand for several instructions, or may.
    fn several(&self) -> Result<Option<Vec<Instruction>>, Error> {
        let (left, right) = match self.mnemonic {
            "li" => {
                let [rd, value] = self.operands()?;
                return Ok(Some(load_immediate(register(rd)?, number(value)?)));
            }
            "sext.b" => (56, Arithmetic::ShiftRightArithmetic),
            "sext.h" => (48, Arithmetic::ShiftRightArithmetic),
            "zext.h" => (48, Arithmetic::ShiftRight),
            "zext.w" => (32, Arithmetic::ShiftRight),
            _ => return Ok(None),
        };
        let [rd, source] = self.operands()?;
        let (rd, source) = (register(rd)?, register(source)?);
        let shift = |op, from| Instruction::Immediate { op, word: false, rd, left: from, value: left };
        Ok(Some(vec![shift(Arithmetic::ShiftLeft, source), shift(right, rd)]))
    }

    /// As what a short name stands for that has so many operands.
    fn short(&self) -> Result<Option<Instruction>, Error> {
        let count = |parts: &[&str]| parts.iter().filter(|part| alias::slot(part).is_some()).count();
        let mut longs = alias::named(self.mnemonic);
        let Some((mnemonic, parts)) = longs.find(|(_, parts)| count(parts) == self.operands.len()) else {
            return Ok(None);
        };
        let operand = |&part: &&'static str| match alias::slot(part) {
            None => Ok(part),
            Some(index) if part.starts_with('@') => {
                register(self.operands[index]).map(|_| self.operands[index])
            }
            Some(index) => Ok(self.operands[index]),
        };
        let operands = parts.iter().map(operand).collect::<Result<Vec<_>, _>>()?;
        SplitLine { mnemonic, operands: &operands, label: self.label }.long()
    }

    fn long(&self) -> Result<Option<Instruction>, Error> {
        // Each knows other names, so the order does not matter.
        let parsed = [self.plain()?, self.computation()?, self.memory()?, self.atomic()?, self.csr()?];
        Ok(parsed.into_iter().flatten().next())
    }

    /// Branches, fences, jumps, upper immediates, and what has no operands.
    fn plain(&self) -> Result<Option<Instruction>, Error> {
        if let Some(when) = Condition::ALL.into_iter().find(|when| when.mnemonic() == self.mnemonic) {
            let [left, right, target] = self.operands()?;
            let (left, right) = (register(left)?, register(right)?);
            return Ok(Some(Instruction::Branch { when, left, right, offset: self.target(target, 13)? }));
        }
        let bare = match self.mnemonic {
            "fence.tso" => Instruction::FenceTso,
            "fence.i" => Instruction::FenceI,
            "ecall" => Instruction::Ecall,
            "ebreak" => Instruction::Ebreak,
            "wfi" => Instruction::Wfi,
            "mret" => Instruction::Mret,
            "fence" => {
                let [before, after] = self.operands()?;
                return Ok(Some(Instruction::Fence { before: accesses(before)?, after: accesses(after)? }));
            }
            "lui" | "auipc" => {
                let [rd, value] = self.operands()?;
                let rd = register(rd)?;
                let value = in_range(number(value)?, (0, 0xf_ffff))?;
                let value = i64::from((value << 12) as i32);
                return Ok(Some(match self.mnemonic {
                    "lui" => Instruction::Lui { rd, value },
                    _ => Instruction::Auipc { rd, value },
                }));
            }
            "jal" => {
                let [rd, target] = self.operands()?;
                return Ok(Some(Instruction::Jal { rd: register(rd)?, offset: self.target(target, 21)? }));
            }
            "jalr" => {
                let (rd, (base, offset)) = match *self.operands {
                    [rd, place] => (register(rd)?, jump_register(place)?),
                    _ => {
                        let [rd, base, offset] = self.operands()?;
                        (register(rd)?, (register(base)?, in_range(number(offset)?, TWELVE_BITS)?))
                    }
                };
                return Ok(Some(Instruction::Jalr { rd, base, offset }));
            }
            _ => return Ok(None),
        };
        let [] = self.operands()?;
        Ok(Some(bare))
    }

    /// `add` and its like, with a register or a number on the right. The assembler takes `add a0,a0,1` for
    /// `addi` too.
    fn computation(&self) -> Result<Option<Instruction>, Error> {
        for op in Arithmetic::ALL {
            for word in [false, true] {
                if word && !op.has_word() {
                    continue;
                }
                let named =
                    |name: &str| self.mnemonic.strip_prefix(name) == Some(if word { "w" } else { "" });
                let with_registers = named(op.mnemonic());
                let with_number = op.immediate_mnemonic().is_some_and(named);
                if !with_registers && !with_number {
                    continue;
                }
                let [rd, left, right] = self.operands()?;
                let (rd, left) = (register(rd)?, register(left)?);
                if with_registers && let Some(right) = Register::named(right) {
                    return Ok(Some(Instruction::Registers { op, word, rd, left, right }));
                }
                if op.immediate_mnemonic().is_none() {
                    return Err(wrong(right, "a register"));
                }
                let range = match (op.is_shift(), word) {
                    (true, true) => (0, 31),
                    (true, false) => (0, 63),
                    (false, _) => TWELVE_BITS,
                };
                let value = in_range(number(right)?, range)?;
                return Ok(Some(Instruction::Immediate { op, word, rd, left, value }));
            }
        }
        Ok(None)
    }

    fn memory(&self) -> Result<Option<Instruction>, Error> {
        let (width, signed, load) = match self.mnemonic {
            "lb" => (Width::Byte, true, true),
            "lh" => (Width::Half, true, true),
            "lw" => (Width::Word, true, true),
            "ld" => (Width::Double, true, true),
            "lbu" => (Width::Byte, false, true),
            "lhu" => (Width::Half, false, true),
            "lwu" => (Width::Word, false, true),
            "sb" => (Width::Byte, false, false),
            "sh" => (Width::Half, false, false),
            "sw" => (Width::Word, false, false),
            "sd" => (Width::Double, false, false),
            _ => return Ok(None),
        };
        let [value, place] = self.operands()?;
        let (value, (base, offset)) = (register(value)?, place_of(place)?);
        Ok(Some(if load {
            Instruction::Load { width, signed, rd: value, base, offset }
        } else {
            Instruction::Store { width, source: value, base, offset }
        }))
    }

    fn atomic(&self) -> Result<Option<Instruction>, Error> {
        let mut parts = self.mnemonic.split('.');
        let name = parts.next().unwrap_or_default();
        let op = Atomic::ALL.into_iter().find(|op| op.mnemonic() == name);
        if op.is_none() && name != "lr" && name != "sc" {
            return Ok(None);
        }
        let unknown = || Error::Mnemonic(self.mnemonic.to_owned());
        let width = match parts.next() {
            Some("w") => Width::Word,
            Some("d") => Width::Double,
            _ => return Err(unknown()),
        };
        let (acquire, release) = match parts.collect::<Vec<_>>().as_slice() {
            [] => (false, false),
            ["aq"] => (true, false),
            ["rl"] => (false, true),
            ["aqrl"] | ["aq", "rl"] => (true, true),
            _ => return Err(unknown()),
        };
        if name == "lr" {
            let [rd, place] = self.operands()?;
            let (rd, address) = (register(rd)?, bare_place(place)?);
            return Ok(Some(Instruction::LoadReserved { width, rd, address, acquire, release }));
        }
        let [rd, source, place] = self.operands()?;
        let (rd, source, address) = (register(rd)?, register(source)?, bare_place(place)?);
        Ok(Some(match op {
            Some(op) => Instruction::Amo { op, width, rd, source, address, acquire, release },
            None => Instruction::StoreConditional { width, rd, source, address, acquire, release },
        }))
    }

    fn csr(&self) -> Result<Option<Instruction>, Error> {
        let stem = self.mnemonic.strip_suffix('i').unwrap_or(self.mnemonic);
        let Some(change) = CsrChange::ALL.into_iter().find(|change| change.mnemonic() == stem) else {
            return Ok(None);
        };
        let [rd, csr, operand] = self.operands()?;
        let rd = register(rd)?;
        let operand = match Register::named(operand) {
            Some(source) if stem == self.mnemonic => CsrOperand::Register(source),
            _ => CsrOperand::Immediate(in_range(number(operand)?, (0, 31))? as u8),
        };
        Ok(Some(Instruction::Csr { change, rd, csr: csr_number(csr)?, operand }))
    }
}

fn wrong(text: &str, wanted: &'static str) -> Error {
    Error::Operand { text: text.to_owned(), wanted }
}

fn register(text: &str) -> Result<Register, Error> {
    Register::named(text).ok_or_else(|| wrong(text, "a register"))
}

fn in_range(value: i64, (least, greatest): (i64, i64)) -> Result<i64, Error> {
    if (least..=greatest).contains(&value) { Ok(value) } else { Err(Error::Range { value, least, greatest }) }
}

/// A number, decimal, or hexadecimal after `0x`; up to 64 bits, signed or not. A leading 0 is refused: it
/// means octal to the assembler, and nothing to herd.
fn number(text: &str) -> Result<i64, Error> {
    let error = || wrong(text, "a number");
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |digits| (true, digits));
    let magnitude = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) if !digits.starts_with('+') => u64::from_str_radix(digits, 16).map_err(|_| error())?,
        None if digits.len() > 1 && digits.starts_with('0') => return Err(error()),
        None if !digits.starts_with('+') => digits.parse::<u64>().map_err(|_| error())?,
        _ => return Err(error()),
    };
    if negative {
        0_i64.checked_sub_unsigned(magnitude).ok_or_else(error)
    } else {
        // From 2^63 on, the number stands for the register that holds these bits.
        Ok(magnitude as i64)
    }
}

/// `8(sp)` or `(sp)`.
fn place_of(text: &str) -> Result<(Register, i64), Error> {
    let error = || wrong(text, "a place in memory, like 8(a0)");
    let (offset, base) = text.strip_suffix(')').and_then(|text| text.split_once('(')).ok_or_else(error)?;
    let (offset, base) = (offset.trim(), base.trim());
    let offset = if offset.is_empty() { 0 } else { number(offset)? };
    Ok((register(base)?, in_range(offset, TWELVE_BITS)?))
}

/// `(a0)` or `0(a0)`, as atomic instructions have it.
fn bare_place(text: &str) -> Result<Register, Error> {
    match place_of(text)? {
        (base, 0) => Ok(base),
        _ => Err(wrong(text, "a place without an offset, like (a0)")),
    }
}

/// `a0` or `8(a0)`.
fn jump_register(text: &str) -> Result<(Register, i64), Error> {
    if text.ends_with(')') { place_of(text) } else { Ok((register(text)?, 0)) }
}

/// The letters of a fence in any order; `0` for none.
fn accesses(text: &str) -> Result<Accesses, Error> {
    if text.is_empty() || text != "0" && text.contains(|letter| !"iorw".contains(letter)) {
        return Err(wrong(text, "a set of i, o, r and w"));
    }
    let [input, output, read, write] = ['i', 'o', 'r', 'w'].map(|letter| text.contains(letter));
    Ok(Accesses { input, output, read, write })
}

fn csr_number(text: &str) -> Result<u16, Error> {
    if let Some(number) = csr::number(text) {
        return Ok(number);
    }
    if !text.starts_with(|first: char| first.is_ascii_digit()) {
        return Err(wrong(text, "a control and status register"));
    }
    Ok(in_range(number(text)?, (0, 4095))? as u16)
}
