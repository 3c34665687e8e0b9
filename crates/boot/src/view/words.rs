//! Values, names and machines in words.

use std::collections::BTreeMap;

use tenbin_model::order;
use tenbin_model::unit::three_digits;
use tenbin_model::words::{and, counted, plural};

use super::grid::{TOGETHER, paragraph, shown};
use crate::answer::{BootCheck, BootMachine, BootPlace, Counterexample, Effort, Fault, Hex, Planted};
use crate::axiomatic::Model;

/// Numbers below this are shown as such; others are addresses, or bits.
const SMALL: u64 = 1 << 12;

/// An address this far behind a name is still called by it. Further away there may be another symbol, which
/// the run does not name.
const REACH: u64 = 64;

/// The names that a run knows, by address.
#[derive(Default)]
pub(super) struct ValueNames {
    symbols: BTreeMap<u64, String>,
    values: BTreeMap<u64, String>,
}

impl ValueNames {
    /// Those of the places and words of a run.
    pub(super) fn of(example: &Counterexample) -> Self {
        let mut names = Self::default();
        for planted in &example.garbage {
            names.learn(planted.address, &planted.name);
        }
        for step in &example.steps {
            names.learn(step.pc, &step.place);
            if let Some(access) = step.action.access() {
                names.learn(Hex(access.address), access.name);
            }
        }
        for end in &example.ends {
            names.learn(end.pc, &end.place);
        }
        names.values = order::map(example.values.iter().map(|named| (named.value.0, shown(&named.name))));
        names
    }

    /// Takes the beginning of a symbol from a name such as `order+8`.
    fn learn(&mut self, address: Hex, name: &str) {
        let (symbol, distance) = name.rsplit_once('+').unwrap_or((name, "0"));
        let distance = match distance.strip_prefix("0x") {
            Some(digits) => u64::from_str_radix(digits, 16).ok(),
            None => distance.parse().ok(),
        };
        if let Some(start) = distance.and_then(|distance| address.0.checked_sub(distance))
            && !symbol.is_empty()
            && !symbol.starts_with("0x")
        {
            self.symbols.entry(start).or_insert_with(|| shown(symbol));
        }
    }

    /// A value as one reads it: a small number, a distance from a name, or hexadecimal digits.
    pub(super) fn value(&self, Hex(value): Hex, bytes: u32) -> String {
        // What a byte holds is rarely meant as less than nothing, and is small.
        let negative = match bytes {
            2 => u64::from((value as u16).wrapping_neg()),
            4 => u64::from((value as u32).wrapping_neg()),
            _ => value.wrapping_neg(),
        };
        let below = self.symbols.range(..=value).next_back().filter(|(start, _)| value - *start < REACH);
        match (self.values.get(&value), below) {
            _ if value < SMALL => value.to_string(),
            _ if negative < SMALL => format!("-{negative}"),
            (Some(name), _) => name.clone(),
            (_, Some((start, name))) if value == *start => name.clone(),
            (_, Some((start, name))) => format!("{name}+{}", value - start),
            _ => format!("{value:#x}"),
        }
    }

    /// A word and what it holds: `wake_flag = 1`.
    pub(super) fn planted(&self, planted: &Planted) -> String {
        format!("{} = {}", shown(&planted.name), self.value(planted.value, planted.bytes))
    }
}

pub(super) fn hangs(fault: Fault) -> bool {
    matches!(fault, Fault::Dead | Fault::Livelock)
}

/// `3 harts, boot hart 0 and sequential consistency`.
pub(super) fn machine(machine: &BootMachine) -> String {
    let harts = counted(machine.harts as usize, "hart");
    let model = model(machine.memory);
    match machine.boot_hart {
        Some(boot) => format!("{harts}, boot hart {boot} and {model}"),
        None => format!("{harts} and {model}"),
    }
}

/// `31000 states, 1.23 s`.
pub(super) fn cost(effort: &Effort) -> String {
    let states = plural(effort.states as usize, "state");
    format!("{}{TOGETHER}{states}, {}{TOGETHER}s", effort.states, seconds(effort.seconds))
}

/// Seconds; what is less than a hundredth is only said to be so.
pub(super) fn seconds(seconds: f64) -> String {
    if seconds < 0.01 { "<0.01".to_owned() } else { three_digits(seconds) }
}

pub(super) fn model(memory: Model) -> String {
    match memory {
        Model::Sc => "sequential consistency".to_owned(),
        Model::Tso => "total store order".to_owned(),
        Model::Rvwmo => memory.to_string().to_uppercase(),
    }
}

/// A place in the code, and what stands there.
pub(super) fn place(place: &BootPlace) -> String {
    format!("`{}` at {}", shown(&place.instruction), shown(&place.place))
}

/// That the progress of some loops is believed in, and not promised; each of them once.
pub(super) fn retried(checks: &[&BootCheck], width: usize) -> String {
    let mut places: Vec<String> = Vec::new();
    for retry in checks.iter().flat_map(|check| &check.retries) {
        let place = place(retry);
        if !places.contains(&place) {
            places.push(place);
        }
    }
    if places.is_empty() {
        return String::new();
    }
    let summary = format!(
        "Remark: no progress is guaranteed for the loop around {}. It is not a constrained LR/SC loop (at \
         most 16 instructions in a row, without other accesses to memory, fences or jumps back), so its \
         store-conditional may fail for ever; here it is assumed not to.",
        and(&places)
    );
    paragraph(&summary, 0, width)
}

/// A remark: no fault, so its run is not shown.
pub(super) fn remark(what: &str, example: &Counterexample, width: usize) -> String {
    let steps = counted(example.steps.len(), "step");
    let summary = format!("{what} ({}, after {steps}): {}", example.fault.name(), sentence(example));
    paragraph(&summary, 0, width)
}

/// What goes wrong, ended as a sentence.
pub(super) fn sentence(example: &Counterexample) -> String {
    ended(&example.sentence)
}

pub(super) fn ended(text: &str) -> String {
    let text = shown(text.trim());
    if text.is_empty() || text.ends_with(['.', '!', '?']) { text } else { format!("{text}.") }
}

pub(super) fn can(fault: Fault) -> &'static str {
    match fault {
        Fault::Dead => "can hang",
        Fault::Livelock => "may never finish booting",
        Fault::StartedEarly => "can start a hart before it is told",
        Fault::StartedTwice => "can start a hart twice",
        Fault::SharedStack => "can put two harts on one stack",
        Fault::Stale => "can start a hart with a stale stack or argument",
        Fault::Astray => "can go astray",
        Fault::LostStore => "can lose a store",
    }
}
