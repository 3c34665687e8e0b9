//! A run, played step by step on harts that a debugger holds.
//!
//! Of each step the run says which hart performs which instruction, on which address, and what it reads or
//! writes. The hart is stepped until it stands there, all of that is looked at, it is stepped once more, and
//! what came of it is looked at too. So a machine that does something else is noticed at that step. A run
//! leaves out accesses that nobody in it can tell; the hart does them on the way.
//!
//! Where a run reorders, the harts of an emulator do not. Then the debugger plays: a store that is performed
//! before its turn is written to memory by it, of a load before its turn the value is kept; the hart stays
//! behind, at its oldest instruction that is not performed. When it comes to such an instruction in program
//! order, the address and the value are looked at, a register gets the value that was kept, and the hart is
//! put behind the instruction.
//!
//! Which of two instructions is older follows from how many older ones each overtook, since that counts only
//! instructions that are performed later: of an instruction `e` that was performed early, so many are still
//! owed; one that is performed now, with `m` older ones to come, is older than `e` if and only if `m` is less
//! than what `e` is owed.

mod free;

use std::collections::BTreeSet;

use tenbin_boot::{BootAction, BootStep, Counterexample, Hex, Planted, ReplayedHart, Writer};
use tenbin_model::order;

use super::code::{Code, CodeKind};
use crate::debugger::{Harts, Trouble};
use tenbin_model::words::comma;

/// How many instructions a hart may take to the next step of the run.
const FAR: u32 = 20_000;

/// The registers whose content is told.
const SP: u8 = 2;
const A1: u8 = 11;

/// Why a run was not followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Parted {
    /// The machine does something else.
    Departed { step: Option<usize>, why: String },
    /// The machine cannot do this.
    Cannot(String),
    /// The machine does not answer.
    Trouble(Trouble),
}

impl From<Trouble> for Parted {
    fn from(trouble: Trouble) -> Self {
        Self::Trouble(trouble)
    }
}

/// What was done to follow a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Work {
    /// Instructions stepped through.
    pub(super) instructions: u64,
    /// Accesses performed before their turn.
    pub(super) out_of_order: u32,
    /// Instructions passed over.
    pub(super) passed_over: u32,
}

/// How often the emulator is asked for one step.
const MOST_ASKED: u32 = 8;

/// An instruction that was performed before its turn.
#[derive(Clone, Copy)]
struct Early {
    /// Its step.
    step: usize,
    /// How many older instructions of its hart are still to be performed.
    owed: u32,
}

/// Whoever plays a run.
pub(super) struct Follower<'a, H> {
    machine: &'a mut H,
    run: &'a Counterexample,
    code: &'a dyn Fn(u64) -> Option<Code>,
    /// Of each hart, in program order.
    early: Vec<Vec<Early>>,
    pub(super) work: Work,
}

/// What a hart is stepped towards.
#[derive(Clone, Copy)]
enum Aim {
    /// The instruction of this step.
    Step(usize),
    /// This address.
    Place(u64),
    /// What is behind all that was performed early.
    Behind,
}

impl<'a, H: Harts> Follower<'a, H> {
    /// Plays `run` on so many harts, which stand at their first instruction.
    pub(super) fn new(
        machine: &'a mut H,
        run: &'a Counterexample,
        code: &'a dyn Fn(u64) -> Option<Code>,
        harts: u32,
    ) -> Self {
        let early = (0..harts).map(|_| Vec::new()).collect();
        Self { machine, run, code, early, work: Work::default() }
    }

    /// Puts words into memory.
    pub(super) fn plant(&mut self, words: &[Planted]) -> Result<(), Parted> {
        for Planted { address, bytes, value, name } in words {
            if !self.machine.set_memory(address.0, *bytes, value.0)? {
                return Err(Parted::Cannot(format!("the emulator has no memory at {address} ({name})")));
            }
        }
        Ok(())
    }

    /// Plays every step.
    pub(super) fn follow(&mut self) -> Result<(), Parted> {
        (0..self.run.steps.len()).try_for_each(|step| self.play(step))
    }

