//! `tenbin compare`: runs of two sides.

use tenbin_analysis::report;
use tenbin_analysis::verdict::{Kept, MOST_OTHERS, across};
use tenbin_model::{Run, Verdict};
use tenbin_store::{Entry, Error, RunId, Store};

use super::{archive, json};
use crate::arguments::{Form, Runs};
use crate::output::{Answer, Exit, Trouble};
use crate::terminal;

/// Compares the runs of two sides.
pub fn compare(sides: [&Runs; 2], form: Form) -> Result<Answer, Trouble> {
    let store = archive::open_existing()?;
    let [first, second] = sides.map(|side| ids(&store, &side.0));
    let (first, second) = (first?, second?);
    if let Some(both) = first.iter().find(|id| second.contains(id)) {
        return Err(Trouble::usage(format!(
            "run {} is on both sides: what is compared with itself cannot differ; name another run",
            both.short()
        )));
    }
    let load = |ids: &[RunId]| {
        let loaded = ids.iter().map(|id| Ok((id.to_string(), store.load(id).map_err(archive::trouble)?)));
        loaded.collect::<Result<Vec<(String, Run)>, Trouble>>()
    };
    let (ours, theirs) = (load(&first)?, load(&second)?);
    let others = if let ([one], [other]) = (&first[..], &second[..]) {
        others(&store, [one, other])
    } else {
        Vec::new()
    };
    let across = across(&named(&ours), &named(&theirs), &others.iter().collect::<Vec<_>>());
    let text = if form.json { json(&across)? } else { report::compared(&across, terminal::width()) };
    let refused = across.comparisons.iter().all(|compared| compared.verdict == Verdict::Refused);
    Ok(Answer { exit: if refused { Exit::Refused } else { Exit::Answered }, ..Answer::text(text) })
}

fn named(side: &[(String, Run)]) -> Vec<Kept<'_>> {
    side.iter().map(|(id, run)| Kept { id, run }).collect()
}

/// The runs that are named, each once.
fn ids(store: &Store, names: &[String]) -> Result<Vec<RunId>, Trouble> {
    let mut ids = Vec::new();
    for name in names {
        let id = store.find(name).map_err(|error| match (&error, store.find_calibration(name)) {
            (Error::UnknownRun { .. }, Ok(Some(id))) => {
                Trouble::usage(format!("`{name}` is calibration {}: only runs are compared", id.short()))
            }
            _ => archive::trouble(error),
        })?;
        if ids.contains(&id) {
            return Err(Trouble::usage(format!("run {} is named twice on one side", id.short())));
        }
        ids.push(id);
    }
    Ok(ids)
}

/// Other runs that may have asked the same as these two, the newest first. One that cannot be read is left out: it is not
/// what was asked for.
fn others(store: &Store, two: [&RunId; 2]) -> Vec<Run> {
    let Ok(entries) = store.runs() else { return Vec::new() };
    let asked: Vec<&Entry> = entries.iter().filter(|entry| two.contains(&&entry.id)).collect();
    let alike = |entry: &&Entry| {
        let like = |other: &Entry| {
            (&entry.version, entry.effort) == (&other.version, other.effort)
                && entry.experiments.iter().any(|name| other.experiments.contains(name))
        };
        !two.contains(&&entry.id) && asked.iter().any(|other| like(other))
    };
    let newest = entries.iter().rev().filter(alike).take(MOST_OTHERS);
    newest.filter_map(|entry| store.load(&entry.id).ok()).collect()
}
