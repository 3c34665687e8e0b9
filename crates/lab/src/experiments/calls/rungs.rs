//! The rungs, from the loop down to the kernel: what each calls, and how.

use std::fmt;
use std::sync::OnceLock;

use tenbin_metal::calls::ClockName::{Monotonic, MonotonicCoarse, MonotonicRaw, ProcessCpu, Realtime};
use tenbin_metal::calls::Question::{Clock, Resolution};
use tenbin_metal::calls::{Answer, Call, Question, Sum};
use tenbin_metal::vdso::{NoVdso, VERSION, Vdso};
use tenbin_model::VariantIndex;

/// Names that are compared or looked for, as they read inside a sentence.
pub(super) const INLINED: &str = "an inlined call";
pub(super) const CALLED: &str = "a direct call";
pub(super) const LINKED: &str = "a call through a linkage table";
pub(super) const CLOCK_IN_THE_VDSO: &str = "clock_gettime(MONOTONIC) in the vDSO";
pub(super) const CLOCK_BY_LIBRARY: &str = "libc's clock_gettime(MONOTONIC)";
pub(super) const CLOCK_BY_SYSTEM_CALL: &str = "clock_gettime(MONOTONIC) by system call";
pub(super) const UNKNOWN_CALL: &str = "an unknown system call";
pub(super) const PARENT_BY_SYSTEM_CALL: &str = "getppid by system call";
pub(super) const PARENT_BY_LIBRARY: &str = "libc's getppid";

pub(super) struct Rung {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) what_is_called: What,
    pub(super) plant: Option<Plant>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum What {
    Sum(Sum),
    Asked(Through, Question),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Through {
    Vdso,
    Kernel,
    Library,
    LibrarysSyscall,
}

/// A fault that a check has to see.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Plant {
    OneShort,
    /// The first answer, again and again.
    Still,
    /// Another question than the one that was asked.
    Another(Question),
}

/// In the order of the descriptor: from what costs nothing down to the kernel, what is planted last.
pub(super) const RUNGS: &[Rung] = &[
    sum("an empty loop", "counts its turns and calls nothing: what every rung has in it", Sum::Loop),
    sum(INLINED, "the sum of two words, written into the loop", Sum::Inlined),
    sum(CALLED, "the same sum by a function: a call, an addition and a return", Sum::Called),
    sum(
        LINKED,
        "the same function as a shared library's: the call goes to a stub, which jumps where a slot in memory says",
        Sum::Linked,
    ),
    vdso("time in the vDSO", "the date in seconds, from memory", Question::Seconds),
    vdso("getcpu in the vDSO", "the CPU and its memory node", Question::Cpu),
    vdso(
        "clock_getres(MONOTONIC) in the vDSO",
        "the step of a clock, which does not change",
        Resolution(Monotonic),
    ),
    vdso(
        "clock_gettime(MONOTONIC_COARSE) in the vDSO",
        "the time of the kernel's last tick: memory is read, not a counter",
        Clock(MonotonicCoarse),
    ),
    vdso(CLOCK_IN_THE_VDSO, "the counter is read and scaled as the kernel's page says", Clock(Monotonic)),
    vdso("clock_gettime(REALTIME) in the vDSO", "the same for the date", Clock(Realtime)),
    vdso(
        "clock_gettime(MONOTONIC_RAW) in the vDSO",
        "the same without the corrections of NTP",
        Clock(MonotonicRaw),
    ),
    vdso("gettimeofday in the vDSO", "the date in microseconds", Question::TimeOfDay),
    vdso("getrandom in the vDSO", "32 random bytes of a generator that the kernel seeds", Question::Random),
    library(
        CLOCK_BY_LIBRARY,
        "the C library's function, which asks the vDSO if it found it",
        Clock(Monotonic),
    ),
    kernel(
        UNKNOWN_CALL,
        "a number that stands for none: into the kernel and back with ENOSYS",
        Question::Unknown,
    ),
    kernel(PARENT_BY_SYSTEM_CALL, "one instruction; the least that any useful call does", Question::Parent),
    library(
        PARENT_BY_LIBRARY,
        "the C library's function. It is linked into this program, so no linkage table is on the way",
        Question::Parent,
    ),
    asked(
        "libc's syscall(getppid)",
        "the C library's function for any number, which moves every argument by one register",
        Through::LibrarysSyscall,
        Question::Parent,
    ),
    kernel(CLOCK_BY_SYSTEM_CALL, "what the vDSO saves: the kernel reads the same counter", Clock(Monotonic)),
    kernel("getrandom by system call", "the same 32 bytes of the kernel's own generator", Question::Random),
    vdso(
        "clock_gettime(PROCESS_CPUTIME_ID) in the vDSO",
        "a clock that the kernel alone knows: the vDSO has to pass it on",
        Clock(ProcessCpu),
    ),
    planted("a call left out", "one call less than was asked for", What::Sum(Sum::Called), Plant::OneShort),
    planted(
        "a clock that stands still",
        "answers what it answered first",
        What::Asked(Through::Kernel, Clock(Monotonic)),
        Plant::Still,
    ),
    planted(
        "getpid in place of getppid",
        "names the process itself",
        What::Asked(Through::Kernel, Question::Parent),
        Plant::Another(Question::Own),
    ),
];

