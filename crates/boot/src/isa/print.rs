//! Instructions as GNU assembly.
//!
//! `{}` writes them as objdump does by default, with the short names of common uses (`li`, `ret`, `beqz`),
//! and `{:#}` as `objdump -M no-aliases` does. Where objdump writes the address that a branch goes to, `{}`
//! has the distance, `.+8`, which the assembler reads too; [`Instruction::at`] has the address.

use std::fmt;

use super::{
    Accesses, Arithmetic, Atomic, Condition, CsrChange, CsrOperand, Instruction, Register, Width, csr,
};

impl Instruction {
    /// The instruction as it stands at the address `pc`: where it goes to is an address too.
    #[must_use]
    pub const fn at(self, pc: u64) -> InstructionAt {
        InstructionAt { instruction: self, pc }
    }
}

/// An instruction at an address, to be written. `{:#}` is without short names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct InstructionAt {
    instruction: Instruction,
    pc: u64,
}

impl fmt::Display for InstructionAt {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = !formatter.alternate();
        write(formatter, &self.instruction, short, Some(self.pc))
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let short = !formatter.alternate();
        write(formatter, self, short, None)
    }
}

/// Where a distance leads: an address, if that of the instruction is known.
fn target(pc: Option<u64>, offset: i64) -> String {
    match pc {
        Some(pc) => format!("0x{:x}", pc.wrapping_add_signed(offset)),
        None => format!(".{offset:+}"),
    }
}

fn write(f: &mut fmt::Formatter<'_>, instruction: &Instruction, short: bool, pc: Option<u64>) -> fmt::Result {
    if short && let Some(text) = short_form(instruction, pc) {
        return f.write_str(&text);
    }
    match *instruction {
        Instruction::Lui { rd, value } => write!(f, "lui {rd},0x{:x}", (value >> 12) & 0xf_ffff),
        Instruction::Auipc { rd, value } => write!(f, "auipc {rd},0x{:x}", (value >> 12) & 0xf_ffff),
        Instruction::Jal { rd, offset } => write!(f, "jal {rd},{}", target(pc, offset)),
        Instruction::Jalr { rd, base, offset } => write!(f, "jalr {rd},{offset}({base})"),
        Instruction::Branch { when, left, right, offset } => {
            write!(f, "{} {left},{right},{}", when.mnemonic(), target(pc, offset))
        }
        Instruction::Load { width, signed, rd, base, offset } => {
            let unsigned = if signed || width == Width::Double { "" } else { "u" };
            write!(f, "l{}{unsigned} {rd},{offset}({base})", width.letter())
        }
        Instruction::Store { width, source, base, offset } => {
            write!(f, "s{} {source},{offset}({base})", width.letter())
        }
        Instruction::Immediate { op, word, rd, left, value } => {
            let word = if word { "w" } else { "" };
            match op.immediate_mnemonic() {
                Some(name) if op.is_shift() => write!(f, "{name}{word} {rd},{left},0x{value:x}"),
                Some(name) => write!(f, "{name}{word} {rd},{left},{value}"),
                // Never decoded and never read; a form made by hand is still told apart.
                None => write!(f, "{}i{word} {rd},{left},{value}", op.mnemonic()),
            }
        }
        Instruction::Registers { op, word, rd, left, right } => {
            write!(f, "{}{} {rd},{left},{right}", op.mnemonic(), if word { "w" } else { "" })
        }
        Instruction::Fence { before, after } => write!(f, "fence {before},{after}"),
        Instruction::FenceTso => f.write_str("fence.tso"),
        Instruction::FenceI => f.write_str("fence.i"),
        Instruction::LoadReserved { width, rd, address, acquire, release } => {
            write!(f, "lr.{}{} {rd},({address})", width.letter(), order(acquire, release))
        }
        Instruction::StoreConditional { width, rd, source, address, acquire, release } => {
            write!(f, "sc.{}{} {rd},{source},({address})", width.letter(), order(acquire, release))
        }
        Instruction::Amo { op, width, rd, source, address, acquire, release } => {
            let (name, letter, order) = (op.mnemonic(), width.letter(), order(acquire, release));
            write!(f, "{name}.{letter}{order} {rd},{source},({address})")
        }
        Instruction::Csr { change, rd, csr, operand } => {
            let (name, csr) = (change.mnemonic(), csr::label(&csr));
            match operand {
                CsrOperand::Register(source) => write!(f, "{name} {rd},{csr},{source}"),
                CsrOperand::Immediate(value) => write!(f, "{name}i {rd},{csr},{value}"),
            }
        }
        Instruction::Ecall => f.write_str("ecall"),
        Instruction::Ebreak => f.write_str("ebreak"),
        Instruction::Wfi => f.write_str("wfi"),
        Instruction::Mret => f.write_str("mret"),
    }
}

