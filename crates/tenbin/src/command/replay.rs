//! `tenbin boot replay`: runs that `boot check` found, in an emulator.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tenbin_boot::image::Image;
use tenbin_boot::{Boot, BootCheck, BootReplay, Counterexample, ReplayOutcome, Replayed, sha256, view};
use tenbin_reach as reach;

use super::json;
use crate::arguments;
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::{self, Progress};

/// Bytes that an answer may have.
const LARGEST: u64 = 1 << 28;

/// Replays every run of an answer that is asked for.
///
/// # Errors
/// A usage error where the answer or an executable cannot be read; missing, where the emulator is; internal,
/// where it does not work.
pub(super) fn replay(asked: &arguments::Replay) -> Result<Answer, Trouble> {
    let boot = answer(&asked.answer)?;
    let runs = boot.runs(asked.fault);
    let mut remarks = Vec::new();
    let files = executables(&boot, &runs, asked, &mut remarks)?;
    let progress = Progress::new();
    let mut replays = Vec::new();
    let mut emulator = None;
    for (done, (check, run)) in runs.iter().enumerate() {
        let times = asked.times as usize;
        let mut each = |time: u32| progress.replays(done * times + time as usize, runs.len() * times);
        let replayed = replayed(check, run, &files[done], asked.times, &mut emulator, &mut each);
        if replayed.is_err() {
            progress.finish();
        }
        replays.push(replayed?);
    }
    progress.finish();
    let answer = BootReplay { schema: BootReplay::SCHEMA.into(), emulator, times: asked.times, replays };
    let has = |what: fn(&ReplayOutcome) -> bool| answer.replays.iter().any(|it| what(&it.outcome));
    let exit = if has(|it| matches!(it, ReplayOutcome::Departed { .. })) {
        Exit::Fault
    } else if has(|it| matches!(it, ReplayOutcome::Shown(_))) {
        Exit::Answered
    } else {
        Exit::Refused
    };
    if answer.replays.is_empty() {
        remarks.push(boot.nothing_to_replay(asked.fault));
    }
    let remarks = remarks.iter().map(|remark| format!("tenbin: {remark}")).collect::<Vec<_>>();
    let remark = (!remarks.is_empty()).then(|| remarks.join("\n"));
    let text = if asked.form.json { json(&answer)? } else { view::replay(&answer, terminal::width()) };
    Ok(Answer { text, to: None, remark, exit })
}

/// An executable that was read.
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
    asked: &arguments::Replay,
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
                    let remedy = if asked.elf.is_none() { "; where it is now is said by --elf" } else { "" };
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
            "whether {} is the executable that was checked is not known: the answer is of a tenbin that kept no hash of it",
            files[0].path.display()
        ));
    }
    Ok(files)
}

/// What `boot check` answered.
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
    let (version, outcome) = replay.play(each).map_err(super::guest::trouble)?;
    if let Some(version) = version {
        emulator.get_or_insert(version);
    }
    let (file, machine) = (path.display().to_string(), check.machine.clone());
    Ok(Replayed { file, machine, fault: run.fault, steps: run.steps.len(), outcome })
}
