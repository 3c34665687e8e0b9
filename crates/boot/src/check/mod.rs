//! What can go wrong when several harts boot, and the run in which it does.
//!
//! [`check`] looks at every run of the machine code in an [`Image`] on so many harts: every order in which
//! they can step, everything that memory may hold where the file does not say, every reordering that the
//! memory model allows within a window.

mod program;
mod garbage;
mod retries;
#[cfg(test)]
mod tests;
mod trace;

use std::collections::BTreeMap;
use std::fmt;

use crate::answer::{BootAction, Effort, Fault, Planted};
use crate::axiomatic::Model;
use crate::explore::{Described, Search, Spent, Unfinished};
use crate::image::{FetchError, Image};
use crate::isa::{Decoded, Instruction, Register, csr};
use crate::operational::control::may_be_given;
use crate::operational::machine::Machine;
use crate::operational::step::Signal;
use program::{ImageProgram, Learned};
use tenbin_model::words::memory;

/// The number of the control and status register of this name, if what it holds at first can be given.
pub(crate) fn control(name: &str) -> Option<u16> {
    csr::number(name).filter(|&number| may_be_given(number))
}

/// What to examine.
#[derive(Debug, Clone)]
pub(crate) struct Question<'a> {
    /// The firmware, with every word set that is to be set. All harts begin at its entry.
    pub(crate) image: &'a Image,
    /// How many harts, 1 to 8.
    pub(crate) harts: u32,
    /// How memory orders what they do.
    pub(crate) memory: Model,
    /// How many instructions of a hart may be begun and not performed, at least 1. Under SC it does not
    /// matter.
    pub(crate) window: u32,
    /// What places in the code mean.
    pub(crate) landmarks: Landmarks,
    /// What registers must hold when a hart comes to [`Landmarks::arrived`].
    pub(crate) expected: Vec<Expectation>,
    /// What control and status registers hold at first, by their numbers. Those that are not here hold what
    /// the architecture says (volume II, "Reset"), which of most is nothing.
    pub(crate) controls: BTreeMap<u16, u64>,
}

/// What places in the code mean for the boot.
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
    /// The register.
    pub(crate) register: Register,
    /// For hart 0.
    pub(crate) base: u64,
    /// How much more for each following hart.
    pub(crate) step: u64,
}

/// What the examination may cost.
#[derive(Clone, Copy)]
pub(crate) struct Limits<'a> {
    /// Bytes of memory.
    pub(crate) bytes: u64,
    /// Asked now and then, with the states so far; the work ends where it says true. A deadline and a line of
    /// progress are this.
    pub(crate) stop: Option<&'a (dyn Fn(u64) -> bool + Sync)>,
}

/// What was found.
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

/// A fault and the run that shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Finding {
    /// What is wrong.
    pub(crate) fault: Fault,
    /// Who shows it.
    pub(crate) culprit: Option<u32>,
    /// How one gets there.
    pub(crate) trace: Trace,
}

/// A run, from the first instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Trace {
    /// What memory must hold at first where the file does not say, as far as the run reads it; by address.
    pub(crate) garbage: Vec<Planted>,
    /// One after the other. What changes nothing (a hart that looks again at what it waits for) is left out.
    pub(crate) steps: Vec<Step>,
    /// From this step on the run repeats itself.
    pub(crate) repeats_from: Option<usize>,
    /// Where the harts are then, by number.
    pub(crate) ends: Vec<End>,
}

/// What one hart does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Step {
    /// Who.
    pub(crate) hart: u32,
    /// Where its instruction is.
    pub(crate) pc: u64,
    /// The instruction.
    pub(crate) decoded: Decoded,
    /// What it does.
    pub(crate) action: BootAction,
    /// How many older instructions of the hart are performed later.
    pub(crate) overtakes: u32,
    /// What that means for the boot.
    pub(crate) events: Vec<Event>,
}

