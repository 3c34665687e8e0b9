//! Google Benchmark: nine repetitions of each side, and the U test of its own compare.py.

use serde_json::Value;

use super::stage::{Operations, Stage};
use super::tool::{Finding, Question, Ready, Tool, number, unreadable};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::requirement::{PYTHON, Requirement};

pub(super) const WALL: Tool = Tool {
    name: "google-benchmark",
    rule: "nine repetitions of each side; they differ if the U test of its own compare.py says p < 0.05 for the \
           real time; ratio of the medians, as compare.py prints it.",
    needs,
    prepare: |stage| prepare(stage, "time"),
};

/// Its other column. On a busy machine the time on the CPU is the quieter one, and a user sees both.
pub(super) const PROCESSOR: Tool = Tool {
    name: "google-benchmark-cpu",
    rule: "as google-benchmark, by the p that compare.py prints for the time on the CPU.",
    needs,
    prepare: |stage| prepare(stage, "cpu"),
};

const SOURCE: &str = "google_benchmark.cc";
const LIBRARY: &str = "libbenchmark-dev";
const COMPARE: &str = "/usr/share/benchmark/compare.py";

/// What compare.py itself calls the lowest reasonable number.
const REPETITIONS: u32 = 9;

/// A repetition takes up to 1.4 times the least time that is asked for, and finding how many calls
/// that is takes about as long as one and a half.
const REPETITION: f64 = 1.4;
const SEARCH: f64 = 1.5;

/// How long one call is: long against the loop around it, short against a repetition.
const CALL: f64 = 20_000.0;

const LEVEL: f64 = 0.05;

fn needs() -> Vec<Requirement> {
    vec![
        Requirement::file(LIBRARY, "/usr/include/benchmark/benchmark.h"),
        Requirement::file("libbenchmark-tools", COMPARE),
        Requirement::python("python3-scipy", "scipy"),
    ]
}

fn prepare(stage: &Stage<'_>, column: &'static str) -> Result<Ready, Failure> {
    let program = stage.compile(SOURCE, &["-lbenchmark", "-lpthread"])?;
    // The library does not say which version it is before 1.8.4.
    let version = Command::new("dpkg-query").arguments(["--show", "--showformat=${Version}", LIBRARY]).read();
    let weigh = move |question: &Question<'_>| {
        let operations = question.operations(CALL);
        let left = run(question, &program, operations.left, "left")?;
        let right = run(question, &program, operations.right, "right")?;
        let scratch = &question.stage.scratch;
        let report = scratch.join("google_benchmark.json");
        let compare = question.stage.pinned(PYTHON.as_ref()).arguments([COMPARE, "--no-color", "-d"]);
        compare.argument(&report).argument("benchmarks").argument(left).argument(right).read()?;
        let text = std::fs::read_to_string(&report).map_err(|error| error.to_string());
        let judged = text.and_then(|text| judge(&text, column, operations));
        judged.map_err(|reason| unreadable("the report of compare.py", reason))
    };
    Ok(Ready { version: version.unwrap_or_else(|_| "unknown".into()), weigh: Box::new(weigh) })
}

/// Run one side, and give the file that holds its times.
fn run(
    question: &Question<'_>,
    program: &std::path::Path,
    operations: u64,
    side: &str,
) -> Result<std::path::PathBuf, Failure> {
    let file = question.stage.scratch.join(format!("google_benchmark_{side}.json"));
    let share = f64::from(REPETITIONS) * REPETITION + SEARCH;
    let time = question.stage.seconds / 2.0 / share;
    let command = question.stage.pinned(program);
    command
        .arguments([
            format!("--benchmark_repetitions={REPETITIONS}"),
            format!("--benchmark_min_time={time}"),
            format!("--benchmark_out={}", file.display()),
        ])
        .variable("ARENA_WORK", question.work.index.to_string())
        .variable("ARENA_OPERATIONS", operations.to_string())
        .read()?;
    Ok(file)
}

/// What compare.py dumped, as a finding, by its column "time" or "cpu".
fn judge(report: &str, column: &str, operations: Operations) -> Result<Finding, String> {
    let report = serde_json::from_str::<Value>(report).map_err(|error| error.to_string())?;
    let entries = report.as_array().ok_or("it is no list")?;
    let tested = entries.iter().find(|it| it["run_type"] == "iteration").ok_or("no repetitions")?;
    let medians = entries.iter().find(|it| it["aggregate_name"] == "median").ok_or("no median")?;
    let probability = number(tested, &format!("/utest/{column}_pvalue"))?;
    let change = number(medians, &format!("/measurements/0/{column}"))?;
    Ok(operations.finding(probability < LEVEL, 1.0 + change))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    const REPORT: &str = r#"[
        {"name": "work", "run_type": "iteration", "measurements": [{"time": 0.5, "cpu": 0.5}],
         "utest": {"have_optimal_repetitions": true, "cpu_pvalue": 0.0171, "time_pvalue": 0.2893}},
        {"name": "work_mean", "run_type": "aggregate", "aggregate_name": "mean",
         "measurements": [{"time": 0.25, "cpu": 0.25}], "utest": {}},
        {"name": "work_median", "run_type": "aggregate", "aggregate_name": "median",
         "measurements": [{"time": -0.125, "cpu": 0.0625}], "utest": {}}]"#;

    #[test]
    fn each_column_has_a_verdict_of_its_own() {
        let operations = Operations { left: 100, right: 101 };
        let finding = judge(REPORT, "time", operations).expect("it is a report");
        assert_eq!(finding, Finding { truth: 1.01, ratio: Some(0.875), answer: Answer::Same });
        let finding = judge(REPORT, "cpu", operations).expect("it is a report");
        assert_eq!(finding, Finding { truth: 1.01, ratio: Some(1.0625), answer: Answer::Different });
    }

    #[test]
    fn a_report_without_a_test_is_no_answer() {
        let operations = Operations { left: 1, right: 1 };
        for text in ["", "{}", "[]", &REPORT.replace("time_pvalue", "p"), &REPORT.replace("median", "mode")] {
            assert!(judge(text, "time", operations).is_err(), "{text}");
        }
    }
}
