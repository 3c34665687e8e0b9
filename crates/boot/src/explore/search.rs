//! The states, found breadth first; what is wrong with them; and the ways that lead there.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use rustc_hash::{FxBuildHasher, FxHashMap};

use super::graph::parts;
use super::reduce::{self, Moves};
use crate::answer::Fault;
use crate::operational::Task;
use crate::operational::local::Position;
use crate::operational::machine::{Machine, Move, State};
use crate::operational::step::Signal;

/// How far a search goes.
pub(crate) struct Extent {
    /// Whether only as many steps are taken as are enough.
    pub(crate) reduces: bool,
    pub(crate) states: u64,
    /// Bytes of all tables but that of the states: the work of finding out what single harts can do.
    pub(crate) tables: u64,
    /// Whether the limits on states and tables hold for a faulty boot too.
    pub(crate) though_faulty: bool,
}

pub(crate) struct Spent<'a> {
    pub(crate) bytes: u64,
    pub(crate) most: &'a Extent,
    pub(crate) stop: &'a dyn Fn(u64) -> bool,
    /// Asked often: whether what was learned makes going on useless.
    pub(crate) restart: &'a dyn Fn() -> bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfinished {
    Bytes,
    Interrupted,
    Restart,
    States,
    /// There are many states, and some are wrong: there is no need to look at the others.
    Enough,
    Stopped(Signal),
}

/// States after which it is looked whether some run hangs already; and again when there are twice as many.
const PATIENCE: usize = 1 << 14;

/// States after which a faulty boot need not be looked at any further; an eighth of it, if a run hangs.
const ENOUGH: u64 = 1 << 23;

/// States between two looks at the time, which cost as much as a small state.
const BREATH: usize = 256;

/// Steps that a hart may take between two that are described.
const MOST_BETWEEN: usize = 100;

/// States that may follow a dead end.
const MOST_DEAD: usize = 1 << 18;

/// A step as it is told to another machine: who, by which instruction, and what it read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Described {
    pub(crate) hart: usize,
    pub(crate) pc: u64,
    pub(crate) read: u64,
}

/// Steps, each with the state before it, and the number of the one from which they repeat.
pub(crate) type Onward = (Vec<(State, Move)>, Option<usize>);

/// Rounds of all harts after which a run is not followed any more.
const MOST_ROUNDS: usize = 1 << 14;

/// What a hart's label on an edge says besides the hart: that the step was its oldest, and must be done in
/// the end.
const FORCED: u8 = 8;

/// … that it is a store-conditional that fails for no reason.
const SPURIOUS: u8 = 16;

pub(crate) struct Search<'p> {
    pub(crate) machine: Machine<'p>,
    states: IndexSet<State, FxBuildHasher>,
    parents: Vec<u32>,
    /// Of each state, where its edges begin.
    begins: Vec<u64>,
    targets: Vec<u32>,
    labels: Vec<u8>,
    /// Edges of states from which all steps were taken later.
    more: FxHashMap<u32, Vec<(u32, u8)>>,
    /// How many these are.
    late: u64,
    /// As bits: from which states all steps were taken.
    whole: Vec<bool>,
    /// Of each state, as bits, the harts that can go on without anything changing.
    still: Vec<u8>,
    /// The first state, and the step from it, of each fault that a step shows.
    pub(crate) shown: BTreeMap<Fault, (u32, Option<Move>, usize)>,
    pub(crate) transitions: u64,
    pub(crate) full: bool,
    /// Instructions behind which nothing was begun early, though it may be.
    pub(crate) held: BTreeSet<u64>,
    reduces: bool,
    hangs: bool,
}

