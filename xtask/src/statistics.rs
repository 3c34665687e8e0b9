//! The reference answers of the statistics, computed again by SciPy and compared with the file.

use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::{PYTHON, Requirement};
use crate::step::Outcome;
use crate::workspace::Workspace;

const SCRIPT: &str = "fixtures/statistics/reference.py";
const ANSWERS: &str = "fixtures/statistics/reference.txt";

/// Two versions of SciPy may differ in the last digits, and nowhere else.
const TOLERANCE: f64 = 1e-9;

pub(crate) fn needs() -> Vec<Requirement> {
    vec![Requirement::python("python3-scipy", "scipy")]
}

/// Run the script and compare.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Failure> {
    let script = workspace.root().join(SCRIPT);
    if !script.is_file() {
        return Ok(Outcome::Skipped(format!("there is no {SCRIPT}")));
    }
    let failure = |tried: &str, reason: String| {
        let remedy =
            format!("run `{PYTHON} {SCRIPT}`, and find out why its answers are others than in {ANSWERS}");
        Failure::new(tried, reason, remedy)
    };
    let kept = std::fs::read_to_string(workspace.root().join(ANSWERS))
        .map_err(|error| failure(&format!("read {ANSWERS}"), error.to_string()))?;
    let output = Command::new(PYTHON).argument(script).directory(workspace.root()).capture()?;
    if output.code != Some(0) {
        return Err(failure(&format!("run {SCRIPT}"), output.diagnostics));
    }
    match difference(&kept, &output.text) {
        Some(difference) => Err(failure(&format!("reproduce {ANSWERS}"), difference)),
        None => {
            println!("{ANSWERS}: {} lines reproduced", answers(&kept).count());
            Ok(Outcome::Passed)
        }
    }
}

/// The first line in which two texts differ by more than digits that do not matter.
fn difference(kept: &str, made: &str) -> Option<String> {
    let (count, made_count) = (answers(kept).count(), answers(made).count());
    if count == 0 || count != made_count {
        return Some(format!("the file holds {count} answers, and {made_count} were computed"));
    }
    let (line, (kept, made)) = answers(kept).zip(answers(made)).enumerate().find(|(_, (kept, made))| {
        let (kept, made) =
            (kept.split_whitespace().collect::<Vec<_>>(), made.split_whitespace().collect::<Vec<_>>());
        kept.len() != made.len() || kept.iter().zip(made).any(|(kept, made)| !agree(kept, made))
    })?;
    Some(format!("answer {} is `{kept}` in the file, and `{made}` was computed", line + 1))
}

/// The lines that are not comments: those name the versions.
fn answers(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.starts_with('#'))
}

/// Whole numbers (seeds, ranks, counts) and words must be the same, other numbers almost.
fn agree(kept: &str, made: &str) -> bool {
    let whole = |word: &str| word.parse::<i128>().is_ok();
    match (kept.parse::<f64>(), made.parse::<f64>()) {
        (Ok(left), Ok(right)) if !whole(kept) || !whole(made) => {
            (left - right).abs() <= TOLERANCE * left.abs().max(right.abs()).max(1e-3)
        }
        _ => kept == made,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_digits_and_versions_may_differ_and_nothing_else() {
        let kept = "# SciPy 1\nsign 3 4 0 -> 0.7265625\nranks 1 none\n";
        let same = "# SciPy 2\nsign 3 4 0 -> 0.72656250000001\nranks 1 none\n";
        assert_eq!(difference(kept, same), None);
        let planted = [
            ("0.7265625", "0.7265626"),
            ("3 4", "3 5"),
            ("none", "0.5"),
            ("ranks 1 none\n", ""),
            ("1 none", "1"),
        ];
        for (from, to) in planted {
            assert!(difference(kept, &kept.replace(from, to)).is_some(), "{from}");
        }
        assert!(difference("", "").is_some());
    }
}
