//! `tenbin quiet`: noise kept away from a command, and everything put back.

use std::path::Path;

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::quiet::{self, Plan, USUAL};
use tenbin_lab::survey::cpus;
use tenbin_metal::child::{self, EVER, End};
use tenbin_metal::knobs::{self, Overridden, Restored};
use tenbin_model::Remedies;
use tenbin_model::words::{comma, counted};

use super::{Form, Schema, Verb, Work};
use crate::output::{Answer, Exit, Trouble, say};

/// Keep noise away from a command, and put everything back when it ends
///
/// Settings of processor and kernel are switched for as long as the command runs: frequencies, idle states,
/// interrupts, what the kernel does beside it. However tenbin ends, SIGKILL included, a guardian puts back
/// what was there before, but for what somebody else has set since. Most needs root; what cannot be had is
/// named, and the command runs without it. Addresses stay random unless `layout` is asked for: a fixed layout
/// makes every run alike, and its luck is then in each of them.
///
/// Without a command it says what would be done, and changes nothing.
#[derive(Args)]
pub struct Quiet {
    /// The CPUs that the command is to have, like 0,2-3; interrupts and other tasks are kept off them
    #[arg(long, value_name = "LIST", conflicts_with = "restore")]
    cpus: Option<String>,
    /// Only these remedies, and all of them or the command is not run; `usual` stands for those that are
    /// taken without it
    #[arg(long, value_name = "NAMES", value_delimiter = ',', conflicts_with = "restore")]
    what: Vec<String>,
    /// Put back what a tenbin left behind that was killed together with its guardian
    #[arg(long, conflicts_with_all = ["command", "json"])]
    restore: bool,
    #[command(flatten)]
    form: Form,
    /// The command and its arguments; all that follows its name is its own
    #[arg(trailing_var_arg = true, value_name = "COMMAND", conflicts_with = "json")]
    command: Vec<String>,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<Remedies>("remedies", "What would keep noise away: `quiet`")],
    words: &[("what", || [USUAL.to_owned()].into_iter().chain(quiet::names()).collect())],
    ..Verb::of::<Quiet>("quiet")
};

impl Work for Quiet {
    fn run(self) -> Result<Answer, Trouble> {
        if self.restore {
            return restore();
        }
        let cpus = self.cpus.as_deref().map(|list| cpus(Some(list))).transpose()?;
        let plan = Plan::new(cpus, &self.what)?;
        if self.command.is_empty() {
            let words = |remedies: &Remedies, width| report::remedies(remedies).text(width);
            return self.form.text(&plan.remedies(), words).map(Answer::text);
        }
        let command = quiet::command(&self.command)?;
        let quiet = plan.take()?;
        say(&format!("tenbin: {}", report::in_force(&quiet.remedies)));
        let end = child::through(command, EVER);
        let overridden = quiet.restore().map_err(not_restored)?;
        let end = end.map_err(|fault| Trouble::usage(fault.to_string()))?;
        let remarks = stays(&overridden).map(|stays| format!("tenbin: {stays}."));
        Ok(Answer { remarks: remarks.into_iter().collect(), exit: passed_on(end), ..Answer::default() })
    }
}

/// As a shell has it.
fn passed_on(end: End) -> Exit {
    match end {
        End::Exited(0) => Exit::Answered,
        End::Exited(status) => Exit::PassedOn(u8::try_from(status).unwrap_or(u8::MAX)),
        End::Signalled(signal) => Exit::Interrupted(signal),
        End::OutOfTime => Exit::Internal,
    }
}

fn restore() -> Result<Answer, Trouble> {
    let restored = knobs::restore(Path::new(knobs::JOURNAL)).map_err(not_restored)?;
    Ok(Answer::text(match restored {
        Restored::Nothing => "Nothing was left switched.\n".into(),
        Restored::OfAnotherBoot => {
            "What was left switched was of an earlier start of this machine, and gone with it.\n".into()
        }
        Restored::Back { settings, overridden } => match stays(&overridden) {
            None => format!("{} as before.\n", are(settings)),
            Some(stays) => format!("{} as before; {stays}.\n", are(settings - overridden.len())),
        },
    }))
}

fn are(settings: usize) -> String {
    format!("{} {}", counted(settings, "setting"), if settings == 1 { "is" } else { "are" })
}

/// What somebody else has set, and stays so.
fn stays(overridden: &[Overridden]) -> Option<String> {
    let each = overridden.iter().map(|one| format!("{} is {}", one.path, one.now));
    (!overridden.is_empty())
        .then(|| format!("{} as somebody else has set it meanwhile: {}", are(overridden.len()), comma(each)))
}

fn not_restored(fault: tenbin_metal::Fault) -> Trouble {
    Trouble { exit: Exit::Internal, message: format!("{fault}; `tenbin quiet --restore` tries again") }
}
