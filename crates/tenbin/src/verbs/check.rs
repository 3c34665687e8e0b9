//! `tenbin check`: the claims that a project keeps in its `tenbin.toml`.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::{env, fs};

use clap::Args;
use tenbin_analysis::{Reported, report};
use tenbin_lab::survey::Selection;
use tenbin_lab::weigh::claims::{AskedQuestion, File, judged};
use tenbin_lab::{Experiment, Request};
use tenbin_model::{CheckReport, CheckedQuestion, Effort};

use super::{Ending, Form, Measure, Outlet, Schema, Verb, Work, answered};
use crate::measurement;
use crate::output::{self, Answer, Destination, Exit, Trouble};

/// The file that is looked for.
const FILE: &str = "tenbin.toml";

/// Why nothing is known of a question that a signal kept from being measured.
const INTERRUPTED: &str = "it was interrupted before enough of this was measured";

/// Check what a project claims of its commands, in its tenbin.toml
///
/// Each [weigh.NAME] of the file is a question: commands, how they are run, and claims about them like
/// "new is at most 1 % slower than old". Its commands are run in the folder of the file, in random blocks,
/// until every claim holds or is refuted, or until its time is over. The file is looked for here, and in
/// the folders above up to the root of the repository. docs/check.md has all of it.
///
/// The status is 0 where every claim holds, 4 where one is refuted or a command did not do what it must, 3
/// where one is not decided, and 2 where the file or a name is wrong.
#[derive(Args)]
pub struct Check {
    /// The questions to check; all of them if none is given
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// The file, wherever it stands
    #[arg(long, value_name = "PATH")]
    file: Option<PathBuf>,
    /// List the claims without measuring anything
    #[arg(long, conflicts_with_all = ["json", "junit", "markdown"])]
    list: bool,
    #[command(flatten)]
    outlet: Outlet,
    /// Write the claims as JUnit's XML too, for a CI that reads that; - is standard output, and then
    /// nothing else stands there
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Write a page in Markdown too, of 40 lines at most; - is standard output, and then nothing else
    /// stands there
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Seed of every random choice; the time of day if not given
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
    /// Measure without keeping the runs
    #[arg(long)]
    no_store: bool,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<CheckReport>("check", "Claims of a project: `check`")],
    ..Verb::of::<Check>("check")
};

impl Work for Check {
    fn run(self) -> Result<Answer, Trouble> {
        let path = self.path()?;
        let text = fs::read_to_string(&path).map_err(|error| unread(&path, &error))?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let folder = folder.canonicalize().map_err(|error| unread(folder, &error))?;
        let shown = path.display().to_string();
        let questions = File { shown: &shown, text: &text, folder: &folder }.read(&self.names)?;
        self.outlet.can_be_written()?;
        if self.list {
            let claims = |question: AskedQuestion| (question.name, question.claims);
            let claims = questions.into_iter().map(claims).collect::<Vec<_>>();
            let text = report::claims_listed(&claims).text(crate::terminal::width());
            return Ok(Answer { to: self.outlet.output.clone(), ..Answer::text(text) });
        }
        let written = [&self.junit, &self.markdown, &self.outlet.output].into_iter().flatten();
        output::each_elsewhere(written.map(PathBuf::as_path))?;
        let mut on_standard_output = 0;
        for file in self.junit.iter().chain(&self.markdown) {
            output::can_be_written(file)?;
            on_standard_output += usize::from(Destination::of(file)? == Destination::StandardOutput);
        }
        let wanted = usize::from(self.outlet.form().json && self.outlet.output.is_none());
        if on_standard_output + wanted > 1 {
            return Err(Trouble::usage("two forms of the answer for standard output: name a file for one"));
        }
        let mut checked = Checked { questions: Vec::new(), remarks: Vec::new(), exit: Exit::Answered };
        // What belongs to a question is cleaned up before the next one is set up.
        for question in questions {
            self.measured(&question, &mut checked)?;
        }
        let report = CheckReport::of(checked.questions);
        for (file, form) in [
            (&self.junit, report::claims_as_junit as fn(&CheckReport) -> String),
            (&self.markdown, report::claims_as_markdown),
        ] {
            let Some(file) = file else { continue };
            // What was measured is answered all the same.
            if let Err(trouble) = output::write_whole(file, |out| out.write_all(form(&report).as_bytes())) {
                checked.remarks.push(trouble.to_string());
                checked.exit = trouble.exit;
            }
        }
        // A form for programs stands there by itself.
        let text = if on_standard_output > 0 && self.outlet.output.is_none() {
            String::new()
        } else {
            self.outlet.form().text(&report, |report, width| report::claims(report).text(width))?
        };
        let exit = match (checked.exit, report.refuted, report.not_decided) {
            (Exit::Answered, 0, 0) => Exit::Answered,
            (Exit::Answered | Exit::Refused, 0, _) => Exit::Refused,
            (Exit::Answered | Exit::Refused, _, _) => Exit::Fault,
            (other, _, _) => other,
        };
        Ok(Answer { text, to: self.outlet.output.clone(), remarks: checked.remarks, exit })
    }
}

