//! `tenbin boot`: what the machine code of several RISC-V harts can do.

#![expect(clippy::disallowed_methods, reason = "the running time of budgets")]

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tenbin_analysis::report;
use tenbin_metal::interrupt;
use tenbin_model::{Decided, Litmus, Quantifier, Settled, Tried};
use tenbin_proof::axiomatic::{Limits, NoAnswer, Outcomes, outcomes};
use tenbin_proof::litmus::{self, Test};

use super::json;
use crate::arguments::{self, LEAST};
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::{self, Progress};

/// Bytes that a litmus test may have: the largest that are published have some thousands.
const LARGEST: u64 = 1 << 20;

/// Why a test that a signal interrupted has no answer.
const INTERRUPTED: &str = "tenbin was interrupted before it was decided";

/// Decides litmus tests, as many at a time as there are CPUs.
///
/// # Errors
/// Internal, where the answer cannot be written as JSON. What kept a test from an answer stands in the
/// answer.
pub(super) fn litmus(asked: &arguments::Litmus) -> Result<Answer, Trouble> {
    interrupt::listen().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let files = asked.files.iter().flat_map(|path| tests_at(path)).collect();
    let answer = Litmus {
        schema: Litmus::SCHEMA.into(),
        memory: asked.memory.to_string(),
        unroll: asked.unroll,
        seconds: asked.seconds,
        tests: all(files, asked),
    };
    let unreadable = answer.count(|it| matches!(it, Settled::Unreadable { .. }));
    let decided = answer.count(|it| matches!(it, Settled::Decided(_)));
    let exit = match (unreadable, decided) {
        (0, 0) => Exit::Refused,
        (0, _) => Exit::Answered,
        _ => Exit::Usage,
    };
    let exit = interrupt::requested().map_or(exit, Exit::Interrupted);
    let text = if asked.form.json { json(&answer)? } else { report::litmus(&answer, terminal::width()) };
    let remark = report::unanswered(&answer).map(|message| Trouble { exit, message }.to_string());
    Ok(Answer { text, to: None, remark, exit })
}

/// A file to read, or why there is none.
type Named = (PathBuf, io::Result<()>);

/// The file that is named, or all tests below the folder that is named, in the order of their names.
fn tests_at(path: &Path) -> Vec<Named> {
    if !path.is_dir() {
        return vec![(path.to_owned(), Ok(()))];
    }
    let mut found = Vec::new();
    below(path, &mut found);
    if found.is_empty() {
        let none = io::Error::other("no file below this folder has a name that ends in .litmus");
        found.push((path.to_owned(), Err(none)));
    }
    found
}

/// Collects the tests below a folder. Links to folders are not followed: they may lead back.
fn below(folder: &Path, found: &mut Vec<Named>) {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<BTreeSet<_>>>()
    });
    match entries {
        Err(error) => found.push((folder.to_owned(), Err(error))),
        Ok(entries) => {
            for path in entries {
                if path.is_dir() && !path.is_symlink() {
                    below(&path, found);
                } else if path.is_file() && path.extension().is_some_and(|extension| extension == "litmus") {
                    found.push((path, Ok(())));
                }
            }
        }
    }
}

