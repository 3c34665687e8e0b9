//! The boot checker beside SPIN: the same handshakes on the same machines, under sequential consistency.
//!
//! tenbin reads the instructions. SPIN reads `firmware/promela`, where the same sources stand once more,
//! transcribed by hand. Beside the two stands what is known without either (`firmware/README.md`), so that a
//! transcription cannot go wrong together with the checker.

mod answer;
mod verifier;

use std::fmt;

pub(crate) use self::answer::{Answer, judge, question};
pub(crate) use self::verifier::Verifier;
use crate::firmware::emulator;
use tenbin_model::words::comma;
use xtask::architecture::{Architecture, Target};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

/// The handshakes that are transcribed.
pub(crate) const HANDSHAKES: [&str; 3] = ["one_flag", "two_flags", "wake_kept"];

/// How many harts are tried, where nobody says otherwise.
pub(crate) const HARTS: [u64; 3] = [2, 3, 4];

/// A handshake on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Case {
    pub(crate) handshake: String,
    pub(crate) harts: u64,
    pub(crate) boot_hart: u64,
}

impl Case {
    pub(crate) fn new(handshake: &str, harts: u64, boot_hart: u64) -> Self {
        Self { handshake: handshake.into(), harts, boot_hart }
    }
}

impl fmt::Display for Case {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {} harts, boot hart {}", self.handshake, self.harts, self.boot_hart)
    }
}

/// What can go wrong: as far as both are asked.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wrong {
    /// Some fair run never brings all harts to their goal.
    pub(crate) hangs: bool,
    /// A hart starts that has not been told to.
    pub(crate) early: bool,
    /// A hart arrives with a stack or an argument that was not meant for it.
    pub(crate) stale: bool,
}

impl fmt::Display for Wrong {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = [(self.hangs, "hangs"), (self.early, "early"), (self.stale, "stale")];
        let words = words.iter().filter(|(holds, _)| *holds).map(|(_, word)| *word).collect::<Vec<_>>();
        formatter.write_str(&if words.is_empty() { "sound".into() } else { comma(words) })
    }
}

/// Ask both about every handshake, for every number of harts and every boot hart, and compare.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let files = emulator::build(workspace)?;
    let folder = workspace.scratch("spin")?;
    let mut verified = Vec::new();
    for case in cases() {
        // Not optimised: these verifiers run for less time than it takes to optimise them.
        let (verifier, _) = Verifier::build(workspace, &folder, &case, "-O0")?;
        let spin = verifier.run()?.wrong;
        println!("  SPIN, {case}: {spin}");
        verified.push((case, spin));
    }
    let output = question(host.command(&binary), &files, &HANDSHAKES, &HARTS, "all").capture()?;
    let answers = judge(output.code, &output.text, &output.diagnostics)?;
    let mut faults = Vec::new();
    for (case, spin) in &verified {
        let tenbin = answers.get(case);
        println!("  tenbin, {case}: {}", answer::in_words(tenbin));
        faults.extend(difference(case, *spin, tenbin));
    }
    let remedy =
        "compare firmware/promela with the firmware's sources, and both counterexamples with one another";
    Failure::judge("find tenbin and SPIN agreed", &faults, remedy)
}

fn cases() -> Vec<Case> {
    let mut cases = Vec::new();
    for handshake in HANDSHAKES {
        for harts in HARTS {
            cases.extend((0..harts).map(|boot_hart| Case::new(handshake, harts, boot_hart)));
        }
    }
    cases
}

/// What is known of a case by hand, from the table in `firmware/README.md`.
fn known(case: &Case) -> Wrong {
    let (crowd, other) = (case.harts > 2, case.boot_hart != 0);
    match case.handshake.as_str() {
        // Garbage that is a hart's number starts that hart; the boot hart then waits for it, except for hart
        // 0.
        "one_flag" => Wrong { hangs: crowd || !other, early: true, stale: true },
        // Clearing starts hart 0 where it is not the boot hart. A late hart erases another's answer.
        "two_flags" => Wrong { hangs: crowd || other, early: other, stale: other },
        // Clearing starts nobody; a late hart still erases.
        _ => Wrong { hangs: crowd, early: false, stale: false },
    }
}

/// Who contradicts whom about a case, if anybody does. No answer is a contradiction.
fn difference(case: &Case, spin: Wrong, tenbin: Option<&Answer>) -> Option<String> {
    let known = known(case);
    if spin != known {
        return Some(format!("{case}: SPIN says {spin} where {known} is known"));
    }
    match tenbin {
        Some(Answer { wrong: Ok(wrong), .. }) if *wrong == spin => None,
        other => Some(format!("{case}: tenbin says {}, and SPIN {spin}", answer::in_words(other))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(wrong: Result<Wrong, String>) -> Answer {
        Answer { wrong, states: 1 }
    }

    #[test]
    fn every_contradiction_is_seen_and_so_is_silence() {
        let case = Case::new("two_flags", 2, 0);
        let sound = Wrong::default();
        assert_eq!(difference(&case, sound, Some(&answer(Ok(sound)))), None);
        for wrong in
            [Wrong { hangs: true, ..sound }, Wrong { early: true, ..sound }, Wrong { stale: true, ..sound }]
        {
            assert!(difference(&case, sound, Some(&answer(Ok(wrong)))).is_some(), "{wrong}");
            // SPIN and tenbin agree, and what is known does not.
            assert!(difference(&case, wrong, Some(&answer(Ok(wrong)))).is_some(), "{wrong}");
        }
        let refused = difference(&case, sound, Some(&answer(Err("refused: no time".into()))));
        assert!(refused.is_some_and(|fault| fault.contains("no time")));
        assert!(difference(&case, sound, None).is_some_and(|fault| fault.contains("nothing")));
    }

    #[test]
    fn every_boot_hart_is_tried_and_the_issue_is_in_it() {
        let cases = cases();
        assert_eq!(cases.len(), 3 * (2 + 3 + 4));
        for (handshake, harts, boot_hart, words) in [
            ("one_flag", 2, 0, "hangs, early, stale"),
            ("one_flag", 2, 1, "early, stale"),
            ("two_flags", 2, 0, "sound"),
            ("two_flags", 2, 1, "hangs, early, stale"),
            ("wake_kept", 2, 1, "sound"),
            ("wake_kept", 3, 0, "hangs"),
            ("wake_kept", 4, 3, "hangs"),
        ] {
            let case = Case::new(handshake, harts, boot_hart);
            assert!(cases.contains(&case), "{case}");
            assert_eq!(known(&case).to_string(), words, "{case}");
        }
    }
}
