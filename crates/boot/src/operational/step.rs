//! What a hart can do, and what becomes of it when it does.

use std::collections::BTreeMap;

use super::control;
use super::local::{Early, LEFT, Left, Local, Notice, Poll, Position, Sides};
use super::observe::observe;
use super::own::own;
use super::path::{Op, Path, Task, Went, overlap};
use super::program::{AnnotatedInstruction, Fetched, Program, Region, bit};
use crate::axiomatic::Model;
use crate::isa::execute::{AccessKind, Action, Uses, execute};
use crate::isa::{Decoded, Instruction, Register, Width};

/// What a state of a hart leads to.
#[derive(Debug, Clone, Default)]
pub(crate) struct Possible {
    /// All that it can do, whatever memory holds.
    pub(crate) ops: Vec<Op>,
    /// Addresses that it must hear of when another hart writes them.
    pub(crate) watched: Vec<(u64, Width)>,
    /// Whether something was performed early that an older instruction may still contradict. Such a state may
    /// be one that no run passes through.
    pub(crate) pending: bool,
    /// Whether the window kept more from being begun.
    pub(crate) full: bool,
    /// Instructions, by their addresses, behind which nothing is begun early, though it may be.
    pub(crate) held: Vec<u64>,
}

/// What happens on the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Signal {
    Primary,
    Cleared,
    Started,
    StartedAgain,
    Arrived,
    /// With registers that are not as expected.
    ArrivedStale,
    AllArrived,
    Astray,
    /// An instruction that cannot be decoded, at this address.
    Undecoded(u64),
    /// An instruction that no run here performs, at this address.
    Unsupported(u64),
    /// A loop here, that never looks at memory, is too long to follow.
    TooLong(u64),
}

/// A hart, and what happened on the way there.
pub(crate) type After = (Local, Vec<Signal>);

/// Instructions that a hart may execute without looking at memory before it is not followed any more.
const SILENT: u64 = 20_000_000;

/// A hart at its first instruction that looks at memory.
pub(crate) fn begin(program: &dyn Program, hart: u8) -> Option<After> {
    let (pc, registers) = program.start(hart);
    let mut local = Local { registers, ..Local::new(hart, Position::Running(pc)) };
    let mut signals = Vec::new();
    come_to(program, &mut local, pc, &mut signals);
    settle(program, local, signals)
}

/// What a hart can do from here.
pub(crate) fn possible(program: &dyn Program, local: &Local) -> Possible {
    let mut possible = Possible::default();
    let mut left = Vec::new();
    for place in 0..local.left.len() {
        if matches!(local.left[place], Left::Store { .. }) {
            Path::until(program, local, place).enabled(&mut left);
        }
    }
    if !matches!(local.at, Position::Running(_)) {
        possible.ops = left;
        return possible;
    }
    let Some(path) = Path::committed(program, local) else { return possible };
    let (pending, watched) = path.watched();
    possible.pending = pending;
    possible.watched = watched.into_iter().map(|(_, address, width)| (address, width)).collect();
    possible.watched.extend(local.reservation);
    // Loops are followed twice at first. Where nothing in them can be performed early, nothing can in their
    // repetitions.
    unfold(Path::new(program, local), false, &mut possible);
    if possible.ops.iter().any(|op| op.distance > 0) {
        possible.ops.clear();
        possible.held.clear();
        possible.full = false;
        unfold(Path::new(program, local), true, &mut possible);
    }
    possible.ops.splice(0..0, left);
    possible
}

fn unfold(mut path: Path<'_>, whole: bool, possible: &mut Possible) {
    loop {
        let before = path.items.len();
        let went = path.step();
        if path.items.len() > before {
            path.enabled(&mut possible.ops);
        }
        match went {
            Went::On => {}
            Went::Full => {
                possible.full = true;
                return;
            }
            Went::Held(pc) => {
                if !possible.held.contains(&pc) {
                    possible.held.push(pc);
                }
                return;
            }
            Went::End | Went::Contradiction => return,
            Went::Forks(ways) => {
                for to in ways {
                    let mut fork = path.clone();
                    fork.choose(to);
                    if whole || !fork.goes_round() {
                        unfold(fork, whole, possible);
                    }
                }
                return;
            }
        }
        if !whole && path.goes_round() {
            return;
        }
    }
}

