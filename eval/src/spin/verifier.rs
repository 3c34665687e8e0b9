//! SPIN's own way: a C program for each case, generated, compiled, and run twice.
//!
//! One run searches for fair cycles in which not all harts have arrived, and stops at the first. The other
//! one looks at every state that comes before the arrival of all, and reports each violated assertion, since
//! the first could hide one of another kind. One program does both, as compiling it takes longer than
//! anything else; `-DSAFETY` would quicken the second run alone.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::{Case, Wrong};
use tenbin_model::words::comma;
use xtask::command::{Command, status_in_words};
use xtask::failure::Failure;
use xtask::workspace::Workspace;

/// Where the transcriptions are, from the root of the repository.
const FOLDER: &str = "firmware/promela";

/// Longer than any of these programs needs by far.
const DEADLINE: Duration = Duration::from_secs(120);

/// How deep a search may go, and room for as many states as 2 to the power of this before more is made: more
/// than these need, and no more, since making room takes time.
const DEPTH: &str = "-m100000";
const ROOM: &str = "-w18";

/// A compiled verifier.
pub(crate) struct Verifier {
    program: PathBuf,
    folder: PathBuf,
}

/// What a verifier found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Verified {
    pub(crate) wrong: Wrong,
    /// States that it kept, of the run that kept more: the other one walks through the same.
    pub(crate) states: u64,
    /// Of both runs together.
    pub(crate) time: Duration,
}

impl Verifier {
    /// Generate and compile, in a folder that is its own; and how long that took.
    pub(crate) fn build(
        workspace: &Workspace,
        folder: &Path,
        case: &Case,
        optimisation: &str,
    ) -> Result<(Self, Duration), Failure> {
        let Case { handshake, harts, boot_hart } = case;
        let folder = folder.join(format!("{handshake}-{harts}-{boot_hart}{optimisation}"));
        std::fs::create_dir_all(&folder).map_err(|error| {
            Failure::new(format!("make the folder {}", folder.display()), error, "make room there")
        })?;
        let source = workspace.root().join(FOLDER).join(format!("{handshake}.pml"));
        let generate = Command::new("spin")
            .arguments(["-a".into(), format!("-DN={harts}"), format!("-DB={boot_hart}")])
            .argument(&source);
        let compile = Command::new("cc").arguments([optimisation, "-o", "pan", "pan.c"]);
        let mut time = Duration::ZERO;
        for command in [generate, compile] {
            let output = command.directory(&folder).patience(DEADLINE).capture_quietly()?;
            if output.code != Some(0) {
                let words = format!("{}{}", output.text, output.diagnostics);
                let reason = format!("{}\n{}", status_in_words(output.code), words.trim_end());
                let tried = format!("make a verifier from {}", source.display());
                return Err(Failure::new(tried, reason, "correct what is named there"));
            }
            time += output.time;
        }
        Ok((Self { program: folder.join("pan"), folder }, time))
    }

    /// Run both searches.
    pub(crate) fn run(&self) -> Result<Verified, Failure> {
        let ((hangs, kept), first) = self.search(&["-a", "-f", "-A"], cycles)?;
        let ((early, stale, looked_at), second) = self.search(&["-c0"], violated)?;
        let wrong = Wrong { hangs, early, stale };
        Ok(Verified { wrong, states: kept.max(looked_at), time: first + second })
    }

    fn search<T>(
        &self,
        words: &[&str],
        judge: fn(&str) -> Result<T, String>,
    ) -> Result<(T, Duration), Failure> {
        let command = Command::new(&self.program).directory(&self.folder).patience(DEADLINE);
        let output = command.arguments(words).arguments([DEPTH, ROOM]).capture_quietly()?;
        let answer = judge(&output.text).map_err(|reason| {
            let tried = format!("understand {} {}", self.program.display(), words.join(" "));
            let reason = format!("{reason}\n{}{}", output.text.trim_end(), output.diagnostics.trim_end());
            Failure::new(tried, reason, "run it by hand")
        })?;
        Ok((answer, output.time))
    }
}

/// Whether there is a fair run that never brings all to their goal, and how many states were kept.
fn cycles(text: &str) -> Result<(bool, u64), String> {
    let (states, errors) = read(text, true)?;
    if !text.lines().any(|line| line.trim_end().ends_with("+ (fairness enabled)")) {
        return Err("the search was not for fair cycles".into());
    }
    match errors.as_slice() {
        [] => Ok((false, states)),
        [cycle] if cycle.starts_with("acceptance cycle") => Ok((true, states)),
        other => Err(format!("it found {}", comma(other))),
    }
}

/// Whether a hart starts early, whether one arrives with what is stale, and how many states were kept.
fn violated(text: &str) -> Result<(bool, bool, u64), String> {
    let (states, errors) = read(text, false)?;
    let (mut early, mut stale) = (false, false);
    for error in &errors {
        match error.strip_prefix("assertion violated ").map(|it| it.trim_start_matches('(')) {
            Some(assertion) if assertion.starts_with("told[") => early = true,
            Some(assertion) if assertion.starts_with("stack==") => stale = true,
            _ => return Err(format!("it found {error}")),
        }
    }
    Ok((early, stale, states))
}

