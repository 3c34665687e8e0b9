//! What one hart may do by itself: every path through its program, for every value that its loads could
//! return.
//!
//! A path is a [`HartTrace`]: its accesses to memory in program order, with the syntactic dependencies
//! between them. Dependencies follow registers, as the specification has it: through every instruction that
//! computes (`xor x5,x6,x6` too), and not through an access to memory. The register that tells whether `sc`
//! succeeded depends on the `sc` where it did.

use std::collections::{BTreeMap, BTreeSet};

use super::limits::Meter;
use super::refusal::{MOST_EVENTS, MOST_PATHS, NoAnswer, Refusal};
use crate::isa::execute::{Access, AccessKind, Action, Uses, execute};
use crate::isa::{Accesses, Decoded, Instruction, Register, Width};
use crate::litmus::{Test, code};

/// The values that each address could take from a store.
pub(super) type Values = BTreeMap<u64, BTreeSet<u64>>;

/// One access to memory. An atomic operation is one access that both reads and writes.
#[derive(Debug, Clone)]
pub(super) struct MemoryAccess {
    pub(super) address: u64,
    pub(super) width: Width,
    /// What it returns, as memory holds it.
    pub(super) read: Option<u64>,
    /// What it stores, cut to its width.
    pub(super) written: Option<u64>,
    pub(super) acquire: bool,
    pub(super) release: bool,
    /// Whether `lr`, `sc` or an atomic operation made it: their annotations are sequentially consistent ones.
    pub(super) atomic: bool,
    /// Earlier accesses of the hart, as bits, on which its address depends.
    pub(super) address_from: u64,
    /// … on which what it stores depends.
    pub(super) data_from: u64,
    /// … on which depends whether it is reached at all.
    pub(super) control_from: u64,
    /// Of a successful `sc`: its `lr`.
    pub(super) paired: Option<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FenceKind {
    /// Reads and writes of the one side before those of the other.
    Sides(Accesses, Accesses),
    /// Reads before all, writes before writes.
    Tso,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum TraceEnd {
    #[default]
    Finished,
    /// By an access to an address where the test has no location for so many bytes.
    Astray(u64, Width),
    /// By a jump to this address, where the hart has no instruction.
    Jumped(u64),
}

#[derive(Debug, Clone, Default)]
pub(super) struct HartTrace {
    pub(super) accesses: Vec<MemoryAccess>,
    /// With how many accesses come before each.
    pub(super) fences: Vec<(usize, FenceKind)>,
    pub(super) registers: [u64; 32],
    pub(super) end: TraceEnd,
}

#[derive(Debug, Default)]
pub(super) struct HartTraces {
    pub(super) traces: Vec<HartTrace>,
    /// Whether a path was given up because it went round a loop too often.
    pub(super) cut: bool,
}

#[derive(Clone)]
struct OpenTrace {
    pc: u64,
    trace: HartTrace,
    depends: [u64; 32],
    control: u64,
    /// The address, the width and the index of the last `lr`, until a `sc` uses it up.
    reservation: Option<(u64, Width, usize)>,
    visits: Vec<u32>,
}

/// All paths of a hart when each load returns what is there at first or any of `values`, an instruction being
/// executed `unroll` times at most.
pub(super) fn traces(
    test: &Test,
    hart: usize,
    values: &Values,
    unroll: u32,
    meter: &mut Meter<'_>,
) -> Result<HartTraces, NoAnswer> {
    let thread = &test.threads[hart];
    let trace = HartTrace { registers: thread.registers, ..HartTrace::default() };
    let visits = vec![0; thread.program.len()];
    let first = code(hart);
    let mut open =
        vec![OpenTrace { pc: first, trace, depends: [0; 32], control: 0, reservation: None, visits }];
    let mut traces = HartTraces::default();
    let mut most = 0;
    while let Some(mut path) = open.pop() {
        meter.step()?;
        if open.len() + traces.traces.len() > MOST_PATHS {
            return Err(NoAnswer::Refused(Refusal::TooManyPaths));
        }
        let bytes = size_of::<OpenTrace>()
            + size_of::<MemoryAccess>() * path.trace.accesses.len()
            + 4 * thread.program.len();
        most = most.max(bytes);
        meter.may_hold(most * (open.len() + traces.traces.len()))?;
        let distance = path.pc.wrapping_sub(first);
        let index = usize::try_from(distance / 4).unwrap_or(usize::MAX);
        let inside = distance.is_multiple_of(4) && index <= thread.program.len();
        let Some(statement) = thread.program.get(index).filter(|_| inside) else {
            path.trace.end = if inside { TraceEnd::Finished } else { TraceEnd::Jumped(path.pc) };
            traces.traces.push(path.trace);
            continue;
        };
        path.visits[index] += 1;
        if path.visits[index] > unroll {
            traces.cut = true;
            continue;
        }
        let instruction = statement.instruction;
        let decoded = Decoded { instruction, length: 4 };
        let effect = execute(&decoded, path.pc, |register| path.trace.registers[register.index()]);
        path.pc = effect.next;
        let uses = Uses::of(&instruction);
        match effect.action {
            Action::Nothing => path.flow(&instruction, &uses),
            Action::Write(register, value) => {
                path.flow(&instruction, &uses);
                path.trace.registers[register.index()] = value;
            }
            Action::Fence(before, after) => path.fence(FenceKind::Sides(before, after)),
            Action::FenceTso => path.fence(FenceKind::Tso),
            // Orders fetches, of which these tests have none that matter.
            Action::FenceI => {}
            Action::Memory(access) => {
                if path.trace.accesses.len() == MOST_EVENTS {
                    return Err(NoAnswer::Refused(Refusal::TooLarge));
                }
                if !test.fits(access.address, access.width) {
                    path.trace.end = TraceEnd::Astray(access.address, access.width);
                    traces.traces.push(path.trace);
                    continue;
                }
                if matches!(access.kind, AccessKind::StoreConditional { .. }) && path.reserves_a_part(&access)
                {
                    return Err(NoAnswer::Refused(Refusal::mixed(test, access.address)));
                }
                let made = MemoryAccess {
                    address: access.address,
                    width: access.width,
                    read: None,
                    written: None,
                    acquire: access.acquire || statement.acquire,
                    release: access.release || statement.release,
                    atomic: !matches!(access.kind, AccessKind::Load { .. } | AccessKind::Store { .. }),
                    address_from: path.from(uses.address),
                    // Of what only reads, no register.
                    data_from: path.from(uses.values[0]),
                    control_from: path.control,
                    paired: None,
                };
                let mut readable = values.get(&access.address).cloned().unwrap_or_default();
                readable.insert(test.initial(access.address, access.width));
                path.access(&access, made, readable, &mut open);
                continue;
            }
            Action::Csr { .. } | Action::Ecall | Action::Ebreak | Action::Wfi | Action::Mret => {
                return Err(NoAnswer::Refused(Refusal::Unsupported(instruction)));
            }
        }
        open.push(path);
    }
    meter.hold(most * traces.traces.len())?;
    Ok(traces)
}

impl OpenTrace {
    fn from(&self, register: Option<Register>) -> u64 {
        register.map_or(0, |register| self.depends[register.index()])
    }

    /// Dependencies through an instruction that does not access memory.
    fn flow(&mut self, instruction: &Instruction, uses: &Uses) {
        let from = uses.values.iter().fold(0, |from, &register| from | self.from(register));
        let jumps = matches!(instruction, Instruction::Branch { .. } | Instruction::Jalr { .. });
        if jumps {
            self.control |= from;
        }
        if let Some(register) = uses.written {
            // A link is the address of the instruction, wherever the jump goes.
            self.depends[register.index()] = if jumps { 0 } else { from };
        }
    }

    fn fence(&mut self, kind: FenceKind) {
        self.trace.fences.push((self.trace.accesses.len(), kind));
    }

    /// Whether what is reserved overlaps this access without being the same bytes. Such a store-conditional
    /// may succeed ("Zalrsc" asks only that its bytes are in the reservation set), which is not modelled.
    fn reserves_a_part(&self, access: &Access) -> bool {
        self.reservation.is_some_and(|(address, width, _)| {
            let overlaps =
                address < access.address + access.width.bytes() && access.address < address + width.bytes();
            overlaps && (address, width) != (access.address, access.width)
        })
    }

    /// Goes on by every way in which memory can answer. `made` is the access as far as it is known before.
    fn access(self, access: &Access, made: MemoryAccess, readable: BTreeSet<u64>, open: &mut Vec<Self>) {
        match access.kind {
            AccessKind::Store { value } => {
                open.push(self.after(MemoryAccess { written: Some(value), ..made }, None));
            }
            AccessKind::StoreConditional { rd, value } => {
                let reserved = self.reservation;
                let pair = reserved
                    .filter(|&(address, width, _)| address == access.address && width == access.width);
                // It may fail for no reason at all, and then accesses nothing.
                let mut failed = Self { reservation: None, ..self };
                let succeeded = pair.map(|(_, _, reserved)| {
                    let made = MemoryAccess { written: Some(value), paired: Some(reserved), ..made };
                    failed.clone().after(made, Some((rd, 0)))
                });
                failed.write(rd, 1, 0);
                open.push(failed);
                open.extend(succeeded);
            }
            AccessKind::Load { .. } | AccessKind::LoadReserved { .. } | AccessKind::Amo { .. } => {
                let index = self.trace.accesses.len();
                for value in readable {
                    let mut made = MemoryAccess { read: Some(value), ..made.clone() };
                    if let AccessKind::Amo { op, operand, .. } = access.kind {
                        made.written = Some(op.apply(access.width, value, operand));
                    }
                    let mut next = self.clone().after(made, access.loaded(value));
                    if let AccessKind::LoadReserved { .. } = access.kind {
                        next.reservation = Some((access.address, access.width, index));
                    }
                    open.push(next);
                }
            }
        }
    }

    /// The path with one more access, whose register takes this value.
    fn after(mut self, access: MemoryAccess, result: Option<(Register, u64)>) -> Self {
        let bit = 1 << self.trace.accesses.len();
        self.trace.accesses.push(access);
        if let Some((register, value)) = result {
            self.write(register, value, bit);
        }
        self
    }

    fn write(&mut self, register: Register, value: u64, from: u64) {
        if !register.is_zero() {
            self.trace.registers[register.index()] = value;
            self.depends[register.index()] = from;
        }
    }
}
