//! Where the time of a command went: observed here, or as other tools wrote of it.

use std::process::Command;
use std::time::Duration;

use tenbin_metal::child::End;
use tenbin_metal::profiler::Profiler;
use tenbin_model::profile::{Activity, Kind};
use tenbin_model::{Machine, Picoseconds, Profile};

use kernel::Unprofiled;

pub mod exact;
mod files;
pub mod kernel;
pub mod log;
pub mod snapshots;
pub mod stacks;
mod symbols;

/// What is known of a command before it is observed.
#[derive(Debug)]
pub struct Observed {
    /// What is run.
    pub command: Command,
    /// Its words.
    pub words: Vec<String>,
    /// After which time it is killed.
    pub deadline: Duration,
    /// Where it runs, if that is to be kept.
    pub machine: Option<Machine>,
    /// The date, as ISO 8601 has it.
    pub started: String,
    /// Whether calls are told apart by the file that they are about, where programs in the kernel observe it.
    pub files: bool,
}

/// Runs a command and says where its time went: by programs in the kernel, or where those cannot be had by
/// snapshots, and then why.
///
/// # Errors
/// What is lacking to observe it at all, or a fault where it cannot be started.
pub fn profile(observed: Observed) -> Result<Profile, Unprofiled> {
    let files = observed.files;
    match Profiler::attach(files) {
        Ok(profiler) => kernel::profile_by(profiler, observed),
        Err(why) => {
            let mut profile = snapshots::profile(observed, why)?;
            if files {
                profile.unseen.push("Which files its calls were about, snapshots do not show.".into());
            }
            Ok(profile)
        }
    }
}

/// An activity of which nothing is counted yet.
fn blank(name: &str, kind: Kind) -> Activity {
    Activity {
        name: name.into(),
        kind,
        count: 0,
        errors: 0,
        total: Picoseconds::ZERO,
        split: None,
        longest: Picoseconds::ZERO,
        histogram: Vec::new(),
        wakers: Vec::new(),
        in_flight: 0,
    }
}

/// The status, or 256 and the signal. None where it was killed for its time.
fn exit_status(end: End) -> Option<u64> {
    match end {
        End::Exited(status) => u64::try_from(status).ok(),
        End::Signalled(signal) => u64::try_from(256 + signal).ok(),
        End::OutOfTime => None,
    }
}

/// That it was killed for its time.
fn killed(deadline: Duration) -> String {
    format!("It had not ended after {} s, and was killed.", deadline.as_secs())
}
