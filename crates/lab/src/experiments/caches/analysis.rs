//! The judge of capacities: from times over sizes to a verdict on what the firmware says of each cache.

mod capacity;
mod view;

use std::collections::BTreeMap;

use tenbin_model::topology::data_caches;
use tenbin_model::{
    Answer, Bytes, Cell, Cpu, Descriptor, Figure, Finding, Grid, Machine, Refusal, Size, Sizes, Trial,
    Verdict, Word, order,
};

use self::capacity::{Capacities, Curve, Level, LevelOutcome, Point, Stated};
use super::BYTES;
use tenbin_analysis::verdict::comparisons::{empty, refused};
use tenbin_analysis::verdict::refused_in_words;
use tenbin_analysis::{Analysis, Basis, Judged, topology};
use tenbin_document::words::comma;
use tenbin_stats::order::Ordered;

/// Times over sizes: where the knees are, against what the firmware says.
#[derive(Debug)]
pub(super) struct Knees;

impl Analysis for Knees {
    fn name(&self) -> &'static str {
        "capacities"
    }

    /// Times are set side by side and nothing is voted on: as many as make a median and its deviation hold
    /// against a sample that was disturbed.
    fn least_blocks(&self, _: &Descriptor, _: usize) -> u32 {
        3
    }

    fn basis(&self) -> Basis {
        Basis::Cells
    }

    /// Each level of cache has an answer.
    fn is_summary(&self, _: &Answer, _: bool) -> bool {
        true
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let walked = walked(machine, trial);
        let answers = answers(machine, trial, &walked);
        let view = view::view(&walked, trial);
        // Of figures that others took, nobody may know the CPUs.
        let findings = if machine.cpus.is_empty() { Vec::new() } else { findings(machine, trial) };
        Judged { answers, findings, view }
    }
}

/// A knee that moves by more than this factor while it is measured is no size to build on: it is as far as
/// the firmware may be off.
const STEADY: f64 = capacity::AGREE;

/// Other guests of the host, and other programs here, may hold all but one part in so many of a cache, for as
/// long as a run lasts: of an L3 that was stated to have 32 MiB, runs minutes apart found 1.5, 2, 24 and 48
/// MiB, and of an L2 of 1 MiB 192 and 768 KiB.
const OTHERS: f64 = 24.0;

struct Walked {
    cpu: Cpu,
    /// In the order of the cells: one a kind of page.
    curves: Vec<Curve>,
    judged: Result<Capacities, Refusal>,
}

/// The CPUs that walked in this trial, in the order of its cells, each judged.
fn walked(machine: &Machine, trial: &Trial) -> Vec<Walked> {
    let cpus = order::firsts(trial.cells.iter().filter_map(|cell| cell.arrangement.cpus.first().copied()));
    let walked = |cpu: Cpu| {
        let own = || trial.cells.iter().filter(move |cell| cell.arrangement.cpus.first() == Some(&cpu));
        // What was taken before a cell was refused is no measurement.
        let sound = || own().filter(|cell| cell.refusal.is_none() && !cell.samples.is_empty());
        let curves: Vec<Curve> = sound().map(|cell| curve(machine, trial, cell, |_| true)).collect();
        let judged = match (curves.is_empty(), own().find_map(|cell| cell.refusal.clone())) {
            (true, Some(refusal)) => Err(refusal),
            _ => capacity::judge(&curves, &stated(machine, cpu)).map(|mut whole| {
                let half = |late: bool| -> Vec<Curve> {
                    sound().map(|cell| curve(machine, trial, cell, half_of(cell, late))).collect()
                };
                let halves = [false, true].map(|late| capacity::judge(&half(late), &stated(machine, cpu)));
                if let [Ok(early), Ok(late)] = halves {
                    unsteady(&mut whole, &early, &late);
                }
                whole
            }),
        };
        Walked { cpu, curves, judged }
    };
    cpus.into_iter().map(walked).collect()
}

/// Whether a block lies in the first or in the second half of the cell.
fn half_of(cell: &Cell, late: bool) -> impl Fn(u32) -> bool + use<> {
    let middle = cell.samples.last().map_or(0, |sample| sample.block / 2);
    move |block| (block > middle) == late
}

