//! The engine: checks, calibrates, interleaves, keeps every sample, and stops by rule or budget.
//!
//! It asks an [`Apparatus`] for epochs and an [`Analysis`] whether they are enough, and never looks at a
//! clock of its own. So a script can stand in for the machine in tests.

mod iterations;
mod fault;
mod precondition;
mod schedule;

use tenbin_analysis::verdict::{last_look, votes};
use tenbin_analysis::{Analysis, Basis};
use tenbin_metal::{Counters, Fault, Lap};
use tenbin_model::{
    Arrangement, Cell, Check, Cpu, Descriptor, Effort, Ended, Finding, Gauge, Machine, Picoseconds, Probe,
    Quantity, Reading, Refusal, Run, Sample, Trial, VariantIndex,
};

pub(crate) use precondition::{long_enough, refusal};
pub(crate) use schedule::cell_seed;

use crate::experiment::{Allowance, Apparatus, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use fault::refusal_of;

/// What the engine tells while it works. Nothing is told while an epoch runs.
#[derive(Clone, Copy, Debug)]
pub enum Event<'a> {
    /// An experiment begins, with this many stretches of cells.
    Trial {
        /// Its name.
        name: &'a str,
        /// How many stretches all of its cells have together, if none is measured on.
        stretches: usize,
    },
    /// A stretch of a cell begins.
    Stretch {
        /// The cell's label.
        label: &'a str,
    },
    /// The variants of a cell were checked, and are to be timed.
    Checked {
        /// The time that it took to run each of them once.
        took: Picoseconds,
        /// How often each has to be run to be judged: at the level of the experiment, and at five times that.
        runs: [u64; 2],
        /// How often it is run at most.
        most: u64,
    },
    /// Blocks of a cell were measured, and its time is a user's: told a few times a second, between blocks.
    Measured {
        /// Its experiment.
        descriptor: &'a Descriptor,
        /// The cell, with what was measured.
        cell: &'a Cell,
    },
    /// A stretch of a cell is done.
    StretchDone,
    /// An experiment of a survey is finished.
    Finished {
        /// It alone, as a run.
        run: &'a Run,
    },
}

/// Looks at these CPUs, which no worker uses meanwhile. Block and time are filled in by the engine.
pub type Prober<'a> = &'a dyn Fn(&[Cpu]) -> Probe;

/// The engine's surroundings: the time since the program began, a listener.
pub struct Bench<'a> {
    /// A running time, for budgets only; samples are timed in `metal`.
    pub watch: &'a dyn Fn() -> Picoseconds,
    /// Whether to end early, asked before every check and every epoch. Once true it stays true.
    pub stop: &'a dyn Fn() -> bool,
    /// Hardware counters, where the machine has them: read on a pass of their own.
    pub counters: Option<Counters>,
    /// Who looks at the machine between two blocks, if anybody does.
    pub probe: Option<Prober<'a>>,
    /// Who listens.
    pub sink: &'a mut dyn FnMut(Event<'_>),
}

/// No more blocks than this in a cell, however cheap: what a reader or a disk should have to hold.
const MOST_BLOCKS: u32 = 20_000;

/// A verdict that needs more blocks than the budget allows may take this many budgets.
const OVERTIME: u64 = 5;

/// A cell whose answer depends on when it was measured is measured in so many further stretches, each as long
/// as the first.
const FURTHER: u64 = 3;

/// Running time between two probes of the machine.
const BETWEEN_PROBES: Picoseconds = Picoseconds::from_millis(100);

/// Time for a cell, if it is not decided before.
pub fn budget(effort: Effort) -> Picoseconds {
    Picoseconds::from_millis(match effort {
        Effort::Quick => 2_000,
        Effort::Normal => 6_000,
        Effort::Thorough => 15_000,
    })
}

/// In how many stretches a cell is measured, with all other cells of the experiment between them, each with a
/// part of the cell's time and an apparatus set up anew.
///
/// What may end early is decided within milliseconds, where the difference is plain; and the machine may be
/// in a state then that it leaves a second later (another thread on the same core, a neighbour that fills a
/// cache). So an answer is confirmed: it has to be decided at a later look too, over what was measured at
/// both times. What is not stopped by what it saw spreads over all of its time as it is.
fn stretches(analysis: &dyn Analysis) -> u64 {
    if analysis.may_end_early() { 2 } else { 1 }
}

