//! Addresses and numbers as a person reads them.

use crate::answer::{BootPlace, Hex, Planted};
use crate::image::Image;
use crate::isa::{Width, csr};
use crate::unset::{UNSET, unset_control};
use tenbin_model::lines::Lines;

/// Numbers below this are shown as such, whatever else they might be.
const SMALL: u64 = 1 << 12;

/// What the file says of its addresses.
#[derive(Clone, Copy)]
pub(crate) struct Names<'a> {
    pub(crate) image: &'a Image,
    pub(crate) lines: &'a Lines,
}

impl Names<'_> {
    pub(crate) fn of(&self, address: u64) -> String {
        label(self.image, address)
    }

    /// The line that an instruction comes from: `slots.S:9`.
    pub(crate) fn source(&self, pc: u64) -> Option<String> {
        self.lines.of(pc).map(|(file, line)| format!("{}:{line}", shown(file)))
    }

    /// The name of an instruction's place, and its line where it is known.
    pub(crate) fn place(&self, pc: u64) -> String {
        match self.source(pc) {
            None => self.of(pc),
            Some(source) => format!("{} ({source})", self.of(pc)),
        }
    }

    pub(crate) fn places(&self, pcs: &[u64]) -> Vec<BootPlace> {
        let instruction = |pc| self.image.fetch(pc).map(|it| it.instruction.at(pc).to_string());
        let place = |&pc: &u64| BootPlace {
            pc: Hex(pc),
            place: self.place(pc),
            instruction: instruction(pc).unwrap_or_default(),
        };
        pcs.iter().map(place).collect()
    }

    /// What so many bytes hold: small numbers as they are, addresses by their names, others in hexadecimal.
    pub(crate) fn value(&self, bytes: u32, value: u64) -> String {
        let of_size = |width: &Width| width.bytes() == u64::from(bytes);
        let width = Width::ALL.into_iter().find(of_size).unwrap_or(Width::Double);
        let negative = width.extend(value, true).wrapping_neg();
        if let Some(unset) = unset(value).filter(|_| bytes == 8) {
            unset
        } else if value < SMALL {
            value.to_string()
        } else if (1..=SMALL).contains(&negative) {
            format!("-{negative}")
        } else if bytes == 8 {
            self.of(value)
        } else {
            format!("{value:#x}")
        }
    }
}

/// What stands for what nobody set, in words.
pub(crate) fn unset(value: u64) -> Option<String> {
    match (value, unset_control(value)) {
        (UNSET, _) => Some("what nobody set".to_owned()),
        (_, Some(csr)) => Some(format!("what {} holds at first", csr::label(&csr))),
        _ => None,
    }
}

/// A symbol, with a distance where it is not its beginning: `order+8`. The address itself where there is
/// none.
pub(crate) fn label(image: &Image, address: u64) -> String {
    match image.name_of(address) {
        None => format!("{address:#x}"),
        Some((symbol, 0)) => shown(&symbol.name),
        Some((symbol, distance)) => format!("{}+{distance}", shown(&symbol.name)),
    }
}

/// A word of memory that holds this before the first instruction.
pub(crate) fn planted(image: &Image, address: u64, bytes: u32, value: u64) -> Planted {
    Planted { address: Hex(address), name: label(image, address), bytes, value: Hex(value) }
}

/// A name from a file, without what would move a terminal's cursor.
pub(crate) fn shown(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}
