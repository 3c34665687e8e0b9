//! Something stopped on purpose, for a time that is known before: what a command makes of it.
//!
//! CPUs are held by a program in the kernel, all of them by the kernel module where its owner loaded it, a
//! process by SIGSTOP, a control group by the freezer, a guest by the socket of its monitor.

mod machine;
mod outside;
mod panics;
#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::Duration;

use tenbin_metal::child::{self, EVER, End, monotonic};
use tenbin_metal::machine::Root;
use tenbin_metal::stall::{Stall, sync_disks};
use tenbin_metal::{Fault, bpf};
use tenbin_model::machine::cpus_in_words;
use tenbin_model::stall::{StalledCommand, Stalls};
use tenbin_model::{Cpu, Picoseconds, Refusal};

use crate::experiment::Unfit;
use crate::quiet;

/// The longest stop without being forced to it.
const LONGEST: Duration = Duration::from_secs(8);

/// What is to be stopped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Some CPUs, or all of them.
    Cpus(Vec<Cpu>),
    /// The machine, by the kernel module.
    Machine,
    /// A process, with all its threads.
    Process(u32),
    /// A control group, by its folder.
    Group(PathBuf),
    /// A guest of QEMU, by the socket of its monitor (QMP).
    Guest(PathBuf),
}

/// What is asked for.
#[derive(Debug)]
pub struct Request {
    /// What is to be stopped.
    pub target: Target,
    /// For how long.
    pub duration: Picoseconds,
    /// Whether for longer than 8 s too.
    pub force: bool,
    /// A command that runs meanwhile, and how long it is left in peace between two stops.
    pub command: Option<(Vec<String>, Picoseconds)>,
}

/// A way to stop something.
trait Stopper {
    /// Stops it for `duration`. Gives for how long it was.
    fn stop(&mut self, duration: Duration) -> Result<Duration, Fault>;
}

/// Stops it, once or while the command runs.
///
/// # Errors
/// Refused where it must not be stopped or cannot be, and nothing is; a usage error where there is no such
/// thing; a fault of the machine.
pub fn stall(request: &Request) -> Result<Stalls, Unfit> {
    let duration = Duration::from_nanos(request.duration.0 / 1000);
    if duration > LONGEST && !request.force {
        return Err(refused(
            format!("a stop of {}", request.duration),
            "one of at most 8 s: who waits for longer has often given up",
            "ask with --force",
        ));
    }
    let command =
        request.command.as_ref().map(|(words, every)| Ok::<_, Unfit>((quiet::command(words)?, words, every)));
    let command = command.transpose()?;
    let (target, mut stopper) = stopper(&request.target, duration)?;
    // What was written is on the disk, if the worst comes.
    sync_disks();
    let mut achieved = Vec::new();
    let mut stop = || {
        let stopped = stopper.stop(duration);
        stopped.map(|duration| achieved.push(picoseconds(duration)))
    };
    let command = match command {
        None => {
            stop()?;
            None
        }
        Some((command, words, &every)) => {
            let (end, time) = stopping(command, Duration::from_nanos(every.0 / 1000), &mut stop)?;
            Some(StalledCommand {
                words: words.clone(),
                end: end.to_string(),
                status: match end {
                    End::Exited(status) => u8::try_from(status).unwrap_or(u8::MAX),
                    End::Signalled(signal) => u8::try_from(128 + signal).unwrap_or(u8::MAX),
                    End::OutOfTime => u8::MAX,
                },
                time: picoseconds(time),
                every,
            })
        }
    };
    Ok(Stalls { target, asked: request.duration, achieved, command })
}

fn picoseconds(duration: Duration) -> Picoseconds {
    Picoseconds::from_nanos(u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX))
}

/// Runs the command, and stops again and again until it has ended.
fn stopping(
    command: Command,
    every: Duration,
    stop: &mut dyn FnMut() -> Result<(), Fault>,
) -> Result<(End, Duration), Fault> {
    let (over, ended) = channel::<()>();
    thread::scope(|scope| {
        let started = monotonic();
        let running = scope.spawn(move || {
            let end = child::through(command, EVER);
            let time = monotonic().saturating_sub(started);
            drop(over);
            end.map(|end| (end, time))
        });
        let mut stopped = Ok(());
        while stopped.is_ok() && ended.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
            stopped = stop();
        }
        // A thread that panicked has said so.
        let end = running.join().unwrap_or(Err(Fault::Panicked));
        stopped.and(end)
    })
}

/// What the target is called, and how it is stopped; or why not.
fn stopper(target: &Target, duration: Duration) -> Result<(String, Box<dyn Stopper>), Unfit> {
    let root = Root::new(Path::new("/"));
    let holds = matches!(target, Target::Cpus(_) | Target::Machine);
    if let Some(why) = holds.then(|| panics::panics(root, duration)).flatten() {
        return Err(refused(
            why,
            "a kernel that goes on after such a stop",
            "ask for a shorter one, or switch that off",
        ));
    }
    Ok(match target {
        Target::Cpus(cpus) => (cpus_in_words(cpus), Box::new(Held(hold(cpus)?))),
        Target::Machine => ("the machine".into(), Box::new(machine::Module::open(duration)?)),
        Target::Process(number) => (format!("process {number}"), Box::new(outside::Process::open(*number)?)),
        Target::Group(path) => {
            (format!("control group {}", path.display()), Box::new(outside::Group::open(root, path)?))
        }
        Target::Guest(path) => {
            (format!("the guest behind {}", path.display()), Box::new(outside::Guest::connect(path)?))
        }
    })
}

fn hold(cpus: &[Cpu]) -> Result<Stall, Unfit> {
    Stall::load(cpus).map_err(|bpf::Unattached { why, .. }| {
        refused(
            why,
            "programs in the kernel (BPF), which root may load, and Linux 5.17",
            "run it as root; `tenbin stall machine` needs a kernel module instead",
        )
    })
}

/// CPUs that are held by a program in the kernel.
struct Held(Stall);

impl Stopper for Held {
    fn stop(&mut self, duration: Duration) -> Result<Duration, Fault> {
        let held = self.0.hold(duration)?;
        let began = held.iter().map(|held| held.began).max().unwrap_or_default();
        let ended = held.iter().map(|held| held.ended).min().unwrap_or_default();
        Ok(ended.saturating_sub(began))
    }
}

fn refused(reached: impl Into<String>, needs: &str, remedy: &str) -> Unfit {
    let reached = format!("{}; nothing was stopped", reached.into());
    Unfit::Refused(Refusal { reached, needs: needs.into(), remedy: remedy.into() })
}
