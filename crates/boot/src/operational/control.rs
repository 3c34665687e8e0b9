//! Control and status registers: which of them are plain storage, what they hold at first, and what of that
//! is known.
//!
//! Source: The RISC-V Instruction Set Manual, volume II, 20240411, section "Reset": of machine mode's state,
//! a reset determines few bits. All others are unspecified, and so are what an implementation says of itself
//! and which bits it lets be written.

use super::local::Local;
use super::program::{Program, Word};
use crate::isa::{CsrChange, Register, csr};
use crate::unset::{UNSET_CONTROL, unset_control};

const SATP: u16 = 0x180;
const MSTATUS: u16 = 0x300;
const MISA: u16 = 0x301;
const MIE: u16 = 0x304;
const MIP: u16 = 0x344;
const MHARTID: u16 = 0xf14;

/// Bits of mstatus: interrupts are taken.
const TAKEN: u64 = 1 << 3;
/// Bits of mstatus by which accesses to memory are another mode's, or of another byte order: MPRV and MBE.
const ACCESSES: u64 = 1 << 17 | 1 << 37;

/// What a hart's register holds; none if no run here can follow an access to it. `is_ignored` if nobody reads
/// it.
pub(super) fn held(program: &dyn Program, local: &Local, csr: u16, is_ignored: bool) -> Option<Word> {
    match csr {
        MHARTID => Some(Word::of(u64::from(local.hart))),
        // Pending interrupts and translation, which machine mode has none of, are written before there is
        // any.
        SATP | MIP if is_ignored => Some(Word::of(0)),
        _ if is_storage(csr) => Some(local.csrs.get(&csr).copied().unwrap_or_else(|| at_first(program, csr))),
        _ => None,
    }
}

fn is_storage(csr: u16) -> bool {
    matches!(csr, 0x300..=0x306 | 0x30a | 0x320 | 0x340..=0x343 | 0x3a0..=0x3ef | 0xf11..=0xf13 | 0xf15)
}

fn at_first(program: &dyn Program, csr: u16) -> Word {
    match (program.control(csr), csr) {
        (Some(value), _) => Word::of(value),
        (None, MSTATUS) => Word { value: 0, known: TAKEN | ACCESSES },
        // What is not locked and not matched.
        (None, 0x3a0..=0x3af) => Word { value: 0, known: 0x9898_9898_9898_9898 },
        (None, _) => Word { value: 0, known: 0 },
    }
}

/// Accesses the register of a hart, for the oldest instruction: what is read; none if that is not followed.
pub(super) fn access(
    program: &dyn Program,
    local: &mut Local,
    pc: u64,
    (change, rd, csr): (CsrChange, Register, u16),
    operand: Option<u64>,
) -> Option<u64> {
    let held = held(program, local, csr, rd.is_zero())?;
    if let Some(operand) = operand {
        let value = changed(csr, change, held, operand);
        if is_read_only(csr) || may_interrupt(csr, value) {
            return None;
        }
        if value == at_first(program, csr) {
            local.csrs.remove(&csr);
        } else {
            local.csrs.insert(csr, value);
        }
    }
    let seen = seen(csr, held);
    if unset_control(seen) == Some(csr) && !rd.is_zero() {
        program.reads_unset(pc, csr);
    }
    Some(seen)
}

/// What it holds when it was changed.
pub(super) fn changed(csr: u16, change: CsrChange, held: Word, operand: u64) -> Word {
    let Word { value, known } = held;
    match change {
        // What an implementation can do is not changed by asking for it.
        _ if csr == MISA => held,
        // What was read of mstatus earlier had interrupts off: other runs are not followed.
        _ if csr == MSTATUS && unset_control(operand) == Some(MSTATUS) => Word { value: 0, known: TAKEN },
        _ if unset_control(operand).is_some() => Word { value: 0, known: 0 },
        CsrChange::Write => Word::of(operand),
        CsrChange::Set => Word { value: value | operand, known: known | operand },
        CsrChange::Clear => Word { value: value & !operand, known: known | operand },
    }
}

/// What a register takes that reads it.
pub(super) fn seen(csr: u16, held: Word) -> u64 {
    if held.known == u64::MAX { held.value } else { UNSET_CONTROL | u64::from(csr) }
}

/// Whether this register can never be written: the two highest bits of its number say so.
fn is_read_only(csr: u16) -> bool {
    csr >> 10 == 3
}

/// Whether a change of this register changes what later accesses to memory do, so that they come behind it.
pub(super) fn changes_accesses(csr: u16, held: Option<Word>, changed: Option<Word>) -> bool {
    match (csr, held, changed) {
        (SATP | 0x3a0..=0x3ef, ..) => true,
        (MSTATUS, Some(held), Some(changed)) => (held.value ^ changed.value | !changed.known) & ACCESSES != 0,
        (MSTATUS, ..) => true,
        _ => false,
    }
}

/// Whether a hart of which mstatus holds this may take interrupts, which is not followed.
fn may_interrupt(csr: u16, held: Word) -> bool {
    csr == MSTATUS && (held.value & TAKEN != 0 || held.known & TAKEN == 0)
}

/// Whether a software interrupt ends a hart's sleep: it has asked for that.
pub(super) fn is_awaited(program: &dyn Program, local: &Local) -> bool {
    held(program, local, MIE, false).is_some_and(|held| held.value & held.known & TAKEN != 0)
}

/// The number of the register of this name, if `Program::control` may give it a value.
pub(crate) fn given(name: &str) -> Option<u16> {
    csr::number(name).filter(|&number| is_storage(number))
}
