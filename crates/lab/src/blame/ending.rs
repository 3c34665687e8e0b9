//! How a call ended, and whether that keeps a specification.

use std::time::Duration;

use tenbin_model::{Attributed, Attribution};

use super::contract::{Clause, Outcome, Says, Specification};
use crate::ending;

/// How one call in a process that may be lost ended.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ending<O> {
    Returned {
        outcome: O,
        /// Bytes that it wrote to standard output and standard error.
        printed: i32,
    },
    Exited(i32),
    Signalled(i32),
    Late,
    /// It touched the guard pages beside this.
    Trespassed(String),
    /// What came of it could not be written down: memory or files were no more what they were. The program
    /// that calls says so by its status 101, which is anybody's to end with.
    Garbled,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Broken {
    /// Which line, from 0.
    pub(super) clause: usize,
    pub(super) how: How,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// By an outcome that it does not admit.
    Outcome,
    /// By touching guard pages, those beside this.
    Trespassed(String),
    /// By not returning, in these words.
    Ended(String),
}

/// Which line of `specification` was broken, if one was.
pub(super) fn judge<I, O: Outcome>(
    specification: &Specification<I, O>,
    input: &I,
    ending: &Ending<O>,
    within: Duration,
) -> Option<Broken> {
    if specification.leaves_open(input) {
        return None;
    }
    let clauses = specification.clauses;
    let promise =
        |clause: &Clause<I, O>| clause.promises(input) && matches!(clause.says, Says::Promises { .. });
    let confine =
        |clause: &Clause<I, O>| clause.promises(input) && matches!(clause.says, Says::Confines { .. });
    let (clause, how) = match ending {
        Ending::Returned { outcome, .. } => {
            (clauses.iter().position(|clause| !clause.admits(input, outcome)), How::Outcome)
        }
        Ending::Trespassed(beside) => {
            let clause = clauses.iter().position(confine).or_else(|| clauses.iter().position(promise));
            (clause, How::Trespassed(beside.clone()))
        }
        other => (clauses.iter().position(promise), How::Ended(deed(other, within))),
    };
    clause.map(|clause| Broken { clause, how })
}

impl<O> Ending<O> {
    /// What came of the call, where it returned.
    pub(super) fn outcome(self) -> Option<O> {
        if let Self::Returned { outcome, .. } = self { Some(outcome) } else { None }
    }
}

pub(super) fn breach(
    attribution: Attribution,
    subject: String,
    sentence: String,
    clause: &str,
    input: String,
    got: Option<String>,
) -> Attributed {
    Attributed {
        attribution,
        subject,
        sentence,
        clause: Some(clause.into()),
        aspect: None,
        input: Some(input),
        expected: Some(clause.into()),
        got,
    }
}

impl Broken {
    /// What the implementation does, to be read behind "it".
    pub(super) fn deed<I, O>(&self, specification: &Specification<I, O>) -> String {
        match (&self.how, specification.clauses.get(self.clause).map(|clause| &clause.says)) {
            (How::Ended(deed), _) => deed.clone(),
            (How::Trespassed(beside), _) => format!("touches memory just {beside}"),
            (How::Outcome, Some(Says::Promises { broken, .. } | Says::Confines { broken, .. })) => {
                (*broken).into()
            }
            (How::Outcome, _) => "does something else".into(),
        }
    }
}

/// What a call that did not return did, to be read behind "it".
pub(super) fn deed<O>(ending: &Ending<O>, within: Duration) -> String {
    match ending {
        Ending::Returned { .. } => "returns".into(),
        Ending::Exited(status) => format!("ends the process with status {status}"),
        Ending::Signalled(signal) => format!("is ended by {}", ending::signal(*signal)),
        Ending::Late => format!("does not return within {} s", within.as_secs_f64()),
        Ending::Trespassed(beside) => format!("touches memory just {beside}"),
        Ending::Garbled => {
            "ends the process with status 101, or changes memory or files of its caller".into()
        }
    }
}
