//! Whose fault is it? A function behind an ABI held against requirement, specification and precondition.
//!
//! The words are those of S. Takeuchi, "Do not call everything a bug", and of [`tenbin_model::Attribution`].
//! A specification is searched for faults of its own without any library; a library is called with all small
//! inputs and with random ones, by a program that may be lost; two libraries are compared where neither
//! breaks the specification; a program's own calls are watched. `docs/blame.md` says how each is found and
//! what is not.
//!
//! Reading order: [`mod@contract`], `blame/contracts/sort.rs`, `blame/search.rs`, `blame/examine.rs`,
//! `blame/harness.rs` with `blame/call.c`, `blame/watched.rs` with `blame/watch.c`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tenbin_metal::child;
use tenbin_model::words::comma;
use tenbin_model::{Blame, Contracted, Offered};

mod compare;
pub mod contract;
mod contracts;
mod elf;
mod ending;
mod examine;
mod harness;
mod inputs;
mod listed;
mod search;
mod watched;
mod wire;

pub use contracts::CONTRACTS;

use crate::experiment::Unfit;
use contract::{Contract, Input, Outcome, Specification};

/// How long one call may take unless somebody says otherwise.
const CALL: Duration = Duration::from_secs(10);

/// How long one call of a program that is watched may take unless somebody says otherwise; the program may
/// take twice that.
const PROGRAM: Duration = Duration::from_secs(300);

/// What is to be examined.
#[derive(Clone, Debug)]
pub struct Request {
    /// No library, one, or two to compare.
    pub libraries: Vec<PathBuf>,
    /// The name of the specification; the contract's own if none is given.
    pub specification: Option<String>,
    /// Seed of every random input.
    pub seed: u64,
    /// How many random inputs.
    pub cases: u32,
    /// How long one call may take. A program that is watched may take twice that.
    pub within: Option<Duration>,
    /// A program with its arguments, whose calls are watched instead.
    pub program: Vec<OsString>,
    /// Whether what that program writes to standard output goes to standard error, because the other one is
    /// for the answer alone.
    pub output_aside: bool,
}

/// A contract, whatever its inputs and outcomes are.
pub trait Examined: Sync {
    /// The name on the command line.
    fn name(&self) -> &'static str;

    /// What it is, with the specification of this name, or its own.
    ///
    /// # Errors
    /// A usage error where there is no such specification.
    fn described(&self, specification: Option<&str>) -> Result<Contracted, Unfit>;

    /// Examines what is asked and says whose fault what is. `progress` hears what is done now; none
    /// when a program begins whose terminal it is.
    ///
    /// # Errors
    /// A usage error for what cannot be examined, what is missing where there is no compiler, a fault of the
    /// machine.
    fn examine(&self, request: &Request, progress: &dyn Fn(Option<&str>)) -> Result<Blame, Unfit>;
}

/// The contract of this name.
///
/// # Errors
/// A usage error that lists those that there are.
pub fn contract(name: &str) -> Result<&'static dyn Examined, Unfit> {
    CONTRACTS.iter().copied().find(|contract| contract.name() == name).ok_or_else(|| {
        let known: Vec<&str> = CONTRACTS.iter().map(|contract| contract.name()).collect();
        Unfit::Usage(format!("there is no contract `{name}`; there are: {}", comma(&known)))
    })
}

impl<I: Input, O: Outcome> Contract<I, O> {
    fn specification(&'static self, name: Option<&str>) -> Result<&'static Specification<I, O>, Unfit> {
        let named = |it: &&Specification<I, O>| name.is_none_or(|name| it.name == name);
        self.specifications.iter().find(named).ok_or_else(|| {
            let known: Vec<&str> = self.specifications.iter().map(|it| it.name).collect();
            Unfit::Usage(format!(
                "the contract `{}` has no specification `{}`; it has: {}",
                self.name,
                name.unwrap_or_default(),
                comma(&known)
            ))
        })
    }
}

impl<I: Input, O: Outcome> Examined for &'static Contract<I, O> {
    fn name(&self) -> &'static str {
        self.name
    }

    fn described(&self, specification: Option<&str>) -> Result<Contracted, Unfit> {
        let chosen = self.specification(specification)?;
        let offered = |it: &Specification<I, O>| Offered { name: it.name.into(), about: it.about.into() };
        Ok(Contracted {
            name: self.name.into(),
            prototype: self.prototype.into(),
            requirement: self.requirement.into(),
            specification: chosen.name.into(),
            clauses: chosen.clauses.iter().map(|clause| clause.text.into()).collect(),
            specifications: self.specifications.iter().map(offered).collect(),
            precondition: self.precondition.iter().map(|condition| condition.text.into()).collect(),
        })
    }

    fn examine(&self, request: &Request, progress: &dyn Fn(Option<&str>)) -> Result<Blame, Unfit> {
        let specification = self.specification(request.specification.as_deref())?;
        if !request.program.is_empty() && request.libraries.len() > 1 {
            return Err(Unfit::Usage("a program is watched with one library, not with two".into()));
        }
        for library in &request.libraries {
            elf::check(library, self.symbol).map_err(Unfit::Usage)?;
        }
        let mut blame = Blame {
            schema: Blame::SCHEMA.into(),
            contract: self.described(request.specification.as_deref())?,
            seed: request.seed,
            searched: None,
            libraries: Vec::new(),
            program: None,
            findings: Vec::new(),
        };
        if !request.program.is_empty() {
            let (program, findings) = watched::watch(self, specification, request, progress)?;
            blame.program = Some(program);
            blame.findings = findings;
            return Ok(blame);
        }
        progress(Some("searching the specification for contradictions"));
        let search = self.search(specification);
        blame.searched = Some(search.searched);
        blame.findings = search.findings;
        if request.libraries.is_empty() {
            return Ok(blame);
        }
        // What a library starts and leaves behind is ours to end, whatever becomes of the program that calls
        // it.
        let _orphans = child::Orphans::adopt()?;
        progress(Some("compiling the program that calls the library"));
        let harness = harness::Harness::new(self, request.within.unwrap_or(CALL))?;
        let inputs = inputs::Inputs::new(self, request.seed, request.cases);
        let examiner = examine::Examiner {
            contract: self,
            specification,
            contradictory: search.contradictory,
            harness: &harness,
            inputs: &inputs,
        };
        let mut examined = Vec::new();
        for library in &request.libraries {
            let name = library.display();
            progress(Some(&format!("calling {name} with {} inputs", inputs.all.len())));
            let one = examiner.examine(library)?;
            progress(Some(&format!("looking for the smallest inputs that show what {name} does")));
            blame.libraries.push(examiner.counted(&one));
            blame.findings.extend(examiner.errors(&one)?);
            blame.findings.extend(examiner.aspects(&one)?);
            examined.push(one);
        }
        if let [one, other] = examined.as_slice() {
            progress(Some("comparing both libraries"));
            blame.findings.extend(examiner.changes(one, other)?);
        }
        Ok(blame)
    }
}

#[cfg(test)]
mod tests;
