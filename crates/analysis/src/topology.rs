//! The shape of a machine in sentences: CPUs, caches, memory nodes, and how near CPUs are.
//!
//! Each sentence says whose word it is, and what is not known is said as plainly as what is.

use std::collections::{BTreeMap, BTreeSet};

use tenbin_document::words::{self, and};
use tenbin_model::machine::{
    Cache, CoreKind, CpuPlace, Machine, Node, Observed, Virtualisation, Witness, cpu_ranges, cpus_in_words,
};
use tenbin_model::topology::{Shared, data_caches, pairs};
use tenbin_model::{Bytes, Cpu, order};

/// What a user wants to read about the shape of `machine`, in three to six sentences: its CPUs, the
/// caches that hold data by the word of each witness, the memory nodes, and what pairs of CPUs share.
pub fn sentences(machine: &Machine) -> Vec<String> {
    if machine.cpus.is_empty() {
        return vec!["No CPU is known.".to_owned()];
    }
    let mut sentences = vec![shape(machine)];
    sentences.extend(caches(machine));
    sentences.push(nodes(&machine.nodes));
    sentences.push(nearness(machine));
    sentences
}

/// How many CPUs, on how many cores, in how many packages, and of which kinds.
fn shape(machine: &Machine) -> String {
    let cpus: Vec<Cpu> = machine.cpus.iter().map(|place| place.cpu).collect();
    let (count, list) = (cpus.len(), cpu_ranges(&cpus));
    let online = machine.online.known().map_or(count, Vec::len);
    let start = match (count, online > count) {
        (_, true) => format!("This process may use {count} of {online} CPUs, {list}"),
        (1, false) => format!("There is one CPU, {list}"),
        (_, false) => format!("There are {count} CPUs, {list}"),
    };
    let cores = distinct(machine, |place| place.siblings.known());
    let own = |place: &CpuPlace| place.siblings.known().is_some_and(|cpus| *cpus == [place.cpu]);
    let on = match cores {
        Some(_) if count == 1 && own(&machine.cpus[0]) => Some("on a core of its own".to_owned()),
        Some(_) if machine.cpus.iter().all(own) => Some("each on a core of its own".to_owned()),
        Some(cores) => Some(format!("on {}", counted(cores, "core"))),
        None => None,
    };
    let packages = distinct(machine, |place| place.package.known());
    let place = match (on, packages.map(|packages| counted(packages, "package"))) {
        (Some(on), Some(packages)) => format!("{on} in {packages}"),
        (Some(on), None) => format!("{on} in an unknown number of packages"),
        (None, Some(packages)) => format!("on an unknown number of cores in {packages}"),
        (None, None) => "on an unknown number of cores and packages".to_owned(),
    };
    format!("{start}, {place}{}.", kinds(machine))
}

/// The number of different values; nothing where one is unknown.
fn distinct<'a, T: Ord>(machine: &'a Machine, value: impl Fn(&'a CpuPlace) -> Option<T>) -> Option<usize> {
    let values = order::set(machine.cpus.iter().map(value));
    (!values.contains(&None)).then_some(values.len())
}

fn kinds(machine: &Machine) -> String {
    let kind = |place: &CpuPlace| place.kind.known().copied();
    let of = |wanted: CoreKind| -> Vec<Cpu> {
        let members = machine.cpus.iter().filter(|place| kind(place) == Some(wanted));
        members.map(|place| place.cpu).collect()
    };
    if machine.cpus.iter().any(|place| kind(place).is_none()) {
        return "; whether the cores are alike is unknown".to_owned();
    }
    let named = [
        (of(CoreKind::Performance), "a performance core", "performance cores"),
        (of(CoreKind::Efficiency), "an efficiency core", "efficiency cores"),
    ];
    let clauses = named.iter().filter(|(cpus, ..)| !cpus.is_empty()).map(|(cpus, one, several)| {
        let on = if cpus.len() == 1 { format!("is on {one}") } else { format!("are on {several}") };
        format!("{} {on}", cpus_in_words(cpus))
    });
    match and(clauses) {
        words if !words.is_empty() => format!("; {words}"),
        _ if machine.cpus.len() > 1 => "; all cores are alike".to_owned(),
        _ => String::new(),
    }
}

/// A cache that is alike on several CPUs.
struct Alike<'a> {
    size: Option<Bytes>,
    line: Option<Bytes>,
    /// Each CPU that has it, with the list of those that share it there.
    members: Vec<(&'a CpuPlace, &'a [Cpu])>,
}

/// Caches for data by level, and on each level by what they are like.
type Levels<'a> = BTreeMap<(u8, bool), Vec<Alike<'a>>>;

