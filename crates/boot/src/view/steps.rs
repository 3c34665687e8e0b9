//! A run as a table: who, where, what, and what it means.

use std::ops::Range;

use super::grid::{Column, paragraph, shown, table};
use super::memory::{groups, words};
use super::words::{ValueNames, hangs};
use crate::answer::{BootAction, BootStep, Counterexample, HartEnd, Writer};
use tenbin_model::words::{comma, counted, semicolon};

/// From this width on a place has a column beside its line of source, and so has what a step means.
const WIDE: usize = 110;

/// Garbage, steps, and where every hart is in the end.
pub(super) fn run(example: &Counterexample, width: usize) -> String {
    let names = ValueNames::of(example);
    let garbage: Vec<String> = example.garbage.iter().map(|it| names.planted(it)).collect();
    let needs = if garbage.is_empty() {
        "This run reads no garbage.".to_owned()
    } else {
        format!("It needs garbage in memory: {}.", comma(&garbage))
    };
    let mut text = paragraph(&needs, 0, width);
    let early = example.steps.iter().filter(|step| step.overtakes > 0).count();
    if early > 0 {
        let some = counted(early, "instruction");
        let is = if early == 1 { "is" } else { "are" };
        let early = format!("{some} {is} performed before older ones of the same hart.");
        text.push_str(&paragraph(&early, 0, width));
    }
    if !example.steps.is_empty() {
        text.push('\n');
        text.push_str(&steps(example, &names, width));
    }
    if !example.ends.is_empty() {
        text.push('\n');
        text.push_str(&ends(&example.ends, hangs(example.fault), width));
    }
    text
}

/// The table of steps. They have the numbers that they have in JSON.
fn steps(example: &Counterexample, names: &ValueNames, width: usize) -> String {
    let wide = width >= WIDE && example.steps.iter().any(|step| step.source.is_some());
    let events = width >= WIDE && example.steps.iter().any(|step| !step.events.is_empty());
    let column = |title, figures, least| Column { title, figures, least };
    let mut columns = vec![column("step", true, 4), column("hart", true, 4), column("where", false, 10)];
    if wide {
        columns.push(column("source", false, 10));
    }
    columns.extend([column("instruction", false, 11), column("what it does", false, 16)]);
    if events {
        columns.push(column("so", false, 12));
    }
    let words = words(example);
    let mut rows = Vec::new();
    for group in groups(example, &words) {
        let first = &example.steps[group.start];
        let mark = if example.repeats_from == Some(group.start) { "↻ " } else { "" };
        let is_one = group.len() == 1;
        let source = |step: &BootStep| shown(step.source.as_deref().unwrap_or("–"));
        let mut row = vec![
            format!("{mark}{}", numbers(&group)),
            first.hart.to_string(),
            begins(&group, example, |step| if wide { shown(&step.place) } else { place(step) }),
        ];
        if wide {
            row.push(begins(&group, example, source));
        }
        row.push(if alike(&group, example) { shown(&first.instruction) } else { "…".to_owned() });
        row.push(if is_one { effect(first, names, events) } else { unseen(&group, example, names) });
        if events {
            row.push(happened(first));
        }
        rows.push(row);
    }
    let mut text = table(&columns, &rows, width);
    if let Some(step) = example.repeats_from {
        let again = format!("↻ From step {step} on, all of this is repeated for ever.");
        text.push_str(&paragraph(&again, 2, width));
    }
    text
}

/// The line of source, or the place where there is none.
pub(super) fn place(step: &BootStep) -> String {
    shown(step.source.as_deref().unwrap_or(&step.place))
}

pub(super) fn numbers(group: &Range<usize>) -> String {
    match group.len() {
        1 => group.start.to_string(),
        _ => format!("{}–{}", group.start, group.end - 1),
    }
}

/// Where a group begins; that it goes on elsewhere is only hinted at.
fn begins(range: &Range<usize>, example: &Counterexample, place: impl Fn(&BootStep) -> String) -> String {
    let first = place(&example.steps[range.start]);
    if alike(range, example) { first } else { format!("{first} …") }
}

/// Whether one instruction makes all steps of a group.
fn alike(range: &Range<usize>, example: &Counterexample) -> bool {
    example.steps[range.clone()].iter().all(|step| step.pc == example.steps[range.start].pc)
}

/// What a step does, and what that means unless it is said elsewhere.
fn effect(step: &BootStep, names: &ValueNames, elsewhere: bool) -> String {
    let mut text = done(&step.action, names);
    if step.overtakes > 0 {
        text.push_str(&format!(", before {}", older(step.overtakes)));
    }
    if !elsewhere && !step.events.is_empty() {
        text.push_str(&format!(": {}", happened(step)));
    }
    text
}

/// `2 older instructions`.
pub(super) fn older(overtakes: u32) -> String {
    counted(overtakes as usize, "older instruction")
}

fn happened(step: &BootStep) -> String {
    semicolon(step.events.iter().map(|event| shown(event)))
}

pub(super) fn done(action: &BootAction, names: &ValueNames) -> String {
    let value = |value, bytes| names.value(value, bytes);
    match action {
        BootAction::Read { name, bytes, value: read, from, .. } => {
            format!("reads {} = {}, {}", shown(name), value(*read, *bytes), whose(*from))
        }
        BootAction::Wrote { name, bytes, value: written, .. } => {
            format!("writes {} = {}", shown(name), value(*written, *bytes))
        }
        BootAction::Swapped { name, bytes, read: Some(read), value: written, from, .. } => format!(
            "swaps {} = {}, {}, for {}",
            shown(name),
            value(*read, *bytes),
            whose(*from),
            value(*written, *bytes)
        ),
        BootAction::Swapped { name, bytes, read: None, value: written, .. } => {
            format!("writes {} = {}, as nobody came in between", shown(name), value(*written, *bytes))
        }
        BootAction::Failed => "fails to store".to_owned(),
        BootAction::Woke { called: true } => "wakes: an interrupt is pending".to_owned(),
        BootAction::Woke { called: false } => "wakes for no reason".to_owned(),
    }
}

fn whose(writer: Writer) -> String {
    match writer {
        Writer::File => "from the file".to_owned(),
        Writer::Garbage => "garbage".to_owned(),
        Writer::Step(step) => format!("of step {step}"),
        Writer::Forwarded => "its own store, which memory has not seen".to_owned(),
    }
}

/// What steps do that no other hart sees.
pub(super) fn unseen(range: &Range<usize>, example: &Counterexample, names: &ValueNames) -> String {
    let accesses: Vec<_> =
        example.steps[range.clone()].iter().filter_map(|step| step.action.access()).collect();
    let first = accesses.first().and_then(|access| access.written.map(|value| (value, access.bytes)));
    match first {
        Some((value, bytes)) if accesses.iter().all(|it| it.read.is_none() && it.written == Some(value)) => {
            format!("writes {} to {} words of its own", names.value(value, bytes), accesses.len())
        }
        _ => format!("{} accesses that no other hart sees", accesses.len()),
    }
}

fn ends(ends: &[HartEnd], hang: bool, width: usize) -> String {
    let column = |title, least| Column { title, figures: false, least };
    let head = if hang { "for ever" } else { "then" };
    let columns = [column(head, 8), column("where", 12), column("what it does", 16)];
    let row =
        |(hart, end): (usize, &HartEnd)| vec![format!("hart {hart}"), shown(&end.place), shown(&end.doing)];
    table(&columns, &ends.iter().enumerate().map(row).collect::<Vec<_>>(), width)
}
