//! How often is `tenbin weigh` wrong about whole commands?
//!
//! Pairs of commands whose truth is known, additions of which one side makes more or equally many, are given
//! to `tenbin weigh`, to hyperfine and to multitime in turns, with and without busy processes beside them.
//! Which side has more, and who is asked first, is decided at random, so that nobody has the quiet moments.

mod cost;
mod multitime;
mod spinner;
mod tally;
mod welch;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::{Duration, Instant};

use rand::seq::SliceRandom;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;
use serde_json::Value;

use spinner::Spinner;
use tally::{Question, Row, Tool};
use tenbin_model::Report;
use xtask::architecture::{Architecture, Target};
use xtask::command::{Command, Output};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

use crate::arena::surroundings;
use crate::files::write;
use crate::steady::{Load, of_this_program};
use crate::tally::{Finding, Outcome};

/// By how much a tool may take longer than it was given before it is ended: load slows its start and its end.
const GRACE: Duration = Duration::from_secs(120);

/// What hyperfine may take for a pair; nobody tells it how long to run.
const PATIENCE: Duration = Duration::from_secs(300);

/// The probability below which hyperfine's `scripts/welch_ttest.py` calls two commands different.
const WELCH: f64 = 0.05;

/// What `cargo xtask commands` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// About how many milliseconds a run of a command takes.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "1,10,100",
        value_parser = clap::value_parser!(u32).range(1..=10_000)
    )]
    times: Vec<u32>,
    /// By how many per cent the slower command takes longer; 0 is a pair of equals.
    #[arg(long, value_delimiter = ',', default_value = "0,0.5,1,2,5", value_parser = per_cent)]
    effects: Vec<f64>,
    /// Busy processes for each CPU.
    #[arg(
        long,
        value_delimiter = ',',
        default_value = "0,2",
        value_parser = clap::value_parser!(u16).range(..=64)
    )]
    loads: Vec<u16>,
    /// How many times each pair is given to each tool; with --cost, how many turns.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pairs: u32,
    /// Seconds that tenbin is given for a pair, instead of 30 for runs of more than 10 ms and else 10.
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=3600))]
    within: Option<u64>,
    /// Per cent below which tenbin is to call commands the same, instead of half of the smallest effect; 1
    /// with --simple.
    #[arg(long, value_name = "PERCENT", value_parser = per_cent)]
    margin: Option<f64>,
    /// Give the same pairs to this hyperfine, in turns with tenbin.
    #[arg(long, value_name = "PROGRAM")]
    hyperfine: Option<PathBuf>,
    /// Give them to this multitime, likewise.
    #[arg(long, value_name = "PROGRAM")]
    multitime: Option<PathBuf>,
    /// Only weigh `true` with itself.
    #[arg(long)]
    simple: bool,
    /// Only measure what weighing costs: time a run, against a small launcher in C, and memory.
    #[arg(long, conflicts_with_all = ["simple", "hyperfine", "multitime"])]
    cost: bool,
    /// How many times `true` is run on each side for the memory that --cost prints.
    #[arg(long, default_value_t = 50_000, value_parser = clap::value_parser!(u64).range(10..=1_000_000))]
    runs: u64,
    /// Decides the order of everything.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Ask this program instead of building tenbin.
    #[arg(long, value_name = "PROGRAM")]
    tenbin: Option<PathBuf>,
    /// Write the tables to this file too.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

/// What every question needs.
struct Stand<'a> {
    arguments: &'a Arguments,
    spinner: Spinner,
    binary: &'a Path,
    /// Of tenbin, per cent.
    margin: f64,
}

