//! `wake`: what it costs to hand a turn to a thread that waits, by how it waits, on the same CPU and on
//! another.

use std::sync::Arc;

use tenbin_metal::{Fault, Handover, Lap, Mailboxes, Task, Team};
use tenbin_model::{Arrangement, Comparison, Descriptor, Effort, Picoseconds, Source, Variant, VariantIndex};

use super::lap_with_failures;
use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};

const CONDVAR: VariantIndex = VariantIndex(0);
const PARK: VariantIndex = VariantIndex(1);
const PIPE: VariantIndex = VariantIndex(2);
const YIELD: VariantIndex = VariantIndex(3);
const SPIN: VariantIndex = VariantIndex(4);
const SKIPPED: VariantIndex = VariantIndex(5);

const CHECKED: u64 = 64;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let first = request.cpus[0];
    let other = request.cpus.get(1).copied().unwrap_or(first);
    let cell = |label: &str, cpus, variants, pairs: &[(VariantIndex, VariantIndex)]| Arrangement {
        label: label.into(),
        cpus,
        // There and back again.
        work: 2,
        epoch: describe().epoch,
        // A first turn finds its worker anywhere: an epoch has many.
        least_iterations: 16,
        variants,
        comparisons: Comparison::of(pairs.iter().copied()),
        ..Arrangement::default()
    };
    // Who spins on the one CPU there is keeps the other from its turn until the kernel takes the CPU away.
    let one = cell(
        "on one CPU",
        vec![first; 2],
        vec![CONDVAR, PARK, PIPE, YIELD],
        &[(CONDVAR, PIPE), (PARK, CONDVAR), (YIELD, PARK)],
    );
    let two = cell(
        "on two CPUs",
        vec![first, other],
        vec![CONDVAR, PARK, PIPE, YIELD, SPIN],
        &[(SPIN, PARK), (CONDVAR, PIPE), (PARK, CONDVAR), (SPIN, YIELD)],
    );
    // Who waits is woken, or finds the turn before it sleeps, by how far apart a host puts the two CPUs.
    let two = Arrangement { sway: Some(1.0), ..two };
    let two = match request.effort {
        Effort::Quick if request.cpus.len() > 1 => Arrangement {
            variants: vec![CONDVAR, PARK, PIPE, SPIN],
            comparisons: Comparison::of([(SPIN, PARK), (CONDVAR, PIPE)]),
            ..two
        },
        _ => two,
    };
    Ok(Plan::new([Arrangement { headline: true, ..one }, two], open))
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    Ok(Box::new(Waking { team, mailboxes: Arc::new(Mailboxes::new()?), turns: 0 }))
}

/// How a turn is handed over, and whether the last one is given a number that was there already.
fn handover(variant: VariantIndex) -> (Handover, bool) {
    match variant {
        CONDVAR => (Handover::Condvar, false),
        PIPE => (Handover::Pipe, false),
        YIELD => (Handover::Yield, false),
        SPIN => (Handover::Spin, false),
        _ => (Handover::Park, variant == SKIPPED),
    }
}

struct Waking {
    team: Team,
    mailboxes: Arc<Mailboxes>,
    /// Turns that were taken so far: numbers ascend from lap to lap.
    turns: u64,
}

impl Waking {
    /// Lets two workers hand the turn back and forth, so many turns each; the lap's failures are turns out of
    /// order.
    fn handed(&mut self, variant: VariantIndex, rounds: u64) -> Result<(Lap, u64), Fault> {
        let (mailboxes, before) = (Arc::clone(&self.mailboxes), self.turns);
        self.turns += 2 * rounds + 2;
        let (how, skip) = handover(variant);
        let task: Task = Arc::new(move |worker, rounds| mailboxes.hand(worker, how, before, rounds, skip));
        lap_with_failures(&mut self.team, &task, rounds)
    }
}

impl Apparatus for Waking {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let (_, wrong) = self.handed(variant, CHECKED)?;
        let turns = 2 * CHECKED;
        Ok(match wrong {
            0 => Seen::Met(format!("{turns} of {turns} turns came in order")),
            _ => Seen::Broken(format!("{wrong} of {turns} turns came out of order")),
        })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let turns = 2 * iterations;
        match self.handed(variant, iterations)? {
            (lap, 0) => Ok(lap),
            (_, wrong) => Err(Failure::Wrong(format!("{wrong} of {turns} turns came out of order"))),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "wake".into(),
        question: "What does it cost to hand a turn to a thread that waits?".into(),
        requirement:
            "whoever divides work among threads pays for every hand-over: by a lock, a pipe or a spinning loop"
                .into(),
        specification: "every turn comes to its worker, once, in order".into(),
        subject: "A turn handed over".into(),
        variants: Variant::list(
            &[
                ("a condition variable", "std's Mutex and Condvar: futex(2), to wait and to wake"),
                ("park", "std's thread::park and unpark: futex(2) on a word of the thread's own"),
                ("a pipe", "eight bytes written to one and read from it: a wait queue of the kernel's"),
                ("sched_yield", "the CPU given away until the number has come"),
                ("spinning", "the number read again and again"),
            ],
            &[("a turn left out", "the last turn bears the number after its own")],
        ),
        margin: 0.05,
        // As two CPUs are near or far by where a host puts them.
        sway: 0.15,
        epoch: Picoseconds::from_micros(500),
        sources: vec![
            Source::new(
                "McVoy and Staelin, \"lmbench: Portable Tools for Performance Analysis\", 1996",
                "a token passed around is what a context switch costs, with what carries it",
            ),
            Source::new("Linux, tools/perf/bench/sched-pipe.c", "two that wait for each other over a pipe"),
            Source::new(
                "Rust, library/std/src/sys/sync/condvar/futex.rs",
                "what the condition variable asks of the kernel",
            ),
        ],
        ..Descriptor::default()
    }
}

/// The wake experiment.
pub const EXPERIMENT: Experiment<'static> =
    Experiment::new(&describe, &plan).depends_on(&[Aspect::Wakes, Aspect::Calls]);