/// Settles all of them, and keeps their order. First as many at a time as there are CPUs, each with its share
/// of the memory; then, alone and with all of it, those that a share was too little for.
fn all(files: Vec<Named>, asked: &arguments::Litmus) -> Vec<Tried> {
    let count = files.len();
    let shares = usize::try_from(asked.limit.0 / LEAST).unwrap_or(usize::MAX);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(count).min(shares).max(1);
    let share = asked.limit.0 / workers as u64;
    let settled = Mutex::new(BTreeMap::new());
    let open = Mutex::new(files.iter().enumerate());
    let progress = Progress::new();
    let next = || open.lock().ok()?.next();
    let work = || {
        while let Some((index, (path, named))) = next() {
            let tried = match named {
                Ok(()) => tried(path, share, asked),
                Err(error) => unreadable(path, None, error.to_string()),
            };
            if let Ok(mut settled) = settled.lock() {
                settled.insert(index, tried);
                progress.tests(settled.len(), count);
            }
        }
    };
    thread::scope(|scope| {
        // Where no other thread can be started, this one does it all.
        let started = (1..workers).map(|_| thread::Builder::new().spawn_scoped(scope, work));
        started.for_each(drop);
        work();
    });
    let mut settled = settled.into_inner().unwrap_or_default();
    for (index, each) in &mut settled {
        let interrupted = interrupt::requested().is_some();
        if workers > 1 && !interrupted && matches!(each.settled, Settled::NotFinished { memory: Some(_), .. })
        {
            *each = tried(&files[*index].0, asked.limit.0, asked);
        }
    }
    progress.finish();
    settled.into_values().collect()
}

/// Reads a test and decides it with so much memory. Its time begins when it has been read.
fn tried(path: &Path, bytes: u64, asked: &arguments::Litmus) -> Tried {
    let test = match text_of(path) {
        Err(error) => return unreadable(path, None, error.to_string()),
        Ok(text) => match Test::read(&text) {
            Err(error) => return unreadable(path, Some(error.line), error.reason),
            Ok(test) => test,
        },
    };
    let begun = Instant::now();
    let stop = || begun.elapsed() >= Duration::from_secs(asked.seconds) || interrupt::requested().is_some();
    let limits = Limits { unroll: asked.unroll, steps: u64::MAX, bytes, stop: Some(&stop) };
    let settled = match outcomes(&test, asked.memory, limits) {
        Ok(found) => Settled::Decided(decided(&test, &found)),
        Err(NoAnswer::NotFinished { .. }) if interrupt::requested().is_some() => {
            Settled::Refused { why: INTERRUPTED.into() }
        }
        Err(NoAnswer::NotFinished { steps }) => Settled::NotFinished { steps, memory: None },
        Err(NoAnswer::Memory { bytes, steps }) => Settled::NotFinished { steps, memory: Some(bytes) },
        Err(refused @ NoAnswer::Refused(_)) => Settled::Refused { why: refused.to_string() },
    };
    Tried { file: path.display().to_string(), name: Some(test.name), settled }
}

fn unreadable(path: &Path, line: Option<usize>, why: String) -> Tried {
    Tried { file: path.display().to_string(), name: None, settled: Settled::Unreadable { line, why } }
}

/// What a file holds, so that parts of it may be shown. Bytes that are no UTF-8 and characters that would
/// move a terminal's cursor can stand in comments and strings only, and there they do not matter.
fn text_of(path: &Path) -> io::Result<String> {
    // Whoever opens a pipe waits for its writer, and some devices never end.
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::other("it is no regular file: write the test to one"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(LARGEST + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > LARGEST {
        return Err(io::Error::other(format!("it has more than {LARGEST} bytes")));
    }
    let moves = |each: char| each.is_control() && !matches!(each, '\n' | '\r' | '\t');
    Ok(String::from_utf8_lossy(&bytes).replace(moves, "\u{fffd}"))
}

/// What was found, in the nouns of answers.
fn decided(test: &Test, found: &Outcomes) -> Decided {
    Decided {
        asked: match test.question.quantifier {
            litmus::Quantifier::Exists => Quantifier::Exists,
            litmus::Quantifier::NotExists => Quantifier::NotExists,
            litmus::Quantifier::ForAll => Quantifier::ForAll,
            litmus::Quantifier::Observed => Quantifier::Observed,
        },
        condition: test.proposition(&test.question.proposition),
        states: found.states.iter().map(|state| test.outcome(state)).collect(),
        having: found.having(test),
        holds: found.holds(test),
        cut: found.cut,
        steps: found.steps,
    }
}