impl<'p> Search<'p> {
    pub(crate) fn new(machine: Machine<'p>, reduces: bool) -> Self {
        Self {
            machine,
            states: IndexSet::default(),
            parents: Vec::new(),
            begins: vec![0],
            targets: Vec::new(),
            labels: Vec::new(),
            more: FxHashMap::default(),
            late: 0,
            whole: Vec::new(),
            still: Vec::new(),
            shown: BTreeMap::new(),
            transitions: 0,
            full: false,
            held: BTreeSet::new(),
            reduces,
            hangs: false,
        }
    }

    pub(crate) fn states(&self) -> u64 {
        self.states.len() as u64
    }

    /// Bytes so far, roughly: tables double when they are full.
    pub(crate) fn bytes(&self) -> u64 {
        let states = self.states.capacity() as u64 * (36 + 8 + 8);
        let others = self.parents.capacity() as u64 * 4
            + self.begins.capacity() as u64 * 8
            + self.targets.capacity() as u64 * 4
            + self.labels.capacity() as u64
            + self.whole.capacity() as u64 * 2
            + self.late * 8;
        // Finding what hangs needs as much again for a while.
        let scratch = self.states.len() as u64 * 30;
        states + others + scratch + self.machine.bytes
    }

    pub(crate) fn run(&mut self, spent: &Spent<'_>) -> Result<(), Unfinished> {
        self.machine.limit = spent.bytes;
        let Some((first, signalled)) = self.machine.first() else { return Ok(()) };
        self.states.insert(first);
        self.parents.push(0);
        for (hart, _, faults) in signalled {
            for fault in faults {
                self.shown.entry(fault).or_insert((0, None, hart));
            }
        }
        let mut next = 0;
        let mut patience = PATIENCE;
        loop {
            while next < self.states.len() {
                self.may_go_on(spent)?;
                if next.is_multiple_of(BREATH) && (spent.stop)(self.states()) {
                    return Err(Unfinished::Interrupted);
                }
                if next == patience {
                    let (dead, livelock) = self.hangs();
                    self.hangs |= dead.or(livelock).is_some();
                    patience *= 2;
                }
                self.expand(next as u32, false);
                self.begins.push(self.targets.len() as u64);
                next += 1;
                self.may_be_followed(spent)?;
            }
            let put_off = self.put_off();
            if put_off.is_empty() {
                return Ok(());
            }
            for state in put_off {
                self.may_go_on(spent)?;
                if (spent.stop)(self.states()) {
                    return Err(Unfinished::Interrupted);
                }
                self.expand(state, true);
                self.may_be_followed(spent)?;
            }
        }
    }

    /// Whether nothing came up that cannot be followed, or that must be known from the start.
    fn may_be_followed(&self, spent: &Spent<'_>) -> Result<(), Unfinished> {
        if let Some(signal) = self.machine.stopped {
            return Err(Unfinished::Stopped(signal));
        }
        if (spent.restart)() { Err(Unfinished::Restart) } else { Ok(()) }
    }

    fn may_go_on(&self, spent: &Spent<'_>) -> Result<(), Unfinished> {
        if self.bytes() > spent.bytes {
            return Err(Unfinished::Bytes);
        }
        let states = self.states.len() as u64;
        let is_faulty = self.hangs || self.shown.keys().any(|&fault| fault != Fault::LostStore);
        let is_much = states > spent.most.states || self.machine.bytes > spent.most.tables;
        if is_much && (spent.most.though_faulty || !is_faulty) {
            return Err(Unfinished::States);
        }
        if states > if self.hangs { ENOUGH / 8 } else { ENOUGH } && is_faulty {
            return Err(Unfinished::Enough);
        }
        Ok(())
    }

    fn moves(&mut self, state: &State) -> Moves {
        let mut all = Vec::new();
        for hart in 0..self.machine.harts {
            let possible = self.machine.possible(state[hart]);
            self.full |= possible.full;
            self.held.extend(&possible.held);
            let moves = |op: usize| (possible.ops[op].oldest, self.machine.moves(state, hart, op));
            all.push((0..possible.ops.len()).map(moves).collect());
        }
        all
    }

