//! What goes wrong with a boot, and why there is no answer, each in a sentence.

use crate::answer::{BootMachine, Fault, Hex, StepAccess, Writer};
use crate::axiomatic::Model;
use crate::check::{Doing, End, Expectation, Finding, Milestone, Refused, Step};
use crate::image::FetchError;
use crate::isa::execute::Uses;
use crate::isa::{Decoded, Instruction, Register};
use crate::names::Names;
use tenbin_model::order;
use tenbin_model::words::{comma, or, semicolon};

/// Instructions behind a load that are searched for the branch that it is for.
const NEAR: usize = 8;

/// A finding, and what is needed to tell it.
pub(crate) struct Story<'a> {
    pub(crate) names: Names<'a>,
    pub(crate) expected: &'a [Expectation],
    pub(crate) finding: &'a Finding,
}

impl Story<'_> {
    /// Who goes wrong, where, and by what.
    pub(crate) fn sentence(&self) -> String {
        let hart = self.finding.culprit;
        let who = hart.map_or("A hart".to_owned(), |hart| format!("Hart {hart}"));
        let sentence = match self.finding.fault {
            Fault::Dead => {
                format!("No run from here brings every hart to its goal: {}", self.whereabouts())
            }
            Fault::Livelock => {
                format!(
                    "The harts can go on for ever without ever reaching their goals: {}",
                    self.whereabouts()
                )
            }
            Fault::StartedEarly => format!("{who} starts before it is told to{}", self.last_decisive_read()),
            Fault::StartedTwice => match self.who_else(&[Milestone::Primary]).as_slice() {
                [other] => format!("{who} boots, and so does hart {other}"),
                _ => format!("{who} starts a second time{}", self.last_decisive_read()),
            },
            Fault::SharedStack => {
                let stack = match self.who_else(&[Milestone::Arrived, Milestone::AllArrived]).as_slice() {
                    [other] => format!("the stack pointer of hart {other}"),
                    _ => "the stack pointer of another one".to_owned(),
                };
                let pointer = |step: &Step| Uses::of(&step.decoded.instruction).written == Some(Register::SP);
                format!("{who} arrives with {stack}{}", self.last_read(pointer))
            }
            Fault::Stale => format!("{who} arrives {}", self.stale()),
            Fault::Astray => {
                format!("{who} goes astray{}: {}", self.at_its_end(), self.why_astray())
            }
            Fault::LostStore => format!("{who} stores to memory that is still to be cleared{}", self.lost()),
        };
        sentence + "."
    }

    /// The steps of who goes wrong, the last one first.
    fn own_steps(&self) -> impl Iterator<Item = &Step> {
        let hart = self.finding.culprit;
        self.finding.trace.steps.iter().rev().filter(move |step| Some(step.hart) == hart)
    }

    /// What the harts do in the end, those that have arrived last.
    fn whereabouts(&self) -> String {
        let ends = self.finding.trace.ends.iter().enumerate();
        let (arrived, others): (Vec<_>, Vec<_>) = ends.partition(|(_, end)| end.doing == Doing::Arrived);
        let waiting = others.into_iter().map(|(hart, end)| {
            let does = doing(self.names, self.finding.fault, end);
            format!("hart {hart}, at {}, {does}", self.names.place(end.pc))
        });
        let mut parts = waiting.collect::<Vec<_>>();
        let arrived = arrived.iter().map(|(hart, _)| hart.to_string()).collect::<Vec<_>>();
        match arrived.as_slice() {
            [] => {}
            [one] => parts.push(format!("hart {one} has arrived")),
            several => parts.push(format!("harts {} have arrived", comma(several))),
        }
        semicolon(&parts)
    }

    /// Other harts that come by such an event.
    fn who_else(&self, events: &[Milestone]) -> Vec<u32> {
        let steps = self.finding.trace.steps.iter();
        let others = steps.filter(|step| Some(step.hart) != self.finding.culprit);
        let come = others.filter(|step| step.events.iter().any(|event| events.contains(event)));
        order::set(come.map(|step| step.hart)).into_iter().collect()
    }

    /// What who goes wrong read last, by steps of this kind, and from whom.
    fn last_read(&self, kind: impl Fn(&Step) -> bool) -> String {
        let mut accesses = self.own_steps().filter(|step| kind(step)).filter_map(|step| step.action.access());
        let read = accesses.find_map(|access| self.read(access));
        read.map_or_else(String::new, |read| format!("; it read {read}"))
    }

    fn last_decisive_read(&self) -> String {
        self.last_read(|step| decides(self.names, step.pc, &step.decoded))
    }

    /// Where who goes wrong is.
    fn end(&self) -> Option<&End> {
        self.finding.trace.ends.get(usize::try_from(self.finding.culprit?).ok()?)
    }

    /// What is read, and who wrote that.
    fn read(&self, access: StepAccess<'_>) -> Option<String> {
        let StepAccess { name, bytes, read, .. } = access;
        let (Hex(value), from) = read?;
        let from = match from {
            Writer::File => "as the file has it".to_owned(),
            Writer::Garbage => "garbage that was there before".to_owned(),
            Writer::Forwarded => "which it stored itself".to_owned(),
            Writer::Step(step) => match self.finding.trace.steps.get(step) {
                Some(step) => format!("which hart {} stored at {}", step.hart, self.names.place(step.pc)),
                None => "which was stored there".to_owned(),
            },
        };
        Some(format!("{name} = {}, {from}", self.names.value(bytes, value)))
    }

    /// Which register is wrong: the last load into it says so. One that was computed otherwise is not in the
    /// run.
    fn stale(&self) -> String {
        let hart = u64::from(self.finding.culprit.unwrap_or_default());
        let wrong = self.expected.iter().find_map(|each| {
            let loads = self
                .own_steps()
                .filter(|step| Uses::of(&step.decoded.instruction).written == Some(each.register));
            let load = loads.filter_map(|step| step.action.access()).find(|it| it.read.is_some())?;
            let is_wrong = load.bytes == 8 && load.read.is_some_and(|(value, _)| value.0 != each.of(hart));
            self.read(load).filter(|_| is_wrong).map(|read| (each, read))
        });
        match wrong {
            Some((each, read)) => format!(
                "with a wrong {}: it read {}, and {} was meant for it",
                each.register,
                read,
                self.names.value(8, each.of(hart))
            ),
            None => {
                let meant = self.expected.iter();
                let meant =
                    meant.map(|each| format!("{} = {}", each.register, self.names.value(8, each.of(hart))));
                format!("without what was meant for it: {}", comma(meant))
            }
        }
    }

    fn at_its_end(&self) -> String {
        self.end().map_or_else(String::new, |end| format!(" from {}", self.names.place(end.pc)))
    }

    /// What is wrong with where it goes: an access whose address is known to be misaligned is at a place that
    /// is there.
    fn why_astray(&self) -> &'static str {
        match self.end().map(|end| self.names.image.fetch(end.pc)) {
            Some(Ok(_)) => {
                "it accesses memory that neither the file nor --ram names, or an address that is not a \
                 multiple of the access size, on which a hart may trap"
            }
            _ => "it goes where the file names no code",
        }
    }

    fn lost(&self) -> String {
        let stored = self.own_steps().find_map(|step| {
            let access = step.action.access()?;
            let value = self.names.value(access.bytes, access.written?.0);
            Some(format!(": {} = {value}, at {}", access.name, self.names.place(step.pc)))
        });
        stored.unwrap_or_default()
    }
}

