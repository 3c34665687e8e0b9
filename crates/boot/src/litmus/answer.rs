//! Litmus tests: which were asked about, and what each may end with.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Quantifier;
use crate::axiomatic::Model;

/// What `tenbin boot litmus` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Litmus {
    /// Name and version of this shape.
    #[schemars(extend("const" = Litmus::SCHEMA))]
    pub schema: String,
    /// The memory model: `sc`, `tso` or `rvwmo`.
    #[schemars(with = "String")]
    pub memory: Model,
    /// How often each instruction of a hart is executed at most.
    pub unroll: u32,
    /// Seconds that a test may take.
    pub seconds: u64,
    /// The tests, in the order in which they were named; those of a folder in the order of their names.
    pub tests: Vec<Tried>,
}

impl Litmus {
    /// The name and version of this shape.
    pub const SCHEMA: &str = "tenbin-litmus-1";

    /// How many tests came out in a way that `is` says.
    pub fn count(&self, is: impl Fn(&Settled) -> bool) -> usize {
        self.tests.iter().filter(|tried| is(&tried.settled)).count()
    }
}

/// A file, and what came of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Tried {
    /// The file, as it was named or found.
    pub file: String,
    /// The name in the test's header; none where it could not be read.
    pub name: Option<String>,
    /// What came of it.
    pub settled: Settled,
}

/// What came of a litmus test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    /// The whole set of outcomes is known.
    Decided(Decided),
    /// The time, or what else is bounded, was used up first: nothing is known.
    NotFinished {
        /// Steps that were taken: instructions executed, and candidate executions looked at.
        steps: u64,
        /// Bytes of memory that would not do; none where it was the time.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        memory: Option<u64>,
    },
    /// The test has something that the models here do not speak of.
    Refused {
        /// What.
        why: String,
    },
    /// It is no litmus test for RISC-V that can be read.
    Unreadable {
        /// The line, from 1, where one is to blame.
        line: Option<usize>,
        /// What is wrong.
        why: String,
    },
}

/// All that a test may end with.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Decided {
    /// How the condition is asked.
    pub asked: Quantifier,
    /// The condition.
    pub condition: String,
    /// The outcomes, each once, as herd prints them.
    pub states: Vec<String>,
    /// How many of them have what the condition says.
    pub having: usize,
    /// Whether what the test asks is so; none where nothing is asked.
    pub holds: Option<bool>,
    /// Whether some path executes an instruction more often than [`Litmus::unroll`] says. Such paths were not
    /// looked at.
    pub cut: bool,
    /// Steps that it took.
    pub steps: u64,
}