    /// The harts, as bits, that can go on from here without anything changing: they have arrived, they sleep,
    /// or what they must do next changes nothing.
    fn stills(&self, state: &State, moves: &Moves) -> u8 {
        let mut still = 0;
        for hart in 0..self.machine.harts {
            let runs = matches!(self.machine.local(state[hart]).at, Position::Running(_));
            let mut forced =
                moves[hart].iter().flat_map(|(_, moves)| moves).filter(|each| each.forced).peekable();
            let sleeps = self.machine.possible(state[hart]).ops.iter().any(|op| op.task == Task::Wake);
            let is_still = match forced.peek() {
                None => !runs || sleeps,
                Some(_) => forced.all(|each| each.state == *state),
            };
            still |= u8::from(is_still) << hart;
        }
        still
    }

    fn expand(&mut self, number: u32, wholly: bool) {
        let state = self.states[number as usize];
        let moves = self.moves(&state);
        let set =
            if wholly || !self.reduces { None } else { reduce::enough(&mut self.machine, &state, &moves) };
        if wholly {
            self.whole[number as usize] = true;
            let known = self.begins[number as usize] as usize..self.begins[number as usize + 1] as usize;
            let known: Vec<(u32, u8)> = known.map(|edge| (self.targets[edge], self.labels[edge])).collect();
            let mut more = Vec::new();
            for each in moves.iter().flatten().flat_map(|(_, moves)| moves) {
                if let Some((target, label)) = self.take(number, &state, each)
                    && !known.contains(&(target, label))
                {
                    more.push((target, label));
                }
            }
            self.late += more.len() as u64;
            self.more.insert(number, more);
            return;
        }
        self.whole.push(set.is_none());
        let still = self.stills(&state, &moves);
        self.still.push(still);
        for (hart, operations) in moves.iter().enumerate() {
            for (is_oldest, each) in operations {
                let taken = set.as_ref().is_none_or(|set| {
                    set.iter().any(|&(one, oldest)| one == hart && (!oldest || *is_oldest))
                });
                for each in each.iter().filter(|_| taken) {
                    if let Some((target, label)) = self.take(number, &state, each) {
                        self.targets.push(target);
                        self.labels.push(label);
                    }
                }
            }
        }
    }

    fn take(&mut self, from: u32, state: &State, each: &Move) -> Option<(u32, u8)> {
        for &fault in &each.faults {
            self.shown.entry(fault).or_insert_with(|| (from, Some(each.clone()), each.hart));
        }
        if each.state == *state {
            return None;
        }
        self.transitions += 1;
        let (target, is_new) = self.states.insert_full(each.state);
        if is_new {
            self.parents.push(from);
        }
        Some((
            target as u32,
            each.hart as u8 | if each.forced { FORCED } else { 0 } | if each.spurious { SPURIOUS } else { 0 },
        ))
    }

    fn edge(&self, node: u32, index: usize) -> Option<(u32, u8)> {
        let at = node as usize;
        if at + 1 >= self.begins.len() {
            return None;
        }
        let (from, to) = (self.begins[at] as usize, self.begins[at + 1] as usize);
        if from + index < to {
            return Some((self.targets[from + index], self.labels[from + index]));
        }
        self.more.get(&node).and_then(|more| more.get(index - (to - from)).copied())
    }

    /// One state of each cycle on which some step might be put off for ever.
    fn put_off(&self) -> Vec<u32> {
        let mut nodes = Vec::new();
        // An edge to a state that is whole ends the way: it is given as one to the node itself, which makes
        // no part larger.
        let edges = |node: u32, index: usize| {
            if self.whole[node as usize] {
                return None;
            }
            let (target, _) = self.edge(node, index)?;
            Some(if self.whole[target as usize] { node } else { target })
        };
        parts(self.states.len() as u32, edges, |part| {
            if part.len() > 1 {
                nodes.extend(part.iter().min());
            }
        });
        nodes.sort_unstable();
        nodes
    }

