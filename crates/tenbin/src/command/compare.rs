//! `tenbin compare`: runs of two sides.

use tenbin_analysis::across::{Kept, MOST_OTHERS, across};
use tenbin_analysis::report;
use tenbin_lab::analyses;
use tenbin_model::{Run, Verdict};
use tenbin_stats::runs::MOST;
use tenbin_store::{Entry, RunId, Store};

use super::{archive, json};
use crate::arguments::Form;
use crate::output::{Answer, Exit, Trouble};
use crate::terminal;

/// Compares the runs of two sides.
pub fn compare(sides: [&str; 2], form: Form) -> Result<Answer, Trouble> {
    let store = archive::open_existing()?;
    let [first, second] = sides.map(|side| ids(&store, side));
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
    let across = across(&analyses(), &named(&ours), &named(&theirs), &others.iter().collect::<Vec<_>>());
    let text = if form.json { json(&across)? } else { report::compared(&across).text(terminal::width()) };
    let refused = across.comparisons.iter().all(|compared| compared.verdict == Verdict::Refused);
    Ok(Answer { exit: if refused { Exit::Refused } else { Exit::Answered }, ..Answer::text(text) })
}

fn named(side: &[(String, Run)]) -> Vec<Kept<'_>> {
    side.iter().map(|(id, run)| Kept { id, run }).collect()
}

/// The runs that are named, each once.
fn ids(store: &Store, side: &str) -> Result<Vec<RunId>, Trouble> {
    if side.split(',').any(str::is_empty) {
        return Err(Trouble::usage("a run's name is empty; it is a list like 4f1c,90ab,latest"));
    }
    let ids = archive::resolve(store, side)?;
    if ids.len() > MOST {
        return Err(Trouble::usage(format!("`{side}` means {} runs; a side has {MOST} at most", ids.len())));
    }
    Ok(ids)
}

/// Other runs that may have asked the same as these two, the newest first. One that cannot be read is left
/// out: it is not what was asked for.
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
