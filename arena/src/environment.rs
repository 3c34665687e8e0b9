//! What a benchmark is told by its environment, where the peer's harness takes the command line for itself.

use std::env;

/// The work with the number that `ARENA_WORK` names, prepared: preparing takes time and is no part of it.
///
/// # Errors
/// The variable is missing, no number, or no work's; or the work cannot be prepared here.
pub fn work() -> Result<u32, String> {
    let index = number("ARENA_WORK")?;
    let index = u32::try_from(index).map_err(|error| format!("ARENA_WORK is {index}: {error}"))?;
    crate::attempt(index, 0).map(|()| index)
}

/// The whole number in the variable `name`.
///
/// # Errors
/// The variable is missing or no whole number.
pub fn number(name: &str) -> Result<u64, String> {
    let text = env::var(name).map_err(|error| format!("cannot read {name}: {error}; set it to a number"))?;
    text.parse().map_err(|error| format!("{name} is {text}: {error}; set it to a number"))
}
