//! In which functions of the kernel the published way spends its time, by samples.

use tenbin_metal::sampling::{self, Sampled};
use tenbin_metal::symbols::Symbols;
use tenbin_metal::{Clock, Fault};
use tenbin_model::Picoseconds;

use super::super::device::{NumberSource, room};
use super::super::kernel::reading;
use crate::experiments::by_function;

/// How long it reads: a sample each quarter of a millisecond at the least.
const TIME: Picoseconds = Picoseconds::from_millis(400);

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Shares {
    /// Functions with their samples, the most first.
    pub(super) functions: Vec<(String, u64)>,
    /// All samples, those in user mode too.
    pub(super) all: u64,
    /// Those that were dropped for want of room.
    pub(super) lost: u64,
    pub(super) event: &'static str,
}

/// Reads one number again and again, and samples where this thread is meanwhile; a reason where that cannot
/// be.
pub(super) fn look(
    source: &dyn NumberSource,
    place: u64,
    clock: Clock,
) -> Result<Result<Shares, String>, Fault> {
    let mut buffer = vec![0_u8; room(place)];
    let start = clock.now();
    let mut reads = || {
        while clock.between(start, clock.now()) < TIME {
            source.number(place, &mut buffer)?;
        }
        Ok(())
    };
    let (read, sampled) = match sampling::around(&mut reads) {
        Ok(sampled) => sampled,
        Err(why) => return Ok(Err(why.to_string())),
    };
    read.map_err(|error| reading(place, error))?;
    Ok(match Symbols::of_the_kernel() {
        Ok(symbols) => Ok(of(&sampled, &symbols)),
        Err(why) => Err(why.to_string()),
    })
}

pub(super) fn of(sampled: &Sampled, symbols: &Symbols) -> Shares {
    let functions = by_function(sampled, symbols).into_iter().map(|(name, count)| (name.to_owned(), count));
    let all = sampled.in_kernel + sampled.elsewhere;
    Shares { functions: functions.collect(), all, lost: sampled.lost, event: sampled.event }
}

/// Whether a function clears memory: the kernel's `memset` under each of its names, and nothing that is like
/// it.
pub(super) fn clears(function: &str) -> bool {
    let bare = function.trim_start_matches('_');
    // RISC-V and arm64 name theirs for position-independent code: `__pi_memset`.
    let bare = bare.strip_prefix("pi_").unwrap_or(bare).trim_start_matches('_');
    ["memset", "memset_erms", "memset_orig"].contains(&bare)
}

/// Whether a function is one of the driver's that multiply.
pub(super) fn multiplies(function: &str) -> bool {
    function.strip_suffix(" [fibdrv]").is_some_and(|name| name.contains("multiply"))
}