/// Ask everything, print tables. Fails where equal pairs are called different too often, or tenbin
/// never answers.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let binary = tenbin(workspace, arguments.tenbin.as_deref())?;
    let spinner = Spinner::set_up(workspace)?;
    let stand = Stand { arguments, spinner, binary: &binary, margin: margin(arguments) };
    let head = stand.head()?;
    if arguments.cost {
        let text = format!("{head}\n{}", cost::run(&stand, arguments.pairs, arguments.runs)?);
        print!("\n{text}");
        stand.keep(&text)?;
        return Ok(ExitCode::SUCCESS);
    }
    let (questions, tools) = (questions(arguments), tools(arguments));
    let mut random = Pcg64::seed_from_u64(arguments.seed);
    let (mut rows, mut reasons, mut text) = (Vec::new(), Vec::new(), String::new());
    for round in 1..=arguments.pairs {
        let begun = Instant::now();
        let mut order = questions.clone();
        order.shuffle(&mut random);
        for question in &order {
            stand.ask(question, &tools, &mut random, &mut rows, &mut reasons)?;
        }
        // After every round, so that one who stops it has a table too.
        text = format!(
            "{head}- rounds: {round} of {}, seed {}\n\n{}{}",
            arguments.pairs,
            arguments.seed,
            tally::table(&questions, &tools, &rows),
            reasons.iter().map(|reason| format!("- failed: {reason}\n")).collect::<String>()
        );
        stand.keep(&text)?;
        let seconds = begun.elapsed().as_secs_f64();
        eprintln!("round {round} of {}: {} pairs, {seconds:.0} s", arguments.pairs, order.len());
    }
    print!("\n{text}");
    let exceeds = tally::of_equals(&rows, Tool::Tenbin).exceeds_the_level();
    // A tenbin that never answers is never wrong either.
    let silent = rows.iter().all(|row| row.tool != Tool::Tenbin || row.outcome == Outcome::Failed);
    Ok(if exceeds || silent { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

impl Stand<'_> {
    fn tenbin(&self) -> Command {
        Architecture::HERE.command(self.binary).directory(&self.spinner.folder)
    }

    /// One pair for every tool, under one load.
    fn ask(
        &self,
        question: &Question,
        tools: &[Tool],
        random: &mut Pcg64,
        rows: &mut Vec<Row>,
        reasons: &mut Vec<String>,
    ) -> Result<(), Failure> {
        let pair = Pair::draw(question, &self.spinner, random);
        let mut tools = tools.to_vec();
        tools.shuffle(random);
        let longest = self.within(question) + GRACE + PATIENCE + GRACE;
        let busy = usize::from(question.load) * thread::available_parallelism().map_or(1, NonZero::get);
        let mut load = Load::start(busy, |_| of_this_program(longest.as_secs(), None))?;
        for tool in tools {
            let begun = Instant::now();
            let finding = match tool {
                Tool::Tenbin => self.weigh(question, &pair),
                Tool::Hyperfine => self.hyperfine(&pair),
                Tool::Multitime => self.multitime(question, &pair),
            };
            let seconds = begun.elapsed().as_secs_f64();
            let outcome = match finding {
                Ok(finding) => Outcome::of(finding, pair.slower),
                Err(failure) => {
                    let reason = failure.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
                    eprintln!("{}: {reason}", tool.name());
                    reasons.push(format!("{}: {reason}", tool.name()));
                    Outcome::Failed
                }
            };
            if outcome == Outcome::Wrong {
                eprintln!("{} is wrong: {}, seed {}", tool.name(), pair.in_words(), pair.seed);
            }
            rows.push(Row { question: *question, tool, outcome, seconds });
        }
        // A load that ended early would make the tools look better than they are.
        load.insist()
    }

    fn weigh(&self, question: &Question, pair: &Pair) -> Result<Finding, Failure> {
        let within = self.within(question);
        let command = self.tenbin().arguments(["weigh", "--json", "--no-store"]);
        let command = command.arguments(["--within", &format!("{}s", within.as_secs())]);
        let command = command.arguments(["--margin", &self.margin.to_string()]);
        let command = command.arguments(["--seed", &pair.seed.to_string()]).arguments(&pair.commands);
        weighed(&command.patience(within + GRACE).capture_quietly()?)
    }

    fn hyperfine(&self, pair: &Pair) -> Result<Finding, Failure> {
        let export = self.spinner.folder.join("hyperfine.json");
        let command = peer(self.arguments.hyperfine.as_deref())?.directory(&self.spinner.folder);
        let command = command.arguments(["-N", "--style", "none", "--export-json"]).argument(&export);
        command.arguments(&pair.commands).patience(PATIENCE).read()?;
        let text = std::fs::read_to_string(&export)
            .map_err(|error| unreadable("the export of hyperfine", &error.to_string()))?;
        exported(&text).ok_or_else(|| unreadable("the export of hyperfine", "two lists of times are missing"))
    }

    fn multitime(&self, question: &Question, pair: &Pair) -> Result<Finding, Failure> {
        let batch = self.spinner.folder.join("multitime.batch");
        let text = format!("{}\n{}\n", pair.commands[0], pair.commands[1]);
        write(&batch, &text, "make room there")?;
        let runs = multitime::runs(question.time.unwrap_or(1));
        // It sleeps up to a second before each run, unless it is kept from that.
        let command = peer(self.arguments.multitime.as_deref())?.directory(&self.spinner.folder);
        let command = command.arguments(["-s", "0", "-n", &runs.to_string(), "-b"]).argument(&batch);
        let printed = command.patience(PATIENCE).capture_quietly()?.diagnostics;
        multitime::reported(&printed, runs).ok_or_else(|| unreadable("multitime", &printed))
    }

    fn within(&self, question: &Question) -> Duration {
        let usual = if question.time.is_some_and(|time| time > 10) { 30 } else { 10 };
        Duration::from_secs(self.arguments.within.unwrap_or(usual))
    }

    /// The machine, the programs and the commands.
    fn head(&self) -> Result<String, Failure> {
        let mut text = format!(
            "# Commands\n\n- {}\n- load average before: {}\n- {}",
            surroundings::machine("\n- "),
            surroundings::load(),
            first_line(&self.tenbin().argument("--version").read()?)
        );
        if self.arguments.hyperfine.is_some() {
            text.push_str(&format!(
                "; {} -N, Welch's t test at {WELCH}",
                first_line(&peer(self.arguments.hyperfine.as_deref())?.argument("--version").read()?)
            ));
        }
        if self.arguments.multitime.is_some() {
            text.push_str("; multitime, by the same test");
        }
        text.push('\n');
        if !self.arguments.cost {
            text.push_str(&format!("- tenbin: --margin {}; longest for a pair: ", self.margin));
            let limits = questions(self.arguments).iter().map(|it| self.within(it).as_secs()).max();
            text.push_str(&format!("{} s\n", limits.unwrap_or_default()));
        }
        if !self.arguments.simple {
            let times = if self.arguments.cost { &[1][..] } else { &self.arguments.times };
            text.push_str(&self.spinner.in_words(times));
        }
        Ok(text)
    }

    fn keep(&self, text: &str) -> Result<(), Failure> {
        let file = self.arguments.markdown.as_deref();
        file.map_or(Ok(()), |path| write(path, text, "choose another file for --markdown"))
    }
}

/// Two commands, and which is the slower one.
struct Pair {
    commands: [String; 2],
    slower: Option<usize>,
    /// Of tenbin's random choices.
    seed: u32,
}

impl Pair {
    fn draw(question: &Question, spinner: &Spinner, random: &mut Pcg64) -> Self {
        // Drawn of every question, so that what follows does not depend on it.
        let (place, seed) = (random.random_range(0..2), random.next_u32());
        let mut commands = match question.time {
            Some(time) => spinner.additions(time, question.effect).map(Spinner::command),
            None => ["true", "true"].map(String::from),
        };
        if place == 0 {
            commands.swap(0, 1);
        }
        Self { commands, slower: (!question.is_of_equals()).then_some(place), seed }
    }

    fn in_words(&self) -> String {
        format!("`{}` against `{}`", self.commands[0], self.commands[1])
    }
}

fn questions(arguments: &Arguments) -> Vec<Question> {
    let kinds: Vec<(Option<u32>, f64)> = if arguments.simple {
        vec![(None, 0.0)]
    } else {
        let times = arguments.times.iter();
        times.flat_map(|&time| arguments.effects.iter().map(move |&effect| (Some(time), effect))).collect()
    };
    let loaded = |&(time, effect)| arguments.loads.iter().map(move |&load| Question { time, effect, load });
    kinds.iter().flat_map(loaded).collect()
}

fn tools(arguments: &Arguments) -> Vec<Tool> {
    let hyperfine = arguments.hyperfine.is_some().then_some(Tool::Hyperfine);
    let multitime = arguments.multitime.is_some().then_some(Tool::Multitime);
    [Tool::Tenbin].into_iter().chain(hyperfine).chain(multitime).collect()
}

/// Half of the smallest effect that is asked about, so that every effect counts; tenbin's own without one.
fn margin(arguments: &Arguments) -> f64 {
    /// The least and the usual margin of `tenbin weigh`.
    const LEAST: f64 = 0.01;
    const USUAL: f64 = 1.0;
    let planted = arguments.effects.iter().copied().filter(|effect| *effect > 0.0 && !arguments.simple);
    let half = planted.reduce(f64::min).map(|effect| (effect / 2.0).max(LEAST));
    arguments.margin.or(half).unwrap_or(USUAL)
}

/// What tenbin makes of a pair.
fn weighed(output: &Output) -> Result<Finding, Failure> {
    if !output.is_answer() {
        return Err(Failure::new("ask tenbin to weigh", output.ending(), "ask tenbin by hand"));
    }
    let report: Report =
        serde_json::from_str(&output.text).map_err(|error| unreadable("tenbin", &error.to_string()))?;
    let finding = match report.answers.as_slice() {
        [answer] => Finding::of(answer.verdict, answer.evidence.as_ref()),
        _ => None,
    };
    finding.ok_or_else(|| unreadable("tenbin", "its report has not one answer with a verdict"))
}

/// What the times of an export of hyperfine amount to, by the rule of its repository.
fn exported(text: &str) -> Option<Finding> {
    let export: Value = serde_json::from_str(text).ok()?;
    let [left, right] = export["results"].as_array()?.as_slice() else { return None };
    let times = |result: &Value| -> Option<Vec<f64>> {
        result["times"].as_array()?.iter().map(Value::as_f64).collect()
    };
    let (left, right) = (times(left)?, times(right)?);
    let differ = welch::probability(&left, &right)? < WELCH;
    let slower = usize::from(welch::mean(&right) > welch::mean(&left));
    Some(if differ { Finding::Slower(slower) } else { Finding::Same })
}

fn unreadable(who: &str, text: &str) -> Failure {
    Failure::new(format!("understand {who}"), text.trim_end(), "ask it by hand")
}

/// A tool that was named.
fn peer(program: Option<&Path>) -> Result<Command, Failure> {
    Ok(Command::new(absolute(program.unwrap_or(Path::new("")))?))
}

/// The tenbin that is asked: the one that is named, or the one that is built as it is shipped.
pub(crate) fn tenbin(workspace: &Workspace, named: Option<&Path>) -> Result<PathBuf, Failure> {
    named.map_or_else(|| workspace.build(Architecture::HERE, Profile::Dist), absolute)
}

/// A program by its path, which is to be started in another folder; one by its name alone stays that.
pub(crate) fn absolute(program: &Path) -> Result<PathBuf, Failure> {
    if program.components().count() == 1 && !program.exists() {
        return Ok(program.into());
    }
    program.canonicalize().map_err(|error| {
        Failure::new(format!("find {}", program.display()), error, "name a program that is there")
    })
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default().trim()
}

fn per_cent(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "it is a number of per cent from 0 to 100".into())
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use serde_json::json;

    use super::*;
    use xtask::command::REFUSED;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(words: &[&str]) -> Arguments {
        let line = CommandLine::try_parse_from(["commands"].iter().chain(words));
        line.expect("it is a good line").arguments
    }

    #[test]
    fn every_time_meets_every_effect_and_every_load() {
        let arguments = parse(&[]);
        assert_eq!((questions(&arguments).len(), arguments.pairs, margin(&arguments)), (30, 20, 0.25));
        let arguments = parse(&["--simple", "--loads", "0,2"]);
        let question = |load| Question { time: None, effect: 0.0, load };
        assert_eq!(questions(&arguments), [question(0), question(2)]);
        assert_eq!(margin(&arguments), 1.0);
        assert_eq!(margin(&parse(&["--effects", "0"])), 1.0);
        assert_eq!(margin(&parse(&["--effects", "5,0", "--margin", "0.5"])), 0.5);
        assert_eq!(tools(&parse(&["--hyperfine", "x"])), [Tool::Tenbin, Tool::Hyperfine]);
        assert_eq!(tools(&parse(&["--multitime", "x"])), [Tool::Tenbin, Tool::Multitime]);
    }

    #[test]
    fn an_export_of_hyperfine_is_judged_by_welch() {
        let export = |left: &[f64], right: &[f64]| {
            exported(&json!({"results": [{"times": left}, {"times": right}]}).to_string())
        };
        let (fast, slow) = ([1.0, 1.01, 0.99, 1.02], [1.1, 1.11, 1.09, 1.12]);
        assert_eq!(export(&fast, &slow), Some(Finding::Slower(1)));
        assert_eq!(export(&slow, &fast), Some(Finding::Slower(0)));
        assert_eq!(export(&fast, &[1.0, 1.02, 0.98, 1.03]), Some(Finding::Same));
        assert_eq!(export(&fast, &[]), None);
        assert_eq!(exported("{}"), None);
    }

    #[test]
    fn what_is_no_report_of_tenbin_is_a_failure() {
        let output = |code, text: &str| Output { code: Some(code), text: text.into(), ..Output::default() };
        for (code, text) in [(4, "{}"), (0, ""), (0, "{}"), (REFUSED, "{}")] {
            assert!(weighed(&output(code, text)).is_err(), "{code} {text}");
        }
    }
}
