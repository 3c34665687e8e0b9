//! Programs of the machine that do the work, and what each run of one came to.

use std::cell::RefCell;
use std::ffi::{CString, OsStr};
use std::fmt::Write;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::Duration;

use tenbin_metal::launcher::{ProcessEnd, Sink};
use tenbin_metal::{Fault, Lap, Launch, Launched, Launcher, Usage};
use tenbin_model::{Arrangement, Cpu, Finding, Missing, Picoseconds, VariantIndex};

use crate::ending;
use crate::experiment::{Apparatus, Failure, Opened, Request, Seen, Shared, Unfit};
use crate::weigh::{in_path, seen_program};

/// A program that takes longer for one step of a piece of work hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(600);

/// Where a program is that a question needs.
///
/// # Errors
/// What is missing where it is not there: what it is needed for, and the package of Debian that brings it.
pub(crate) fn program(name: &str, needed: &str, package: &str) -> Result<PathBuf, Unfit> {
    // Seen from here, wherever it runs.
    in_path(name).and_then(|path| std::path::absolute(path).ok()).ok_or_else(|| {
        Unfit::Missing(Missing {
            what: format!("`{name}`"),
            needed: needed.into(),
            install: format!("apt install {package}"),
        })
    })
}

#[derive(Clone, Debug)]
pub(crate) struct Step {
    program: PathBuf,
    arguments: Vec<CString>,
    folder: PathBuf,
    environment: Vec<CString>,
}

impl Step {
    /// A run of `program`, in a folder, with variables in the place of those of their names.
    ///
    /// # Errors
    /// A fault where a word has a NUL in it.
    pub(crate) fn new(
        program: &Path,
        arguments: &[&OsStr],
        folder: &Path,
        environment: &[(&str, &OsStr)],
    ) -> Result<Self, Fault> {
        let arguments = std::iter::once(program.as_os_str()).chain(arguments.iter().copied());
        let variables = environment.iter().map(|(name, value)| {
            let mut text = format!("{name}=").into_bytes();
            text.extend_from_slice(value.as_bytes());
            text_of(&text)
        });
        Ok(Self {
            program: program.into(),
            arguments: arguments.map(|word| text_of(word.as_bytes())).collect::<Result<_, _>>()?,
            folder: folder.into(),
            environment: variables.collect::<Result<_, _>>()?,
        })
    }

    /// A run of a command in the current folder.
    ///
    /// # Errors
    /// A usage error where its program is nowhere.
    pub(crate) fn of(words: &[String]) -> Result<Self, Unfit> {
        let program = seen_program(&words[0], None)?;
        let arguments: Vec<&OsStr> = words[1..].iter().map(OsStr::new).collect();
        Ok(Self::new(&program, &arguments, Path::new("."), &[])?)
    }
}

fn text_of(bytes: &[u8]) -> Result<CString, Fault> {
    CString::new(bytes)
        .map_err(|error| Fault::system(format!("hand over `{}`", String::from_utf8_lossy(bytes)), error))
}

pub(crate) struct Runner {
    launcher: Launcher,
    cpus: Vec<Cpu>,
}

impl Runner {
    /// One that has them on these CPUs.
    ///
    /// # Errors
    /// A fault where no process can be made.
    pub(crate) fn start(cpus: &[Cpu]) -> Result<Self, Fault> {
        Ok(Self { launcher: Launcher::start()?, cpus: cpus.to_vec() })
    }

    /// Runs a step to its end, which has to be a status of 0.
    ///
    /// # Errors
    /// A fault where it cannot be started, is interrupted or does not end; that it ended otherwise.
    pub(crate) fn run(&mut self, step: &Step) -> Result<Launched, Failure> {
        let launch = Launch {
            program: text_of(step.program.as_os_str().as_bytes())?,
            arguments: step.arguments.clone(),
            environment: step.environment.clone(),
            folder: Some(text_of(step.folder.as_os_str().as_bytes())?),
            cpus: self.cpus.clone(),
            first: None,
            input: None,
            output: Sink::Null,
            errors: Sink::HandOver,
            deadline: DEADLINE,
            leaves: false,
            small: false,
            counted: false,
        };
        let mut errors = Vec::new();
        let launched = self.launcher.run(&launch, true, &mut |_, part| {
            errors.extend_from_slice(part);
            // The last words are what is shown.
            let over = errors.len().saturating_sub(1 << 16);
            errors.drain(..over);
        })?;
        let name = step.program.file_name().unwrap_or_default().to_string_lossy();
        let ended = match launched.end {
            ProcessEnd::Exited(0) => return Ok(launched),
            ProcessEnd::Exited(status) => format!("ended with status {status}"),
            ProcessEnd::Signalled(number) | ProcessEnd::Stopped(number) => {
                format!("was ended by {}", ending::signal(number))
            }
            ProcessEnd::OutOfTime => {
                return Err(Failure::Machine(Fault::Overdue {
                    what: format!("`{name}`"),
                    deadline: DEADLINE,
                }));
            }
            ProcessEnd::Cancelled => {
                let error = std::io::Error::from(std::io::ErrorKind::Interrupted);
                return Err(Failure::Machine(Fault::system(format!("run `{name}` to its end"), error)));
            }
        };
        Err(Failure::Wrong(format!("`{name}` {ended}{}", ending::last_words(&errors))))
    }
}

