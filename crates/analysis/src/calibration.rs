//! What a calibration says about the instrument, and of which machine it says it.

mod pair;
mod rates;
mod remark;

use tenbin_model::{Calibration, Machine, Purpose, Series};

use crate::comparable::{Outcome, compare};

pub use pair::{Known, pair};
pub use rates::{LEVEL, rates};
pub use remark::remark;
pub(crate) use remark::{against, alarms, date, made_load, range, signs, subjects};

/// The calibration to be shown beside verdicts of `machine`, of some that come `newest_first`: of those that
/// [`holds_for`] it, the one that knows most of what was weighed for `purpose`.
///
/// That is the one in which the most works have `TELLING` equals; of these the one with equals of the most
/// works; of these the one with the most equals; of these the newest. So a few pairs that were weighed for
/// the sake of a look, of however many works, do not hide what a whole calibration knows, though it were of
/// one work; and one without a pair of equals says nothing. Under which load it was made is no part of the
/// choice: it is said with it.
pub fn of_machine<T>(
    machine: &Machine,
    purpose: Purpose,
    newest_first: impl IntoIterator<Item = T>,
    calibration: impl Fn(&T) -> &Calibration,
) -> Option<T> {
    let mut best: Option<((usize, usize, usize), T)> = None;
    for candidate in newest_first {
        let made = calibration(&candidate);
        let knows = equals(made, purpose);
        let more = best.as_ref().is_none_or(|(most, _)| knows > *most);
        if more && knows.2 > 0 && holds_for(made, machine) {
            best = Some((knows, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Whether a calibration is one of `machine`, by [`compare`].
///
/// Load and free memory may have changed since; the kernel, the processor or a setting that changes
/// what is measured may not. Neither may such a field be known to one side only: what was calibrated
/// must be known to be what is measured. A field that neither side can observe is no difference, so
/// two machines of one kind, with one kernel, pass for one.
pub fn holds_for(calibration: &Calibration, machine: &Machine) -> bool {
    compare(&calibration.machine, machine).outcome <= Outcome::Comparable
}

/// So many equals of which none was called different show, with a confidence of 95 %, that fewer than one in
/// ten is: 0.9²⁹ < 0.05. Fewer say next to nothing of a work.
const TELLING: usize = 29;

/// The works of which [`TELLING`] equals were weighed, those of which any were, and how many equals in all.
fn equals(calibration: &Calibration, purpose: Purpose) -> (usize, usize, usize) {
    let equals = |series: &&Series| series.purpose == purpose && series.effect == 0.0;
    let counts = calibration.series.iter().filter(equals).map(|series| series.pairs.len());
    let counts: Vec<usize> = counts.filter(|&count| count > 0).collect();
    (counts.iter().filter(|&&count| count >= TELLING).count(), counts.len(), counts.iter().sum())
}

#[cfg(test)]
pub(crate) mod specimen;
#[cfg(test)]
mod tests;