/// What a step means for the boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Event {
    /// The hart boots.
    Primary,
    /// Memory is clear.
    Cleared,
    /// This hart is told to start.
    Notified(u32),
    /// All harts are told.
    NotifiedAll,
    /// The hart starts.
    Started,
    /// The hart has arrived.
    Arrived,
    /// The boot hart has started all.
    AllArrived,
}

/// Where a hart is in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct End {
    /// The oldest instruction that is not performed.
    pub(crate) pc: u64,
    /// What it does there.
    pub(crate) doing: Doing,
}

/// What a hart does in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Doing {
    /// It is where it is to be.
    Arrived,
    /// It reads this again and again.
    Waits {
        /// The first byte.
        address: u64,
        /// How many.
        bytes: u32,
        /// What they hold.
        value: u64,
        /// Whether no other hart reads or writes them, in any run.
        alone: bool,
    },
    /// It sleeps in `wfi`.
    Sleeps,
    /// It goes round without looking at memory.
    Loops,
    /// It went where nothing is.
    Astray,
    /// It has something to do.
    Runs,
}

/// Why there is no report.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Refused {
    /// [`Limits::bytes`] are used up.
    Memory(Effort),
    /// [`Limits::stop`] said so.
    Stopped(Effort),
    /// An instruction that cannot be fetched or decoded.
    Fetch(FetchError),
    /// An instruction that no run here can perform: traps, interrupts that are taken, control registers that
    /// are not known.
    Unsupported {
        /// Where it is.
        pc: u64,
        /// It.
        instruction: Instruction,
    },
    /// A loop that never looks at memory is too long to follow.
    TooLong {
        /// Where it was left.
        pc: u64,
    },
    /// A load needs a part of what an older store of its hart puts into a word that other harts access too,
    /// or a store-conditional goes to a part of what is reserved there.
    Mixed {
        /// The word.
        address: u64,
    },
    /// The way of a hart depends on a register that nobody set.
    Unset {
        /// Where.
        pc: u64,
    },
    /// The way of a hart depends on what a control and status register holds at first, which nothing says.
    UnsetControl {
        /// Where it is read.
        pc: u64,
        /// Its number.
        csr: u16,
    },
    /// A store to code.
    Overwritten {
        /// Where.
        address: u64,
    },
}

impl fmt::Display for Refused {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(effort) => {
                write!(formatter, "{} reached at {} states", memory(effort.bytes), effort.states)
            }
            Self::Stopped(effort) => write!(formatter, "the time was over at {} states", effort.states),
            Self::Fetch(error) => write!(formatter, "{error}"),
            Self::Unsupported { pc, instruction } => {
                write!(formatter, "at {pc:#x}: `{instruction}` is not supported")
            }
            Self::TooLong { pc } => write!(formatter, "a loop at {pc:#x} is too long to follow"),
            Self::Mixed { address } => write!(
                formatter,
                "a load needs a part of an older store of its hart, or a store-conditional a part of what is reserved, at {address:#x}: accesses of several widths to a word that harts share are not supported"
            ),
            Self::Unset { pc } => {
                write!(formatter, "the comparison at {pc:#x} depends on a register that nobody set")
            }
            Self::UnsetControl { pc, csr } => {
                let name = csr::name(*csr).map_or(format!("{csr:#x}"), String::from);
                write!(
                    formatter,
                    "a hart's way depends on what {name} holds at first, which it reads at {pc:#x}, and the architecture leaves that open: give it by --csr {name}=VALUE"
                )
            }
            Self::Overwritten { address } => {
                write!(formatter, "a store to {address:#x} changes code, which is not supported")
            }
        }
    }
}

impl std::error::Error for Refused {}

