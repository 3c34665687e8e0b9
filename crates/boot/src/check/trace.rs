//! From states to what a reader is shown: who did what, and from whom what was read came.

use std::collections::BTreeMap;

use tenbin_model::Order;

use super::report::{Doing, End, Finding, Milestone, Step, Trace};
use crate::answer::{BootAction, Fault, Hex, Writer};
use crate::explore::Search;
use crate::image::Image;
use crate::isa::{Decoded, Width};
use crate::names::{label, planted};
use crate::operational::Task;
use crate::operational::local::{Notice, Poll, Position};
use crate::operational::machine::{Move, State};
use crate::operational::program::{Fetched, Region};
use crate::operational::step::Signal;

/// Everything that is wrong with the states that were found.
///
/// `dead_end` is a run to a state from which the goal is known to be out of reach. It is taken if no shorter
/// one is found.
pub(super) fn findings(
    search: &mut Search<'_>,
    image: &Image,
    dead_end: Option<Vec<(State, Move)>>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    let (dead, livelock) = search.hangs();
    if let (None, Some(way)) = (dead, dead_end) {
        let last = way.last().map_or_else(|| search.state(0), |(_, step)| step.state);
        let trace = on(search, image, way, last, true);
        findings.push(Finding { fault: Fault::Dead, culprit: None, trace });
    }
    for (fault, state) in [(Fault::Dead, dead), (Fault::Livelock, livelock)] {
        if let Some(state) = state {
            let way = search.way(state);
            let last = search.state(state);
            let trace = on(search, image, way, last, fault == Fault::Dead);
            findings.push(Finding { fault, culprit: None, trace });
        }
    }
    for (fault, (from, step, hart)) in search.shown.clone() {
        let mut way = search.way(from);
        let mut last = search.state(from);
        if let Some(step) = step {
            let before = last;
            last = step.state;
            way.push((before, step));
        }
        let trace = trace(search, image, &way, last, false);
        findings.push(Finding { fault, culprit: u32::try_from(hart).ok(), trace });
    }
    findings.order_by_key(|finding| finding.fault);
    findings
}

/// The way to where nothing helps any more, and on from there to where the harts are for ever.
fn on(
    search: &mut Search<'_>,
    image: &Image,
    mut way: Vec<(State, Move)>,
    from: State,
    is_dead: bool,
) -> Trace {
    let Some((mut on, repeats)) = search.on(from) else {
        // What they come to is not known. It is not where they are.
        let mut trace = trace(search, image, &way, from, false);
        for end in &mut trace.ends {
            if matches!(end.doing, Doing::Waits { .. } | Doing::Sleeps) {
                end.doing = Doing::Runs;
            }
        }
        return trace;
    };
    // What can still come out well is not followed out of its circle.
    let stays = is_dead || repeats.is_some() || on.is_empty();
    if !stays {
        on.clear();
    }
    let repeats = repeats.map(|since| since + way.len());
    way.extend(on);
    let last = way.last().map_or(from, |(_, step)| step.state);
    let mut trace = trace(search, image, &way, last, stays);
    trace.repeats_from = repeats;
    trace
}

