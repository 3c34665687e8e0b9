//! A second reading of the manual: what a program may end with, from the definition of the global memory
//! order itself.
//!
//! It has nothing of the crate under test: not its instructions, not its dependencies, not its models. And it
//! goes another way. For each choice of the ways that branches go, of the store-conditionals that succeed and
//! of where pointers point, the memory operations of all harts are put one after the other into the global
//! memory order, as preserved program order lets them. What a load returns, the load value axiom says when
//! the load takes its place; nothing is guessed. Orders that differ only in what nobody can tell are looked
//! at once.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, chapter "RVWMO Memory Consistency Model": sections
//! "Memory Model Primitives", "Syntactic Dependencies", "Preserved Program Order" and "Memory Model Axioms";
//! chapter "Ztso".

use std::collections::{BTreeSet, HashSet};

use super::program::{ADDRESSES, Access, Kind, Mark, NAMES, Place, Program, Statement, Target, results};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Model {
    Sc,
    Tso,
    Rvwmo,
}

/// How the bits aq and rl are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bits {
    /// As the manual has it.
    Manual,
    /// As if every bit were an annotation: a mistake, to see that it would be noticed.
    Literal,
}

/// What stands for the address of a location.
const ADDRESS: u64 = 0x7000_0000_0000;

/// A choice that a hart makes at a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Choice {
    None,
    /// The branch is taken, or the store-conditional succeeds.
    Yes,
    No,
    /// The register points to this location.
    To(usize),
}

/// The lines that a hart comes to, each with its choice.
type Way = Vec<(usize, Choice)>;

/// A memory operation. One of an AMO is a load and a store.
#[derive(Clone, Debug, Default)]
struct Operation {
    hart: usize,
    /// Its place in the hart's way.
    step: usize,
    place: usize,
    loads: bool,
    stores: bool,
    acquire: bool,
    release: bool,
    /// Whether it has an RCsc annotation.
    consistent: bool,
    /// Whether an AMO or a store-conditional generated it.
    atomic: bool,
    /// Operations, as bits, on which its address depends, and what it stores.
    address: u32,
    data: u32,
    /// Those before it in global memory order whatever loads return.
    before: u32,
    /// Of a store-conditional: its load-reserved.
    pair: Option<usize>,
}

/// Where a load's value comes from: what was there at first, or a store.
const INITIAL: u8 = 0xfe;
const OPEN: u8 = 0xff;

/// A beginning of the global memory order, as far as what follows can tell.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Begun {
    done: u32,
    /// By operation: the store that it returns.
    sources: Vec<u8>,
    /// By operation: what it returned, and what it stored.
    values: Vec<(Option<u64>, Option<u64>)>,
    /// By location: its stores in their order.
    stores: Vec<Vec<u8>>,
}

/// All outcomes of `program`, in the words of a litmus test.
pub(crate) fn outcomes(program: &Program, model: Model, bits: Bits) -> BTreeSet<String> {
    let ways = program.harts.iter().map(|lines| ways(lines)).collect::<Vec<_>>();
    let mut all = BTreeSet::new();
    let mut chosen = vec![0; ways.len()];
    loop {
        let each = chosen.iter().zip(&ways).map(|(&index, ways)| &ways[index]).collect::<Vec<_>>();
        Execution::new(program, model, bits, &each).explore(&mut all);
        let Some(next) = (0..ways.len()).find(|&hart| chosen[hart] + 1 < ways[hart].len()) else {
            return all;
        };
        chosen[next] += 1;
        chosen[..next].fill(0);
    }
}

