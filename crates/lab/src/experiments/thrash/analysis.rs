//! The judge of thrashing: does a shared buffer cost many times what a buffer each costs?
//!
//! The first comparison of a cell weighs private (left) against shared (right) and is judged by a threshold
//! of its own; the others are ordinary comparisons, but that "different" lies beyond the margin as a whole.

use tenbin_model::machine::Observed;
use tenbin_model::topology::groups;
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Answer, Cell, Comparison, Descriptor, Evidence, Figure, Finding, Interval, Machine, Refusal, Regime,
    Trial, VariantIndex, Verdict,
};

use tenbin_analysis::report::cell_by_cell;
use tenbin_analysis::verdict::comparisons::{self, empty};
use tenbin_analysis::verdict::regimes::{self, Stance};
use tenbin_analysis::verdict::{self, Time, caveat, sentence, whole_epoch};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::interval::{outward, show};

/// Sharing thrashes when it costs at least this many times as much, and its interval does not reach below: so
/// that two runs which have the ratio between their limits cannot say the opposite of each other. S. Takeuchi
/// looks for losses of tens of times and passes over "a few times"; its own grid has nothing between 1.6 and
/// 7.9.
const THRASHING: f64 = 5.0;

/// In a guest, how many times the threshold may be met by nothing but where the host puts the CPUs: the same
/// buffer of 8 KiB cost 4.8, 14 and 99 times as much to share in runs on one virtual machine, by whether its
/// CPUs were one core's threads then, or neighbours, or far apart. Between a third of the threshold and three
/// times that, another run may say the opposite.
const PLACEMENT: f64 = 3.0;

/// What settles a ratio of which not enough is known.
const LONGER: &str = "give it more time (--thorough) or a quieter machine";

/// As comparisons are; the first of each cell by the threshold of thrashing.
#[derive(Debug)]
pub(super) struct Thrashing;

impl Analysis for Thrashing {
    fn name(&self) -> &'static str {
        "thrashing"
    }

    /// The question is what the other thread costs the first, and one thread is weighed against two: two are
    /// preempted twice as often as one, so the whole of an epoch would tell them apart under load by that
    /// alone. The first thread's own part does not.
    fn time(&self, _: &Cell) -> Time {
        |sample| match sample.shares.first() {
            Some(own) => own.elapsed.0 as f64 / sample.iterations as f64,
            None => whole_epoch(sample),
        }
    }

    fn contradiction<'a>(&self, place: usize, evidence: &'a Evidence) -> Option<(&'a Regime, &'a Regime)> {
        if place == 0 { contradiction(evidence) } else { verdict::contradiction(evidence) }
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let of_cell = |cell| (cell, of_cell(self.time(cell), machine, trial, cell));
        let cells: Vec<(&Cell, Vec<Answer>)> = trial.cells.iter().map(of_cell).collect();
        let causes = cells.iter().filter_map(|(cell, answers)| causes(trial, cell, answers));
        let others = [footnote(machine, trial, &cells), counters(machine, trial)];
        let findings = causes.chain(others.into_iter().flatten()).collect();
        let answers: Vec<Answer> = cells.into_iter().flat_map(|(_, answers)| answers).collect();
        Judged { view: cell_by_cell(|cell| self.time(cell), trial, &answers), answers, findings }
    }
}

fn of_cell(time: Time, machine: &Machine, trial: &Trial, cell: &Cell) -> Vec<Answer> {
    let mut answers = match (&cell.refusal, cell.ended) {
        // Published figures ended in no way that is known here: one run of each, and no second.
        (None, None) => Vec::new(),
        _ => comparisons::of_cell(time, machine, trial, cell),
    };
    // Two threads on two CPUs that are not theirs alone meet states that last for many blocks, on any
    // machine: the other half of a core is busy, or is not. Nobody asks here for a few per cent.
    let Descriptor { quantity, margin, .. } = trial.descriptor;
    answers.iter_mut().skip(1).for_each(|answer| comparisons::beyond(answer, quantity, margin, LONGER));
    match answers.first_mut() {
        Some(first) => {
            if let Some(evidence) = first.evidence.clone() {
                by_threshold(machine, cell, first, &evidence);
                first.caveat = caveat::of(machine, trial, cell, first);
            }
        }
        None => answers.extend(by_one_run(trial, cell)),
    }
    answers
}

