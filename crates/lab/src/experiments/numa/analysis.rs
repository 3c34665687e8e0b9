//! The judge of distances: from times by reader and home to an answer, and the firmware's word beside it.

mod distance;
mod view;

use std::collections::BTreeMap;

use tenbin_model::machine::{Node, Observed};
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Answer, Axis, Bytes, Cell, Cpu, Descriptor, Figure, Grid, Machine, Refusal, Trial, Variant, VariantIndex,
    Verdict, order,
};

use self::distance::{
    Buffers, Observation, Outcome, Why, against_firmware, column_against_firmware, judge, of_as_many,
    one_column,
};
use super::{HOME, READER, REPEAT};
use tenbin_analysis::verdict::comparisons::{empty, refused};
use tenbin_analysis::verdict::{caveat, refused_in_words};
use tenbin_analysis::{Analysis, Basis, Judged};
use tenbin_document::words::percent;
use tenbin_stats::order::Ordered;

/// Times by reader and home of a memory: whether nearness decides.
#[derive(Debug)]
pub(super) struct Nearness;

impl Analysis for Nearness {
    fn name(&self) -> &'static str {
        "distances"
    }

    /// Times are set side by side and nothing is voted on: as many as make a median and its deviation hold
    /// against a sample or two that were disturbed.
    fn least_blocks(&self, _: &Descriptor, _: usize) -> u32 {
        8
    }

    fn basis(&self) -> Basis {
        Basis::Cells
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let answers: Vec<Answer> = trial.cells.iter().map(|cell| of_cell(machine, trial, cell)).collect();
        Judged { view: view::view(&answers), answers, findings: Vec::new() }
    }
}

fn of_cell(machine: &Machine, trial: &Trial, cell: &Cell) -> Answer {
    let label = &cell.arrangement.label;
    if let Some(refusal) = &cell.refusal {
        return refused(&trial.descriptor, label, cell.arrangement.headline, refusal);
    }
    let times = Times::of(trial, cell);
    let buffers = buffers(cell);
    // By what was planned: a cell that was cut before anything was repeated asked the same question.
    let mut planned = cell.arrangement.variants.iter().filter_map(|&index| trial.variant(index));
    let weigh = if planned.any(repeats) { by_column } else { by_swap };
    let blank = empty(&trial.descriptor, label, cell.arrangement.headline);
    let mut answer = weigh(machine, &times, buffers, Answer { grids: vec![times.grid()], ..blank });
    if let Some(unread) = cell.arrangement.parameter("unread") {
        answer.sentence = format!("{} Left out for want of time: {unread} other CPUs.", answer.sentence);
    }
    // What was refused needs no further doubt.
    if answer.verdict == Verdict::Refused {
        answer.caveat = None;
    } else {
        let caveats = [answer.caveat, caveat::placement(machine, cell)];
        answer.caveat = caveats.into_iter().flatten().reduce(|one, other| format!("{one} {other}"));
    }
    answer
}

/// Whether a variant is what one core repeats, and no pair of reader and home.
fn repeats(variant: &Variant) -> bool {
    variant.coordinate(REPEAT).is_some()
}

/// What the plan says of the buffers, in bytes: `buffer` what each holds, `beyond` what it needed, if that
/// was known.
fn buffers(cell: &Cell) -> Buffers {
    let bytes = |name: &str| Some(Bytes(cell.arrangement.parameter(name)?.parse().ok()?));
    Buffers { each: bytes("buffer"), beyond: bytes("beyond") }
}

struct Times {
    /// Every pair of reader and home, in nanoseconds an access.
    observations: Vec<Observation>,
    /// What one core repeated, where that was measured: the same core, the same buffer, again. Epochs by
    /// variant.
    repeats: BTreeMap<VariantIndex, Vec<f64>>,
}

impl Times {
    fn of(trial: &Trial, cell: &Cell) -> Self {
        let mut times = Self { observations: Vec::new(), repeats: BTreeMap::new() };
        for sample in &cell.samples {
            let Some(variant) = trial.variant(sample.variant) else { continue };
            let cpu = |axis: Axis| variant.coordinate(axis).map(|number| Cpu(number as u32));
            let (Some(reader), Some(home)) = (cpu(READER), cpu(HOME)) else { continue };
            let time = sample.elapsed.as_nanos() / sample.iterations as f64;
            if repeats(variant) {
                times.repeats.entry(sample.variant).or_default().push(time);
            } else {
                times.observations.push(Observation { reader, home, block: sample.block, time });
            }
        }
        times
    }

    fn cpus(&self, of: fn(&Observation) -> Cpu) -> Vec<Cpu> {
        order::distinct(self.observations.iter().map(of))
    }

    fn epochs(&self, reader: Cpu, home: Cpu) -> Vec<f64> {
        let own = self.observations.iter().filter(|one| one.reader == reader && one.home == home);
        own.map(|one| one.time).collect()
    }

    fn median(&self, reader: Cpu, home: Cpu) -> Option<f64> {
        Some(Ordered::new(self.epochs(reader, home))?.median())
    }

    /// The medians, a row a reader and a column a home.
    fn grid(&self) -> Grid {
        let (readers, homes) = (self.cpus(|one| one.reader), self.cpus(|one| one.home));
        let row = |&reader: &Cpu| homes.iter().map(|&home| self.median(reader, home)).collect();
        Grid {
            name: "time of an access".into(),
            unit: "ns".into(),
            values: readers.iter().map(row).collect(),
            rows: readers.iter().map(Cpu::to_string).collect(),
            columns: homes.iter().map(|home| format!("memory of {home}")).collect(),
        }
    }
}

