//! Whose fault it is, in the words of requirement, specification and implementation.
//!
//! The words are those of S. Takeuchi, "Do not call everything a bug": a requirement says what is wanted, a
//! specification what a thing promises, an implementation does it. tenbin's own diagnostics and exit statuses
//! use the same words.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Who broke what.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Attribution {
    /// The caller broke what it must see to, the precondition, whatever came of the call.
    UsageError,
    /// The implementation broke the specification.
    ImplementationError,
    /// The specification admits what the requirement forbids, or contradicts itself.
    SpecificationError,
    /// The specification is silent: the implementation is free, and nobody is at fault.
    ImplementationDefined,
}

impl Attribution {
    /// Whether somebody is at fault.
    pub fn is_fault(self) -> bool {
        self != Self::ImplementationDefined
    }
}

impl fmt::Display for Attribution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::UsageError => "usage error",
            Self::ImplementationError => "implementation error",
            Self::SpecificationError => "specification error",
            Self::ImplementationDefined => "implementation-defined",
        })
    }
}
