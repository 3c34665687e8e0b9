//! What weighs tenbin and its peers, and what holds tenbin's answers against what is known. Started by
//! `cargo xtask`.
//!
//! It links the nouns of tenbin's answers and its statistics, and asks the tenbin binary and other programs,
//! as other processes.

mod arena;
mod bench;
mod browser;
mod campaign;
mod commands;
mod cpus;
mod files;
mod firmware;
mod functions;
mod hyperfine;
mod layouts;
mod repeat;
mod schema;
mod spin;
mod steady;
mod tally;
mod why;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};
use xtask::failure::Failure;
use xtask::workspace::Workspace;

/// What weighs tenbin and its peers.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    task: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Run a benchmark, or all of them.
    Bench(bench::Arguments),
    /// Give the same kernels and known effects to tenbin and to its peers, and say what each finds.
    Arena(arena::Arguments),
    /// Compare what both memory models make of random litmus tests with a second reading of the manual, and
    /// with herd.
    LitmusCampaign(campaign::Arguments),
    /// Ask again under load, and say whether the verdicts hold.
    ///
    /// Fails if two runs contradict each other, or if a run had no answer.
    Steady(steady::Arguments),
    /// Measure the same again and again, and say how often equal runs are called different.
    ///
    /// Fails if that is more than one comparison in a hundred.
    Repeat(repeat::Arguments),
    /// Give every option of hyperfine to it and to `tenbin weigh`, and compare what can be seen of both.
    ///
    /// Fails if they differ where nothing says why.
    Hyperfine(hyperfine::Arguments),
    /// Weigh pairs of commands whose truth is known, and say how often `tenbin weigh` is wrong.
    ///
    /// Fails if it calls more than one pair of equals in a hundred different, beyond chance.
    Commands(commands::Arguments),
    /// Weigh pairs of functions whose truth is known, and say how often `tenbin weigh` is wrong.
    ///
    /// Fails if it calls more than one pair of equals in a hundred different, beyond chance.
    Functions(functions::Arguments),
    /// Weigh pairs of functions over layouts, and say what one layout alone would have said.
    Layouts(layouts::Arguments),
    /// Plant differences in a program, and say whether `tenbin weigh --why` names them.
    ///
    /// Fails if a name is wrong.
    Why(why::Arguments),
    /// Open a report in Chromium, and say what is wrong with it for whom.
    ///
    /// Fails if it asks for anything, complains, hides something on paper or without JavaScript, or stops a
    /// keyboard or a screen reader.
    Browser(browser::Arguments),
    /// Do what a step of `cargo xtask test` does.
    #[command(hide = true)]
    Check {
        /// The step.
        step: Step,
    },
    /// Run a command beside files that are slow to be read.
    #[command(hide = true)]
    SlowFiles(why::Slow),
    /// Keep a CPU busy, until so many seconds are over or standard input ends.
    #[command(hide = true)]
    Busy {
        seconds: u64,
        /// Start, stop and move from CPU to CPU, in stretches that this number decides.
        #[arg(long, value_name = "SEED")]
        moving: Option<u64>,
    },
}

/// The steps of `cargo xtask test` that are done here.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Step {
    Arena,
    Browser,
    Firmware,
    Schema,
    Spin,
}

fn main() -> ExitCode {
    match run(Arguments::parse().task) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(task: Task) -> Result<ExitCode, Failure> {
    if let Task::Busy { seconds, moving } = task {
        // Whoever is to be a load does not ask cargo first.
        steady::busy(Duration::from_secs(seconds), std::io::stdin(), moving);
        return Ok(ExitCode::SUCCESS);
    }
    if let Task::SlowFiles(slow) = task {
        return why::beside_slow_files(&slow);
    }
    let workspace = Workspace::find()?;
    match task {
        Task::Bench(arguments) => bench::run(&workspace, &arguments)?,
        Task::Arena(arguments) => arena::run(&workspace, arguments)?,
        Task::LitmusCampaign(arguments) => campaign::run(&workspace, &arguments)?,
        Task::Hyperfine(arguments) => hyperfine::run(&workspace, &arguments)?,
        Task::Layouts(arguments) => layouts::run(&workspace, &arguments)?,
        Task::Browser(arguments) => browser::run(&workspace, &arguments)?,
        Task::Steady(arguments) => return steady::run(&workspace, &arguments),
        Task::Repeat(arguments) => return repeat::run(&workspace, &arguments),
        Task::Commands(arguments) => return commands::run(&workspace, &arguments),
        Task::Functions(arguments) => return functions::run(&workspace, &arguments),
        Task::Why(arguments) => return why::run(&workspace, &arguments),
        Task::Check { step: Step::Arena } => arena::check(&workspace)?,
        Task::Check { step: Step::Browser } => browser::check(&workspace)?,
        Task::Check { step: Step::Firmware } => firmware::check(&workspace)?,
        Task::Check { step: Step::Schema } => schema::check(&workspace)?,
        Task::Check { step: Step::Spin } => spin::check(&workspace)?,
        Task::Busy { .. } | Task::SlowFiles(_) => {}
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_one_that_clap_accepts() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn a_benchmark_has_defaults_and_takes_its_own_words() {
        let parse = |words: &[&str]| Arguments::try_parse_from(["eval", "bench"].iter().chain(words));
        for good in [&[][..], &["survey"], &["c2c", "--rounds", "3", "--cpus", "1,0", "--c2clat", "c2clat"]] {
            assert!(parse(good).is_ok(), "{good:?}");
        }
        for bad in [&["c2c", "--rounds", "0"][..], &["c2c", "--cpus", "1,1"], &["c2c", "--cpus", "1"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
