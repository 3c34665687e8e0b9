//! Litmus tests: a few instructions a hart, and a question about what they leave behind.
//!
//! [`decide`] says of files of tests what each may end with. [`Test::read`] reads herd's format for RISC-V: a
//! header, an initial state in braces, a column of instructions for each hart, `locations`, `filter`, and a
//! condition under `exists`, `~exists`, `forall` or `observed`.
//!
//! Every location that a test names gets an address of its own, [`SPACING`] bytes from the next. The values
//! of registers are then plain numbers, and an address is told from another number when it is printed. A test
//! that names a number in the range of the addresses is refused, so that the two cannot be mistaken.
//!
//! Source of the format: the sources of herdtools7 (`lib/RISCVParser.mly`), and the documentation of diy7.

mod answer;
mod assemble;
mod condition;
mod decide;
mod initial;
#[cfg(test)]
pub(crate) mod random;
mod read;
mod scan;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

pub use answer::{Decided, Litmus, Settled, Tried};
pub use condition::{Observable, Proposition, Quantifier, Question};
pub use decide::{File, decide};

use crate::isa::{Instruction, Width};

/// The address of a test's first location.
pub const FIRST_ADDRESS: u64 = 0x5a3c_0000;

/// Bytes from one location's address to the next one's.
pub const SPACING: u64 = 0x100;

/// Bytes in which addresses lie, those of code too: numbers in this range cannot be told from them.
const ADDRESSES: u64 = 0x200_0000;

/// Whether a number may be an address.
fn is_address(number: u64) -> bool {
    (FIRST_ADDRESS..FIRST_ADDRESS + ADDRESSES).contains(&number)
}

/// The address of a hart's code: behind the locations, with room for more instructions than a file may have.
pub(crate) const fn code(hart: usize) -> u64 {
    FIRST_ADDRESS + 0x10_0000 * (1 + hart as u64)
}

/// A litmus test.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Test {
    /// The name in the header.
    pub name: String,
    /// The locations in memory, by address.
    pub places: Vec<Location>,
    /// What each hart runs, hart 0 first.
    pub threads: Vec<Thread>,
    /// What an outcome consists of: what the condition and `locations` name, in the order in which they do.
    pub observed: Vec<Observable>,
    /// Executions that break it are not looked at.
    pub filter: Option<Proposition>,
    /// What is asked.
    pub question: Question,
}

/// A location in memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Location {
    /// Its name in the test.
    pub name: String,
    /// Where it is.
    pub address: u64,
    /// What its eight bytes hold at first.
    pub initial: u64,
    /// Its type, where the test declares one.
    pub kind: Option<ValueType>,
}

/// The type of a location: how wide it is, and whether its sign is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueType {
    /// Its bytes.
    pub width: Width,
    /// Whether it is a signed one.
    pub signed: bool,
}

impl ValueType {
    /// What a location has that is not declared, unless the test has 8 bytes of it.
    const INT: Self = Self { width: Width::Word, signed: true };

    /// … and where it has.
    const LONG: Self = Self { width: Width::Double, signed: true };

    /// A value as it is in such a location, on 64 bits.
    #[must_use]
    pub const fn of(self, value: u64) -> u64 {
        self.width.extend(value, self.signed)
    }
}

/// What one hart runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Thread {
    /// Its instructions, four bytes each. Going to the end ends it.
    pub program: Vec<Statement>,
    /// What its registers hold at first; x0 holds 0.
    pub registers: [u64; 32],
}

/// An instruction of a litmus test.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Statement {
    /// The instruction. The immediate of an addition may be longer than an encoding could hold (`li`).
    pub instruction: Instruction,
    /// `.aq` on an ordinary load or store, which no encoding has and herd knows (acquire, processor
    /// consistent).
    pub acquire: bool,
    /// `.rl` on an ordinary load or store.
    pub release: bool,
}

/// What a test's observables were in the end, in the order of [`Test::observed`].
pub type Outcome = Vec<u64>;

/// Why a text is not a litmus test that can be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {reason}")]
pub struct ReadError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub reason: String,
}

impl Test {
    /// Reads herd's format.
    ///
    /// # Errors
    /// Where the text is not in that format, or uses what is not supported, with the line.
    pub fn read(text: &str) -> Result<Self, ReadError> {
        read::test(text)
    }

    /// The location that the eight bytes at `address` belong to.
    #[must_use]
    pub fn place_at(&self, address: u64) -> Option<&Location> {
        let index = address.checked_sub(FIRST_ADDRESS)? / SPACING;
        self.places.get(usize::try_from(index).ok()?)
    }

