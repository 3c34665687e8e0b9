//! Instructions as GNU assembly.
//!
//! `{}` writes them as objdump does by default, with the short names of common uses (`li`, `ret`, `beqz`),
//! and `{:#}` as `objdump -M no-aliases` does. Where objdump writes the address that a branch goes to, `{}`
//! has the distance, `.+8`, which the assembler reads too; [`Instruction::at`] has the address.

use std::fmt;

use super::{Accesses, Arithmetic, Atomic, Condition, CsrChange, CsrOperand, Instruction, Width, alias, csr};

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
        formatter.write_str(&text(&self.instruction, !formatter.alternate(), Some(self.pc)))
    }
}

impl fmt::Display for Instruction {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&text(self, !formatter.alternate(), None))
    }
}

fn text(instruction: &Instruction, short: bool, pc: Option<u64>) -> String {
    let full = full(instruction, short, pc);
    let shortened = if short { alias::shortened(&full) } else { None };
    shortened.unwrap_or(full)
}

/// The long form; where a short one is asked for, it has no distance of 0 in a jump.
fn full(instruction: &Instruction, short: bool, pc: Option<u64>) -> String {
    // Where a distance leads: an address, if that of the instruction is known.
    let target = |offset: i64| match pc {
        Some(pc) => format!("0x{:x}", pc.wrapping_add_signed(offset)),
        None => format!(".{offset:+}"),
    };
    let suffix = |word| if word { "w" } else { "" };
    match *instruction {
        Instruction::Lui { rd, value } => format!("lui {rd},0x{:x}", (value >> 12) & 0xf_ffff),
        Instruction::Auipc { rd, value } => format!("auipc {rd},0x{:x}", (value >> 12) & 0xf_ffff),
        Instruction::Jal { rd, offset } => format!("jal {rd},{}", target(offset)),
        Instruction::Jalr { rd, base, offset: 0 } if short => format!("jalr {rd},{base}"),
        Instruction::Jalr { rd, base, offset } => format!("jalr {rd},{offset}({base})"),
        Instruction::Branch { when, left, right, offset } => {
            format!("{} {left},{right},{}", when.mnemonic(), target(offset))
        }
        Instruction::Load { width, signed, rd, base, offset } => {
            let unsigned = if signed || width == Width::Double { "" } else { "u" };
            format!("l{}{unsigned} {rd},{offset}({base})", width.letter())
        }
        Instruction::Store { width, source, base, offset } => {
            format!("s{} {source},{offset}({base})", width.letter())
        }
        Instruction::Immediate { op, word, rd, left, value } => {
            let word = suffix(word);
            match op.immediate_mnemonic() {
                Some(name) if op.is_shift() => format!("{name}{word} {rd},{left},0x{value:x}"),
                Some(name) => format!("{name}{word} {rd},{left},{value}"),
                // Never decoded and never read; a form made by hand is still told apart.
                None => format!("{}i{word} {rd},{left},{value}", op.mnemonic()),
            }
        }
        Instruction::Registers { op, word, rd, left, right } => {
            format!("{}{} {rd},{left},{right}", op.mnemonic(), suffix(word))
        }
        Instruction::Fence { before, after } => format!("fence {before},{after}"),
        Instruction::FenceTso => "fence.tso".to_owned(),
        Instruction::FenceI => "fence.i".to_owned(),
        Instruction::LoadReserved { width, rd, address, acquire, release } => {
            format!("lr.{}{} {rd},({address})", width.letter(), order(acquire, release))
        }
        Instruction::StoreConditional { width, rd, source, address, acquire, release } => {
            format!("sc.{}{} {rd},{source},({address})", width.letter(), order(acquire, release))
        }
        Instruction::Amo { op, width, rd, source, address, acquire, release } => {
            let (name, letter, order) = (op.mnemonic(), width.letter(), order(acquire, release));
            format!("{name}.{letter}{order} {rd},{source},({address})")
        }
        Instruction::Csr { change, rd, csr, operand } => {
            let (name, csr) = (change.mnemonic(), csr::label(&csr));
            match operand {
                CsrOperand::Register(source) => format!("{name} {rd},{csr},{source}"),
                CsrOperand::Immediate(value) => format!("{name}i {rd},{csr},{value}"),
            }
        }
        Instruction::Ecall => "ecall".to_owned(),
        Instruction::Ebreak => "ebreak".to_owned(),
        Instruction::Wfi => "wfi".to_owned(),
        Instruction::Mret => "mret".to_owned(),
    }
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
    pub fn immediate_mnemonic(self) -> Option<&'static str> {
        const NAMES: [&str; 10] =
            ["addi", "", "slli", "slti", "sltiu", "xori", "srli", "srai", "ori", "andi"];
        NAMES.get(self as usize).copied().filter(|name| !name.is_empty())
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
