//! `tenbin boot check`: whether every hart of a machine always boots.

#![expect(clippy::disallowed_methods, reason = "the running time of budgets")]

mod answer;
mod names;
mod question;
mod sentence;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

use tenbin_analysis::report;
use tenbin_metal::interrupt;
use tenbin_model::boot::{Boot, BootCheck, BootPlace, BootVerdict, Counterexample, Hex};
use tenbin_proof::boot::{Effort, Fault, Limits, Question, Refused, Report, check as examine, control};

use self::names::Names;
pub(super) use self::names::name_of;
pub(super) use self::question::sha256;
use self::question::{Firmware, Job};
use self::sentence::Story;
use super::json;
use crate::arguments::{Check, LEAST};
use crate::output::{Answer, Exit, Trouble, can_be_written, write_whole};
use crate::terminal::{self, Progress};

/// Why a machine that a signal interrupted has no verdict.
const INTERRUPTED: &str = "tenbin was interrupted before it was examined to the end";

/// What came of a job, and how many seconds it took.
type Examined = (Result<Report, Refused>, f64);

/// Examines every file on every machine that is asked about, as many at a time as there are CPUs.
///
/// # Errors
/// A usage error where a file cannot be examined: then none is.
pub(super) fn check(asked: &Check) -> Result<Answer, Trouble> {
    if let Some(path) = &asked.picture {
        can_be_written(path)?;
    }
    let read = |path| Firmware::read(path, asked);
    let firmware = asked.files.iter().map(|path| read(path)).collect::<Result<Vec<_>, _>>()?;
    interrupt::listen().map_err(|fault| Trouble::internal(fault.to_string()))?;
    let mut jobs = Vec::new();
    for each in &firmware {
        jobs.extend(each.jobs(asked)?);
    }
    let examined = all(&jobs, asked);
    let checks = jobs.iter().zip(examined).map(|(job, examined)| answered(job, examined, asked)).collect();
    let answer = Boot { schema: Boot::SCHEMA.into(), checks };
    let mut remarks = Vec::new();
    if let Some(path) = &asked.picture {
        match worst(&answer) {
            Some((check, run)) => {
                let picture = report::boot_picture(check, run);
                write_whole(path, |out| std::io::Write::write_all(out, picture.as_bytes()))?;
            }
            None => remarks.push(format!("nothing goes wrong, so {} is not written", path.display())),
        }
    }
    let exit = interrupt::requested().map_or(exit(&answer), Exit::Interrupted);
    // Why the only machine was refused is the answer's first sentence already.
    remarks.extend(unanswered(&answer).filter(|_| asked.form.json || answer.checks.len() > 1));
    let remark = remarks.into_iter().map(|message| Trouble { exit, message }.to_string()).collect::<Vec<_>>();
    let text = if asked.form.json { json(&answer)? } else { report::boot(&answer, terminal::width()) };
    Ok(Answer { text, to: None, remark: (!remark.is_empty()).then(|| remark.join("\n")), exit })
}

fn exit(answer: &Boot) -> Exit {
    let any = |kind: fn(&BootVerdict) -> bool| answer.checks.iter().any(|check| kind(&check.verdict));
    if any(|it| matches!(it, BootVerdict::Faulty { .. })) {
        Exit::Fault
    } else if any(|it| matches!(it, BootVerdict::Refused { .. } | BootVerdict::Sound { partly: true, .. })) {
        Exit::Refused
    } else {
        Exit::Answered
    }
}

/// The first run that goes wrong.
fn worst(answer: &Boot) -> Option<(&BootCheck, &Counterexample)> {
    answer.checks.iter().find_map(|check| match &check.verdict {
        BootVerdict::Faulty { faults, .. } => faults.first().map(|run| (check, run)),
        _ => None,
    })
}

/// Why the one machine has no verdict; of several, how many have none.
fn unanswered(answer: &Boot) -> Option<String> {
    let refused = answer.checks.iter().filter_map(|check| match &check.verdict {
        BootVerdict::Refused { why } => Some((check, why)),
        _ => None,
    });
    match (refused.collect::<Vec<_>>().as_slice(), answer.checks.len()) {
        ([], _) => None,
        ([(check, why)], 1) => Some(format!("{}: refused: {why}", check.file)),
        (refused, all) => Some(format!("{} of {all} machines were refused", refused.len())),
    }
}

