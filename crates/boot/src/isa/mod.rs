//! The instructions of RV64IMAC, Zicsr and Zifencei, in the decoded form that everything here shares.
//!
//! The form keeps what an instruction means, and not how it was encoded: a compressed instruction and its
//! long form are the same [`Instruction`], so its length stands beside it in [`Decoded`]. Immediates are sign
//! extended, and in bytes where they are distances; the upper immediates of `lui` and `auipc` are shifted
//! already.
//!
//! Source: The RISC-V Instruction Set Manual, volume I (unprivileged) and volume II (privileged), both
//! 20240411.

mod alias;
pub mod assembly;
mod compressed;
pub mod csr;
pub mod decode;
pub mod execute;
pub mod print;

use std::fmt;

/// One of the 32 integer registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Register(u8);

impl Register {
    /// x0, which is always 0.
    pub const ZERO: Self = Self(0);
    /// x1, the return address.
    pub const RA: Self = Self(1);
    /// x2, the stack pointer.
    pub const SP: Self = Self(2);

    /// The register of this number; `None` from 32 on.
    #[must_use]
    pub const fn new(number: u8) -> Option<Self> {
        if number < 32 { Some(Self(number)) } else { None }
    }

    /// All 32, x0 first.
    pub fn all() -> impl Iterator<Item = Self> {
        (0..32).map(Self)
    }

    /// The register that the low five bits name.
    const fn of_bits(bits: u32) -> Self {
        Self((bits & 31) as u8)
    }

    /// Its number, 0 to 31.
    #[must_use]
    pub const fn number(self) -> u8 {
        self.0
    }

    /// Its number, to index an array of 32.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// Whether this is x0, which no write changes and which carries no dependency.
    #[must_use]
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Its name in the calling convention, as `a0`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        NAMES[self.0 as usize]
    }

    /// The register of this name, `x5`, `t0` or `fp`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let name = if name == "fp" { "s0" } else { name };
        let digits = name.strip_prefix('x');
        let is_named = |each: &Self| each.name() == name || digits == Some(&*each.number().to_string());
        Self::all().find(is_named)
    }
}

const NAMES: [&str; 32] = [
    "zero", "ra", "sp", "gp", "tp", "t0", "t1", "t2", "s0", "s1", "a0", "a1", "a2", "a3", "a4", "a5", "a6",
    "a7", "s2", "s3", "s4", "s5", "s6", "s7", "s8", "s9", "s10", "s11", "t3", "t4", "t5", "t6",
];

impl fmt::Display for Register {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.name())
    }
}

/// How many bytes of memory an access touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Width {
    /// One byte.
    Byte,
    /// Two bytes.
    Half,
    /// Four bytes.
    Word,
    /// Eight bytes.
    Double,
}

impl Width {
    /// All four, the narrowest first.
    pub const ALL: [Self; 4] = [Self::Byte, Self::Half, Self::Word, Self::Double];

    /// Bytes: 1, 2, 4 or 8.
    #[must_use]
    pub const fn bytes(self) -> u64 {
        1 << self as u32
    }

    /// The low bits of `value` that this width holds, with zeros above.
    #[must_use]
    pub const fn truncate(self, value: u64) -> u64 {
        self.extend(value, false)
    }

    /// The low bits of `value` as a register holds them: their sign repeated above if `signed`, else zeros.
    #[must_use]
    pub const fn extend(self, value: u64, signed: bool) -> u64 {
        let unused = 64 - 8 * self.bytes() as u32;
        let high = value << unused;
        if signed { ((high as i64) >> unused) as u64 } else { high >> unused }
    }
}

/// When a branch is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Condition {
    /// `beq`
    Equal,
    /// `bne`
    NotEqual,
    /// `blt`
    Less,
    /// `bge`
    GreaterOrEqual,
    /// `bltu`
    LessUnsigned,
    /// `bgeu`
    GreaterOrEqualUnsigned,
}

/// What is computed of two numbers. The multiplications are those of the M extension, the others of the base.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Arithmetic {
    /// `add`
    Add,
    /// `sub`; has no immediate form.
    Subtract,
    /// `sll`
    ShiftLeft,
    /// `slt`
    SetLess,
    /// `sltu`
    SetLessUnsigned,
    /// `xor`
    Xor,
    /// `srl`
    ShiftRight,
    /// `sra`
    ShiftRightArithmetic,
    /// `or`
    Or,
    /// `and`
    And,
    /// `mul`; as all that follow, it has no immediate form.
    Multiply,
    /// `mulh`: the high half of the product of signed numbers.
    MultiplyHigh,
    /// `mulhsu`: the high half of the product of a signed number and an unsigned one.
    MultiplyHighSignedUnsigned,
    /// `mulhu`: the high half of the product of unsigned numbers.
    MultiplyHighUnsigned,
    /// `div`
    Divide,
    /// `divu`
    DivideUnsigned,
    /// `rem`
    Remainder,
    /// `remu`
    RemainderUnsigned,
}