    /// Plays the part that repeats again. The first time it was within [`Follower::follow`].
    pub(super) fn repeat(&mut self, rounds: u32) -> Result<(), Parted> {
        let Some(from) = self.run.repeats_from.filter(|&from| from < self.run.steps.len()) else {
            return Err(Parted::Cannot("the run does not say which part of it repeats".to_owned()));
        };
        (0..rounds).try_for_each(|_| (from..self.run.steps.len()).try_for_each(|step| self.play(step)))
    }

    fn play(&mut self, index: usize) -> Result<(), Parted> {
        let step = &self.run.steps[index];
        let hart = step.hart as usize;
        if hart >= self.early.len() {
            return Err(depart(index, format!("there is no hart {hart}")));
        }
        let early = step.overtakes > 0;
        if early {
            self.perform_early(index, step)?;
        } else {
            self.walk(step.hart, Aim::Step(index))?;
        }
        let pending = &mut self.early[hart];
        let place = pending.partition_point(|other| other.owed <= step.overtakes);
        for younger in &mut pending[place..] {
            younger.owed -= 1;
        }
        if early {
            pending.insert(place, Early { step: index, owed: step.overtakes });
        }
        Ok(())
    }

    /// Does to memory what an instruction does there whose turn has not come.
    fn perform_early(&mut self, index: usize, step: &BootStep) -> Result<(), Parted> {
        match &step.action {
            // What is forwarded is not in memory yet.
            BootAction::Read { from: Writer::Forwarded, .. } => {}
            BootAction::Read { address, bytes, value, .. } => {
                self.holds(index, address.0, *bytes, value.0)?;
            }
            BootAction::Wrote { address, bytes, value, name } => {
                self.write_early(address.0, *bytes, value.0, name)?;
            }
            BootAction::Swapped { address, bytes, read, value, name, .. } => {
                if let Some(read) = read {
                    self.holds(index, address.0, *bytes, read.0)?;
                }
                self.write_early(address.0, *bytes, value.0, name)?;
            }
            BootAction::Failed | BootAction::Woke { .. } => {}
        }
        self.work.out_of_order += 1;
        Ok(())
    }

    fn write_early(&mut self, address: u64, bytes: u32, value: u64, name: &str) -> Result<(), Parted> {
        if self.machine.set_memory(address, bytes, value)? {
            return Ok(());
        }
        Err(Parted::Cannot(format!(
            "the run writes {name}, which is not memory, before its turn, and the debugger cannot write there"
        )))
    }

    fn holds(&mut self, index: usize, address: u64, bytes: u32, value: u64) -> Result<(), Parted> {
        let there = self.machine.memory(address, bytes)?;
        let expected = low(value, bytes);
        agrees(index, there == Some(expected), || {
            let there = there.map_or_else(|| "no memory".to_owned(), |there| format!("{there:#x}"));
            format!("{address:#x} should hold {expected:#x} and holds {there}")
        })
    }

