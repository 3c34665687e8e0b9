//! What an instruction computes from registers, up to the point where memory must answer.
//!
//! [`execute`] gives an [`Effect`]: the next pc, and a register to write or what is asked of memory. Who asks
//! it (a memory model) completes a load by [`Access::loaded`] and finds what an atomic operation stores by
//! [`Atomic::apply`].
//!
//! Source: The RISC-V Instruction Set Manual, volume I, chapters RV32I, RV64I, "M" and "A".

use super::{
    Accesses, Arithmetic, Atomic, Condition, CsrChange, CsrOperand, Decoded, Instruction, Register, Width,
};

/// What an instruction does besides going on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Effect {
    /// Address of the next instruction; of `ecall`, `ebreak` and `mret`, the one that follows in memory.
    pub next: u64,
    /// What else.
    pub action: Action,
}

/// The work of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "variants say it")]
pub enum Action {
    /// Nothing: branches, jumps without link, and what writes x0.
    Nothing,
    /// A register takes a value. It is never x0.
    Write(Register, u64),
    /// Memory is asked.
    Memory(Access),
    /// What is in the first set and earlier comes before what is in the second and later.
    Fence(Accesses, Accesses),
    /// `fence.tso`
    FenceTso,
    /// `fence.i`
    FenceI,
    /// The control and status register of the number `csr` (12 bits) is read, and changed by the operand if
    /// there is one: else it must not be written.
    Csr { change: CsrChange, rd: Register, csr: u16, operand: Option<u64> },
    /// `ecall`
    Ecall,
    /// `ebreak`
    Ebreak,
    /// `wfi`
    Wfi,
    /// `mret`
    Mret,
}

/// What is asked of memory: which bytes, and how.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Access {
    /// Address of the first byte.
    pub address: u64,
    /// How many bytes.
    pub width: Width,
    /// Whether they are read, written, or both.
    pub kind: AccessKind,
    /// Whether it has an acquire annotation.
    pub acquire: bool,
    /// Whether it has a release annotation.
    pub release: bool,
}

/// Whether memory is read, written, or both. Values to store are cut to the width of the access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "variants say it")]
pub enum AccessKind {
    /// A plain load: `rd` takes the value, its sign extended if `signed`.
    Load { rd: Register, signed: bool },
    /// A plain store.
    Store { value: u64 },
    /// `lr`: `rd` takes the value.
    LoadReserved { rd: Register },
    /// `sc`: `rd` takes 0 if memory took the value, else 1.
    StoreConditional { rd: Register, value: u64 },
    /// An atomic operation: memory takes [`Atomic::apply`] of what it held, and `rd` what that was.
    Amo { op: Atomic, rd: Register, operand: u64 },
}

impl Access {
    /// What the register takes when the bytes read are the low bytes of `memory`; `None` if nothing is read,
    /// or for x0.
    #[must_use]
    pub const fn loaded(&self, memory: u64) -> Option<(Register, u64)> {
        let (rd, signed) = match self.kind {
            AccessKind::Load { rd, signed } => (rd, signed),
            AccessKind::LoadReserved { rd } | AccessKind::Amo { rd, .. } => (rd, true),
            AccessKind::Store { .. } | AccessKind::StoreConditional { .. } => return None,
        };
        if rd.is_zero() { None } else { Some((rd, self.width.extend(memory, signed))) }
    }

    /// Whether the address is a multiple of the width.
    #[must_use]
    pub const fn is_aligned(&self) -> bool {
        self.address.is_multiple_of(self.width.bytes())
    }
}