/// The short name of a common use, if there is one.
fn short_form(instruction: &Instruction, pc: Option<u64>) -> Option<String> {
    const ZERO: Register = Register::ZERO;
    const RA: Register = Register::RA;
    Some(match *instruction {
        Instruction::Jal { rd: ZERO, offset } => format!("j {}", target(pc, offset)),
        Instruction::Jal { rd: RA, offset } => format!("jal {}", target(pc, offset)),
        Instruction::Jalr { rd: ZERO, base: RA, offset: 0 } => "ret".to_owned(),
        Instruction::Jalr { rd: ZERO, base, offset: 0 } => format!("jr {base}"),
        Instruction::Jalr { rd: ZERO, base, offset } => format!("jr {offset}({base})"),
        Instruction::Jalr { rd: RA, base, offset: 0 } => format!("jalr {base}"),
        Instruction::Jalr { rd: RA, base, offset } => format!("jalr {offset}({base})"),
        Instruction::Jalr { rd, base, offset: 0 } => format!("jalr {rd},{base}"),
        Instruction::Branch { when, left, right, offset } => {
            let (name, register) = zero_branch(when, left, right)?;
            format!("{name} {register},{}", target(pc, offset))
        }
        Instruction::Immediate { op, word, rd, left, value } => short_immediate(op, word, rd, left, value)?,
        Instruction::Registers { op: Arithmetic::Subtract, word, rd, left: ZERO, right } => {
            format!("neg{} {rd},{right}", if word { "w" } else { "" })
        }
        Instruction::Registers { op: Arithmetic::SetLessUnsigned, rd, left: ZERO, right, .. } => {
            format!("snez {rd},{right}")
        }
        Instruction::Registers { op: Arithmetic::SetLess, rd, left, right: ZERO, .. } => {
            format!("sltz {rd},{left}")
        }
        Instruction::Registers { op: Arithmetic::SetLess, rd, left: ZERO, right, .. } => {
            format!("sgtz {rd},{right}")
        }
        Instruction::Fence { before: Accesses::ALL, after: Accesses::ALL } => "fence".to_owned(),
        Instruction::Fence { before: Accesses::WRITE, after: Accesses::NONE } => "pause".to_owned(),
        Instruction::Csr { change, rd, csr, operand } => short_csr(change, rd, csr, operand)?,
        _ => return None,
    })
}

fn short_immediate(op: Arithmetic, word: bool, rd: Register, left: Register, value: i64) -> Option<String> {
    Some(match (op, word, value) {
        (Arithmetic::Add, false, 0) if rd.is_zero() && left.is_zero() => "nop".to_owned(),
        (Arithmetic::Add, false, _) if left.is_zero() => format!("li {rd},{value}"),
        (Arithmetic::Add, false, 0) => format!("mv {rd},{left}"),
        (Arithmetic::Add, true, 0) => format!("sext.w {rd},{left}"),
        (Arithmetic::Xor, false, -1) => format!("not {rd},{left}"),
        (Arithmetic::And, false, 255) => format!("zext.b {rd},{left}"),
        (Arithmetic::SetLessUnsigned, false, 1) => format!("seqz {rd},{left}"),
        _ => return None,
    })
}

/// The short name of a branch that compares with x0, and the other register.
fn zero_branch(when: Condition, left: Register, right: Register) -> Option<(&'static str, Register)> {
    let (left_zero, right_zero) = (left.is_zero(), right.is_zero());
    Some(match when {
        Condition::Equal if right_zero => ("beqz", left),
        Condition::NotEqual if right_zero => ("bnez", left),
        Condition::GreaterOrEqual if left_zero => ("blez", right),
        Condition::GreaterOrEqual if right_zero => ("bgez", left),
        Condition::Less if right_zero => ("bltz", left),
        Condition::Less if left_zero => ("bgtz", right),
        _ => return None,
    })
}

fn short_csr(change: CsrChange, rd: Register, csr: u16, operand: CsrOperand) -> Option<String> {
    if change == CsrChange::Set && operand == CsrOperand::Register(Register::ZERO) {
        return Some(match csr {
            0xc00 => format!("rdcycle {rd}"),
            0xc01 => format!("rdtime {rd}"),
            0xc02 => format!("rdinstret {rd}"),
            _ => format!("csrr {rd},{}", csr::label(&csr)),
        });
    }
    if !rd.is_zero() {
        return None;
    }
    if (change, csr, operand) == (CsrChange::Write, 0xc00, CsrOperand::Register(Register::ZERO)) {
        return Some("unimp".to_owned());
    }
    let letter = match change {
        CsrChange::Write => 'w',
        CsrChange::Set => 's',
        CsrChange::Clear => 'c',
    };
    Some(match operand {
        CsrOperand::Register(source) => format!("csr{letter} {},{source}", csr::label(&csr)),
        CsrOperand::Immediate(value) => format!("csr{letter}i {},{value}", csr::label(&csr)),
    })
}