    /// Steps a hart until it has come to its aim; the instruction of a step is performed.
    fn walk(&mut self, hart: u32, aim: Aim) -> Result<(), Parted> {
        let index = if let Aim::Step(index) = aim { Some(index) } else { None };
        let target = match aim {
            Aim::Step(index) => Some(self.run.steps[index].pc.0),
            Aim::Place(pc) => Some(pc),
            Aim::Behind => None,
        };
        let mut came_by = None;
        for _ in 0..FAR {
            let pc = self.machine.pc(hart)?;
            let there = target == Some(pc);
            let known = self.early[hart as usize].iter().any(|it| self.run.steps[it.step].pc.0 == pc);
            let address = if there || known { self.accessed(hart, pc)? } else { None };
            // Another instance of the same instruction may access something else.
            let fits = |step: &BootStep| {
                step.pc.0 == pc && step.action.access().is_none_or(|it| Some(it.address) == address)
            };
            let pending = self.early[hart as usize].iter().position(|it| fits(&self.run.steps[it.step]));
            let older = pending.is_some_and(|at| self.early[hart as usize][at].owed == 0);
            let own = index.is_none_or(|index| fits(&self.run.steps[index]));
            // Of all that is older than where a run leaves its hart, nothing is to come: else this is not the
            // last time that it comes by.
            let last = index.is_some() || self.overdue(hart).is_none();
            if there && own && !older && last {
                return index.map_or(Ok(()), |index| self.perform(hart, index, false));
            }
            if there && !own {
                came_by = address;
            }
            match pending {
                Some(pending) => {
                    let Early { step, .. } = self.early[hart as usize].remove(pending);
                    self.perform(hart, step, true)?;
                }
                None if matches!(aim, Aim::Behind) && self.early[hart as usize].is_empty() => return Ok(()),
                None => self.step_on(hart, pc, aim)?,
            }
        }
        let pc = self.machine.pc(hart)?;
        let why = match target {
            Some(target) => {
                format!("hart {hart} should come to {target:#x}, and is at {pc:#x} after {FAR} instructions")
            }
            None => format!(
                "hart {hart} should come to what it performed before its turn, and is at {pc:#x} after {FAR} instructions"
            ),
        };
        if let (Aim::Place(_), Some(step)) = (aim, self.overdue(hart)) {
            return Err(depart(
                step,
                format!("hart {hart} did this before its turn, and its turn did not come"),
            ));
        }
        let by = came_by.map_or_else(String::new, |address| format!("; there it accessed {address:#x}"));
        Err(Parted::Departed { step: index, why: why + &by })
    }

    /// A step that a hart performed before its turn, and whose turn must have come: all that is older is
    /// performed.
    fn overdue(&self, hart: u32) -> Option<usize> {
        self.early[hart as usize].iter().find(|early| early.owed == 0).map(|early| early.step)
    }

    /// One instruction on the way. It may access what nobody in the run reads: of such steps a run has none.
    fn step_on(&mut self, hart: u32, pc: u64, aim: Aim) -> Result<(), Parted> {
        let step = if let Aim::Step(index) = aim { Some(index) } else { None };
        match (self.code)(pc) {
            None => {
                let why = format!("hart {hart} goes to {pc:#x}, where no instruction is known");
                Err(Parted::Departed { step, why })
            }
            Some(code) if code.kind == CodeKind::Wait => self.pass(hart, pc, code),
            Some(_) => self.step(hart),
        }
    }

    /// The address that the instruction at `pc` accesses for this hart, if it does.
    fn accessed(&mut self, hart: u32, pc: u64) -> Result<Option<u64>, Parted> {
        let (base, offset) = match (self.code)(pc).map(|code| code.kind) {
            Some(CodeKind::Load { base, offset, .. } | CodeKind::Store { base, offset, .. }) => {
                (base, offset)
            }
            Some(CodeKind::Swap { base, .. } | CodeKind::Conditional { base, .. }) => (base, 0),
            Some(CodeKind::Plain | CodeKind::Wait) | None => return Ok(None),
        };
        Ok(Some(self.machine.register(hart, base)?.wrapping_add_signed(offset)))
    }

