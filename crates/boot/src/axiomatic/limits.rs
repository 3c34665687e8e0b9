//! How much work a question may take.

use crate::isa::Instruction;

/// What an answer may cost.
#[derive(Clone, Copy)]
pub struct Limits<'a> {
    /// How often each instruction of a hart is executed at most; what goes round a loop more often is not
    /// looked at, and the answer says so.
    pub unroll: u32,
    /// Steps: instructions executed, and candidate executions looked at. About a million a second.
    pub steps: u64,
    /// Bytes that may be held at a time, roughly.
    pub bytes: u64,
    /// Asked now and then; the work ends where it says true. A deadline is this.
    pub stop: Option<&'a dyn Fn() -> bool>,
}

impl Default for Limits<'_> {
    fn default() -> Self {
        Self { unroll: 2, steps: 50_000_000, bytes: u64::MAX, stop: None }
    }
}

/// Why the work ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// [`Limits::steps`] are used up.
    Steps,
    /// [`Limits::stop`] said so.
    Interrupted,
    /// [`Limits::bytes`] are used up.
    Bytes,
    /// More accesses than the sets hold.
    TooLarge,
    /// More paths of one hart than memory should be spent on.
    TooManyPaths,
    /// An instruction that no memory model here speaks of.
    Unsupported(Instruction),
    /// A store-conditional to some of the bytes that are reserved at this address, or to some others too.
    MixedSize(u64),
}

/// Counts steps, and bytes.
pub(super) struct Meter<'a> {
    limits: Limits<'a>,
    pub(super) used: u64,
    /// Bytes that are held. Who lets go of something sets them to what they were.
    pub(super) held: u64,
}

/// Steps between two questions to [`Limits::stop`].
const PATIENCE: u64 = 1024;

impl<'a> Meter<'a> {
    pub(super) fn new(limits: Limits<'a>) -> Self {
        Self { limits, used: 0, held: 0 }
    }

    pub(super) fn step(&mut self) -> Result<(), Stop> {
        if self.used == self.limits.steps {
            return Err(Stop::Steps);
        }
        if self.used.is_multiple_of(PATIENCE) && self.limits.stop.is_some_and(|stop| stop()) {
            return Err(Stop::Interrupted);
        }
        self.used += 1;
        Ok(())
    }

    /// Says that so many more bytes are held.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Stop> {
        self.held += bytes as u64;
        self.may_hold(0)
    }

    /// Whether so many more bytes may be held.
    pub(super) fn may_hold(&self, bytes: usize) -> Result<(), Stop> {
        if self.held.saturating_add(bytes as u64) > self.limits.bytes { Err(Stop::Bytes) } else { Ok(()) }
    }
}
