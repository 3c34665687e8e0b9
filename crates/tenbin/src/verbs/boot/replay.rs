//! `tenbin boot replay`: runs that `boot check` found, in an emulator.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use clap::Args;
use tenbin_boot::image::Image;
use tenbin_boot::{
    Boot, BootCheck, BootReplay, Counterexample, Fault, ReplayOutcome, Replayed, sha256, view,
};
use tenbin_model::words::comma;
use tenbin_reach as reach;

use crate::output::{Answer, Exit, Trouble, prefixed};
use crate::terminal::Progress;
use crate::verbs::{Form, Schema, Verb, Work};

/// Have QEMU do what `boot check` found, step by step
///
/// Follows every run that ends in a fault: the same file in QEMU, its harts stepped through a debugger's
/// port in the run's order, every access compared. After a hang all harts run freely for a while, and
/// still do not all arrive.
#[derive(Args)]
#[command(after_help = STATUS)]
pub struct Replay {
    /// What `tenbin boot check --json` printed
    #[arg(value_name = "ANSWER.json")]
    answer: PathBuf,
    /// How often each run is followed
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    times: u32,
    /// Only runs that end so: dead, livelock, started-early, started-twice, shared-stack, stale, astray; or
    /// lost-store, which is no fault
    #[arg(long, value_name = "FAULT", value_parser = fault)]
    fault: Option<Fault>,
    /// The executable, if it is no longer where the answer says
    #[arg(long, value_name = "FILE")]
    elf: Option<PathBuf>,
    #[command(flatten)]
    form: Form,
}

const STATUS: &str = "\
Exit status: 0 every run that can be replayed was shown; 2 the answer or an executable cannot be
read; 3 no run can be replayed; 4 the emulator departed from a run: then tenbin or it was wrong;
5 QEMU is missing.";

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<BootReplay>("replay", "How runs went in an emulator: `boot replay`")],
    ..Verb::of::<Replay>("replay")
};

fn fault(text: &str) -> Result<Fault, String> {
    let named = |fault: &Fault| fault.name().replace(' ', "-");
    let fault = Fault::ALL.into_iter().find(|fault| named(fault) == text.replace('_', "-"));
    fault.ok_or_else(|| format!("it is one of {}", comma(Fault::ALL.iter().map(named))))
}

const LARGEST: u64 = 1 << 28;

impl Work for Replay {
    fn run(self) -> Result<Answer, Trouble> {
        let boot = answer(&self.answer)?;
        let runs = boot.runs(self.fault);
        let mut remarks = Vec::new();
        let files = executables(&boot, &runs, &self, &mut remarks)?;
        let progress = Progress::new();
        let mut replays = Vec::new();
        let mut emulator = None;
        for (done, (check, run)) in runs.iter().enumerate() {
            let times = self.times as usize;
            let mut each = |time: u32| progress.replays(done * times + time as usize, runs.len() * times);
            let replayed = replayed(check, run, &files[done], self.times, &mut emulator, &mut each);
            if replayed.is_err() {
                progress.finish();
            }
            replays.push(replayed?);
        }
        progress.finish();
        let answer = BootReplay { schema: BootReplay::SCHEMA.into(), emulator, times: self.times, replays };
        let has = |what: fn(&ReplayOutcome) -> bool| answer.replays.iter().any(|it| what(&it.outcome));
        let exit = if has(|it| matches!(it, ReplayOutcome::Departed { .. })) {
            Exit::Fault
        } else if has(|it| matches!(it, ReplayOutcome::Shown(_))) {
            Exit::Answered
        } else {
            Exit::Refused
        };
        if answer.replays.is_empty() {
            remarks.push(boot.nothing_to_replay(self.fault));
        }
        let text = self.form.text(&answer, view::replay)?;
        Ok(Answer { remarks: prefixed(&remarks), exit, ..Answer::text(text) })
    }
}

struct Executable {
    path: PathBuf,
    image: Image,
}

/// The executable of each run, in their order, each read once. Whether it is the one that was checked is seen
/// before any is replayed.
///
/// # Errors
/// A usage error where one cannot be read, or is another than was checked.
fn executables(
    boot: &Boot,
    runs: &[(&BootCheck, &Counterexample)],
    asked: &Replay,
    remarks: &mut Vec<String>,
) -> Result<Vec<Rc<Executable>>, Trouble> {
    let mut read: Vec<(Rc<Executable>, String)> = Vec::new();
    let mut files = Vec::new();
    for (check, _) in runs {
        let path = asked.elf.clone().unwrap_or_else(|| PathBuf::from(&check.file));
        let known = read.iter().find(|(it, _)| it.path == path).cloned();
        let (executable, hash) = match known {
            Some(known) => known,
            None => {
                let wrong = |reason: &dyn std::fmt::Display| {
                    let remedy = if asked.elf.is_none() { "; say where it is now with --elf" } else { "" };
                    Trouble::usage(format!("{}: {reason}{remedy}", path.display()))
                };
                let bytes = fs::read(&path).map_err(|error| wrong(&error))?;
                let image = Image::read(&bytes).map_err(|error| wrong(&error))?;
                read.push((Rc::new(Executable { path: path.clone(), image }), sha256(&bytes)));
                read[read.len() - 1].clone()
            }
        };
        match &check.sha256 {
            Some(checked) if *checked != hash => {
                return Err(Trouble::usage(format!(
                    "{}: it is not the executable that was checked: its SHA-256 is {hash}, and that of {} was {checked}; name that one \
                     with --elf, or check this one and replay the new answer",
                    path.display(),
                    check.file
                )));
            }
            _ => {}
        }
        files.push(executable);
    }
    if boot.checks.iter().any(|check| check.sha256.is_none()) && !files.is_empty() {
        remarks.push(format!(
            "whether {} is the executable that was checked is not known: the answer is from a tenbin that kept no hash of it",
            files[0].path.display()
        ));
    }
    Ok(files)
}

fn answer(path: &Path) -> Result<Boot, Trouble> {
    let trouble =
        |reason: &dyn std::fmt::Display| Trouble::usage(format!("read {}: {reason}", path.display()));
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    read.map_err(|error: io::Error| trouble(&error))?;
    if bytes.len() as u64 > LARGEST {
        return Err(trouble(&format!("it has more than {LARGEST} bytes")));
    }
    let boot = serde_json::from_slice::<Boot>(&bytes)
        .map_err(|error| trouble(&format!("not what `tenbin boot check --json` prints: {error}")))?;
    if boot.schema != Boot::SCHEMA {
        return Err(trouble(&format!("its schema is {}, and {} is read here", boot.schema, Boot::SCHEMA)));
    }
    Ok(boot)
}

/// One run, as often as is asked.
fn replayed(
    check: &BootCheck,
    run: &Counterexample,
    executable: &Executable,
    times: u32,
    emulator: &mut Option<String>,
    each: &mut dyn FnMut(u32),
) -> Result<Replayed, Trouble> {
    let Executable { path, image } = executable;
    let replay = reach::Replay { elf: path, image, check, run, times };
    let (version, outcome) = replay.play(each)?;
    if let Some(version) = version {
        emulator.get_or_insert(version);
    }
    let (file, machine) = (path.display().to_string(), check.machine.clone());
    Ok(Replayed { file, machine, fault: run.fault, steps: run.steps.len(), outcome })
}
