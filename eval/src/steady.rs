//! Does a verdict hold under load?
//!
//! tenbin is asked a few times as the machine is, and then many times beside processes that keep every
//! CPU busy. Under load it may refuse to say; it may not say the opposite. What the opposite is decides
//! `comparison`, from the reports alone.

mod answer;
mod comparison;
mod load;
mod table;

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::thread;
use std::time::Duration;

use tenbin_model::words::comma;
use tenbin_model::{Report, Verdict};

use answer::Answer;
use table::Table;
use xtask::architecture::{Architecture, Target};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

use crate::files::write;
pub(crate) use load::{Load, busy, of_this_program};

/// By how much a busy process may outlive the run that it disturbs, should nobody end it.
const GRACE: u64 = 60;

/// What `cargo xtask steady` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many times to ask under load.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..))]
    runs: u64,
    /// How many times to ask before, without load of ours.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..))]
    quiet: u64,
    /// Busy processes for each CPU. With 0, quiet runs are compared with quiet runs.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u16).range(..=64))]
    load: u16,
    /// Let the busy processes start, stop and move from CPU to CPU, each in stretches of 50 ms to 2 s of its
    /// own, as a neighbour does.
    #[arg(long)]
    moving: bool,
    /// The longest that one run may take.
    #[arg(long, default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// Write the tables to this file too.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Names of experiments.
    #[arg(value_name = "EXPERIMENT", default_values = ["caches", "numa", "c2c", "thrash", "faults"])]
    experiments: Vec<String>,
}

/// One run of tenbin that had an answer.
struct Run {
    /// "quiet run 1", "run 7 under load".
    name: String,
    answers: Vec<Answer>,
    /// The load average of the last minute that the run saw when it began.
    load: Option<f64>,
    report: Report,
}

/// Ask quietly, ask under load, compare. Fails if two runs contradict each other or one has no answer.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<ExitCode, Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dist)?;
    let ask = |name: String| ask(host, &binary, arguments, name);

    let mut quiet = Vec::new();
    for number in 1..=arguments.quiet {
        // Without these there is nothing to hold anything against.
        quiet.push(ask(format!("quiet run {number}"))?);
    }
    let busy = usize::from(arguments.load) * thread::available_parallelism().map_or(1, NonZero::get);
    let (mut loaded, mut failures) = (Vec::new(), Vec::new());
    let (mut rows, mut text) = (Vec::new(), String::new());
    for number in 1..=arguments.runs {
        // Each run has neighbours of its own, the same ones whenever it is run again.
        let seed = |neighbour: usize| number << 32 | neighbour as u64;
        let mut load = Load::start(busy, |neighbour| {
            of_this_program(arguments.seconds + GRACE, arguments.moving.then(|| seed(neighbour)))
        })?;
        let result = ask(format!("run {number} under load"));
        // A load that ended early would make the run look steadier than it was.
        load.insist()?;
        drop(load);
        match result {
            Ok(run) => loaded.push(run),
            Err(failure) => {
                eprintln!("run {number} under load: {failure}");
                failures.push(format!("run {number}: {failure}"));
            }
        }
        rows = comparison::compare(&by_run(&quiet), &by_run(&loaded));
        text = Table {
            quiet: &quiet,
            loaded: &loaded,
            busy,
            moving: arguments.moving,
            failures: &failures,
            rows: &rows,
        }
        .markdown();
        if let Some(path) = &arguments.markdown {
            // After every run, so that one who stops it has a table too.
            write(path, &text, "choose another file for --markdown")?;
        }
    }
    print!("\n{text}");
    let contradicted = rows.iter().any(|row| !row.contradictions.is_empty());
    let holds = !contradicted && failures.is_empty();
    Ok(if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn by_run(runs: &[Run]) -> Vec<comparison::RunAnswers> {
    runs.iter().map(|run| (run.name.clone(), run.answers.clone())).collect()
}

/// Ask tenbin once.
fn ask(host: Architecture, binary: &Path, arguments: &Arguments, name: String) -> Result<Run, Failure> {
    let command = host.command(binary).arguments(["run", "--quick", "--json", "--no-store"]);
    let command = command.arguments(&arguments.experiments).patience(Duration::from_secs(arguments.seconds));
    let output = command.remedy("give it more time with --seconds").capture_quietly()?;
    let failure = |reason: String| {
        let tried = format!("ask tenbin about {}", comma(&arguments.experiments));
        Failure::new(tried, reason, "run `tenbin run --quick` by hand")
    };
    if !output.is_answer() {
        return Err(failure(output.ending()));
    }
    let report = serde_json::from_str::<Report>(&output.text).map_err(|error| failure(error.to_string()))?;
    let answers = answer::read(&report.answers).map_err(failure)?;
    let load = report.machine.load.known().copied();
    let refused = answers.iter().filter(|answer| answer.verdict == Verdict::Refused).count();
    eprintln!(
        "{name}: {} answers, {refused} of them refused, {:.0} s, load average {} before",
        answers.len(),
        output.time.as_secs_f64(),
        load.map_or_else(|| "unknown".into(), |load| format!("{load:.1}"))
    );
    Ok(Run { name, answers, load, report })
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct CommandLine {
        #[command(flatten)]
        arguments: Arguments,
    }

    fn parse(words: &[&str]) -> Result<Arguments, clap::Error> {
        CommandLine::try_parse_from(["steady"].iter().chain(words)).map(|line| line.arguments)
    }

    #[test]
    fn what_is_left_out_has_a_default() {
        let arguments = parse(&[]).expect("nothing has to be said");
        assert_eq!((arguments.runs, arguments.quiet, arguments.load, arguments.seconds), (20, 3, 2, 600));
        assert_eq!(arguments.experiments, ["caches", "numa", "c2c", "thrash", "faults"]);
        assert_eq!(arguments.markdown, None);
    }

    #[test]
    fn what_is_said_replaces_the_default() {
        let words = ["--runs", "2", "--load", "0", "--moving", "--markdown", "held.md", "null", "c2c"];
        let arguments = parse(&words).expect("it is a good line");
        assert_eq!((arguments.runs, arguments.load, arguments.moving), (2, 0, true));
        assert_eq!(arguments.experiments, ["null", "c2c"]);
        assert_eq!(arguments.markdown, Some("held.md".into()));
        for wrong in
            [["--runs", "0"], ["--quiet", "0"], ["--seconds", "0"], ["--load", "-1"], ["--load", "65"]]
        {
            assert!(parse(&wrong).is_err(), "{wrong:?}");
        }
    }
}
