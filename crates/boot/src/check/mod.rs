//! What can go wrong when several harts boot, and the run in which it does.
//!
//! [`check`] looks at every run of the machine code in an [`Image`] on so many harts: every order in which
//! they can step, everything that memory may hold where the file does not say, every reordering that the
//! memory model allows within a window.

mod program;
mod garbage;
mod report;
mod retries;
#[cfg(test)]
mod tests;
mod trace;

use tenbin_model::Order;

use crate::answer::{Effort, Fault};
use crate::axiomatic::Model;
use crate::explore::{Described, Extent, Search, Spent, Unfinished};
use crate::image::Image;
use crate::operational::machine::Machine;
use crate::operational::step::Signal;
use program::{ImageProgram, Learned};
pub(crate) use report::{
    BootQuestion, CheckLimits, Doing, End, Expectation, Finding, Landmarks, Milestone, Refused, Report, Step,
    Trace,
};

/// Examines all runs.
///
/// # Errors
/// Where a limit is reached before anything was found, or the code does what is not supported.
pub(crate) fn check(question: &BootQuestion<'_>, limits: CheckLimits<'_>) -> Result<Report, Refused> {
    let mut learned = Learned::of(question);
    // What goes wrong in order may go wrong out of order too, and is far easier to find.
    let in_order = BootQuestion { memory: Model::Sc, ..question.clone() };
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
        let small = BootQuestion { window, ..question.clone() };
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
        self.findings.order_by_key(|finding| finding.fault);
        self.partly |= other.partly;
        self.effort.states += other.effort.states;
        self.effort.transitions += other.effort.transitions;
        self.effort.bytes = self.effort.bytes.max(other.effort.bytes);
    }
}

impl Extent {
    /// The whole window, where that is soon done.
    const FIRST: Self = Self { reduces: false, states: 1 << 12, tables: 1 << 20, though_faulty: true };
    const SMALL: Self = Self { states: FEW, tables: 4 << 20, ..Self::FIRST };
    /// All steps of boots of few states: that is quicker than finding out which are enough, and what is found
    /// is the shortest that there is.
    const ALL: Self = Self { states: FEW, tables: u64::MAX, though_faulty: false, ..Self::FIRST };

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
    question: &BootQuestion<'_>,
    limits: CheckLimits<'_>,
    learned: &mut Learned,
    dead: &[Described],
) -> Result<Report, Refused> {
    for extent in [Extent::ALL, Extent::whole(true)] {
        if let Some(report) = search_within(question, limits, &extent, learned, dead)? {
            return Ok(report);
        }
    }
    Err(Refused::Stopped(Effort::default()))
}

/// States up to which all runs are looked at, and not only those that are enough.
const FEW: u64 = 30_000;

/// Looks at all runs, or at enough of them; none if there are more states than `most` has, and nothing was
/// found by then. `dead` is a run to where, in order, nothing helps any more.
fn search_within(
    question: &BootQuestion<'_>,
    limits: CheckLimits<'_>,
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
        let spent = Spent { bytes: limits.bytes, most, stop: &stop, restart: &restart };
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
        match (firmware.mixed(), firmware.unset_control(), firmware.unset.get()) {
            (Some(address), ..) => return Err(Refused::Mixed { address }),
            (_, Some((pc, csr)), _) => return Err(Refused::UnsetControl { pc, csr }),
            (.., Some(pc)) => return Err(Refused::Unset { pc }),
            _ => {}
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
