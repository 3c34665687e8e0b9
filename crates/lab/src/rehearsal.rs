//! What tests of experiments have in common: requests and machines that are not there, and cells of a real
//! experiment, run whole through the engine with something planted in them.
//!
//! Checks, gauges, calibration and blocks are the engine's own. The clock is the machine's, and nothing
//! depends on it: blocks are counted.

use std::fmt::Debug;

use tenbin_analysis::Analysis;
use tenbin_metal::{Clock, Fault, Lap, allowed_cpus};
use tenbin_model::machine::{self, Cache, CpuPlace, Observed, Virtualisation, Witness};
use tenbin_model::{
    Arrangement, Bytes, Cell, Cpu, Descriptor, Effort, Finding, Gauge, Machine, Picoseconds, Refusal, Sizes,
    VariantIndex,
};

use crate::engine::{Bench, Setting};
use crate::experiment::{Apparatus, Experiment, Failure, Plan, PlannedCell, Request, Seen, Settings, Unfit};

/// What a test asks for: a survey of this machine, but for what the test is about.
pub(crate) struct TestRequest {
    pub(crate) machine: Machine,
    pub(crate) cpus: Vec<Cpu>,
    pub(crate) effort: Effort,
    pub(crate) settings: Settings,
    pub(crate) sizes: Sizes,
    pub(crate) seed: u64,
}

impl Default for TestRequest {
    fn default() -> Self {
        Self {
            machine: machine(),
            cpus: allowed_cpus().expect("a test runs on a CPU"),
            effort: Effort::Quick,
            settings: Settings::default(),
            sizes: Sizes::default(),
            seed: 1,
        }
    }
}

impl TestRequest {
    /// The same in the terms of an experiment.
    pub(crate) fn request(&self) -> Request<'_> {
        let Self { machine, cpus, effort, settings, sizes, seed } = self;
        let clock = Clock::kernel();
        Request { machine, clock, cpus, effort: *effort, settings, sizes, seed: *seed }
    }
}

/// What `--set` gave, for the experiment that `descriptor` describes.
pub(crate) fn settings(descriptor: &Descriptor, given: &[(&str, &str)]) -> Result<Settings, Unfit> {
    Settings::new(given.iter().map(|&(key, value)| (key.into(), value.into())).collect(), descriptor)
}

/// The words of a usage error.
pub(crate) fn usage<T: Debug>(answer: Result<T, Unfit>) -> String {
    match answer {
        Err(Unfit::Usage(message)) => message,
        other => panic!("{other:?}"),
    }
}

