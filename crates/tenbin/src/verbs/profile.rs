//! `tenbin profile`: where the wall time of a command went.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use clap::Args;
use tenbin_analysis::profile::document;
use tenbin_analysis::stacks::document as sampled;
use tenbin_lab::profile::{Observed, exact, log, profile};
use tenbin_lab::weigh::values::time;
use tenbin_metal::machine;
use tenbin_model::{Picoseconds, Profile as Profiled, Stacks};

use super::{Outlet, Schema, Verb, Work};
use crate::measurement::date;
use crate::output::{Answer, Exit, Trouble};
use crate::sampling::Sampling;

/// Say where the wall time of a command went, call by call
///
/// All its processes and threads are followed, by programs in the kernel that add up at each event: how many
/// ran at once, and what they waited for when none did; each system call with its time on a CPU, queued for
/// one and blocked; page faults, interrupts and user code. Where the kernel takes no such programs, or only
/// from root, snapshots of /proc stand in for them, and what they say are estimates. With --sample it says
/// instead in which functions the threads were, on a CPU and off it.
///
/// The command keeps its standard input and output; the answer is on standard error, or in the file of -o,
/// and tenbin ends as the command does.
#[derive(Args)]
pub struct Profile {
    /// Read a profile or stacks that were written with --json, or a log or table of strace (`strace -f -T
    /// -ttt -o LOG COMMAND`);
    /// - is standard input
    #[arg(long, value_name = "FILE", conflicts_with_all = ["command", "deadline"])]
    from: Option<PathBuf>,
    /// Count every system call exactly, by stops at each (ptrace): needs no rights, and makes a call tens of
    /// times slower
    #[arg(long, conflicts_with_all = ["from", "sample"])]
    exact: bool,
    /// Say as well which files its calls were about, and what each cost: by the path that a call is given, or
    /// by what its descriptor stands for
    #[arg(long, conflicts_with_all = ["from", "sample", "exact"])]
    files: bool,
    /// Kill the command after this time
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1h")]
    deadline: Picoseconds,
    #[command(flatten)]
    sampling: Sampling,
    #[command(flatten)]
    outlet: Outlet,
    /// The command and its arguments; all that follows its name is its own
    #[arg(trailing_var_arg = true, value_name = "COMMAND", required_unless_present = "from")]
    command: Vec<String>,
}

pub const VERB: Verb = Verb {
    schemas: &[
        Schema::of::<Profiled>("profile", "Where the time of a command went: `profile`"),
        Schema::of::<Stacks>("stacks", "In which functions a command was, and waited: `profile --sample`"),
    ],
    ..Verb::of::<Profile>("profile")
};

impl Work for Profile {
    fn run(self) -> Result<Answer, Trouble> {
        self.outlet.can_be_written()?;
        let form = self.outlet.form();
        self.sampling.can_be_written(self.from.is_some())?;
        if let Some(from) = &self.from {
            if let Some((stacks, remarks)) = self.sampling.read(from)? {
                let text = form.text(&stacks, |stacks, width| sampled(stacks).text(width))?;
                return Ok(Answer { to: self.outlet.output, remarks, ..Answer::text(text) });
            }
            let profile = read(from)?;
            let text = form.text(&profile, |profile, width| document(profile).text(width))?;
            return Ok(Answer { to: self.outlet.output, ..Answer::text(text) });
        }
        let machine = machine::observe_this();
        let deadline = Duration::from_nanos(self.deadline.0 / 1000);
        let mut command = Command::new(&self.command[0]);
        command.args(&self.command[1..]);
        let mut written = Vec::new();
        let (status, text) = if self.sampling.sample {
            let taken = self.sampling.take(command, self.command, deadline, machine);
            let stacks = taken?;
            written = self.sampling.export(&stacks)?;
            let text = form.text(&stacks, |stacks, width| sampled(stacks).text(width))?;
            (stacks.exit_status, text)
        } else {
            let (words, machine, started) = (self.command, Some(machine), date());
            let observed = Observed { command, words, deadline, machine, started, files: self.files };
            let profile = if self.exact { exact::profile(observed) } else { profile(observed) };
            let profile = profile?;
            let text = form.text(&profile, |profile, width| document(profile).text(width))?;
            (profile.exit_status, text)
        };
        let exit = status.map_or(Exit::Internal, |status| match u8::try_from(status) {
            Ok(0) => Exit::Answered,
            Ok(status) => Exit::PassedOn(status),
            Err(_) => Exit::PassedOn(u8::try_from(128 + status % 256).unwrap_or(u8::MAX)),
        });
        Ok(match self.outlet.output {
            Some(file) => Answer { text, to: Some(file), exit, remarks: written },
            // Standard output is the command's.
            None => {
                let remarks = [text.trim_end().to_owned()].into_iter().chain(written).collect();
                Answer { remarks, exit, ..Answer::default() }
            }
        })
    }
}

/// A profile, or a log of strace.
pub fn read(path: &Path) -> Result<Profiled, Trouble> {
    let name = path.display();
    let unread = |error: &io::Error| Trouble::usage(format!("read {name}: {error}"));
    let mut input: Box<dyn Read> = if path == Path::new("-") {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path).map_err(|error| unread(&error))?)
    };
    let mut first = [0];
    let begun = input.read(&mut first).map_err(|error| unread(&error))?;
    let mut whole = first[..begun].chain(input);
    if first == *b"{" {
        let mut text = Vec::new();
        whole.read_to_end(&mut text).map_err(|error| unread(&error))?;
        return serde_json::from_slice(&text)
            .map_err(|error| Trouble::usage(format!("read {name} as a profile in JSON: {error}")));
    }
    log::read(&mut whole).map_err(|error| Trouble::usage(format!("read {name}: {error}")))
}