/// Every way of a hart, whether or not anything can make it go there.
fn ways(lines: &[Statement]) -> Vec<Way> {
    let mut open = vec![(0, Way::new(), None)];
    let mut all = Vec::new();
    while let Some((at, way, reserved)) = open.pop() {
        let Some(line) = lines.get(at) else {
            all.push(way);
            continue;
        };
        let mut go = |next, choice, reserved| {
            let mut way = way.clone();
            way.push((at, choice));
            open.push((next, way, reserved));
        };
        let to = |target: Target| -> Vec<(usize, Choice)> {
            match target {
                Target::Place(place) | Target::Depends { place, .. } => vec![(place, Choice::None)],
                Target::Through(_) => (0..2).map(|place| (place, Choice::To(place))).collect(),
            }
        };
        match *line {
            Statement::Branch { over, .. } => {
                go(at + 1, Choice::No, reserved);
                go(at + 1 + over, Choice::Yes, reserved);
            }
            Statement::Access(Access { kind: Kind::Reserve, target, .. }) => {
                to(target).into_iter().for_each(|(place, choice)| go(at + 1, choice, Some(place)));
            }
            Statement::Access(Access { kind: Kind::Conditional, target, .. }) => {
                go(at + 1, Choice::No, None);
                match target {
                    Target::Place(place) | Target::Depends { place, .. } if reserved == Some(place) => {
                        go(at + 1, Choice::Yes, None);
                    }
                    Target::Through(_) => panic!("two choices in one: such programs are not drawn"),
                    _ => {}
                }
            }
            Statement::Access(Access { target, .. }) => {
                to(target).into_iter().for_each(|(_, choice)| go(at + 1, choice, reserved));
            }
            _ => go(at + 1, Choice::None, reserved),
        }
    }
    all
}

struct Execution<'a> {
    program: &'a Program,
    ways: &'a [&'a Way],
    operations: Vec<Operation>,
}