/// What `decoded`, at the address `pc`, does when registers hold what `read` says. `read` is not asked for
/// x0.
pub fn execute(decoded: &Decoded, pc: u64, read: impl Fn(Register) -> u64) -> Effect {
    let read = |register: Register| if register.is_zero() { 0 } else { read(register) };
    let following = pc.wrapping_add(decoded.length);
    let go = |next, rd: Register, value| {
        let action = if rd.is_zero() { Action::Nothing } else { Action::Write(rd, value) };
        Effect { next, action }
    };
    let write = |rd, value| go(following, rd, value);
    let act = |action| Effect { next: following, action };
    let memory = |address, width, kind| {
        let (acquire, release) = decoded.instruction.annotations();
        act(Action::Memory(Access { address, width, kind, acquire, release }))
    };
    match decoded.instruction {
        Instruction::Lui { rd, value } => write(rd, value as u64),
        Instruction::Auipc { rd, value } => write(rd, pc.wrapping_add_signed(value)),
        Instruction::Jal { rd, offset } => go(pc.wrapping_add_signed(offset), rd, following),
        Instruction::Jalr { rd, base, offset } => {
            go(read(base).wrapping_add_signed(offset) & !1, rd, following)
        }
        Instruction::Branch { when, left, right, offset } => {
            let taken = when.holds(read(left), read(right));
            let next = if taken { pc.wrapping_add_signed(offset) } else { following };
            go(next, Register::ZERO, 0)
        }
        Instruction::Load { width, signed, rd, base, offset } => {
            let address = read(base).wrapping_add_signed(offset);
            memory(address, width, AccessKind::Load { rd, signed })
        }
        Instruction::Store { width, source, base, offset } => {
            let address = read(base).wrapping_add_signed(offset);
            let value = width.truncate(read(source));
            memory(address, width, AccessKind::Store { value })
        }
        Instruction::Immediate { op, word, rd, left, value } => {
            write(rd, op.compute(word, read(left), value as u64))
        }
        Instruction::Registers { op, word, rd, left, right } => {
            write(rd, op.compute(word, read(left), read(right)))
        }
        Instruction::Fence { before, after } => act(Action::Fence(before, after)),
        Instruction::FenceTso => act(Action::FenceTso),
        Instruction::FenceI => act(Action::FenceI),
        Instruction::LoadReserved { width, rd, address, .. } => {
            memory(read(address), width, AccessKind::LoadReserved { rd })
        }
        Instruction::StoreConditional { width, rd, source, address, .. } => {
            let value = width.truncate(read(source));
            let kind = AccessKind::StoreConditional { rd, value };
            memory(read(address), width, kind)
        }
        Instruction::Amo { op, width, rd, source, address, .. } => {
            let operand = width.truncate(read(source));
            memory(read(address), width, AccessKind::Amo { op, rd, operand })
        }
        Instruction::Csr { change, rd, csr, operand } => {
            let (value, nothing) = match operand {
                CsrOperand::Register(source) => (read(source), source.is_zero()),
                CsrOperand::Immediate(value) => (u64::from(value), value == 0),
            };
            let operand = (change == CsrChange::Write || !nothing).then_some(value);
            act(Action::Csr { change, rd, csr, operand })
        }
        Instruction::Ecall => act(Action::Ecall),
        Instruction::Ebreak => act(Action::Ebreak),
        Instruction::Wfi => act(Action::Wfi),
        Instruction::Mret => act(Action::Mret),
    }
}

impl Instruction {
    /// The annotations of its access to memory: acquire, and release. They are not always the bits: `lr` with
    /// rl alone and `sc` with aq alone have none.
    ///
    /// Source: the manual, chapter "RVWMO Memory Consistency Model", section "Memory Model Primitives": "An
    /// AMO or LR instruction with aq set has an acquire-RCsc annotation. An AMO or SC instruction with rl set
    /// has a release-RCsc annotation. An AMO, LR, or SC instruction with both aq and rl set has both".
    #[must_use]
    pub const fn annotations(&self) -> (bool, bool) {
        match *self {
            Self::LoadReserved { acquire, release, .. } => (acquire, acquire && release),
            Self::StoreConditional { acquire, release, .. } => (acquire && release, release),
            Self::Amo { acquire, release, .. } => (acquire, release),
            _ => (false, false),
        }
    }
}

impl Condition {
    /// Whether it holds between these two.
    #[must_use]
    pub const fn holds(self, left: u64, right: u64) -> bool {
        match self {
            Self::Equal => left == right,
            Self::NotEqual => left != right,
            Self::Less => (left as i64) < (right as i64),
            Self::GreaterOrEqual => (left as i64) >= (right as i64),
            Self::LessUnsigned => left < right,
            Self::GreaterOrEqualUnsigned => left >= right,
        }
    }
}

impl Arithmetic {
    /// Whether the base instruction set has it, and not the M extension.
    #[must_use]
    pub const fn is_of_the_base(self) -> bool {
        (self as u8) < (Self::Multiply as u8)
    }

    /// The result on 64 bits, or, if `word`, on the low 32 bits, sign extended. Dividing by 0 and the
    /// quotient that does not fit have the results that the M extension gives them; of a shift, only the low
    /// 6 (or 5) bits count.
    #[must_use]
    pub const fn compute(self, word: bool, left: u64, right: u64) -> u64 {
        if word {
            // The operands as 64-bit numbers of the right sign: then the results on 64 bits end in those on
            // 32.
            let unsigned = matches!(self, Self::DivideUnsigned | Self::RemainderUnsigned | Self::ShiftRight);
            let left = Width::Word.extend(left, !unsigned);
            let right = Width::Word.extend(right, !unsigned);
            let right = if self.is_shift() { right & 31 } else { right };
            return Width::Word.extend(self.double(left, right), true);
        }
        self.double(left, right)
    }

