//! What was found on several machines: a table, and the shortest run to each fault.

use super::grid::{Column, paragraph, shown, table as drawn};
use super::steps;
use super::words::{can, ended, machine, place, remark, retried, seconds, sentence};
use crate::answer::{BootCheck, BootVerdict, Counterexample, Fault};
use crate::axiomatic::Model;
use tenbin_model::words::{and, capitalised, comma, counted, semicolon};
use tenbin_model::{Order, order};

/// Machines that differ in nothing but the hart that boots, with one verdict.
struct VerdictRow<'a> {
    first: &'a BootCheck,
    verdict: String,
    boots: Vec<Option<u32>>,
    states: u64,
    seconds: f64,
}

/// The table of verdicts: a row for all boot harts of which the same is true.
pub(super) fn table(checks: &[BootCheck], width: usize) -> String {
    let rows = rows(checks);
    let column = |title, figures, least| Column { title, figures, least };
    let columns = [
        column("file", false, 8),
        column("harts", true, 5),
        column("boot hart", true, 4),
        column("memory", false, 6),
        column("verdict", false, 10),
        column("states", true, 6),
        column("seconds", true, 7),
    ];
    let mut cells = Vec::new();
    let mut last = None;
    for row in &rows {
        // A file is named where it changes, so that one sees where the next one begins.
        let file =
            if last == Some(&row.first.file) { String::new() } else { called(&row.first.file, checks) };
        last = Some(&row.first.file);
        cells.push(vec![
            file,
            row.first.machine.harts.to_string(),
            boot_harts(&row.boots, row.first.machine.harts),
            row.first.machine.memory.to_string(),
            row.verdict.clone(),
            row.states.to_string(),
            seconds(row.seconds),
        ]);
    }
    let mut text = drawn(&columns, &cells, width);
    if rows.iter().any(|row| row.boots.len() > 1) {
        let note = "Boot harts with the same result share a row, with the states and seconds of the one that needed most.";
        text.push_str(&paragraph(note, 2, width));
    }
    text
}

/// The name of a file without its folder, if no other file is called so too.
fn called(file: &str, checks: &[BootCheck]) -> String {
    let last = |path: &str| path.rsplit('/').next().unwrap_or_default().to_owned();
    let name = last(file);
    let alone = checks.iter().all(|check| check.file == file || last(&check.file) != name);
    shown(if alone && !name.is_empty() { &name } else { file })
}

fn rows(checks: &[BootCheck]) -> Vec<VerdictRow<'_>> {
    let mut rows: Vec<VerdictRow<'_>> = Vec::new();
    for check in checks {
        let verdict = verdict(check);
        let same = rows.iter_mut().find(|row| {
            let (one, other) = (&row.first.machine, &check.machine);
            row.first.file == check.file
                && (one.harts, &one.memory, one.window) == (other.harts, &other.memory, other.window)
                && row.verdict == verdict
        });
        match same {
            Some(row) => {
                row.boots.push(check.machine.boot_hart);
                row.states = row.states.max(check.effort.states);
                row.seconds = row.seconds.max(check.effort.seconds);
            }
            None => rows.push(VerdictRow {
                first: check,
                verdict,
                boots: vec![check.machine.boot_hart],
                states: check.effort.states,
                seconds: check.effort.seconds,
            }),
        }
    }
    rows
}

fn verdict(check: &BootCheck) -> String {
    match &check.verdict {
        BootVerdict::Sound { window_full, partly, held, .. } => {
            let tried = if *partly { " for the garbage tried" } else { "" };
            let behind = match held.as_slice() {
                [] => String::new(),
                [one] => format!(" but for what is after {}", place(one)),
                [one, ..] => format!(" but for what is after {} and others", place(one)),
            };
            match window_full {
                false => format!("sound{tried}{behind}"),
                true => format!("sound{tried} up to a window of {}{behind}", check.machine.window),
            }
        }
        BootVerdict::Faulty { faults, whole, .. } => {
            let names = comma(faults.iter().map(|it| it.fault.name()));
            if *whole { names } else { format!("{names}, and maybe more") }
        }
        BootVerdict::Refused { .. } => "refused".to_owned(),
    }
}

/// `0, 2`; `any` where it is true of every hart.
fn boot_harts(boots: &[Option<u32>], harts: u32) -> String {
    let known: Vec<u32> = order::set(boots.iter().copied().flatten()).into_iter().collect();
    if known.is_empty() {
        "–".to_owned()
    } else if known.len() > 1 && known.iter().copied().eq(0..harts) {
        "any".to_owned()
    } else {
        comma(&known)
    }
}

/// Of every file each kind of fault once, by its shortest run; then what was refused, and why.
pub(super) fn files(checks: &[BootCheck], width: usize) -> String {
    let mut files: Vec<(&str, Vec<&BootCheck>)> = Vec::new();
    for check in checks {
        put(&mut files, &*check.file, check);
    }
    files.iter().map(|(_, checks)| of_file(checks, width)).collect()
}

type CheckedRun<'a> = (&'a BootCheck, &'a Counterexample);