/// The states that a verifier kept, and what follows `pan:NUMBER:` in its lines, the first of each kind; only
/// a search that ended by itself counts, or one that stopped at what it was to find.
fn read(text: &str, stops_at_the_first: bool) -> Result<(u64, Vec<String>), String> {
    if !text.contains("Full statespace search for:") {
        return Err("it did not search".into());
    }
    if text.contains("max search depth too small") {
        return Err("it did not search deeper than it may".into());
    }
    let mut errors = Vec::new();
    for line in text.lines() {
        let Some((number, what)) = line.strip_prefix("pan:").and_then(|rest| rest.split_once(": ")) else {
            continue;
        };
        let what = what.split(" (at depth").next().unwrap_or(what).to_owned();
        if number.parse::<u64>().is_ok() && !errors.contains(&what) {
            errors.push(what);
        }
    }
    let counted = number_before(text, |line| line.split_once("errors: ").map(|(_, rest)| rest));
    let counted = counted.ok_or("it did not count what it found")?;
    if (counted > 0) == errors.is_empty() {
        return Err(format!("it counted {counted} errors and named {}", errors.len()));
    }
    let may_stop = stops_at_the_first && counted > 0;
    if text.contains("Search not completed") && !may_stop {
        return Err("it did not search everything".into());
    }
    let states = number_before(text, |line| line.contains(" states, stored").then_some(line));
    Ok((states.ok_or("it did not count its states")?, errors))
}

/// The number at the beginning of what `find` finds in the first line where it does.
fn number_before(text: &str, find: impl Fn(&str) -> Option<&str>) -> Option<u64> {
    text.lines().find_map(find)?.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What verifiers of SPIN 6.5.2 print, shortened where nothing is read.
    const CYCLE: &str = "\
pan:1: acceptance cycle (at depth 88)
pan: wrote one_flag.pml.trail

(Spin Version 6.5.2 -- 6 December 2019)
Warning: Search not completed
\t+ Partial Order Reduction

Full statespace search for:
\tnever claim         \t+ (arrives)
\tassertion violations\t- (disabled by -A flag)
\tacceptance   cycles \t+ (fairness enabled)
\tinvalid end states\t- (disabled by never claim)

State-vector 56 byte, depth reached 99, errors: 1
      121 states, stored (403 visited)
      378 states, matched

pan: elapsed time 0 seconds
";
    const VIOLATED: &str = "\
pan:1: assertion violated ((stack==(32+_pid))&&(start_argument[_pid]==(64+_pid))) (at depth 88)
pan:20: assertion violated told[_pid] (at depth 46)
pan:21: assertion violated ((stack==(32+_pid))&&(start_argument[_pid]==(64+_pid))) (at depth 88)

Full statespace search for:
\tacceptance   cycles \t- (not selected)

State-vector 56 byte, depth reached 89, errors: 719
     1515 states, stored
     1561 states, matched

pan: elapsed time 0 seconds
";

    /// The same without what was found.
    fn nothing_in(text: &str) -> String {
        let lines = text.lines().filter(|line| {
            !line.split_once(": ").is_some_and(|(before, _)| before.starts_with("pan:"))
                && !line.contains("not completed")
        });
        let text = lines.collect::<Vec<_>>().join("\n");
        text.replace("errors: 1", "errors: 0").replace("errors: 719", "errors: 0")
    }

    #[test]
    fn what_was_found_is_read_and_so_is_that_nothing_was() {
        assert_eq!(cycles(CYCLE), Ok((true, 121)));
        assert_eq!(cycles(&nothing_in(CYCLE)), Ok((false, 121)));
        assert_eq!(violated(VIOLATED), Ok((true, true, 1515)));
        assert_eq!(violated(&nothing_in(VIOLATED)), Ok((false, false, 1515)));
    }

    #[test]
    fn a_search_that_did_not_end_or_was_another_one_is_no_answer() {
        let nothing = nothing_in(CYCLE);
        for (text, why) in [
            (String::new(), "did not search"),
            (format!("error: max search depth too small\n{nothing}"), "deeper"),
            (format!("Warning: Search not completed\n{nothing}"), "everything"),
            (nothing.replace("fairness enabled", "not selected"), "fair"),
            (nothing.replace("errors: 0", "errors: 1"), "named 0"),
            (nothing.replace("states, stored", "kept"), "count its states"),
            (CYCLE.replace("acceptance cycle", "invalid end state"), "invalid end state"),
        ] {
            assert!(cycles(&text).is_err_and(|reason| reason.contains(why)), "{why}");
        }
        let other = VIOLATED.replace("told[_pid]", "up==1");
        assert!(violated(&other).is_err_and(|reason| reason.contains("up==1")));
        let stopped = format!("Warning: Search not completed\n{VIOLATED}");
        assert!(violated(&stopped).is_err_and(|reason| reason.contains("everything")));
    }
}