    /// Whether every hart is where it is to be: one at least where boot harts arrive, and the others, if it
    /// is known who boots, not there.
    fn is_goal(&self, state: &State) -> bool {
        let mut all_arrived = false;
        let is_there = |hart: usize| {
            let local = self.machine.local(state[hart]);
            let Position::Arrived(pc) = local.at else { return false };
            let place = self.machine.program.landmarks(pc);
            all_arrived |= place.all_arrived;
            match self.machine.program.knows_who_boots() {
                true if local.boots => place.all_arrived,
                true => place.arrived,
                false => true,
            }
        };
        (0..self.machine.harts).all(is_there) && all_arrived
    }

    fn is_pending(&self, state: u32) -> bool {
        let state = &self.states[state as usize];
        (0..self.machine.harts).any(|hart| self.machine.possible(state[hart]).pending)
    }

    /// The first state from which the goal cannot be reached, and the first from which a fair run need not.
    /// Where not all states were looked at, those that were not count as good.
    pub(crate) fn hangs(&self) -> (Option<u32>, Option<u32>) {
        let expanded = self.begins.len() as u32 - 1;
        let mut reaches = vec![false; self.states.len()];
        let mut dead: Option<u32> = None;
        let least = |held: &mut Option<u32>, nodes: &[u32]| {
            let first = nodes.iter().copied().filter(|&node| !self.is_pending(node)).min();
            *held = match (*held, first) {
                (Some(held), Some(first)) => Some(held.min(first)),
                (held, first) => held.or(first),
            };
        };
        parts(
            self.states.len() as u32,
            |node, index| self.edge(node, index).map(|(target, _)| target),
            |part| {
                let good = part.iter().any(|&node| {
                    let edges = (0..).map_while(|index| self.edge(node, index));
                    let mut targets = edges.map(|(target, _)| target);
                    node >= expanded || self.is_over(node) || targets.any(|target| reaches[target as usize])
                });
                part.iter().for_each(|&node| reaches[node as usize] = good);
                if !good {
                    least(&mut dead, part);
                }
            },
        );
        let mut livelock: Option<u32> = None;
        let every = ((1_u16 << self.machine.harts) - 1) as u8;
        let mut inside = vec![false; self.states.len()];
        // No store-conditional fails for ever without a reason: what goes round through one is left out.
        let edge = |node: u32, index: usize| {
            let (target, label) = self.edge(node, index)?;
            Some((if label & SPURIOUS != 0 { node } else { target }, label))
        };
        parts(
            self.states.len() as u32,
            |node, index| edge(node, index).map(|(target, _)| target),
            |part| {
                if part.iter().any(|&node| node >= expanded || !reaches[node as usize] || self.is_over(node))
                {
                    return;
                }
                part.iter().for_each(|&node| inside[node as usize] = true);
                let mut moving = 0;
                for &node in part {
                    moving |= self.still[node as usize];
                    for (target, label) in (0..).map_while(|index| edge(node, index)) {
                        if inside[target as usize] && label & FORCED != 0 && label & SPURIOUS == 0 {
                            moving |= 1 << (label & 7);
                        }
                    }
                }
                part.iter().for_each(|&node| inside[node as usize] = false);
                if moving == every {
                    least(&mut livelock, part);
                }
            },
        );
        (dead, livelock)
    }

    /// Whether nothing is to be asked of a state any more: it is the goal, or a hart went astray, which is a
    /// fault of its own.
    fn is_over(&self, state: u32) -> bool {
        let harts = &self.states[state as usize];
        let is_astray = |hart: usize| matches!(self.machine.local(harts[hart]).at, Position::Astray(_));
        self.is_goal(harts) || (0..self.machine.harts).any(is_astray)
    }

    pub(crate) fn state(&self, number: u32) -> State {
        self.states[number as usize]
    }