impl Bench<'_> {
    /// Runs an experiment: every cell of its plan, in order. Asked to stop, it keeps the cells that are
    /// finished, and refuses the others; what was being done at that time may have been disturbed and is
    /// dropped.
    ///
    /// # Errors
    /// [`Unfit::Stopped`] when it was asked to stop and nothing is finished; [`Unfit::Usage`] when the
    /// request is wrong. What the machine cannot answer is no error: it is a refusal in the trial or in its
    /// cell, beside what was answered.
    pub fn run(&mut self, experiment: &Experiment<'_>, request: &Request<'_>) -> Result<Trial, Unfit> {
        let mut descriptor = (experiment.describe)();
        let plan = match (experiment.plan)(request) {
            Ok(plan) => plan,
            Err(unfit) => {
                let refusal = Some(answered(unfit)?);
                return Ok(Trial { descriptor, refusal, cells: Vec::new(), findings: Vec::new() });
            }
        };
        if let Some(variants) = plan.variants {
            descriptor.variants = variants;
        }
        let Plan { cells: plan, look, time, .. } = plan;
        let stretches = stretches(experiment.analysis);
        (self.sink)(Event::Trial { name: &descriptor.name, stretches: plan.len() * stretches as usize });
        let comparisons = plan.iter().map(|planned| planned.arrangement.comparisons.len()).sum();
        let family = experiment.analysis.family(&descriptor, comparisons);
        let mut trial =
            Trial { descriptor: descriptor.clone(), refusal: None, cells: Vec::new(), findings: Vec::new() };
        let (watch, begun) = (self.watch, (self.watch)());
        let limit = |stretch: u64| match time {
            None => Picoseconds(budget(request.effort).0 / stretches),
            Some(Allowance { time, firm: false }) => Picoseconds(time.0 / stretches),
            Some(Allowance { time, firm: true }) => {
                let left = time.saturating_sub(watch().saturating_sub(begun));
                Picoseconds(left.0 / stretches.saturating_sub(stretch).max(1))
            }
        };
        let setting = |index: usize, stretch: u64| Setting {
            analysis: experiment.analysis,
            descriptor: &descriptor,
            family,
            machine: request.machine,
            limit: limit(stretch),
            overtime: match time {
                None => OVERTIME * stretches,
                Some(Allowance { firm: true, .. }) => 1,
                Some(_) => u64::MAX,
            },
            by_looks: time.is_some(),
            known_alike: false,
            seed: cell_seed(request.seed.wrapping_add(stretch), &descriptor.name, index),
        };
        for (index, planned) in plan.iter().enumerate() {
            let mut cell = Cell::unmeasured(planned.arrangement.clone());
            cell.arrangement.epoch = precondition::long_enough(request.machine, cell.arrangement.epoch);
            (self.sink)(Event::Stretch { label: &cell.arrangement.label });
            if (self.stop)() {
                trial.cells.push(Cell { refusal: Some(stopped()), ..cell });
                continue;
            }
            match planned.open(request) {
                Ok(mut apparatus) => {
                    self.weigh(&setting(index, 0), &mut *apparatus, &mut cell);
                    trial.findings.extend(apparatus.remarks());
                    if cell.arrangement.headline && !(self.stop)() {
                        match apparatus.findings() {
                            Ok(findings) => trial.findings.extend(findings),
                            // What was measured stands; what could not be looked at is said.
                            Err(fault) => trial.findings.push(unseen(&descriptor, fault.to_string())),
                        }
                    }
                }
                Err(unfit) => cell.refusal = Some(answered(unfit)?),
            }
            (self.sink)(Event::StretchDone);
            trial.cells.push(cell);
        }
        if (self.stop)() && trial.cells.iter().all(|cell| cell.ended.is_none()) {
            return Err(Unfit::Stopped);
        }
        let further = if time.is_some_and(|time| time.firm) { 0 } else { FURTHER };
        for stretch in 1..stretches + further {
            for (index, (planned, cell)) in plan.iter().zip(&mut trial.cells).enumerate() {
                if stretch < stretches || self.depends(&setting(index, stretch), cell) {
                    for remark in self.again(planned, request, &setting(index, stretch), cell) {
                        // What was noticed before counts on.
                        trial.findings.retain(|known| known.sentence != remark.sentence);
                        trial.findings.push(remark);
                    }
                }
            }
        }
        if let Some(look) = look {
            let observation = if (self.stop)() { Err(Unfit::Stopped) } else { look(request) };
            match observation {
                Ok(findings) => trial.findings.extend(findings),
                Err(usage @ Unfit::Usage(_)) => return Err(usage),
                // Where there is nothing else, it was the one thing asked.
                Err(why) if trial.cells.is_empty() => trial.refusal = Some(answered(why)?),
                // What was measured stands.
                Err(why) => trial.findings.push(unseen(&descriptor, in_words(why))),
            }
        }
        Ok(trial)
    }

    /// Whether the answer of a cell that was timed depends on when that was done.
    fn depends(&self, setting: &Setting<'_>, cell: &Cell) -> bool {
        let timed = cell.refusal.is_none() && cell.ended.is_some();
        timed && setting.analysis.depends(setting.descriptor, setting.family, cell)
    }

    /// Measures a cell that was timed on, in a fresh stretch with an apparatus set up anew.
    ///
    /// By now other cells were measured, so a state that passed has passed, and one that comes again comes
    /// again. What was measured stands; an apparatus that cannot be had again leaves it as it is. Gives what
    /// the apparatus noticed.
    fn again(
        &mut self,
        planned: &PlannedCell,
        request: &Request<'_>,
        setting: &Setting<'_>,
        cell: &mut Cell,
    ) -> Vec<Finding> {
        let mut remarks = Vec::new();
        (self.sink)(Event::Stretch { label: &cell.arrangement.label });
        let timed = cell.refusal.is_none() && cell.ended.is_some();
        let opened = (timed && !(self.stop)()).then(|| planned.open(request));
        if let Some(Ok(mut apparatus)) = opened {
            let (checks, samples, probes) = (cell.checks.len(), cell.samples.len(), cell.probes.len());
            // How this stretch ends says nothing yet.
            let ended = cell.ended.take();
            let timed =
                self.timed(setting, &mut Stoppable { apparatus: &mut *apparatus, stop: self.stop }, cell);
            let whole =
                setting.by_looks && cell.samples.len() > samples && cell.ended == Some(Ended::Precision);
            if (self.stop)() && !whole {
                // A stretch that is not whole adds nothing to what was measured before it, and takes nothing
                // from that.
                cell.checks.truncate(checks);
                cell.samples.truncate(samples);
                cell.probes.truncate(probes);
                cell.refusal = None;
                cell.ended = ended;
            } else if let Err(fault) = timed {
                cell.refusal = Some(refusal_of(&fault));
            }
            cell.ended = cell.ended.or(ended);
            remarks = apparatus.remarks();
        }
        (self.sink)(Event::StretchDone);
        remarks
    }

    /// Measures one cell whose apparatus is set up, from its checks to its last block. What keeps it from
    /// being timed becomes the cell's refusal.
    pub fn weigh(&mut self, setting: &Setting<'_>, apparatus: &mut dyn Apparatus, cell: &mut Cell) {
        cell.arrangement.epoch = precondition::long_enough(setting.machine, cell.arrangement.epoch);
        let mut apparatus = Stoppable { apparatus, stop: self.stop };
        if let Err(fault) = self.measure(setting, &mut apparatus, cell) {
            cell.refusal = Some(refusal_of(&fault));
        }
        // What asks to stop may be a signal, which interrupts a system call, too: no check, sample or fault
        // of this cell is to be trusted.
        if cell.ended.is_none() && (self.stop)() {
            *cell = Cell { refusal: Some(stopped()), ..Cell::unmeasured(cell.arrangement.clone()) };
        }
    }

    /// Checks one cell, reads its gauges, and times it if nothing speaks against that.
    fn measure(
        &mut self,
        setting: &Setting<'_>,
        apparatus: &mut dyn Apparatus,
        cell: &mut Cell,
    ) -> Result<(), Fault> {
        let begun = (self.watch)();
        cell.checks = check(setting.descriptor, &cell.arrangement.variants, apparatus)?;
        let took = (self.watch)().saturating_sub(begun);
        cell.refusal = unexpected(setting.descriptor, &cell.checks);
        // What is to be checked and not timed asks nothing of the machine that timing needs.
        if cell.refusal.is_some() || cell.arrangement.most_blocks == 0 {
            return Ok(());
        }
        if !setting.descriptor.quantities().all(Quantity::is_counted) {
            cell.refusal = refusal(setting.machine, &cell.arrangement, &cell.checks);
        }
        if cell.refusal.is_some() {
            return Ok(());
        }
        // Where an epoch is one run, a check has taken as long.
        if setting.by_looks && cell.arrangement.epoch.0 == 0 {
            let at = |level: f64| {
                let needed = votes(level, setting.family).max(cell.arrangement.least_blocks);
                cell.arrangement.runs(needed)
            };
            let level = setting.descriptor.level;
            let most = cell.arrangement.runs(cell.arrangement.most_blocks);
            (self.sink)(Event::Checked { took, runs: [at(level), at(5.0 * level)], most });
        }
        for &variant in &cell.arrangement.variants {
            cell.gauges.extend(apparatus.gauges(variant)?);
        }
        self.timed(setting, apparatus, cell)
    }

    /// Times one cell. Work that came out wrong becomes its refusal.
    fn timed(
        &mut self,
        setting: &Setting<'_>,
        apparatus: &mut dyn Apparatus,
        cell: &mut Cell,
    ) -> Result<(), Fault> {
        let before = cell.samples.len();
        match self.time(setting, apparatus, cell) {
            Ok(ended) => cell.ended = Some(ended),
            Err(_) if setting.by_looks && (self.stop)() => {
                // What was measured up to a planned look can be judged at that look, whoever ends it when.
                let blocks = cell.samples.last().map_or(0, |sample| sample.block);
                let look = last_look(setting.descriptor.level, setting.family, blocks);
                let kept = cell.samples.partition_point(|sample| Some(sample.block) < look);
                if kept > before {
                    cell.samples.truncate(kept);
                    cell.probes.retain(|probe| Some(probe.block) <= look);
                    cell.ended = Some(Ended::Precision);
                }
            }
            Err((_, Failure::Machine(fault))) => return Err(fault),
            // Wrong work joins the checks, where it is seen as a fault.
            Err((variant, Failure::Wrong(seen))) => {
                cell.checks.push(Check { variant, sabotage: false, seen, met: false });
                cell.refusal = unexpected(setting.descriptor, &cell.checks);
            }
        }
        Ok(())
    }

    /// Calibrates, then runs block after block until it is decided or the budget is spent.
    ///
    /// # Errors
    /// The variant whose epoch does not count, and why.
    fn time(
        &mut self,
        setting: &Setting<'_>,
        apparatus: &mut dyn Apparatus,
        cell: &mut Cell,
    ) -> Result<Ended, (VariantIndex, Failure)> {
        let Setting { analysis, descriptor, family, limit, overtime, known_alike, seed, .. } = *setting;
        let variants = cell.arrangement.variants.clone();
        let least_blocks = analysis.least_blocks(descriptor, family).max(cell.arrangement.least_blocks);
        let most_blocks = match cell.arrangement.most_blocks {
            Arrangement::UNBOUNDED_BLOCKS => MOST_BLOCKS,
            most => most,
        };
        let start = (self.watch)();
        let iterations = iterations::choose(apparatus, &cell.arrangement, known_alike)?;
        // A further stretch goes on where the one before it ended.
        let first = cell.samples.last().map_or(0, |sample| sample.block + 1);
        // Around several workers a counter would count their waiting for each other as well; and what is a
        // user's, or is one run of a program, is done by another process.
        let is_elsewhere = descriptor.is_of_user() || cell.arrangement.epoch.0 == 0;
        if let (Some(counters), 1, 0, false) =
            (&mut self.counters, cell.arrangement.cpus.len(), first, is_elsewhere)
        {
            for (&variant, &iterations) in variants.iter().zip(&iterations) {
                let gauges = count(counters, apparatus, variant, iterations);
                cell.gauges.extend(gauges.map_err(|failure| (variant, failure))?);
            }
        }
        let mut order = schedule::Schedule::new(seed, variants.len());
        let layouts = (seed >> 32) as u32;
        let mut probed = None;
        for block in first..most_blocks {
            if self.look(analysis, block, &mut probed, cell) && setting.by_looks {
                (self.sink)(Event::Measured { descriptor, cell });
            }
            let spent = (self.watch)().saturating_sub(start);
            let overdue = spent.0 > limit.0.saturating_mul(overtime);
            if spent > limit && (block >= least_blocks || overdue) {
                break;
            }
            // Every second block runs twice the iterations, where the cell asks for it.
            let scale = if cell.arrangement.doubling && block % 2 == 1 { 2 } else { 1 };
            apparatus.shift(layouts.wrapping_add(block));
            let half = cell.arrangement.half_block && block + 1 == most_blocks;
            let places = if half || cell.arrangement.once { variants.len() } else { 2 * variants.len() };
            for &place in order.block().iter().take(places) {
                let variant = variants[place];
                let iterations = iterations[place] * scale;
                let lap = apparatus.epoch(variant, iterations).map_err(|failure| (variant, failure))?;
                cell.samples.push(sample(cell.samples.len(), block, variant, iterations, lap));
            }
            let decided = || analysis.decided(descriptor, family, cell);
            if analysis.may_end_early() && block + 1 >= cell.arrangement.least_blocks && decided() {
                self.look(analysis, block + 1, &mut None, cell);
                return Ok(Ended::Precision);
            }
        }
        let next = cell.samples.last().map_or(0, |sample| sample.block + 1);
        self.look(analysis, next, &mut None, cell);
        Ok(Ended::Budget)
    }

    /// Probes the machine before this block, unless that was done a moment ago: `probed` says when. Whether
    /// it did.
    fn look(
        &self,
        analysis: &dyn Analysis,
        block: u32,
        probed: &mut Option<Picoseconds>,
        cell: &mut Cell,
    ) -> bool {
        // Where nothing is judged block by block, nobody would ask what was different in some of them.
        let Some(probe) = self.probe.filter(|_| analysis.basis() != Basis::Cells) else { return false };
        let since = (self.watch)();
        let due = probed.is_none_or(|before| since.saturating_sub(before) >= BETWEEN_PROBES);
        if due {
            *probed = Some(since);
            cell.probes.push(Probe { block, since, ..probe(&cell.arrangement.cpus) });
        }
        due
    }
}