pub(crate) fn refused<T: Debug>(answer: Result<T, Unfit>) -> Refusal {
    match answer {
        Err(Unfit::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

/// A machine that is not virtual, of which nothing else is known.
pub(crate) fn machine() -> Machine {
    Machine { virtualisation: Virtualisation::None, ..Machine::unobserved("a test") }
}

/// The same with so much memory free.
pub(crate) fn machine_with(free: Bytes) -> Machine {
    Machine { memory_available: Observed::Known(free), ..machine() }
}

/// One whose clock has steps of so many picoseconds.
pub(crate) fn machine_with_clock(resolution_ps: f64) -> Machine {
    let clock = machine::Clock {
        name: "a timer".into(),
        resolution_ps,
        cost_ps: 1.0,
        backward_steps: 0,
        cross_readings: 0,
        why: "a test".into(),
    };
    Machine { clock: Observed::Known(clock), ..Machine::unobserved("a test") }
}

/// A CPU of which only its caches are known.
pub(crate) fn place(cpu: u32, caches: Vec<Cache>) -> CpuPlace {
    fn unknown<T>() -> Observed<T> {
        Observed::NotObservable("a test".into())
    }
    CpuPlace {
        cpu: Cpu(cpu),
        package: unknown(),
        core: unknown(),
        siblings: unknown(),
        node: unknown(),
        kind: unknown(),
        caches: Observed::Known(caches),
    }
}

/// A cache for data, with lines of 64 bytes, as sysfs shows it.
pub(crate) fn cache(level: u8, size: Bytes, shared_by: impl IntoIterator<Item = u32>) -> Cache {
    Cache {
        level,
        kind: "Unified".into(),
        size: Observed::Known(size),
        line: Observed::Known(Bytes(64)),
        shared_by: shared_by.into_iter().map(Cpu).collect(),
        witness: Witness::Sysfs,
    }
}

/// Holds a text against all that it has to say.
#[track_caller]
pub(crate) fn says(text: &str, parts: &[&str]) {
    for part in parts {
        assert!(text.contains(part), "`{part}` in {text}");
    }
}

/// Holds a refusal against what it has to say was reached, is needed and helps.
#[track_caller]
pub(crate) fn refuses(refusal: &Refusal, reached: &str, needs: &str, remedy: &str) {
    for (text, part) in [(&refusal.reached, reached), (&refusal.needs, needs), (&refusal.remedy, remedy)] {
        assert!(text.contains(part), "`{part}` in {refusal:?}");
    }
}

/// Blocks of a rehearsal, and the block in which what was planted comes up.
const BLOCKS: u32 = 4;
const PLANTED: u32 = 2;

/// An apparatus that is sound until a block has begun, and from then on does what `epoch` says.
pub(crate) struct Planted<A: ?Sized, E> {
    inner: Box<A>,
    blocks: u32,
    epoch: E,
}

impl<A: ?Sized, E> Planted<A, E>
where
    E: FnMut(&mut A, VariantIndex, u64) -> Result<Lap, Failure>,
{
    pub(crate) fn later(inner: Box<A>, epoch: E) -> Self {
        Self { inner, blocks: 0, epoch }
    }
}

impl<A, E> Apparatus for Planted<A, E>
where
    A: Apparatus + ?Sized,
    E: FnMut(&mut A, VariantIndex, u64) -> Result<Lap, Failure>,
{
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        self.inner.check(variant)
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        if self.blocks > PLANTED {
            (self.epoch)(&mut self.inner, variant, iterations)
        } else {
            self.inner.epoch(variant, iterations)
        }
    }

    fn shift(&mut self, layout: u32) {
        self.blocks += 1;
        self.inner.shift(layout);
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        self.inner.gauges(variant)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        self.inner.findings()
    }

    fn remarks(&mut self) -> Vec<Finding> {
        self.inner.remarks()
    }
}

/// Enough is so many whole blocks.
pub(crate) struct After(pub(crate) u32);

impl Analysis for After {
    fn name(&self) -> &'static str {
        "after"
    }

    fn least_blocks(&self, _: &Descriptor, _: usize) -> u32 {
        self.0
    }

    fn decided(&self, _: &Descriptor, _: usize, cell: &Cell) -> bool {
        let Cell { arrangement, samples, .. } = cell;
        samples.len() >= self.0 as usize * 2 * arrangement.variants.len()
    }

    fn depends(&self, _: &Descriptor, _: usize, _: &Cell) -> bool {
        false
    }
}

/// The headline of an experiment's plan, and its description with the variants that were planned.
pub(crate) fn headline(experiment: &Experiment<'_>, request: &Request<'_>) -> (Descriptor, PlannedCell) {
    let mut descriptor = (experiment.describe)();
    let plan = (experiment.plan)(request).expect("a plan");
    if let Some(variants) = plan.variants {
        descriptor.variants = variants;
    }
    let cell = plan.cells.into_iter().find(|cell| cell.arrangement.headline);
    (descriptor, cell.expect("a headline"))
}

/// The cells of a plan, without what sets them up.
pub(crate) fn arrangements(plan: &Plan) -> Vec<Arrangement> {
    plan.cells.iter().map(|planned| planned.arrangement.clone()).collect()
}

/// Runs the cell through the engine, from its checks to its last block.
pub(crate) fn rehearsed(
    (descriptor, arrangement): (&Descriptor, Arrangement),
    request: &Request<'_>,
    apparatus: &mut dyn Apparatus,
) -> Cell {
    let watch = || Picoseconds(0);
    let mut bench = Bench { watch: &watch, stop: &|| false, counters: None, probe: None, sink: &mut |_| {} };
    let setting = Setting {
        analysis: &After(BLOCKS),
        descriptor,
        family: arrangement.comparisons.len(),
        machine: request.machine,
        limit: Picoseconds::from_millis(1),
        overtime: 1,
        by_looks: false,
        known_alike: false,
        seed: request.seed,
    };
    let mut cell = Cell::unmeasured(arrangement);
    bench.weigh(&setting, apparatus, &mut cell);
    cell
}
