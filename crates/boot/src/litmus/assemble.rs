//! One line of a hart's column to one instruction. On top of GNU's syntax, herd knows `.aq` and `.rl` on
//! ordinary loads and stores, and numbers longer than an encoding could hold.

use super::scan::number_of;
use super::{Statement, is_address};
use crate::isa::{Arithmetic, Instruction, Register, assembly};

/// Reads one line. `label` gives the distance in bytes to a label.
pub(super) fn assemble(text: &str, label: &dyn Fn(&str) -> Option<i64>) -> Result<Statement, String> {
    let (mnemonic, operands) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let mnemonic = mnemonic.to_ascii_lowercase();
    let (stem, acquire, release) = annotated(&mnemonic);
    let (instruction, acquire, release) = match (long_number(&mnemonic, operands), stem) {
        (Some(instruction), _) => (instruction, false, false),
        (_, "lb" | "lbu" | "lh" | "lhu" | "lw" | "lwu" | "ld" | "sb" | "sh" | "sw" | "sd") => {
            (parsed(&format!("{stem} {operands}"), label)?, acquire, release)
        }
        _ => (parsed(text, label)?, false, false),
    };
    // Numbers that could be taken for a location's address are refused.
    if let Instruction::Immediate { value, .. } | Instruction::Lui { value, .. } = instruction
        && is_address(value.cast_unsigned())
    {
        return Err(format!("`{text}`: {value:#x} is in the range of the locations' addresses"));
    }
    Ok(Statement { instruction, acquire, release })
}

fn parsed(text: &str, label: &dyn Fn(&str) -> Option<i64>) -> Result<Instruction, String> {
    assembly::parse(text, label).map_err(|error| format!("`{}`: {error}", text.trim()))
}

/// The mnemonic without its annotation, and which of the two it had.
fn annotated(mnemonic: &str) -> (&str, bool, bool) {
    const SUFFIXES: &[(&str, bool, bool)] =
        &[(".aq.rl", true, true), (".aqrl", true, true), (".aq", true, false), (".rl", false, true)];
    let annotated = SUFFIXES.iter().find_map(|&(suffix, acquire, release)| {
        mnemonic.strip_suffix(suffix).map(|stem| (stem, acquire, release))
    });
    annotated.unwrap_or((mnemonic, false, false))
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