/// A sentence for each witness, and one for the CPUs of which nothing is known.
fn caches(machine: &Machine) -> Vec<String> {
    let mut witnesses: BTreeMap<Witness, Levels> = BTreeMap::new();
    for place in &machine.cpus {
        for cache in data_caches(machine, place.cpu) {
            let levels = witnesses.entry(cache.witness).or_default();
            join(levels.entry((cache.level, cache.kind == "Data")).or_default(), place, cache);
        }
    }
    let hedge = match machine.virtualisation {
        Virtualisation::None => "",
        Virtualisation::Hypervisor(_) => "; this is the hypervisor's word, not the hardware's",
        Virtualisation::Emulated(_) => "; this is the emulator's word, and no hardware has them",
    };
    let sentence = |(witness, levels): (&Witness, &Levels)| {
        let shown: Vec<String> =
            levels.iter().map(|(level, caches)| level_in_words(machine, *level, caches)).collect();
        let lines = lines(levels);
        // The words of one level may hold "and" themselves, hence the comma before the last.
        let witness = words::capitalised(&witness.to_string());
        format!("{witness} shows {}; {lines}{hedge}.", words::clauses(shown))
    };
    let mut sentences: Vec<String> = witnesses.iter().map(sentence).collect();
    let is_silent = |place: &&CpuPlace| data_caches(machine, place.cpu).is_empty();
    if let Some(first) = machine.cpus.iter().find(is_silent) {
        let silent: Vec<Cpu> = machine.cpus.iter().filter(is_silent).map(|place| place.cpu).collect();
        let is_every = silent.len() == machine.cpus.len();
        let whose = if is_every { String::new() } else { format!(" of {}", cpus_in_words(&silent)) };
        let why = match &first.caches {
            Observed::NotObservable(why) => format!(" ({why})"),
            Observed::Known(_) => String::new(),
        };
        sentences.push(format!("No data cache{whose} is known{why}."));
    }
    sentences
}

fn join<'a>(alikes: &mut Vec<Alike<'a>>, place: &'a CpuPlace, cache: &'a Cache) {
    let (size, line) = (cache.size.known().copied(), cache.line.known().copied());
    let member = (place, cache.shared_by.as_slice());
    match alikes.iter_mut().find(|alike| (alike.size, alike.line) == (size, line)) {
        Some(alike) => alike.members.push(member),
        None => alikes.push(Alike { size, line, members: vec![member] }),
    }
}

/// `an L2 of 512 KiB for each core`, or several sizes, each with those who have it.
fn level_in_words(machine: &Machine, (level, data): (u8, bool), alikes: &[Alike]) -> String {
    let words = alikes.iter().map(|alike| {
        let size = alike.size.map_or_else(|| "unknown size".to_owned(), |size| size.to_string());
        format!("of {size} {}", sharing(machine, alike))
    });
    let kind = if data { " for data" } else { "" };
    format!("an L{level}{kind} {}", and(words))
}

/// Lists of CPUs longer than this many are counted instead.
const LISTED: usize = 4;

fn sharing(machine: &Machine, alike: &Alike) -> String {
    let cpus: Vec<Cpu> = alike.members.iter().map(|(place, _)| place.cpu).collect();
    let everybody = cpus.len() == machine.cpus.len();
    let whose = if everybody { String::new() } else { format!(" of {}", cpus_in_words(&cpus)) };
    let all = |test: &dyn Fn(&CpuPlace, &[Cpu]) -> bool| {
        alike.members.iter().all(|(place, list)| test(place, list))
    };
    if !all(&|_, list| !list.is_empty()) {
        let on = if everybody { String::new() } else { format!(" on {}", cpus_in_words(&cpus)) };
        return format!("with unknown sharing{on}");
    }
    if machine.cpus.len() == 1 && all(&|place, list| *list == [place.cpu]) {
        return format!("for {}", machine.cpus[0].cpu);
    }
    if all(&|place, list| place.siblings.known().is_some_and(|siblings| siblings == list)) {
        return format!("for each core{whose}");
    }
    if all(&|place, list| *list == [place.cpu]) {
        return if everybody { "for each CPU".to_owned() } else { format!("for each{whose}") };
    }
    let groups: BTreeSet<&[Cpu]> = order::set(alike.members.iter().map(|&(_, list)| list));
    let sizes: BTreeSet<usize> = order::set(groups.iter().map(|list| list.len()));
    match (groups.len(), sizes.first()) {
        (1, Some(&size)) if everybody && size == machine.cpus.len() => "for all CPUs together".to_owned(),
        (count, Some(&size)) if count > LISTED && sizes.len() == 1 => {
            format!("for each of {count} groups of {size} CPUs")
        }
        _ => and(groups.into_iter().map(|list| format!("for {}", cpus_in_words(list)))),
    }
}

/// `all lines have 64 B`, or which levels have which.
fn lines(levels: &Levels) -> String {
    let groups = order::grouped(levels.iter().map(|((level, _), alikes)| {
        (order::set(alikes.iter().map(|alike| alike.line)), format!("L{level}"))
    }));
    let length = |line: &Option<Bytes>| line.map_or_else(|| "an unknown length".into(), |it| it.to_string());
    let words = |lines: &BTreeSet<Option<Bytes>>| words::or(lines.iter().map(length));
    match groups.as_slice() {
        [(lines, _)] => format!("all lines have {}", words(lines)),
        _ => {
            let clauses = groups.iter().map(|(lines, names)| format!("{} in {}", words(lines), and(names)));
            format!("lines have {}", and(clauses))
        }
    }
}

