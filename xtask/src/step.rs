//! A list of named steps: each is timed, all are run, and the end says what became of each.
//!
//! They are run one after the other, but for those that leave a CPU idle: another process of this program
//! does these, beside the steps that follow, up to one that needs the machine for itself.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::time::Instant;

use tenbin_metal::child::Running;
use tenbin_metal::usage::Usage;

use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::{self, Requirement};
use crate::workspace::Workspace;

/// One thing to check.
pub(crate) struct Step<'a> {
    /// What it is called on the terminal.
    pub(crate) name: String,
    /// Without these it is skipped.
    pub(crate) needs: Vec<Requirement>,
    company: Company,
    /// The work itself.
    pub(crate) work: Box<dyn Fn() -> Result<Outcome, Failure> + 'a>,
}

/// Which other steps are run at the same time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Company {
    /// Those before it that are run beside it.
    Earlier,
    /// These, and those that follow it.
    Any,
    /// None: what it says depends on what else the machine does.
    Alone,
}

/// How a step ended that did not fail.
pub(crate) enum Outcome {
    /// It was done, and all was well.
    Passed,
    /// It was not done, and this is why.
    Skipped(String),
}

impl From<()> for Outcome {
    fn from((): ()) -> Self {
        Self::Passed
    }
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

impl Tally {
    /// Takes the line in which a step is concluded: its first word says how it ended.
    fn count(&mut self, line: &str) {
        match line.split(' ').next() {
            Some(PASSED) => self.passed += 1,
            Some(SKIPPED) => self.skipped += 1,
            _ => self.failed += 1,
        }
    }
}

const PASSED: &str = "passed";
const SKIPPED: &str = "SKIPPED";
const FAILED: &str = "FAILED";

/// What the line begins with in which a step is concluded.
const CONCLUSION: &str = "<== ";

/// What the list of all conclusions begins with.
const LIST: &str = "\nThe steps:\n";

impl<'a> Step<'a> {
    pub(crate) fn new<O: Into<Outcome>>(
        name: impl Into<String>,
        needs: Vec<Requirement>,
        work: impl Fn() -> Result<O, Failure> + 'a,
    ) -> Self {
        let work = Box::new(move || work().map(Into::into));
        Self { name: name.into(), needs, company: Company::Earlier, work }
    }

    /// Has it run beside the steps that follow it, which do not need what it leaves.
    pub(crate) fn beside(self) -> Self {
        Self { company: Company::Any, ..self }
    }