/// Takes back every knee that was elsewhere in the first half than in the second, or by which one half says
/// of the firmware what the other denies.
fn unsteady(whole: &mut Capacities, early: &Capacities, late: &Capacities) {
    for level in &mut whole.levels {
        let in_half = |half: &Capacities| {
            let level = half.levels.iter().find(|other| other.level == level.level)?;
            Some((level.measured()?, level.outcome().verdict()))
        };
        let (Some((before, word)), Some((after, word_after))) = (in_half(early), in_half(late)) else {
            continue;
        };
        let factor = before.0.max(after.0) as f64 / before.0.min(after.0) as f64;
        if factor > STEADY || word != word_after {
            level.ended_by = None;
            level.rise = Err(Refusal {
                reached: format!(
                    "the knee of L{} was at {before} in the first half and at {after} in the second",
                    level.level
                ),
                needs: if factor > STEADY {
                    format!("a knee that stays within {STEADY}x of itself")
                } else {
                    format!("a knee that is always within {STEADY}x of what the firmware says, or never")
                },
                remedy: "measure for longer, where nobody else uses the cache meanwhile".into(),
            });
        }
    }
}

/// Why a cache that ends before the size that the firmware states is not held against it: other guests of the
/// host may hold the rest, of an inner cache those that run on the same cores, and for all of a run. Beyond
/// [`OTHERS`] it is not that. What builds on the size takes the measured one all the same.
fn held_by_others(machine: &Machine, level: &Level) -> Option<Refusal> {
    if !machine.is_guest() {
        return None;
    }
    let (stated, end) = match level.outcome() {
        LevelOutcome::Differ(stated, rise) => (stated, rise.knee),
        LevelOutcome::Ended(stated, by) => (stated, by),
        LevelOutcome::Agree(..) | LevelOutcome::Alone(_) | LevelOutcome::Undecided(_) => return None,
    };
    let may_be_others = end < stated && stated.0 as f64 <= OTHERS * end.0 as f64;
    may_be_others.then(|| Refusal {
        reached: format!(
            "firmware says L{} is {stated}, and it ended at {end}, which is what other experiments build on",
            level.level
        ),
        needs: format!(
            "an end within {STEADY}x of that or below 1/{OTHERS} of it: between, the host's other guests may hold the rest"
        ),
        remedy: "measure again when they do something else".into(),
    })
}

fn curve(machine: &Machine, trial: &Trial, cell: &Cell, blocks: impl Fn(u32) -> bool) -> Curve {
    let mut points: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for sample in cell.samples.iter().filter(|sample| blocks(sample.block)) {
        let variant = trial.variant(sample.variant);
        let Some(bytes) = variant.and_then(|variant| variant.coordinate(BYTES)) else { continue };
        points.entry(bytes).or_default().push(sample.elapsed.0 as f64 / sample.iterations as f64);
    }
    let page = cell.arrangement.parameter("page").and_then(|bytes| bytes.parse().ok()).map(Bytes);
    Curve {
        page: page.unwrap_or(machine.page_size),
        points: points.into_iter().map(|(bytes, times)| Point { bytes: Bytes(bytes), times }).collect(),
    }
}

fn stated(machine: &Machine, cpu: Cpu) -> Vec<Stated> {
    let of = |cache: &&tenbin_model::machine::Cache| Stated {
        level: cache.level,
        size: cache.size.known().copied(),
        shared_by: cache.shared_by.len(),
    };
    data_caches(machine, cpu).iter().map(of).collect()
}

fn answers(machine: &Machine, trial: &Trial, walked: &[Walked]) -> Vec<Answer> {
    let mut answers = Vec::new();
    for (place, walked) in walked.iter().enumerate() {
        let none = |refusal: &Refusal| {
            refused(&trial.descriptor, &format!("on {}", walked.cpu), place == 0, refusal)
        };
        match &walked.judged {
            Err(refusal) => answers.push(none(refusal)),
            Ok(capacities) if capacities.levels.is_empty() => {
                let largest = capacities.largest;
                answers.push(none(&Refusal {
                    reached: format!("no cache is stated, and loads are equally fast up to {largest}"),
                    needs: "a knee, or firmware that states a cache".into(),
                    remedy: "measure larger sizes with --set largest=…".into(),
                }));
            }
            Ok(capacities) => {
                // The last level is what memory lies behind, and what firmware is most often wrong about.
                let last = capacities.levels.len().saturating_sub(1);
                for (number, level) in capacities.levels.iter().enumerate() {
                    let mut answer = of_level(machine, trial, walked.cpu, capacities, level);
                    answer.caveat =
                        shared_with_guests(machine, level).filter(|_| answer.verdict != Verdict::Refused);
                    answer.headline = place == 0 && number == last;
                    if answer.headline {
                        answer.brief = brief(capacities);
                        answer.grids = vec![grid(&walked.curves)];
                    }
                    answers.push(answer);
                }
            }
        }
    }
    answers
}

