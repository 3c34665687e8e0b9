//! How often is `tenbin weigh` wrong about functions?
//!
//! Pairs of functions whose truth is known are given to it: the same source on both sides, linked in layouts
//! of their own, and sources of which one does more by a known part.

mod sources;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::Value;
use tenbin_stats::proportion::clopper_pearson;
use xtask::architecture::{Architecture, Target};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

use crate::commands::absolute;
use sources::Work;

/// The exit status of a weighing in which everything was refused.
const REFUSED: i32 = 3;

/// By how much tenbin may take longer than it was given before it is ended.
const GRACE: Duration = Duration::from_secs(120);

/// What `cargo xtask functions` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// By how many per cent the dearer function costs more; 0 is a pair of equals.
    #[arg(long, value_delimiter = ',', default_value = "0,2")]
    effects: Vec<f64>,
    /// How many pairs of each effect are weighed.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// Seconds for a pair.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    within: u64,
    /// Per cent below which functions are the same.
    #[arg(long, default_value_t = 1.0)]
    margin: f64,
    /// Link once, in a layout that is drawn for each pair.
    #[arg(long)]
    one_layout: bool,
    /// Decides the order of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Ask this program instead of building tenbin.
    #[arg(long, value_name = "PROGRAM")]
    tenbin: Option<PathBuf>,
    /// Write the table to this file too.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// What became of one pair.
struct Row {
    work: Work,
    effect: f64,
    outcome: Outcome,
    seconds: f64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Right,
    Wrong,
    Same,
    Refused,
}

/// Asks everything, and prints a table after each round. Fails where equals are called different more often
/// than one time in a hundred, beyond chance.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let binary = match &arguments.tenbin {
        Some(binary) => absolute(binary)?,
        None => workspace.build(Architecture::HERE, Profile::Dist)?,
    };
    let folder = workspace.scratch("functions")?;
    let mut random = Pcg64::seed_from_u64(arguments.seed);
    let mut rows: Vec<Row> = Vec::new();
    for round in 1..=arguments.pairs {
        let mut questions: Vec<f64> = arguments.effects.clone();
        questions.shuffle(&mut random);
        for effect in questions {
            let work = Work::ALL[random.random_range(0..Work::ALL.len())];
            rows.push(ask(&binary, &folder, arguments, (work, effect), &mut random)?);
        }
        let text = table(arguments, &rows);
        if let Some(path) = &arguments.markdown {
            std::fs::write(path, &text).map_err(|error| {
                Failure::new(format!("write {}", path.display()), error, "choose another")
            })?;
        }
        eprintln!("round {round} of {}", arguments.pairs);
    }
    print!("{}", table(arguments, &rows));
    let equals = rows.iter().filter(|row| row.effect == 0.0);
    let (wrong, all) = (equals.clone().filter(|row| row.outcome == Outcome::Wrong).count(), equals.count());
    let beyond = clopper_pearson(wrong as u64, all as u64, 0.05).is_some_and(|interval| interval.low > 0.01);
    Ok(if beyond { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn ask(
    binary: &Path,
    folder: &Path,
    arguments: &Arguments,
    (work, effect): (Work, f64),
    random: &mut Pcg64,
) -> Result<Row, Failure> {
    let (place, seed, layout) = (random.random_range(0..2), random.next_u32(), random.next_u32() % 100_000);
    for (number, name) in ["left.c", "right.c"].into_iter().enumerate() {
        let own = if number == place { effect } else { 0.0 };
        let path = folder.join(name);
        std::fs::write(&path, work.source(own))
            .map_err(|error| Failure::new(format!("write {}", path.display()), error, "make room there"))?;
    }
    let command = Architecture::HERE.command(binary).directory(folder);
    let command = command.arguments(["weigh", "--json", "--no-store", "left.c", "right.c"]);
    let command = command.arguments(["--within", &format!("{}s", arguments.within)]);
    let mut command = command
        .arguments(["--margin", &arguments.margin.to_string()])
        .arguments(["--seed", &seed.to_string()]);
    if arguments.one_layout {
        command = command.argument(format!("--one-layout={layout}"));
    }
    let begun = Instant::now();
    let output = command.patience(Duration::from_secs(arguments.within) + GRACE).capture_quietly()?;
    let seconds = begun.elapsed().as_secs_f64();
    let understood = |text: &str| -> Option<(Outcome, String)> {
        let report: Value = serde_json::from_str(text).ok()?;
        let answer = report["answers"].get(0)?;
        let ratio = answer["evidence"]["ratio"].as_f64();
        let outcome = match answer["verdict"].as_str()? {
            "different" if effect > 0.0 && (ratio? > 1.0) == (place == 1) => Outcome::Right,
            "different" => Outcome::Wrong,
            "equivalent" => Outcome::Same,
            _ => Outcome::Refused,
        };
        Some((outcome, answer["sentence"].as_str()?.to_owned()))
    };
    let known = matches!(output.code, Some(0 | REFUSED)).then(|| understood(&output.text)).flatten();
    let Some((outcome, sentence)) = known else {
        return Err(Failure::new("ask tenbin to weigh", output.diagnostics, "ask tenbin by hand"));
    };
    if outcome == Outcome::Wrong {
        eprintln!("wrong: {} {effect} %, seed {seed}, layout {layout}: {sentence}", work.name());
    }
    Ok(Row { work, effect, outcome, seconds })
}

/// A row for each effect, and one for each kind of work in it.
fn table(arguments: &Arguments, rows: &[Row]) -> String {
    let mut text = String::from(
        "| dearer by | work | pairs | right | wrong | 95 % of wrong | same | refused | median, s | 90 %, s |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for &effect in &arguments.effects {
        for work in [None].into_iter().chain(Work::ALL.map(Some)) {
            let own: Vec<&Row> = rows
                .iter()
                .filter(|row| row.effect == effect && work.is_none_or(|work| row.work == work))
                .collect();
            if own.is_empty() {
                continue;
            }
            let count = |outcome| own.iter().filter(|row| row.outcome == outcome).count();
            let wrong = count(Outcome::Wrong);
            let interval = clopper_pearson(wrong as u64, own.len() as u64, 0.05);
            let mut seconds: Vec<f64> = own.iter().map(|row| row.seconds).collect();
            seconds.sort_by(f64::total_cmp);
            let at = |part: f64| seconds[((seconds.len() - 1) as f64 * part).round() as usize];
            text.push_str(&format!(
                "| {effect} % | {} | {} | {} | {wrong} | {} | {} | {} | {:.1} | {:.1} |\n",
                work.map_or("all", Work::name),
                own.len(),
                if effect > 0.0 { count(Outcome::Right).to_string() } else { "–".into() },
                interval.map_or_else(String::new, |it| format!(
                    "{:.1} to {:.1} %",
                    it.low * 100.0,
                    it.high * 100.0
                )),
                count(Outcome::Same),
                count(Outcome::Refused),
                at(0.5),
                at(0.9),
            ));
        }
    }
    text
}
