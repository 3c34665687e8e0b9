//! What a calibration says about the instrument, and of which machine it says it.

mod pair;
mod rates;
mod remark;

use tenbin_model::{Calibration, Effort, Machine, Purpose, Series};

use crate::comparable::{Outcome, compare};

pub use pair::{Known, pair};
pub use rates::{LEVEL, rates};
pub use remark::remark;
pub(crate) use remark::{against, date, made_load, range};

/// The calibration to be shown beside verdicts of `machine`, of some that come `newest_first`: the first that
/// [`holds_for`] it, weighed at least one pair of equals and was not asked for a part only.
///
/// One that was cut short before its first pair says nothing, and a few pairs of one kind, weighed for the
/// sake of a look, do not hide what a whole calibration knows. Where there is no other, such a part is
/// better than nothing.
pub fn of_machine<T>(
    machine: &Machine,
    newest_first: impl Iterator<Item = T>,
    calibration: impl Fn(&T) -> &Calibration,
) -> Option<T> {
    let mut part = None;
    for candidate in newest_first {
        let found = calibration(&candidate);
        if !holds_for(found, machine) || !weighed_equals(found) {
            continue;
        }
        if found.provenance.effort != Effort::Quick {
            return Some(candidate);
        }
        part = part.or(Some(candidate));
    }
    part
}

/// Whether a calibration is one of `machine`, by [`compare`].
///
/// Load and free memory may have changed since; the kernel, the processor or a setting that changes
/// what is measured may not. Neither may such a field be known to one side only: what was calibrated
/// must be known to be what is measured. A field that neither side can observe is no difference, so
/// two machines of one kind, with one kernel, pass for one.
pub fn holds_for(calibration: &Calibration, machine: &Machine) -> bool {
    match compare(&calibration.machine, machine).outcome {
        Outcome::Alike | Outcome::Comparable => true,
        Outcome::Undecided | Outcome::Different => false,
    }
}

fn weighed_equals(calibration: &Calibration) -> bool {
    let ladder = |series: &&Series| series.purpose == Purpose::Ladder && series.effect == 0.0;
    calibration.series.iter().filter(ladder).any(|series| !series.pairs.is_empty())
}

#[cfg(test)]
pub(crate) mod specimen;
#[cfg(test)]
mod tests;
