//! What a tool is here: a name, a rule in words, and a way to be asked.

use super::stage::{Operations, Stage, Work};
use xtask::failure::Failure;
use xtask::requirement::Requirement;

pub(super) struct Tool {
    /// What it is called on the command line and in the table.
    pub(super) name: &'static str,
    /// When it says that two things differ, and what is taken for its ratio.
    pub(super) rule: &'static str,
    /// Without these it is not weighed.
    pub(super) needs: fn() -> Vec<Requirement>,
    /// Install and build what asking it takes.
    pub(super) prepare: fn(&Stage<'_>) -> Result<Ready, Failure>,
}

pub(super) struct Ready {
    pub(super) version: String,
    pub(super) weigh: Weigh,
}

/// A peer that is the crate `name`, in the version of the arena's lock file.
pub(super) fn linked(
    stage: &Stage<'_>,
    name: &str,
    weigh: impl Fn(&Question<'_>) -> Result<Finding, Failure> + 'static,
) -> Result<Ready, Failure> {
    Ok(Ready { version: stage.locked(name)?, weigh: Box::new(weigh) })
}

/// Asks a tool whether the right side of a question differs from the left.
pub(super) type Weigh = Box<dyn Fn(&Question<'_>) -> Result<Finding, Failure>>;

/// Two amounts of one work: does the right one take longer?
pub(super) struct Question<'a> {
    pub(super) stage: &'a Stage<'a>,
    pub(super) work: &'a Work,
    /// By which part the right side does more operations.
    pub(super) effect: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Finding {
    /// Operations of the right side over those of the left.
    pub(super) truth: f64,
    /// The tool's figure for the time of the right side over that of the left.
    pub(crate) ratio: Option<f64>,
    pub(crate) answer: Answer,
}

/// An answer, in terms that every tool has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    Different,
    /// No difference was shown.
    Same,
    /// The tool looked and would not say.
    Refused,
    Failed,
}

impl Answer {
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Different => "different",
            Self::Same => "same",
            Self::Refused => "refused",
            Self::Failed => "failed",
        }
    }
}

impl Question<'_> {
    /// How many operations take about `nanoseconds` on the left side, and the right side's to match.
    pub(super) fn operations(&self, nanoseconds: f64) -> Operations {
        self.work.operations(nanoseconds, self.effect, self.stage.grain)
    }
}

impl Operations {
    pub(super) fn truth(self) -> f64 {
        self.right as f64 / self.left as f64
    }

    /// The finding of a tool that either says different or does not.
    pub(super) fn finding(self, different: bool, ratio: f64) -> Finding {
        let answer = if different { Answer::Different } else { Answer::Same };
        Finding { truth: self.truth(), ratio: Some(ratio), answer }
    }
}

/// A failure to understand what a tool said.
pub(crate) fn unreadable(what: &str, reason: impl std::fmt::Display) -> Failure {
    Failure::new(
        format!("read {what}"),
        reason,
        "compare the tool's version with the one in docs/dependencies.md",
    )
}

/// The number at `pointer` in a JSON document.
pub(super) fn number(document: &serde_json::Value, pointer: &str) -> Result<f64, String> {
    let value = document.pointer(pointer).and_then(serde_json::Value::as_f64);
    value.ok_or_else(|| format!("there is no number at {pointer}"))
}
