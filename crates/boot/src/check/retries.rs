//! Loops that try a store-conditional again, and which of them the architecture promises to succeed.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, 20240411, chapter "A", section "Eventual Success of
//! Store-Conditional Instructions".

use crate::isa::Instruction;
use crate::operational::program::AnnotatedInstruction;

/// The `lr` of every loop that tries a store-conditional again and is no constrained LR/SC loop. The lines
/// stand in the order of their addresses.
pub(super) fn unconstrained(lines: &[(u64, AnnotatedInstruction)]) -> Vec<u64> {
    let mut reserves = Vec::new();
    for (place, (_, line)) in lines.iter().enumerate() {
        if let Instruction::StoreConditional { .. } = line.instruction
            && let Some((reserve, false)) = constrained(lines, place)
            && !reserves.contains(&reserve)
        {
            reserves.push(reserve);
        }
    }
    reserves
}

/// Instructions that a constrained LR/SC loop may have.
const MOST_CONSTRAINED: usize = 16;

/// Instructions behind a store-conditional that are searched for the branch that tries again.
const NEAR: usize = 16;

/// The `lr` of the loop around the store-conditional at this place, if one follows, and whether that is a
/// constrained LR/SC loop: at most 16 instructions in a row, of the base set, that neither access memory nor
/// jump back between the two.
fn constrained(lines: &[(u64, AnnotatedInstruction)], place: usize) -> Option<(u64, bool)> {
    let follows = |at: usize| lines[at - 1].0 + lines[at - 1].1.length == lines[at].0;
    let target = |at: usize| match lines[at].1.instruction {
        Instruction::Branch { offset, .. } | Instruction::Jal { offset, .. } => {
            Some(lines[at].0.wrapping_add_signed(offset))
        }
        _ => None,
    };
    let behind = (place + 1..lines.len()).take(NEAR).take_while(|&at| follows(at));
    // The nearest way back to before the `lr`.
    let (first, last, reserve) = behind.into_iter().find_map(|last| {
        let first = lines.binary_search_by_key(&target(last)?, |line| line.0).ok()?;
        let is_reserve = |&at: &usize| matches!(lines[at].1.instruction, Instruction::LoadReserved { .. });
        let reserve = (first..place).rev().find(is_reserve)?;
        Some((first, last, reserve))
    })?;
    let in_a_row = (first + 1..=last).all(follows);
    let is_simple = |at: usize| match lines[at].1.instruction {
        Instruction::LoadReserved { .. } | Instruction::StoreConditional { .. } => {
            at == reserve || at == place
        }
        Instruction::Immediate { .. }
        | Instruction::Lui { .. }
        | Instruction::Auipc { .. }
        | Instruction::Branch { .. } => true,
        Instruction::Registers { op, .. } => op.is_of_the_base(),
        Instruction::Jal { offset, .. } => offset > 0 || !(reserve..place).contains(&at),
        _ => false,
    };
    let is_constrained = in_a_row && last - first < MOST_CONSTRAINED && (first..=last).all(is_simple);
    Some((lines[reserve].0, is_constrained))
}