/// Examines all runs.
///
/// # Errors
/// Where a limit is reached before anything was found, or the code does what is not supported.
pub(crate) fn check(question: &Question<'_>, limits: Limits<'_>) -> Result<Report, Refused> {
    let mut learned = Learned::of(question);
    // What goes wrong in order may go wrong out of order too, and is far easier to find.
    let in_order = Question { memory: Model::Sc, ..question.clone() };
    let strict = search(&in_order, limits, &mut learned, &[])?;
    if question.memory == Model::Sc {
        return Ok(strict);
    }
    let dead = strict.findings.iter().find(|finding| finding.fault == Fault::Dead);
    let dead: Vec<Described> = dead.iter().flat_map(|finding| &finding.trace.steps).map(described).collect();
    let mut sure = strict;
    let first = search_within(question, limits, &Extent::FIRST, &mut learned, &dead);
    if let Some(report) = settled(&mut sure, first) {
        return report;
    }
    // A run within a small window is one within a larger one.
    for &window in SMALL.iter().filter(|&&window| window < question.window) {
        if sure.is_faulty() {
            break;
        }
        let small = Question { window, ..question.clone() };
        match search_within(&small, limits, &Extent::SMALL, &mut learned, &[]) {
            Ok(Some(report)) => sure.and(report),
            // It is asked again, with the whole window, and then answered.
            Ok(None) | Err(_) => break,
        }
    }
    if sure.is_faulty() {
        let more = search_within(question, limits, &Extent::more(question.harts), &mut learned, &dead);
        return settled(&mut sure, more).unwrap_or(Ok(Report { whole: false, ..sure }));
    }
    search(question, limits, &mut learned, &dead)
}

/// Windows that are tried before the whole one where that has many states.
const SMALL: &[u32] = &[2, 3, 4, 6, 8];

/// What came of it, if that is an answer. Else what was found is added to what is sure.
fn settled(sure: &mut Report, examined: Result<Option<Report>, Refused>) -> Option<Result<Report, Refused>> {
    match examined {
        Ok(Some(report)) if report.whole => Some(Ok(report)),
        Ok(Some(report)) => {
            sure.and(report);
            None
        }
        Ok(None) => None,
        Err(_) if sure.is_faulty() => None,
        Err(refused) => Some(Err(refused)),
    }
}

impl Report {
    /// Whether anything is wrong that is more than a remark.
    fn is_faulty(&self) -> bool {
        self.findings.iter().any(|finding| finding.fault != Fault::LostStore)
    }

    /// Adds what another examination of the same firmware found.
    fn and(&mut self, other: Self) {
        for finding in other.findings {
            if self.findings.iter().all(|each| each.fault != finding.fault) {
                self.findings.push(finding);
            }
        }
        self.findings.sort_by_key(|finding| finding.fault);
        self.partly |= other.partly;
        self.effort.states += other.effort.states;
        self.effort.transitions += other.effort.transitions;
        self.effort.bytes = self.effort.bytes.max(other.effort.bytes);
    }
}

/// How far a search goes, and how.
struct Extent {
    /// Whether only as many steps are taken as are enough.
    reduces: bool,
    /// States.
    states: u64,
    /// Bytes of tables of what single harts can do.
    tables: u64,
    /// Whether it ends there too where something was found.
    though_faulty: bool,
}

impl Extent {
    /// The whole window, where that is soon done.
    const FIRST: Self = Self { reduces: false, states: 1 << 12, tables: 1 << 20, though_faulty: true };
    /// A small window.
    const SMALL: Self = Self { states: FEW, tables: 4 << 20, ..Self::FIRST };
    /// All steps of boots of few states: that is quicker than finding out which are enough, and what is found
    /// is the shortest that there is.
    const ALL: Self = Self { states: FEW, tables: u64::MAX, though_faulty: false, ..Self::FIRST };
    /// To the end.
    const ENOUGH: Self = Self::whole(true);

    /// What else goes wrong where something does. With two harts most of what is known to go wrong needs
    /// less; with more of them it is the answer that should not be kept waiting, for longer than some tenths
    /// of a second.
    const fn more(harts: u32) -> Self {
        let (states, tables) = if harts <= 2 { (1 << 18, 8 << 20) } else { (1 << 15, 2 << 20) };
        Self { states, tables, ..Self::FIRST }
    }

    /// To the end, by all steps or by as many as are enough.
    const fn whole(reduces: bool) -> Self {
        Self { reduces, states: u64::MAX, ..Self::ALL }
    }
}

