//! What the intervals of a run cannot cover, said where it applies.

use tenbin_model::{Answer, Cell, Evidence, Machine, Regime, Trial, Verdict};

use super::regimes::when;
use super::sentence::range;

/// Regimes whose intervals are nearer to each other than this, as a log ratio, are not worth a word.
const WORTH_A_WORD: f64 = 0.1;

/// What goes with an answer beyond its interval, in words. None if nothing does.
pub fn of(machine: &Machine, trial: &Trial, cell: &Cell, answer: &Answer) -> Option<String> {
    // What was refused claims nothing that could cease to hold, and says itself what it saw change.
    let evidence = answer.evidence.as_ref().filter(|_| answer.verdict != Verdict::Refused)?;
    let caveats: Vec<String> = changed(trial, evidence).into_iter().chain(placement(machine, cell)).collect();
    (!caveats.is_empty()).then(|| caveats.join(" "))
}

/// What holds for every answer about several CPUs of a virtual machine.
pub const PLACEMENT: &str = "Holds while the host leaves these virtual CPUs where they are.";

/// On a virtual machine the distance between two CPUs is the host's to choose, now and again later.
///
/// Seen in practice: the same comparison on two virtual CPUs gave 1.3 and 2.4 in runs seconds apart, each
/// with an interval of a few per cent, and once both within a run. An interval covers what varied while
/// the run lasted; it cannot cover what changes after it.
pub fn placement(machine: &Machine, cell: &Cell) -> Option<String> {
    if !machine.is_guest() {
        return None;
    }
    let first = cell.arrangement.cpus.first()?;
    let apart = cell.arrangement.cpus.iter().any(|cpu| cpu != first);
    apart.then(|| PLACEMENT.into())
}

/// That a ratio was not the same throughout, though one answer holds: the two regimes that are farthest
/// apart.
fn changed(trial: &Trial, evidence: &Evidence) -> Option<String> {
    let by_ratio = |one: &&Regime, other: &&Regime| one.ratio.total_cmp(&other.ratio);
    let least = evidence.regimes.iter().min_by(by_ratio)?;
    let most = evidence.regimes.iter().max_by(by_ratio)?;
    if (most.interval.low / least.interval.high).ln() <= WORTH_A_WORD {
        return None;
    }
    let in_words = |regime: &Regime| {
        let alone = Evidence { ratio: regime.ratio, interval: regime.interval, ..evidence.clone() };
        format!("{} {}", range(trial.descriptor.quantity, &alone), when(regime, evidence))
    };
    Some(format!("It changed while it was measured: {}, {}.", in_words(least), in_words(most)))
}
