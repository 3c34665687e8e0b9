//! `tenbin environment`: what a chroot, a container or another place for commands costs.

use std::fs;
use std::io::{BufRead, Write};
use std::path::PathBuf;

use clap::Args;
use tenbin_lab::environment::{ENVIRONMENT, Question, Served, WORK};
use tenbin_lab::survey::Selection;
use tenbin_lab::{Experiment, Request};
use tenbin_model::{Effort, Verdict};

use super::{Ending, Measure, Verb, Work, answered, detail};
use crate::measurement;
use crate::output::{Answer, Exit, Trouble};

/// Weigh an environment: what its start costs, and what work costs inside
///
/// START is a command that puts the command after it into the environment, and its standard input and output
/// with it: `chroot /srv/debian`, `docker run -i --rm debian:12`, `unshare --net`. The start of `true` is
/// weighed against `true` outside; then work inside against the same work outside, in turns. The work is that
/// of `tenbin run checkout tags build edit`, on sources that tenbin makes: what does it (git, ctags and
/// cscope, make and gcc) has to be there on both sides, and the rest is weighed without it. tenbin itself
/// goes in through START's standard input, with sh, mktemp and dd, into the folder for temporary files;
/// nothing of it stays there.
#[derive(Args)]
pub struct Environment {
    /// The work that is done inside: checkout, tags, build, edit; all of them if not given
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    work: Vec<String>,
    /// Turn a knob of that work (see `tenbin show build`)
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Quote what runs inside: START gives its words to a shell, as ssh does
    #[arg(long)]
    quote: bool,
    /// Make the environment by this, which a shell reads: run once, before anything else, and timed
    #[arg(long, value_name = "CMD")]
    setup: Option<String>,
    /// Remove it by this, once all is measured
    #[arg(long, value_name = "CMD")]
    cleanup: Option<String>,
    #[command(flatten)]
    measure: Measure,
    /// Do this work where this process is, for whoever asks on standard input
    #[arg(long, hide = true, value_name = "WORK", conflicts_with_all = ["work", "start", "setup", "cleanup"])]
    worker: Option<String>,
    /// This program's file, to be removed
    #[arg(long, hide = true, requires = "worker", value_name = "FILE")]
    copy: Option<PathBuf>,
    /// What puts a command into the environment; all that follows its name is its own
    #[arg(trailing_var_arg = true, value_name = "START", required_unless_present = "worker")]
    start: Vec<String>,
}

pub const VERB: Verb = Verb::of::<Environment>("environment");

impl Work for Environment {
    fn run(mut self) -> Result<Answer, Trouble> {
        if let Some(work) = &self.worker {
            return self.serve(work);
        }
        if self.work.is_empty() {
            self.work = WORK.map(str::to_owned).to_vec();
        }
        let Self { work, settings, quote, setup, cleanup, measure, start, .. } = self;
        let environment = Question { start, is_quoted: quote, work, settings, setup, cleanup }.read()?;
        let (describe, plan) = (|| environment.describe(), |request: &Request<'_>| environment.plan(request));
        let experiment = Experiment { analysis: ENVIRONMENT, ..Experiment::new(&describe, &plan) };
        let outcome = measurement::of(Selection::of(experiment), &measure, Effort::Normal)
            .and_then(|survey| answered(&survey, &measure, &detail, Ending::None));
        // Whatever came of it, it goes as it came.
        let closed = environment.close().map_err(Trouble::from);
        let outcome = outcome?;
        let mut answer = outcome.answer;
        answer.remarks.extend(closed.err().map(|trouble| trouble.to_string()));
        let refused = outcome.report.answers.iter().all(|answer| answer.verdict == Verdict::Refused);
        if answer.exit == Exit::Answered && refused {
            answer.exit = Exit::Refused;
        }
        Ok(answer)
    }
}

impl Environment {
    /// Answers whoever asks, until nobody does.
    fn serve(&self, work: &str) -> Result<Answer, Trouble> {
        if let Some(copy) = &self.copy {
            fs::remove_file(copy)
                .map_err(|error| Trouble::internal(format!("remove {}: {error}", copy.display())))?;
        }
        let survey = measurement::survey(&[work.to_owned()], &self.settings, &self.measure, Effort::Normal)?;
        let mut served = Served::open(&survey)?;
        let mut output = std::io::stdout().lock();
        for line in std::io::stdin().lock().lines() {
            let fault = |error: std::io::Error| Trouble::internal(format!("answer: {error}"));
            let line = line.map_err(fault)?;
            let answer = served.answer(&line).map_err(Trouble::internal)?;
            let answer = answer.ok_or_else(|| Trouble::usage(format!("`{line}` is no question")))?;
            writeln!(output, "{answer}").and_then(|()| output.flush()).map_err(fault)?;
        }
        Ok(Answer::default())
    }
}