    /// Has it wait for the end of what is run beside it.
    pub(crate) fn alone(self) -> Self {
        Self { company: Company::Alone, ..self }
    }
}

/// Run every step, whatever becomes of the others.
pub(crate) fn run_all(workspace: &Workspace, steps: &[Step<'_>]) -> Tally {
    let needs = steps.iter().flat_map(|step| step.needs.clone()).collect::<BTreeSet<_>>();
    let missing = requirement::provide(&needs.into_iter().collect::<Vec<_>>());
    let mut lines = Vec::new();
    let mut aside = Vec::new();
    for (index, step) in steps.iter().enumerate() {
        if step.company == Company::Alone {
            lines.extend(aside.drain(..).map(Aside::conclude));
        }
        println!("\n==> step {} of {}: {}", index + 1, steps.len(), step.name);
        let (started, before) = (Instant::now(), usage());
        let result = if step.company == Company::Any && index + 1 < steps.len() {
            match Aside::start(workspace, &step.name) {
                Ok(started) => {
                    println!("beside the next ones; what it prints stands behind theirs");
                    aside.push(started);
                    continue;
                }
                Err(failure) => Err(failure),
            }
        } else {
            attempt(step, &missing)
        };
        let result = result.map_err(|failure| match full_folder() {
            Some(folder) => failure.beside(&format!("{} is full: make room there", folder.display())),
            None => failure,
        });
        let seconds = started.elapsed().as_secs_f64();
        let charged = usage().since(&before);
        let cpus = (charged.user + charged.system).as_seconds() / seconds;
        let line = conclude(&step.name, result, &format!("{seconds:.1} s on {cpus:.1} CPUs"));
        println!("{CONCLUSION}{line}");
        lines.push(line);
    }
    lines.extend(aside.into_iter().map(Aside::conclude));
    println!("{LIST}");
    let mut tally = Tally::default();
    for line in lines {
        println!("  {line}");
        tally.count(&line);
    }
    println!("{tally}");
    tally
}

/// A step that another process of this program does.
struct Aside {
    name: String,
    running: Running,
    /// What it prints.
    printed: PathBuf,
}

impl Aside {
    fn start(workspace: &Workspace, name: &str) -> Result<Self, Failure> {
        let printed = workspace.scratch(&format!("beside/{name}"))?.join("printed");
        // The file of this program may be another by now, as the tests build it too.
        let this = Command::new("/proc/self/exe").directory(workspace.root());
        let running = this.arguments(["test", name]).start(&printed)?;
        Ok(Self { name: name.into(), running, printed })
    }

    /// Waits for it, prints what it printed, and gives the line in which it concluded the step.
    fn conclude(self) -> String {
        let end = self.running.wait();
        let printed = fs::read(&self.printed).unwrap_or_default();
        let printed = String::from_utf8_lossy(&printed);
        let (body, line) = concluded(&printed);
        println!("{body}");
        line.map(str::to_owned).unwrap_or_else(|| {
            let how = end.map_or_else(|fault| fault.to_string(), |end| end.to_string());
            format!("{FAILED}   {}: it was not concluded: {how}", self.name)
        })
    }
}

/// Of what is printed for one step: all but the list at the end, and the line in which it is concluded.
fn concluded(printed: &str) -> (&str, Option<&str>) {
    let body = printed.rsplit_once(LIST).map_or(printed, |(body, _)| body);
    (body, body.rsplit_once(CONCLUSION).map(|(_, line)| line.trim_end()))
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

fn conclude(name: &str, result: Result<Outcome, Failure>, took: &str) -> String {
    match result {
        Ok(Outcome::Passed) => format!("{PASSED}   {name} ({took})"),
        Ok(Outcome::Skipped(reason)) => format!("{SKIPPED}  {name}: {reason}"),
        Err(failure) => format!("{FAILED}   {name} ({took}): {failure}"),
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
            Step::new("third", vec![], || Ok(Outcome::Skipped("it was planted to skip".into()))),
        ];
        let workspace = Workspace::find().expect("the test runs in the repository");
        assert_eq!(run_all(&workspace, &steps).to_string(), "1 passed, 1 failed, 1 skipped");
        let lacking = Step::new("fourth", vec![absent.clone()], || Ok(()));
        let outcome = attempt(&lacking, &[absent]).expect("a skip is no failure");
        assert!(matches!(outcome, Outcome::Skipped(reason) if reason.contains("tenbin-no-such-package")));
    }

    #[test]
    fn a_step_of_another_process_ends_as_it_says() {
        for (printed, line, tally) in [
            (
                "$ x\n<== passed   a (1.0 s)\n\nThe steps:\n\n  passed   a\n1 passed",
                "passed   a (1.0 s)",
                [1, 0, 0],
            ),
            ("<== FAILED   a (1.0 s): why\n    left: 1\n", "FAILED   a (1.0 s): why\n    left: 1", [0, 1, 0]),
            ("<== SKIPPED  a: no kernel\n", "SKIPPED  a: no kernel", [0, 0, 1]),
        ] {
            let concluding = concluded(printed).1.expect("it is concluded");
            assert_eq!(concluding, line);
            let mut count = Tally::default();
            count.count(concluding);
            assert_eq!([count.passed, count.failed, count.skipped], tally);
        }
        assert_eq!(concluded("$ x\nkilled in the middle\n").1, None);
    }
}
