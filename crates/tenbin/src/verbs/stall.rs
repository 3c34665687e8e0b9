//! `tenbin stall`: something stopped on purpose, for a time.

use clap::{Args, ValueEnum};
use tenbin_analysis::report;
use tenbin_lab::stall::{Request, Target, stall};
use tenbin_lab::survey::cpus;
use tenbin_lab::weigh::values::time;
use tenbin_model::{Picoseconds, Stalls};

use super::{Form, Schema, Verb, Work};
use crate::output::{Answer, Exit, Trouble};

/// Stop CPUs, the machine, a process, a control group or a guest for a time, on purpose
///
/// What is stopped goes on when the time is over, whatever becomes of tenbin: CPUs are held by a program in
/// the kernel that has its own end, and what is stopped from outside is let go by a guardian that is there
/// before it stops. A command behind -- runs meanwhile and is stopped under again and again, until it ends:
/// so one sees what its deadlines, its connections and its watchdogs make of that. It keeps its standard
/// output, the answer is on standard error then, and tenbin ends as it does.
#[derive(Args)]
pub struct Stall {
    /// What is stopped
    what: What,
    /// Which one, but for `machine`, and for how long, like 500ms or 2s
    ///
    /// CPUs are a list like 0,2-3, or all; a process is its number, a control group its folder, a guest the
    /// socket of its monitor (QEMU's -qmp unix:SOCKET,server,nowait).
    #[arg(value_name = "WHICH TIME", num_args = 1..=2, required = true)]
    words: Vec<String>,
    /// Stop for longer than 8 s too
    #[arg(long)]
    force: bool,
    /// How long the command is left in peace before each stop
    #[arg(long, value_name = "TIME", value_parser = time, default_value = "1s", requires = "command")]
    every: Picoseconds,
    #[command(flatten)]
    form: Form,
    /// The command that runs meanwhile, and its arguments
    #[arg(last = true, value_name = "COMMAND")]
    command: Vec<String>,
}

/// What can be stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum What {
    /// CPUs, with interrupts off: by a program in the kernel (root)
    Cpu,
    /// All CPUs at once: by the kernel module stop_machine, where it is loaded
    Machine,
    /// A process, by SIGSTOP
    Pid,
    /// A control group, by the freezer
    Cgroup,
    /// A guest of QEMU, by its monitor
    Vm,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<Stalls>("stalls", "What was stopped, and for how long: `stall`")],
    ..Verb::of::<Stall>("stall")
};

impl Work for Stall {
    fn run(self) -> Result<Answer, Trouble> {
        let command = (!self.command.is_empty()).then_some((self.command, self.every));
        let (which, duration) = match (self.what, self.words.as_slice()) {
            (What::Machine, [duration]) => ("", duration),
            (What::Machine, _) => return Err(Trouble::usage("there is one machine: `stall machine TIME`")),
            (_, [which, duration]) => (which.as_str(), duration),
            _ => return Err(Trouble::usage("it needs to know which one and for how long")),
        };
        let duration = time(duration).map_err(|why| Trouble::usage(format!("{duration}: {why}")))?;
        let target = match self.what {
            What::Cpu if which == "all" => Target::Cpus(cpus(None)?),
            What::Cpu => Target::Cpus(cpus(Some(which))?),
            What::Machine => Target::Machine,
            What::Pid => Target::Process(
                which.parse().map_err(|_| Trouble::usage(format!("`{which}` is no number of a process")))?,
            ),
            What::Cgroup => Target::Group(which.into()),
            What::Vm => Target::Guest(which.into()),
        };
        let stalls = stall(&Request { target, duration, force: self.force, command })?;
        let text = self.form.text(&stalls, |stalls, _| report::stalls(stalls))?;
        Ok(match stalls.command.map(|command| command.status) {
            None => Answer::text(text),
            // Standard output is the command's.
            Some(status) => Answer {
                remarks: vec![text.trim_end().to_owned()],
                exit: if status == 0 { Exit::Answered } else { Exit::PassedOn(status) },
                ..Answer::default()
            },
        })
    }
}
