//! The name of a run: a hash of what it says, not of how it is stored.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::columns::{Columns, NAMES};

/// The name of a run: SHA-256 over its canonical encoding (see `docs/store.md`).
///
/// The same run has the same name in every store, whatever codecs its chunks were written with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId([u8; 32]);

impl RunId {
    /// The first twelve hexadecimal digits: enough to tell runs apart in a table.
    pub fn short(&self) -> String {
        let mut digits = self.to_string();
        digits.truncate(12);
        digits
    }

    /// The name of the run with this document (JSON without samples) and these columns, one set a
    /// cell, in order.
    pub(crate) fn of(document: &[u8], cells: &[Columns]) -> Self {
        let mut hash = Sha256::new();
        hash.update(b"tenbin run 1\n");
        let count = |count: usize| (count as u64).to_le_bytes();
        hash.update(count(document.len()));
        hash.update(document);
        hash.update(count(cells.len()));
        let mut buffer = Vec::with_capacity(8 * 1024);
        for columns in cells {
            for field in 0..NAMES.len() {
                let values = columns.values(field);
                hash.update(count(values.len()));
                for some in values.chunks(1024) {
                    buffer.clear();
                    buffer.extend(some.iter().flat_map(|value| value.to_le_bytes()));
                    hash.update(&buffer);
                }
            }
        }
        Self(hash.finalize().into())
    }
}

/// 64 hexadecimal digits, lower case.
impl fmt::Display for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RunId({self})")
    }
}

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotARunId;

impl fmt::Display for NotARunId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the name of a run is 64 lower-case hexadecimal digits")
    }
}

impl std::error::Error for NotARunId {}

impl FromStr for RunId {
    type Err = NotARunId;

    fn from_str(text: &str) -> Result<Self, NotARunId> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return Err(NotARunId);
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks(2)) {
            let digit = |character: u8| (character as char).to_digit(16).unwrap_or(0) as u8;
            *byte = digit(pair[0]) << 4 | digit(pair[1]);
        }
        Ok(Self(bytes))
    }
}
