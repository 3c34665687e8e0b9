//! What the operational model asks of a program: its code, its memory, and what its places mean.

use crate::axiomatic::Model;
use crate::isa::{Arithmetic, Instruction, Register, Width};

/// A machine's code and memory before the first instruction.
pub(crate) trait Program {
    fn model(&self) -> Model;

    /// How many instructions of a hart may be begun and not performed.
    fn window(&self) -> u32;

    fn start(&self, hart: u8) -> (u64, [u64; 32]);

    fn at(&self, pc: u64) -> Fetched;

    fn constant(&self, address: u64, width: Width) -> Option<u64>;

    fn region(&self, address: u64) -> Region;

    /// The registers, as bits, whose values may still be read by a hart that stands at this address.
    fn live(&self, pc: u64) -> u32;

    fn landmarks(&self, _pc: u64) -> LandmarksAt {
        LandmarksAt::default()
    }

    /// Whether a place in the code says which hart boots.
    fn knows_who_boots(&self) -> bool {
        false
    }

    /// Whether a register that holds what it must not on arrival is to be noted.
    fn is_as_expected(&self, _hart: u8, _registers: &[u64; 32]) -> bool {
        true
    }

    /// Whether the boot hart is to clear this memory.
    fn is_to_clear(&self, _address: u64) -> bool {
        false
    }

    /// The stack pointer of a hart that has arrived, as far as it matters.
    fn stack(&self, registers: &[u64; 32]) -> u64 {
        registers[2]
    }

    /// Whether no other hart accesses these 8 bytes, and the hart itself only ever all of them, by loads and
    /// stores. Nobody else can tell then in which order it does.
    fn is_own(&self, _address: u64) -> bool {
        false
    }

    /// Told of an access that is performed; `whole`, if it is a load or store of 8 bytes that tells nobody
    /// anything.
    fn accesses(&self, _hart: u8, _address: u64, _whole: bool) {}

    /// Told that a load of these 8 bytes needs a part of what an older store of its hart puts there, which
    /// matters if it is `shared`, or that a store-conditional goes to a part of what is reserved.
    fn mixes(&self, _address: u64, _shared: bool) {}

    /// Told whether what is compared, computed, decided, seen, mixed and written from now on is so in some
    /// run.
    fn follows(&self, _a_run: bool) {}

    /// Told that `result` is computed of a number, and what that one must be for another result, if it can be
    /// told.
    fn computes(&self, _from: u64, _result: u64, _inverse: Option<Inverse>) {}

    fn relates(&self, _left: u64, _right: u64) {}

    fn writes(&self, _address: u64, _width: Width) {}

    /// Told of a load of memory that nothing determines at first.
    fn looks(&self, _address: u64, _width: Width) {}

    /// Told of a load that sees a part of what the 8 bytes around an address hold.
    fn sees(&self, _address: u64, _width: Width, _held: Word) {}

    /// All that the 8 bytes around an address may hold as soon as a load looks at some of them, where nothing
    /// determines that yet.
    fn garbage(&self, _address: u64, _width: Width, _held: Word) -> Vec<u64> {
        Vec::new()
    }

    /// What this control and status register holds at first, where that is known.
    fn control(&self, _csr: u16) -> Option<u64> {
        None
    }

    /// Told that the instruction at this address reads what a control and status register holds at first,
    /// which is not known.
    fn reads_unset(&self, _pc: u64, _csr: u16) {}

    /// Where the jump through a register at this address may lead: at least where it does in some run.
    fn targets(&self, _pc: u64) -> Vec<u64> {
        Vec::new()
    }

    /// Told that a jump through a register leads from one address to another.
    fn jumps(&self, _from: u64, _to: u64) {}

    /// Told that it is asked whether two numbers are the same.
    fn compares(&self, _left: u64, _right: u64) {}

    /// Told that it is asked which of two numbers is the smaller one.
    fn orders(&self, _left: u64, _right: u64) {}

    /// Told that the way of a hart depends on these numbers, at this address.
    fn decides(&self, _pc: u64, _left: u64, _right: u64) {}
}