    const fn double(self, left: u64, right: u64) -> u64 {
        let (signed_left, signed_right) = (left as i64, right as i64);
        let shift = (right & 63) as u32;
        match self {
            Self::Add => left.wrapping_add(right),
            Self::Subtract => left.wrapping_sub(right),
            Self::ShiftLeft => left << shift,
            Self::SetLess => (signed_left < signed_right) as u64,
            Self::SetLessUnsigned => (left < right) as u64,
            Self::Xor => left ^ right,
            Self::ShiftRight => left >> shift,
            Self::ShiftRightArithmetic => (signed_left >> shift) as u64,
            Self::Or => left | right,
            Self::And => left & right,
            Self::Multiply => left.wrapping_mul(right),
            Self::MultiplyHigh => ((signed_left as i128 * signed_right as i128) >> 64) as u64,
            Self::MultiplyHighSignedUnsigned => ((signed_left as i128 * right as i128) >> 64) as u64,
            Self::MultiplyHighUnsigned => ((left as u128 * right as u128) >> 64) as u64,
            Self::Divide if right == 0 => u64::MAX,
            Self::Divide => signed_left.wrapping_div(signed_right) as u64,
            Self::DivideUnsigned if right == 0 => u64::MAX,
            Self::DivideUnsigned => left / right,
            Self::Remainder | Self::RemainderUnsigned if right == 0 => left,
            Self::Remainder => signed_left.wrapping_rem(signed_right) as u64,
            Self::RemainderUnsigned => left % right,
        }
    }
}

impl Atomic {
    /// What memory holds after the operation, cut to `width`; of `memory` and `operand` only that many bytes
    /// count.
    #[must_use]
    pub const fn apply(self, width: Width, memory: u64, operand: u64) -> u64 {
        let (old, new) = (width.extend(memory, true) as i64, width.extend(operand, true) as i64);
        let (memory, operand) = (width.truncate(memory), width.truncate(operand));
        let result = match self {
            Self::Swap => operand,
            Self::Add => memory.wrapping_add(operand),
            Self::Xor => memory ^ operand,
            Self::And => memory & operand,
            Self::Or => memory | operand,
            Self::Minimum => (if old < new { old } else { new }) as u64,
            Self::Maximum => (if old > new { old } else { new }) as u64,
            Self::MinimumUnsigned if memory < operand => memory,
            Self::MaximumUnsigned if memory > operand => memory,
            Self::MinimumUnsigned | Self::MaximumUnsigned => operand,
        };
        width.truncate(result)
    }
}

impl CsrChange {
    /// What the register is told to hold, from what it held and the operand.
    #[must_use]
    pub const fn apply(self, held: u64, operand: u64) -> u64 {
        match self {
            Self::Write => operand,
            Self::Set => held | operand,
            Self::Clear => held & !operand,
        }
    }
}

/// The registers that an instruction reads and writes, by what they are for. Dependencies follow from these.
/// x0 is never among them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Uses {
    /// Read, and part of the address of an access to memory.
    pub address: Option<Register>,
    /// Read otherwise: operands, what is stored, what a branch compares, where `jalr` goes.
    pub values: [Option<Register>; 2],
    /// Written.
    pub written: Option<Register>,
}

impl Uses {
    /// Of this instruction.
    #[must_use]
    pub fn of(instruction: &Instruction) -> Self {
        let (address, values, written) = match *instruction {
            Instruction::Lui { rd, .. } | Instruction::Auipc { rd, .. } | Instruction::Jal { rd, .. } => {
                (None, [None, None], Some(rd))
            }
            Instruction::Jalr { rd, base, .. } => (None, [Some(base), None], Some(rd)),
            Instruction::Branch { left, right, .. } => (None, [Some(left), Some(right)], None),
            Instruction::Load { rd, base, .. } => (Some(base), [None, None], Some(rd)),
            Instruction::Store { source, base, .. } => (Some(base), [Some(source), None], None),
            Instruction::Immediate { rd, left, .. } => (None, [Some(left), None], Some(rd)),
            Instruction::Registers { rd, left, right, .. } => (None, [Some(left), Some(right)], Some(rd)),
            Instruction::LoadReserved { rd, address, .. } => (Some(address), [None, None], Some(rd)),
            Instruction::StoreConditional { rd, source, address, .. }
            | Instruction::Amo { rd, source, address, .. } => (Some(address), [Some(source), None], Some(rd)),
            Instruction::Csr { rd, operand: CsrOperand::Register(source), .. } => {
                (None, [Some(source), None], Some(rd))
            }
            Instruction::Csr { rd, operand: CsrOperand::Immediate(_), .. } => (None, [None, None], Some(rd)),
            Instruction::Fence { .. }
            | Instruction::FenceTso
            | Instruction::FenceI
            | Instruction::Ecall
            | Instruction::Ebreak
            | Instruction::Wfi
            | Instruction::Mret => (None, [None, None], None),
        };
        let real = |register: Option<Register>| register.filter(|register| !register.is_zero());
        Self { address: real(address), values: values.map(real), written: real(written) }
    }
}
