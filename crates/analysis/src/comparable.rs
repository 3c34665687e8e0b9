//! May figures of two machines be set side by side?
//!
//! Every field of a machine is a row of one table: its name, what a difference in it means, and
//! how it is read. A difference is named with both values; a field that one side could not observe
//! is named as unknown and never taken for equal.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenbin_document::words::{and, comma, semicolon};
use tenbin_model::machine::{Cache, CpuPlace, Machine, Observed, cpu_ranges};
use tenbin_model::unit::three_digits;
use tenbin_model::{Bytes, Cpu, Order, Picoseconds, order};

/// What a difference means for a measurement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    /// It changes what is measured: the processor, the kernel, a setting.
    Changes,
    /// It may change what is measured: the load, the memory that is free.
    MayChange,
    /// One side could not observe the field, so that nobody knows whether it differs.
    Unknown,
}

/// One field in which two machines differ, or may.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Difference {
    /// The field's name in [`Machine`], as JSON has it.
    pub key: String,
    /// The field's name in words.
    pub name: String,
    /// What the difference means.
    pub grade: Grade,
    /// Its value on the first machine, or why there is none.
    pub left: String,
    /// Its value on the second machine, or why there is none.
    pub right: String,
}

/// Whether figures of two machines may be compared.
// From the most alike to the least, in which order they compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Nothing that was observed differs.
    Alike,
    /// Differences there are, but only such as may change what is measured.
    Comparable,
    /// No known difference changes what is measured, but a field that would is unknown on one side.
    Undecided,
    /// At least one difference changes what is measured: compare the machines, not the variants.
    Different,
}

/// The answer to [`compare`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Comparability {
    /// The answer in a word.
    pub outcome: Outcome,
    /// The answer in words.
    pub sentence: String,
    /// Every difference, those that change what is measured first.
    pub differences: Vec<Difference>,
    /// Names of the fields that neither side could observe. They do not decide the outcome.
    pub unknown_on_both: Vec<String>,
}

/// Words under names, such as what the kernel says of each flaw.
type Named = Vec<(String, String)>;

/// Reads one field of a machine; the reason where it could not be observed.
enum FieldReader {
    /// Equal words are alike.
    Words(fn(&Machine) -> Observed<String>),
    /// Numbers are alike within the first number times the larger of them, or within the second
    /// number in their own unit. Last, how they are shown.
    Amount(fn(&Machine) -> Observed<f64>, f64, f64, fn(f64) -> String),
    /// Named words, each compared on its own.
    Each(fn(&Machine) -> Observed<Named>),
}

use FieldReader::{Amount, Each, Words};

use Grade::{Changes, MayChange as May};

/// A row of the table: key in JSON, name, what a known difference means, how it is read.
type Field = (&'static str, &'static str, Grade, FieldReader);