    /// Performs the instruction of a step, at which the hart is, and looks at it before and after. If it was
    /// performed `early`, it is passed over, and what it reads is put where it belongs.
    fn perform(&mut self, hart: u32, index: usize, early: bool) -> Result<(), Parted> {
        let step = &self.run.steps[index];
        let pc = step.pc.0;
        let Some(code) = (self.code)(pc) else {
            return Err(depart(index, format!("no instruction is known at {pc:#x}")));
        };
        match (&step.action, code.kind) {
            (
                BootAction::Read { address, bytes, value, .. },
                CodeKind::Load { target, base, offset, signed },
            ) => {
                let taken = extended(value.0, *bytes, signed);
                self.accesses(hart, index, base, offset, address.0)?;
                if !early {
                    self.holds(index, address.0, *bytes, value.0)?;
                    self.step(hart)?;
                    return self.has(hart, index, target, taken);
                }
                self.set(hart, target, taken)?;
            }
            (BootAction::Wrote { address, bytes, value, .. }, CodeKind::Store { source, base, offset }) => {
                self.accesses(hart, index, base, offset, address.0)?;
                self.has_low(hart, index, source, value.0, *bytes)?;
                if !early {
                    self.step(hart)?;
                    return self.holds(index, address.0, *bytes, value.0);
                }
            }
            (BootAction::Swapped { address, bytes, read, value, .. }, CodeKind::Swap { target, base })
                if !early || read.is_some() =>
            {
                self.accesses(hart, index, base, 0, address.0)?;
                let there = match read {
                    Some(read) => read.0,
                    None => self.machine.memory(address.0, *bytes)?.unwrap_or(0),
                };
                let taken = extended(there, *bytes, true);
                if !early {
                    self.holds(index, address.0, *bytes, there)?;
                    self.step(hart)?;
                    self.holds(index, address.0, *bytes, value.0)?;
                    return self.has(hart, index, target, taken);
                }
                self.set(hart, target, taken)?;
            }
            (
                BootAction::Swapped { address, bytes, value, .. },
                CodeKind::Conditional { target, source, base },
            ) => {
                self.accesses(hart, index, base, 0, address.0)?;
                self.has_low(hart, index, source, value.0, *bytes)?;
                if !early {
                    self.step(hart)?;
                    self.has(hart, index, target, 0)?;
                    return self.holds(index, address.0, *bytes, value.0);
                }
                self.set(hart, target, 0)?;
            }
            // It may fail for no reason, and here it would not.
            (BootAction::Failed, CodeKind::Conditional { target, .. }) => self.set(hart, target, 1)?,
            // It may return for no reason, and here the hart would sleep.
            (BootAction::Woke { .. }, CodeKind::Wait) => {}
            (action, kind) => {
                return Err(depart(index, format!("at {pc:#x} is {kind:?}, which does not do {action:?}")));
            }
        }
        self.pass(hart, pc, code)
    }

    /// The address that an instruction computes must be the run's.
    fn accesses(
        &mut self,
        hart: u32,
        index: usize,
        base: u8,
        offset: i64,
        address: u64,
    ) -> Result<(), Parted> {
        let computed = self.machine.register(hart, base)?.wrapping_add_signed(offset);
        agrees(index, computed == address, || {
            format!("hart {hart} should access {address:#x} and accesses {computed:#x}")
        })
    }

    fn has(&mut self, hart: u32, index: usize, register: u8, expected: u64) -> Result<(), Parted> {
        if register == 0 {
            return Ok(());
        }
        let there = self.machine.register(hart, register)?;
        agrees(index, there == expected, || {
            format!("x{register} of hart {hart} should hold {expected:#x} and holds {there:#x}")
        })
    }

    fn has_low(
        &mut self,
        hart: u32,
        index: usize,
        register: u8,
        expected: u64,
        bytes: u32,
    ) -> Result<(), Parted> {
        let there = low(self.machine.register(hart, register)?, bytes);
        let expected = low(expected, bytes);
        agrees(index, there == expected, || {
            format!("hart {hart} should write {expected:#x} and would write {there:#x}")
        })
    }

    fn set(&mut self, hart: u32, register: u8, value: u64) -> Result<(), Parted> {
        if register != 0 {
            self.machine.set_register(hart, register, value)?;
        }
        Ok(())
    }

    fn pass(&mut self, hart: u32, pc: u64, code: Code) -> Result<(), Parted> {
        self.machine.set_pc(hart, pc.wrapping_add(code.length))?;
        self.work.passed_over += 1;
        Ok(())
    }

    /// On a busy host the emulator answers once in many thousand times before it has executed the
    /// instruction. Then it is asked again. One that goes to itself may be executed more often than once:
    /// that changes nothing.
    fn step(&mut self, hart: u32) -> Result<(), Parted> {
        let before = self.machine.pc(hart)?;
        for _ in 0..MOST_ASKED {
            self.machine.step(hart)?;
            if self.machine.pc(hart)? != before {
                break;
            }
        }
        self.work.instructions += 1;
        Ok(())
    }