/// What becomes of a hart when it does this, and reads this value if it reads; `None` if there is no such
/// run.
pub(crate) fn after(program: &dyn Program, local: &Local, op: &Op, value: u64) -> Option<After> {
    let mut local = local.clone();
    for &(distance, to) in &op.choices {
        local.note(distance, Early::Went(to));
    }
    let early = match op.task {
        Task::Read { .. } => Early::Read { value, forwarded: None, stale: false },
        Task::Forward { value, from, .. } => Early::Read { value, forwarded: Some(from), stale: false },
        Task::Write { .. } => Early::Wrote,
        Task::Swap { .. } => Early::Swapped(value),
        Task::Succeed { .. } => Early::Succeeded,
        Task::Fail { .. } => Early::Failed,
        Task::Wake => Early::Woke,
    };
    if op.distance >= LEFT {
        if !local.ahead.is_empty() && !Path::committed(program, &local)?.agrees(op.distance) {
            return None;
        }
        local.perform(op.distance);
        let mut signals = Vec::new();
        if local.trim() {
            signals.push(Signal::Cleared);
        }
        return settle(program, local, signals);
    }
    local.note(op.distance, early);
    if local.ahead.len() > 1 {
        let path = Path::committed(program, &local)?;
        if !matches!(op.task, Task::Fail { .. } | Task::Wake) && !path.agrees(op.distance) {
            return None;
        }
    }
    settle(program, local, Vec::new())
}

/// What becomes of a hart when another one writes there; `None` if nothing does.
pub(crate) fn touched(program: &dyn Program, local: &Local, address: u64, width: Width) -> Option<Local> {
    let mut changed = local.clone();
    let is_lost = local.reservation.is_some_and(|reserved| overlap(reserved, (address, width)));
    if is_lost && local.reserved_from.is_none() {
        changed.reservation = None;
    }
    if !local.ahead.is_empty() {
        let path = Path::committed(program, local)?;
        for (distance, at, read) in path.watched().1 {
            if overlap((at, read), (address, width))
                && let Some(Early::Read { value, forwarded, .. }) = local.early(distance)
            {
                changed.note(distance, Early::Read { value, forwarded, stale: true });
            }
        }
    }
    (changed != *local).then_some(changed)
}

fn come_to(program: &dyn Program, local: &mut Local, pc: u64, signals: &mut Vec<Signal>) {
    local.at = Position::Running(pc);
    let landmarks = program.landmarks(pc);
    if landmarks.primary {
        signals.push(Signal::Primary);
        local.boots = true;
    }
    if landmarks.cleared {
        local.left.push(Left::Cleared);
        if local.trim() {
            signals.push(Signal::Cleared);
        }
    }
    if landmarks.started {
        signals.push(if local.started { Signal::StartedAgain } else { Signal::Started });
        local.started = true;
    }
    if landmarks.arrived || landmarks.all_arrived {
        if landmarks.all_arrived && (local.boots || !landmarks.arrived) {
            signals.push(Signal::AllArrived);
        } else if program.is_as_expected(local.hart, &local.registers) {
            signals.push(Signal::Arrived);
        } else {
            signals.push(Signal::ArrivedStale);
        }
        let sp = program.stack(&local.registers);
        end(local, Position::Arrived(pc));
        local.registers[2] = sp;
    }
}

fn end(local: &mut Local, place: Position) {
    let Local { hart, started, boots, .. } = *local;
    // Memory still has to see what was stored.
    let left = std::mem::take(&mut local.left);
    *local = Local { started, boots, left, ..Local::new(hart, place) };
}

