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

mod code;
mod follow;
mod machine;

use std::path::Path;
use std::time::{Duration, Instant};

use tenbin_boot::image::Image;
use tenbin_boot::{BootCheck, Counterexample, Fault, ReplayOutcome, Shown, UNSET};

use crate::error::Error;
use code::Code;
use follow::{Follower, Parted};
use machine::Machine;

/// How long one replay may take, the start of the emulator included.
const DEADLINE: Duration = Duration::from_secs(300);

/// How long harts run freely, in a piece: the first time, and later. Whoever cannot arrive does not in any
/// time; this is for whoever can.
const FREE: [Duration; 2] = [Duration::from_millis(300), Duration::from_millis(50)];

/// How often the part of a run that repeats is gone through again.
const ROUNDS: u32 = 3;

/// What is to be replayed.
#[derive(Clone, Copy)]
pub struct Replay<'a> {
    /// The file.
    pub elf: &'a Path,
    /// What it puts into memory.
    pub image: &'a Image,
    /// The machine that was checked.
    pub check: &'a BootCheck,
    /// The run on it.
    pub run: &'a Counterexample,
    /// How often, at least once.
    pub times: u32,
}

impl Replay<'_> {
    /// Replays the run as often as is asked, and tells `each` how often it was done. The emulator's name and
    /// version, where the run was shown, and the outcome.
    ///
    /// # Errors
    /// [`Error::Missing`] without the emulator, and whatever keeps it from running. That it departs from the
    /// run is none.
    pub fn play(&self, each: &mut dyn FnMut(u32)) -> Result<(Option<String>, ReplayOutcome), Error> {
        let mut first = None;
        for time in 0..self.times {
            let mut machine = Machine::start(self.elf, self.check.machine.harts, Instant::now() + DEADLINE)?;
            match self.once(&mut machine, FREE[usize::from(time > 0)]) {
                Ok(shown) => first.get_or_insert((Some(machine.version), shown)),
                Err(Parted::Trouble(trouble)) => return Err(machine.failed(&trouble)),
                Err(Parted::Cannot(why)) => return Ok((None, ReplayOutcome::NotReplayable { why })),
                Err(Parted::Departed { step, why }) => {
                    return Ok((None, ReplayOutcome::Departed { shown: time, step, why }));
                }
            };
            each(time + 1);
        }
        Ok(match first {
            Some((version, shown)) => (version, ReplayOutcome::Shown(shown)),
            None => (None, ReplayOutcome::NotReplayable { why: "it was to be replayed 0 times".to_owned() }),
        })
    }

    /// Once, on a machine that was just started.
    fn once(&self, machine: &mut Machine, piece: Duration) -> Result<Shown, Parted> {
        machine.prepare(self.image.entry, UNSET)?;
        let code = |pc| Code::at(self.image, pc);
        let goals = self.check.goals.iter().map(|goal| goal.0).collect::<Vec<_>>();
        let planted = self.check.machine.set.iter().chain(&self.run.garbage).cloned().collect::<Vec<_>>();
        let mut follower = Follower::new(&mut machine.debugger, self.run, &code, self.check.machine.harts);
        follower.plant(&planted)?;
        follower.follow()?;
        let harts = follower.leave(&goals)?;
        let (mut free, mut rounds) = (None, 0);
        match self.run.fault {
            Fault::Dead => {
                free = follower.set_free(&goals, piece)?;
                if free.is_none() {
                    let why = "all harts arrived when they ran freely".to_owned();
                    return Err(Parted::Departed { step: None, why });
                }
            }
            Fault::Livelock if self.run.repeats_from.is_some_and(|from| from < self.run.steps.len()) => {
                follower.repeat(ROUNDS)?;
                rounds = ROUNDS;
            }
            // What repeats is not told. Harts that run freely may come out of it.
            Fault::Livelock => {
                free = follower.set_free(&goals, piece)?;
                if free.is_none() {
                    return Err(Parted::Cannot(
                        "QEMU reached where it repeats; what repeats there is not stated, and when all \
                         harts ran freely they arrived, as they may after a livelock"
                            .to_owned(),
                    ));
                }
            }
            Fault::SharedStack => follow::share(&harts)?,
            Fault::Astray => follower.trap()?,
            Fault::StartedEarly | Fault::StartedTwice | Fault::Stale | Fault::LostStore => {}
        }
        let follow::Work { instructions, out_of_order, passed_over } = follower.work;
        let times = self.times;
        Ok(Shown { times, instructions, planted, out_of_order, passed_over, harts, free, rounds })
    }
}
