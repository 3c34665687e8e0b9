//! Answers as text, and runs as pictures.
//!
//! [`boot`] tells what can go wrong in a boot. One machine is told in full: what can happen, what memory must
//! hold for that, and the run step by step. Several are a table first, and then one run for each kind of
//! fault of each file. [`picture`] draws a run.

mod grid;
mod litmus;
mod memory;
mod picture;
mod replay;
mod several;
mod steps;
mod svg;
mod words;

use self::grid::{paragraph, shown};
use self::words::{ValueNames, can, ended, place, remark, retried, sentence};
use crate::answer::{Boot, BootCheck, BootVerdict};

pub use self::litmus::{litmus, undecided};
pub use self::picture::picture;
pub use self::replay::replay;
use tenbin_model::words::{and, capitalised, comma, or};

/// One boot in full, or a table of several with the shortest run to each kind of fault in each file. No line
/// is wider than `width` if that is at least 60 columns.
pub fn boot(boot: &Boot, width: usize) -> String {
    match boot.checks.as_slice() {
        [] => String::new(),
        [check] => alone(check, width),
        several => several::table(several, width) + &several::files(several, width),
    }
}

fn alone(check: &BootCheck, width: usize) -> String {
    let (file, machine) = (shown(&check.file), words::machine(&check.machine));
    let cost = words::cost(&check.effort);
    let summary = match &check.verdict {
        BootVerdict::Refused { why } => format!("With {machine}, {file} was refused: {}", ended(why)),
        BootVerdict::Sound { window_full, partly, held, .. } => {
            let every = "every hart arrives, whatever memory holds at first and however late any hart is";
            let mut summary = format!("With {machine}, {file} is sound: {every} ({cost}).");
            if *window_full {
                summary.push_str(&format!(
                    " Some hart could have begun more instructions than the window holds, so this holds up \
                     to a window of {} (--window).",
                    check.machine.window
                ));
            }
            if !held.is_empty() {
                let held: Vec<String> = held.iter().map(place).collect();
                summary.push_str(&format!(" Nothing was begun early after {}, though it may be.", or(&held)));
            }
            if *partly {
                summary.push_str(
                    " The firmware computes with garbage: this holds for the garbage that was tried, which may not be all that matters.",
                );
            }
            summary
        }
        BootVerdict::Faulty { faults, whole, .. } => {
            let can: Vec<String> = faults.iter().map(|it| can(it.fault).to_owned()).collect();
            let more = if *whole { "" } else { " A limit was reached: there may be more." };
            format!("With {machine}, {file} {} ({cost}).{more}", and(&can))
        }
    };
    let mut text = paragraph(&summary, 0, width);
    // How many harts there are, and which one boots, is said already.
    let is_known = |name: &str| matches!(name, "harts" | "boot_hart");
    let set = check.machine.set.iter().filter(|it| !is_known(&it.name));
    let given = check.machine.controls.iter().map(|it| format!("{} = {}", shown(&it.name), it.value));
    let set: Vec<String> = set.map(|it| ValueNames::default().planted(it)).chain(given).collect();
    if !set.is_empty() {
        text.push_str(&paragraph(&format!("Set before the first instruction: {}.", comma(&set)), 0, width));
    }
    for example in check.verdict.faults() {
        let name = capitalised(example.fault.name());
        text.push('\n');
        text.push_str(&paragraph(&format!("{name}: {}", sentence(example)), 0, width));
        text.push_str(&steps::run(example, width));
    }
    let beside: String = check.verdict.remarks().iter().map(|it| remark("Remark", it, width)).collect();
    let beside = beside + &retried(&[check], width);
    if beside.is_empty() { text } else { format!("{text}\n{beside}") }
}

/// Why the one machine has no verdict; of several, how many have none.
pub fn unexamined(answer: &Boot) -> Option<String> {
    let refused = answer.checks.iter().filter_map(|check| match &check.verdict {
        BootVerdict::Refused { why } => Some((check, why)),
        _ => None,
    });
    match (refused.collect::<Vec<_>>().as_slice(), answer.checks.len()) {
        ([], _) => None,
        ([(check, why)], 1) => Some(format!("{}: refused: {why}", check.file)),
        (refused, all) => Some(format!("{} of {all} machines were refused", refused.len())),
    }
}

#[cfg(test)]
mod specimen;
#[cfg(test)]
mod tests;