/// What holds for a cell as a whole.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What says when enough was measured.
    pub analysis: &'a dyn Analysis,
    /// The experiment's description.
    pub descriptor: &'a Descriptor,
    /// Comparisons of the whole experiment, which share one level.
    pub family: usize,
    /// The machine, observed.
    pub machine: &'a Machine,
    /// Time for the cell.
    pub limit: Picoseconds,
    /// How many times that a cell may take which has too few blocks for a verdict.
    pub overtime: u64,
    /// Whether a cell that is interrupted is judged at its last planned look. Else it is dropped.
    pub by_looks: bool,
    /// Whether all variants are known to cost nearly the same, so that one count of iterations is right for
    /// them.
    pub known_alike: bool,
    /// Seed of the order of this cell's blocks.
    pub seed: u64,
}

/// An apparatus that does nothing more once it is to stop.
struct Stoppable<'a> {
    apparatus: &'a mut dyn Apparatus,
    stop: &'a dyn Fn() -> bool,
}

impl Stoppable<'_> {
    /// The apparatus, or a fault that nobody sees: what is not finished is dropped.
    fn going(&mut self) -> Result<&mut dyn Apparatus, Fault> {
        if (self.stop)() {
            return Err(Fault::system("go on", std::io::Error::from(std::io::ErrorKind::Interrupted)));
        }
        Ok(self.apparatus)
    }
}

