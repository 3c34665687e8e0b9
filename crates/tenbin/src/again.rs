//! This program once more, in a process of its own.

use std::process::{Command, Stdio};
use std::time::Duration;

use serde::de::DeserializeOwned;
use tenbin_metal::child::{self, Bounds, End};

use crate::output::{Exit, Trouble};

/// The longest that one process may measure: more than everything takes, thoroughly.
const LONGEST: Duration = Duration::from_secs(4 * 3600);

/// The most that one process may say. A report has no samples.
const MOST: usize = 256 << 20;

/// Runs this program with these words, which make it answer in JSON, and reads the answer. It dies with this
/// process.
///
/// # Errors
/// It could not be started, ended without an answer, or took too long.
pub fn answer<T: DeserializeOwned>(words: &[String]) -> Result<(T, Exit), Trouble> {
    // By this name it is this very program, also after another one was put in its place.
    let mut command = Command::new("/proc/self/exe");
    command.args(words).stdin(Stdio::null());
    let bounds = Bounds { output: MOST, ..Bounds::within(LONGEST) };
    let finished = child::run(command, bounds)?;
    let why = || String::from_utf8_lossy(&finished.stderr).trim_end().to_owned();
    let exit = match finished.end {
        End::Exited(0) => Exit::Answered,
        End::Exited(3) => Exit::Refused,
        End::Exited(4) => Exit::Fault,
        End::Exited(5) => return Err(Trouble { exit: Exit::Missing, message: why() }),
        End::Exited(status) => {
            return Err(Trouble::internal(format!("it ended with status {status}: {}", why())));
        }
        End::Signalled(signal) => return Err(Trouble::internal(format!("signal {signal} ended it"))),
        End::OutOfTime => {
            let message = format!("it was still measuring after {} s and was ended", LONGEST.as_secs());
            return Err(Trouble::internal(message));
        }
    };
    let report = serde_json::from_slice(&finished.stdout);
    let report = report.map_err(|error| Trouble::internal(format!("its answer cannot be read: {error}")))?;
    Ok((report, exit))
}
