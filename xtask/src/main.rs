//! The chores of the house: checks, tests, releases and benchmarks. Run as `cargo xtask`.
//!
//! It builds against nothing of tenbin. It starts cargo, the tenbin binary and the toolchain's
//! tools as other processes, and looks at what they say.

mod architecture;
mod arena;
mod bench;
mod campaign;
mod command;
mod disassembly;
mod emulated;
mod failure;
mod firmware;
mod guests;
mod modules;
mod release;
mod repeat;
mod requirement;
mod schema;
mod spin;
mod statistics;
mod steady;
mod step;
mod suite;
mod tidy;
mod workspace;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

use crate::command::Command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The chores of tenbin: checks, tests, releases and benchmarks.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask", version)]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Format every crate.
    Fmt {
        /// Change nothing; fail if a file is not formatted.
        #[arg(long)]
        check: bool,
    },
    /// Check the rules of the house that a program can check.
    Tidy {
        /// Print the rules and check nothing.
        #[arg(long)]
        list: bool,
    },
    /// Install what is missing, then run every check and every test, on every architecture.
    ///
    /// Installs Debian packages when it is root or may use sudo without a password. Otherwise it
    /// names the packages, and counts the steps that need them as skipped.
    Test {
        /// Run only the steps whose name contains this word.
        #[arg(value_name = "STEP")]
        only: Option<String>,
        /// Print the steps and run nothing.
        #[arg(long)]
        list: bool,
    },
    /// Read the machine code of every kernel, on every architecture.
    Disassembly {
        /// One architecture only: x86_64, aarch64 or riscv64.
        #[arg(value_name = "ARCHITECTURE")]
        architecture: Option<String>,
    },
    /// Build the static release binaries for every architecture, and check that they are static.
    Release,
    /// Run a benchmark, or all of them.
    Bench(bench::Arguments),
    /// Give the same kernels and known effects to tenbin and to its peers, and say what each finds.
    Arena(arena::Arguments),
    /// Compare what both memory models make of random litmus tests with a second reading of the manual, and with herd.
    LitmusCampaign(campaign::Arguments),
    /// Ask again under load, and say whether the verdicts hold.
    ///
    /// Fails if two runs contradict each other, or if a run had no answer.
    Steady(steady::Arguments),
    /// Measure the same again and again, and say how often equal runs are called different.
    ///
    /// Fails if that is more than one comparison in a hundred.
    Repeat(repeat::Arguments),
    /// Kill every command of tenbin at random moments, and see that nothing is left behind and nothing finished is lost.
    Killed {
        /// How often to kill each command.
        #[arg(long, default_value_t = 50)]
        moments: u32,
        /// The moments lie within the first so many seconds of a command.
        #[arg(long, default_value_t = 20)]
        seconds: u32,
        /// The same again.
        #[arg(long, default_value_t = 1)]
        seed: u32,
        /// Only commands whose name holds this: "run", "blame", "boot".
        #[arg(long, default_value = "")]
        only: String,
    },
    /// Keep a CPU busy, until so many seconds are over or standard input ends.
    #[command(hide = true)]
    Busy {
        seconds: u64,
        /// Start, stop and move from CPU to CPU, in stretches that this number decides.
        #[arg(long, value_name = "SEED")]
        moving: Option<u64>,
    },
}

fn main() -> ExitCode {
    match run(Arguments::parse().chore) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn run(chore: Chore) -> Result<ExitCode, Failure> {
    if let Chore::Busy { seconds, moving } = chore {
        // Whoever is to be a load does not ask cargo first.
        steady::busy(Duration::from_secs(seconds), std::io::stdin(), moving);
        return Ok(ExitCode::SUCCESS);
    }
    let workspace = Workspace::find()?;
    match chore {
        Chore::Fmt { check } => format(&workspace, check)?,
        Chore::Tidy { list: true } => tidy::list(),
        Chore::Tidy { list: false } => tidy::run(&workspace)?,
        Chore::Test { only, list } => return suite::run(&workspace, only.as_deref(), list),
        Chore::Disassembly { architecture } => disassembly::run(&workspace, architecture.as_deref())?,
        Chore::Release => release::run(&workspace)?,
        Chore::Bench(arguments) => bench::run(&workspace, &arguments)?,
        Chore::Arena(arguments) => arena::run(&workspace, arguments)?,
        Chore::LitmusCampaign(arguments) => campaign::run(&workspace, &arguments)?,
        Chore::Steady(arguments) => return steady::run(&workspace, &arguments),
        Chore::Repeat(arguments) => return repeat::run(&workspace, &arguments),
        Chore::Killed { moments, seconds, seed, only } => killed(&workspace, moments, seconds, seed, only)?,
        Chore::Busy { .. } => {}
    }
    Ok(ExitCode::SUCCESS)
}

/// The test of the same name, with more moments than a test has time for.
fn killed(workspace: &Workspace, moments: u32, seconds: u32, seed: u32, only: String) -> Result<(), Failure> {
    Command::cargo(workspace)
        .arguments(["test", "--package", "tenbin", "--test", "killed", "--", "--nocapture"])
        .variable("TENBIN_KILLED_MOMENTS", moments.to_string())
        .variable("TENBIN_KILLED_SECONDS", seconds.to_string())
        .variable("TENBIN_KILLED_SEED", seed.to_string())
        .variable("TENBIN_KILLED_ONLY", only)
        .patience(Duration::from_secs(24 * 3600))
        .run()
}

fn format(workspace: &Workspace, check: bool) -> Result<(), Failure> {
    requirement::insist(&[requirement::rustfmt()])?;
    let command = Command::cargo(workspace).arguments(["fmt", "--all"]);
    if check { command.argument("--check").run() } else { command.run() }
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
        let parse = |words: &[&str]| Arguments::try_parse_from(["xtask", "bench"].iter().chain(words));
        for good in [&[][..], &["survey"], &["c2c", "--rounds", "3", "--cpus", "1,0", "--c2clat", "c2clat"]] {
            assert!(parse(good).is_ok(), "{good:?}");
        }
        for bad in [&["c2c", "--rounds", "0"][..], &["c2c", "--cpus", "1,1"], &["c2c", "--cpus", "1"]] {
            assert!(parse(bad).is_err(), "{bad:?}");
        }
    }
}
