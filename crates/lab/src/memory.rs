//! How much memory an experiment may take: half of what is free, and never more.

use tenbin_model::machine::Observed;
use tenbin_model::{Bytes, Machine, Refusal};

use crate::experiment::Unfit;

/// What is taken to be free where the machine does not say.
const UNKNOWN: Bytes = Bytes(256 << 20);

/// Half of the memory that may be used without swapping, by the machine or by the control group.
///
/// The other half belongs to whoever else is there: what is taken must not make the machine swap, for
/// swapping is what would then be measured.
pub fn allowance(machine: &Machine) -> Bytes {
    let free = match &machine.memory_available {
        Observed::Known(free) => *free,
        Observed::NotObservable(_) => UNKNOWN,
    };
    Bytes(free.0 / 2)
}

/// Whether `wanted` bytes for `what` may be taken. `less` is asked for the words behind `--set` that ask for
/// so much less that it fits into the room it is given, if any do; use [`largest`] to find them.
///
/// # Errors
/// A refusal with both figures where it is more than the allowance.
pub fn within_allowance(
    machine: &Machine,
    wanted: Bytes,
    what: &str,
    less: impl FnOnce(Bytes) -> Option<String>,
) -> Result<(), Unfit> {
    let allowance = allowance(machine);
    if wanted <= allowance {
        return Ok(());
    }
    let source = match &machine.memory_available {
        Observed::Known(free) => format!("half of the {free} that is free"),
        Observed::NotObservable(why) => {
            format!("half of {UNKNOWN}, because what is free is not known ({why})")
        }
    };
    Err(Unfit::Refused(Refusal {
        reached: format!(
            "{wanted} of memory would be needed for {what}, and {allowance} may be taken: {source}"
        ),
        needs: format!("at least {} free", Bytes(wanted.0.saturating_mul(2))),
        remedy: match less(Bytes(allowance.0 / 10 * 9)) {
            Some(setting) => format!("ask for less (--set {setting}), or free memory"),
            None => "free memory".into(),
        },
    }))
}

/// The largest number of at most two significant digits below `asked`, and not below `least`, that `fits`:
/// what is free when the advice is followed is not to the last byte what was free when it was given.
pub fn largest(least: u64, asked: u64, fits: impl Fn(u64) -> bool) -> Option<u64> {
    let mut scale = 1;
    while asked / scale >= 100 {
        scale *= 10;
    }
    let mut step = scale;
    let mut value = asked / scale * scale;
    while value >= least.max(1) {
        if value < asked && fits(value) {
            return Some(value);
        }
        if value <= 10 * step && step > 1 {
            step /= 10;
        }
        value -= step;
    }
    None
}

/// What the remedy of a refusal says to give to `--set`: key and value. None where it says nothing of it.
#[cfg(test)]
pub(crate) fn advised(unfit: &Unfit) -> Option<(String, String)> {
    let Unfit::Refused(refusal) = unfit else { return None };
    let (_, words) = refusal.remedy.split_once("--set ")?;
    let setting = words.split([')', ' ']).next()?;
    setting.split_once('=').map(|(key, value)| (key.into(), value.into()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::{machine_with, refused};

    #[test]
    fn more_than_half_of_what_is_free_is_refused_with_both_figures() {
        let machine = machine_with(Bytes(1 << 30));
        let less = |room: Bytes| Some(format!("buffer={}", room.0 >> 20));
        assert!(within_allowance(&machine, Bytes(512 << 20), "a buffer", less).is_ok());
        let refusal = refused(within_allowance(&machine, Bytes((512 << 20) + 1), "a buffer", less));
        assert!(refusal.reached.contains("512 MiB") && refusal.reached.contains("1 GiB"));
        assert!(refusal.remedy.contains("(--set buffer=460)"), "{refusal:?}");
        let silent = Machine::unobserved("a test");
        assert!(within_allowance(&silent, Bytes(128 << 20), "a buffer", less).is_ok());
        let refusal = refused(within_allowance(&silent, Bytes(129 << 20), "the smallest", |_| None));
        assert_eq!(refusal.remedy, "free memory");
    }

    proptest::proptest! {
        #[test]
        fn the_largest_that_fits_is_within_a_tenth_of_the_most(asked in 1_u64.., most in 0_u64..) {
            match largest(1, asked, |value| value <= most) {
                None => proptest::prop_assert!(most == 0 || asked == 1),
                Some(value) => {
                    let limit = most.min(asked - 1);
                    proptest::prop_assert!(value <= limit && value < asked, "{}", value);
                    let next = value.saturating_add(value / 10 + 1);
                    proptest::prop_assert!(next > limit, "{} of {}", value, limit);
                    let digits = value.to_string();
                    proptest::prop_assert!(digits.trim_end_matches('0').len() <= 2, "{}", digits);
                }
            }
        }
    }
}
