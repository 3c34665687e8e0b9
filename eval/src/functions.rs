//! How often is `tenbin weigh` wrong about functions, and how often are others?
//!
//! Pairs of functions whose truth is known are given to it and to its peers: the same source on both sides,
//! and sources of which one does more by a known part, each pair in layouts of its own.

mod peers;
mod sources;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use tenbin_model::words::comma;
use xtask::failure::Failure;
use xtask::workspace::Workspace;

use crate::arena::surroundings;
use crate::commands;
use crate::files::write;
use crate::tally::{COLUMNS, Outcome, Tally};
use peers::Peer;
use sources::Work;

/// What `cargo xtask functions` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// By how many per cent the dearer function costs more; 0 is a pair of equals.
    #[arg(long, value_delimiter = ',', default_value = "0,2")]
    effects: Vec<f64>,
    /// How many pairs of each effect are weighed.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// Seconds for a pair, of each tool.
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    within: u64,
    /// Per cent below which functions are the same to tenbin.
    #[arg(long, default_value_t = 1.0)]
    margin: f64,
    /// Who is asked; nanobench needs --nanobench.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "tenbin",
        value_parser = clap::builder::PossibleValuesParser::new(peers::ALL.iter().map(|peer| peer.name))
    )]
    tools: Vec<String>,
    /// The nanobench.h to use.
    #[arg(long, value_name = "HEADER")]
    nanobench: Option<PathBuf>,
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

/// What every question needs.
struct Stand<'a> {
    workspace: &'a Workspace,
    arguments: &'a Arguments,
    binary: PathBuf,
    /// Where sources and programs are written; emptied at the start.
    folder: PathBuf,
}

impl Stand<'_> {
    fn within(&self) -> Duration {
        Duration::from_secs(self.arguments.within)
    }
}

/// Two functions, and which is the dearer one.
struct Pair {
    work: Work,
    /// By how many per cent the dearer one costs more; 0 of equals.
    effect: f64,
    /// The place of the side that is dearer, if one is.
    place: usize,
    /// Of tenbin's random choices.
    seed: u32,
    /// Decides where things lie in the programs of other tools, and for tenbin where it links once.
    layout: u32,
}

impl Pair {
    fn draw(effect: f64, random: &mut Pcg64) -> Self {
        let work = Work::ALL[random.random_range(0..Work::ALL.len())];
        let (place, seed, layout) =
            (random.random_range(0..2), random.next_u32(), random.next_u32() % 100_000);
        Self { work, effect, place, seed, layout }
    }

    /// How much more each side does, per cent.
    fn effects(&self) -> [f64; 2] {
        let mut effects = [0.0; 2];
        effects[self.place] = self.effect;
        effects
    }

    fn dearer(&self) -> Option<usize> {
        (self.effect > 0.0).then_some(self.place)
    }
}

/// What became of one pair.
struct Row {
    tool: &'static str,
    work: Work,
    effect: f64,
    outcome: Outcome,
    seconds: f64,
}

/// Asks everything, and keeps a table after each round. Fails where tenbin calls equals different more often
/// than one time in a hundred, beyond chance.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let binary = commands::tenbin(workspace, arguments.tenbin.as_deref())?;
    let stand = Stand { workspace, arguments, binary, folder: workspace.scratch("functions")? };
    let tools: Vec<&Peer> =
        peers::ALL.iter().filter(|peer| arguments.tools.iter().any(|name| name == peer.name)).collect();
    let head = head(&tools, arguments);
    let mut random = Pcg64::seed_from_u64(arguments.seed);
    let mut rows: Vec<Row> = Vec::new();
    let mut text = String::new();
    for round in 1..=arguments.pairs {
        let begun = Instant::now();
        let mut questions: Vec<f64> = arguments.effects.clone();
        questions.shuffle(&mut random);
        for effect in questions {
            let pair = Pair::draw(effect, &mut random);
            let mut order = tools.clone();
            order.shuffle(&mut random);
            rows.extend(order.into_iter().map(|tool| ask(&stand, tool, &pair)));
        }
        text = format!("{head}\n{}", table(&tools, &arguments.effects, &rows));
        if let Some(path) = &arguments.markdown {
            write(path, &text, "choose another --markdown")?;
        }
        eprintln!("round {round} of {}: {:.0} s", arguments.pairs, begun.elapsed().as_secs_f64());
    }
    print!("{text}");
    let equals = rows.iter().filter(|row| row.effect == 0.0 && row.tool.starts_with("tenbin"));
    let exceeds = tally(equals).exceeds_the_level();
    let silent = rows.iter().all(|row| row.outcome == Outcome::Failed);
    Ok(if exceeds || silent { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// One pair for one tool. A tool that fails has failed this once, and is asked again.
fn ask(stand: &Stand<'_>, tool: &Peer, pair: &Pair) -> Row {
    let begun = Instant::now();
    let finding = (tool.ask)(stand, pair);
    let seconds = begun.elapsed().as_secs_f64();
    let outcome = match finding {
        Ok(finding) => Outcome::of(finding, pair.dearer()),
        Err(failure) => {
            let reason = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
            eprintln!("{}: {reason}", tool.name);
            Outcome::Failed
        }
    };
    let Pair { work, effect, seed, layout, .. } = *pair;
    if outcome == Outcome::Wrong {
        eprintln!("{} is wrong: {} {effect} %, seed {seed}, layout {layout}", tool.name, work.name());
    }
    Row { tool: tool.name, work, effect, outcome, seconds }
}

/// The machine, and when each tool says that two functions differ.
fn head(tools: &[&Peer], arguments: &Arguments) -> String {
    let mut text = format!(
        "# Functions\n\n- {}; load average before: {}\n\
         - {} s for each pair; tenbin: --margin {}; seconds below hold the compiler's time\n",
        surroundings::machine("; "),
        surroundings::load(),
        arguments.within,
        arguments.margin,
    );
    let works = comma(Work::ALL.map(Work::name));
    text.push_str(&format!("- works, drawn for each pair: {works}\n"));
    for tool in tools {
        text.push_str(&format!("- {}: {}\n", tool.name, tool.rule));
    }
    text
}

/// A row for each effect and tool, and one for each kind of work in it.
fn table(tools: &[&Peer], effects: &[f64], rows: &[Row]) -> String {
    let [heads, line] = COLUMNS;
    let mut text = format!("| dearer by | work | tool | {heads}\n| --- | --- | --- | {line}\n");
    for &effect in effects {
        for work in [None].into_iter().chain(Work::ALL.map(Some)) {
            for tool in tools {
                let own = |row: &&Row| {
                    row.effect == effect && row.tool == tool.name && work.is_none_or(|work| row.work == work)
                };
                let own = rows.iter().filter(own);
                if own.clone().next().is_none() {
                    continue;
                }
                let cells = tally(own).cells(effect == 0.0);
                let work = work.map_or("all", Work::name);
                text.push_str(&format!("| {effect} % | {work} | {} | {cells} |\n", tool.name));
            }
        }
    }
    text
}

fn tally<'a>(rows: impl Iterator<Item = &'a Row>) -> Tally {
    Tally::of(rows.map(|row| (row.outcome, row.seconds)))
}
