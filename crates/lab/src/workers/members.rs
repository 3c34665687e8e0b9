//! Who stands on the pans: workers, started where they are needed, checked, and asked for work.

use tenbin_metal::{Fault, Lap};
use tenbin_model::words::counted;
use tenbin_model::{Cpu, VariantIndex};

use super::growth::growth;
use super::worker::{Work, Worker};
use crate::experiment::{Apparatus, Failure, Seen};
use crate::workload::command::seen;

pub(super) trait Source {
    fn start(&mut self, place: usize, layout: u32) -> Result<Worker, Failure>;

    /// Whether a worker is started anew for each block, in a layout of its own.
    fn is_laid_anew(&self) -> bool;

    /// Whether what it starts is the runner, which does operations in several calls.
    fn is_runner(&self) -> bool;
}

/// What a variant is: something that a worker can do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Part {
    pub(super) place: usize,
    /// Its own number for it.
    pub(super) number: usize,
}

pub(super) struct Members {
    pub(super) source: Box<dyn Source>,
    /// By variant, those that are wrong on purpose last.
    pub(super) parts: Vec<Part>,
    /// By place; none where it was not started yet, or not in this layout.
    pub(super) workers: Vec<Option<Worker>>,
    pub(super) cpu: Cpu,
    layout: u32,
    /// Workers that are held against each other, in the order of their places.
    together: usize,
    /// What the first variant of each group of those answered to [`SAMPLE`].
    expected: Vec<Option<Vec<String>>>,
    /// Timed epochs so far, of all variants.
    epochs: u64,
    /// Whether hardware counts, as far as that was asked for.
    pub(super) counted: bool,
    /// Whether times mean something here.
    pub(super) timed: bool,
}

/// Operations that a check has done, one call after the other: what came of them is the same for all.
pub(super) const SAMPLE: [u64; 3] = [1, 2, 5];

impl Members {
    /// So many workers of a source, of which `together` are held against each other.
    pub(super) fn new(source: Box<dyn Source>, places: usize, together: usize, cpu: Cpu) -> Self {
        Self {
            source,
            parts: Vec::new(),
            workers: (0..places).map(|_| None).collect(),
            cpu,
            layout: 0,
            together,
            expected: vec![None; places.div_ceil(together.max(1))],
            epochs: 0,
            counted: false,
            timed: false,
        }
    }

    /// The worker at `place`, started where it is not there.
    pub(super) fn worker(&mut self, place: usize) -> Result<&mut Worker, Failure> {
        let worker = match self.workers[place].take() {
            Some(worker) => worker,
            None => {
                let mut worker = self.source.start(place, self.layout)?;
                if self.counted {
                    // From the first question on it counts.
                    worker.counts()?;
                }
                worker
            }
        };
        Ok(self.workers[place].insert(worker))
    }

    /// Has a variant do the sample, from its start where it can be started anew.
    pub(super) fn sample(&mut self, part: Part) -> Result<Vec<String>, Failure> {
        if self.source.is_laid_anew() {
            self.workers[part.place] = None;
        }
        let worker = self.worker(part.place)?;
        // Who does not answer once is not asked again.
        SAMPLE
            .into_iter()
            .map(|operations| worker.run(part.number, operations).map(|work| work.evidence))
            .collect()
    }

    /// Whether what a variant does is what it has to do.
    fn seen(&mut self, part: Part) -> Result<Seen, Failure> {
        let evidence = self.sample(part)?;
        let expected = &mut self.expected[part.place / self.together.max(1)];
        let seen = match expected {
            None => {
                *expected = Some(evidence);
                None
            }
            Some(expected) => {
                let differing =
                    SAMPLE.iter().zip(expected.iter().zip(&evidence)).find(|(_, (one, other))| one != other);
                differing.map(|(operations, (one, other))| {
                    let operations = counted(*operations as usize, "operation");
                    format!("it answered {operations} with `{other}`, and the first one with `{one}`")
                })
            }
        };
        if let Some(difference) = seen {
            return Ok(Seen::Broken(difference));
        }
        let timed = self.timed;
        let worker = self.worker(part.place)?;
        match worker.check(part.number)? {
            Seen::Met(word) if timed => growth(worker, part.number, word),
            seen => Ok(seen),
        }
    }

    fn timed(&mut self, variant: VariantIndex, operations: u64) -> Result<Lap, Failure> {
        let part = self.parts[variant.place()];
        let (cpu, counted, is_runner) = (self.cpu, self.counted, self.source.is_runner());
        let worker = self.worker(part.place)?;
        if worker.is_cold(part.number) {
            // What is cold after a start is not what was asked about.
            worker.run(part.number, operations)?;
        }
        let Work { elapsed, middle_call, .. } = if is_runner {
            worker.calls(part.number, operations)?
        } else {
            worker.run(part.number, operations)?
        };
        let counts = if counted { worker.counts()? } else { None };
        // Where nothing is counted nobody asks again.
        self.counted = counts.is_some();
        self.epochs += 1;
        Ok(Lap { elapsed, middle_call, cpu, counts, ..Lap::default() })
    }
}

impl Apparatus for Members {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let part = self.parts[variant.place()];
        let checked = self.seen(part);
        if self.source.is_laid_anew() {
            // What was made wrong on purpose stays so for as long as its process lives.
            self.workers[part.place] = None;
        }
        seen(checked)
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let number = self.epochs + 1;
        self.timed(variant, iterations).map_err(|failure| match failure {
            Failure::Wrong(wrong) => Failure::Wrong(format!("{wrong}, in epoch {number}")),
            fault @ Failure::Machine(_) => fault,
        })
    }

    fn shift(&mut self, layout: u32) {
        if self.source.is_laid_anew() {
            self.layout = layout;
            self.workers.iter_mut().for_each(|worker| *worker = None);
        }
    }
}
