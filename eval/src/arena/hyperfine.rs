//! hyperfine: two commands, and the Welch test that its repository recommends.

use serde_json::Value;

use super::stage::{Operations, WORK};
use super::tool::{Finding, Question, Ready, Tool, number, unreadable};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::requirement::{PYTHON, Requirement};

pub(super) const TOOL: Tool = Tool {
    name: "hyperfine",
    rule: "two commands, run without a shell, at least ten runs each; they differ if Welch's t test on the \
           exported times says p < 0.05, as scripts/welch_ttest.py of its repository does; ratio of the means, in \
           which the start of a process is contained.",
    needs: || {
        vec![Requirement::program("hyperfine", "hyperfine"), Requirement::python("python3-scipy", "scipy")]
    },
    prepare: |_| {
        let version = Command::new("hyperfine").argument("--version").read()?;
        Ok(Ready { version: version.trim().trim_start_matches("hyperfine ").into(), weigh: Box::new(weigh) })
    },
};

/// The tool's own least number of runs.
const LEAST_RUNS: f64 = 10.0;

/// Below this the start of a process is most of a run.
const SHORTEST: f64 = 0.03;

const LEVEL: f64 = 0.05;

fn weigh(question: &Question<'_>) -> Result<Finding, Failure> {
    let stage = question.stage;
    let fixed = question.work.fixed;
    // Both sides and one run of each to warm up.
    let longest = stage.seconds / 2.0 / (LEAST_RUNS + 1.0);
    let run = (4.0 * fixed).min(longest).max(SHORTEST);
    let runs = (stage.seconds / 2.0 / (run + fixed) - 1.0).max(LEAST_RUNS).round();
    let operations = question.operations(run * 1e9);
    let export = stage.scratch.join("hyperfine.json");
    let program = stage.built(WORK);
    let command = |operations: u64| format!("'{}' {} {operations}", program.display(), question.work.name);
    stage
        .pinned("hyperfine".as_ref())
        .arguments(["--shell=none", "--style=none", "--warmup=1", &format!("--runs={runs}")])
        .argument("--export-json")
        .argument(&export)
        .arguments([command(operations.left), command(operations.right)])
        .read()?;
    let answer = stage.pinned(PYTHON.as_ref()).argument(stage.peer("welch.py")).argument(&export).read()?;
    judge(&answer, operations).map_err(|reason| unreadable("the Welch test of hyperfine's times", reason))
}

/// What the script says, as a finding.
fn judge(answer: &str, operations: Operations) -> Result<Finding, String> {
    let answer = serde_json::from_str::<Value>(answer).map_err(|error| error.to_string())?;
    let probability = number(&answer, "/probability")?;
    Ok(operations.finding(probability < LEVEL, number(&answer, "/ratio")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    #[test]
    fn the_level_divides_different_from_same() {
        let operations = Operations { left: 100, right: 101 };
        let judged = |text: &str| judge(text, operations);
        let finding = judged("{\"probability\": 0.049, \"ratio\": 1.02}\n").expect("it is an answer");
        assert_eq!(finding, Finding { truth: 1.01, ratio: Some(1.02), answer: Answer::Different });
        let finding = judged("{\"probability\": 0.05, \"ratio\": 0.98}").expect("it is an answer");
        assert_eq!((finding.ratio, finding.answer), (Some(0.98), Answer::Same));
        for text in ["", "{}", "{\"probability\": null, \"ratio\": 1}"] {
            assert!(judged(text).is_err(), "{text}");
        }
    }
}
