//! What code does with numbers: by that it is known which of all that undetermined memory may hold matter.

use super::program::{Inverse, Program};
use crate::isa::execute::{Action, execute};
use crate::isa::{Arithmetic, Atomic, Condition, Decoded, Instruction, Register, Width};

/// Tells the program what an instruction compares, and what it computes of what.
pub(super) fn observe(program: &dyn Program, decoded: &Decoded, pc: u64, get: impl Fn(Register) -> u64) {
    let get = |register: Register| if register.is_zero() { 0 } else { get(register) };
    let computes = |op: Arithmetic, word: bool, left: u64, right: u64| {
        let Action::Write(_, result) = execute(decoded, pc, get).action else { return };
        let undo = |operand, kept| Inverse::Undo { op, word, operand, kept };
        let undoes = |[by_right, by_left]: [bool; 2], result| {
            program.computes(left, result, by_right.then(|| undo(right, left)));
            program.computes(right, result, by_left.then(|| undo(left, right)));
        };
        match op {
            // What was cut off is not known from the result.
            Arithmetic::Add if word && result != left.wrapping_add(right) => undoes([true, true], result),
            Arithmetic::Subtract if word && result != left.wrapping_sub(right) => {
                undoes([true, false], result);
            }
            // A copy.
            Arithmetic::Add if left == 0 || right == 0 => {}
            Arithmetic::Add => {
                program.computes(left, result, Some(Inverse::Less(right)));
                program.computes(right, result, Some(Inverse::Less(left)));
            }
            // Only the same number gives 0.
            Arithmetic::Subtract | Arithmetic::Xor if left == right => {}
            Arithmetic::Subtract => {
                program.computes(left, result, Some(Inverse::Less(right.wrapping_neg())));
                program.computes(right, result, Some(Inverse::From(left)));
            }
            Arithmetic::Xor => {
                program.computes(left, result, Some(Inverse::Xor(right)));
                program.computes(right, result, Some(Inverse::Xor(left)));
            }
            Arithmetic::SetLess | Arithmetic::SetLessUnsigned => program.orders(left, right),
            Arithmetic::And | Arithmetic::Or => undoes([true, true], result),
            Arithmetic::ShiftLeft | Arithmetic::ShiftRight | Arithmetic::ShiftRightArithmetic => {
                undoes([true, false], result);
            }
            // What is multiplied by an even number loses bits at its other end.
            Arithmetic::Multiply => undoes([right % 2 == 1, left % 2 == 1], result),
            _ => undoes([false, false], result),
        }
    };
    match decoded.instruction {
        Instruction::Branch { when: Condition::Equal | Condition::NotEqual, left, right, .. } => {
            if !left.is_zero() && !right.is_zero() && get(left) != get(right) {
                program.relates(get(left), get(right));
            }
            program.compares(get(left), get(right));
        }
        Instruction::Branch { left, right, .. } => program.orders(get(left), get(right)),
        Instruction::Immediate { op, word, left, value, .. } => {
            computes(op, word, get(left), value.cast_unsigned());
        }
        Instruction::Registers { op, word, left, right, .. } => {
            let is_same = get(left) == get(right) && matches!(op, Arithmetic::Subtract | Arithmetic::Xor);
            if !left.is_zero() && !right.is_zero() && !is_same {
                program.relates(get(left), get(right));
            }
            computes(op, word, get(left), get(right));
        }
        _ => {}
    }
}

/// Tells the program what an atomic operation makes of what it reads.
pub(super) fn observe_atomic(program: &dyn Program, op: Atomic, width: Width, read: u64, operand: u64) {
    if op == Atomic::Swap {
        return;
    }
    let result = op.apply(width, read, operand);
    let undo = |op, signed| Inverse::Undo {
        op,
        word: false,
        operand: width.extend(operand, signed),
        kept: width.extend(read, signed),
    };
    for signed in [true, false] {
        let inverse = match op {
            Atomic::Add => Some(Inverse::Less(operand)),
            Atomic::Xor => Some(Inverse::Xor(operand)),
            Atomic::And => Some(undo(Arithmetic::And, signed)),
            Atomic::Or => Some(undo(Arithmetic::Or, signed)),
            _ => None,
        };
        program.computes(width.extend(read, signed), width.extend(result, signed), inverse);
    }
}
