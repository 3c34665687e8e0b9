//! Evidence that repeats, before anything is accused.
//!
//! A sum that is wrong is wrong whoever else runs on the machine. A clock that was set, a page that was taken
//! back or a parent that ended in the middle of a look is not the fault of what was looked at, and does not
//! come again at once.

use tenbin_metal::Fault;

use crate::experiment::Seen;

/// How often in a row an observation that the surroundings can bring about must be made before it accuses.
const TIMES: usize = 4;

/// Looks again as long as the specification seems broken: broken is what is broken every time.
///
/// # Errors
/// The first fault of `look`.
pub(crate) fn every_time(mut look: impl FnMut() -> Result<Seen, Fault>) -> Result<Seen, Fault> {
    let mut seen = look()?;
    for _ in 1..TIMES {
        if matches!(seen, Seen::Met(_)) {
            break;
        }
        seen = look()?;
    }
    Ok(seen)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is seen if the first `broken` looks see a broken specification, and how many looks it took.
    fn after(broken: usize) -> (bool, usize) {
        let mut looks = 0;
        let seen = every_time(|| {
            looks += 1;
            Ok(if looks <= broken { Seen::Broken("late".into()) } else { Seen::Met("in time".into()) })
        });
        (matches!(seen.unwrap(), Seen::Broken(_)), looks)
    }

    #[test]
    fn only_what_is_broken_every_time_accuses() {
        assert_eq!(
            [0, 1, TIMES - 1, TIMES, 100].map(after),
            [(false, 1), (false, 2), (false, TIMES), (true, TIMES), (true, TIMES)]
        );
    }
}
