//! Stacks in the files of other tools: what each of these opens is written here, and no viewer of our own.

use tenbin_model::Stacks;
use tenbin_model::words::or;

use super::{firefox, folded, perfetto, pprof, speedscope};

/// A kind of file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A line a stack, for flame graphs.
    Folded,
    /// speedscope.app.
    Speedscope,
    /// `go tool pprof`.
    Pprof,
    /// profiler.firefox.com.
    Firefox,
    /// ui.perfetto.dev.
    Perfetto,
}

impl Kind {
    const ALL: [(&str, Self); 5] = [
        ("folded", Self::Folded),
        ("speedscope", Self::Speedscope),
        ("pprof", Self::Pprof),
        ("firefox", Self::Firefox),
        ("perfetto", Self::Perfetto),
    ];

    /// The file of this kind.
    pub fn written(self, stacks: &Stacks) -> Vec<u8> {
        match self {
            Self::Folded => folded::written(stacks).into_bytes(),
            Self::Speedscope => speedscope::written(stacks).into_bytes(),
            Self::Pprof => pprof::written(stacks),
            Self::Firefox => firefox::written(stacks).into_bytes(),
            Self::Perfetto => perfetto::written(stacks),
        }
    }
}

impl std::str::FromStr for Kind {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        let known = Self::ALL.iter().find(|(name, _)| *name == word).map(|(_, kind)| *kind);
        known.ok_or_else(|| {
            format!("`{word}` is no kind of file here; use {}", or(Self::ALL.map(|(name, _)| name)))
        })
    }
}
