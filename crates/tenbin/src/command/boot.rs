//! `tenbin boot`: what the machine code of several RISC-V harts can do. Litmus tests, and what all its
//! questions need.

#![expect(clippy::disallowed_methods, reason = "the running time of budgets")]

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Instant;

use tenbin_boot::litmus::{self, Settled, decide};
use tenbin_boot::request::Size;
use tenbin_boot::{Means, view};
use tenbin_metal::interrupt;

use super::json;
use crate::arguments;
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::{self, Progress};

/// Bytes that a litmus test may have: the largest that are published have some thousands.
const LARGEST: u64 = 1 << 20;

/// Decides litmus tests, as many at a time as there are CPUs.
///
/// # Errors
/// Internal, where the answer cannot be written as JSON. What kept a test from an answer stands in the
/// answer.
pub(super) fn litmus(asked: &arguments::Litmus) -> Result<Answer, Trouble> {
    interrupt::listen().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let tests = asked.files.iter().flat_map(|path| tests_at(path));
    let files = tests.map(|(path, named)| litmus::File {
        name: path.display().to_string(),
        text: Box::new(move || named.as_ref().map_err(ToString::to_string).and_then(|()| text_of(&path))),
    });
    let files = files.collect::<Vec<_>>();
    let progress = |progress: &Progress, tests, all, _| progress.tests(tests, all);
    let answer = with_means(asked.limit, asked.seconds, &progress, |means| {
        decide(&files, asked.memory, asked.unroll, means)
    });
    let unreadable = answer.count(|it| matches!(it, Settled::Unreadable { .. }));
    let decided = answer.count(|it| matches!(it, Settled::Decided(_)));
    let exit = match (unreadable, decided) {
        (0, 0) => Exit::Refused,
        (0, _) => Exit::Answered,
        _ => Exit::Usage,
    };
    let exit = interrupt::requested().map_or(exit, Exit::Interrupted);
    let text = if asked.form.json { json(&answer)? } else { view::litmus(&answer, terminal::width()) };
    let remark = view::undecided(&answer).map(|message| Trouble { exit, message }.to_string());
    Ok(Answer { text, to: None, remark, exit })
}

/// Does something by the means of this machine and this terminal: all of its CPUs, its clock, signals, and a
/// line of progress.
pub(super) fn with_means<T>(
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
    let bytes = bytes_of(path, LARGEST, "it is no regular file: write the test to one");
    let bytes = bytes.map_err(|error| error.to_string())?;
    let moves = |each: char| each.is_control() && !matches!(each, '\n' | '\r' | '\t');
    Ok(String::from_utf8_lossy(&bytes).replace(moves, "\u{fffd}"))
}

/// The bytes of a file that has no more than so many.
pub(super) fn bytes_of(path: &Path, most: u64, not_regular: &str) -> io::Result<Vec<u8>> {
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
