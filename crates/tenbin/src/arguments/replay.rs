//! What `boot replay` is asked.

use std::path::PathBuf;

use clap::Args;
use tenbin_model::BootFault;

use super::Form;

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
    pub fault: Option<BootFault>,
    /// The executable, if it is no longer where the answer says
    #[arg(long, value_name = "FILE")]
    pub elf: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
}

/// The fault of this name.
fn fault(text: &str) -> Result<BootFault, String> {
    const ALL: [BootFault; 8] = [
        BootFault::Dead,
        BootFault::Livelock,
        BootFault::StartedEarly,
        BootFault::StartedTwice,
        BootFault::SharedStack,
        BootFault::Stale,
        BootFault::Astray,
        BootFault::LostStore,
    ];
    let named = |fault: &BootFault| fault.name().replace(' ', "-");
    let found = ALL.into_iter().find(|fault| named(fault) == text.replace('_', "-"));
    found.ok_or_else(|| format!("it is one of {}", ALL.iter().map(named).collect::<Vec<_>>().join(", ")))
}
