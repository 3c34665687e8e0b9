//! tenbin on an emulated CPU: it must say so, refuse to time, and still check what it can.

use std::collections::BTreeSet;

use crate::architecture::{Architecture, Target};
use crate::command::{Command, REFUSED, status_in_words};
use crate::failure::Failure;
use crate::workspace::{Profile, Workspace};
use tenbin_model::{CalibrationReport, Check, Report};

/// The experiment that is asked by name.
const EXPERIMENT: &str = "atomics";

/// Build tenbin for `architecture` and ask it under the emulator.
pub(crate) fn check(workspace: &Workspace, architecture: Architecture) -> Result<(), Failure> {
    // That which is shipped, and was disassembled: an emulator takes minutes for one that is not optimised.
    let binary = workspace.build(architecture, Profile::Dist)?;
    let store = workspace.scratch("emulated")?.join("store.db");
    let ask = |arguments: &[&str]| -> Result<(Option<i32>, String, String), Failure> {
        let command: Command = architecture.command(&binary).arguments(arguments.iter().copied());
        let output = command.variable("TENBIN_STORE", &store).capture()?;
        print!("{}", output.diagnostics);
        Ok((output.code, output.text, output.diagnostics))
    };
    let mut faults = Vec::new();
    for (arguments, expected) in
        [(&["run", EXPERIMENT][..], REFUSED), (&["calibrate"], REFUSED), (&[][..], 0)]
    {
        let (code, text, diagnostics) = ask(arguments)?;
        print!("{text}");
        let name = format!("`{}`", ["tenbin"].iter().chain(arguments).copied().collect::<Vec<_>>().join(" "));
        faults.extend(status_fault(&name, code, expected));
        faults.extend(label_fault(&name, &format!("{text}{diagnostics}")));
    }
    let (code, text, _) = ask(&["run", EXPERIMENT, "--json"])?;
    faults.extend(status_fault("`tenbin run --json`", code, REFUSED));
    match serde_json::from_str::<Report>(&text) {
        Ok(report) => faults.extend(check_faults(report.checks.iter().map(|it| &it.check))),
        Err(error) => faults.push(format!("its report is none: {error}")),
    }
    let (code, text, _) = ask(&["calibrate", "--json"])?;
    faults.extend(status_fault("`tenbin calibrate --json`", code, REFUSED));
    let refusal = serde_json::from_str::<CalibrationReport>(&text).ok().and_then(|report| report.refusal);
    if !refusal.is_some_and(|refusal| refusal.reached.contains("emulated")) {
        faults.push(format!("`tenbin calibrate --json` does not say in JSON why it refuses: {text}"));
    }
    let tried = format!("approve tenbin on an emulated {}", architecture.name());
    let remedy = "run the command that is printed above: an emulated CPU must be named, refused for timing, and still \
                  checked";
    Failure::judge(tried, &faults, remedy)
}

fn status_fault(name: &str, code: Option<i32>, expected: i32) -> Option<String> {
    let right = code == Some(expected);
    (!right).then(|| format!("{name}: {} where {expected} was expected", status_in_words(code)))
}

fn label_fault(name: &str, text: &str) -> Option<String> {
    (!text.contains("emulated")).then(|| format!("{name} does not say that the CPU is emulated"))
}

/// Every check must come out as it should: met by what is measured, broken by what is planted.
fn check_faults<'a>(checks: impl Iterator<Item = &'a Check>) -> Vec<String> {
    let mut faults = Vec::new();
    let mut kinds = BTreeSet::new();
    for check in checks {
        kinds.insert(check.sabotage);
        if !check.as_expected() {
            faults.push(format!("the check came out wrong: {check:?}"));
        }
    }
    for (kind, word) in [(false, "measured"), (true, "planted")] {
        if !kinds.contains(&kind) {
            faults.push(format!("no {word} variant was checked"));
        }
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;
    use tenbin_model::VariantIndex;

    fn faults(checks: &[(bool, bool)]) -> Vec<String> {
        let check = |&(met, sabotage): &(bool, bool)| Check {
            variant: VariantIndex::from(0),
            sabotage,
            seen: String::new(),
            met,
        };
        check_faults(checks.iter().map(check).collect::<Vec<_>>().iter())
    }

    #[test]
    fn checks_that_came_out_right_pass() {
        assert_eq!(faults(&[(true, false), (false, true)]), Vec::<String>::new());
    }

    #[test]
    fn checks_that_came_out_wrong_or_not_at_all_are_found() {
        assert_eq!(faults(&[(true, false), (false, true), (false, false)]).len(), 1);
        assert_eq!(faults(&[(true, false), (false, true), (true, true)]).len(), 1);
        assert_eq!(faults(&[(true, false)]), ["no planted variant was checked"]);
        assert_eq!(faults(&[]).len(), 2);
    }

    #[test]
    fn a_wrong_status_and_a_missing_label_are_found() {
        assert_eq!(status_fault("x", Some(3), 3), None);
        assert!(status_fault("x", Some(0), 3).is_some() && status_fault("x", None, 3).is_some());
        assert!(
            label_fault("x", "refused: an emulated CPU").is_none() && label_fault("x", "refused").is_some()
        );
    }
}
