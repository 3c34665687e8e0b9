//! Why a litmus test has no set of outcomes.

use tenbin_model::words::{counted, memory};

use crate::isa::{Instruction, Width};
use crate::litmus::Test;

/// Accesses that a candidate may have: the sets of them are the bits of a word.
pub(super) const MOST_EVENTS: usize = 64;

/// Paths that a hart may have. Each takes two or three kilobytes, with what is computed of it later.
pub(super) const MOST_PATHS: usize = 100_000;

/// Why there is no set of outcomes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "variants say it")]
pub enum NoAnswer {
    /// The steps were used up, or the caller's deadline passed, after this many steps.
    #[error("not finished after {steps} steps")]
    NotFinished { steps: u64 },
    /// More bytes, roughly, had to be held at a time than [`Limits::bytes`](super::Limits::bytes) allows.
    #[error("{} reached after {steps} steps", amount(.bytes))]
    Memory { bytes: u64, steps: u64 },
    /// The test is beyond what this can say.
    #[error("{0}")]
    Refused(Refusal),
}

/// What a test has that is not supported. Places are locations, with a distance.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "variants say it")]
pub enum Refusal {
    /// Two accesses overlap and are not of the same bytes.
    #[error("accesses to `{place}` overlap without covering the same bytes (mixed size)")]
    MixedSize { place: String },
    /// A hart accesses an address where the test has no location.
    #[error("hart {thread} accesses {address:#x}, where there is no location")]
    Astray { thread: usize, address: u64 },
    /// A hart jumps to where it has no instruction, as the test would write it.
    #[error("hart {thread} jumps to {to}, where it has no instruction")]
    Jump { thread: usize, to: String },
    /// A hart accesses bytes of a location at no multiple of their number.
    #[error("hart {thread} accesses {} at {place}, which is misaligned", in_bytes(.bytes))]
    Misaligned { thread: usize, place: String, bytes: u64 },
    /// A hart accesses bytes beyond the end of a location.
    #[error("hart {thread} accesses {} at {place}: the location is shorter", in_bytes(.bytes))]
    Outside { thread: usize, place: String, bytes: u64 },
    /// An execution has more accesses than can be handled.
    #[error("an execution has more than {} accesses", MOST_EVENTS)]
    TooLarge,
    /// A hart has more paths, by what its loads may return, than can be kept.
    #[error("a hart has more than {} paths, by what its loads return", MOST_PATHS)]
    TooManyPaths,
    /// An instruction that memory models do not speak of.
    #[error("no memory model covers `{0}`")]
    Unsupported(Instruction),
}

fn amount(bytes: &u64) -> String {
    memory(*bytes)
}

fn in_bytes(count: &u64) -> String {
    counted(*count as usize, "byte")
}

impl Refusal {
    /// That accesses meet at this address without being of the same bytes.
    pub(super) fn mixed(test: &Test, address: u64) -> Self {
        Self::MixedSize { place: test.place_at(address).map(|place| place.name.clone()).unwrap_or_default() }
    }

    /// Why an access does not fit, which [`Test::fits`] says.
    pub(crate) fn astray(test: &Test, thread: usize, address: u64, width: Width) -> Self {
        let bytes = width.bytes();
        let inside = test.place_at(address).filter(|place| address - place.address < 8);
        match inside.map(|_| test.value(address)) {
            None => Self::Astray { thread, address },
            Some(place) if address.is_multiple_of(bytes) => Self::Outside { thread, place, bytes },
            Some(place) => Self::Misaligned { thread, place, bytes },
        }
    }
}
