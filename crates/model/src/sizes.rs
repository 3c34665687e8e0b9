//! Cache sizes as experiments take them: the firmware's word where a measurement bears it out.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::unit::{Bytes, Cpu};

/// What is known of the data caches that one CPU reaches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Sizes {
    /// The CPU; none where nothing is known.
    pub cpu: Option<Cpu>,
    /// Its data caches, innermost first.
    pub levels: Vec<Size>,
    /// A size that no cache helps: at least four times what the last one was seen to hold. None if that was
    /// not seen.
    pub beyond: Option<Bytes>,
}

impl Sizes {
    /// A buffer that shall not profit from a cache is this many times as large as what the cache was seen to
    /// hold.
    pub const BEYOND: u64 = 4;
}

/// One cache's size, and who says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Size {
    /// Level, 1 innermost.
    pub level: u8,
    /// The size to build on.
    pub bytes: Bytes,
    /// Whose word it is.
    pub by: Word,
}

/// Whose word a size is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// The firmware's, and a measurement agrees.
    Both,
    /// The firmware's alone: nothing was measured.
    Firmware,
    /// The measured knee's: the firmware is silent, or wrong by more than twice.
    Knee,
}

/// Reads in brackets behind a size: `64 KiB (firmware alone)`.
impl fmt::Display for Word {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Both => "firmware and knee agree",
            Self::Firmware => "firmware alone",
            Self::Knee => "the measured knee",
        })
    }
}

impl Sizes {
    /// The cache of this level.
    pub fn level(&self, level: u8) -> Option<Size> {
        self.levels.iter().copied().find(|size| size.level == level)
    }

    /// The outermost cache.
    pub fn last(&self) -> Option<Size> {
        self.levels.last().copied()
    }
}
