//! What a follower must know of instructions.

use tenbin_boot::image::Image;
use tenbin_boot::isa::Instruction;

/// What must be known of an instruction to follow it. Registers are numbers, 0 to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Code {
    /// Its length in bytes.
    pub(super) length: u64,
    /// What it does beyond its hart.
    pub(super) kind: CodeKind,
}

/// What an instruction does beyond its hart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CodeKind {
    /// Nothing.
    Plain,
    /// It is `wfi`.
    Wait,
    /// It reads memory at `base` + `offset` into `target`, sign extended if `signed`.
    Load {
        /// Register for what is read.
        target: u8,
        /// Register of the address.
        base: u8,
        /// Bytes from there.
        offset: i64,
        /// Whether the sign is extended.
        signed: bool,
    },
    /// It writes the low bytes of `source` to memory at `base` + `offset`.
    Store {
        /// Register of what is written.
        source: u8,
        /// Register of the address.
        base: u8,
        /// Bytes from there.
        offset: i64,
    },
    /// It reads memory at `base` into `target`, sign extended, and writes there.
    Swap {
        /// Register for what is read.
        target: u8,
        /// Register of the address.
        base: u8,
    },
    /// It is a store-conditional of `source` at `base`; `target` says whether it failed.
    Conditional {
        /// Register for 0 or 1.
        target: u8,
        /// Register of what is written.
        source: u8,
        /// Register of the address.
        base: u8,
    },
}

impl Code {
    /// The instruction at an address.
    pub(super) fn at(image: &Image, pc: u64) -> Option<Self> {
        let decoded = image.fetch(pc).ok()?;
        let kind = match decoded.instruction {
            Instruction::Load { signed, rd, base, offset, .. } => {
                CodeKind::Load { target: rd.number(), base: base.number(), offset, signed }
            }
            Instruction::LoadReserved { rd, address, .. } => {
                CodeKind::Load { target: rd.number(), base: address.number(), offset: 0, signed: true }
            }
            Instruction::Store { source, base, offset, .. } => {
                CodeKind::Store { source: source.number(), base: base.number(), offset }
            }
            Instruction::StoreConditional { rd, source, address, .. } => {
                CodeKind::Conditional { target: rd.number(), source: source.number(), base: address.number() }
            }
            Instruction::Amo { rd, address, .. } => {
                CodeKind::Swap { target: rd.number(), base: address.number() }
            }
            Instruction::Wfi => CodeKind::Wait,
            _ => CodeKind::Plain,
        };
        Some(Self { length: decoded.length, kind })
    }
}