/// Every field of [`Machine`]. A test holds the table against the JSON of a machine, so that a new
/// field cannot be forgotten.
const FIELDS: &[Field] = &[
    ("architecture", "instruction set", Changes, Words(|m| known(&m.architecture))),
    ("cpu_model", "CPU model", Changes, Words(|m| seen(&m.cpu_model))),
    ("microcode", "microcode", Changes, Words(|m| seen(&m.microcode))),
    ("virtualisation", "virtualisation", Changes, Words(|m| known(&m.virtualisation))),
    ("wsl", "Windows Subsystem for Linux", Changes, Words(|m| seen(&m.wsl))),
    ("online", "CPUs online", Changes, Words(|m| map(&m.online, |cpus| cpu_ranges(cpus)))),
    ("cpus", "CPUs usable", Changes, Words(usable)),
    ("cpus", "packages", Changes, Words(|m| grouped(m, |place| seen(&place.package)))),
    ("cpus", "cores", Changes, Words(|m| grouped(m, siblings))),
    ("cpus", "kinds of core", Changes, Words(|m| grouped(m, |place| seen(&place.kind)))),
    ("cpus", "caches", Changes, Words(|m| grouped(m, caches))),
    ("nodes", "memory nodes", Changes, Each(nodes)),
    ("kernel", "kernel", Changes, Words(|m| seen(&m.kernel))),
    ("command_line", "kernel command line", May, Words(|m| seen(&m.command_line))),
    ("mitigations", "mitigations", Changes, Each(|m| m.mitigations.clone())),
    ("clock_source", "clock source", Changes, Words(|m| seen(&m.clock_source))),
    ("clock", "clock", Changes, Words(|m| map(&m.clock, |clock| clock.name.clone()))),
    ("clock", "clock cost", May, Amount(|m| map(&m.clock, |c| c.cost_ps), 0.5, 0.0, picoseconds)),
    ("clock", "clock resolution", May, Amount(|m| map(&m.clock, |c| c.resolution_ps), 0.5, 0.0, picoseconds)),
    ("governor", "governor", Changes, Words(|m| seen(&m.governor))),
    ("turbo", "turbo", Changes, Words(|m| seen(&m.turbo))),
    ("smt", "simultaneous multithreading", Changes, Words(|m| map(&m.smt, |control| threads(control)))),
    ("transparent_huge_pages", "transparent huge pages", Changes, Words(|m| seen(&m.transparent_huge_pages))),
    ("huge_page_sizes", "huge page sizes", May, Words(|m| map(&m.huge_page_sizes, |sizes| listed(sizes)))),
    ("page_size", "page size", Changes, Words(|m| known(&m.page_size))),
    ("numa_balancing", "NUMA balancing", Changes, Words(|m| seen(&m.numa_balancing))),
    ("address_randomisation", "address randomisation", May, Words(|m| seen(&m.address_randomisation))),
    ("cpu_quota", "CPU quota", Changes, Words(|m| limit(&m.cpu_quota))),
    ("memory", "memory", May, Amount(|m| amount(&m.memory), 0.02, 0.0, bytes)),
    ("memory_limit", "memory limit", May, Words(|m| limit(&m.memory_limit))),
    ("memory_available", "memory available", May, Amount(|m| amount(&m.memory_available), 0.25, 0.0, bytes)),
    ("load", "load", May, Amount(|m| m.load.clone(), 0.25, 0.5, three_digits)),
    ("counters", "hardware counters", May, Words(|m| seen(&m.counters))),
];

/// Whether figures of `left` and `right` may be set side by side, naming each difference.
pub fn compare(left: &Machine, right: &Machine) -> Comparability {
    let mut differences = Vec::new();
    let mut unknown_on_both = Vec::new();
    let mut undecided = false;
    for (key, name, known_grade, reader) in FIELDS {
        for pair in pairs(reader, left, right) {
            let name = named(name, &pair);
            let grade = match (&pair.left, &pair.right) {
                (Observed::NotObservable(_), Observed::NotObservable(_)) => {
                    unknown_on_both.push(name);
                    continue;
                }
                (Observed::Known(_), Observed::Known(_)) if pair.alike => continue,
                (Observed::Known(_), Observed::Known(_)) => *known_grade,
                _ => {
                    undecided |= *known_grade == Changes;
                    Grade::Unknown
                }
            };
            let (left, right) = (pair.left.to_string(), pair.right.to_string());
            differences.push(Difference { key: (*key).to_owned(), name, grade, left, right });
        }
    }
    // Stable, so that the table's order holds within a grade.
    differences.order_by_key(|difference| difference.grade);
    let outcome = match differences.first().map(|difference| difference.grade) {
        Some(Grade::Changes) => Outcome::Different,
        _ if undecided => Outcome::Undecided,
        None => Outcome::Alike,
        Some(_) => Outcome::Comparable,
    };
    let sentence = sentence(outcome, &differences, &unknown_on_both, left, right);
    Comparability { outcome, sentence, differences, unknown_on_both }
}

/// Every field of `machine` by its name in words, with its value or why there is none.
pub fn fields(machine: &Machine) -> Vec<(String, Observed<String>)> {
    let values = |(_, name, _, reader): &Field| {
        let pairs = pairs(reader, machine, machine).into_iter();
        pairs.map(|pair| (named(name, &pair), pair.left)).collect::<Vec<_>>()
    };
    FIELDS.iter().flat_map(values).collect()
}

