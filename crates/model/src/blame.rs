//! Whose fault it is that a thing does not do what was wanted: what was examined, and what was found.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::attribution::Attribution;

/// What `tenbin blame` answers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Blame {
    /// Name and version of this shape.
    #[schemars(extend("const" = Blame::SCHEMA))]
    pub schema: String,
    /// The contract.
    pub contract: Contracted,
    /// Seed of every random input.
    pub seed: u64,
    /// The search for faults of the specification itself; none where only a program was watched.
    pub searched: Option<Searched>,
    /// The libraries that were called, in the order in which they were named.
    pub libraries: Vec<Called>,
    /// The program whose calls were watched, if one was.
    pub program: Option<Watched>,
    /// What was found, in the order of its examination.
    pub findings: Vec<Attributed>,
}

impl Blame {
    /// The name and version of this shape.
    pub const SCHEMA: &str = "tenbin-blame-1";

    /// Whether anybody is at fault.
    pub fn is_fault(&self) -> bool {
        self.findings.iter().any(|finding| finding.attribution.is_fault())
    }
}

/// A contract, with the specification that was chosen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Contracted {
    /// The name on the command line.
    pub name: String,
    /// What it is about, in C.
    pub prototype: String,
    /// What is wanted.
    pub requirement: String,
    /// The name of the specification that was held against it.
    pub specification: String,
    /// The lines of that specification.
    pub clauses: Vec<String>,
    /// All specifications that the contract ships, the right one first.
    pub specifications: Vec<Offered>,
    /// What a caller must see to.
    pub precondition: Vec<String>,
}

/// A specification that a contract ships.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Offered {
    /// The name on the command line.
    pub name: String,
    /// What it is, or what is wrong with it.
    pub about: String,
}

/// A search through all small inputs and all that could come of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Searched {
    /// Inputs.
    pub inputs: u64,
    /// Outcomes, over all inputs.
    pub outcomes: u64,
}

/// A library that was called.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Called {
    /// Its path, as it was given.
    pub library: String,
    /// Inputs that it was called with, each in two arrangements of memory.
    pub inputs: u64,
    /// Inputs for which it did what the specification says.
    pub met: u64,
    /// Inputs of which nothing was judged: of them the specification says nothing, or cannot be met, or is
    /// not known to be.
    pub unjudged: u64,
    /// Inputs that were to be tried and were not called any more.
    pub uncalled: u64,
    /// Why they were not, to be read behind "because"; none where all were called.
    pub cut: Option<String>,
    /// The size of the largest input that it was called with, with what is counted: "300 persons".
    pub largest: String,
}

/// A program whose calls were watched.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Watched {
    /// Its path, as it was given.
    pub program: String,
    /// Calls that it made.
    pub calls: u64,
    /// Calls that broke what a caller must see to.
    pub outside: u64,
    /// Whether there were more calls than are kept; then only the first were judged.
    pub cut: bool,
    /// How it ended, in words.
    pub ended: String,
}

/// One thing that was found, and whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Attributed {
    /// Whose.
    pub attribution: Attribution,
    /// What was examined: a library, two libraries, a program or a specification.
    pub subject: String,
    /// The finding, as it would be said.
    pub sentence: String,
    /// The line of the specification or of the precondition that was broken.
    pub clause: Option<String>,
    /// What the specification leaves open, where that is what was found: the name of the aspect.
    pub aspect: Option<String>,
    /// The smallest input that was found to show it.
    pub input: Option<String>,
    /// What should have come of it.
    pub expected: Option<String>,
    /// What came of it.
    pub got: Option<String>,
}
