//! One question, asked in different ways: of the vDSO, of the kernel, of the C library.
//!
//! A [`Call`] is a question with its way and with the memory that the answer is written to. It is repeated by
//! a kernel in assembler ([`crate::kernels`]), so that nothing but the call itself is in a turn. What
//! answered is kept: it can be held against what the plain system call says.

mod random;
mod watchers;

use std::sync::{Mutex, PoisonError};

use crate::kernels::{self, calls};
use crate::vdso::Vdso;
use random::State;

pub use watchers::{Seccomp, Watchers};

/// A clock of the kernel's, as `clock_gettime(2)` names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClockName {
    /// `CLOCK_MONOTONIC`.
    Monotonic,
    /// `CLOCK_REALTIME`.
    Realtime,
    /// `CLOCK_MONOTONIC_COARSE`: as of the last tick of the kernel's timer.
    MonotonicCoarse,
    /// `CLOCK_REALTIME_COARSE`: as of the last tick of the kernel's timer.
    RealtimeCoarse,
    /// `CLOCK_MONOTONIC_RAW`: not slewed.
    MonotonicRaw,
    /// `CLOCK_PROCESS_CPUTIME_ID`: what this process was charged with, which the kernel alone knows.
    ProcessCpu,
}

impl ClockName {
    fn id(self) -> usize {
        let id = match self {
            Self::Monotonic => libc::CLOCK_MONOTONIC,
            Self::Realtime => libc::CLOCK_REALTIME,
            Self::MonotonicCoarse => libc::CLOCK_MONOTONIC_COARSE,
            Self::RealtimeCoarse => libc::CLOCK_REALTIME_COARSE,
            Self::MonotonicRaw => libc::CLOCK_MONOTONIC_RAW,
            Self::ProcessCpu => libc::CLOCK_PROCESS_CPUTIME_ID,
        };
        id as usize
    }
}

/// What is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Nothing: a number that stands for no system call, so the answer is [`UNKNOWN`].
    Unknown,
    /// The parent's number: `getppid`.
    Parent,
    /// The process's own number: `getpid`.
    Own,
    /// A clock: `clock_gettime`.
    Clock(ClockName),
    /// The date in seconds and microseconds: `gettimeofday`.
    TimeOfDay,
    /// The date in seconds: `time`, which newer architectures do not have as a system call.
    Seconds,
    /// The CPU that asks, and its node: `getcpu`.
    Cpu,
    /// The step of a clock: `clock_getres`.
    Resolution(ClockName),
    /// [`RANDOM_BYTES`] random bytes: `getrandom`.
    Random,
}

/// What the kernel answers to a number that stands for no call: minus ENOSYS, on each of our architectures.
pub const UNKNOWN: i64 = -(libc::ENOSYS as i64);

/// Asks the kernel for [`Question::Unknown`] once: what it answered.
///
/// Unlike [`Call::run`] this locks nothing, so a task of a [`crate::Crew`], which runs in a child of its own,
/// may do it.
pub fn answer_to_unknown() -> i64 {
    // SAFETY: a number that stands for no call does nothing; a filter may end this process for it, which
    // breaks nothing.
    unsafe { calls::system(1, NO_SUCH_CALL, &[0; 5]) as i64 }
}

/// Bytes of one random answer: a key.
pub const RANDOM_BYTES: usize = 32;

/// A number far behind the last system call of every architecture, and below the bit that marks an x32 call
/// on x86-64.
const NO_SUCH_CALL: usize = 0x3fff;

/// What the last of some calls answered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// What it returned: below 0 where a system call failed.
    pub returned: i64,
    /// What it wrote to memory: two words of a time, the CPU and its node, the random bytes; as it lay there
    /// before where nothing was written.
    pub written: [u64; 4],
}

impl Answer {
    /// What was written, read as a time: nanoseconds.
    pub fn nanoseconds(&self) -> u128 {
        u128::from(self.written[0]) * 1_000_000_000 + u128::from(self.written[1])
    }

    /// What was written, read as a date in seconds and microseconds: microseconds.
    pub fn microseconds(&self) -> u128 {
        u128::from(self.written[0]) * 1_000_000 + u128::from(self.written[1])
    }

    /// What was written, read as a CPU and its memory node.
    pub fn cpu_and_node(&self) -> (u32, u32) {
        (self.written[0] as u32, (self.written[0] >> 32) as u32)
    }
}

/// A call that can be repeated.
#[derive(Debug)]
pub struct Call {
    way: Way,
    question: Question,
    /// Where the answer is written. Whoever runs the call holds it, since it is one piece of memory.
    room: Mutex<Room>,
}

#[derive(Debug, Default)]
struct Room {
    written: [u64; 4],
    /// What the random numbers of the vDSO are drawn from.
    state: Option<State>,
}

#[derive(Clone, Copy, Debug)]
enum Way {
    /// A function in this process: where its code lies, and words that stand before the arguments of the
    /// question.
    Function {
        entry: usize,
        number: Option<usize>,
    },
    System {
        number: usize,
    },
}

impl Call {
    /// Asks the kernel itself, by one instruction. None where the architecture has no such system call.
    pub fn of_the_kernel(question: Question) -> Option<Self> {
        Some(Self::new(Way::System { number: number(question)? }, question))
    }