/// Where each level ends, and what the firmware says of it where that is something else.
fn brief(capacities: &Capacities) -> String {
    let level = |level: &Level| {
        let number = level.level;
        let measured = level.measured().map_or("not seen".to_owned(), |size| size.to_string());
        match level.stated.filter(|stated| Some(*stated) != level.measured()) {
            Some(stated) => format!("L{number} {measured} (firmware: {stated})"),
            None => format!("L{number} {measured}"),
        }
    };
    comma(capacities.levels.iter().map(level))
}

/// A cache that several CPUs share is shared with a host's other guests as well, and what they leave changes.
fn shared_with_guests(machine: &Machine, level: &Level) -> Option<String> {
    (machine.is_guest() && level.shared_by.is_some_and(|cpus| cpus > 1)).then(|| {
        "Holds for what the host's other guests leave of a cache that they share, and while they leave it.".into()
    })
}

fn of_level(machine: &Machine, trial: &Trial, cpu: Cpu, capacities: &Capacities, level: &Level) -> Answer {
    let judged = level.outcome();
    let refusal = match judged {
        LevelOutcome::Undecided(refusal) => Some(refusal.clone()),
        _ => held_by_others(machine, level),
    };
    let witness = format!("by {cpu} in pages of {}", capacities.page);
    let bytes = |name: &str, size: Option<Bytes>| size.map(|size| Figure::new(name, size.0 as f64, "B"));
    let time = |name: &str, time: Option<f64>| time.map(|time| Figure::new(name, time / 1e3, "ns"));
    let figures = [
        bytes("stated", level.stated),
        bytes("knee", level.measured()),
        time("time of a load that hits", level.time()),
        bytes("flat from", capacities.flat_from),
        time("time of a load from memory", capacities.memory_time),
    ];
    Answer {
        // A knee where the firmware says nothing is not what the firmware says.
        verdict: match &refusal {
            Some(_) => Verdict::Refused,
            None => judged.verdict().unwrap_or(Verdict::Different),
        },
        sentence: match &refusal {
            Some(refusal) => refused_in_words(refusal),
            None => capacities.sentence(level, &witness),
        },
        refusal,
        figures: figures.into_iter().flatten().collect(),
        ..empty(&trial.descriptor, &format!("L{} of {cpu}", level.level), false)
    }
}

fn sizes(curves: &[Curve]) -> Vec<Bytes> {
    order::distinct(curves.iter().flat_map(|curve| &curve.points).map(|point| point.bytes))
}

/// The medians, a row a size and a column a kind of page.
fn grid(curves: &[Curve]) -> Grid {
    let sizes = sizes(curves);
    let median = |curve: &Curve, size: Bytes| {
        let point = curve.points.iter().find(|point| point.bytes == size)?;
        Some(Ordered::new(point.times.clone())?.median() / 1e3)
    };
    Grid {
        name: "time of a step".into(),
        unit: "ns".into(),
        rows: sizes.iter().map(Bytes::to_string).collect(),
        columns: curves.iter().map(|curve| format!("pages of {}", curve.page)).collect(),
        values: sizes.iter().map(|&size| curves.iter().map(|curve| median(curve, size)).collect()).collect(),
    }
}

fn findings(machine: &Machine, trial: &Trial) -> Vec<Finding> {
    let sentences = topology::sentences(machine);
    let finding = (!sentences.is_empty()).then(|| Finding {
        experiment: trial.descriptor.name.clone(),
        sentence: sentences.join(" "),
        evidence: "as the kernel publishes it".into(),
        confidence: "the firmware's word, which a virtual machine's maker may choose".into(),
    });
    finding.into_iter().collect()
}

