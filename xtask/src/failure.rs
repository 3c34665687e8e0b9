//! The one error type of xtask: what was tried, what came of it, and what to do.

use std::fmt;

use tenbin_model::words::semicolon;

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

    /// A failure whose reason is every one of `faults`; none where there are none.
    ///
    /// # Errors
    /// That failure.
    pub fn judge(tried: impl Into<String>, faults: &[String], remedy: &str) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::new(tried, semicolon(faults), remedy)) }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_are_the_reason_and_none_are_no_failure() {
        assert!(Failure::judge("try", &[], "look").is_ok());
        let failure = Failure::judge("try", &["one".into(), "two".into()], "look");
        assert!(failure.is_err_and(|failure| failure.to_string().contains("could not try: one; two")));
    }
}
