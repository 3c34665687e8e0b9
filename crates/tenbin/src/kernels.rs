//! `tenbin kernels [--json]`, which chores ask. It is no verb of a user's: neither help nor completions nor a
//! tip name it.

use std::ffi::OsString;

use serde_json::json as value;
use tenbin_metal::kernels;

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
    let additions = kernels::additions().iter().chain([kernels::lost_update()]);
    let mut rows: Vec<serde_json::Value> = additions
        .map(|addition| {
            value!({
                "symbol": addition.symbol, "name": addition.name,
                "instructions": addition.instruction, "available": addition.is_supported(),
            })
        })
        .collect();
    rows.extend(kernels::LOOPS.iter().map(|counted| {
        value!({
            "symbol": counted.symbol, "name": counted.name,
            "instructions": counted.instruction, "available": true,
        })
    }));
    if as_json {
        return Ok(Answer::text(json(&rows)?));
    }
    let lines = rows.iter().map(|row| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{:40}{}\n", text("symbol"), text("name"))
    });
    Ok(Answer::text(lines.collect()))
}