/// The sizes to build on: those of the first CPU that walked, else what the firmware says of the first CPU.
pub fn known_sizes(machine: &Machine, trials: &[Trial]) -> Sizes {
    let known = trials.iter().find(|trial| trial.descriptor.analysis.as_str() == Knees.name());
    let walked = known.map(|trial| walked(machine, trial)).unwrap_or_default();
    if let Some((cpu, capacities)) =
        walked.first().and_then(|walked| Some((walked.cpu, walked.judged.as_ref().ok()?)))
    {
        let levels = capacity::taken(capacities);
        return Sizes { cpu: Some(cpu), levels, beyond: capacity::beyond(capacities) };
    }
    let Some(cpu) = machine.cpus.first().map(|place| place.cpu) else { return Sizes::default() };
    let level = |cache: &&tenbin_model::machine::Cache| {
        Some(Size { level: cache.level, bytes: *cache.size.known()?, by: Word::Firmware })
    };
    Sizes {
        cpu: Some(cpu),
        levels: data_caches(machine, cpu).iter().filter_map(level).collect(),
        beyond: None,
    }
}

#[cfg(test)]
mod tests {
    use tenbin_analysis::specimen;
    use tenbin_model::machine::Virtualisation;
    use tenbin_model::{Arrangement, Descriptor, Quantity, Variant, VariantIndex};

    use super::*;

    /// A walk in huge pages by CPU 0 whose cache ends at the one size in the first half and at the other in
    /// the second; the firmware states 8 MiB.
    fn walk(virtualisation: Virtualisation, knees: [u64; 2]) -> Answer {
        let sizes: Vec<u64> = (12..27).map(|log| 1 << log).collect();
        let samples = specimen::samples(20, &VariantIndex::range(0..sizes.len()), 1, |block, variant| {
            let knee = knees[usize::from(block >= 10)];
            if sizes[variant] <= knee { 10e3 } else { 90e3 }
        });
        let variants = sizes.iter().map(|&size| Variant::measured("a walk", "").at(&[(BYTES, size)]));
        let descriptor = Descriptor {
            analysis: Knees.name().into(),
            variants: variants.collect(),
            ..specimen::descriptor(Quantity::NanosecondsPerOperation)
        };
        let arrangement = Arrangement {
            cpus: vec![Cpu(0)],
            parameters: vec![("page".into(), (2 << 20).to_string())],
            ..Arrangement::default()
        };
        let cell =
            Cell { arrangement, samples, ..specimen::cell(0, 1.0, 0.0, tenbin_model::Ended::Budget, 1) };
        let trial = Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() };
        let machine = Machine { virtualisation, ..specimen::sharing(3, &[&[0]]) };
        Knees.judge(&machine, &trial).answers.remove(0)
    }

    const MIB: u64 = 1 << 20;

    #[track_caller]
    fn says(answer: &Answer, verdict: Verdict, words: &str) {
        assert_eq!(answer.verdict, verdict, "{}", answer.sentence);
        assert!(answer.sentence.contains(words), "{words}: {}", answer.sentence);
    }

    #[test]
    fn halves_that_say_the_opposite_of_the_firmware_are_no_answer() {
        for (knees, verdict, words) in [
            (
                [8 * MIB, 8 * MIB],
                Verdict::Equivalent,
                "Firmware says L3 is 8 MiB and the measured knee is at 8 MiB",
            ),
            ([2 * MIB, 2 * MIB], Verdict::Different, "the measured knee is at 2 MiB"),
            // Within a factor of two of each other, but on either side of what may be called the same.
            (
                [4 * MIB, 2 * MIB],
                Verdict::Refused,
                "that is always within 2x of what the firmware says, or never",
            ),
            ([8 * MIB, 2 * MIB], Verdict::Refused, "a knee that stays within 2x of itself"),
        ] {
            says(&walk(Virtualisation::None, knees), verdict, words);
        }
    }

    #[test]
    fn what_other_guests_may_hold_is_not_held_against_the_firmware() {
        for (knee, verdict, words) in [
            (4 * MIB, Verdict::Equivalent, "the measured knee is at 4 MiB"),
            (2 * MIB, Verdict::Refused, "the host's other guests may hold"),
            (MIB / 2, Verdict::Refused, "it ended at 512 KiB, which is what other experiments build on"),
            (MIB / 4, Verdict::Different, "the measured knee of 256 KiB"),
        ] {
            says(&walk(Virtualisation::Hypervisor("KVM".into()), [knee, knee]), verdict, words);
        }
    }
}