    /// Asks the vDSO. None where it does not offer the function, or what it takes to call it cannot be had.
    pub fn of_the_vdso(vdso: &Vdso, question: Question) -> Option<Self> {
        let entry = vdso.address_of(function(question)?)?;
        let mut call = Self::new(Way::Function { entry, number: None }, question);
        if question == Question::Random {
            let room = call.room.get_mut().unwrap_or_else(PoisonError::into_inner);
            room.state = Some(State::of(entry)?);
        }
        Some(call)
    }

    /// Asks the function of the C library that this program is linked with. None for what has none here.
    pub fn of_the_library(question: Question) -> Option<Self> {
        let entry = match question {
            Question::Parent => libc::getppid as *const () as usize,
            Question::Clock(_) => libc::clock_gettime as *const () as usize,
            _ => return None,
        };
        Some(Self::new(Way::Function { entry, number: None }, question))
    }

    /// Asks `syscall(2)` of the C library, which takes the number of any call.
    pub fn of_the_librarys_syscall(question: Question) -> Option<Self> {
        let entry = libc::syscall as *const () as usize;
        Some(Self::new(Way::Function { entry, number: Some(number(question)?) }, question))
    }

    fn new(way: Way, question: Question) -> Self {
        Self { way, question, room: Mutex::default() }
    }

    /// Makes the call `n` times; what the last one answered. Nothing is answered by no call.
    pub fn run(&self, n: u64) -> Answer {
        let mut room = self.room.lock().unwrap_or_else(PoisonError::into_inner);
        let arguments = self.arguments(&mut room);
        let returned = match self.way {
            // SAFETY: `entry` is a C function of the vDSO or of the library that takes what `arguments` has
            // for this question, as its ABI says; the memory named there is `room`'s, large enough for each
            // answer, held until the calls are over and written to by nobody else.
            Way::Function { entry, .. } => unsafe { calls::function(n, entry, &arguments) },
            // SAFETY: each question is a call that takes at most three arguments, comes back at once and
            // writes to `room` alone, which is held as above; a number that stands for no call does nothing.
            Way::System { number } => unsafe { calls::system(n, number, &arguments) },
        };
        // The library answers with an `int` where the kernel answers with a word: its upper half says
        // nothing.
        let narrow = matches!(self.way, Way::Function { number: None, .. })
            && !matches!(self.question, Question::Random | Question::Seconds);
        let returned = if narrow { i64::from(returned as i32) } else { returned as i64 };
        Answer { returned, written: room.written }
    }

    /// The arguments of the question, which write to `room`.
    fn arguments(&self, room: &mut Room) -> calls::Arguments {
        let answer = room.written.as_mut_ptr() as usize;
        let mut arguments = match self.question {
            Question::Unknown | Question::Parent | Question::Own => [0; 5],
            Question::Clock(clock) | Question::Resolution(clock) => [clock.id(), answer, 0, 0, 0],
            Question::TimeOfDay | Question::Seconds => [answer, 0, 0, 0, 0],
            // Two words of 32 bits.
            Question::Cpu => [answer, answer + size_of::<u32>(), 0, 0, 0],
            Question::Random => {
                let (state, length) = room.state.as_ref().map_or((0, 0), State::place);
                [answer, RANDOM_BYTES, 0, state, length]
            }
        };
        if let Way::Function { number: Some(number), .. } = self.way {
            arguments.rotate_right(1);
            arguments[0] = number;
        }
        arguments
    }
}

/// The number of the system call that answers; none where the architecture has none.
fn number(question: Question) -> Option<usize> {
    let number = match question {
        Question::Unknown => return Some(NO_SUCH_CALL),
        Question::Parent => libc::SYS_getppid,
        Question::Own => libc::SYS_getpid,
        Question::Clock(_) => libc::SYS_clock_gettime,
        Question::TimeOfDay => libc::SYS_gettimeofday,
        #[cfg(target_arch = "x86_64")]
        Question::Seconds => libc::SYS_time,
        #[cfg(not(target_arch = "x86_64"))]
        Question::Seconds => return None,
        Question::Cpu => libc::SYS_getcpu,
        Question::Resolution(_) => libc::SYS_clock_getres,
        Question::Random => libc::SYS_getrandom,
    };
    Some(number as usize)
}

/// The name of the function that answers, where a vDSO may have it.
fn function(question: Question) -> Option<&'static str> {
    match question {
        Question::Clock(_) => Some("clock_gettime"),
        Question::TimeOfDay => Some("gettimeofday"),
        Question::Seconds => Some("time"),
        Question::Cpu => Some("getcpu"),
        Question::Resolution(_) => Some("clock_getres"),
        Question::Random => Some("getrandom"),
        Question::Unknown | Question::Parent | Question::Own => None,
    }
}

/// A sum that is taken `n` times by 1, in one of three ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sum {
    /// Not at all: the loop alone, which counts its turns.
    Loop,
    /// Written into the loop.
    Inlined,
    /// By a function that is called.
    Called,
    /// By a function that is called through an entry of a linkage table, as a shared library's are.
    Linked,
}

impl Sum {
    /// Takes the sum `n` times and returns it, which is `n`.
    pub fn run(self, n: u64) -> u64 {
        match self {
            Self::Loop => kernels::empty_loop(n),
            Self::Inlined => calls::inlined(n),
            Self::Called => calls::direct(n),
            Self::Linked => calls::table(n),
        }
    }
}

#[cfg(test)]
mod tests;
