//! What a calibration says about the instrument, and of which machine it says it.

mod pair;
mod rates;
mod remark;

use tenbin_model::{Calibration, Machine, Purpose, Series};

use crate::comparable::{Outcome, compare};

pub use pair::{Known, pair};
pub use rates::{LEVEL, rates};
pub use remark::remark;
pub(crate) use remark::{against, date, made_load, range};

/// The calibration to be shown beside verdicts of `machine`: the first that [`holds_for`] it and
/// weighed at least one pair of equals, of calibrations that come `newest_first`.
///
/// One that was cut short before its first pair says nothing, and does not hide an older one.
pub fn of_machine<'a>(
    machine: &Machine,
    newest_first: impl Iterator<Item = &'a Calibration>,
) -> Option<&'a Calibration> {
    let mut ours = newest_first.filter(|calibration| holds_for(calibration, machine));
    ours.find(|calibration| weighed_equals(calibration))
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