/// What an atomic memory operation stores, from what memory holds and its operand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Atomic {
    /// `amoswap`: the operand.
    Swap,
    /// `amoadd`
    Add,
    /// `amoxor`
    Xor,
    /// `amoand`
    And,
    /// `amoor`
    Or,
    /// `amomin`: the smaller as signed numbers.
    Minimum,
    /// `amomax`
    Maximum,
    /// `amominu`: the smaller as unsigned numbers.
    MinimumUnsigned,
    /// `amomaxu`
    MaximumUnsigned,
}

/// The kinds of accesses that one side of a fence orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Accesses {
    /// Input from devices.
    pub input: bool,
    /// Output to devices.
    pub output: bool,
    /// Reads of memory.
    pub read: bool,
    /// Writes of memory.
    pub write: bool,
}

impl Accesses {
    /// `w`
    pub const WRITE: Self = Self { input: false, output: false, read: false, write: true };
    /// `rw`
    pub const MEMORY: Self = Self { input: false, output: false, read: true, write: true };
    /// `iorw`
    pub const ALL: Self = Self { input: true, output: true, read: true, write: true };
    /// None: the fence orders nothing, and is a hint.
    pub const NONE: Self = Self { input: false, output: false, read: false, write: false };

    /// `iorw` as bits, `w` the lowest.
    pub(crate) const fn bits(self) -> u8 {
        (self.input as u8) << 3 | (self.output as u8) << 2 | (self.read as u8) << 1 | self.write as u8
    }

    /// The kinds that four bits name, `w` the lowest.
    const fn of_bits(bits: u32) -> Self {
        Self { input: bits & 8 != 0, output: bits & 4 != 0, read: bits & 2 != 0, write: bits & 1 != 0 }
    }
}

/// How a control and status register is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CsrChange {
    /// `csrrw`: the operand replaces it.
    Write,
    /// `csrrs`: the bits of the operand are set.
    Set,
    /// `csrrc`: the bits of the operand are cleared.
    Clear,
}

/// The operand of a change to a control and status register.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum CsrOperand {
    /// A register. Set and clear with x0 do not write at all.
    Register(Register),
    /// Five bits, 0 to 31. Set and clear with 0 do not write at all.
    Immediate(u8),
}

/// What one instruction does. Distances are in bytes, from the instruction's own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "each variant says what its fields are")]
pub enum Instruction {
    /// `lui`: `rd` = `value`, whose low 12 bits are 0.
    Lui { rd: Register, value: i64 },
    /// `auipc`: `rd` = pc + `value`, whose low 12 bits are 0.
    Auipc { rd: Register, value: i64 },
    /// `jal`: `rd` = address of the next instruction; go to pc + `offset`.
    Jal { rd: Register, offset: i64 },
    /// `jalr`: `rd` = address of the next instruction; go to `base` + `offset` with bit 0 cleared.
    Jalr { rd: Register, base: Register, offset: i64 },
    /// `beq` and its like: go to pc + `offset` if `left` and `right` compare so.
    Branch { when: Condition, left: Register, right: Register, offset: i64 },
    /// `lb` to `ld`: `rd` = what memory holds at `base` + `offset`, sign extended if `signed`. A double is
    /// `signed`.
    Load { width: Width, signed: bool, rd: Register, base: Register, offset: i64 },
    /// `sb` to `sd`: the low bytes of `source` go to memory at `base` + `offset`.
    Store { width: Width, source: Register, base: Register, offset: i64 },
    /// `addi` and its like: `rd` = `left` op `value`; on 32 bits, and their sign extended, if `word`.
    Immediate { op: Arithmetic, word: bool, rd: Register, left: Register, value: i64 },
    /// `add` and its like: `rd` = `left` op `right`; on 32 bits, and their sign extended, if `word`.
    Registers { op: Arithmetic, word: bool, rd: Register, left: Register, right: Register },
    /// `fence`: what is in `before` and earlier in program order comes before what is in `after` and later.
    Fence { before: Accesses, after: Accesses },
    /// `fence.tso`: reads before reads and writes, writes before writes.
    FenceTso,
    /// `fence.i`: later fetches see what this hart has stored.
    FenceI,
    /// `lr`: load, sign extended, and reserve. The width is a word or a double.
    LoadReserved { width: Width, rd: Register, address: Register, acquire: bool, release: bool },
    /// `sc`: store if the reservation holds; `rd` = 0 if it did, else 1. The width is a word or a double.
    StoreConditional {
        width: Width,
        rd: Register,
        source: Register,
        address: Register,
        acquire: bool,
        release: bool,
    },
    /// `amoswap` and its like: `rd` = what memory held, sign extended. The width is a word or a double.
    Amo {
        op: Atomic,
        width: Width,
        rd: Register,
        source: Register,
        address: Register,
        acquire: bool,
        release: bool,
    },
    /// `csrrw` and its like: `rd` = what the register `csr` (12 bits) held, and `csr` is changed.
    Csr { change: CsrChange, rd: Register, csr: u16, operand: CsrOperand },
    /// `ecall`
    Ecall,
    /// `ebreak`
    Ebreak,
    /// `wfi`: wait for an interrupt; may return at any time.
    Wfi,
    /// `mret`: return from a trap in machine mode.
    Mret,
}

/// An instruction and the bytes that it took in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Decoded {
    /// What it does.
    pub instruction: Instruction,
    /// Bytes: 2 or 4.
    pub length: u64,
}