    /// What the bytes at `address` hold at first, 0 where there is no location.
    #[must_use]
    pub fn initial(&self, address: u64, width: Width) -> u64 {
        let Some(place) = self.place_at(address) else { return 0 };
        let bits = u32::try_from(8 * (address - place.address)).unwrap_or(u32::MAX);
        width.truncate(place.initial.checked_shr(bits).unwrap_or(0))
    }

    /// Whether an access of this width may go to this address: it lies in one location, at a multiple of its
    /// width.
    #[must_use]
    pub fn fits(&self, address: u64, width: Width) -> bool {
        let Some(place) = self.place_at(address) else { return false };
        let (offset, bytes) = (address - place.address, width.bytes());
        // Of a location that is not declared, only an access to all of it may be wider than an int.
        let whole = place.kind.map_or(if offset == 0 { 8 } else { 4 }, |kind| kind.width.bytes());
        offset.is_multiple_of(bytes) && offset + bytes <= whole
    }

    /// The types of the locations, by their indices, where these accesses are made.
    #[must_use]
    pub fn kinds(&self, accesses: &BTreeMap<u64, Width>) -> Vec<ValueType> {
        let kind = |place: &Location| {
            let is_wide = accesses.get(&place.address) == Some(&Width::Double);
            let is_long = is_wide || ValueType::INT.of(place.initial) != place.initial;
            place.kind.unwrap_or(if is_long { ValueType::LONG } else { ValueType::INT })
        };
        self.places.iter().map(kind).collect()
    }

    /// A value as the test would write it: a location's name, else a signed number.
    #[must_use]
    pub fn value(&self, value: u64) -> String {
        match self.place_at(value) {
            Some(place) if place.address == value => place.name.clone(),
            Some(place) => format!("{}+{}", place.name, value - place.address),
            None => value.cast_signed().to_string(),
        }
    }

    /// A value of this observable: of a location whose type has no sign, without one.
    fn value_of(&self, observable: Observable, value: u64) -> String {
        let is_unsigned = match observable {
            Observable::Memory { place } => self.places[place].kind.is_some_and(|kind| !kind.signed),
            Observable::Register { .. } => false,
        };
        if is_unsigned && self.place_at(value).is_none() { value.to_string() } else { self.value(value) }
    }

    /// An observable as the test would write it, `1:x5` or `x`.
    #[must_use]
    pub fn observable(&self, observable: Observable) -> String {
        match observable {
            Observable::Register { thread, register } => format!("{thread}:x{}", register.number()),
            Observable::Memory { place } => self.places[place].name.clone(),
        }
    }

    /// A proposition as the test would write it: `1:x5=1 /\ 1:x7=0`, with no more parentheses than it needs.
    #[must_use]
    pub fn proposition(&self, proposition: &Proposition) -> String {
        match proposition {
            Proposition::Constant(constant) => constant.to_string(),
            Proposition::Equal(observable, value) => {
                format!("{}={}", self.observable(*observable), self.value_of(*observable, *value))
            }
            // A bare name on the right is a location's address.
            Proposition::Same(left, right @ Observable::Memory { .. }) => {
                format!("{}=[{}]", self.observable(*left), self.observable(*right))
            }
            Proposition::Same(left, right) => {
                format!("{}={}", self.observable(*left), self.observable(*right))
            }
            Proposition::Not(other) => format!("~({})", self.proposition(other)),
            Proposition::All(all) => self.joined(all, " /\\ ", "true"),
            Proposition::Any(any) => self.joined(any, " \\/ ", "false"),
        }
    }

    /// Several propositions with a sign between them; `none` where there is not one.
    fn joined(&self, several: &[Proposition], sign: &str, none: &str) -> String {
        let each = |proposition: &Proposition| match proposition {
            Proposition::All(more) | Proposition::Any(more) if more.len() > 1 => {
                format!("({})", self.proposition(proposition))
            }
            _ => self.proposition(proposition),
        };
        match several {
            [] => none.to_owned(),
            several => several.iter().map(each).collect::<Vec<_>>().join(sign),
        }
    }

    /// An outcome as herd prints it: `1:x5=1; 1:x7=0;`
    #[must_use]
    pub fn outcome(&self, outcome: &Outcome) -> String {
        let each = |(&observable, &value): (&Observable, &u64)| {
            format!("{}={};", self.observable(observable), self.value_of(observable, value))
        };
        self.observed.iter().zip(outcome).map(each).collect::<Vec<_>>().join(" ")
    }
}
