//! What `boot replay` is asked.

use std::path::PathBuf;

use clap::Args;
use tenbin_boot::Fault;

use super::Form;
use tenbin_model::words::comma;

/// Which runs to replay, and how often.
#[derive(Args, Clone, Debug)]
pub struct Replay {
    /// What `tenbin boot check --json` printed
    #[arg(value_name = "ANSWER.json")]
    pub answer: PathBuf,
    /// How often each run is followed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub times: u32,
    /// Only runs that end so: dead, livelock, started-early, started-twice, shared-stack, stale, astray; or
    /// lost-store, which is no fault
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    pub fault: Option<Fault>,
    /// The executable, if it is no longer where the answer says
    #[arg(long, value_name = "FILE")]
    pub elf: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
}

/// The fault of this name.
fn fault(text: &str) -> Result<Fault, String> {
    let named = |fault: &Fault| fault.name().replace(' ', "-");
    let fault = Fault::ALL.into_iter().find(|fault| named(fault) == text.replace('_', "-"));
    fault.ok_or_else(|| format!("it is one of {}", comma(Fault::ALL.iter().map(named))))
}
