//! A list of named steps: each is timed, all are run, and the end says what became of each.

use std::collections::BTreeSet;
use std::fmt;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

use tenbin_metal::usage::Usage;

use crate::failure::Failure;
use crate::requirement::{self, Requirement};

/// One thing to check.
pub(crate) struct Step<'a> {
    /// What it is called on the terminal.
    pub(crate) name: String,
    /// Without these it is skipped.
    pub(crate) needs: Vec<Requirement>,
    /// The work itself.
    pub(crate) work: Box<dyn Fn() -> Result<Outcome, Failure> + 'a>,
}

/// How a step ended that did not fail.
pub(crate) enum Outcome {
    /// It was done, and all was well.
    Passed,
    /// It was not done, and this is why.
    Skipped(String),
}

/// How many steps ended in which way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    pub(crate) skipped: usize,
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

impl<'a> Step<'a> {
    pub(crate) fn new(
        name: impl Into<String>,
        needs: Vec<Requirement>,
        work: impl Fn() -> Result<(), Failure> + 'a,
    ) -> Self {
        Self { name: name.into(), needs, work: Box::new(move || work().map(|()| Outcome::Passed)) }
    }
}

/// Run every step, whatever becomes of the others.
pub(crate) fn run_all(steps: &[Step<'_>]) -> Tally {
    let needs = steps.iter().flat_map(|step| step.needs.clone()).collect::<BTreeSet<_>>();
    let missing = requirement::provide(&needs.into_iter().collect::<Vec<_>>());
    let mut tally = Tally::default();
    let mut lines = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        println!("\n==> step {} of {}: {}", index + 1, steps.len(), step.name);
        let (started, before) = (Instant::now(), usage());
        let result = attempt(step, &missing).map_err(|failure| match full_folder() {
            Some(folder) => failure.beside(&format!("{} is full: make room there", folder.display())),
            None => failure,
        });
        let seconds = started.elapsed().as_secs_f64();
        let charged = usage().since(&before);
        let cpus = (charged.user + charged.system).as_seconds() / seconds;
        let took = format!("{seconds:.1} s on {cpus:.1} CPUs");
        let line = conclude(&mut tally, &step.name, result, &took);
        println!("<== {line}");
        lines.push(line);
    }
    println!("\nThe steps:");
    for line in lines {
        println!("  {line}");
    }
    println!("{tally}");
    tally
}

/// Of this thread and of all processes that it waited for.
fn usage() -> Usage {
    Usage::of_this_thread().plus(&Usage::of_children())
}

fn attempt(step: &Step<'_>, missing: &[Requirement]) -> Result<Outcome, Failure> {
    let lacking = step.needs.iter().filter(|need| missing.contains(need)).cloned().collect::<Vec<_>>();
    if lacking.is_empty() {
        return (step.work)();
    }
    let remedies = requirement::remedies(&lacking);
    Ok(Outcome::Skipped(format!("{}; to install: {remedies}", requirement::in_words(&lacking))))
}

/// A folder that whatever is built or tested writes to, and that has no room for a mebibyte.
fn full_folder() -> Option<PathBuf> {
    const SIZE: usize = 1 << 20;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    [Some(std::env::temp_dir()), target.or_else(|| std::env::current_dir().ok())].into_iter().flatten().find(
        |folder| {
            let file = folder.join(format!(".xtask-room-{}", std::process::id()));
            let written = std::fs::write(&file, vec![1; SIZE]);
            // It may never have been made.
            let _ = std::fs::remove_file(&file);
            written
                .is_err_and(|error| matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded))
        },
    )
}

fn conclude(tally: &mut Tally, name: &str, result: Result<Outcome, Failure>, took: &str) -> String {
    match result {
        Ok(Outcome::Passed) => {
            tally.passed += 1;
            format!("passed   {name} ({took})")
        }
        Ok(Outcome::Skipped(reason)) => {
            tally.skipped += 1;
            format!("SKIPPED  {name}: {reason}")
        }
        Err(failure) => {
            tally.failed += 1;
            format!("FAILED   {name} ({took}): {failure}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn failing() -> Result<(), Failure> {
        Err(Failure::new("succeed", "it was planted to fail", "nothing"))
    }

    #[test]
    fn all_steps_run_even_if_one_fails() {
        let absent = Requirement::file("tenbin-no-such-package", "/nonexistent/file");
        let steps = [
            Step::new("first", vec![], failing),
            Step::new("second", vec![], || Ok(())),
            Step {
                name: "third".into(),
                needs: vec![],
                work: Box::new(|| Ok(Outcome::Skipped("it was planted to skip".into()))),
            },
        ];
        assert_eq!(run_all(&steps).to_string(), "1 passed, 1 failed, 1 skipped");
        let lacking = Step::new("fourth", vec![absent.clone()], || Ok(()));
        let outcome = attempt(&lacking, &[absent]).expect("a skip is no failure");
        assert!(matches!(outcome, Outcome::Skipped(reason) if reason.contains("tenbin-no-such-package")));
    }
}