impl<'a> Execution<'a> {
    fn new(program: &'a Program, model: Model, bits: Bits, ways: &'a [&'a Way]) -> Self {
        let mut operations = Vec::new();
        for (hart, way) in ways.iter().enumerate() {
            generate(&program.harts[hart], hart, way, model, bits, &mut operations);
        }
        assert!(operations.len() <= 32, "programs are small");
        Self { program, ways, operations }
    }

    fn explore(&self, all: &mut BTreeSet<String>) {
        let first = Begun {
            done: 0,
            sources: vec![OPEN; self.operations.len()],
            values: vec![(None, None); self.operations.len()],
            stores: vec![Vec::new(); self.program.places.len()],
        };
        let mut seen = HashSet::from([first.clone()]);
        let mut open = vec![first];
        let whole = (1_u64 << self.operations.len()) - 1;
        while let Some(begun) = open.pop() {
            if u64::from(begun.done) == whole {
                all.extend(self.outcome(&begun));
                continue;
            }
            for index in 0..self.operations.len() {
                let Some(next) = self.perform(&begun, index) else { continue };
                if seen.insert(next.clone()) {
                    open.push(next);
                }
            }
        }
    }

    /// The global memory order with one more operation, if it may come now.
    fn perform(&self, begun: &Begun, index: usize) -> Option<Begun> {
        let operation = &self.operations[index];
        let is_done = |each: usize| begun.done & (1 << each) != 0;
        if is_done(index) || operation.before & !begun.done != 0 {
            return None;
        }
        let mut next = begun.clone();
        next.done |= 1 << index;
        if operation.loads {
            let source = self.source(begun, index);
            if source != INITIAL {
                let from = &self.operations[usize::from(source)];
                if from.hart == operation.hart {
                    // Rule 3.
                    if from.atomic && !is_done(usize::from(source)) {
                        return None;
                    }
                    // Rule 12.
                    if (from.address | from.data) & !begun.done != 0 {
                        return None;
                    }
                }
            }
            // Rule 2: those that come later in program order, and came first in the global memory order.
            for (other, later) in self.operations.iter().enumerate().skip(index + 1) {
                let meets = later.hart == operation.hart
                    && later.place == operation.place
                    && later.loads
                    && is_done(other);
                let between = &self.operations[index + 1..other];
                let is_stored = |each: &Operation| each.stores && each.place == operation.place;
                if meets && !between.iter().any(is_stored) && begun.sources[other] != source {
                    return None;
                }
            }
            next.sources[index] = source;
            next.values[index].0 = Some(match source {
                INITIAL => initial(self.program.places[operation.place]),
                // What a store waits for is there, by rules 9, 10 and 12.
                store => begun.values[usize::from(store)].1.or_else(|| self.stored(begun, store))?,
            });
        }
        if operation.stores {
            // The atomicity axiom.
            if let Some(pair) = operation.pair {
                let order = &begun.stores[operation.place];
                let source = begun.sources[pair];
                let from =
                    if source == INITIAL { 0 } else { order.iter().position(|&each| each == source)? + 1 };
                let foreign = |&each: &u8| self.operations[usize::from(each)].hart != operation.hart;
                if order[from..].iter().any(foreign) {
                    return None;
                }
            }
            next.stores[operation.place].push(index as u8);
            next.values[index].1 = Some(self.stored(&next, index as u8)?);
        }
        // Whatever is known by now must not contradict the choices.
        self.registers(&next, operation.hart)?;
        Some(next)
    }

    /// The load value axiom: the latest, in global memory order, of the stores that come before in that order
    /// or in program order.
    fn source(&self, begun: &Begun, index: usize) -> u8 {
        let operation = &self.operations[index];
        // Stores of the hart that are still to come are later than all that came. Among themselves they keep
        // program order (rule 1).
        let own = (0..index).rev().find(|&each| {
            let store = &self.operations[each];
            store.hart == operation.hart
                && store.place == operation.place
                && store.stores
                && begun.done & (1 << each) == 0
        });
        let last = begun.stores[operation.place].last().copied();
        own.map(|own| own as u8).or(last).unwrap_or(INITIAL)
    }

    /// What a store leaves in memory, `None` where it is not known yet.
    fn stored(&self, begun: &Begun, store: u8) -> Option<u64> {
        let operation = &self.operations[usize::from(store)];
        let registers = self.until(begun, operation.hart, operation.step)?;
        let read = |register: u8| registers[usize::from(register)];
        let (line, _) = self.ways[operation.hart][operation.step];
        let Statement::Access(Access { kind, source, bytes, .. }) = self.program.harts[operation.hart][line]
        else {
            return None;
        };
        let operand = cut(read(source)?, bytes);
        let Kind::Amo(op) = kind else { return Some(operand) };
        let old = begun.values[usize::from(store)].0?;
        Some(cut(amo(op, bytes, cut(old, bytes), operand), bytes))
    }

    /// The registers of a hart in front of a step, as far as they are known. `None` where they contradict its
    /// choices.
    fn until(&self, begun: &Begun, hart: usize, step: usize) -> Option<[Option<u64>; 32]> {
        let mut registers = [Some(0); 32];
        for place in 0..self.program.places.len() {
            registers[usize::from(ADDRESSES) + place] = Some(ADDRESS + place as u64);
        }
        let mut operations = (0..self.operations.len()).filter(|&each| self.operations[each].hart == hart);
        for &(line, choice) in &self.ways[hart][..step] {
            let line = &self.program.harts[hart][line];
            let read = |register: u8| registers[usize::from(register)];
            let agrees = |target: Target| match (target, choice) {
                (Target::Through(register), Choice::To(place)) => {
                    read(register).is_none_or(|at| at == ADDRESS + place as u64)
                }
                _ => true,
            };
            let (rd, value) = match *line {
                Statement::Access(Access { kind: Kind::Conditional, rd, .. }) => {
                    let succeeds = choice == Choice::Yes;
                    if succeeds {
                        operations.next()?;
                    }
                    (rd, Some(u64::from(!succeeds)))
                }
                Statement::Access(Access { kind, rd, bytes, target, .. }) => {
                    let value = begun.values[operations.next()?].0;
                    agrees(target).then_some(())?;
                    if kind == Kind::Store {
                        continue;
                    }
                    let signed = kind != Kind::Load { signed: false };
                    (rd, value.map(|value| extend(value, bytes, signed)))
                }
                Statement::Number { rd, value } => (rd, Some(value.cast_unsigned())),
                Statement::Dependent { rd, value, .. } => (rd, Some(value.cast_unsigned())),
                Statement::Copy { rd, from } => (rd, read(from)),
                Statement::Branch { equal, register, .. } => {
                    let taken = read(register).map(|value| (value == 0) == equal);
                    if taken.is_some_and(|taken| taken != (choice == Choice::Yes)) {
                        return None;
                    }
                    continue;
                }
                Statement::Fence(_) => continue,
            };
            registers[usize::from(rd)] = value;
        }
        Some(registers)
    }

    fn registers(&self, begun: &Begun, hart: usize) -> Option<[Option<u64>; 32]> {
        self.until(begun, hart, self.ways[hart].len())
    }

    fn outcome(&self, begun: &Begun) -> Option<String> {
        let mut words = Vec::new();
        for (index, &place) in self.program.places.iter().enumerate() {
            let last = begun.stores[index].last();
            let held = last.map_or(Some(initial(place)), |&store| begun.values[usize::from(store)].1)?;
            let value = shown(extend(held, place.bytes, place.signed), place.signed);
            words.push(format!("{}={value};", NAMES[index]));
        }
        for hart in 0..self.ways.len() {
            let registers = self.registers(begun, hart)?;
            for register in results() {
                words.push(format!("{hart}:x{register}={};", shown(registers[usize::from(register)]?, true)));
            }
        }
        Some(words.join(" "))
    }
}

/// The memory operations of a hart's way, with what must come before each.
fn generate(
    lines: &[Statement],
    hart: usize,
    way: &Way,
    model: Model,
    bits: Bits,
    operations: &mut Vec<Operation>,
) {
    let first = operations.len();
    // By register: the operations on which what it holds depends.
    let mut depends = [0_u32; 32];
    let mut control = 0_u32;
    let mut fences = Vec::new();
    let mut reserved = None;
    for (step, &(line, choice)) in way.iter().enumerate() {
        let index = operations.len();
        let from = |target: Target| match target {
            Target::Place(_) => 0,
            Target::Depends { on, .. } => depends[usize::from(on)],
            Target::Through(register) => depends[usize::from(register)],
        };
        let to = |target: Target| match (target, choice) {
            (Target::Place(place) | Target::Depends { place, .. }, _) | (_, Choice::To(place)) => place,
            (Target::Through(_), _) => 0,
        };
        let mut operation = Operation { hart, step, ..Operation::default() };
        let mut written = 0;
        let is_memory = match lines[line] {
            Statement::Access(Access { kind, rd, source, target, mark: Mark { aq, rl }, .. }) => {
                written = rd;
                operation.loads = !matches!(kind, Kind::Store | Kind::Conditional);
                operation.stores = !matches!(kind, Kind::Load { .. } | Kind::Reserve);
                operation.atomic = matches!(kind, Kind::Conditional | Kind::Amo(_));
                // "An AMO or LR instruction with aq set has an acquire-RCsc annotation. An AMO or SC
                // instruction with rl set has a release-RCsc annotation": the other bit counts only beside
                // it.
                let is_literal = bits == Bits::Literal;
                operation.acquire = aq && (kind != Kind::Conditional || rl || is_literal);
                operation.release = rl && (kind != Kind::Reserve || aq || is_literal);
                let is_plain = matches!(kind, Kind::Load { .. } | Kind::Store);
                operation.consistent = !is_plain && (operation.acquire || operation.release);
                (operation.place, operation.address) = (to(target), from(target));
                operation.data = depends[usize::from(source)];
                match kind {
                    Kind::Reserve => reserved = Some(index),
                    Kind::Conditional => operation.pair = reserved.take(),
                    _ => {}
                }
                kind != Kind::Conditional || choice == Choice::Yes
            }
            Statement::Branch { register, .. } => {
                control |= depends[usize::from(register)];
                false
            }
            Statement::Fence(sets) => {
                fences.push((index, sets));
                false
            }
            Statement::Dependent { rd, from, .. } | Statement::Copy { rd, from } => {
                depends[usize::from(rd)] = depends[usize::from(from)];
                false
            }
            Statement::Number { rd, .. } => {
                depends[usize::from(rd)] = 0;
                false
            }
        };
        if !is_memory {
            // Of a store-conditional that fails nothing depends; of all others nothing is written here.
            depends[usize::from(written)] = 0;
            continue;
        }
        if model == Model::Tso {
            // Chapter "Ztso": loads have an acquire-RCpc annotation, stores a release-RCpc one, AMOs both as
            // RCsc ones.
            let is_amo = operation.loads && operation.stores;
            operation.acquire |= operation.loads;
            operation.release |= operation.stores;
            operation.consistent |= is_amo;
        }
        operation.before = preserved(&operations[first..], first, &operation, model, &fences, control);
        operations.push(operation);
        depends[usize::from(written)] = 1 << index;
        // On x0 nothing depends.
        depends[0] = 0;
    }
}

/// The earlier operations of a hart that preserved program order has before this one, whatever loads return.
fn preserved(
    earlier: &[Operation],
    first: usize,
    b: &Operation,
    model: Model,
    fences: &[(usize, Option<(&str, &str)>)],
    control: u32,
) -> u32 {
    let mut before = 0;
    for (place, a) in earlier.iter().enumerate() {
        let index = first + place;
        let bit = 1 << index;
        let fenced = |&(position, sets): &(usize, Option<(&str, &str)>)| {
            let in_set = |set: &str, each: &Operation| {
                each.loads && set.contains('r') || each.stores && set.contains('w')
            };
            index < position
                && match sets {
                    Some((earlier, later)) => in_set(earlier, a) && in_set(later, b),
                    // "fence.tso": loads before all, stores before stores.
                    None => a.loads || (a.stores && b.stores),
                }
        };
        let addressed = earlier[place + 1..].iter().any(|m| m.address & bit != 0);
        let rules = [
            /* 1 */ b.stores && a.place == b.place,
            /* 4 */ fences.iter().any(fenced),
            /* 5 */ a.acquire,
            /* 6 */ b.release,
            /* 7 */ a.consistent && b.consistent,
            /* 8 */ b.pair == Some(index),
            /* 9 */ b.address & bit != 0,
            /* 10 */ b.stores && b.data & bit != 0,
            /* 11 */ b.stores && control & bit != 0,
            /* 13 */ b.stores && addressed,
        ];
        if model == Model::Sc || rules.contains(&true) {
            before |= bit;
        }
    }
    before
}

const fn initial(place: Place) -> u64 {
    if place.pointer { ADDRESS } else { 0 }
}

const fn cut(value: u64, bytes: u32) -> u64 {
    if bytes == 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

const fn extend(value: u64, bytes: u32, signed: bool) -> u64 {
    let value = cut(value, bytes);
    if signed && bytes < 8 && value >> (8 * bytes - 1) == 1 {
        value | !((1 << (8 * bytes)) - 1)
    } else {
        value
    }
}

fn shown(value: u64, signed: bool) -> String {
    match value.checked_sub(ADDRESS).and_then(|place| NAMES.get(place as usize)) {
        Some(name) => (*name).to_owned(),
        None if signed => value.cast_signed().to_string(),
        None => value.to_string(),
    }
}

/// What an AMO stores. Source: the manual, chapter "A", section "Zaamo".
fn amo(op: &str, bytes: u32, old: u64, operand: u64) -> u64 {
    let signed = |value| extend(value, bytes, true).cast_signed();
    match op {
        "amoswap" => operand,
        "amoadd" => old.wrapping_add(operand),
        "amoxor" => old ^ operand,
        "amoand" => old & operand,
        "amoor" => old | operand,
        "amomin" => signed(old).min(signed(operand)).cast_unsigned(),
        "amomax" => signed(old).max(signed(operand)).cast_unsigned(),
        "amominu" => old.min(operand),
        _ => old.max(operand),
    }
}
