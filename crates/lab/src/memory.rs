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

/// Whether `wanted` bytes for `what` may be taken. `setting` names the parameter that asks for less, if there is one.
///
/// # Errors
/// A refusal with both figures where it is more than the allowance.
pub fn within_allowance(
    machine: &Machine,
    wanted: Bytes,
    what: &str,
    setting: Option<&str>,
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
        reached: format!("{what} takes {wanted} of memory, and {allowance} may be taken: {source}"),
        needs: format!("at least {} free", Bytes(wanted.0.saturating_mul(2))),
        remedy: match setting {
            Some(key) => format!("ask for {} bytes at most (--set {key}=…), or free memory", allowance.0),
            None => "free memory".into(),
        },
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_than_half_of_what_is_free_is_refused_with_both_figures() {
        let machine =
            Machine { memory_available: Observed::Known(Bytes(1 << 30)), ..Machine::unobserved("a test") };
        assert!(within_allowance(&machine, Bytes(512 << 20), "a buffer", Some("buffer")).is_ok());
        match within_allowance(&machine, Bytes((512 << 20) + 1), "a buffer", Some("buffer")) {
            Err(Unfit::Refused(refusal)) => {
                assert!(refusal.reached.contains("512 MiB") && refusal.reached.contains("1 GiB"));
                assert!(refusal.remedy.contains("--set buffer=…"), "{refusal:?}");
                assert!(refusal.remedy.contains("536870912 bytes at most"), "{}", refusal.remedy);
            }
            other => panic!("{other:?}"),
        }
        let silent = Machine::unobserved("a test");
        assert!(within_allowance(&silent, Bytes(128 << 20), "a buffer", Some("buffer")).is_ok());
        match within_allowance(&silent, Bytes(129 << 20), "the smallest", None) {
            Err(Unfit::Refused(refusal)) => assert_eq!(refusal.remedy, "free memory"),
            other => panic!("{other:?}"),
        }
    }
}