/// What was measured so far.
struct Checked {
    questions: Vec<CheckedQuestion>,
    remarks: Vec<String>,
    exit: Exit,
}

impl Check {
    /// Measures a question, and adds what became of its claims. Who was interrupted gets no further question
    /// measured, and an answer to those before.
    fn measured(&self, question: &AskedQuestion, checked: &mut Checked) -> Result<(), Trouble> {
        if matches!(checked.exit, Exit::Interrupted(_)) {
            checked.questions.push(question.unmeasured(INTERRUPTED));
            return Ok(());
        }
        let weighing = match &question.weighing {
            Ok(weighing) => weighing,
            Err(refusal) => {
                checked.questions.push(question.refused(refusal));
                return Ok(());
            }
        };
        let (describe, plan) = (|| weighing.describe(), |request: &Request<'_>| weighing.plan(request));
        let experiment = Experiment { analysis: weighing.analysis, ..Experiment::new(&describe, &plan) };
        let measure = self.measure();
        let survey = measurement::of(Selection::of(experiment), &measure, Effort::Normal)?;
        let outcome = match answered(&survey, &measure, &|_: &Reported, _| String::new(), Ending::None) {
            Ok(outcome) => outcome,
            Err(trouble) if matches!(trouble.exit, Exit::Interrupted(_)) => {
                checked.exit = trouble.exit;
                checked.questions.push(question.unmeasured(INTERRUPTED));
                return Ok(());
            }
            Err(trouble) => return Err(trouble),
        };
        checked.remarks.extend(outcome.answer.remarks);
        checked.remarks.extend((weighing.close)().iter().map(|wrong| format!("tenbin: {wrong}")));
        if checked.exit == Exit::Answered || matches!(outcome.answer.exit, Exit::Interrupted(_)) {
            checked.exit = outcome.answer.exit;
        }
        let of_claims = outcome.run.trials.iter().map(judged);
        checked
            .questions
            .extend(of_claims.map(|judged| CheckedQuestion { run: outcome.report.run.clone(), ..judged }));
        Ok(())
    }

    fn measure(&self) -> Measure {
        // All questions have one answer, which is given at their end: each by itself shows nothing.
        let outlet = Outlet { form: Form { json: true }, output: None };
        Measure { seed: self.seed, no_store: self.no_store, outlet, ..Measure::default() }
    }

    /// The file that is meant.
    fn path(&self) -> Result<PathBuf, Trouble> {
        if let Some(file) = &self.file {
            return Ok(file.clone());
        }
        let here = env::current_dir().map_err(|error| unread(Path::new("."), &error))?;
        // Outside of a repository nothing says how far a project reaches: nobody else's file is run by
        // accident.
        let root = here.ancestors().find(|folder| folder.join(".git").exists());
        let place = here
            .ancestors()
            .take_while(|folder| *folder == here || root.is_some_and(|root| folder.starts_with(root)))
            .find(|folder| folder.join(FILE).is_file());
        match (place, root) {
            (Some(place), _) if place == here => Ok(FILE.into()),
            (Some(place), _) => Ok(place.join(FILE)),
            (None, Some(root)) => Err(Trouble::usage(format!(
                "there is no {FILE} here, nor above, up to {}; name one with --file, or see docs/check.md",
                root.display()
            ))),
            (None, None) => Err(Trouble::usage(format!(
                "there is no {FILE} here, and this is not in a repository; name one with --file, or see docs/check.md"
            ))),
        }
    }
}

/// Why a file could not be read. A disk that fails is nobody's usage error.
fn unread(path: &Path, error: &std::io::Error) -> Trouble {
    let message = format!("read {}: {error}", path.display());
    match error.kind() {
        ErrorKind::NotFound
        | ErrorKind::NotADirectory
        | ErrorKind::IsADirectory
        | ErrorKind::PermissionDenied
        | ErrorKind::InvalidData => Trouble::usage(message),
        _ => Trouble::internal(message),
    }
}
