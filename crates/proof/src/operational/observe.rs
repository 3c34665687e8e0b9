//! What code does with numbers: by that it is known which of all that undetermined memory may hold matter.

use super::program::{Inverse, Program};
use crate::isa::execute::{Action, execute};
use crate::isa::{Arithmetic, Atomic, Condition, Decoded, Instruction, Register, Width};

/// Tells the program what an instruction compares, and what it computes of what.
pub(super) fn observe(program: &dyn Program, decoded: &Decoded, pc: u64, get: impl Fn(Register) -> u64) {
    let get = |register: Register| if register.is_zero() { 0 } else { get(register) };
    let computes = |op: Arithmetic, word: bool, left: u64, right: u64| {
        let Action::Write(_, result) = execute(decoded, pc, get).action else { return };
        let loses = |result| {
            program.computes(left, result, None);
            program.computes(right, result, None);
        };
        match op {
            // What was cut off is not known from the result.
            Arithmetic::Add if word && result != left.wrapping_add(right) => loses(result),
            Arithmetic::Subtract if word && result != left.wrapping_sub(right) => loses(result),
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
            _ => loses(result),
        }
    };
    match decoded.instruction {
        Instruction::Branch { when: Condition::Equal | Condition::NotEqual, left, right, .. } => {
            program.compares(get(left), get(right));
        }
        Instruction::Branch { left, right, .. } => program.orders(get(left), get(right)),
        Instruction::Immediate { op, word, left, value, .. } => {
            computes(op, word, get(left), value.cast_unsigned());
        }
        Instruction::Registers { op, word, left, right, .. } => computes(op, word, get(left), get(right)),
        _ => {}
    }
}

/// Tells the program what an atomic operation makes of what it reads.
pub(super) fn observe_atomic(program: &dyn Program, op: Atomic, width: Width, read: u64, operand: u64) {
    if op == Atomic::Swap {
        return;
    }
    let result = op.apply(width, read, operand);
    for signed in [true, false] {
        let inverse = match op {
            Atomic::Add => Some(Inverse::Less(operand)),
            Atomic::Xor => Some(Inverse::Xor(operand)),
            _ => None,
        };
        program.computes(width.extend(read, signed), width.extend(result, signed), inverse);
    }
}
