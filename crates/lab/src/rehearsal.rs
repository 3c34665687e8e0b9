//! A cell of a real experiment, run whole through the engine with something planted in it: for tests.
//!
//! Checks, gauges, calibration and blocks are the engine's own. The clock is the machine's, and nothing
//! depends on it: blocks are counted.

use tenbin_analysis::Analysis;
use tenbin_metal::{Fault, Lap};
use tenbin_model::{Arrangement, Cell, Descriptor, Finding, Gauge, Picoseconds, Sample};

use crate::engine::{Bench, Setting, unmeasured};
use crate::experiment::{Apparatus, Experiment, Failure, Request, Seen};

/// Blocks of a rehearsal, and the block in which what was planted comes up.
const BLOCKS: u32 = 4;
const PLANTED: u32 = 2;

/// An apparatus that is sound until a block has begun, and from then on does what `epoch` says.
pub(crate) struct Planted<A, E> {
    inner: A,
    blocks: u32,
    epoch: E,
}

impl<A, E> Planted<A, E>
where
    E: FnMut(&mut A, u32, u64) -> Result<Lap, Failure>,
{
    pub(crate) fn later(inner: A, epoch: E) -> Self {
        Self { inner, blocks: 0, epoch }
    }
}

impl<A, E> Apparatus for Planted<A, E>
where
    A: Apparatus,
    E: FnMut(&mut A, u32, u64) -> Result<Lap, Failure>,
{
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        self.inner.check(variant)
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
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

    fn gauges(&mut self, variant: u32) -> Result<Vec<Gauge>, Fault> {
        self.inner.gauges(variant)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        self.inner.findings()
    }

    fn remarks(&mut self) -> Vec<Finding> {
        self.inner.remarks()
    }
}

impl Apparatus for Box<dyn Apparatus> {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        (**self).check(variant)
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
        (**self).epoch(variant, iterations)
    }

    fn shift(&mut self, layout: u32) {
        (**self).shift(layout);
    }

    fn gauges(&mut self, variant: u32) -> Result<Vec<Gauge>, Fault> {
        (**self).gauges(variant)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        (**self).findings()
    }

    fn remarks(&mut self) -> Vec<Finding> {
        (**self).remarks()
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

    fn decided(&self, _: &Descriptor, _: usize, arrangement: &Arrangement, samples: &[Sample]) -> bool {
        samples.len() >= self.0 as usize * 2 * arrangement.variants.len()
    }

    fn depends(&self, _: &Descriptor, _: usize, _: &Cell) -> bool {
        false
    }
}

/// The headline of an experiment's plan, and its description with the variants that were planned.
pub(crate) fn headline(experiment: &Experiment, request: &Request<'_>) -> (Descriptor, Arrangement) {
    let mut descriptor = (experiment.describe)();
    let plan = (experiment.plan)(request).expect("a plan");
    if let Some(variants) = plan.variants {
        descriptor.variants = variants;
    }
    let cell = plan.cells.into_iter().find(|cell| cell.headline);
    (descriptor, cell.expect("a headline"))
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
        known_alike: false,
        seed: request.seed,
    };
    let mut cell = unmeasured(arrangement);
    bench.weigh(&setting, apparatus, &mut cell);
    cell
}
