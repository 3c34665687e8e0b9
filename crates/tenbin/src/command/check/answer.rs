//! What was found, in the nouns of answers.

use std::collections::BTreeSet;

use tenbin_boot::check::{Action, Doing, Effort, End, Event, Fault, Finding, Landmarks, Step, Trace, Writer};
use tenbin_model::boot::{
    self as nouns, BootAction, BootEffort, BootStep, Counterexample, HartEnd, Hex, NamedValue,
};

use super::names::{Names, narrow, unset};
use super::sentence::{Story, doing};

/// The noun for a kind of fault.
pub(super) fn fault(fault: Fault) -> nouns::BootFault {
    match fault {
        Fault::Dead => nouns::BootFault::Dead,
        Fault::Livelock => nouns::BootFault::Livelock,
        Fault::StartedEarly => nouns::BootFault::StartedEarly,
        Fault::StartedTwice => nouns::BootFault::StartedTwice,
        Fault::SharedStack => nouns::BootFault::SharedStack,
        Fault::Stale => nouns::BootFault::Stale,
        Fault::Astray => nouns::BootFault::Astray,
        Fault::LostStore => nouns::BootFault::LostStore,
    }
}

/// Where a hart has arrived, whichever it is.
pub(super) fn goals(landmarks: &Landmarks) -> Vec<Hex> {
    let goals: BTreeSet<u64> = landmarks.arrived.iter().chain(&landmarks.all_arrived).copied().collect();
    goals.into_iter().map(Hex).collect()
}

/// What an examination cost.
pub(super) fn effort(effort: Effort, seconds: f64) -> BootEffort {
    let Effort { states, transitions, bytes } = effort;
    BootEffort { states, transitions, bytes, seconds }
}

/// A run that shows a fault.
pub(super) fn counterexample(story: &Story<'_>) -> Counterexample {
    let Story { names, finding, .. } = story;
    let trace = &finding.trace;
    Counterexample {
        fault: fault(finding.fault),
        sentence: story.sentence(),
        garbage: trace.garbage.iter().map(|it| names.planted(it.address, it.bytes, it.value)).collect(),
        steps: trace.steps.iter().map(|it| step(*names, it)).collect(),
        repeats_from: trace.repeats_from,
        ends: trace.ends.iter().map(|it| end(*names, finding, it)).collect(),
        reordered: trace.steps.iter().any(|step| step.overtakes > 0),
        values: values(*names, trace),
    }
}

/// The names of the values in a run that are addresses.
fn values(names: Names<'_>, trace: &Trace) -> Vec<NamedValue> {
    let seen = trace.steps.iter().filter_map(|step| match step.action {
        Action::Read { value, .. } | Action::Wrote { value, .. } | Action::Swapped { value, .. } => {
            Some(value)
        }
        Action::Failed | Action::Woke { .. } => None,
    });
    let is_named = |&value: &u64| names.image.name_of(value).is_some() || unset(value).is_some();
    let seen: BTreeSet<u64> = seen.filter(is_named).collect();
    seen.into_iter().map(|value| NamedValue { value: Hex(value), name: names.value(8, value) }).collect()
}

fn step(names: Names<'_>, step: &Step) -> BootStep {
    BootStep {
        hart: step.hart,
        pc: Hex(step.pc),
        place: names.of(step.pc),
        source: names.source(step.pc),
        instruction: step.decoded.instruction.at(step.pc).to_string(),
        action: action(names, step.action),
        overtakes: step.overtakes,
        events: step.events.iter().map(|&it| event(step.hart, it)).collect(),
    }
}

fn action(names: Names<'_>, action: Action) -> BootAction {
    match action {
        Action::Read { address, bytes, value, from } => BootAction::Read {
            address: Hex(address),
            name: names.of(address),
            bytes: narrow(bytes),
            value: Hex(value),
            from: writer(from),
        },
        Action::Wrote { address, bytes, value } => BootAction::Wrote {
            address: Hex(address),
            name: names.of(address),
            bytes: narrow(bytes),
            value: Hex(value),
        },
        Action::Swapped { address, bytes, read, value, from } => BootAction::Swapped {
            address: Hex(address),
            name: names.of(address),
            bytes: narrow(bytes),
            read: read.map(Hex),
            value: Hex(value),
            from: writer(from),
        },
        Action::Failed => BootAction::Failed,
        Action::Woke { called } => BootAction::Woke { called },
    }
}

fn writer(writer: Writer) -> nouns::Writer {
    match writer {
        Writer::File => nouns::Writer::File,
        Writer::Garbage => nouns::Writer::Garbage,
        Writer::Step(step) => nouns::Writer::Step(step),
        Writer::Forwarded => nouns::Writer::Forwarded,
    }
}

fn event(hart: u32, event: Event) -> String {
    match event {
        Event::Primary => format!("hart {hart} boots"),
        Event::Cleared => ".bss is clear".to_owned(),
        Event::Told(told) => format!("hart {told} is told"),
        Event::ToldAll => "all harts are told".to_owned(),
        Event::Started => format!("hart {hart} starts"),
        Event::Arrived => format!("hart {hart} has arrived"),
        Event::AllArrived => format!("hart {hart} has started all others"),
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