    /// Has the hart that went astray execute what it stands at, and looks whether that traps.
    pub(super) fn trap(&mut self) -> Result<(), Parted> {
        let Some((hart, end)) = (0..).zip(&self.run.ends).find(|(_, end)| end.astray) else {
            let why = "the answer does not say which hart goes astray; `boot check` now says it";
            return Err(Parted::Cannot(why.to_owned()));
        };
        let pc = end.pc.0;
        self.step(hart)?;
        let now = self.machine.pc(hart)?;
        // Where there is no code, nobody knows how long it is.
        let lengths = (self.code)(pc).map_or_else(|| vec![2, 4], |code| vec![code.length]);
        if lengths.iter().any(|&length| now == pc.wrapping_add(length)) {
            return Err(Parted::Cannot(format!(
                "not shown: the emulator executes what hart {hart} stands at ({}) and goes on to {now:#x}; a machine that has \
                 nothing there, or takes no misaligned access, traps",
                end.place
            )));
        }
        Ok(())
    }

    /// Brings every hart to where the run leaves it, and says what is there.
    pub(super) fn leave(&mut self, goals: &[u64]) -> Result<Vec<ReplayedHart>, Parted> {
        let mut left = Vec::new();
        for (hart, end) in (0..).zip(&self.run.ends) {
            self.walk(hart, Aim::Place(end.pc.0))?;
            let arrived = goals.contains(&end.pc.0);
            if end.arrived && !arrived {
                let goals: BTreeSet<u64> = order::set(goals.iter().copied());
                let goals: Vec<String> = goals.into_iter().map(|goal| format!("{goal:#x}")).collect();
                return Err(Parted::Cannot(format!(
                    "hart {hart} has arrived at {}, which is not a goal; goals are: {}",
                    end.pc,
                    comma(&goals)
                )));
            }
            let (sp, a1) = (self.machine.register(hart, SP)?, self.machine.register(hart, A1)?);
            let place = end.place.clone();
            left.push(ReplayedHart { pc: end.pc, place, sp: Hex(sp), a1: Hex(a1), arrived });
        }
        if left.len() == self.early.len() {
            return Ok(left);
        }
        let why = format!("the run has {} ends for {} harts", left.len(), self.early.len());
        Err(Parted::Departed { step: None, why })
    }
}

/// Two of the harts that have arrived must have one stack.
pub(super) fn share(harts: &[ReplayedHart]) -> Result<(), Parted> {
    let arrived = harts.iter().filter(|it| it.arrived);
    let shared =
        arrived.clone().enumerate().any(|(at, one)| arrived.clone().skip(at + 1).any(|it| it.sp == one.sp));
    if shared {
        return Ok(());
    }
    let stacks = comma(arrived.map(|it| it.sp.to_string()));
    let why = format!("no two harts that arrived share a stack: their stack pointers are {stacks}");
    Err(Parted::Departed { step: None, why })
}

fn depart(step: usize, why: String) -> Parted {
    Parted::Departed { step: Some(step), why }
}

/// Where it does not, the machine departs there.
fn agrees(step: usize, it_does: bool, why: impl FnOnce() -> String) -> Result<(), Parted> {
    if it_does { Ok(()) } else { Err(depart(step, why())) }
}

/// The low bytes of a number.
fn low(value: u64, bytes: u32) -> u64 {
    if bytes >= 8 { value } else { value & ((1 << (8 * bytes)) - 1) }
}

/// The low bytes of a number as a register holds them.
fn extended(value: u64, bytes: u32, signed: bool) -> u64 {
    let unused = 64 - 8 * bytes.clamp(1, 8);
    let high = value << unused;
    if signed { ((high as i64) >> unused) as u64 } else { high >> unused }
}

#[cfg(test)]
mod tests;
#[cfg(test)]
mod toy;
