//! Are equal runs called equal?
//!
//! The same experiments are measured again and again into a store of their own; then all pairs of runs are
//! compared, each with the others as what is known besides, and random halves of them. Nothing differs but
//! the moment, so at most the level that `tenbin compare` states may be called different.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;
use serde_json::Value;

use xtask::architecture::{Architecture, Target};
use xtask::command::{Command, status_in_words};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

/// The exit status of a comparison in which everything was refused.
const REFUSED: i32 = 3;

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
    /// By comparison: different, equivalent, refused.
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
    let ask = |words: &[&str]| ask(host.command(&binary), &store, arguments, words);
    let mut ids = Vec::new();
    for number in 1..=arguments.runs {
        let words: Vec<&str> = arguments.experiments.iter().map(String::as_str).collect();
        let report = ask(&[&["run", "--quick", "--json"], words.as_slice()].concat())?;
        let id = report["run"].as_str().ok_or_else(|| missing("run"))?.to_owned();
        println!("run {number} of {}: {}", arguments.runs, &id[..12.min(id.len())]);
        ids.push(id);
    }
    let mut pairs = Tally::default();
    for (place, one) in ids.iter().enumerate() {
        for other in &ids[..place] {
            pairs.count(&ask(&["compare", one, other, "--json"])?)?;
        }
    }
    print!("\n{}", pairs.table("all pairs of runs"));
    let mut halves = Tally::default();
    let mut random = Pcg64::seed_from_u64(1);
    for _ in 0..arguments.halves {
        ids.shuffle(&mut random);
        let (one, other) = ids.split_at(ids.len() / 2);
        halves.count(&ask(&["compare", &one.join(","), &other.join(","), "--json"])?)?;
    }
    print!("\n{}", halves.table("random halves"));
    Ok(if pairs.holds() && halves.holds() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn missing(what: &str) -> Failure {
    Failure::new("read what tenbin said", format!("there is no `{what}` in it"), "ask tenbin by hand")
}

fn ask(tenbin: Command, store: &Path, arguments: &Arguments, words: &[&str]) -> Result<Value, Failure> {
    let command = tenbin.arguments(words).variable("TENBIN_STORE", store);
    let command = command.patience(Duration::from_secs(arguments.seconds));
    let output = command.remedy("give it more time with --seconds").capture_quietly()?;
    let failure =
        |reason: String| Failure::new(format!("ask tenbin to {}", words[0]), reason, "ask tenbin by hand");
    if !matches!(output.code, Some(0 | REFUSED)) {
        return Err(failure(format!("{}\n{}", status_in_words(output.code), output.diagnostics.trim_end())));
    }
    serde_json::from_str(&output.text).map_err(|error| failure(error.to_string()))
}

impl Tally {
    fn count(&mut self, across: &Value) -> Result<(), Failure> {
        self.sides += 1;
        let mut any = false;
        for compared in across["comparisons"].as_array().ok_or_else(|| missing("comparisons"))? {
            let word = |key: &str| compared[key].as_str().ok_or_else(|| missing(key));
            let name =
                format!("{} {}: {} / {}", word("experiment")?, word("cell")?, word("left")?, word("right")?);
            let verdict = match word("verdict")? {
                "different" => 0,
                "equivalent" => 1,
                _ => 2,
            };
            any |= verdict == 0;
            self.by_comparison.entry(name).or_default()[verdict] += 1;
        }
        self.any += usize::from(any);
        Ok(())
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
    use serde_json::json;

    use super::*;

    fn across(verdict: &str) -> Value {
        let compared =
            json!({"experiment": "null", "cell": "in a loop", "left": "a", "right": "b", "verdict": verdict});
        json!({ "comparisons": [compared] })
    }

    fn tally(different: usize, refused: usize) -> Tally {
        let mut tally = Tally::default();
        let verdicts =
            std::iter::repeat_n("different", different).chain(std::iter::repeat_n("refused", refused));
        verdicts.for_each(|verdict| tally.count(&across(verdict)).expect("it is a comparison"));
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

    #[test]
    fn what_is_no_comparison_is_not_counted() {
        assert!(Tally::default().count(&json!({})).is_err());
        assert!(Tally::default().count(&json!({"comparisons": [{}]})).is_err());
    }
}
