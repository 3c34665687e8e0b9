//! The one error type of xtask: what was tried, what came of it, and what to do.

use std::fmt;

/// Why a chore did not succeed.
#[derive(Debug)]
pub struct Failure {
    tried: String,
    reason: String,
    remedy: String,
}

impl Failure {
    /// "could not `tried`: `reason`", and then `remedy` as an instruction.
    pub fn new(tried: impl Into<String>, reason: impl fmt::Display, remedy: impl Into<String>) -> Self {
        Self { tried: tried.into(), reason: reason.to_string(), remedy: remedy.into() }
    }

    /// The same with what is likely to be its reason.
    pub fn beside(mut self, likely: &str) -> Self {
        self.remedy = format!("{likely}; then {}", self.remedy);
        self
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "could not {}: {}\n  what to do: {}", self.tried, self.reason, self.remedy)
    }
}