/// Judges anew an answer whose ratio has an interval.
fn by_threshold(machine: &Machine, cell: &Cell, answer: &mut Answer, evidence: &Evidence) {
    let label = &answer.cell;
    let figures = |ratio: f64, interval: Interval| {
        format!("{}x what {} costs ({})", show(ratio, interval), evidence.left, outward(interval))
    };
    answer.figures = vec![Figure::new("cost of sharing", evidence.ratio, "1")];
    answer.refusal = None;
    if let Some(two) = contradiction(evidence) {
        let cost =
            |regime: &Regime| format!("{} costs {}", evidence.right, figures(regime.ratio, regime.interval));
        let mut refusal = regimes::it_depends(machine, cell, evidence, two, cost);
        refusal.needs = format!("{THRASHING}x or more, or less, for as long as it is measured {label}");
        answer.verdict = Verdict::Refused;
        answer.sentence = sentence::refusal(&refusal);
        answer.refusal = Some(refusal);
        return;
    }
    let figures = figures(evidence.ratio, evidence.interval);
    let guest = machine.is_guest();
    let placement = if guest { PLACEMENT } else { 1.0 };
    (answer.verdict, answer.sentence) = match self::stance(evidence.interval, placement) {
        Verdict::Different => {
            (Verdict::Different, format!("Thrashing: {} costs {figures} {label}.", evidence.right))
        }
        Verdict::Equivalent => {
            let (right, from) = (&evidence.right, three_digits(THRASHING));
            let sentence = format!("No thrashing: {right} costs {figures} {label}; it starts at {from}x.");
            (Verdict::Equivalent, sentence)
        }
        Verdict::Refused => {
            let refusal = Refusal {
                reached: format!("{} costs {figures} {label}", evidence.right),
                needs: if guest {
                    format!(
                        "an interval above {}x or below {}x, as where the host puts these CPUs in the next run decides \
                         the rest",
                        three_digits(THRASHING * placement),
                        three_digits(THRASHING / placement)
                    )
                } else {
                    format!("an interval above {THRASHING}x, or one below it")
                },
                remedy: if guest {
                    "measure where nobody moves CPUs: on the host, or with its CPUs pinned".into()
                } else {
                    LONGER.into()
                },
            };
            answer.refusal = Some(refusal.clone());
            (Verdict::Refused, sentence::refusal(&refusal))
        }
    };
}

/// Two regimes of which sharing thrashes in one and not in the other.
fn contradiction(evidence: &Evidence) -> Option<(&Regime, &Regime)> {
    regimes::contradiction(evidence, |regime| Stance(stance(regime.interval, 1.0), false))
}

/// What the cost of sharing comes to by the threshold, or by so many times that on either side of it.
fn stance(interval: Interval, either_side: f64) -> Verdict {
    if interval.low >= THRASHING * either_side {
        Verdict::Different
    } else if interval.high < THRASHING / either_side {
        Verdict::Equivalent
    } else {
        Verdict::Refused
    }
}

/// Judges a cell of which one run of each variant was published: the ratio as it stands.
fn by_one_run(trial: &Trial, cell: &Cell) -> Option<Answer> {
    let comparison: &Comparison = cell.arrangement.comparisons.first()?;
    let time = |variant: VariantIndex| {
        let sample = cell.samples.iter().find(|sample| sample.variant == variant)?;
        Some(sample.elapsed.0 as f64 / sample.iterations as f64)
    };
    let ratio = time(comparison.right)? / time(comparison.left)?;
    let name = |variant: VariantIndex| &trial.descriptor[variant].name;
    let (left, right) = (name(comparison.left), name(comparison.right));
    let (verdict, word) = match ratio >= THRASHING {
        true => (Verdict::Different, "Thrashing"),
        false => (Verdict::Equivalent, "No thrashing"),
    };
    let label = &cell.arrangement.label;
    let sentence = format!("{word}: {right} costs {}x what {left} costs {label}.", three_digits(ratio));
    Some(Answer {
        verdict,
        sentence,
        caveat: Some("One figure a side says nothing about spread: the ratio has no interval.".into()),
        figures: vec![Figure::new("cost of sharing", ratio, "1")],
        ..empty(&trial.descriptor, label, cell.arrangement.headline)
    })
}

