//! `tenbin kernels [--json]`, which chores ask. It is no verb of a user's: neither help nor completions nor a
//! tip name it.

use std::ffi::OsString;

use tenbin_metal::kernels;
use tenbin_model::Kernel;

use crate::output::{Answer, Trouble};
use crate::verbs::json;

/// Whether the words after `tenbin` ask for it, and then whether in JSON.
pub fn asked(words: &[OsString]) -> Option<bool> {
    match words {
        [command] if command == "kernels" => Some(false),
        [command, json] if command == "kernels" && json == "--json" => Some(true),
        _ => None,
    }
}

/// The kernels of this binary: symbol, name, what the machine code must contain.
pub fn kernels(as_json: bool) -> Result<Answer, Trouble> {
    let row = |symbol: &str, name: &str, instructions: &[&str], available| Kernel {
        symbol: symbol.into(),
        name: name.into(),
        instructions: instructions.iter().map(|&it| it.into()).collect(),
        available,
    };
    let additions = kernels::additions().iter().chain([kernels::lost_update()]);
    let additions = additions.map(|it| row(it.symbol, it.name, it.instruction, it.is_supported()));
    let loops = kernels::LOOPS.iter().map(|it| row(it.symbol, it.name, it.instruction, true));
    let rows: Vec<Kernel> = additions.chain(loops).collect();
    if as_json {
        return Ok(Answer::text(json(&rows)?));
    }
    Ok(Answer::text(rows.iter().map(|row| format!("{:40}{}\n", row.symbol, row.name)).collect()))
}
