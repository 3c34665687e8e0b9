//! Examines firmware on machines, and tells what comes of it.

use std::collections::BTreeSet;

use tenbin_model::order;

use crate::answer::{
    Boot, BootCheck, BootStep, BootVerdict, Counterexample, Effort, Fault, HartEnd, Hex, NamedValue,
};
use crate::check::{
    BootQuestion, CheckLimits, Doing, End, Finding, Landmarks, Milestone, Refused, Report, Step, Trace, check,
};
use crate::names::{Names, unset};
use crate::operational::control;
use crate::pool::{self, Means, Turn};
use crate::sentence::{Story, doing, refusal};
use crate::symbols::Job;

const INTERRUPTED: &str = "tenbin was interrupted before the examination ended";

/// What comes of a job, and how many seconds it takes.
type Examined = (Result<Report, Refused>, f64);

/// Examines every file on every machine, as many at a time as `means` has workers.
pub fn examine(jobs: &[Job<'_>], means: &Means<'_>) -> Boot {
    let one = |job: &Job<'_>, turn: &Turn<'_>| one(job, turn, jobs.len(), means);
    let needs_more = |(result, _): &Examined| matches!(result, Err(Refused::Memory(_)));
    let examined = pool::all(jobs, means, one, needs_more);
    let checks = jobs.iter().zip(examined).map(|(job, examined)| answer(job, examined, means)).collect();
    Boot { schema: Boot::SCHEMA.into(), checks }
}

fn one(job: &Job<'_>, turn: &Turn<'_>, all: usize, means: &Means<'_>) -> Examined {
    let controls = job.machine.controls.iter();
    let question = BootQuestion {
        image: &job.image(),
        harts: job.machine.harts,
        memory: job.machine.memory,
        window: job.machine.window,
        landmarks: job.firmware.landmarks.clone(),
        expected: job.firmware.expected.clone(),
        controls: order::map(controls.filter_map(|it| Some((control::given(&it.name)?, it.value.0)))),
    };
    let time = means.timer();
    let stop = |states| {
        (means.progress)((turn.answered)(), all, states);
        means.is_over(time())
    };
    let result = check(&question, CheckLimits { bytes: turn.bytes, stop: Some(&stop) });
    (result, time().as_secs_f64())
}

pub(crate) fn answer(job: &Job<'_>, (result, seconds): Examined, means: &Means<'_>) -> BootCheck {
    let names = job.firmware.names();
    let (verdict, retries, effort) = match result {
        Ok(report) => {
            let story = |finding| Story { names, expected: &job.firmware.expected, finding };
            let runs = report.findings.iter().map(|finding| counterexample(&story(finding)));
            let (remarks, faults): (Vec<_>, Vec<_>) = runs.partition(|run| run.fault == Fault::LostStore);
            let verdict = if faults.is_empty() {
                let Report { window_full, partly, .. } = report;
                BootVerdict::Sound { window_full, partly, held: names.places(&report.held), remarks }
            } else {
                BootVerdict::Faulty { faults, whole: report.whole, remarks }
            };
            (verdict, names.places(&report.retries), report.effort)
        }
        Err(refused) => {
            let interrupted = matches!(refused, Refused::Stopped(_)) && (means.interrupted)();
            let why = match interrupted {
                true => INTERRUPTED.into(),
                false => refusal(names, &refused, &job.machine, means.seconds),
            };
            let effort = match refused {
                Refused::Memory(effort) | Refused::Stopped(effort) => effort,
                _ => Effort::default(),
            };
            (BootVerdict::Refused { why }, Vec::new(), effort)
        }
    };
    BootCheck {
        file: job.firmware.file.clone(),
        sha256: job.firmware.sha256.clone(),
        machine: job.machine.clone(),
        goals: goals(&job.firmware.landmarks),
        verdict,
        retries,
        effort: Effort { seconds, ..effort },
    }
}

fn goals(landmarks: &Landmarks) -> Vec<Hex> {
    let goals: BTreeSet<u64> = order::set(landmarks.arrived.iter().chain(&landmarks.all_arrived).copied());
    goals.into_iter().map(Hex).collect()
}

pub(crate) fn counterexample(story: &Story<'_>) -> Counterexample {
    let Story { names, finding, .. } = *story;
    let trace = &finding.trace;
    Counterexample {
        fault: finding.fault,
        sentence: story.sentence(),
        garbage: trace.garbage.clone(),
        steps: trace.steps.iter().map(|it| step(names, it)).collect(),
        repeats_from: trace.repeats_from,
        ends: trace.ends.iter().map(|it| end(names, finding, it)).collect(),
        reordered: trace.steps.iter().any(|step| step.overtakes > 0),
        values: values(names, trace),
    }
}

/// The names of the values in a run that are addresses.
fn values(names: Names<'_>, trace: &Trace) -> Vec<NamedValue> {
    let accesses = trace.steps.iter().filter_map(|step| step.action.access());
    let values = accesses.filter_map(|access| access.written.or(access.read.map(|(value, _)| value)));
    let is_named = |value: &Hex| names.image.name_of(value.0).is_some() || unset(value.0).is_some();
    let values: BTreeSet<Hex> = order::set(values.filter(is_named));
    values.into_iter().map(|value| NamedValue { value, name: names.value(8, value.0) }).collect()
}

fn step(names: Names<'_>, step: &Step) -> BootStep {
    BootStep {
        hart: step.hart,
        pc: Hex(step.pc),
        place: names.of(step.pc),
        source: names.source(step.pc),
        instruction: step.decoded.instruction.at(step.pc).to_string(),
        action: step.action.clone(),
        overtakes: step.overtakes,
        events: step.events.iter().map(|&it| event(step.hart, it)).collect(),
    }
}

fn event(hart: u32, event: Milestone) -> String {
    match event {
        Milestone::Primary => format!("hart {hart} boots"),
        Milestone::Cleared => ".bss is clear".to_owned(),
        Milestone::Notified(other) => format!("hart {other} is told"),
        Milestone::NotifiedAll => "all harts are told".to_owned(),
        Milestone::Started => format!("hart {hart} starts"),
        Milestone::Arrived => format!("hart {hart} has arrived"),
        Milestone::AllArrived => format!("hart {hart} has started all others"),
    }
}

fn end(names: Names<'_>, finding: &Finding, end: &End) -> HartEnd {
    HartEnd {
        pc: Hex(end.pc),
        place: names.of(end.pc),
        arrived: end.doing == Doing::Arrived,
        astray: end.doing == Doing::Astray,
        doing: doing(names, finding.fault, end),
    }
}