fn verdict(outcome: Outcome) -> Verdict {
    match outcome {
        Outcome::Distant => Verdict::Different,
        Outcome::Alike => Verdict::Equivalent,
        Outcome::Undecided(_) => Verdict::Refused,
    }
}

/// The firmware's word beside what was measured, by `compare`, as a sentence to add.
fn firmware(machine: &Machine, compare: impl FnOnce(&[Node]) -> String) -> String {
    match &machine.nodes {
        Observed::Known(nodes) => format!(" {}", compare(nodes)),
        Observed::NotObservable(why) => format!(" What the firmware says of nodes is not known ({why})."),
    }
}

/// The size of the buffers as a sentence to add, unless it is what was refused and so is said already.
fn beside(outcome: Outcome, buffers: Buffers) -> String {
    let cached = matches!(outcome, Outcome::Undecided(Why::Cached(_)));
    buffers.in_words().filter(|_| !cached).map_or_else(String::new, |size| format!(" {size}"))
}

fn figure(name: &str, value: f64) -> Option<Figure> {
    value.is_finite().then(|| Figure::new(name, value, "1"))
}

/// By the swap of readers and homes.
fn by_swap(machine: &Machine, times: &Times, buffers: Buffers, blank: Answer) -> Answer {
    let mut distances = judge(&times.observations);
    distances.outcome = buffers.allow(distances.outcome);
    let firmware = firmware(machine, |nodes| against_firmware(&distances, nodes));
    let figures = [
        figure("spread", distances.spread),
        figure("spread that repetition explains", distances.repeat),
        figure("deviation within groups", distances.deviation),
        figure("smallest gap that would have shown", distances.detectable),
        distances.gap.map(|gap| Figure::new("gap", gap.relative, "1")),
        Some(Figure::new("groups", distances.groups.len() as f64, "1")),
        Some(Figure::new("blocks", distances.blocks as f64, "1")),
    ];
    let blank = Answer { figures: figures.into_iter().flatten().collect(), ..blank };
    let alike = distances.outcome == Outcome::Alike;
    if let Some(refusal) = alike.then(|| one_sided(machine, times, distances.detectable)).flatten() {
        let sentence = format!("{}{firmware}", refused_in_words(&refusal));
        return Answer { sentence, refusal: Some(refusal), ..blank };
    }
    Answer {
        verdict: verdict(distances.outcome),
        sentence: format!("{}{firmware}{}", distances.in_words(), beside(distances.outcome, buffers)),
        brief: distances.brief(),
        refusal: distances.refusal(),
        caveat: buffers.caveat(),
        ..blank
    }
}

/// Why "alike" cannot be said where the kernel knows one node: all buffers can then lie on one side of the
/// machine, whoever touched them first, and a far core is slow for each of them, as a slow core is. None if
/// the cores are alike too.
fn one_sided(machine: &Machine, times: &Times, detectable: f64) -> Option<Refusal> {
    let chosen = machine.nodes.known().is_some_and(|nodes| nodes.len() > 1);
    let homes = times.cpus(|one| one.home);
    let of_core = |&reader: &Cpu| {
        let medians = homes.iter().filter_map(|&home| times.median(reader, home)).collect();
        Some(Ordered::new(medians)?.median())
    };
    let cores = Ordered::new(times.cpus(|one| one.reader).iter().filter_map(of_core).collect())?;
    let spread = cores.quantile(1.0)? / cores.quantile(0.0)? - 1.0;
    (!chosen && spread > detectable).then(|| Refusal {
        reached: format!(
            "each core takes the same for every buffer, but the cores differ by {} in all of them, and the kernel knows \
             one node of memory",
            percent(spread)
        ),
        needs: format!(
            "cores alike within {}, or memory that can be had from several nodes: where all of it can lie on one side, a \
             far core looks like a slow one",
            percent(detectable)
        ),
        remedy: "ask under a kernel and firmware that know the nodes".into(),
    })
}

/// By one buffer, as it was published: a core that is far and one that is slow look alike.
fn by_column(machine: &Machine, times: &Times, buffers: Buffers, blank: Answer) -> Answer {
    let (readers, homes) = (times.cpus(|one| one.reader), times.cpus(|one| one.home));
    let home = homes.first().copied().unwrap_or_default();
    let epochs: Vec<Vec<f64>> = readers.iter().map(|&reader| times.epochs(reader, home)).collect();
    let repeats: Vec<Vec<f64>> = times.repeats.values().cloned().collect();
    let (cores, repeats) = of_as_many(&epochs, &repeats);
    let mut column = one_column(&cores, &repeats);
    column.outcome = buffers.allow(column.outcome);
    let firmware = firmware(machine, |nodes| column_against_firmware(&column, &readers, nodes));
    let range = Ordered::new(cores).map(|cores| (cores.quantile(0.0), cores.quantile(1.0)));
    let range = match range {
        Some((Some(fastest), Some(slowest))) => {
            format!(" Cores take {} to {} ns an access.", three_digits(fastest), three_digits(slowest))
        }
        _ => String::new(),
    };
    Answer {
        verdict: verdict(column.outcome),
        sentence: format!("{}{range}{firmware}{}", column.in_words(), beside(column.outcome, buffers)),
        brief: column.brief(),
        refusal: column.refusal(),
        caveat: Some(
            "With one buffer, a far core that is faster by just as much looks like a near one.".into(),
        ),
        figures: [
            figure("spread", column.spread),
            figure("spread of one core's repetitions", column.repeat),
            figure("spread that repetition explains", column.explained),
            figure("smallest gap that would have shown", column.detectable),
        ]
        .into_iter()
        .flatten()
        .collect(),
        ..blank
    }
}

#[cfg(test)]
mod tests;