/// Examines all of them, and keeps their order. First as many at a time as there are CPUs, each with its share of the memory; then,
/// alone and with all of it, those that a share was too little for. So what is refused does not depend on how many CPUs there are.
fn all(jobs: &[Job<'_>], asked: &Check) -> Vec<Examined> {
    let shares = usize::try_from(asked.limit.0 / LEAST).unwrap_or(usize::MAX);
    let workers = thread::available_parallelism().map_or(1, usize::from).min(jobs.len()).min(shares).max(1);
    let progress = Progress::new();
    let share = asked.limit.0 / workers as u64;
    let mut settled = at_once(jobs, workers, share, asked, &progress);
    let more =
        |(_, (result, _)): &(&usize, &Examined)| workers > 1 && matches!(result, Err(Refused::Memory(_)));
    let again = settled.iter().filter(more).map(|(&index, _)| index).collect::<Vec<_>>();
    for index in again {
        let told = |states| progress.boots(index, jobs.len(), states);
        settled.insert(index, one(&jobs[index], asked.limit.0, asked.seconds, &told));
    }
    progress.finish();
    settled.into_values().collect()
}

fn at_once(
    jobs: &[Job<'_>],
    workers: usize,
    bytes: u64,
    asked: &Check,
    progress: &Progress,
) -> BTreeMap<usize, Examined> {
    let settled = Mutex::new(BTreeMap::new());
    let open = Mutex::new(jobs.iter().enumerate());
    let next = || open.lock().ok()?.next();
    let done = || settled.lock().map_or(0, |settled| settled.len());
    let work = || {
        while let Some((index, job)) = next() {
            let told = |states| progress.boots(done(), jobs.len(), states);
            let examined = one(job, bytes, asked.seconds, &told);
            if let Ok(mut settled) = settled.lock() {
                settled.insert(index, examined);
            }
        }
    };
    thread::scope(|scope| {
        // Where no other thread can be started, this one does it all.
        let started = (1..workers).map(|_| thread::Builder::new().spawn_scoped(scope, work));
        started.for_each(drop);
        work();
    });
    settled.into_inner().unwrap_or_default()
}

/// Examines one machine. `told` hears now and then how many states there are.
fn one(job: &Job<'_>, bytes: u64, seconds: u64, told: &(dyn Fn(u64) + Sync)) -> Examined {
    let image = job.image();
    let question = Question {
        image: &image,
        harts: job.machine.harts,
        memory: job.memory,
        window: job.machine.window,
        landmarks: job.firmware.landmarks.clone(),
        expected: job.firmware.expected.clone(),
        controls: job
            .machine
            .controls
            .iter()
            .filter_map(|it| Some((control(&it.name)?, it.value.0)))
            .collect(),
    };
    let begun = Instant::now();
    let stop = |states| {
        told(states);
        begun.elapsed() >= Duration::from_secs(seconds) || interrupt::requested().is_some()
    };
    let result = examine(&question, Limits { bytes, stop: Some(&stop) });
    (result, begun.elapsed().as_secs_f64())
}

/// What came of a job, as it is told.
fn answered(job: &Job<'_>, (result, seconds): Examined, asked: &Check) -> BootCheck {
    let names = job.firmware.names();
    let (verdict, cost) = match &result {
        Ok(report) => {
            let told = report.findings.iter().map(|finding| {
                let story = Story { names, expected: &job.firmware.expected, finding };
                (finding.fault, answer::counterexample(&story))
            });
            let (remarks, faults): (Vec<_>, Vec<_>) = told.partition(|(fault, _)| *fault == Fault::LostStore);
            let runs = |told: Vec<_>| told.into_iter().map(|(_, run)| run).collect::<Vec<_>>();
            let verdict = if faults.is_empty() {
                BootVerdict::Sound {
                    window_full: report.window_full,
                    partly: report.partly,
                    held: places(names, &report.held),
                    remarks: runs(remarks),
                }
            } else {
                BootVerdict::Faulty { faults: runs(faults), whole: report.whole, remarks: runs(remarks) }
            };
            (verdict, report.effort)
        }
        Err(refused) => {
            let interrupted = matches!(refused, Refused::Stopped(_)) && interrupt::requested().is_some();
            let why = if interrupted {
                INTERRUPTED.into()
            } else {
                sentence::refusal(names, refused, &job.machine, job.memory, asked.seconds)
            };
            let cost = match refused {
                Refused::Memory(effort) | Refused::Stopped(effort) => *effort,
                Refused::Fetch(_)
                | Refused::Unsupported { .. }
                | Refused::Overwritten { .. }
                | Refused::TooLong { .. }
                | Refused::Mixed { .. }
                | Refused::Unset { .. }
                | Refused::UnsetControl { .. } => Effort::default(),
            };
            (BootVerdict::Refused { why }, cost)
        }
    };
    BootCheck {
        file: job.firmware.file.clone(),
        sha256: job.firmware.sha256.clone(),
        machine: job.machine.clone(),
        goals: answer::goals(&job.firmware.landmarks),
        verdict,
        retries: result.map_or_else(|_| Vec::new(), |report| places(names, &report.retries)),
        effort: answer::effort(cost, seconds),
    }
}

/// Places in the code, as they are told.
fn places(names: Names<'_>, pcs: &[u64]) -> Vec<BootPlace> {
    let place = |&pc: &u64| BootPlace {
        pc: Hex(pc),
        place: names.place(pc),
        instruction: names
            .image
            .fetch(pc)
            .map_or_else(|_| String::new(), |it| it.instruction.at(pc).to_string()),
    };
    pcs.iter().map(place).collect()
}
