//! Are equal runs called equal?
//!
//! The same experiments are measured again and again into a store of their own; then all pairs of runs are
//! compared, each with the others as what is known besides, and random halves of them. Nothing differs but
//! the moment, so at most the level that `tenbin compare` states may be called different.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use tenbin_analysis::across::{Across, Compared};
use tenbin_model::{Report, Verdict};
use xtask::architecture::{Architecture, Target};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

/// The part of all comparisons of equal runs that may be called different.
const LEVEL: f64 = 0.01;

/// What `cargo xtask repeat` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many runs.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u16).range(2..=100))]
    runs: u16,
    /// How many times the runs are divided into two sides at random.
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u16).range(..=10_000))]
    halves: u16,
    /// The longest that one run or comparison may take.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Ask this program instead of building tenbin.
    #[arg(long, value_name = "PROGRAM")]
    tenbin: Option<PathBuf>,
    /// Names of experiments.
    #[arg(value_name = "EXPERIMENT", default_values = ["fib", "null"])]
    experiments: Vec<String>,
}

/// How often each comparison was called what.
#[derive(Default)]
struct Tally {
    /// By comparison, in the order of [`Verdict`]: different, equivalent, refused.
    by_comparison: BTreeMap<String, [usize; 3]>,
    /// How many times two sides were compared, and how many times anything was different.
    sides: usize,
    any: usize,
}

/// Measure, compare all pairs and random halves, print how often what was said.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let host = Architecture::HERE;
    let binary = match &arguments.tenbin {
        Some(binary) => binary.clone(),
        None => workspace.build(host, Profile::Dist)?,
    };
    let store = workspace.scratch("repeat")?.join("store.db");
    let command = || host.command(&binary).variable("TENBIN_STORE", &store);
    let compare = |one: &str, other: &str| -> Result<Vec<(String, Verdict)>, Failure> {
        let text = ask(command(), arguments, &["compare", one, other, "--json"])?;
        let across: Across = serde_json::from_str(&text).map_err(unread)?;
        Ok(across.comparisons.into_iter().map(named).collect())
    };
    let mut ids = Vec::new();
    for number in 1..=arguments.runs {
        let words: Vec<&str> = arguments.experiments.iter().map(String::as_str).collect();
        let words = [&["run", "--quick", "--json"], words.as_slice()].concat();
        let report: Report = serde_json::from_str(&ask(command(), arguments, &words)?).map_err(unread)?;
        let id = report.run.ok_or_else(|| unread("the run was not kept"))?;
        println!("run {number} of {}: {}", arguments.runs, &id[..12.min(id.len())]);
        ids.push(id);
    }
    let mut pairs = Tally::default();
    for (place, one) in ids.iter().enumerate() {
        for other in &ids[..place] {
            pairs.count(&compare(one, other)?);
        }
    }
    print!("\n{}", pairs.table("all pairs of runs"));
    let mut halves = Tally::default();
    let mut random = Pcg64::seed_from_u64(1);
    for _ in 0..arguments.halves {
        ids.shuffle(&mut random);
        let (one, other) = ids.split_at(ids.len() / 2);
        halves.count(&compare(&one.join(","), &other.join(","))?);
    }
    print!("\n{}", halves.table("random halves"));
    Ok(if pairs.holds() && halves.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// What tenbin answers in JSON.
fn ask(tenbin: Command, arguments: &Arguments, words: &[&str]) -> Result<String, Failure> {
    let command = tenbin.arguments(words).patience(Duration::from_secs(arguments.seconds));
    let output = command.remedy("give it more time with --seconds").capture_quietly()?;
    if output.is_answer() { Ok(output.text) } else { Err(unread(output.ending())) }
}

fn unread(reason: impl std::fmt::Display) -> Failure {
    Failure::new("read what tenbin answers", reason, "ask tenbin by hand")
}

/// What a comparison is called, and its verdict.
fn named(compared: Compared) -> (String, Verdict) {
    let Compared { experiment, cell, left, right, verdict, .. } = compared;
    (format!("{experiment} {cell}: {left} / {right}"), verdict)
}

impl Tally {
    fn count(&mut self, comparisons: &[(String, Verdict)]) {
        self.sides += 1;
        for (name, verdict) in comparisons {
            self.by_comparison.entry(name.clone()).or_default()[*verdict as usize] += 1;
        }
        self.any += usize::from(comparisons.iter().any(|(_, verdict)| *verdict == Verdict::Different));
    }

    /// Whether no comparison, and no two sides, were called different more often than the level.
    fn holds(&self) -> bool {
        let rare = |different: usize, of: usize| different as f64 <= LEVEL * of as f64;
        let comparisons = self.by_comparison.values();
        let (different, of) = comparisons.fold((0, 0), |(different, of), counts| {
            (different + counts[0], of + counts.iter().sum::<usize>())
        });
        rare(different, of) && (self.sides < 100 || rare(self.any, self.sides))
    }

    fn table(&self, what: &str) -> String {
        let mut text = format!(
            "{what}: {}, in {} of them anything was different\n\n| comparison | different | equivalent | refused |\n| --- | --- | --- | --- |\n",
            self.sides, self.any
        );
        for (name, [different, equivalent, refused]) in &self.by_comparison {
            text.push_str(&format!("| {name} | {different} | {equivalent} | {refused} |\n"));
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(different: usize, refused: usize) -> Tally {
        let mut tally = Tally::default();
        for (verdict, count) in [(Verdict::Different, different), (Verdict::Refused, refused)] {
            (0..count).for_each(|_| tally.count(&[("null in a loop: a / b".into(), verdict)]));
        }
        tally
    }

    #[test]
    fn one_of_a_hundred_may_be_different_and_no_more() {
        assert!(tally(1, 99).holds() && tally(0, 10).holds());
        assert!(!tally(2, 98).holds() && !tally(1, 10).holds());
        let table = tally(1, 2).table("all pairs");
        assert!(
            table.starts_with("all pairs: 3, in 1 of them") && table.contains("| 1 | 0 | 2 |"),
            "{table}"
        );
    }
}