impl Apparatus for Stoppable<'_> {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        self.going()?.check(variant)
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        self.going()?.epoch(variant, iterations)
    }

    fn shift(&mut self, layout: u32) {
        self.apparatus.shift(layout);
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        self.going()?.gauges(variant)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        self.going()?.findings()
    }
}

/// Why a cell was not measured, or not to its end, where the bench was asked to stop.
fn stopped() -> Refusal {
    Refusal {
        reached: "tenbin was interrupted before this was measured".into(),
        needs: "all its time".into(),
        remedy: "run it again and let it finish".into(),
    }
}

/// What the counters saw in one epoch of a worker alone, for each of its iterations.
fn count(
    counters: &mut Counters,
    apparatus: &mut dyn Apparatus,
    variant: VariantIndex,
    iterations: u64,
) -> Result<Vec<Gauge>, Failure> {
    let (lap, counted) = counters
        .around(|| apparatus.epoch(variant, iterations))
        .map_err(|error| Fault::system("read hardware counters", error))?;
    lap?;
    let each = |count: u64| Reading::Count(count as f64 / iterations as f64);
    Ok(counted
        .into_iter()
        .map(|(name, count)| Gauge { variant, name: format!("{name}/iteration"), reading: each(count) })
        .collect())
}

fn sample(order: usize, block: u32, variant: VariantIndex, iterations: u64, lap: Lap) -> Sample {
    let counts = lap.counts;
    Sample {
        order: order as u32,
        block,
        variant,
        iterations,
        elapsed: lap.elapsed,
        cpu: lap.cpu,
        user: lap.usage.user,
        system: lap.usage.system,
        voluntary_switches: lap.usage.voluntary_switches as u32,
        involuntary_switches: lap.usage.involuntary_switches as u32,
        shares: lap.shares,
        minor_faults: Some(lap.usage.minor_faults),
        major_faults: Some(lap.usage.major_faults),
        peak_memory: lap.command.map(|command| command.peak_memory.0),
        exit_status: lap.command.map(|command| command.exit_status),
        instructions: counts.map(|counts| counts.instructions),
        cycles: counts.map(|counts| counts.cycles),
        middle_call: lap.middle_call,
    }
}