fn trace(
    search: &mut Search<'_>,
    image: &Image,
    way: &[(State, Move)],
    last: State,
    for_ever: bool,
) -> Trace {
    let mut steps = Vec::new();
    let mut garbage = BTreeMap::new();
    // Who wrote each byte last.
    let mut writers: BTreeMap<u64, usize> = BTreeMap::new();
    for (number, (before, each)) in way.iter().enumerate() {
        let possible = search.machine.possible(before[each.hart]);
        let op = &possible.ops[each.op];
        let Fetched::Code(line) = search.machine.program.at(op.pc) else { continue };
        let mut source = |search: &mut Search<'_>, address: u64, width: Width| {
            let known = match search.machine.program.region(address & !7) {
                Region::Memory(word) => width.truncate(word.known >> (8 * (address & 7))),
                Region::SoftwareInterrupt | Region::Nowhere => u64::MAX,
            };
            let (_, known_now) = search.machine.peek(before, address, width);
            if known_now != width.truncate(u64::MAX) {
                garbage.insert(address, planted(image, address, width.bytes() as u32, each.read));
            }
            match (address..address + width.bytes()).filter_map(|at| writers.get(&at)).max() {
                Some(&step) => Writer::Step(step),
                None if known == width.truncate(u64::MAX) || known == u64::MAX => Writer::File,
                None => Writer::Garbage,
            }
        };
        let word = |address, width: Width| (Hex(address), label(image, address), width.bytes() as u32);
        let action = match op.task {
            Task::Read { address, width } => {
                let from = source(search, address, width);
                let (address, name, bytes) = word(address, width);
                BootAction::Read { address, name, bytes, value: Hex(each.read), from }
            }
            Task::Forward { address, width, value, .. } => {
                let (address, name, bytes) = word(address, width);
                BootAction::Read { address, name, bytes, value: Hex(value), from: Writer::Forwarded }
            }
            Task::Write { address, width, value, .. } => {
                let (address, name, bytes) = word(address, width);
                BootAction::Wrote { address, name, bytes, value: Hex(value) }
            }
            Task::Succeed { address, width, value, .. } => {
                let from = source(search, address, width);
                let (address, name, bytes) = word(address, width);
                BootAction::Swapped { address, name, bytes, read: None, value: Hex(value), from }
            }
            Task::Swap { address, width, op, operand, .. } => {
                let from = source(search, address, width);
                let (address, name, bytes) = word(address, width);
                let value = Hex(op.apply(width, each.read, operand));
                BootAction::Swapped { address, name, bytes, read: Some(Hex(each.read)), value, from }
            }
            Task::Fail { .. } => BootAction::Failed,
            Task::Wake => BootAction::Woke { called: each.forced },
        };
        if let Some(access) = action.access().filter(|access| access.written.is_some()) {
            for byte in access.address..access.address + u64::from(access.bytes) {
                writers.insert(byte, number);
            }
        }
        let notice = op.task.tells().map(|notice| match notice {
            Notice::One(hart) => Milestone::Notified(u32::try_from(hart).unwrap_or(u32::MAX)),
            Notice::All => Milestone::NotifiedAll,
        });
        let signals = each.signals.iter().filter_map(|&signal| event(signal));
        let events = notice.into_iter().chain(signals).collect();
        steps.push(Step {
            hart: each.hart as u32,
            pc: op.pc,
            decoded: Decoded { instruction: line.instruction, length: line.length },
            action,
            overtakes: op.overtakes,
            events,
        });
    }
    let ends = ends(search, last, for_ever);
    Trace { garbage: garbage.into_values().collect(), steps, repeats_from: None, ends }
}

fn event(signal: Signal) -> Option<Milestone> {
    match signal {
        Signal::Primary => Some(Milestone::Primary),
        Signal::Cleared => Some(Milestone::Cleared),
        Signal::Started | Signal::StartedAgain => Some(Milestone::Started),
        Signal::Arrived | Signal::ArrivedStale => Some(Milestone::Arrived),
        Signal::AllArrived => Some(Milestone::AllArrived),
        Signal::Astray | Signal::Undecoded(_) | Signal::Unsupported(_) | Signal::TooLong(_) => None,
    }
}

fn ends(search: &mut Search<'_>, last: State, for_ever: bool) -> Vec<End> {
    let looks = search.looks(last, for_ever);
    let mut ends = Vec::new();
    for (hart, look) in looks.into_iter().enumerate() {
        let at = search.machine.local(last[hart]).at;
        let doing = match (at, look) {
            (Position::Arrived(_), _) => Doing::Arrived,
            (Position::Loops(_), _) => Doing::Loops,
            (Position::Polls(Poll { address, width, value, .. }), _) => {
                Doing::Waits { address, bytes: width.bytes() as u32, value, alone: true }
            }
            (Position::Astray(_), _) => Doing::Astray,
            (_, Some(Task::Read { address, width } | Task::Swap { address, width, .. })) => {
                let value = search.machine.peek(&last, address, width).0;
                Doing::Waits { address, bytes: width.bytes() as u32, value, alone: false }
            }
            (_, Some(Task::Wake)) => Doing::Sleeps,
            _ => Doing::Runs,
        };
        ends.push(End { pc: at.pc(), doing });
    }
    ends
}
