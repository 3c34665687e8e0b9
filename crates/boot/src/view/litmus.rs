//! What litmus tests may end with, as text.

use super::grid::{Column, table};
use super::words::model;
use crate::litmus::{Decided, Litmus, Quantifier, Settled, Tried};
use tenbin_model::words::{folded, memory};

/// One test in full, or several with a line each and a summary. Nothing of one test that has no outcomes: see
/// [`undecided`].
pub fn litmus(litmus: &Litmus, width: usize) -> String {
    match litmus.tests.as_slice() {
        [Tried { file, name, settled: Settled::Decided(decided) }] => {
            alone(litmus, name.as_deref().unwrap_or(file), decided, width)
        }
        [_] => String::new(),
        several => {
            let columns = [("test", false), ("states", true), ("result", true), ("what", false)];
            let columns = columns.map(|(title, figures)| Column { title, figures, least: 0 });
            let rows: Vec<_> = several.iter().map(row).collect();
            table(&columns, &rows, usize::MAX) + "\n" + &folded(&summary(litmus), 0, width)
        }
    }
}

/// Why the one test has no outcomes; of several, how many could not be read, or that there is no outcome at
/// all.
pub fn undecided(litmus: &Litmus) -> Option<String> {
    let unreadable = litmus.count(|it| matches!(it, Settled::Unreadable { .. }));
    let decided = litmus.count(|it| matches!(it, Settled::Decided(_)));
    match litmus.tests.as_slice() {
        [tried] => reason(litmus, tried),
        several if unreadable > 0 => {
            Some(format!("{unreadable} of {} files are not readable litmus tests", several.len()))
        }
        _ if decided == 0 => Some("no test was decided".to_owned()),
        _ => None,
    }
}

/// A test as herd prints it, and a sentence.
fn alone(litmus: &Litmus, name: &str, decided: &Decided, width: usize) -> String {
    let mut text = format!("Test {name} {}\nStates {}\n", kind(decided.asked), decided.states.len());
    for state in &decided.states {
        text.push_str(&format!("{state}\n"));
    }
    text.push_str(&format!("{}\n", result(decided)));
    text.push_str(&format!("Condition {}\n", condition(decided)));
    text.push_str(&format!("Observation {name} {}\n\n", observation(decided)));
    text + &folded(&sentence(litmus, decided), 0, width)
}

fn kind(asked: Quantifier) -> &'static str {
    match asked {
        Quantifier::Exists => "Allowed",
        Quantifier::NotExists => "Forbidden",
        // herd takes a test that asks nothing for one that requires what is always so.
        Quantifier::ForAll | Quantifier::Observed => "Required",
    }
}

fn condition(decided: &Decided) -> String {
    let word = match decided.asked {
        Quantifier::Exists => "exists",
        Quantifier::NotExists => "~exists",
        Quantifier::ForAll | Quantifier::Observed => "forall",
    };
    format!("{word} ({})", decided.condition)
}

/// herd's `Ok` or `No`, with `Loop` in front of it where paths were cut.
fn result(decided: &Decided) -> String {
    let word = if decided.holds.unwrap_or(true) { "Ok" } else { "No" };
    if decided.cut { format!("Loop {word}") } else { word.to_owned() }
}

/// herd's word for how many outcomes have what is asked, how many have it, and how many have not.
fn observation(decided: &Decided) -> String {
    let lacking = decided.states.len() - decided.having;
    let word = match (decided.having, lacking) {
        (0, _) => "Never",
        (_, 0) => "Always",
        _ => "Sometimes",
    };
    format!("{word} {} {lacking}", decided.having)
}

