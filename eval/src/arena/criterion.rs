//! criterion: the right side against the left one as a saved baseline, and the sentence that it prints.

use serde_json::Value;

use super::stage::Operations;
use super::tool::{Finding, Question, Tool, linked, number, unreadable};
use xtask::failure::Failure;

pub(super) const DEFAULT: Tool = Tool {
    name: "criterion",
    rule: "the left side as a saved baseline, the right side compared with it; they differ if it prints that \
           performance has improved or regressed (p < 0.05 by its t test on resamples, and the whole interval of the \
           change beyond its noise threshold of 1 %); ratio of its estimate of the mean change.",
    needs: Vec::new,
    prepare: |stage| linked(stage, "criterion", |question| weigh(question, &[])),
};

/// With its threshold of 1 % an effect of 1 % cannot be found but by chance. A user who looks for one
/// would take it away.
pub(super) const NO_THRESHOLD: Tool = Tool {
    name: "criterion-no-threshold",
    rule: "as criterion, with its noise threshold set to a millionth; it takes no 0.",
    needs: Vec::new,
    prepare: |stage| {
        linked(stage, "criterion", |question| weigh(question, &["--noise-threshold", "0.000001"]))
    },
};

/// How long one call is: a hundred samples of up to a hundred calls fit into a second.
const CALL: f64 = 20_000.0;

/// Parts of the time of one side; the rest goes to its analysis.
const WARM_UP: f64 = 0.15;
const MEASUREMENT: f64 = 0.5;

fn weigh(question: &Question<'_>, options: &[&str]) -> Result<Finding, Failure> {
    let stage = question.stage;
    let home = stage.scratch.join("criterion");
    let operations = question.operations(CALL);
    let run = |operations: u64, baseline: [&str; 2]| {
        let times = [WARM_UP, MEASUREMENT].map(|part| (part * stage.seconds / 2.0).to_string());
        stage
            .pinned(&stage.built("arena-criterion"))
            .arguments(["--bench", "--noplot", "--warm-up-time", &times[0], "--measurement-time", &times[1]])
            .arguments(baseline)
            .arguments(options.iter().copied())
            .variable("CRITERION_HOME", &home)
            .variable("ARENA_WORK", question.work.index.to_string())
            .variable("ARENA_OPERATIONS", operations.to_string())
            .read()
    };
    run(operations.left, ["--save-baseline", "left"])?;
    let text = run(operations.right, ["--baseline", "left"])?;
    let estimates = std::fs::read_to_string(home.join("work/change/estimates.json"));
    let judged = estimates
        .map_err(|error| error.to_string())
        .and_then(|estimates| judge(&text, &estimates, operations));
    judged.map_err(|reason| unreadable("what criterion says", reason))
}

/// What criterion printed and kept, as a finding.
fn judge(text: &str, estimates: &str, operations: Operations) -> Result<Finding, String> {
    let sentences = [
        ("Performance has improved.", true),
        ("Performance has regressed.", true),
        ("Change within noise threshold.", false),
        ("No change in performance detected.", false),
    ];
    let verdict = sentences.iter().find(|(sentence, _)| text.contains(sentence));
    let (_, different) = verdict.ok_or_else(|| format!("it holds none of its verdicts: {text}"))?;
    let estimates = serde_json::from_str::<Value>(estimates).map_err(|error| error.to_string())?;
    Ok(operations.finding(*different, 1.0 + number(&estimates, "/mean/point_estimate")?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    const ESTIMATES: &str =
        r#"{"mean": {"confidence_interval": {}, "point_estimate": 0.0125}, "median": {}}"#;

    fn text(sentence: &str) -> String {
        format!(
            "work   time:   [5.56 µs 5.80 µs 6.15 µs]\n       change: [−3.9% +1.2% +10.9%] (p = 0.35 > 0.05)\n       {sentence}\n"
        )
    }

    #[test]
    fn its_four_sentences_are_two_answers() {
        let operations = Operations { left: 100, right: 101 };
        for (sentence, answer) in [
            ("Performance has improved.", Answer::Different),
            ("Performance has regressed.", Answer::Different),
            ("Change within noise threshold.", Answer::Same),
            ("No change in performance detected.", Answer::Same),
        ] {
            let finding = judge(&text(sentence), ESTIMATES, operations).expect("it is a verdict");
            assert_eq!(finding, Finding { truth: 1.01, ratio: Some(1.0125), answer }, "{sentence}");
        }
        assert!(judge(&text(""), ESTIMATES, operations).is_err());
        assert!(judge(&text("Performance has improved."), "{}", operations).is_err());
    }
}