/// A run as an epoch.
pub(crate) fn lap(run: &Launched) -> Lap {
    Lap { elapsed: run.elapsed, cpu: run.cpu, usage: run.usage, ..Lap::default() }
}

/// Epochs that follow each other, as one.
pub(crate) fn together(laps: &[Lap]) -> Lap {
    Lap {
        elapsed: Picoseconds(laps.iter().map(|lap| lap.elapsed.0).sum()),
        cpu: laps.first().map(|lap| lap.cpu).unwrap_or_default(),
        usage: laps.iter().fold(Usage::default(), |sum, lap| sum.plus(&lap.usage)),
        ..Lap::default()
    }
}

/// What a failure of a step makes of a check: work that came out wrong is seen, and a fault is one.
pub(crate) fn seen(outcome: Result<Seen, Failure>) -> Result<Seen, Fault> {
    match outcome {
        Ok(seen) => Ok(seen),
        Err(Failure::Wrong(wrong)) => Ok(Seen::Broken(wrong)),
        Err(Failure::Machine(fault)) => Err(fault),
    }
}

/// What a failure of a step makes of a cell that is being set up.
pub(crate) fn unfit(failure: Failure) -> Unfit {
    match failure {
        Failure::Machine(fault) => crate::shortage::unfit(fault),
        Failure::Wrong(wrong) => Unfit::Refused(tenbin_model::Refusal {
            reached: wrong,
            needs: "work that can be set up".into(),
            remedy: "see what the program says; --set folder=PATH names another folder to do it in".into(),
        }),
    }
}

/// Time of the epochs of each variant: what was spent in programs, in the kernel, and waiting.
#[derive(Debug, Default)]
pub(crate) struct Tally(Vec<(VariantIndex, u64, Lap)>);

impl Tally {
    pub(crate) fn count(&mut self, variant: VariantIndex, iterations: u64, lap: &Lap) {
        if !self.0.iter().any(|(known, ..)| *known == variant) {
            self.0.push((variant, 0, Lap::default()));
        }
        for (_, count, sum) in self.0.iter_mut().filter(|(known, ..)| *known == variant) {
            *count += iterations;
            sum.elapsed.0 += lap.elapsed.0;
            sum.usage = sum.usage.plus(&lap.usage);
        }
    }

    /// What the average one took, in a finding for each variant that was timed: `names` are theirs, `what` is
    /// what one is, and so many did it side by side.
    pub(crate) fn findings(&self, experiment: &str, what: &str, names: &[(&str, u64)]) -> Vec<Finding> {
        let finding = |(place, &(name, at_once)): (usize, &(&str, u64))| {
            let (_, count, sum) = self.0.iter().find(|(variant, ..)| variant.place() == place)?;
            let each = |time: u64| Picoseconds(time / (*count).max(1));
            let (user, system) = (each(sum.usage.user.0 / at_once), each(sum.usage.system.0 / at_once));
            let elapsed = each(sum.elapsed.0);
            let waiting = elapsed.saturating_sub(user).saturating_sub(system);
            let mut sentence = format!(
                "{what} takes {elapsed} by {name}: {user} in programs, {system} in the kernel, {waiting} waiting"
            );
            if at_once > 1 {
                let _ = write!(sentence, ", each of {at_once} jobs by its share");
            }
            Some(Finding {
                experiment: experiment.into(),
                sentence: sentence + ".",
                evidence: format!("average of {count}, in the first part of the run"),
                confidence: "wall, user and system time as the kernel charged them; the rest is waiting"
                    .into(),
            })
        };
        names.iter().enumerate().filter_map(finding).collect()
    }
}

/// Sets a cell up once for all stretches in which it is measured: what its work is done on takes long to
/// make.
pub(crate) fn once<A: Apparatus + 'static>(
    make: impl Fn(&Arrangement, &Request<'_>) -> Result<A, Unfit> + 'static,
) -> impl Fn(&Arrangement, &Request<'_>) -> Opened + 'static {
    let kept: RefCell<Option<Rc<RefCell<A>>>> = RefCell::new(None);
    move |arrangement, request| {
        let mut kept = kept.borrow_mut();
        let there = match &*kept {
            Some(there) => Rc::clone(there),
            None => Rc::clone(kept.insert(Rc::new(RefCell::new(make(arrangement, request)?)))),
        };
        Ok(Box::new(Shared(there)))
    }
}
