//! tango: two processes side by side, and the star that it prints behind a difference.

use super::stage::Operations;
use super::tool::{Finding, Question, Tool, linked, unreadable};
use xtask::command::Command;
use xtask::failure::Failure;

pub(super) const DEFAULT: Tool = Tool {
    name: "tango",
    rule: "two processes at once in lock step, on all CPUs that the arena may use, as its method asks for two; \
           they differ if it prints its star (|z| of the mean difference of at least 2.6, and beyond its noise threshold \
           of 1 %); ratio of 1 and the change that it prints.",
    needs: Vec::new,
    prepare: |stage| linked(stage, "tango-bench", |question| weigh(question, "1")),
};

/// With its threshold of 1 % an effect of 1 % is found by chance alone.
pub(super) const NO_THRESHOLD: Tool = Tool {
    name: "tango-no-threshold",
    rule: "as tango, with its noise threshold set to 0.",
    needs: Vec::new,
    prepare: |stage| linked(stage, "tango-bench", |question| weigh(question, "0")),
};

/// How long one call is: many of them make its time slice of 10 ms.
const CALL: f64 = 20_000.0;

fn weigh(question: &Question<'_>, threshold: &str) -> Result<Finding, Failure> {
    let operations = question.operations(CALL);
    let stage = question.stage;
    // Not held on the arena's one CPU: its two processes wait for each other.
    let output = Command::new(stage.built("arena-tango"))
        .arguments(["--color", "never", "compare", "--time", &stage.seconds.to_string()])
        .arguments(["--noise-threshold", threshold])
        .arguments(["--strip-baseline", "left/*", "--strip-candidate", "right/*"])
        .variable("ARENA_WORK", question.work.index.to_string())
        .variable("ARENA_LEFT", operations.left.to_string())
        .variable("ARENA_RIGHT", operations.right.to_string())
        .capture_quietly()?;
    // It ends with 1 where the right side is slower: an answer, and no failure. The line is what tells.
    judge(&output.text, operations).map_err(|reason| {
        unreadable("what tango says", format!("{reason}\n{}", output.diagnostics.trim_end()))
    })
}

/// The line of the pair, `work [ 5.1 us ... 5.2 us ] +1.02%*`, as a finding.
pub(crate) fn judge(text: &str, operations: Operations) -> Result<Finding, String> {
    let line = text.lines().find(|line| line.starts_with("work ") && line.contains(']'));
    let change = line.and_then(|line| line.rsplit_once(']')).map(|(_, change)| change.trim());
    let change = change.ok_or_else(|| format!("it holds no line of the pair: {text}"))?;
    let different = change.ends_with('*');
    let percent = change.trim_end_matches('*').trim_end_matches('%').parse::<f64>();
    let percent = percent.map_err(|error| format!("`{change}`: {error}"))?;
    Ok(operations.finding(different, 1.0 + percent / 100.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::tool::Answer;

    #[test]
    fn the_star_is_a_difference() {
        let operations = Operations { left: 100, right: 101 };
        let line = |change| format!("work                 [  20.0 us ...  20.2 us ]      {change}\n");
        for (change, answer) in [("+1.25%*", Answer::Different), ("+1.25%", Answer::Same)] {
            let finding = judge(&line(change), operations).expect("it is a line of a pair");
            assert_eq!(finding, Finding { truth: 1.01, ratio: Some(1.0125), answer });
        }
        assert_eq!(judge(&line("-1.25%*"), operations).expect("a line").ratio, Some(0.9875));
        assert!(judge("", operations).is_err());
        assert!(judge(&line("much*"), operations).is_err());
    }
}
