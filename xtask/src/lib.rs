//! The chores of the house: checks, tests and releases. Run as `cargo xtask`.
//!
//! It builds against the bottom of tenbin alone. It starts cargo, the tenbin binary and the toolchain's
//! tools as other processes, and looks at what they say. What weighs tenbin and its peers is in the workspace
//! `eval`, which it builds and starts; what both need is public here.

pub mod architecture;
mod bpf;
pub mod command;
mod disassembly;
mod dist;
mod emulated;
mod evaluation;
mod exports;
pub mod failure;
mod files;
pub mod guests;
mod modules;
pub mod requirement;
mod site;
mod statistics;
mod step;
mod suite;
mod tidy;
pub mod workspace;

use std::process::ExitCode;
use std::time::Duration;

use clap::{Parser, Subcommand};

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
        /// Write every sentence that tenbin can say to fixtures/sentences.txt.
        #[arg(long, conflicts_with = "list")]
        sentences: bool,
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
    /// Compile the programs for the kernel in bpf/, and write the object that is kept there.
    Bpf,
    /// Build the pages as a site, with mdBook, which is installed below the target folder.
    ///
    /// Fails if a link of the finished site leads nowhere.
    Site {
        /// Where the site will stand, for its sitemap.
        #[arg(long)]
        url: Option<String>,
    },
    /// Build what is shipped: binaries, packages of Debian, crates, licences, a bill of materials, sums.
    ///
    /// Each binary is read, stripped, measured against its limit and tried. All of it lies in `xtask/dist`
    /// below the target folder.
    Dist {
        /// One architecture only: x86_64, aarch64 or riscv64.
        #[arg(value_name = "ARCHITECTURE")]
        architecture: Option<String>,
        /// Build what is committed again, in another folder, and fail if a file differs.
        #[arg(long)]
        twice: bool,
    },
    /// Run a benchmark, or all of them.
    #[command(disable_help_flag = true)]
    Bench(Words),
    /// Give the same kernels and known effects to tenbin and to its peers, and say what each finds.
    #[command(disable_help_flag = true)]
    Arena(Words),
    /// Compare what both memory models make of random litmus tests with a second reading of the manual, and
    /// with herd.
    #[command(disable_help_flag = true)]
    LitmusCampaign(Words),
    /// Ask again under load, and say whether the verdicts hold.
    ///
    /// Fails if two runs contradict each other, or if a run had no answer.
    #[command(disable_help_flag = true)]
    Steady(Words),
    /// Measure the same again and again, and say how often equal runs are called different.
    ///
    /// Fails if that is more than one comparison in a hundred.
    #[command(disable_help_flag = true)]
    Repeat(Words),
    /// Give every option of hyperfine to it and to `tenbin weigh`, and compare what can be seen of both.
    ///
    /// Fails if they differ where nothing says why.
    #[command(disable_help_flag = true)]
    Hyperfine(Words),
    /// Weigh pairs of commands whose truth is known, and say how often `tenbin weigh` is wrong.
    ///
    /// Fails if it calls more than one pair of equals in a hundred different, beyond chance.
    #[command(disable_help_flag = true)]
    Commands(Words),
    /// Weigh pairs of functions whose truth is known, and say how often `tenbin weigh` is wrong.
    ///
    /// Fails if it calls more than one pair of equals in a hundred different, beyond chance.
    #[command(disable_help_flag = true)]
    Functions(Words),
    /// Plant differences in a program, and say whether `tenbin weigh --why` names them.
    ///
    /// Fails if a name is wrong.
    #[command(disable_help_flag = true)]
    Why(Words),
    /// Open a report in Chromium, and say what is wrong with it for whom.
    #[command(disable_help_flag = true)]
    Browser(Words),
    /// Weigh pairs of functions over layouts, and say what one layout alone would have said.
    #[command(disable_help_flag = true)]
    Layouts(Words),
    /// Kill every command of tenbin at random moments, and see that nothing is left behind and nothing
    /// finished is lost.
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
}

/// Words for `eval`, which knows what they mean.
#[derive(clap::Args)]
struct Words {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<String>,
}

/// Does what the command line says.
pub fn run() -> ExitCode {
    match chore(Arguments::parse().chore) {
        Ok(code) => code,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

fn chore(chore: Chore) -> Result<ExitCode, Failure> {
    let workspace = Workspace::find()?;
    match chore {
        Chore::Fmt { check } => format(&workspace, check)?,
        Chore::Tidy { list: true, .. } => tidy::list(),
        Chore::Tidy { sentences: true, .. } => tidy::write_sentences(&workspace)?,
        Chore::Tidy { .. } => tidy::run(&workspace)?,
        Chore::Test { only, list } => return suite::run(&workspace, only.as_deref(), list),
        Chore::Disassembly { architecture } => disassembly::run(&workspace, architecture.as_deref())?,
        Chore::Bpf => bpf::check(&workspace, true)?,
        Chore::Site { url } => site::run(&workspace, url.as_deref())?,
        Chore::Dist { architecture, twice } => dist::run(&workspace, architecture.as_deref(), twice)?,
        Chore::Bench(it) => evaluation::become_it(&workspace, "bench", &it.words)?,
        Chore::Arena(it) => evaluation::become_it(&workspace, "arena", &it.words)?,
        Chore::LitmusCampaign(it) => evaluation::become_it(&workspace, "litmus-campaign", &it.words)?,
        Chore::Steady(it) => evaluation::become_it(&workspace, "steady", &it.words)?,
        Chore::Repeat(it) => evaluation::become_it(&workspace, "repeat", &it.words)?,
        Chore::Hyperfine(it) => evaluation::become_it(&workspace, "hyperfine", &it.words)?,
        Chore::Commands(it) => evaluation::become_it(&workspace, "commands", &it.words)?,
        Chore::Why(it) => evaluation::become_it(&workspace, "why", &it.words)?,
        Chore::Functions(it) => evaluation::become_it(&workspace, "functions", &it.words)?,
        Chore::Browser(it) => evaluation::become_it(&workspace, "browser", &it.words)?,
        Chore::Layouts(it) => evaluation::become_it(&workspace, "layouts", &it.words)?,
        Chore::Killed { moments, seconds, seed, only } => killed(&workspace, moments, seconds, seed, only)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// The test of the same name, with more moments than a test has time for.
fn killed(workspace: &Workspace, moments: u32, seconds: u32, seed: u32, only: String) -> Result<(), Failure> {
    workspace
        .cargo()
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
    for folder in [workspace.root(), &evaluation::folder(workspace)] {
        let command = workspace.cargo().directory(folder).arguments(["fmt", "--all"]);
        if check { command.argument("--check").run()? } else { command.run()? }
    }
    Ok(())
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
    fn what_is_for_eval_goes_there_as_it_is() {
        let words = ["xtask", "arena", "--rounds", "3", "--help", "x"];
        let chore = Arguments::try_parse_from(words).expect("any words are good").chore;
        assert!(matches!(chore, Chore::Arena(Words { words: given }) if given == words[2..]));
    }
}