/// Holds every variant of the cell, and every planted fault, against the specification.
fn check(
    descriptor: &Descriptor,
    variants: &[VariantIndex],
    apparatus: &mut dyn Apparatus,
) -> Result<Vec<Check>, Fault> {
    let measured = variants.iter().map(|&variant| (variant, false));
    let mut checks = Vec::new();
    for (variant, sabotage) in measured.chain(descriptor.planted_faults().map(|(index, _)| (index, true))) {
        let (met, seen) = match apparatus.check(variant)? {
            Seen::Met(seen) => (true, seen),
            Seen::Broken(seen) => (false, seen),
        };
        checks.push(Check { variant, sabotage, seen, met });
    }
    Ok(checks)
}

/// A refusal, when a variant broke the specification or a planted fault did not.
fn unexpected(descriptor: &Descriptor, checks: &[Check]) -> Option<Refusal> {
    let check = checks.iter().find(|check| !check.as_expected())?;
    let name = &descriptor[check.variant].name;
    // What a user gave is no implementation of ours.
    let of_user = descriptor.is_of_user();
    Some(if check.sabotage {
        Refusal {
            reached: format!("the planted fault `{name}` passed the check ({})", check.seen),
            needs: "a check that can fail".into(),
            remedy: "this is a fault of tenbin: please report it".into(),
        }
    } else {
        Refusal {
            reached: match of_user {
                true => format!("`{name}` was not timed, because {}", check.seen),
                false => format!("implementation error: `{name}` broke the specification ({})", check.seen),
            },
            needs: format!("what the specification says: {}", descriptor.specification),
            remedy: "wrong work is not worth timing: mend it first".into(),
        }
    })
}

/// What the machine cannot answer, as a refusal; an error for whatever else keeps something from being had.
fn answered(unfit: Unfit) -> Result<Refusal, Unfit> {
    match unfit {
        Unfit::Refused(refusal) => Ok(refusal),
        Unfit::Fault(fault) => Ok(refusal_of(&fault)),
        other => Err(other),
    }
}

/// Why something could not be looked at, and what helps.
pub(crate) fn in_words(why: Unfit) -> String {
    match why {
        Unfit::Refused(refusal) => format!("{}; {}", refusal.reached, refusal.remedy),
        Unfit::Missing(missing) => missing.to_string(),
        Unfit::Fault(fault) => fault.to_string(),
        Unfit::Usage(message) => message,
        Unfit::Stopped => stopped().reached,
    }
}

/// That something could not be looked at, and why.
fn unseen(descriptor: &Descriptor, why: String) -> Finding {
    Finding {
        experiment: descriptor.name.clone(),
        sentence: "What can be found besides the figures could not be looked for.".into(),
        evidence: why,
        confidence: "the machine's own word".into(),
    }
}

#[cfg(test)]
mod tests;