/// The footnote of S. Takeuchi, judged: where all cores share one L3, a buffer that fits into it
/// should not thrash (case C).
///
/// None where no such cell was measured; a machine whose CPUs do not all share one L3 is no test of it.
fn footnote(machine: &Machine, trial: &Trial, cells: &[(&Cell, Vec<Answer>)]) -> Option<Finding> {
    let cells = cells.iter().filter(|(cell, _)| cell.arrangement.parameter("case") == Some("C"));
    let answers: Vec<&Answer> = cells.filter_map(|(_, answers)| answers.first()).collect();
    let first = answers.first()?;
    let groups = groups(machine, 3);
    // Those that this process may not use share it, or not, as well.
    let online = machine.online.known().map_or(machine.cpus.len(), Vec::len);
    let one = groups.len() == 1 && groups.first().is_some_and(|group| group.len() == online);
    let claim = "the published footnote, that a buffer which fits into an L3 that all cores share does not thrash (case C),";
    let sentence = if !one {
        let known = match groups.len() {
            0 => "which L3 its CPUs share is not known".to_owned(),
            1 => "not all of its CPUs are known to share its one L3".to_owned(),
            count => format!("its CPUs share {count} L3"),
        };
        format!("This machine cannot test {claim} because {known}.")
    } else if answers.iter().all(|answer| answer.verdict == Verdict::Equivalent) {
        format!("Here all CPUs share one L3, and {claim} holds.")
    } else if answers.iter().any(|answer| answer.verdict == Verdict::Different) {
        format!("Here all CPUs share one L3, and {claim} does not hold.")
    } else {
        format!("Here all CPUs share one L3, and {claim} stays open.")
    };
    let decides = |answer: &&&Answer| answer.verdict == Verdict::Different;
    let deciding = answers.iter().find(decides).unwrap_or(first);
    Some(Finding {
        experiment: trial.descriptor.name.clone(),
        sentence,
        evidence: deciding.sentence.clone(),
        confidence: "as sure as that answer; which CPUs share a cache is the firmware's word".into(),
    })
}

/// What sharing costs, taken apart: room, coherence, false sharing, reading.
///
/// None where the cell was not judged in all its comparisons.
fn causes(trial: &Trial, cell: &Cell, answers: &[Answer]) -> Option<Finding> {
    let name = |variant: VariantIndex| trial.variant(variant).map(|variant| variant.name.as_str());
    let at = |what: usize| {
        let pair = cell.arrangement.comparisons.get(what)?;
        let named = |evidence: &&Evidence| {
            Some(evidence.left.as_str()) == name(pair.left)
                && Some(evidence.right.as_str()) == name(pair.right)
        };
        answers.iter().filter_map(|answer| answer.evidence.as_ref()).find(named)
    };
    let costs = |evidence: &Evidence| {
        format!("{}x ({})", show(evidence.ratio, evidence.interval), outward(evidence.interval))
    };
    // What lies beyond the margin as a whole is a cost; less is not worth a name.
    let is_dear = |evidence: &Evidence| evidence.interval.low > 1.0 + evidence.margin;
    // In the order in which a cell of thrash weighs: shared, other bytes, the two, read only, alone.
    let (shared, bytes, read, alone) = (at(0)?, at(1)?, at(3)?, at(4)?);
    let thrashes = answers.first().is_some_and(|answer| answer.verdict == Verdict::Different);
    Some(Finding {
        experiment: trial.descriptor.name.clone(),
        sentence: format!(
            "{} {}: a second thread with a buffer of its own costs {}, which is {}; writing the same bytes {} and other bytes of \
             the same lines {}, which is {}; reading the same lines {}.",
            if thrashes { "What makes it dear" } else { "Taken apart" },
            cell.arrangement.label,
            costs(alone),
            if is_dear(alone) { "room" } else { "no cost of room that shows" },
            costs(shared),
            costs(bytes),
            if is_dear(shared) || is_dear(bytes) { "coherence" } else { "no cost of coherence that shows" },
            costs(read),
        ),
        evidence: "one thread against two, then each against a buffer each".into(),
        confidence: "as sure as the intervals; each shares the level of the whole experiment".into(),
    })
}

/// Lines that were taken from another cache while modified (HITM) would tell coherence from room at once.
fn counters(machine: &Machine, trial: &Trial) -> Option<Finding> {
    // Of figures that others published there is nothing more to count.
    trial.cells.iter().find(|cell| cell.ended.is_some())?;
    let (sentence, evidence) = match &machine.counters {
        Observed::Known(_) => (
            "Lines that one core takes from another's cache were not counted: the event for it (HITM) differs by model.",
            "hardware counters are there".to_owned(),
        ),
        Observed::NotObservable(why) => {
            ("Lines that one core takes from another's cache could not be counted: no counters.", why.clone())
        }
    };
    Some(Finding {
        experiment: trial.descriptor.name.clone(),
        sentence: sentence.into(),
        evidence,
        confidence: "what the kernel says of them".into(),
    })
}

#[cfg(test)]
mod tests;