/// The name of a field in words, and which of several under it is meant.
fn named(field: &str, pair: &FieldPair) -> String {
    pair.label.as_ref().map_or_else(|| field.to_owned(), |label| format!("{field} ({label})"))
}

/// A field on both sides.
struct FieldPair {
    /// Which of several under one field.
    label: Option<String>,
    left: Observed<String>,
    right: Observed<String>,
    alike: bool,
}

fn pairs(reader: &FieldReader, left: &Machine, right: &Machine) -> Vec<FieldPair> {
    match reader {
        Words(read) => {
            let (left, right) = (read(left), read(right));
            vec![FieldPair { label: None, alike: left == right, left, right }]
        }
        Amount(read, ratio, floor, show) => {
            let (left, right) = (read(left), read(right));
            let alike = match (left.known(), right.known()) {
                (Some(left), Some(right)) => {
                    (left - right).abs() <= (ratio * left.abs().max(right.abs())).max(*floor)
                }
                _ => false,
            };
            let shown = |value: &Observed<f64>| map(value, |number| show(*number));
            vec![FieldPair { label: None, left: shown(&left), right: shown(&right), alike }]
        }
        Each(read) => each(&read(left), &read(right)),
    }
}

/// Every name that either side has. A name that one side lacks is unknown there: an older kernel
/// does not list the flaws that were found after it.
fn each(left: &Observed<Named>, right: &Observed<Named>) -> Vec<FieldPair> {
    let (Observed::Known(ours), Observed::Known(theirs)) = (left, right) else {
        let count = |side: &Observed<Vec<_>>| map(side, |entries| format!("{} entries", entries.len()));
        return vec![FieldPair { label: None, left: count(left), right: count(right), alike: false }];
    };
    let mut names: Vec<&String> = ours.iter().chain(theirs).map(|(name, _)| name).collect();
    names.order();
    names.dedup();
    let find = |entries: &[(String, String)], name: &String| {
        let entry = entries.iter().find(|(known, _)| known == name).map(|(_, words)| words.clone());
        entry.map_or_else(|| Observed::NotObservable("not listed".into()), Observed::Known)
    };
    let pair = |name: &String| {
        let (left, right) = (find(ours, name), find(theirs, name));
        FieldPair { label: Some(name.clone()), alike: left == right, left, right }
    };
    names.into_iter().map(pair).collect()
}

fn sentence(
    outcome: Outcome,
    differences: &[Difference],
    unknown_on_both: &[String],
    left: &Machine,
    right: &Machine,
) -> String {
    let named = |grade| {
        let of_grade = differences.iter().filter(|difference| difference.grade == grade);
        Some(and(of_grade.map(|difference| &difference.name))).filter(|names| !names.is_empty())
    };
    let mut text = match outcome {
        Outcome::Alike => "Nothing that was observed differs between the machines.".to_owned(),
        Outcome::Comparable => {
            "No difference between the machines is known to change what is measured.".to_owned()
        }
        Outcome::Undecided => "Whether the machines may be compared is undecided.".to_owned(),
        Outcome::Different => format!(
            "The machines are not comparable: what is measured changes with {}.",
            named(Grade::Changes).unwrap_or_default()
        ),
    };
    if let Some(names) = named(Grade::MayChange) {
        text.push_str(&format!(" It may also change with {names}."));
    }
    if let Some(names) = named(Grade::Unknown) {
        text.push_str(&format!(" Unknown on one side: {names}."));
    }
    if !unknown_on_both.is_empty() {
        text.push_str(&format!(" Unknown on both: {}.", and(unknown_on_both)));
    }
    let on = match [left, right].map(|machine| machine.virtualisation.timing_can_be_trusted()) {
        [true, true] => return text,
        [false, true] => "the first: its processor is emulated",
        [true, false] => "the second: its processor is emulated",
        [false, false] => "either: both processors are emulated",
    };
    text + " Lengths of time mean nothing on " + on + "."
}

