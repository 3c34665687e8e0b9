//! Commands: whole processes that count down, weighed by all of `tenbin weigh`.
//!
//! What starting a process costs is part of every run and of no one's choosing, so `effect` is a part of the
//! whole run: starting is measured, and the longer side counts down by that much more.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tenbin_metal::launcher::Sink;
use tenbin_metal::{Fault, Launch, Launcher};
use tenbin_model::Picoseconds;

use super::{MARGIN, NAMES, Question, Subject, unneeded};
use crate::experiment::Unfit;
use crate::weigh::{self, Weighing};

/// A length of command: its name, what it does in words, and how long that takes all in all.
type Length = (&'static str, &'static str, Picoseconds);

pub(super) const LENGTHS: [Length; 3] = [
    ("run-1ms", "a process that counts down for about 1 ms", Picoseconds::from_millis(1)),
    ("run-10ms", "a process that counts down for about 10 ms", Picoseconds::from_millis(10)),
    ("run-100ms", "a process that counts down for about 100 ms", Picoseconds::from_millis(100)),
];

/// What a start and a turn take here, in picoseconds: the least that was seen, for whatever else runs makes a
/// run longer and none shorter.
#[derive(Clone, Copy)]
struct Costs {
    start: f64,
    turn: f64,
}

/// Two programs: the turns of each, and what a run of each takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    turns: [u64; 2],
    times: [Picoseconds; 2],
}

/// The questions about pairs of every length with every one of these effects.
///
/// # Errors
/// No process can be started.
pub(super) fn questions(effects: &[f64]) -> Result<Vec<Question>, Fault> {
    let costs = Costs::measured()?;
    let of_length = |length| {
        effects.iter().map(move |&effect| question(length, Pair::new(costs, length, effect), effect))
    };
    Ok(LENGTHS.iter().flat_map(of_length).collect())
}

fn question((work, what, _): &Length, pair: Pair, effect: f64) -> Question {
    Question {
        subject: Subject::Command(pair),
        work,
        what: (*what).into(),
        effect,
        margin: MARGIN,
        refused: unneeded(effect),
    }
}

/// In which of so many rounds a length is weighed: a pair of commands takes as long as ten others.
pub(super) fn is_of_round(work: &str, round: u32) -> bool {
    LENGTHS.iter().position(|length| length.0 == work) == Some(round as usize % LENGTHS.len())
}

impl Costs {
    fn measured() -> Result<Self, Fault> {
        const RUNS: u32 = 40;
        const TURNS: u64 = 10_000_000;
        let mut launcher = Launcher::start()?;
        let mut least = |turns: u64| -> Result<f64, Fault> {
            let (_file, program) = Launcher::countdown(turns)?;
            let launch = Launch {
                arguments: vec![program.clone()],
                program,
                environment: Vec::new(),
                folder: None,
                cpus: Vec::new(),
                first: None,
                input: None,
                output: Sink::Null,
                errors: Sink::Null,
                deadline: Duration::from_secs(60),
                leaves: false,
                small: false,
                counted: false,
            };
            let mut least = Picoseconds(u64::MAX);
            for _ in 0..RUNS {
                least = least.min(launcher.run(&launch, true, &mut |_, _| {})?.elapsed);
            }
            Ok(least.0 as f64)
        };
        let (start, longer) = (least(1)?, least(TURNS)?);
        // A turn takes something, whatever the noise says.
        Ok(Self { start, turn: (longer - start).max(TURNS as f64) / TURNS as f64 })
    }
}

impl Pair {
    fn new(Costs { start, turn }: Costs, (_, _, length): &Length, effect: f64) -> Self {
        // Where starting takes most of it, the run gets longer: it has to be mostly turns.
        let counting = (length.0 as f64 - start).max(start);
        let longer = counting + (start + counting) * effect;
        let turns = [counting, longer].map(|time| (time / turn).round().max(1.0) as u64);
        Self { turns, times: turns.map(|turns| Picoseconds((start + turns as f64 * turn) as u64)) }
    }

    /// The ratio of a run of the right side to one of the left.
    pub(super) fn truth(self) -> f64 {
        self.times[1].0 as f64 / self.times[0].0 as f64
    }

    /// Turns of the left side.
    pub(super) fn operations(self) -> u64 {
        self.turns[0]
    }

    /// What `tenbin weigh --within LIMIT` makes of it, and its programs, which are there for as long as their
    /// files are open.
    ///
    /// # Errors
    /// As [`weigh::Question::read`]; a fault where a program cannot be made.
    pub(super) fn read(self, limit: Picoseconds) -> Result<(Weighing, [OwnedFd; 2]), Unfit> {
        let [left, right] = self.turns.map(Launcher::countdown);
        let [left, right] = [left?, right?];
        let question = weigh::Question {
            commands: [&left, &right].map(|(_, path)| path.to_string_lossy().into_owned()).to_vec(),
            // Those that are refused for one reason are counted together.
            names: NAMES.map(String::from).to_vec(),
            within: Some(limit),
            ..weigh::Question::default()
        };
        Ok((question.read()?, [left.0, right.0]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_a_part_of_the_whole_run() {
        let costs = Costs { start: 4e8, turn: 500.0 };
        let pair = |costs, effect| Pair::new(costs, &LENGTHS[0], effect);
        assert_eq!((pair(costs, 0.0).turns, pair(costs, 0.0).truth()), ([1_200_000; 2], 1.0));
        assert_eq!(pair(costs, 0.05).turns, [1_200_000, 1_300_000]);
        assert!((pair(costs, 0.05).truth() - 1.05).abs() < 1e-9);
        assert_eq!(pair(Costs { start: 3e9, ..costs }, 0.01).turns, [6_000_000, 6_120_000]);
    }

    #[test]
    fn what_need_not_be_found_is_not_asked_for() {
        let refused = |effect| {
            let pair = Pair::new(Costs { start: 1.0, turn: 1.0 }, &LENGTHS[1], effect);
            question(&LENGTHS[1], pair, effect).refused.is_some()
        };
        assert_eq!([0.0, 0.005, 0.01, 0.05].map(refused), [false, true, false, false]);
    }

    #[test]
    fn every_length_has_its_rounds() {
        let rounds = |round| LENGTHS.map(|(name, ..)| is_of_round(name, round));
        assert_eq!(rounds(0), [true, false, false]);
        assert_eq!(rounds(4), [false, true, false]);
        assert!(!is_of_round("alu", 0));
    }
}
