//! Words of a hart's own, which no other hart touches.

use super::local::Local;
use super::program::{Program, Region};
use crate::isa::{Instruction, Width};

/// What a hart's own word holds that this plain access goes to, if it is one and that is known. Of a store,
/// anything.
pub(super) fn own(
    program: &dyn Program,
    local: &Local,
    instruction: &Instruction,
    address: u64,
    width: Width,
) -> Option<u64> {
    let is_plain = matches!(instruction, Instruction::Load { .. } | Instruction::Store { .. });
    let whole = is_plain && width == Width::Double && address.is_multiple_of(8) && local.telling.is_none();
    if !whole || !program.is_own(address) {
        return None;
    }
    if let Some(&held) = local.own.get(&address) {
        return Some(held);
    }
    match (instruction, program.region(address)) {
        (_, Region::SoftwareInterrupt | Region::Nowhere) => None,
        (Instruction::Store { .. }, _) => Some(0),
        (_, Region::Memory(word)) => (word.known == u64::MAX).then_some(word.value),
    }
}
