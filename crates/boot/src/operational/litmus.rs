//! Litmus tests on the operational model: what can be left in registers and memory when every hart has come
//! to its end.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use rustc_hash::FxBuildHasher;

use super::local::Position;
use super::machine::{MOST_HARTS, Machine, State};
use super::path::Task;
use super::program::{AnnotatedInstruction, Fetched, Program, Region, Word};
use crate::axiomatic::{Limits, Model, NoAnswer, Outcomes, Refusal};
use crate::isa::Width;
use crate::litmus::{Observable, SPACING, Test, code};

struct Threads<'a> {
    test: &'a Test,
    model: Model,
    window: u32,
}

impl Program for Threads<'_> {
    fn model(&self) -> Model {
        self.model
    }

    fn window(&self) -> u32 {
        self.window
    }

    fn start(&self, hart: u8) -> (u64, [u64; 32]) {
        (code(usize::from(hart)), self.test.threads[usize::from(hart)].registers)
    }

    fn at(&self, pc: u64) -> Fetched {
        let hart = (0..self.test.threads.len()).rev().find(|&hart| code(hart) <= pc);
        let Some(hart) = hart else { return Fetched::Nowhere };
        let (program, distance) = (&self.test.threads[hart].program, pc - code(hart));
        let index = usize::try_from(distance / 4).unwrap_or(usize::MAX);
        if !distance.is_multiple_of(4) || index > program.len() {
            return Fetched::Nowhere;
        }
        let Some(statement) = program.get(index) else { return Fetched::End };
        let annotated = statement.instruction.annotations();
        Fetched::Code(AnnotatedInstruction {
            instruction: statement.instruction,
            length: 4,
            acquire: statement.acquire || annotated.0,
            release: statement.release || annotated.1,
        })
    }

    fn constant(&self, _: u64, _: Width) -> Option<u64> {
        None
    }

    fn region(&self, address: u64) -> Region {
        match self.test.place_at(address) {
            Some(place) if address.is_multiple_of(SPACING) => Region::Memory(Word::of(place.initial)),
            _ => Region::Nowhere,
        }
    }

    fn live(&self, _: u64) -> u32 {
        u32::MAX
    }
}

/// All outcomes of `test` under `model`, where no hart has more than `window` instructions begun and not
/// performed. Where the window was too small, [`Outcomes::cut`] says so. Of `limits`, `steps` and `stop`
/// count.
///
/// # Errors
/// Where `limits` are reached first, or the test has something that is not supported.
pub fn outcomes(test: &Test, model: Model, window: u32, limits: Limits<'_>) -> Result<Outcomes, NoAnswer> {
    let program = Threads { test, model, window };
    let harts = test.threads.len();
    if harts > MOST_HARTS {
        return Err(NoAnswer::Refused(Refusal::TooLarge));
    }
    let mut machine = Machine::new(&program, harts);
    let Some((first, _)) = machine.first() else { return Err(NoAnswer::Refused(Refusal::TooLarge)) };
    let mut states = IndexSet::<State, FxBuildHasher>::default();
    states.insert(first);
    let mut outcomes = Outcomes { states: BTreeSet::new(), kinds: Vec::new(), cut: false, steps: 0 };
    let mut widths = BTreeMap::new();
    let mut ends = Vec::new();
    let mut next = 0;
    while let Some(&state) = states.get_index(next) {
        next += 1;
        let mut over = true;
        for hart in 0..harts {
            let possible = machine.possible(state[hart]);
            outcomes.cut |= possible.full || !possible.held.is_empty();
            let local = machine.local(state[hart]);
            over &= matches!(local.at, Position::Arrived(_)) && local.left.is_empty();
            if let Position::Astray(_) = local.at {
                return Err(NoAnswer::Refused(Refusal::Astray { thread: hart, address: 0 }));
            }
            for (index, op) in possible.ops.iter().enumerate() {
                if let Task::Read { address, width }
                | Task::Write { address, width, .. }
                | Task::Swap { address, width, .. }
                | Task::Succeed { address, width, .. } = op.task
                {
                    if !test.fits(address, width) {
                        let refusal = Refusal::astray(test, hart, address, width);
                        return Err(NoAnswer::Refused(refusal));
                    }
                    widths.insert(address, width);
                }
                for each in machine.moves(&state, hart, index) {
                    outcomes.steps += 1;
                    states.insert(each.state);
                }
                let late = outcomes.steps.is_multiple_of(1024) && limits.stop.is_some_and(|stop| stop());
                if outcomes.steps > limits.steps || late {
                    return Err(NoAnswer::NotFinished { steps: outcomes.steps });
                }
            }
        }
        if over {
            ends.push(state);
        }
    }
    let kinds = test.kinds(&widths);
    let machine = RefCell::new(machine);
    for state in ends {
        let value = |observable| match observable {
            Observable::Register { thread, register } => {
                machine.borrow().local(state[thread]).registers[register.index()]
            }
            Observable::Memory { place } => {
                let address = test.places[place].address;
                kinds[place].of(machine.borrow_mut().peek(&state, address, Width::Double).0)
            }
        };
        if test.filter.as_ref().is_none_or(|filter| filter.is_true(&kinds, &value)) {
            outcomes.states.insert(test.observed.iter().map(|&observable| value(observable)).collect());
        }
    }
    outcomes.kinds = kinds;
    Ok(outcomes)
}
