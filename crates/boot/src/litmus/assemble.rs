//! One line of a hart's column to one instruction. On top of GNU's syntax, herd knows `.aq` and `.rl` on
//! ordinary loads and stores, and numbers longer than an encoding could hold.

use super::scan::number_of;
use super::{FIRST_ADDRESS, Statement};
use crate::isa::{Arithmetic, Instruction, Register, assembly};

/// Reads one line. `label` gives the distance in bytes to a label.
pub(super) fn assemble(text: &str, label: &dyn Fn(&str) -> Option<i64>) -> Result<Statement, String> {
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mnemonic = mnemonic.to_ascii_lowercase();
    if let Some(instruction) = long_number(&mnemonic, operands) {
        return checked(text, Statement { instruction, acquire: false, release: false });
    }
    let (stem, acquire, release) = annotated(&mnemonic);
    let statement = match stem {
        "lb" | "lbu" | "lh" | "lhu" | "lw" | "lwu" | "ld" | "sb" | "sh" | "sw" | "sd" => {
            let instruction = parsed(&format!("{stem} {operands}"), label)?;
            Statement { instruction, acquire, release }
        }
        _ => Statement { instruction: parsed(text, label)?, acquire: false, release: false },
    };
    checked(text, statement)
}

fn parsed(text: &str, label: &dyn Fn(&str) -> Option<i64>) -> Result<Instruction, String> {
    assembly::parse(text, label).map_err(|error| format!("`{}`: {error}", text.trim()))
}

/// The mnemonic without its annotation, and which of the two it had.
fn annotated(mnemonic: &str) -> (&str, bool, bool) {
    const SUFFIXES: &[(&str, bool, bool)] =
        &[(".aq.rl", true, true), (".aqrl", true, true), (".aq", true, false), (".rl", false, true)];
    for &(suffix, acquire, release) in SUFFIXES {
        if let Some(stem) = mnemonic.strip_suffix(suffix) {
            return (stem, acquire, release);
        }
    }
    (mnemonic, false, false)
}

/// `li`, and `ori` and `addi` of x0, with any number, as one instruction.
fn long_number(mnemonic: &str, operands: &str) -> Option<Instruction> {
    let operands = operands.split(',').map(str::trim).collect::<Vec<_>>();
    let (rd, left, number) = match (mnemonic, operands.as_slice()) {
        ("li", &[rd, number]) => (rd, "x0", number),
        ("ori" | "addi", &[rd, left, number]) => (rd, left, number),
        _ => return None,
    };
    let (rd, left) = (Register::named(rd)?, Register::named(left)?);
    let value = number_of(number)? as i64;
    let op = Arithmetic::Add;
    left.is_zero().then_some(Instruction::Immediate { op, word: false, rd, left, value })
}

/// Refuses numbers that could be taken for a location's address.
fn checked(text: &str, statement: Statement) -> Result<Statement, String> {
    let (Instruction::Immediate { value, .. } | Instruction::Lui { value, .. }) = statement.instruction
    else {
        return Ok(statement);
    };
    let first = FIRST_ADDRESS.cast_signed();
    if (first..first + super::ADDRESSES.cast_signed()).contains(&value) {
        return Err(format!("`{text}`: {value:#x} is in the range of the locations' addresses"));
    }
    Ok(statement)
}
