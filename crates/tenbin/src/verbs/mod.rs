//! The verbs, a file each: its arguments with their help, its work, its answer as text and JSON, its tests.
//!
//! A new one is a file, and a `mod` line below at the place that it has in the help: parser, help, manual,
//! completions and schemas derive from its [`Verb`].

mod run;
pub mod weigh;
mod check;
mod include;
mod calibrate;
mod blame;
mod list;
mod show;
mod report;
mod machine;
mod doctor;
mod quiet;
mod stall;
mod watch;
mod profile;
mod environment;
mod runs;
mod compare;
mod export;
mod import;
mod merge;
pub mod yes;
mod fib;
mod guest;
mod boot;
mod schema;
mod completions;
mod man;

use std::num::NonZero;
use std::path::{Path, PathBuf};

use clap::{ArgMatches, Args, Command};
pub use run::{Ending, Measure, answered, detail, survey};
use schemars::JsonSchema;
use serde::Serialize;
use tenbin_analysis::report::Page;
use tenbin_lab::survey::names;
use tenbin_store::{Label, NotALabel};

use crate::output::{self, Answer, Trouble};
use crate::terminal;

// The list is made of the lines above.
include!(concat!(env!("OUT_DIR"), "/verbs.rs"));

/// The arguments of a verb, and what is done with them.
pub trait Work: Args {
    /// # Errors
    /// Whatever kept it from an answer, with the status to exit with.
    fn run(self) -> Result<Answer, Trouble>;
}

/// A verb, or a word with verbs below it.
pub struct Verb {
    /// The word that it is.
    pub name: &'static str,
    /// What it answers in JSON.
    pub schemas: &'static [Schema],
    /// The words that a shell may offer where any word is taken.
    pub words: &'static [Words],
    /// The verbs below it.
    pub below: &'static [Self],
    arguments: fn(Command) -> Command,
    work: Option<Doing>,
}

/// What is done with the arguments that were given.
type Doing = fn(&ArgMatches) -> Result<Answer, Trouble>;

/// An argument's name, and words that it takes.
pub type Words = (&'static str, fn() -> Vec<String>);

impl Verb {
    /// The verb that has these arguments. What is said of their type is its help.
    const fn of<W: Work>(name: &'static str) -> Self {
        let work = Some(work::<W> as Doing);
        Self { name, schemas: &[], words: &[], below: &[], arguments: W::augment_args, work }
    }

    /// A word with verbs below it.
    const fn group(name: &'static str, about: fn(Command) -> Command, below: &'static [Self]) -> Self {
        Self { name, schemas: &[], words: &[], below, arguments: about, work: None }
    }

    /// What the command line knows of it.
    pub fn command(&self) -> Command {
        let command = (self.arguments)(Command::new(self.name));
        match self.below {
            [] => command,
            below => command
                .subcommands(below.iter().map(Self::command))
                .subcommand_required(true)
                .arg_required_else_help(true),
        }
    }
}

fn work<W: Work>(matches: &ArgMatches) -> Result<Answer, Trouble> {
    W::from_arg_matches(matches).map_err(|error| Trouble::internal(error.to_string()))?.run()
}

/// Does what is asked of one of `verbs`; `None` if that is nothing.
pub fn run(verbs: &[Verb], matches: &ArgMatches) -> Option<Result<Answer, Trouble>> {
    let (name, matches) = matches.subcommand()?;
    let verb = verbs.iter().find(|verb| verb.name == name)?;
    run(verb.below, matches).or_else(|| Some(verb.work?(matches)))
}

/// Every verb, also below another word.
pub fn each() -> impl Iterator<Item = &'static Verb> {
    VERBS.iter().flat_map(|verb| std::iter::once(verb).chain(verb.below))
}

/// The schema of an answer.
pub struct Schema {
    /// What it is asked for by.
    name: &'static str,
    /// Whose answer it is.
    about: &'static str,
    /// As the types have it; what is printed is the file of that name.
    #[cfg(test)]
    derived: fn() -> schemars::Schema,
}

impl Schema {
    #[cfg_attr(not(test), expect(clippy::extra_unused_type_parameters, reason = "a test derives it"))]
    const fn of<T: JsonSchema>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            #[cfg(test)]
            derived: || schemars::schema_for!(T),
        }
    }
}

/// In which form to answer.
#[derive(Args, Clone, Copy, Default)]
pub struct Form {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

impl Form {
    /// The value in this form: as JSON, or as `words` says it at the terminal's width.
    pub fn text<T: Serialize>(
        self,
        value: &T,
        words: impl FnOnce(&T, usize) -> String,
    ) -> Result<String, Trouble> {
        if self.json { json(value) } else { Ok(words(value, terminal::width())) }
    }
}

/// In which form to answer, and where.
#[derive(Args, Default)]
pub struct Outlet {
    #[command(flatten)]
    pub form: Form,
    /// Write the answer to a file, replacing it, in JSON if its name ends in .json; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

impl Outlet {
    /// The form that was asked for, or that the file's name asks for.
    pub fn form(&self) -> Form {
        let named = self.output.as_deref().and_then(Path::extension).is_some_and(|it| it == "json");
        Form { json: self.form.json || named }
    }

    /// How a run is rendered as a page, where the file's name asks for one.
    pub fn page(&self) -> Option<fn(&Page) -> String> {
        match self.output.as_deref()?.extension()?.to_str()? {
            _ if self.form.json => None,
            "html" => Some(Page::html),
            "md" => Some(Page::markdown),
            _ => None,
        }
    }

    /// Whether the answer can be written, asked before there is one, where it is no page.
    ///
    /// # Errors
    /// Names the path and the system's reason. A usage error where the name asks for a page.
    pub fn can_be_written(&self) -> Result<(), Trouble> {
        let Some(path) = &self.output else { return Ok(()) };
        if self.page().is_some() {
            return Err(Trouble::usage(format!(
                "write {}: this answer is no page; it is written as text, or as JSON to a name that ends in .json. \
                 `tenbin report RUN -o FILE` draws a run that was kept",
                path.display()
            )));
        }
        output::can_be_written(path)
    }
}

/// A value as indented JSON with a newline at its end.
///
/// # Errors
/// Internal: a value that is no JSON.
pub fn json(value: &impl Serialize) -> Result<String, Trouble> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Trouble::internal(format!("write JSON: {error}")))
}

/// A label that no experiment bears: `tenbin show` would take it for that one.
fn label(text: &str) -> Result<Label, String> {
    if names().iter().any(|name| name == text) {
        return Err(format!(
            "`{text}` is an experiment, which `tenbin show {text}` describes; choose another word"
        ));
    }
    text.parse().map_err(|error: NotALabel| error.to_string())
}

/// A number of processes.
fn processes(number: &str) -> Result<NonZero<u32>, String> {
    let count = number.parse().ok().filter(|count| (2..=100).contains(count));
    count.and_then(NonZero::new).ok_or_else(|| "it is a number from 2 to 100".into())
}
