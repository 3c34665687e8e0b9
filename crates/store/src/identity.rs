//! The names of runs and calibrations: hashes of what they say, not of how they are stored.

use std::fmt;
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::columns::{Columns, NAMES};

/// The name of a run: SHA-256 over its canonical encoding (see `docs/store.md`).
///
/// The same run has the same name in every store, whatever codecs its chunks were written with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(Name);

/// The name of a calibration: SHA-256 over its canonical encoding (see `docs/store.md`), and so the
/// same in every store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CalibrationId(Name);

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a run is 64 lower-case hexadecimal digits")]
pub struct NotARunId;

/// The text is not 64 lower-case hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the name of a calibration is 64 lower-case hexadecimal digits")]
pub struct NotACalibrationId;

impl RunId {
    /// The name of the run with this document (JSON without samples) and these columns, one set a
    /// cell, in order.
    pub(crate) fn of(document: &[u8], cells: &[Columns]) -> Self {
        let mut hash = begin(b"tenbin run 1\n", document);
        hash.update(count(cells.len()));
        let mut buffer = Vec::with_capacity(8 * 1024);
        let mut update = |hash: &mut Sha256, values: &[u64]| {
            hash.update(count(values.len()));
            for some in values.chunks(1024) {
                buffer.clear();
                buffer.extend(some.iter().flat_map(|value| value.to_le_bytes()));
                hash.update(&buffer);
            }
        };
        for columns in cells {
            (0..NAMES.len()).for_each(|field| update(&mut hash, columns.values(field)));
        }
        // Behind all of what every run has, so that runs without metrics keep the names that they had before
        // there were any.
        for (cell, columns) in cells.iter().enumerate() {
            for field in columns.metrics() {
                hash.update(count(cell));
                hash.update(count(field));
                update(&mut hash, columns.values(field));
            }
        }
        Self(Name(hash.finalize().into()))
    }
}

impl CalibrationId {
    /// The name of the calibration with this document (JSON).
    pub(crate) fn of(document: &[u8]) -> Self {
        Self(Name(begin(b"tenbin calibration 1\n", document).finalize().into()))
    }
}

/// What every encoding begins with: what it is of, and the document. The first keeps a run and a
/// calibration from ever sharing a name.
fn begin(kind: &[u8], document: &[u8]) -> Sha256 {
    let mut hash = Sha256::new();
    hash.update(kind);
    hash.update(count(document.len()));
    hash.update(document);
    hash
}

fn count(count: usize) -> [u8; 8] {
    (count as u64).to_le_bytes()
}

/// What names of either kind have in common.
macro_rules! named_by_hash {
    ($id:ident, $wrong:ident) => {
        impl $id {
            /// The first twelve hexadecimal digits: enough to tell its like apart in a table.
            pub fn short(&self) -> String {
                let mut digits = self.to_string();
                digits.truncate(12);
                digits
            }
        }

        /// 64 hexadecimal digits, lower case.
        impl fmt::Display for $id {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }

        impl FromStr for $id {
            type Err = $wrong;

            fn from_str(text: &str) -> Result<Self, $wrong> {
                Name::read(text).map(Self).ok_or($wrong)
            }
        }
    };
}

named_by_hash!(RunId, NotARunId);
named_by_hash!(CalibrationId, NotACalibrationId);

/// A hash, as it is written and read.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Name([u8; 32]);

impl Name {
    /// The name that these 64 lower-case hexadecimal digits are, if that is what they are.
    fn read(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        if digits.len() != 64 || !digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f')) {
            return None;
        }
        let mut bytes = [0; 32];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            *byte = u8::from_str_radix(str::from_utf8(pair).ok()?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}