const fn order(acquire: bool, release: bool) -> &'static str {
    match (acquire, release) {
        (false, false) => "",
        (true, false) => ".aq",
        (false, true) => ".rl",
        (true, true) => ".aqrl",
    }
}

impl fmt::Display for Accesses {
    /// The letters of the kinds in the order `iorw`; `0` if there are none.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kinds = [(self.input, "i"), (self.output, "o"), (self.read, "r"), (self.write, "w")];
        for (_, letter) in kinds.iter().filter(|(present, _)| *present) {
            formatter.write_str(letter)?;
        }
        if *self == Self::NONE { formatter.write_str("0") } else { Ok(()) }
    }
}

impl Width {
    /// The letter in mnemonics: `b`, `h`, `w` or `d`.
    pub(super) const fn letter(self) -> char {
        ['b', 'h', 'w', 'd'][self as usize]
    }
}

impl Condition {
    /// All six.
    pub const ALL: [Self; 6] = [
        Self::Equal,
        Self::NotEqual,
        Self::Less,
        Self::GreaterOrEqual,
        Self::LessUnsigned,
        Self::GreaterOrEqualUnsigned,
    ];

    /// The name of its branch, as `beq`.
    #[must_use]
    pub const fn mnemonic(self) -> &'static str {
        ["beq", "bne", "blt", "bge", "bltu", "bgeu"][self as usize]
    }
}

impl Arithmetic {
    /// All eighteen.
    pub const ALL: [Self; 18] = [
        Self::Add,
        Self::Subtract,
        Self::ShiftLeft,
        Self::SetLess,
        Self::SetLessUnsigned,
        Self::Xor,
        Self::ShiftRight,
        Self::ShiftRightArithmetic,
        Self::Or,
        Self::And,
        Self::Multiply,
        Self::MultiplyHigh,
        Self::MultiplyHighSignedUnsigned,
        Self::MultiplyHighUnsigned,
        Self::Divide,
        Self::DivideUnsigned,
        Self::Remainder,
        Self::RemainderUnsigned,
    ];

    /// The name of the form with two registers, as `add`.
    #[must_use]
    pub const fn mnemonic(self) -> &'static str {
        const NAMES: [&str; 18] = [
            "add", "sub", "sll", "slt", "sltu", "xor", "srl", "sra", "or", "and", "mul", "mulh", "mulhsu",
            "mulhu", "div", "divu", "rem", "remu",
        ];
        NAMES[self as usize]
    }

    /// The name of the form with an immediate, as `addi`; `None` if there is no such form.
    #[must_use]
    pub const fn immediate_mnemonic(self) -> Option<&'static str> {
        match self {
            Self::Add => Some("addi"),
            Self::ShiftLeft => Some("slli"),
            Self::SetLess => Some("slti"),
            Self::SetLessUnsigned => Some("sltiu"),
            Self::Xor => Some("xori"),
            Self::ShiftRight => Some("srli"),
            Self::ShiftRightArithmetic => Some("srai"),
            Self::Or => Some("ori"),
            Self::And => Some("andi"),
            _ => None,
        }
    }

    /// Whether the right operand is a number of bits.
    #[must_use]
    pub const fn is_shift(self) -> bool {
        matches!(self, Self::ShiftLeft | Self::ShiftRight | Self::ShiftRightArithmetic)
    }

    /// Whether there is a form on 32 bits, as `addw`; of those with an immediate, only `addiw` and the shifts
    /// are.
    #[must_use]
    pub const fn has_word(self) -> bool {
        matches!(self, Self::Add | Self::Subtract | Self::Multiply | Self::Divide | Self::DivideUnsigned)
            || matches!(self, Self::Remainder | Self::RemainderUnsigned)
            || self.is_shift()
    }
}

impl Atomic {
    /// All nine.
    pub const ALL: [Self; 9] = [
        Self::Swap,
        Self::Add,
        Self::Xor,
        Self::And,
        Self::Or,
        Self::Minimum,
        Self::Maximum,
        Self::MinimumUnsigned,
        Self::MaximumUnsigned,
    ];

    /// Its name without the width, as `amoswap`.
    #[must_use]
    pub const fn mnemonic(self) -> &'static str {
        const NAMES: [&str; 9] =
            ["amoswap", "amoadd", "amoxor", "amoand", "amoor", "amomin", "amomax", "amominu", "amomaxu"];
        NAMES[self as usize]
    }
}

impl CsrChange {
    /// All three.
    pub const ALL: [Self; 3] = [Self::Write, Self::Set, Self::Clear];

    /// The name of the form with a register, as `csrrw`.
    #[must_use]
    pub const fn mnemonic(self) -> &'static str {
        ["csrrw", "csrrs", "csrrc"][self as usize]
    }
}
