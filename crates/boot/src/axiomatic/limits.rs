//! How much work a question may take.

use super::refusal::NoAnswer;

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

    pub(super) fn step(&mut self) -> Result<(), NoAnswer> {
        let is_late = || self.used.is_multiple_of(PATIENCE) && self.limits.stop.is_some_and(|stop| stop());
        if self.used == self.limits.steps || is_late() {
            return Err(NoAnswer::NotFinished { steps: self.used });
        }
        self.used += 1;
        Ok(())
    }

    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), NoAnswer> {
        self.held += bytes as u64;
        self.may_hold(0)
    }

    pub(super) fn may_hold(&self, bytes: usize) -> Result<(), NoAnswer> {
        if self.held.saturating_add(bytes as u64) > self.limits.bytes {
            return Err(NoAnswer::Memory { bytes: self.limits.bytes, steps: self.used });
        }
        Ok(())
    }
}