/// Whether what the condition says can happen.
fn sentence(litmus: &Litmus, decided: &Decided) -> String {
    let Decided { condition, having, .. } = decided;
    let all = decided.states.len();
    let model = model(litmus.memory);
    let beyond = beyond(litmus);
    if all == 0 {
        return if decided.cut {
            format!("Nothing is known of {model}: {beyond}, and there are no others.")
        } else {
            format!("No execution that {model} allows passes the filter.")
        };
    }
    let outcomes = match (all, decided.cut) {
        (1, false) => "the only outcome".to_owned(),
        (1, true) => "the one outcome that was found".to_owned(),
        (_, false) => format!("the {all} outcomes"),
        (_, true) => format!("the {all} outcomes that were found"),
    };
    let have = if *having == 1 { "has" } else { "have" };
    let lack = if all - having == 1 { "lacks" } else { "lack" };
    // Where executions were left out, what was not found may happen all the same.
    let happens = match decided.asked {
        Quantifier::Observed if all == 1 => "there is 1 outcome, and nothing is asked of it".to_owned(),
        Quantifier::Observed => format!("there are {all} outcomes, and nothing is asked of them"),
        Quantifier::ForAll if *having < all => {
            format!("`{condition}` need not hold: {} of {outcomes} {lack} it", all - having)
        }
        Quantifier::ForAll if decided.cut => {
            format!("`{condition}` is not known to fail: {outcomes} {have} it")
        }
        Quantifier::ForAll => format!("`{condition}` always holds: {outcomes} {have} it"),
        _ if *having == 0 && decided.cut => {
            format!("`{condition}` is not known to happen: {} it", none_has(all, &outcomes))
        }
        _ if *having == 0 => format!("`{condition}` cannot happen: {} it", none_has(all, &outcomes)),
        _ if *having == all => format!("`{condition}` can happen: {outcomes} {have} it"),
        _ => format!("`{condition}` can happen: {having} of {outcomes} {have} it"),
    };
    let beyond = if decided.cut { format!("; {beyond}") } else { String::new() };
    format!("Under {model} {happens}{beyond}.")
}

fn none_has(all: usize, outcomes: &str) -> String {
    if all == 1 { format!("{outcomes} lacks") } else { format!("none of {outcomes} has") }
}

fn beyond(litmus: &Litmus) -> String {
    let times = if litmus.unroll == 1 { "once".to_owned() } else { format!("{} times", litmus.unroll) };
    format!(
        "executions in which a hart reaches an instruction more than {times} (--unroll) were not looked at"
    )
}

fn reason(litmus: &Litmus, tried: &Tried) -> Option<String> {
    let file = &tried.file;
    match &tried.settled {
        Settled::NotFinished { steps, memory: None } => Some(format!(
            "{file}: not finished in {} s (--seconds), after {steps} steps: nothing is known of it",
            litmus.seconds
        )),
        Settled::NotFinished { steps, memory: Some(bytes) } => Some(format!(
            "{file}: not finished: {} reached (--limit), after {steps} steps: nothing is known of it",
            memory(*bytes)
        )),
        Settled::Refused { why } => Some(format!("{file}: refused: {why}")),
        Settled::Unreadable { line, why } => Some(format!("{file}: {}", unreadable(*line, why))),
        Settled::Decided(_) => None,
    }
}

fn unreadable(line: Option<usize>, why: &str) -> String {
    line.map_or_else(|| why.to_owned(), |line| format!("line {line}: {why}"))
}

fn row(tried: &Tried) -> Vec<String> {
    let name = tried.name.clone().unwrap_or_else(|| tried.file.clone());
    let (result, what) = match &tried.settled {
        Settled::Decided(decided) => {
            return vec![name, decided.states.len().to_string(), result(decided), observation(decided)];
        }
        Settled::NotFinished { steps, memory: None } => ("not finished", format!("after {steps} steps")),
        Settled::NotFinished { steps, memory: Some(bytes) } => {
            ("not finished", format!("{} reached (--limit) after {steps} steps", memory(*bytes)))
        }
        Settled::Refused { why } => ("refused", why.clone()),
        Settled::Unreadable { line, why } => ("unreadable", unreadable(*line, why)),
    };
    vec![name, "–".to_owned(), result.to_owned(), what]
}

fn summary(litmus: &Litmus) -> String {
    let decided = litmus.count(|it| matches!(it, Settled::Decided(_)));
    let happens = litmus.count(|it| matches!(it, Settled::Decided(decided) if decided.having > 0));
    let cut = litmus.count(|it| matches!(it, Settled::Decided(decided) if decided.cut));
    let mut text = format!(
        "{decided} of {} decided under {}: the condition was observed in {happens}, and not in {}",
        litmus.tests.len(),
        model(litmus.memory),
        decided - happens
    );
    if cut > 0 {
        text.push_str(&format!("; in {cut} (`Loop`) {}", beyond(litmus)));
    }
    let others = [
        (litmus.count(|it| matches!(it, Settled::NotFinished { .. })), "not finished"),
        (litmus.count(|it| matches!(it, Settled::Refused { .. })), "refused"),
        (litmus.count(|it| matches!(it, Settled::Unreadable { .. })), "unreadable"),
    ];
    for (count, what) in others.into_iter().filter(|&(count, _)| count > 0) {
        text.push_str(&format!("; {count} {what}"));
    }
    text + "."
}