/// Executes what is oldest as far as it is determined, and brings the rest into the one form that it has.
fn settle(program: &dyn Program, mut local: Local, mut signals: Vec<Signal>) -> Option<After> {
    let mut silent = 0_u64;
    let mut held: Option<(u64, [u64; 32], BTreeMap<u64, u64>)> = None;
    // What it read since then.
    let mut polled = None;
    while let Position::Running(pc) = local.at {
        let line = match program.at(pc) {
            Fetched::Code(line) => line,
            Fetched::End => {
                let registers = local.registers;
                end(&mut local, Position::Arrived(pc));
                local.registers = registers;
                break;
            }
            Fetched::Nowhere => {
                signals.push(Signal::Astray);
                end(&mut local, Position::Astray(pc));
                break;
            }
            Fetched::Undecoded => {
                signals.push(Signal::Undecoded(pc));
                break;
            }
        };
        silent += 1;
        if silent > SILENT {
            signals.push(Signal::TooLong(pc));
            break;
        }
        // Brent's way to find that all repeats: hold what comes against what was there at the last power of
        // two.
        let repeats = |(at, registers, own): &(u64, [u64; 32], BTreeMap<u64, u64>)| {
            *at == pc && *registers == local.registers && *own == local.own
        };
        if held.as_ref().is_some_and(repeats) {
            end(&mut local, polled.map_or(Position::Loops(pc), Position::Polls));
            break;
        }
        if silent > 64 && silent.is_power_of_two() {
            polled = None;
            held = Some((pc, local.registers, local.own.clone()));
        }
        match retire(program, &mut local, pc, &line, &mut signals, &mut polled)? {
            Some(next) => come_to(program, &mut local, next, &mut signals),
            None => break,
        }
    }
    if let Position::Running(pc) = local.at {
        let live = program.live(pc);
        for register in Register::all().filter(|&register| live & bit(register) == 0) {
            local.registers[register.index()] = 0;
        }
    }
    if !local.ahead.is_empty() {
        tidy(program, &mut local)?;
    }
    Some((local, signals))
}

/// Drops what follows from the rest, so that two states that can do the same are the same.
fn tidy(program: &dyn Program, local: &mut Local) -> Option<()> {
    let known = local.clone();
    let path = Path::committed(program, &known)?;
    if path.contradicts() {
        return None;
    }
    let watched = path.watched().1;
    local.ahead.retain(|(distance, _)| !path.resolved.contains(distance));
    for (distance, early) in &mut local.ahead {
        if let Early::Read { forwarded, stale, .. } = early {
            if forwarded.is_some_and(|from| path.is_performed(from)) {
                *forwarded = None;
            }
            *stale &= path.is_reserve(*distance) || watched.iter().any(|(each, ..)| each == distance);
        }
    }
    Some(())
}

