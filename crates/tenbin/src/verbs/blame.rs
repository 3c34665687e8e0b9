//! `tenbin blame`: whose fault it is.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use tenbin_analysis::report;
use tenbin_lab::blame::{self, CONTRACTS, Examined, Request};
use tenbin_model::Contracted;

use super::{Outlet, Schema, Verb, Work};
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::Progress;

/// Say whose fault it is: the caller's, the implementation's, the specification's or nobody's
///
/// Holds a function of a shared library against its contract: calls it with all small inputs and with
/// random ones in a process that may be lost, and shows the smallest input of each fault. With two
/// libraries, what changed from one to the other; with a program, which of its calls break what a
/// caller must see to; without either, whether the specification is in order. The library runs with
/// your rights: this is no sandbox. Takes a second or two for a library, if none of its calls hangs.
#[derive(Args)]
pub struct Blame {
    /// The contract, as --list has them
    #[arg(value_name = "CONTRACT", required_unless_present = "list")]
    contract: Option<String>,
    /// A shared library that exports the function, and another one to compare it with
    #[arg(value_name = "LIBRARY", num_args = 0..=2)]
    libraries: Vec<PathBuf>,
    /// A program and its arguments, whose calls of the function are watched and forwarded to LIBRARY
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
    /// Which specification of the contract; the one that is right if not given
    #[arg(long, value_name = "NAME")]
    specification: Option<String>,
    /// List the contracts and their specifications
    #[arg(long, conflicts_with_all = ["contract", "libraries", "program", "specification", "within"])]
    list: bool,
    /// Seed of every random input: of a library that does the same each time, the same seed says the same
    /// words
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Random inputs to try, beside all small ones
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    cases: u32,
    /// Seconds that a call may take: 10 if not given, 300 if PROGRAM makes it, which itself may take twice as
    /// long
    #[arg(long, value_name = "S")]
    within: Option<f64>,
    #[command(flatten)]
    outlet: Outlet,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<tenbin_model::Blame>(
        "blame",
        "What `blame` found; its part `Contracted` is each element of `blame --list`",
    )],
    words: &[("contract", || CONTRACTS.iter().map(|contract| contract.name().to_owned()).collect())],
    ..Verb::of::<Blame>("blame")
};

/// The shortest time that `--within` can give: the helper counts milliseconds.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Examines what is asked, or lists the contracts.
impl Work for Blame {
    fn run(self) -> Result<Answer, Trouble> {
        self.outlet.can_be_written()?;
        let (text, exit) = match &self.contract {
            Some(name) => examined(name, &self)?,
            None => (list(&self)?, Exit::Answered),
        };
        Ok(Answer { to: self.outlet.output, exit, ..Answer::text(text) })
    }
}

fn examined(name: &str, arguments: &Blame) -> Result<(String, Exit), Trouble> {
    let within = arguments.within.map(Duration::try_from_secs_f64).transpose();
    let within =
        within.ok().filter(|within| within.is_none_or(|within| (SHORTEST..=LONGEST).contains(&within)));
    let request = Request {
        libraries: arguments.libraries.clone(),
        specification: arguments.specification.clone(),
        seed: arguments.seed,
        cases: arguments.cases,
        within: within.ok_or_else(|| Trouble::usage("--within: a time from 0.001 s to 86400 s, a day"))?,
        program: arguments.program.clone(),
        output_aside: arguments.outlet.form().json && arguments.outlet.output.is_none(),
    };
    let contract = blame::contract(name)?;
    let progress = Progress::new();
    let show = |what: Option<&str>| match what {
        Some(what) => progress.doing(what),
        None => progress.finish(),
    };
    let judgement = contract.examine(&request, &show);
    progress.finish();
    let judgement = judgement?;
    let exit = if judgement.is_fault() { Exit::Fault } else { Exit::Answered };
    let text =
        arguments.outlet.form().text(&judgement, |judgement, width| report::blame(judgement).text(width))?;
    Ok((text, exit))
}

fn list(arguments: &Blame) -> Result<String, Trouble> {
    let described = |contract: &&dyn Examined| contract.described(None);
    let contracts: Vec<Contracted> = CONTRACTS.iter().map(described).collect::<Result<_, _>>()?;
    arguments.outlet.form().text(&contracts, |contracts, width| report::contracts(contracts).text(width))
}
