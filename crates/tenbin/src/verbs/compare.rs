//! `tenbin compare`: runs of two sides.

use std::path::Path;

use clap::Args;
use tenbin_analysis::across::{Across, Kept, MOST_OTHERS, across};
use tenbin_analysis::profile::difference::{Explanation, document, explain};
use tenbin_analysis::report;
use tenbin_lab::analyses;
use tenbin_model::{Run, Verdict};
use tenbin_stats::runs::MOST;
use tenbin_store::{Entry, RunId, Store};

use super::{Form, Schema, Verb, Work, profile};
use crate::output::{Answer, Exit, Trouble};
use crate::store;

/// Compare runs, one or several a side: first whether their machines are comparable, then ratio by ratio
///
/// What changes between runs no run shows, so two runs that differ say little: with one run a side they are
/// held against the other runs of the same that the store has, and mostly refused. With several a side (five,
/// or more where an experiment makes many comparisons), taken in turns, a change is told from that. The
/// status is 3 where everything was refused.
///
/// Given files, it compares profiles (`tenbin profile --json -o FILE`) or logs of strace: why one command
/// takes longer than the other. Ten profiles a side, taken in turns, show how far they vary.
#[derive(Args)]
pub struct Compare {
    /// The start of a run's id, `latest`, or a label, which means every run that bears it; or the path of a
    /// profile. Several with commas between them
    #[arg(value_name = "RUN|PROFILE,...")]
    first: String,
    /// The other side
    #[arg(value_name = "RUN|PROFILE,...")]
    second: String,
    #[command(flatten)]
    form: Form,
}

pub const VERB: Verb = Verb {
    schemas: &[
        Schema::of::<Across>("compare", "Runs of two sides: `compare`"),
        Schema::of::<Explanation>(
            "explanation",
            "Why one command takes longer than another: `compare` of profiles",
        ),
    ],
    ..Verb::of::<Compare>("compare")
};

impl Work for Compare {
    fn run(self) -> Result<Answer, Trouble> {
        if [&self.first, &self.second]
            .iter()
            .any(|side| side.split(',').any(|name| Path::new(name).is_file()))
        {
            return self.profiles();
        }
        let store = store::open_existing()?;
        let (first, second) = (ids(&store, &self.first)?, ids(&store, &self.second)?);
        if let Some(both) = first.iter().find(|id| second.contains(id)) {
            return Err(Trouble::usage(format!(
                "run {} is on both sides: what is compared with itself cannot differ; name another run",
                both.short()
            )));
        }
        let across = sides(&store, &first, &second)?;
        let text = self.form.text(&across, |across, width| report::compared(across).text(width))?;
        let refused = across.comparisons.iter().all(|compared| compared.verdict == Verdict::Refused);
        Ok(Answer { exit: if refused { Exit::Refused } else { Exit::Answered }, ..Answer::text(text) })
    }
}

impl Compare {
    fn profiles(&self) -> Result<Answer, Trouble> {
        let read = |side: &str| {
            side.split(',').map(|name| profile::read(Path::new(name))).collect::<Result<Vec<_>, _>>()
        };
        let (left, right) = (read(&self.first)?, read(&self.second)?);
        let names =
            [&self.first, &self.second].map(|side| side.split(',').next().unwrap_or_default().to_owned());
        let explanation = explain(names, &left, &right)
            .ok_or_else(|| Trouble::usage("a profile is empty; name one that has calls in it"))?;
        Ok(Answer::text(
            self.form.text(&explanation, |explanation, width| document(explanation, None).text(width))?,
        ))
    }
}

/// What the runs of two sides have to say to each other. One run a side is held against the others of the
/// store.
///
/// # Errors
/// One of them cannot be read.
pub fn sides(store: &Store, first: &[RunId], second: &[RunId]) -> Result<Across, Trouble> {
    let load = |ids: &[RunId]| {
        let loaded = ids.iter().map(|id| Ok((id.to_string(), store.load(id).map_err(store::trouble)?)));
        loaded.collect::<Result<Vec<(String, Run)>, Trouble>>()
    };
    let (ours, theirs) = (load(first)?, load(second)?);
    let others =
        if let ([one], [other]) = (first, second) { others(store, [one, other]) } else { Vec::new() };
    Ok(across(&analyses(), &named(&ours), &named(&theirs), &others.iter().collect::<Vec<_>>()))
}

fn named(side: &[(String, Run)]) -> Vec<Kept<'_>> {
    side.iter().map(|(id, run)| Kept { id, run }).collect()
}

/// The runs that are named, each once.
fn ids(store: &Store, side: &str) -> Result<Vec<RunId>, Trouble> {
    if side.split(',').any(str::is_empty) {
        return Err(Trouble::usage("a run's name is empty; it is a list like 4f1c,90ab,latest"));
    }
    let ids = store::resolve(store, side)?;
    if ids.len() > MOST {
        return Err(Trouble::usage(format!("`{side}` means {} runs; a side has at most {MOST}", ids.len())));
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
            let (one, other) = (&entry.summary, &other.summary);
            (&one.version, one.effort) == (&other.version, other.effort)
                && one.experiments.iter().any(|name| other.experiments.contains(name))
        };
        !two.contains(&&entry.id) && asked.iter().any(|other| like(other))
    };
    let newest = entries.iter().rev().filter(alike).take(MOST_OTHERS);
    newest.filter_map(|entry| store.load(&entry.id).ok()).collect()
}
