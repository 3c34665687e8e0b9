//! `tenbin boot replay`: runs that `boot check` found, in an emulator.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tenbin_analysis::report;
use tenbin_model::{
    Boot, BootCheck, BootFault, BootReplay, BootVerdict, Counterexample, FreeRun, Hex, ReplayOutcome,
    Replayed, ReplayedHart, Shown,
};
use tenbin_proof::image::Image;
use tenbin_proof::isa::Instruction;
use tenbin_reach::{self as reach, Code, CodeKind};

use super::check::{name_of, sha256};
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
    let mut runs = Vec::new();
    for check in &boot.checks {
        for run in runs_of(check, asked.fault) {
            runs.push((check, run));
        }
    }
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
        remarks.push(nothing_to_replay(&boot, asked.fault));
    }
    let remarks = remarks.iter().map(|remark| format!("tenbin: {remark}")).collect::<Vec<_>>();
    let remark = (!remarks.is_empty()).then(|| remarks.join("\n"));
    let text = if asked.form.json { json(&answer)? } else { report::replay(&answer, terminal::width()) };
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

/// Why an answer has no run to replay.
fn nothing_to_replay(boot: &Boot, fault: Option<BootFault>) -> String {
    let mut has: Vec<&str> = boot.checks.iter().flat_map(every_run).map(|run| run.fault.name()).collect();
    has.sort_unstable();
    has.dedup();
    let is_sound = |check: &BootCheck| matches!(check.verdict, BootVerdict::Sound { .. });
    match (fault, has.as_slice()) {
        (Some(fault), [_, ..]) => {
            format!("the answer has no run of the kind `{}`; it has: {}", fault.name(), has.join(", "))
        }
        _ if boot.checks.iter().all(is_sound) => {
            "nothing goes wrong on any machine of the answer, so there is no run to replay".into()
        }
        _ => "the answer has no run to replay: what is not sound in it was refused".into(),
    }
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

/// The runs of one machine: its faults, or only those of one kind, which may be a remark.
fn runs_of(check: &BootCheck, fault: Option<BootFault>) -> Vec<&Counterexample> {
    match (fault, &check.verdict) {
        (Some(fault), _) => every_run(check).filter(|run| run.fault == fault).collect(),
        (None, BootVerdict::Faulty { faults, .. }) => faults.iter().collect(),
        (None, BootVerdict::Sound { .. } | BootVerdict::Refused { .. }) => Vec::new(),
    }
}

/// The faults of one machine, and then the remarks.
fn every_run(check: &BootCheck) -> impl Iterator<Item = &Counterexample> {
    let (faults, remarks) = match &check.verdict {
        BootVerdict::Sound { remarks, .. } => ([].as_slice(), remarks.as_slice()),
        BootVerdict::Faulty { faults, remarks, .. } => (faults.as_slice(), remarks.as_slice()),
        BootVerdict::Refused { .. } => ([].as_slice(), [].as_slice()),
    };
    faults.iter().chain(remarks)
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
    let Executable { path: file, image } = executable;
    let goals = check.goals.iter().map(|goal| goal.0).collect::<Vec<_>>();
    let code = |pc| code(image, pc);
    let replay = reach::Replay {
        elf: file,
        entry: image.entry,
        registers: tenbin_proof::boot::UNSET,
        code: &code,
        harts: check.machine.harts,
        set: &check.machine.set,
        run,
        goals: &goals,
        times,
    };
    let outcome = match replay.play(each).map_err(super::guest::trouble)? {
        reach::ReplayOutcome::Shown(followed) => {
            emulator.get_or_insert_with(|| format!("QEMU {}", number(&followed.emulator)));
            ReplayOutcome::Shown(shown(check, run, image, times, followed))
        }
        reach::ReplayOutcome::Departed { shown, step, why } => ReplayOutcome::Departed { shown, step, why },
        reach::ReplayOutcome::NotReplayable(why) => ReplayOutcome::NotReplayable { why },
    };
    let (file, machine) = (file.display().to_string(), check.machine.clone());
    Ok(Replayed { file, machine, fault: run.fault, steps: run.steps.len(), outcome })
}

/// The number at the beginning of a version; QEMU says that of its package behind it, without a space.
fn number(version: &str) -> &str {
    let end = version.find(|each: char| !each.is_ascii_digit() && each != '.');
    end.map_or(version, |end| &version[..end])
}

/// What was shown, in the nouns of answers.
fn shown(
    check: &BootCheck,
    run: &Counterexample,
    image: &Image,
    times: u32,
    followed: reach::Followed,
) -> Shown {
    let hart = |left: reach::Left| ReplayedHart {
        pc: Hex(left.pc),
        place: name_of(image, left.pc),
        sp: Hex(left.sp),
        a1: Hex(left.a1),
        arrived: left.arrived,
    };
    let free = |free: reach::Free| FreeRun {
        seconds: free.piece.as_secs_f64(),
        pieces: free.pieces,
        harts: free.harts,
    };
    Shown {
        times,
        instructions: followed.instructions,
        planted: check.machine.set.iter().chain(&run.garbage).cloned().collect(),
        out_of_order: followed.out_of_order,
        passed_over: followed.passed_over,
        harts: followed.harts.into_iter().map(hart).collect(),
        free: followed.free.map(free),
        rounds: followed.rounds,
    }
}

/// What a follower must know of the instruction at an address.
fn code(image: &Image, pc: u64) -> Option<Code> {
    let decoded = image.fetch(pc).ok()?;
    let kind = match decoded.instruction {
        Instruction::Load { signed, rd, base, offset, .. } => {
            CodeKind::Load { target: rd.number(), base: base.number(), offset, signed }
        }
        Instruction::LoadReserved { rd, address, .. } => {
            CodeKind::Load { target: rd.number(), base: address.number(), offset: 0, signed: true }
        }
        Instruction::Store { source, base, offset, .. } => {
            CodeKind::Store { source: source.number(), base: base.number(), offset }
        }
        Instruction::StoreConditional { rd, source, address, .. } => {
            CodeKind::Conditional { target: rd.number(), source: source.number(), base: address.number() }
        }
        Instruction::Amo { rd, address, .. } => {
            CodeKind::Swap { target: rd.number(), base: address.number() }
        }
        Instruction::Wfi => CodeKind::Wait,
        _ => CodeKind::Plain,
    };
    Some(Code { length: decoded.length, kind })
}