fn of_file(checks: &[&BootCheck], width: usize) -> String {
    let mut text = String::new();
    for (fault, with) in kinds(checks, |check| check.verdict.faults()) {
        let Some((check, example)) = shortest(&with) else { continue };
        let (file, machine) = (shown(&check.file), machine(&check.machine));
        let places: Vec<&BootCheck> = with.iter().map(|(check, _)| *check).collect();
        let on = machines_of(&places, checks);
        let summary = format!(
            "{}: {file} {} {on}. The shortest run has {}, with {machine}. {}",
            capitalised(fault.name()),
            can(fault),
            counted(example.steps.len(), "step"),
            sentence(example)
        );
        text.push('\n');
        text.push_str(&paragraph(&summary, 0, width));
        text.push_str(&steps::run(example, width));
    }
    let mut beside = String::new();
    let remarks = kinds(checks, |check| check.verdict.remarks());
    for (check, example) in remarks.iter().filter_map(|(_, with)| shortest(with)) {
        beside.push_str(&remark(&format!("Remark on {}", shown(&check.file)), example, width));
    }
    beside.push_str(&retried(checks, width));
    for (why, refused) in refusals(checks) {
        let file = refused.first().map_or_else(String::new, |check| shown(&check.file));
        let on = machines_of(&refused, checks);
        beside.push_str(&paragraph(&format!("{file} was refused {on}: {}", ended(why)), 0, width));
    }
    if beside.is_empty() { text } else { format!("{text}\n{beside}") }
}

fn kinds<'a>(
    checks: &[&'a BootCheck],
    of: impl Fn(&'a BootCheck) -> &'a [Counterexample],
) -> Vec<(Fault, Vec<CheckedRun<'a>>)> {
    let mut all: Vec<CheckedRun<'a>> =
        checks.iter().flat_map(|&check| of(check).iter().map(move |example| (check, example))).collect();
    // Stable: what was asked first stays first.
    all.order_by_key(|(_, example)| example.fault);
    let mut kinds = Vec::new();
    for run in all {
        put(&mut kinds, run.1.fault, run);
    }
    kinds
}

/// Puts a value beside the others of its key; keys stand in the order in which they come up.
fn put<K: PartialEq, V>(groups: &mut Vec<(K, Vec<V>)>, key: K, value: V) {
    match groups.iter_mut().find(|(other, _)| *other == key) {
        Some((_, values)) => values.push(value),
        None => groups.push((key, vec![value])),
    }
}

/// The run with the fewest steps; of several, one in order, and the one that was asked about first.
fn shortest<'a>(runs: &[CheckedRun<'a>]) -> Option<CheckedRun<'a>> {
    runs.iter().copied().min_by_key(|(_, example)| (example.steps.len(), example.reordered))
}

fn refusals<'a>(checks: &[&'a BootCheck]) -> Vec<(&'a str, Vec<&'a BootCheck>)> {
    let mut refusals = Vec::new();
    for &check in checks {
        if let BootVerdict::Refused { why } = &check.verdict {
            put(&mut refusals, &**why, check);
        }
    }
    refusals
}

/// On which of all machines of a file: `on 4 of 9 machines (2 and 3 harts, any boot hart but 0: sc and tso)`.
fn machines_of(some: &[&BootCheck], all: &[&BootCheck]) -> String {
    if some.len() == all.len() {
        return match all.len() {
            1 => "on the one machine that was asked about".to_owned(),
            number => format!("on all {number} machines"),
        };
    }
    // Machines that differ in their memory, and then those that differ in how many harts they have.
    let mut by_harts = Vec::new();
    let mut seen: Vec<(u32, Model)> = Vec::new();
    for check in some {
        let (harts, memory) = (check.machine.harts, check.machine.memory);
        if seen.contains(&(harts, memory)) {
            continue;
        }
        seen.push((harts, memory));
        let boots = |of: &[&BootCheck]| -> Vec<Option<u32>> {
            let here = of.iter().filter(|it| it.machine.harts == harts && it.machine.memory == memory);
            here.map(|it| it.machine.boot_hart).collect()
        };
        let boots = which(&boots(some), &boots(all), harts);
        put(&mut by_harts, (harts, boots), memory);
    }
    let mut groups = Vec::new();
    for ((harts, boots), memories) in by_harts {
        put(&mut groups, (boots, memories), harts);
    }
    let groups = groups
        .iter()
        .map(|((boots, memories), harts)| format!("{} harts{boots}: {}", and(harts), and(memories)));
    format!("on {} of {} machines ({})", some.len(), all.len(), semicolon(groups))
}

/// Which of the boot harts that were asked about; nothing if all of them.
fn which(some: &[Option<u32>], all: &[Option<u32>], harts: u32) -> String {
    let others: Vec<Option<u32>> = all.iter().copied().filter(|boot| !some.contains(boot)).collect();
    match others.as_slice() {
        [] => String::new(),
        [Some(other)] if all.len() == harts as usize => format!(", any boot hart but {other}"),
        _ => format!(", boot hart {}", boot_harts(some, harts)),
    }
}