/// A step in a form that does not depend on the memory model.
fn described(step: &Step) -> Described {
    let read = step.action.access().and_then(|access| access.read).map_or(0, |(value, _)| value.0);
    Described { hart: step.hart as usize, pc: step.pc, read }
}

fn search(
    question: &Question<'_>,
    limits: Limits<'_>,
    learned: &mut Learned,
    dead: &[Described],
) -> Result<Report, Refused> {
    match search_within(question, limits, &Extent::ALL, learned, dead)? {
        Some(report) => Ok(report),
        None => {
            let report = search_within(question, limits, &Extent::ENOUGH, learned, dead)?;
            report.ok_or(Refused::Stopped(Effort::default()))
        }
    }
}

/// States up to which all runs are looked at, and not only those that are enough.
const FEW: u64 = 30_000;

/// Looks at all runs, or at enough of them; none if there are more states than `most` has, and nothing was
/// found by then. `dead` is a run to where, in order, nothing helps any more.
fn search_within(
    question: &Question<'_>,
    limits: Limits<'_>,
    most: &Extent,
    learned: &mut Learned,
    dead: &[Described],
) -> Result<Option<Report>, Refused> {
    loop {
        let known = learned.clone();
        let firmware = ImageProgram::new(question, &known);
        let mut search = Search::new(Machine::new(&firmware, question.harts as usize), most.reduces);
        let stop = |states| limits.stop.is_some_and(|stop| stop(states));
        let restart = || firmware.is_new.get() || firmware.overwritten.get().is_some();
        let spent = Spent {
            bytes: limits.bytes,
            states: most.states,
            tables: most.tables,
            though_faulty: most.though_faulty,
            stop: &stop,
            restart: &restart,
        };
        let dead_end = if dead.is_empty() { None } else { search.dead_end(dead) };
        let ended = search.run(&spent);
        if let Some(address) = firmware.overwritten.get() {
            return Err(Refused::Overwritten { address });
        }
        let (transitions, bytes) = (search.transitions, search.bytes());
        let effort = Effort { states: search.states(), transitions, bytes, ..Effort::default() };
        let unfinished = match ended {
            Ok(()) => None,
            Err(Unfinished::Stopped(signal)) => return Err(refused(question.image, signal)),
            Err(Unfinished::Restart) => {
                *learned = firmware.learned();
                continue;
            }
            Err(Unfinished::States) if !most.though_faulty => return Ok(None),
            Err(other) => Some(other),
        };
        if let Some(address) = firmware.mixed() {
            return Err(Refused::Mixed { address });
        }
        if let Some((pc, csr)) = firmware.unset_control() {
            return Err(Refused::UnsetControl { pc, csr });
        }
        if let Some(pc) = firmware.unset.get() {
            return Err(Refused::Unset { pc });
        }
        let findings = trace::findings(&mut search, question.image, dead_end);
        if let Some(unfinished) = unfinished
            && findings.iter().all(|finding| finding.fault == Fault::LostStore)
        {
            return match unfinished {
                Unfinished::States => Ok(None),
                Unfinished::Bytes => Err(Refused::Memory(effort)),
                _ => Err(Refused::Stopped(effort)),
            };
        }
        let (window_full, held) = (search.full, search.held.iter().copied().collect());
        return Ok(Some(Report {
            findings,
            window_full,
            held,
            whole: unfinished.is_none(),
            partly: firmware.partly(),
            retries: firmware.retries(),
            effort,
        }));
    }
}

fn refused(image: &Image, signal: Signal) -> Refused {
    if let Signal::TooLong(pc) = signal {
        return Refused::TooLong { pc };
    }
    let (Signal::Undecoded(pc) | Signal::Unsupported(pc)) = signal else {
        return Refused::Stopped(Effort::default());
    };
    match image.fetch(pc) {
        Err(error) => Refused::Fetch(error),
        Ok(decoded) => Refused::Unsupported { pc, instruction: decoded.instruction },
    }
}
