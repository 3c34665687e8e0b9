//! Addresses and numbers as a person reads them.

use tenbin_boot::check::{UNSET, unset_control};
use tenbin_boot::image::Image;
use tenbin_boot::isa::{Width, csr};
use tenbin_boot::lines::Lines;
use tenbin_model::boot::{Hex, Planted};

/// Numbers below this are shown as such, whatever else they might be.
const SMALL: u64 = 1 << 12;

/// What the file says of its addresses.
#[derive(Clone, Copy)]
pub(super) struct Names<'a> {
    pub(super) image: &'a Image,
    pub(super) lines: &'a Lines,
}

impl Names<'_> {
    /// A symbol, with a distance where it is not its beginning: `order+8`. The address itself where there is none.
    pub(super) fn of(&self, address: u64) -> String {
        name_of(self.image, address)
    }

    /// The line that an instruction comes from: `slots.S:9`.
    pub(super) fn source(&self, pc: u64) -> Option<String> {
        self.lines.of(pc).map(|(file, line)| format!("{}:{line}", shown(file)))
    }

    /// The name of an instruction's place, and its line where it is known.
    pub(super) fn place(&self, pc: u64) -> String {
        match self.source(pc) {
            None => self.of(pc),
            Some(source) => format!("{} ({source})", self.of(pc)),
        }
    }

    /// What so many bytes hold: small numbers as they are, addresses by their names, others in hexadecimal.
    pub(super) fn value(&self, bytes: u64, value: u64) -> String {
        let widths = [Width::Byte, Width::Half, Width::Word];
        let width = widths.into_iter().find(|width| width.bytes() == bytes).unwrap_or(Width::Double);
        let negative = width.extend(value, true).wrapping_neg();
        if let Some(nobody) = unset(value).filter(|_| bytes == 8) {
            nobody
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

    /// A word of memory that held this before the first instruction.
    pub(super) fn planted(&self, address: u64, bytes: u64, value: u64) -> Planted {
        Planted { address: Hex(address), name: self.of(address), bytes: narrow(bytes), value: Hex(value) }
    }
}

/// What stands for what nobody set, in words.
pub(super) fn unset(value: u64) -> Option<String> {
    match (value, unset_control(value)) {
        (UNSET, _) => Some("what nobody set".to_owned()),
        (_, Some(csr)) => {
            let name = csr::name(csr).map_or(format!("{csr:#x}"), str::to_owned);
            Some(format!("what {name} holds at first"))
        }
        _ => None,
    }
}

/// [`Names::of`], where nothing is known of lines.
pub(in crate::command) fn name_of(image: &Image, address: u64) -> String {
    match image.name_of(address) {
        None => format!("{address:#x}"),
        Some((symbol, 0)) => shown(&symbol.name),
        Some((symbol, distance)) => format!("{}+{distance}", shown(&symbol.name)),
    }
}

/// Bytes of an access, which are 8 at the most.
pub(super) fn narrow(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// A name from a file, without what would move a terminal's cursor.
pub(super) fn shown(name: &str) -> String {
    name.replace(char::is_control, "\u{fffd}")
}
