//! A machine that changes while it is measured, planted: half of the blocks in one state, half in another.
//!
//! Whole, from the engine to the sentence, and nothing depends on how fast the machine is: blocks are
//! counted, and what changes is whether two workers can meet at all.
#![allow(clippy::unwrap_used)]

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tenbin_analysis::Analysis;
use tenbin_lab::{Apparatus, Bench, Experiment, Failure, Open, Opened, Plan, Request, Seen, Settings, Unfit};
use tenbin_metal::{Clock, Fault, Lap, Task, Team, allowed_cpus};
use tenbin_model::{
    Answer, Arrangement, Cell, Comparison, Cpu, Descriptor, Effort, Ended, Machine, Picoseconds, Sample,
    Sizes, Trial, Variant, VariantIndex, Verdict,
};

/// Blocks of a cell, and the one before which the machine changes. So many that a change is seen where others
/// stop half of the epochs midway: beside fourteen busy processes, 200 were too few for that.
const BLOCKS: u32 = 600;
const CHANGE: u32 = 240;

const ITERATIONS: u64 = 20_000;

const OWN: VariantIndex = VariantIndex(0);
const SHARED: VariantIndex = VariantIndex(1);

/// Comparisons, which may not end this cell before it changes.
struct ToTheEnd;

impl Analysis for ToTheEnd {
    fn name(&self) -> &'static str {
        "comparisons"
    }

    fn decided(&self, _: &Descriptor, _: usize, _: &Cell) -> bool {
        false
    }
}

#[derive(Default)]
#[repr(align(256))]
struct Counter(AtomicU64);

/// Workers that add to a counter each, or to one together.
struct Adders {
    /// None while one is let go and the other not gathered yet.
    team: Option<Team>,
    tasks: [Task; 2],
    clock: Clock,
    blocks: u32,
    /// What happens before block [`CHANGE`].
    change: fn(&mut Self),
}

impl Adders {
    fn gather(cpus: &[Cpu], clock: Clock, extra: u64, change: fn(&mut Self)) -> Result<Self, Unfit> {
        let team = Some(Team::gather(clock, cpus)?);
        Ok(Self { team, tasks: tasks(extra), clock, blocks: 0, change })
    }
}

/// The two variants; an iteration of the shared one is so many more additions.
fn tasks(extra: u64) -> [Task; 2] {
    let counters: Arc<[Counter; 3]> = Arc::default();
    [OWN, SHARED].map(|variant| {
        let counters = Arc::clone(&counters);
        let each = if variant == OWN { 1 } else { 1 + extra };
        let task: Task = Arc::new(move |worker, iterations| {
            let counter = if variant == OWN { &counters[worker] } else { &counters[2] };
            for _ in 0..iterations * each {
                counter.0.fetch_add(1, Ordering::Relaxed);
            }
            0
        });
        task
    })
}

impl Apparatus for Adders {
    fn check(&mut self, _: VariantIndex) -> Result<Seen, Fault> {
        Ok(Seen::Met("nothing is asked of it".into()))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let team = self.team.as_mut().expect("a team");
        Ok(team.lap(&self.tasks[variant], iterations)?)
    }

    fn shift(&mut self, _: u32) {
        if self.blocks == CHANGE {
            (self.change)(self);
        }
        self.blocks += 1;
    }
}

/// Two workers on two CPUs are moved onto one, where they can no longer meet.
fn moved(_: &Arrangement, request: &Request<'_>) -> Opened {
    let change = |adders: &mut Adders| {
        let first = adders.team.as_ref().expect("a team").cpus()[0];
        // The old pins go before the new ones come: each gives back what it met.
        adders.team = None;
        adders.team = Some(Team::gather(adders.clock, &[first, first]).expect("both on one CPU"));
    };
    Ok(Box::new(Adders::gather(&request.cpus[..2], request.clock, 0, change)?))
}