    /// The steps that lead to a state, each with the state before it.
    pub(crate) fn way(&mut self, to: u32) -> Vec<(State, Move)> {
        let mut way = Vec::new();
        let mut at = to;
        while at != 0 {
            let from = self.parents[at as usize];
            let (before, after) = (self.states[from as usize], self.states[at as usize]);
            let moves = self.moves(&before).into_iter().flatten();
            let step = moves.flat_map(|(_, moves)| moves).find(|each| each.state == after);
            let Some(step) = step else { break };
            way.push((before, step));
            at = from;
        }
        way.reverse();
        way
    }

    /// The steps of a run that is described from outside, each hart performing everything in its order; none
    /// if there is no such run, or the goal can be reached from its end.
    pub(crate) fn dead_end(&mut self, described: &[Described]) -> Option<Vec<(State, Move)>> {
        let (mut state, _) = self.machine.first()?;
        let mut way = Vec::new();
        for wanted in described {
            let mut arrived = false;
            for _ in 0..MOST_BETWEEN {
                let possible = self.machine.possible(state[wanted.hart]);
                let op = possible.ops.iter().position(|op| op.oldest)?;
                arrived = possible.ops[op].pc == wanted.pc;
                let moves = self.machine.moves(&state, wanted.hart, op);
                let step = moves.into_iter().find(|each| !arrived || each.read == wanted.read)?;
                let before = state;
                state = step.state;
                way.push((before, step));
                if arrived {
                    break;
                }
            }
            if !arrived {
                return None;
            }
        }
        let mut states = IndexSet::<State, FxBuildHasher>::default();
        states.insert(state);
        let mut next = 0;
        while let Some(&state) = states.get_index(next) {
            next += 1;
            if states.len() > MOST_DEAD || self.is_goal(&state) {
                return None;
            }
            states.extend(
                self.moves(&state).iter().flatten().flat_map(|(_, moves)| moves).map(|each| each.state),
            );
        }
        self.hangs = true;
        Some(way)
    }

    /// The steps that harts take when each does in turn what it must, until nothing changes or all repeats;
    /// with the number of the step from which it does. None, if neither comes in time.
    pub(crate) fn on(&mut self, from: State) -> Option<Onward> {
        let mut way: Vec<(State, Move)> = Vec::new();
        let mut seen: FxHashMap<State, usize> = FxHashMap::default();
        let mut state = from;
        for _ in 0..MOST_ROUNDS {
            if let Some(&since) = seen.get(&state) {
                let repeats = (since < way.len()).then_some(since);
                return Some((way, repeats));
            }
            seen.insert(state, way.len());
            for hart in 0..self.machine.harts {
                let moves = self.moves(&state).swap_remove(hart);
                let forced = moves.into_iter().flat_map(|(_, moves)| moves).find(|each| each.forced);
                if let Some(forced) = forced.filter(|each| each.state != state) {
                    let before = state;
                    state = forced.state;
                    way.push((before, forced));
                }
            }
        }
        None
    }

    /// What each hart reads next; or, if it is to go `on`, what it read last when each did in turn what it
    /// must.
    pub(crate) fn looks(&mut self, state: State, on: bool) -> Vec<Option<Task>> {
        let mut looks = vec![None; self.machine.harts];
        let mut state = state;
        for _ in 0..if on { 60 } else { 1 } {
            for (hart, look) in looks.iter_mut().enumerate() {
                let possible = self.machine.possible(state[hart]);
                let Some(op) = possible.ops.iter().position(|op| op.oldest) else { continue };
                let task = possible.ops[op].task;
                if matches!(task, Task::Read { .. } | Task::Swap { .. } | Task::Wake) {
                    *look = Some(task);
                }
                let mut moves = self.machine.moves(&state, hart, op).into_iter();
                if let Some(forced) = moves.find(|each| each.forced && on) {
                    state = forced.state;
                }
            }
        }
        looks
    }
}
