//! What would one layout alone have said?
//!
//! Pairs of functions are weighed over layouts, and again with each of several layouts alone. A single layout
//! is false where its verdict is another than that over layouts, or its interval does not meet that one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_model::{Evidence, Interval, Report, Verdict};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::workspace::Workspace;

use crate::commands;
use crate::tally::word;

/// By how much tenbin may take longer than it was given before it is ended.
const GRACE: Duration = Duration::from_secs(120);

/// What `cargo xtask layouts` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Pairs, a line each: a name, a colon, and the words that `tenbin weigh` gets, as a shell takes them, in
    /// the folder of the file.
    #[arg(value_name = "FILE")]
    pairs: PathBuf,
    /// How many single layouts are asked.
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..=1000))]
    layouts: u32,
    /// Seconds for a single layout.
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=3600))]
    within: u64,
    /// Seconds for the verdict over layouts.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    over: u64,
    /// Ask this program instead of building tenbin.
    #[arg(long, value_name = "PROGRAM")]
    tenbin: Option<PathBuf>,
}

/// What a weighing answered.
#[derive(Clone, Debug, PartialEq)]
struct Answer {
    verdict: Verdict,
    ratio: f64,
    interval: Interval,
}

/// Prints a row for each pair.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    let binary = commands::tenbin(workspace, arguments.tenbin.as_deref())?;
    let file = commands::absolute(&arguments.pairs)?;
    let text = std::fs::read_to_string(&file)
        .map_err(|error| Failure::new(format!("read {}", file.display()), error, "name a file of pairs"))?;
    let folder = file.parent().unwrap_or(Path::new("/"));
    println!(
        "| pair | over layouts | by 99 % | single layouts | least and most | another verdict | another interval |\n\
         | --- | --- | --- | --- | --- | --- | --- |"
    );
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let Some((name, words)) = line.split_once(':') else {
            let remedy = "write a name, a colon and the words for `tenbin weigh`";
            return Err(Failure::new(format!("read the pair `{line}`"), "it has no colon", remedy));
        };
        let ask = |seconds: u64, layout: Option<u32>| -> Result<Option<Answer>, Failure> {
            let layout = layout.map(|layout| format!("--one-layout={layout}")).unwrap_or_default();
            // The shell splits the words of the line, and those alone.
            let script = format!("exec \"$0\" weigh --json --no-store --within {seconds}s {layout} {words}");
            let command = Command::new("sh").arguments(["-c", &script]).argument(&binary).directory(folder);
            let output = command.patience(Duration::from_secs(seconds) + GRACE).capture_quietly()?;
            if output.is_answer() {
                return Ok(answer(&output.text));
            }
            Err(Failure::new(format!("weigh {name}"), output.diagnostics, "ask tenbin by hand"))
        };
        let whole = ask(arguments.over, None)?;
        let mut single = Vec::new();
        for layout in 1..=arguments.layouts {
            single.extend(ask(arguments.within, Some(layout))?);
        }
        println!("{}", row(name.trim(), whole.as_ref(), &single));
    }
    Ok(())
}

/// The first answer of a report; none where it was refused without figures.
fn answer(text: &str) -> Option<Answer> {
    let report: Report = serde_json::from_str(text).ok()?;
    let answer = report.answers.into_iter().next()?;
    let Evidence { ratio, interval, .. } = answer.evidence?;
    Some(Answer { verdict: answer.verdict, ratio, interval })
}

impl Answer {
    /// The verdict, and of a difference who is dearer. None where it was refused.
    fn claim(&self) -> Option<(Verdict, bool)> {
        let different = self.verdict == Verdict::Different;
        (self.verdict != Verdict::Refused).then_some((self.verdict, different && self.ratio > 1.0))
    }
}

fn row(name: &str, whole: Option<&Answer>, single: &[Answer]) -> String {
    let Some(whole) = whole else { return format!("| {name} | no figures | – | – | – | – | – |") };
    let percent = |ratio: f64| format!("{:+.1} %", (ratio - 1.0) * 100.0);
    let ratios = || single.iter().map(|answer| answer.ratio);
    let (least, most) = (ratios().fold(f64::INFINITY, f64::min), ratios().fold(0.0, f64::max));
    let otherwise = |answer: &&Answer| {
        let claims = answer.claim().zip(whole.claim());
        claims.is_some_and(|(own, whole)| own != whole)
    };
    let (own, other) = (whole.interval, |answer: &Answer| answer.interval);
    let elsewhere = |answer: &&Answer| other(answer).high < own.low || other(answer).low > own.high;
    format!(
        "| {name} | {}: {} | {} to {} | {} | {} and {} | {} | {} |",
        word(whole.verdict),
        percent(whole.ratio),
        percent(own.low),
        percent(own.high),
        single.len(),
        percent(least),
        percent(most),
        single.iter().filter(otherwise).count(),
        single.iter().filter(elsewhere).count(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_layout_may_say_otherwise_or_lie_elsewhere() {
        let answer = |verdict, low: f64, high: f64| Answer {
            verdict,
            ratio: (low + high) / 2.0,
            interval: Interval { low, high },
        };
        let whole = answer(Verdict::Different, 1.01, 1.03);
        let single = [
            answer(Verdict::Different, 1.015, 1.025),
            answer(Verdict::Different, 1.06, 1.08),
            answer(Verdict::Different, 0.96, 0.98),
            answer(Verdict::Equivalent, 0.99, 1.011),
            answer(Verdict::Refused, 0.98, 1.02),
        ];
        assert_eq!(
            row("name", Some(&whole), &single),
            "| name | different: +2.0 % | +1.0 % to +3.0 % | 5 | -3.0 % and +7.0 % | 2 | 2 |"
        );
    }
}