/// Whether a branch soon compares what this instruction reads, or what is computed of it: then the hart waits
/// for it, or goes on by it.
fn decides(names: Names<'_>, pc: u64, decoded: &Decoded) -> bool {
    let Some(mut register) = Uses::of(&decoded.instruction).written else { return false };
    let mut next = pc.wrapping_add(decoded.length);
    for _ in 0..NEAR {
        let Ok(decoded) = names.image.fetch(next) else { return false };
        let uses = Uses::of(&decoded.instruction);
        let used = uses.values.contains(&Some(register));
        match (decoded.instruction, uses.written) {
            (Instruction::Branch { .. }, _) => return used,
            (_, Some(written)) if used => register = written,
            (_, Some(written)) if written == register => return false,
            _ => {}
        }
        next = next.wrapping_add(decoded.length);
    }
    false
}

/// What a hart does in the end, in a few words.
pub(crate) fn doing(names: Names<'_>, fault: Fault, end: &End) -> String {
    match end.doing {
        Doing::Arrived => "arrived".to_owned(),
        Doing::Waits { address, bytes, value, alone: true } => {
            let (word, value) = (names.of(address), names.value(bytes, value));
            format!("reads {word}, which holds {value}, for ever, and no other hart ever accesses it")
        }
        Doing::Waits { address, bytes, value, .. } => {
            let (word, value) = (names.of(address), names.value(bytes, value));
            // A run ends where nothing can save it, and not where all harts have come to rest.
            let once = names.image.fetch(end.pc).is_ok_and(|decoded| {
                Uses::of(&decoded.instruction).written.is_some() && !decides(names, end.pc, &decoded)
            });
            match fault {
                _ if once => format!("is about to read {word}, which holds {value}"),
                Fault::Dead | Fault::Livelock => format!("reads {word}, which holds {value}, for ever"),
                _ => format!("reads {word}, which holds {value}"),
            }
        }
        Doing::Sleeps => "sleeps in wfi".to_owned(),
        Doing::Loops => "loops without looking at memory".to_owned(),
        Doing::Astray => "went astray".to_owned(),
        Doing::Runs => "is on its way".to_owned(),
    }
}

/// Why nothing is known of a machine, and what would change it.
pub(crate) fn refusal(names: Names<'_>, refused: &Refused, machine: &BootMachine, seconds: u64) -> String {
    let less = less(machine);
    match refused {
        Refused::Memory(_) => format!("{refused} (--limit); {less}"),
        Refused::Stopped(effort) => {
            format!("not finished in {seconds} s (--seconds), at {} states; {less}", effort.states)
        }
        Refused::Fetch(error) => {
            let pc = match *error {
                FetchError::Odd(pc) | FetchError::Undetermined(pc) => pc,
                FetchError::Decode { address, .. } => address,
            };
            format!("{error}, in {}", names.place(pc))
        }
        Refused::Overwritten { address } | Refused::Mixed { address } => {
            format!("{refused}, at {}", names.of(*address))
        }
        Refused::Unsupported { pc, .. }
        | Refused::TooLong { pc }
        | Refused::Unset { pc }
        | Refused::UnsetControl { pc, .. } => format!("{refused}, in {}", names.place(*pc)),
    }
}

fn less(machine: &BootMachine) -> String {
    let mut ways = Vec::new();
    if machine.harts > 2 {
        ways.push(format!("fewer harts ({} → {})", machine.harts, machine.harts - 1));
    }
    if machine.memory != Model::Sc && machine.window > 1 {
        ways.push(format!("a smaller window ({} → {})", machine.window, machine.window / 2));
    }
    if machine.memory != Model::Sc {
        ways.push("a stronger memory model".to_owned());
    }
    match ways.as_slice() {
        [] => "a nearer goal (--arrived, --all-arrived) would need less".to_owned(),
        ways => format!("{} would need less", or(ways)),
    }
}