/// The memory nodes and their distances, by the firmware's word.
fn nodes(nodes: &Observed<Vec<Node>>) -> String {
    let nodes = match nodes {
        Observed::Known(nodes) => nodes,
        Observed::NotObservable(why) => return format!("Memory nodes are not observable ({why})."),
    };
    match nodes.as_slice() {
        [] => "The firmware lists no memory node.".to_owned(),
        [_] => "The firmware has one memory node for all.".to_owned(),
        several => {
            let named = several.iter().map(|node| match node.cpus.as_slice() {
                [] => format!("{} without CPUs", node.node),
                cpus => format!("{} with {}", node.node, cpus_in_words(cpus)),
            });
            let named = and(named);
            format!("The firmware has {} memory nodes, {named}; {}.", several.len(), distances(several))
        }
    }
}

/// Nodes of which every pair is named; with more, the range has to do.
const NAMED: usize = 4;

fn distances(nodes: &[Node]) -> String {
    let count = nodes.len();
    let distance = |from: usize, to: usize| nodes[from].distances.get(to).copied();
    let all = |from: usize| (0..count).map(move |to| (from, to));
    let (home, away): (Vec<_>, Vec<_>) = (0..count).flat_map(all).partition(|(from, to)| from == to);
    let values = |pairs: &[(usize, usize)]| -> Option<BTreeSet<u32>> {
        pairs.iter().map(|&(from, to)| distance(from, to)).collect()
    };
    if nodes.iter().all(|node| node.distances.is_empty()) {
        return "it gives no distances".to_owned();
    }
    let (Some(here), Some(there)) = (values(&home), values(&away)) else {
        return "their distances are incomplete".to_owned();
    };
    let range = |set: &BTreeSet<u32>| match (set.first(), set.last()) {
        (Some(first), Some(last)) if first != last => format!("{first} to {last}"),
        (Some(first), _) => first.to_string(),
        _ => "unknown".to_owned(),
    };
    let other = if count == 2 { "to the other" } else { "to every other" };
    let symmetric = away.iter().all(|&(from, to)| distance(from, to) == distance(to, from));
    let start = format!("the distance is {} at home", range(&here));
    if there.len() == 1 || count > NAMED || !symmetric {
        return format!("{start} and {} {other}", range(&there));
    }
    let between = |wanted: u32| {
        let pairs = away.iter().filter(|&&(from, to)| from < to && distance(from, to) == Some(wanted));
        let pairs = pairs.map(|&(from, to)| format!("between {} and {}", nodes[from].node, nodes[to].node));
        format!("{wanted} {}", and(pairs))
    };
    let mut there: Vec<u32> = there.into_iter().collect();
    let farthest = there.pop().map(|last| format!("{last} between all others"));
    let clauses = [start].into_iter().chain(there.into_iter().map(between)).chain(farthest);
    words::clauses(clauses)
}

/// How many pairs of CPUs share what.
fn nearness(machine: &Machine) -> String {
    let mut counts: BTreeMap<Shared, usize> = BTreeMap::new();
    for (_, _, shared) in pairs(machine) {
        *counts.entry(shared).or_default() += 1;
    }
    let total: usize = counts.values().sum();
    let certain = machine.cpus.iter().all(is_placed);
    let what = |shared: &Shared| match shared {
        Shared::Machine if !certain => "nothing known but the machine".to_owned(),
        shared => shared.to_string(),
    };
    let verb = |count: usize| if count == 1 { "shares" } else { "share" };
    match (total, counts.first_key_value(), counts.len()) {
        (0, ..) => "One CPU makes no pair.".to_owned(),
        (1, Some((shared, _)), _) => format!("The one pair of CPUs shares {}.", what(shared)),
        (_, Some((shared, _)), 1) => format!("All {total} pairs of CPUs share {}.", what(shared)),
        _ => {
            let clause =
                |(shared, &count): (&Shared, &usize)| format!("{count} {} {}", verb(count), what(shared));
            format!("Of {total} pairs of CPUs, {}.", and(counts.iter().map(clause)))
        }
    }
}

/// Whether everything is known that a CPU could share with another.
fn is_placed(place: &CpuPlace) -> bool {
    place.caches.known().is_some_and(|caches| caches.iter().all(|cache| !cache.shared_by.is_empty()))
        && place.siblings.known().is_some()
        && place.package.known().is_some()
        && place.node.known().is_some()
}

/// `one core`, `8 cores`.
fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("one {noun}") } else { format!("{count} {noun}s") }
}

#[cfg(test)]
mod tests;