/// What a number was, by what was computed of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Inverse {
    /// The result less this.
    Less(u64),
    /// This less the result.
    From(u64),
    /// The result with these bits changed.
    Xor(u64),
    /// What this operation, of the number and the operand, leaves of it.
    Undo {
        op: Arithmetic,
        /// On 32 bits.
        word: bool,
        operand: u64,
        /// What the number was: bits that do not reach the result stay.
        kept: u64,
    },
}

impl Inverse {
    /// What gives this result; none if nothing does, or if it is not known what.
    pub(crate) fn of(self, result: u64) -> Option<u64> {
        let (op, word, operand, kept) = match self {
            Self::Less(part) => return Some(result.wrapping_sub(part)),
            Self::From(whole) => return Some(whole.wrapping_sub(result)),
            Self::Xor(bits) => return Some(result ^ bits),
            Self::Undo { op, word, operand, kept } => (op, word, operand, kept),
        };
        let bits = if word { 32 } else { 64 };
        let shift = operand as u32 & (bits - 1);
        let low = |bits: u32| 1_u64.checked_shl(bits).map_or(u64::MAX, |bit| bit - 1);
        let number = match op {
            Arithmetic::Add => result.wrapping_sub(operand),
            Arithmetic::Subtract => result.wrapping_add(operand),
            Arithmetic::ShiftLeft => (result & low(bits)) >> shift | kept & !low(bits - shift),
            Arithmetic::ShiftRight | Arithmetic::ShiftRightArithmetic => result << shift | kept & low(shift),
            Arithmetic::And => result & operand | kept & !operand,
            Arithmetic::Or => result & !operand | kept & operand,
            Arithmetic::Multiply => result.wrapping_mul(reciprocal(operand)),
            _ => return None,
        };
        let number = if word { number & low(32) | kept & !low(32) } else { number };
        (op.compute(word, number, operand) == result).then_some(number)
    }

    /// Whether other numbers give the same result.
    pub(crate) const fn is_lossy(self) -> bool {
        matches!(self, Self::Undo { .. })
    }
}

/// What an odd number is to be multiplied with to give 1, by Newton's iteration: every step doubles the bits
/// that are right.
fn reciprocal(odd: u64) -> u64 {
    (0..5).fold(odd, |inverse: u64, _| inverse.wrapping_mul(2_u64.wrapping_sub(odd.wrapping_mul(inverse))))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fetched {
    Code(AnnotatedInstruction),
    /// Nothing: the hart ends here, as it should.
    End,
    /// No code.
    Nowhere,
    /// Code that cannot be decoded.
    Undecoded,
}

/// An instruction, with the annotations of its access: those of an atomic one, or of a litmus test's plain
/// ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AnnotatedInstruction {
    pub(crate) instruction: Instruction,
    pub(crate) length: u64,
    pub(crate) acquire: bool,
    pub(crate) release: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Region {
    /// Memory of 8 bytes, aligned: what the file puts there, and the bits that it does.
    Memory(Word),
    /// The software interrupts of the harts: two of them in 8 bytes.
    SoftwareInterrupt,
    Nowhere,
}

/// Eight bytes, as far as they are known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Word {
    /// The value; bits that are not known are 0.
    pub(crate) value: u64,
    /// The bits that are known.
    pub(crate) known: u64,
}

impl Word {
    /// A word that is known whole.
    pub(crate) const fn of(value: u64) -> Self {
        Self { value, known: u64::MAX }
    }
}

/// What coming to an address means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct LandmarksAt {
    /// The goal of a hart that was started.
    pub(crate) arrived: bool,
    /// The goal of the boot hart.
    pub(crate) all_arrived: bool,
    pub(crate) primary: bool,
    pub(crate) started: bool,
    pub(crate) cleared: bool,
    /// The next store tells a hart to start.
    pub(crate) tells: Option<Tells>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Tells {
    /// The hart whose number is in a0.
    One,
    All,
}

/// A register in a set of them.
pub(crate) fn bit(register: Register) -> u32 {
    1 << register.number()
}
