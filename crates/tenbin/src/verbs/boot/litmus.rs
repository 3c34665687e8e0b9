//! `tenbin boot litmus`: what litmus tests may end with.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_boot::axiomatic::Model;
use tenbin_boot::litmus::{self, Settled, decide};
use tenbin_boot::request::Size;
use tenbin_boot::view;
use tenbin_metal::interrupt;

use super::{bytes_of, with_means};
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::Progress;
use crate::verbs::{Form, Schema, Verb, Work};

/// Say what litmus tests in herd's format for RISC-V may end with
///
/// Of one test all outcomes, as herd prints them, and whether what the condition says can happen. Of
/// several a line each; --json has all their outcomes. A set of outcomes is whole, or there is none.
#[derive(Args)]
#[command(after_help = STATUS)]
pub struct Litmus {
    /// Tests, and folders: of those every file below whose name ends in .litmus, in the order of names
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The memory model: sequential consistency, total store order, or RISC-V's own
    #[arg(long, value_name = "sc|tso|rvwmo", default_value = "rvwmo")]
    memory: Model,
    /// How much memory all of them may take; a test that its share is too small for is tried again alone
    #[arg(long, value_name = "BYTES", default_value = "4GiB")]
    limit: Size,
    /// How long a test may take
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    seconds: u64,
    /// How often each instruction of a hart is executed at most
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    unroll: u32,
    #[command(flatten)]
    form: Form,
}

const STATUS: &str = "\
Exit status: 0 answered, whatever the answer is; 2 a file cannot be read or is not such a test (the
others are answered); 3 not one test could be answered: refused, or not finished.";

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<litmus::Litmus>("litmus", "What litmus tests may end with: `boot litmus`")],
    ..Verb::of::<Litmus>("litmus")
};

/// Bytes that a litmus test may have: the largest that are published have some thousands.
const LARGEST: u64 = 1 << 20;

/// Decides litmus tests, as many at a time as there are CPUs. What kept a test from an answer stands in the
/// answer.
impl Work for Litmus {
    fn run(self) -> Result<Answer, Trouble> {
        interrupt::listen()?;
        let tests = self.files.iter().flat_map(|path| tests_at(path));
        let files = tests.map(|(path, named)| litmus::File {
            name: path.display().to_string(),
            text: Box::new(move || named.as_ref().map_err(ToString::to_string).and_then(|()| text_of(&path))),
        });
        let files = files.collect::<Vec<_>>();
        let progress = |progress: &Progress, tests, all, _| progress.tests(tests, all);
        let answer = with_means(self.limit, self.seconds, &progress, |means| {
            decide(&files, self.memory, self.unroll, means)
        });
        let unreadable = answer.count(|it| matches!(it, Settled::Unreadable { .. }));
        let decided = answer.count(|it| matches!(it, Settled::Decided(_)));
        let exit = match (unreadable, decided) {
            (0, 0) => Exit::Refused,
            (0, _) => Exit::Answered,
            _ => Exit::Usage,
        };
        let exit = interrupt::requested().map_or(exit, Exit::Interrupted);
        let text = self.form.text(&answer, view::litmus)?;
        let remark = view::undecided(&answer).map(|message| Trouble { exit, message }.to_string());
        Ok(Answer { remarks: Vec::from_iter(remark), exit, ..Answer::text(text) })
    }
}

/// A file to read, or why there is none.
type Named = (PathBuf, io::Result<()>);

/// The file that is named, or all tests below the folder that is named, in the order of their names.
fn tests_at(path: &Path) -> Vec<Named> {
    if !path.is_dir() {
        return vec![(path.to_owned(), Ok(()))];
    }
    let mut tests = Vec::new();
    below(path, &mut tests);
    if tests.is_empty() {
        let none = io::Error::other("no file below this folder has a name that ends in .litmus");
        tests.push((path.to_owned(), Err(none)));
    }
    tests
}

/// Collects the tests below a folder. Links to folders are not followed: they may lead back.
fn below(folder: &Path, tests: &mut Vec<Named>) {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<BTreeSet<_>>>()
    });
    match entries {
        Err(error) => tests.push((folder.to_owned(), Err(error))),
        Ok(entries) => {
            for path in entries {
                if path.is_dir() && !path.is_symlink() {
                    below(&path, tests);
                } else if path.is_file() && path.extension().is_some_and(|extension| extension == "litmus") {
                    tests.push((path, Ok(())));
                }
            }
        }
    }
}

/// What a file holds, so that parts of it may be shown. Bytes that are no UTF-8 and characters that would
/// move a terminal's cursor can stand in comments and strings only, and there they do not matter.
fn text_of(path: &Path) -> Result<String, String> {
    let bytes = bytes_of(path, LARGEST, "it is not a regular file: write the test to one");
    let bytes = bytes.map_err(|error| error.to_string())?;
    let moves = |each: char| each.is_control() && !matches!(each, '\n' | '\r' | '\t');
    Ok(String::from_utf8_lossy(&bytes).replace(moves, "\u{fffd}"))
}