/// One worker, for whom sharing costs eight times as much by the number of additions, and then no more.
fn eased(_: &Arrangement, request: &Request<'_>) -> Opened {
    let change = |adders: &mut Adders| adders.tasks = tasks(0);
    Ok(Box::new(Adders::gather(&request.cpus[..1], request.clock, 7, change)?))
}

fn describe() -> Descriptor {
    Descriptor {
        name: "planted".into(),
        question: "Does sharing cost anything?".into(),
        subject: "A counter".into(),
        variants: vec![Variant::measured("one each", ""), Variant::measured("a shared one", "")],
        margin: 0.3,
        ..Descriptor::default()
    }
}

fn cell(cpus: &[Cpu]) -> Arrangement {
    Arrangement {
        label: "by two".into(),
        cpus: cpus.to_vec(),
        // The same count for both, so that what an epoch costs once favours neither.
        least_iterations: ITERATIONS,
        most_iterations: ITERATIONS,
        most_blocks: BLOCKS,
        variants: vec![OWN, SHARED],
        comparisons: Comparison::of([(OWN, SHARED)]),
        headline: true,
        ..Arrangement::default()
    }
}

/// Measures the cell, and judges the blocks before the change by themselves and then all of them.
fn judged(open: Open, cpus: &[Cpu]) -> [Answer; 2] {
    // Two tests at once would hold the same CPUs, and each be what disturbs the other.
    static CPUS: Mutex<()> = Mutex::new(());
    let _alone = CPUS.lock().unwrap_or_else(PoisonError::into_inner);
    let machine = Machine::unobserved("a test");
    let (sizes, settings) = (Sizes::default(), Settings::default());
    let request = Request {
        machine: &machine,
        clock: Clock::kernel(),
        cpus,
        effort: Effort::Quick,
        sizes: &sizes,
        settings: &settings,
        seed: 1,
    };
    let plan = |request: &Request<'_>| Ok(Plan::new([cell(request.cpus)], open));
    let experiment = Experiment { analysis: &ToTheEnd, ..Experiment::new(&describe, &plan) };
    let watch = || Picoseconds(0);
    let mut bench = Bench { watch: &watch, stop: &|| false, counters: None, probe: None, sink: &mut |_| {} };
    let trial = bench.run(&experiment, &request).unwrap();
    let before = |sample: &Sample| sample.block < CHANGE;
    let mut first = trial.clone();
    first.cells[0].samples.retain(before);
    assert_eq!(first.cells[0].ended, Some(Ended::Budget), "{:?}", first.cells[0].refusal);
    [first, trial].map(|trial: Trial| ToTheEnd.judge(&machine, &trial).answers.remove(0))
}

#[test]
fn workers_that_are_moved_onto_one_cpu_midway_get_no_one_answer() {
    let cpus = allowed_cpus().unwrap();
    if cpus.len() < 2 {
        println!("not tested: there is one CPU, and workers cannot be moved onto it");
        return;
    }
    let [before, whole] = judged(moved, &cpus[..2]);
    println!("{}\n{}", before.sentence, whole.sentence);
    if before.verdict == Verdict::Different {
        assert_eq!(whole.verdict, Verdict::Refused, "{}", whole.sentence);
    } else {
        println!(
            "not tested: these two CPUs do not contend, as two threads of one core, so that nothing changed"
        );
    }
}

#[test]
fn work_that_changes_midway_depends_on_when_it_is_asked() {
    let [before, whole] = judged(eased, &allowed_cpus().unwrap()[..1]);
    assert_eq!(before.verdict, Verdict::Different, "{}", before.sentence);
    assert_eq!(whole.verdict, Verdict::Refused, "{}", whole.sentence);
    assert!(whole.sentence.starts_with("Refused: it depends: "), "{}", whole.sentence);
    let regimes = whole.evidence.unwrap().regimes;
    // Neighbours may make several states of the first.
    let after: usize = regimes.iter().filter(|regime| regime.ratio < 1.3).map(|regime| regime.blocks).sum();
    assert!(after.abs_diff((BLOCKS - CHANGE) as usize) <= 24, "{regimes:?}");
}