const fn sum(name: &'static str, what: &'static str, sum: Sum) -> Rung {
    Rung { name, what, what_is_called: What::Sum(sum), plant: None }
}

const fn asked(name: &'static str, what: &'static str, through: Through, question: Question) -> Rung {
    Rung { name, what, what_is_called: What::Asked(through, question), plant: None }
}

const fn vdso(name: &'static str, what: &'static str, question: Question) -> Rung {
    asked(name, what, Through::Vdso, question)
}

const fn kernel(name: &'static str, what: &'static str, question: Question) -> Rung {
    asked(name, what, Through::Kernel, question)
}

const fn library(name: &'static str, what: &'static str, question: Question) -> Rung {
    asked(name, what, Through::Library, question)
}

const fn planted(name: &'static str, what: &'static str, called: What, plant: Plant) -> Rung {
    Rung { name, what, what_is_called: called, plant: Some(plant) }
}

/// The number of the rung called `name`, which is one of the list.
pub(super) fn index(name: &str) -> VariantIndex {
    RUNGS.iter().position(|rung| rung.name == name).map_or(VariantIndex(u32::MAX), VariantIndex::from)
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Absent {
    NoVdso(NoVdso),
    NotOffered,
    /// This architecture has no such system call, or the library no such function.
    NoWay,
    Filtered(String),
}

/// A clause behind the rung's name.
impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoVdso(why) => write!(f, "{why}"),
            Self::NotOffered => write!(f, "the vDSO does not offer it under {VERSION}"),
            Self::NoWay => f.write_str("this architecture has no such call"),
            Self::Filtered(why) => f.write_str(why),
        }
    }
}

impl Rung {
    pub(super) fn subject(&self, vdso: Result<&Vdso, NoVdso>) -> Result<Subject, Absent> {
        let called = match self.what_is_called {
            What::Sum(sum) => Called::Sum(sum),
            What::Asked(through, question) => {
                let question = if let Some(Plant::Another(other)) = self.plant { other } else { question };
                let call = match through {
                    Through::Vdso => Call::of_the_vdso(vdso.map_err(Absent::NoVdso)?, question),
                    Through::Kernel => Call::of_the_kernel(question),
                    Through::Library => Call::of_the_library(question),
                    Through::LibrarysSyscall => Call::of_the_librarys_syscall(question),
                };
                let absent = if through == Through::Vdso { Absent::NotOffered } else { Absent::NoWay };
                Called::Asked(call.ok_or(absent)?)
            }
        };
        Ok(Subject { called, plant: self.plant, first: OnceLock::new() })
    }
}

/// What a rung calls, and what is wrong with it.
pub(super) struct Subject {
    called: Called,
    plant: Option<Plant>,
    /// The first answer of a clock that stands still.
    first: OnceLock<Answer>,
}

enum Called {
    Sum(Sum),
    Asked(Call),
}

impl Subject {
    /// Calls it `n` times; the last answer. A sum is what it returned.
    pub(super) fn call(&self, n: u64) -> Answer {
        let n = if self.plant == Some(Plant::OneShort) { n.saturating_sub(1) } else { n };
        let answer = match &self.called {
            Called::Sum(sum) => Answer { returned: sum.run(n) as i64, ..Answer::default() },
            Called::Asked(call) => call.run(n),
        };
        if self.plant == Some(Plant::Still) { *self.first.get_or_init(|| answer) } else { answer }
    }
}
