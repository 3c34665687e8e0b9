//! `tenbin boot`: what the machine code of several RISC-V harts can do, and what all its commands need.

#![expect(clippy::disallowed_methods, reason = "the running time of budgets")]

mod litmus;
mod check;
mod replay;

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::thread;
use std::time::Instant;

use tenbin_boot::Means;
use tenbin_boot::request::Size;
use tenbin_metal::interrupt;

use super::Verb;
use crate::terminal::Progress;

include!(concat!(env!("OUT_DIR"), "/boot.rs"));

pub const VERB: Verb = Verb::group(
    "boot",
    |word| word.about("Say what the machine code of several RISC-V harts can do together"),
    BOOT,
);

/// Does something by the means of this machine and this terminal: all of its CPUs, its clock, signals, and a
/// line of progress.
fn with_means<T>(
    limit: Size,
    seconds: u64,
    shown: &(dyn Fn(&Progress, usize, usize, u64) + Sync),
    work: impl FnOnce(&Means<'_>) -> T,
) -> T {
    let (progress, begun) = (Progress::new(), Instant::now());
    let done = work(&Means {
        bytes: limit.0,
        seconds,
        workers: thread::available_parallelism().map_or(1, usize::from),
        clock: &|| begun.elapsed(),
        interrupted: &|| interrupt::requested().is_some(),
        progress: &|done, all, states| shown(&progress, done, all, states),
    });
    progress.finish();
    done
}

/// The bytes of a file that has no more than so many.
fn bytes_of(path: &Path, most: u64, not_regular: &str) -> io::Result<Vec<u8>> {
    // Whoever opens a pipe waits for its writer, and some devices never end.
    if !path.metadata()?.is_file() {
        return Err(io::Error::other(not_regular));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    Ok(bytes)
}
