//! A run that a checker found, followed by QEMU, again and again.
//!
//! The machine's own file runs on the board `virt`. Every hart is stepped through the reset vector, put at
//! the first instruction of the file with what the checker took its registers to hold, and held. The words
//! that are set and the garbage are written through the debugger's port: what the file has a place for and no
//! bytes, QEMU fills with zeros, and its loader device refuses to write over them. Then [`follow`] plays the
//! run.
//!
//! Every replay has an emulator of its own. Its reset would be quicker by a twentieth of a second, and leaves
//! registers and all memory that the file has no bytes for as they were.

#![expect(clippy::disallowed_methods, reason = "an emulator has a deadline")]

mod follow;
mod machine;

use std::path::Path;
use std::time::{Duration, Instant};

use tenbin_model::{BootFault, Counterexample, Planted};

use crate::error::Error;
use follow::{Follower, Parted};
use machine::Machine;

/// How long one replay may take, the start of the emulator included.
const DEADLINE: Duration = Duration::from_secs(300);

/// How long harts run freely, in a piece: the first time, and later. Whoever cannot arrive does not in any
/// time; this is for whoever can.
const FREE: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(50)];

/// How often the part of a run that repeats is gone through again.
const ROUNDS: u32 = 3;

/// What must be known of an instruction to follow it. Registers are numbers, 0 to 31.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code {
    /// Its length in bytes.
    pub length: u64,
    /// What it does beyond its hart.
    pub kind: CodeKind,
}

/// What an instruction does beyond its hart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CodeKind {
    /// Nothing.
    Plain,
    /// It is `wfi`.
    Wait,
    /// It reads memory at `base` + `offset` into `target`, sign extended if `signed`.
    Load {
        /// Register for what is read.
        target: u8,
        /// Register of the address.
        base: u8,
        /// Bytes from there.
        offset: i64,
        /// Whether the sign is extended.
        signed: bool,
    },
    /// It writes the low bytes of `source` to memory at `base` + `offset`.
    Store {
        /// Register of what is written.
        source: u8,
        /// Register of the address.
        base: u8,
        /// Bytes from there.
        offset: i64,
    },
    /// It reads memory at `base` into `target`, sign extended, and writes there.
    Swap {
        /// Register for what is read.
        target: u8,
        /// Register of the address.
        base: u8,
    },
    /// It is a store-conditional of `source` at `base`; `target` says whether it failed.
    Conditional {
        /// Register for 0 or 1.
        target: u8,
        /// Register of what is written.
        source: u8,
        /// Register of the address.
        base: u8,
    },
}

/// What is to be replayed.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The file.
    pub elf: &'a Path,
    /// Where its harts begin.
    pub entry: u64,
    /// What registers hold at first, but for x0, and for a0, which holds the hart's number.
    pub registers: u64,
    /// What stands at an address of its code.
    pub code: &'a dyn Fn(u64) -> Option<Code>,
    /// How many harts there are.
    pub harts: u32,
    /// Words that are set before the first instruction, beside the run's garbage.
    pub set: &'a [Planted],
    /// The run.
    pub run: &'a Counterexample,
    /// The addresses at which a hart has arrived.
    pub goals: &'a [u64],
    /// How often, at least once.
    pub times: u32,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The fault was shown every time.
    Shown(Followed),
    /// The emulator departed from the run.
    Departed {
        /// After the fault was shown so often.
        shown: u32,
        /// At this step, from 0; behind the last if none.
        step: Option<usize>,
        /// What was expected, and what was there.
        why: String,
    },
    /// It cannot be played, for this reason.
    NotReplayable(String),
}

/// A run that was followed every time. What differs from time to time is that of the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Followed {
    /// The emulator's version, in its own words.
    pub emulator: String,
    /// Instructions that harts were stepped through.
    pub instructions: u64,
    /// Accesses that the debugger performed before their turn.
    pub out_of_order: u32,
    /// Instructions that it passed over.
    pub passed_over: u32,
    /// Where the run leaves each hart.
    pub harts: Vec<Left>,
    /// How they ran freely from there.
    pub free: Option<Free>,
    /// How often the part that repeats was gone through again.
    pub rounds: u32,
}

/// A hart where a run leaves it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Left {
    /// Where it is.
    pub pc: u64,
    /// Its stack pointer.
    pub sp: u64,
    /// Its register a1.
    pub a1: u64,
    /// Whether it has arrived.
    pub arrived: bool,
}

/// How harts ran freely.
#[derive(Clone, Debug, PartialEq)]
pub struct Free {
    /// How long a piece was.
    pub piece: Duration,
    /// How many there were; nobody arrived in the last one.
    pub pieces: u32,
    /// What became of each hart.
    pub harts: Vec<tenbin_model::Stood>,
}

impl Replay<'_> {
    /// Replays the run as often as is asked, and tells `each` how often it was done.
    ///
    /// # Errors
    /// [`Error::Missing`] without the emulator, and whatever keeps it from running. That it departs from the
    /// run is none.
    pub fn play(&self, each: &mut dyn FnMut(u32)) -> Result<Outcome, Error> {
        let mut first = None;
        for time in 0..self.times {
            let mut machine = Machine::start(self.elf, self.harts, Instant::now() + DEADLINE)?;
            match self.once(&mut machine, FREE[usize::from(time > 0)]) {
                Ok(followed) => first.get_or_insert(followed),
                Err(Parted::Trouble(trouble)) => return Err(machine.failed(&trouble)),
                Err(Parted::Cannot(why)) => return Ok(Outcome::NotReplayable(why)),
                Err(Parted::Departed { step, why }) => {
                    return Ok(Outcome::Departed { shown: time, step, why });
                }
            };
            each(time + 1);
        }
        Ok(match first {
            Some(followed) => Outcome::Shown(followed),
            None => Outcome::NotReplayable("it was to be replayed no times".to_owned()),
        })
    }

    /// Once, on a machine that was just started.
    fn once(&self, machine: &mut Machine, piece: Duration) -> Result<Followed, Parted> {
        let emulator = machine.version.clone();
        machine.prepare(self.entry, self.registers)?;
        let mut follower = Follower::new(&mut machine.debugger, self.run, self.code, self.harts);
        follower.plant(self.set)?;
        follower.plant(&self.run.garbage)?;
        follower.follow()?;
        let harts = follower.leave(self.goals)?;
        let (mut free, mut rounds) = (None, 0);
        match self.run.fault {
            BootFault::Dead => {
                free = follower.set_free(self.goals, piece)?;
                if free.is_none() {
                    let why = "all harts arrived when they ran freely".to_owned();
                    return Err(Parted::Departed { step: None, why });
                }
            }
            BootFault::Livelock if self.run.repeats_from.is_some_and(|from| from < self.run.steps.len()) => {
                follower.repeat(ROUNDS)?;
                rounds = ROUNDS;
            }
            // What repeats is not told. Harts that run freely may come out of it.
            BootFault::Livelock => {
                free = follower.set_free(self.goals, piece)?;
                if free.is_none() {
                    return Err(Parted::Cannot(
                        "QEMU came to where it repeats; what repeats there is not told, and when all harts ran freely they \
                         arrived, as they may after a livelock"
                            .to_owned(),
                    ));
                }
            }
            BootFault::SharedStack => follow::share(&harts)?,
            BootFault::Astray => follower.trap()?,
            BootFault::StartedEarly | BootFault::StartedTwice | BootFault::Stale | BootFault::LostStore => {}
        }
        let follow::Work { instructions, out_of_order, passed_over } = follower.work;
        Ok(Followed { emulator, instructions, out_of_order, passed_over, harts, free, rounds })
    }
}