fn known<T: ToString>(value: &T) -> Observed<String> {
    Observed::Known(value.to_string())
}

fn seen<T: ToString>(value: &Observed<T>) -> Observed<String> {
    map(value, T::to_string)
}

fn map<T, U>(value: &Observed<T>, f: impl FnOnce(&T) -> U) -> Observed<U> {
    match value {
        Observed::Known(value) => Observed::Known(f(value)),
        Observed::NotObservable(why) => Observed::NotObservable(why.clone()),
    }
}

fn limit<T: ToString>(limit: &Observed<Option<T>>) -> Observed<String> {
    map(limit, |limit| limit.as_ref().map_or_else(|| "none".to_owned(), T::to_string))
}

fn amount(bytes: &Observed<Bytes>) -> Observed<f64> {
    map(bytes, |bytes| bytes.0 as f64)
}

fn siblings(place: &CpuPlace) -> Observed<String> {
    map(&place.siblings, |cpus| cpu_ranges(cpus))
}

fn listed<T: std::fmt::Display>(values: &[T]) -> String {
    if values.is_empty() {
        return "none".to_owned();
    }
    comma(values)
}

/// The kernel's words for its control of threads of a core (`cpuhp_smt_control`, `kernel/cpu.c`), as words.
fn threads(control: &str) -> String {
    match control {
        "forceoff" => "off until the next start".into(),
        "notsupported" => "not supported".into(),
        "notimplemented" => "not implemented".into(),
        other => other.into(),
    }
}

fn picoseconds(value: f64) -> String {
    Picoseconds(value.round() as u64).to_string()
}

fn bytes(value: f64) -> String {
    Bytes(value as u64).to_string()
}

/// No process runs on no CPU: an empty list means that nobody looked.
fn usable(machine: &Machine) -> Observed<String> {
    let cpus: Vec<Cpu> = machine.cpus.iter().map(|place| place.cpu).collect();
    if cpus.is_empty() {
        return Observed::NotObservable("no CPU is listed".into());
    }
    Observed::Known(cpu_ranges(&cpus))
}

/// The usable CPUs under what is said of them: `0 on CPUs 0-3; 1 on CPUs 4-7`. Unknown as a whole
/// where it is unknown of one CPU.
fn grouped(machine: &Machine, what: fn(&CpuPlace) -> Observed<String>) -> Observed<String> {
    if let Observed::NotObservable(why) = usable(machine) {
        return Observed::NotObservable(why);
    }
    let mut places = Vec::new();
    for place in &machine.cpus {
        match what(place) {
            Observed::Known(words) => places.push((words, place.cpu)),
            unknown => return unknown,
        }
    }
    let group = |(words, cpus): (String, Vec<Cpu>)| format!("{words} on CPUs {}", cpu_ranges(&cpus));
    Observed::Known(semicolon(order::grouped(places).into_iter().map(group)))
}

/// A size that the firmware leaves out is part of the words: two boards that both lack it are alike.
/// The witness is not: it is no part of the machine.
fn caches(place: &CpuPlace) -> Observed<String> {
    let cache = |cache: &Cache| {
        let Cache { level, kind, size, line, shared_by, witness: _ } = cache;
        let amount =
            |value: &Observed<Bytes>| value.known().map_or_else(|| "unknown".to_owned(), Bytes::to_string);
        let (size, line) = (amount(size), amount(line));
        let sharers = if shared_by.is_empty() { "unknown CPUs".to_owned() } else { cpu_ranges(shared_by) };
        format!("L{level} {kind} {size} in lines of {line} for {sharers}")
    };
    map(&place.caches, |caches| comma(caches.iter().map(cache)))
}

fn nodes(machine: &Machine) -> Observed<Named> {
    map(&machine.nodes, |nodes| {
        let words = nodes.iter().map(|node| {
            let words = format!("CPUs {}, distances {}", cpu_ranges(&node.cpus), listed(&node.distances));
            (node.node.to_string(), words)
        });
        words.collect()
    })
}

#[cfg(test)]
mod tests;
