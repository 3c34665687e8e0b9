//! What `tenbin boot check --json` answers, as far as it can be compared with SPIN.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;

use super::{Case, Wrong};
use crate::firmware::answer::{self, Checked};
use xtask::command::Command;
use xtask::failure::Failure;

/// The memory model that is asked for.
const MEMORY: &str = "sc";

/// Faults that SPIN is not asked for: what comes of an early start, and a remark.
const NOT_ASKED: [&str; 2] = ["shared_stack", "lost_store"];

/// Longer than these questions may take together.
const DEADLINE: Duration = Duration::from_secs(300);

/// What tenbin says of one case.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// What can go wrong, or why that is not known.
    pub(crate) wrong: Result<Wrong, String>,
    /// States that it looked at.
    pub(crate) states: u64,
}

/// Everything that was answered.
pub(crate) type Answers = BTreeMap<Case, Answer>;

/// The question, to be added to tenbin's name: about `handshakes` in the folder `files`, with so many
/// `harts`.
pub(crate) fn question(
    tenbin: Command,
    files: &Path,
    handshakes: &[&str],
    harts: &[u64],
    boot: &str,
) -> Command {
    let harts = harts.iter().map(u64::to_string).collect::<Vec<_>>().join(",");
    let files = handshakes.iter().map(|name| files.join(format!("{name}.elf")));
    let command = tenbin.arguments(["boot", "check"]).arguments(files);
    let command = command.arguments(["--harts", &harts, "--boot-hart", boot, "--memory", MEMORY, "--json"]);
    command.patience(DEADLINE)
}

/// An answer from how the program ended and what it wrote.
pub(crate) fn judge(code: Option<i32>, text: &str, diagnostics: &str) -> Result<Answers, Failure> {
    let checked = answer::judge(code, text, diagnostics)?;
    checked.into_iter().map(one).collect()
}

/// What tenbin says of a case, or that it says nothing.
pub(super) fn in_words(answer: Option<&Answer>) -> String {
    match answer.map(|answer| &answer.wrong) {
        Some(Ok(wrong)) => wrong.to_string(),
        Some(Err(why)) => why.clone(),
        None => "nothing".into(),
    }
}

/// One machine's case and answer. A machine that was not asked about is a failure.
fn one(checked: Checked) -> Result<(Case, Answer), Failure> {
    let Checked { machine, verdict, states } = checked;
    let (true, Some(boot_hart)) = (machine.memory == MEMORY, machine.boot_hart) else {
        let reason = format!("it answered about {machine}, which was not asked");
        let remedy = "run the command by hand, without --json";
        return Err(Failure::new("ask `tenbin boot check`", reason, remedy));
    };
    let wrong = verdict.and_then(|faults| wrong(&faults));
    Ok((Case::new(&machine.file, machine.harts, boot_hart), Answer { wrong, states }))
}

/// What SPIN could have found of those faults; what it cannot find, and is not expected here, is said aloud.
fn wrong(faults: &BTreeSet<String>) -> Result<Wrong, String> {
    let mut wrong = Wrong::default();
    for fault in faults {
        match fault.as_str() {
            "dead" | "livelock" => wrong.hangs = true,
            "started_early" => wrong.early = true,
            "stale" => wrong.stale = true,
            fault if NOT_ASKED.contains(&fault) => {}
            other => return Err(format!("{other}, which the transcriptions cannot do")),
        }
    }
    Ok(wrong)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::firmware::answer::tests::recorded;

    #[test]
    fn verdicts_are_put_as_spin_is_asked() {
        let answers = judge(Some(4), &recorded().to_string(), "").expect("it is an answer");
        let words = answers.iter().map(|(case, answer)| format!("{case}: {}", in_words(Some(answer))));
        assert_eq!(
            words.collect::<Vec<_>>(),
            [
                "one_flag, 2 harts, boot hart 0: hangs, early, stale",
                "two_flags, 2 harts, boot hart 0: sound",
                "wake_kept, 3 harts, boot hart 1: refused: the time was over at 321 states"
            ]
        );
        assert!(answers.values().all(|answer| answer.states == 321));
    }

    #[test]
    fn a_machine_that_was_not_asked_about_is_a_failure() {
        let spoils: [fn(&mut Value); 2] = [
            |it| it["checks"][0]["machine"]["memory"] = json!("tso"),
            |it| it["checks"][1]["machine"]["boot_hart"] = json!(null),
        ];
        for spoil in spoils {
            let mut spoilt = recorded();
            spoil(&mut spoilt);
            let failure = judge(Some(4), &spoilt.to_string(), "").expect_err("another machine").to_string();
            assert!(failure.contains("which was not asked"), "{failure}");
        }
    }

    #[test]
    fn a_fault_that_spin_cannot_find_is_no_agreement() {
        let faults = |words: &[&str]| words.iter().copied().map(String::from).collect::<BTreeSet<_>>();
        let hangs = Wrong { hangs: true, ..Wrong::default() };
        assert_eq!(wrong(&faults(&["livelock", "shared_stack"])), Ok(hangs));
        for fault in ["astray", "started_twice", "of another kind"] {
            assert!(wrong(&faults(&["dead", fault])).is_err_and(|why| why.contains(fault)), "{fault}");
        }
    }
}