/// Executes the oldest instruction, and gives the next one's address; `Some(None)` if it has to wait for its
/// turn at memory; `None` if what was assumed is not so.
#[expect(clippy::option_option, reason = "no such run, or no such step")]
fn retire(
    program: &dyn Program,
    local: &mut Local,
    pc: u64,
    line: &AnnotatedInstruction,
    signals: &mut Vec<Signal>,
    polled: &mut Option<Poll>,
) -> Option<Option<u64>> {
    let early = local.early(0);
    let decoded = Decoded { instruction: line.instruction, length: line.length };
    let effect = execute(&decoded, pc, |register| local.registers[register.index()]);
    observe(program, &decoded, pc, |register| local.registers[register.index()]);
    if let Instruction::Branch { left, right, .. } = line.instruction {
        program.decides(pc, local.registers[left.index()], local.registers[right.index()]);
    }
    if let Some(tells) = program.landmarks(pc).tells {
        local.telling = Some(Notice::new(tells, local.registers[10]));
    }
    match effect.action {
        Action::Wfi if early.is_none() => return Some(None),
        Action::Nothing | Action::FenceI | Action::Wfi => {}
        Action::Fence(before, after) => leave(local, Left::Fence(Sides::Sets(before.bits(), after.bits()))),
        Action::FenceTso => leave(local, Left::Fence(Sides::Tso)),
        Action::Write(register, value) => put(local, register, value),
        Action::Memory(access) => {
            let constant = match line.instruction {
                Instruction::Load { .. } => program.constant(access.address, access.width),
                _ => None,
            };
            let is_memory = access.is_aligned() && program.region(access.address & !7) != Region::Nowhere;
            if let Some(held) = own(program, local, &line.instruction, access.address, access.width) {
                if !is_free(program, local) {
                    return Some(None);
                }
                program.accesses(local.hart, access.address, true);
                if let AccessKind::Store { value } = access.kind {
                    program.writes(access.address, access.width);
                    local.own.insert(access.address, value);
                } else if let Some((register, value)) = access.loaded(held) {
                    *polled = Some(Poll { pc, address: access.address, width: access.width, value: held });
                    put(local, register, value);
                }
                return Some(Some(step_on(program, local, pc, line, effect.next)));
            }
            let taken = match (constant, early) {
                (Some(value), _) => {
                    *polled = Some(Poll { pc, address: access.address, width: access.width, value });
                    access.loaded(value)
                }
                _ if !is_memory => {
                    signals.push(Signal::Astray);
                    end(local, Position::Astray(pc));
                    return Some(None);
                }
                (None, None) => {
                    let AccessKind::Store { value } = access.kind else { return Some(None) };
                    let room = (local.stores_left() as u32) < program.window();
                    if program.model() == Model::Sc || !room {
                        return Some(None);
                    }
                    // Younger loads were performed before it was known where this store goes.
                    if !local.ahead.is_empty() && !Path::committed(program, local)?.agrees(0) {
                        return None;
                    }
                    let AnnotatedInstruction { acquire, release, .. } = *line;
                    let tells = local.telling.take();
                    let (address, width) = (access.address, access.width);
                    // A load that took its value from here still does.
                    for (_, early) in &mut local.ahead {
                        if let Early::Read { forwarded: from @ Some(0), .. } = early {
                            *from = Some(LEFT + local.left.len() as u16);
                        }
                    }
                    local.left.push(Left::Store { pc, address, width, value, acquire, release, tells });
                    None
                }
                (None, Some(Early::Read { value, .. } | Early::Swapped(value))) => access.loaded(value),
                (None, Some(done)) => {
                    let rd = Uses::of(&line.instruction).written;
                    rd.map(|rd| (rd, u64::from(done == Early::Failed)))
                }
            };
            if let Some((register, value)) = taken {
                put(local, register, value);
            }
            match line.instruction {
                Instruction::LoadReserved { .. } => {
                    (local.reservation, local.reserved_from) = match early {
                        Some(Early::Read { stale: false, forwarded, .. }) => {
                            (Some((access.address, access.width)), forwarded)
                        }
                        _ => (None, None),
                    };
                }
                Instruction::StoreConditional { .. } => {
                    (local.reservation, local.reserved_from) = (None, None);
                    // Who fails has told nobody.
                    if early != Some(Early::Failed) {
                        local.telling = None;
                    }
                }
                Instruction::Store { .. } | Instruction::Amo { .. } => local.telling = None,
                _ => {}
            }
        }
        Action::Csr { change, rd, csr, operand } => {
            let Some(seen) = control::access(program, local, pc, (change, rd, csr), operand) else {
                signals.push(Signal::Unsupported(pc));
                return Some(None);
            };
            put(local, rd, seen);
        }
        Action::Ecall | Action::Ebreak | Action::Mret => {
            signals.push(Signal::Unsupported(pc));
            return Some(None);
        }
    }
    if matches!(early, Some(Early::Went(to)) if to != effect.next) {
        return None;
    }
    Some(Some(step_on(program, local, pc, line, effect.next)))
}

fn step_on(program: &dyn Program, local: &mut Local, pc: u64, line: &AnnotatedInstruction, next: u64) -> u64 {
    if matches!(line.instruction, Instruction::Jalr { .. }) {
        program.jumps(pc, next);
    }
    local.ahead.retain(|&(distance, _)| distance > 0);
    for (distance, early) in &mut local.ahead {
        *distance -= 1;
        if let Early::Read { forwarded, .. } = early {
            *forwarded =
                forwarded.and_then(|from| if from >= LEFT { Some(from) } else { from.checked_sub(1) });
        }
    }
    next
}

fn leave(local: &mut Local, left: Left) {
    local.left.push(left);
    local.trim();
}

/// Whether the oldest instruction, an access to the hart's own memory, may be performed before what is left
/// behind.
fn is_free(program: &dyn Program, local: &Local) -> bool {
    local.left.is_empty() || {
        let mut path = Path::new(program, local);
        path.step();
        path.is_last_done()
    }
}

fn put(local: &mut Local, register: Register, value: u64) {
    if !register.is_zero() {
        local.registers[register.index()] = value;
    }
}
