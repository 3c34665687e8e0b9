//! zenbench: both sides in shuffled rounds of one process, and its analysis of the pairs.

use serde_json::Value;

use super::stage::Operations;
use super::tool::{Finding, Question, Tool, linked, number, unreadable};
use xtask::failure::Failure;

pub(super) const DEFAULT: Tool = Tool {
    name: "zenbench",
    rule: "one group, its exploratory mode, shuffled rounds until its own rule or the time ends them, without its wait \
           for a quiet machine; they differ if its analysis says significant (the 95 % bootstrap interval of the mean paired \
           difference beyond its noise threshold of 1 %); ratio of 1 and the change in its analysis.",
    needs: Vec::new,
    prepare: |stage| linked(stage, "zenbench", |question| weigh(question, "1")),
};

/// With its threshold of 1 % an effect of 1 % is found by chance alone.
pub(super) const NO_THRESHOLD: Tool = Tool {
    name: "zenbench-no-threshold",
    rule: "as zenbench, with its noise threshold set to 0.",
    needs: Vec::new,
    prepare: |stage| linked(stage, "zenbench", |question| weigh(question, "0")),
};

/// How long one call is: many of them make its sample of 5 ms.
const CALL: f64 = 20_000.0;

fn weigh(question: &Question<'_>, threshold: &str) -> Result<Finding, Failure> {
    let operations = question.operations(CALL);
    let stage = question.stage;
    let text = stage
        .pinned(&stage.built("arena-zenbench"))
        // What it would keep belongs below the arena's own folder, and is not asked for.
        .directory(&stage.scratch)
        .variable("ZENBENCH_NO_SAVE", "1")
        .variable("ARENA_WORK", question.work.index.to_string())
        .variable("ARENA_LEFT", operations.left.to_string())
        .variable("ARENA_RIGHT", operations.right.to_string())
        .variable("ARENA_MILLISECONDS", ((stage.seconds * 1e3).round() as u64).to_string())
        .variable("ARENA_THRESHOLD_PERCENT", threshold)
        .read()?;
    judge(&text, operations).map_err(|reason| unreadable("what zenbench says", reason))
}

/// Its analysis of the pair, as a finding.
pub(crate) fn judge(text: &str, operations: Operations) -> Result<Finding, String> {
    let line = text.lines().last().unwrap_or_default();
    let analysis = serde_json::from_str::<Value>(line).map_err(|error| format!("{error}: {text}"))?;
    let different = analysis["significant"].as_bool().ok_or("it does not say whether it is significant")?;
    Ok(operations.finding(different, 1.0 + number(&analysis, "/pct_change")? / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    #[test]
    fn what_is_significant_is_a_difference() {
        let operations = Operations { left: 100, right: 101 };
        for (word, answer) in [("true", Answer::Different), ("false", Answer::Same)] {
            let text = format!(r#"{{"pct_change": 1.25, "significant": {word}, "wilcoxon_p": 0.03}}"#);
            let finding = judge(&text, operations).expect("it is an analysis");
            assert_eq!(finding, Finding { truth: 1.01, ratio: Some(1.0125), answer });
        }
        assert!(judge("{}", operations).is_err());
        assert!(judge("", operations).is_err());
    }
}
