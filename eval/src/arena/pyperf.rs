//! pyperf: a few processes of each side, and its own compare_to.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::stage::{LIBRARY, Operations, Stage};
use super::tool::{Finding, Question, Ready, Tool, unreadable};
use xtask::failure::Failure;
use xtask::requirement::{PYTHON, Requirement};

pub(super) const TOOL: Tool = Tool {
    name: "pyperf",
    rule: "two to twenty processes of each side, one value to warm up and three that count in each; they differ unless \
           its compare_to says that they do not significantly (Student's t test, 95 %); ratio of the means.",
    needs: || vec![Requirement::python("python3-venv", "ensurepip")],
    prepare,
};

/// Installed from Python's package index, into a folder of the arena's own.
const VERSION: &str = "2.10.0";

/// What the tool takes unless it is told otherwise.
const VALUES: u32 = 3;
const WARM_UPS: u32 = 1;

/// What starting Python and the tool takes, in seconds.
const START: f64 = 0.15;

/// The shortest value, in seconds: the tool calls less unstable.
const SHORTEST: f64 = 0.005;

fn prepare(stage: &Stage<'_>) -> Result<Ready, Failure> {
    let folder = stage.tools.join(format!("pyperf-{VERSION}"));
    let python = folder.join("bin/python");
    let remedy = "see that Debian's python3-venv is installed and that pip reaches its index";
    let there = stage.pinned(&python).arguments(["-c", "import pyperf"]).capture_quietly();
    if !there.is_ok_and(|output| output.code == Some(0)) {
        let venv = stage.pinned(PYTHON.as_ref()).arguments(["-m", "venv", "--clear"]);
        venv.argument(&folder).remedy(remedy).read()?;
        let pip = stage.pinned(&python).arguments(["-m", "pip", "install", "--quiet"]);
        pip.argument(format!("pyperf=={VERSION}")).remedy(remedy).read()?;
    }
    Ok(Ready { version: VERSION.into(), weigh: Box::new(move |question| weigh(question, &python)) })
}

fn weigh(question: &Question<'_>, python: &Path) -> Result<Finding, Failure> {
    let stage = question.stage;
    let side = stage.seconds / 2.0;
    let start = START + question.work.fixed;
    // Half of the time goes to starting processes: more of them would measure nothing.
    let processes = (side / (2.0 * start)).floor().clamp(2.0, 20.0);
    let value = (side / processes - start) / f64::from(VALUES + WARM_UPS);
    let operations = question.operations(value.max(SHORTEST) * 1e9);
    let left = run(question, python, processes, operations.left, "left")?;
    let right = run(question, python, processes, operations.right, "right")?;
    let compare = stage.pinned(python).arguments(["-m", "pyperf", "compare_to"]);
    let text = compare.argument(&left).argument(&right).read()?;
    let files = [left, right].map(|path| std::fs::read_to_string(path).map_err(|error| error.to_string()));
    let judged = match files {
        [Ok(left), Ok(right)] => judge(&text, &left, &right, operations),
        [Err(reason), _] | [_, Err(reason)] => Err(reason),
    };
    judged.map_err(|reason| unreadable("what pyperf says", reason))
}

/// Run one side, and give the file that holds its values.
fn run(
    question: &Question<'_>,
    python: &Path,
    processes: f64,
    operations: u64,
    side: &str,
) -> Result<PathBuf, Failure> {
    let stage = question.stage;
    let file = stage.scratch.join(format!("pyperf_{side}.json"));
    // It adds to a file that is there.
    let _ = std::fs::remove_file(&file);
    stage
        .pinned(python)
        .argument(stage.peer("pyperf_work.py"))
        .arguments(["--quiet", "--loops=1", "--inherit-environ=ARENA_LIBRARY,ARENA_WORK,ARENA_OPERATIONS"])
        .arguments([
            format!("--processes={processes}"),
            format!("--values={VALUES}"),
            format!("--warmups={WARM_UPS}"),
        ])
        .argument("--output")
        .argument(&file)
        .variable("ARENA_LIBRARY", stage.built(LIBRARY))
        .variable("ARENA_WORK", question.work.index.to_string())
        .variable("ARENA_OPERATIONS", operations.to_string())
        .read()?;
    Ok(file)
}

/// What compare_to printed of the two files, as a finding.
fn judge(text: &str, left: &str, right: &str, operations: Operations) -> Result<Finding, String> {
    let insignificant = text.to_lowercase().contains("not significant");
    let compared = ["faster", "slower", "no change"].iter().any(|word| text.contains(word));
    if !insignificant && !compared {
        return Err(format!("it compares nothing: {text}"));
    }
    Ok(operations.finding(!insignificant, mean(right)? / mean(left)?))
}

/// The mean of all values in a file of pyperf.
fn mean(file: &str) -> Result<f64, String> {
    let file = serde_json::from_str::<Value>(file).map_err(|error| error.to_string())?;
    let runs = file["benchmarks"][0]["runs"].as_array().ok_or("it holds no runs")?;
    let values = runs.iter().filter_map(|run| run["values"].as_array()).flatten();
    let values = values.filter_map(Value::as_f64).collect::<Vec<_>>();
    if values.is_empty() {
        return Err("it holds no values".into());
    }
    Ok(values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    const LEFT: &str =
        r#"{"benchmarks": [{"runs": [{"values": [1.0, 3.0], "warmups": [[1, 9.0]]}, {"values": [2.0]}]}]}"#;
    const RIGHT: &str = r#"{"benchmarks": [{"runs": [{"warmups": [[1, 9.0]]}, {"values": [2.5, 2.5]}]}]}"#;

    #[test]
    fn what_is_hidden_as_not_significant_is_the_same() {
        let operations = Operations { left: 100, right: 101 };
        let judged = |text: &str| judge(text, LEFT, RIGHT, operations);
        let finding = judged("Benchmark hidden because not significant (1): work\n").expect("an answer");
        assert_eq!(finding, Finding { truth: 1.01, ratio: Some(1.25), answer: Answer::Same });
        let text = "Mean +- std dev: [left] 30.0 ms +- 0.1 ms -> [right] 30.3 ms +- 0.1 ms: 1.01x slower\n";
        assert_eq!(judged(text).expect("an answer").answer, Answer::Different);
        assert_eq!(judged("Not significant!\n").expect("an answer").answer, Answer::Same);
        assert!(judged("").is_err());
    }

    #[test]
    fn a_file_without_values_is_no_measurement() {
        let operations = Operations { left: 1, right: 1 };
        for file in ["", "{}", r#"{"benchmarks": [{"runs": [{"warmups": []}]}]}"#] {
            assert!(judge("1.01x slower", LEFT, file, operations).is_err(), "{file}");
        }
    }
}
