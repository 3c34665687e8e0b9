//! What is asked about a boot, and what is answered.

use std::collections::BTreeMap;

use tenbin_model::words::memory;

use crate::answer::{BootAction, Effort, Fault, Planted};
use crate::axiomatic::Model;
use crate::image::{FetchError, Image};
use crate::isa::{Decoded, Instruction, Register, csr};

#[derive(Debug, Clone)]
pub(crate) struct BootQuestion<'a> {
    /// The firmware, with every word set that is to be set. All harts begin at its entry.
    pub(crate) image: &'a Image,
    /// How many harts, 1 to 8.
    pub(crate) harts: u32,
    pub(crate) memory: Model,
    /// How many instructions of a hart may be begun and not performed, at least 1. Under SC it does not
    /// matter.
    pub(crate) window: u32,
    pub(crate) landmarks: Landmarks,
    /// What registers must hold when a hart comes to [`Landmarks::arrived`].
    pub(crate) expected: Vec<Expectation>,
    /// What control and status registers hold at first, by their numbers. Those that are not here hold what
    /// the architecture says (volume II, "Reset"), which of most is nothing.
    pub(crate) controls: BTreeMap<u16, u64>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Landmarks {
    /// The goal of every hart but the boot hart. A hart that comes here has arrived, and is not looked at any
    /// more.
    pub(crate) arrived: Vec<u64>,
    /// The goal of the boot hart.
    pub(crate) all_arrived: Vec<u64>,
    /// PC at which a hart becomes the boot hart.
    pub(crate) primary: Option<u64>,
    /// PC at which a hart starts, which must have been told before.
    pub(crate) started: Option<u64>,
    /// The next store from here tells the hart whose number is in a0.
    pub(crate) tell: Vec<u64>,
    /// The next store from here tells all harts.
    pub(crate) tell_all: Vec<u64>,
    /// When a hart comes here, the memory in [`Landmarks::to_clear`] is clear.
    pub(crate) cleared: Option<u64>,
    /// The memory that is to be cleared: its first byte, and the byte behind its last one.
    pub(crate) to_clear: Option<(u64, u64)>,
}

/// `register` must hold `base` + `step` · the hart's number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expectation {
    pub(crate) register: Register,
    pub(crate) base: u64,
    /// How much more for each following hart.
    pub(crate) step: u64,
}

impl Expectation {
    /// What is expected of this hart.
    pub(crate) fn of(&self, hart: u64) -> u64 {
        self.base.wrapping_add(self.step.wrapping_mul(hart))
    }
}

#[derive(Clone, Copy)]
pub(crate) struct CheckLimits<'a> {
    pub(crate) bytes: u64,
    /// Asked now and then, with the states so far; the work ends where it says true. A deadline and a line of
    /// progress are this.
    pub(crate) stop: Option<&'a (dyn Fn(u64) -> bool + Sync)>,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Report {
    /// The shortest run that was found for each kind of fault, in the order of [`Fault`]. None: every hart
    /// always arrives.
    pub(crate) findings: Vec<Finding>,
    /// Whether every state was looked at. Else a limit was reached: what is found stands, and there may be
    /// more.
    pub(crate) whole: bool,
    /// Whether garbage was computed with: then what was tried of it need not be all that matters.
    pub(crate) partly: bool,
    /// Whether some hart could have begun more instructions than the window holds. What is found stands
    /// anyway; that there is no more stands up to this window.
    pub(crate) window_full: bool,
    /// Addresses of instructions behind which nothing was begun early, though it may be: that there is no
    /// more stands but for that.
    pub(crate) held: Vec<u64>,
    /// Addresses of `lr` whose loop need not ever succeed: it is no constrained LR/SC loop (volume I,
    /// "Eventual Success of Store-Conditional Instructions"). Here it is believed to.
    pub(crate) retries: Vec<u64>,
    /// The cost. Its time is for others to say, who have a clock.
    pub(crate) effort: Effort,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    pub(crate) fault: Fault,
    pub(crate) culprit: Option<u32>,
    pub(crate) trace: Trace,
}

/// A run, from the first instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// What memory must hold at first where the file does not say, as far as the run reads it; by address.
    pub(crate) garbage: Vec<Planted>,
    /// One after the other. What changes nothing (a hart that looks again at what it waits for) is left out.
    pub(crate) steps: Vec<Step>,
    pub(crate) repeats_from: Option<usize>,
    /// Where the harts are then, by number.
    pub(crate) ends: Vec<End>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) hart: u32,
    pub(crate) pc: u64,
    pub(crate) decoded: Decoded,
    pub(crate) action: BootAction,
    pub(crate) overtakes: u32,
    pub(crate) events: Vec<Milestone>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Milestone {
    Primary,
    Cleared,
    /// This hart is told to start.
    Notified(u32),
    NotifiedAll,
    Started,
    Arrived,
    AllArrived,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The oldest instruction that is not performed.
    pub(crate) pc: u64,
    pub(crate) doing: Doing,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    Arrived,
    Waits {
        address: u64,
        bytes: u32,
        value: u64,
        /// Whether no other hart reads or writes them, in any run.
        alone: bool,
    },
    Sleeps,
    /// It goes round without looking at memory.
    Loops,
    /// It went where nothing is.
    Astray,
    Runs,
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub(crate) enum Refused {
    /// [`CheckLimits::bytes`] are used up.
    #[error("{} reached at {} states", memory(.0.bytes), .0.states)]
    Memory(Effort),
    /// [`CheckLimits::stop`] said so.
    #[error("the time ran out at {} states", .0.states)]
    Stopped(Effort),
    #[error("{0}")]
    Fetch(FetchError),
    /// An instruction that no run here can perform: traps, interrupts that are taken, control registers that
    /// are not known.
    #[error("at {pc:#x}: `{instruction}` is not supported")]
    Unsupported { pc: u64, instruction: Instruction },
    #[error("a loop at {pc:#x} is too long to follow")]
    TooLong { pc: u64 },
    /// A load needs a part of what an older store of its hart puts into a word that other harts access too,
    /// or a store-conditional goes to a part of what is reserved there.
    #[error(
        "a load needs a part of an older store of its hart, or a store-conditional a part of what is reserved, at {address:#x}: accesses of several widths to a word that harts share are not supported"
    )]
    Mixed { address: u64 },
    #[error("the comparison at {pc:#x} depends on a register that nobody set")]
    Unset { pc: u64 },
    /// The way of a hart depends on what a control and status register holds at first, which nothing says.
    #[error(
        "a hart's path depends on what {name} holds at first, which it reads at {pc:#x}, and the architecture leaves that open: set it with --csr {name}=VALUE",
        name = csr::label(.csr)
    )]
    UnsetControl { pc: u64, csr: u16 },
    #[error("a store to {address:#x} changes code, which is not supported")]
    Overwritten { address: u64 },
}
