//! `tenbin runs`: what the store holds; labels, and removal.

use tenbin_model::ListedRun;
use tenbin_model::words::comma;
use tenbin_store::{Damage, Error, Label, Listing, RunId};

use super::archive::{open_existing, open_to_change, resolve, shorts, trouble};
use super::json;
use crate::arguments::Runs;
use crate::output::{Answer, Trouble};

/// Lists the runs, or labels and removes some.
pub fn runs(arguments: &Runs) -> Result<Answer, Trouble> {
    let changes = arguments.rm
        || arguments.keep.is_some()
        || arguments.unlabel.is_some()
        || (arguments.label.is_some() && !arguments.runs.is_empty());
    let lists = arguments.last.is_some()
        || arguments.experiment.is_some()
        || arguments.machine.is_some()
        || arguments.form.json;
    if changes && lists {
        return Err(Trouble::usage(
            "--last, --experiment, --machine and --json are for lists; name the runs that are to be changed",
        ));
    }
    let remark = if arguments.rm {
        remove(&arguments.runs)?
    } else if let Some(newest) = arguments.keep {
        let mut store = open_to_change()?;
        let gone = store.remove_all_but(newest).map_err(trouble)?;
        match gone.as_slice() {
            [] => "Nothing to remove.".into(),
            gone => format!("Removed {}.", shorts(gone)),
        }
    } else if let Some(label) = &arguments.unlabel {
        let mut store = open_to_change()?;
        let label = label.clone();
        let words = if arguments.runs.is_empty() { vec![label.to_string()] } else { arguments.runs.clone() };
        let ids = resolve_all(&store, &words)?;
        store.unlabel(&label, &ids).map_err(trouble)?;
        format!("Took the label {label} from {}.", shorts(&ids))
    } else if let (Some(label), false) = (&arguments.label, arguments.runs.is_empty()) {
        let mut store = open_to_change()?;
        let label = label.clone();
        let ids = resolve_all(&store, &arguments.runs)?;
        store.label(&label, &ids).map_err(trouble)?;
        format!("Gave the label {label} to {}.", shorts(&ids))
    } else {
        return list(arguments);
    };
    Ok(Answer { remark: Some(remark), ..Answer::text(String::new()) })
}

fn resolve_all(store: &tenbin_store::Store, words: &[String]) -> Result<Vec<RunId>, Trouble> {
    let mut ids: Vec<RunId> = Vec::new();
    for word in words {
        let meant = resolve(store, word)?;
        ids.extend(meant);
    }
    ids.sort_unstable();
    ids.dedup();
    Ok(ids)
}

/// Removes runs and calibrations, all that are named or, where one name is wrong, none.
fn remove(words: &[String]) -> Result<String, Trouble> {
    let mut store = open_to_change()?;
    let (mut ids, mut calibrations) = (Vec::new(), Vec::new());
    for word in words {
        match (store.resolve(word), store.find_calibration(word).map_err(trouble)?) {
            (Ok(_), Some(_)) => {
                return Err(Trouble::usage(format!(
                    "`{word}` begins the names of a run and of a calibration: give more digits"
                )));
            }
            (Ok(meant), None) => ids.extend(meant),
            (Err(Error::UnknownRun { .. }), Some(calibration)) => calibrations.push(calibration),
            (Err(error), _) => return Err(trouble(error)),
        }
    }
    ids.sort_unstable();
    ids.dedup();
    calibrations.sort_unstable();
    calibrations.dedup();
    store.remove(&ids, &calibrations).map_err(trouble)?;
    let names = ids.iter().map(RunId::short);
    let names: Vec<_> =
        names.chain(calibrations.iter().map(|id| format!("calibration {}", id.short()))).collect();
    Ok(format!("Removed {}.", comma(&names)))
}

/// The seconds of a date, without what is smaller.
fn to_seconds(started: &str) -> &str {
    started.get(..19).unwrap_or(started)
}

fn list(arguments: &Runs) -> Result<Answer, Trouble> {
    let store = open_existing()?;
    let Listing { runs: mut entries, damaged } = store.list().map_err(trouble)?;
    let labels = store.labels().map_err(trouble)?;
    let of = |id: &RunId| labels.get(id).map(Vec::as_slice).unwrap_or_default();
    let total = entries.len();
    let filtered = arguments.is_filter();
    if !arguments.runs.is_empty() {
        let meant = resolve_all(&store, &arguments.runs)?;
        entries.retain(|entry| meant.contains(&entry.id));
    }
    if let Some(label) = &arguments.label {
        let label = label.clone();
        entries.retain(|entry| of(&entry.id).contains(&label));
    }
    if let Some(name) = &arguments.experiment {
        super::about::known(name)?;
        entries.retain(|entry| entry.experiments.contains(name));
    }
    if let Some(machine) = &arguments.machine {
        let machine = machine.to_lowercase();
        entries.retain(|entry| {
            format!("{} {}", entry.architecture, entry.cpu_model).to_lowercase().contains(&machine)
        });
    }
    if let Some(last) = arguments.last {
        entries.drain(..entries.len().saturating_sub(last));
    }
    let listed: Vec<ListedRun> = entries
        .iter()
        .map(|entry| ListedRun {
            id: entry.id.to_string(),
            labels: of(&entry.id).iter().map(Label::to_string).collect(),
            started: entry.started.clone(),
            version: entry.version.clone(),
            architecture: entry.architecture.clone(),
            cpu_model: entry.cpu_model.clone(),
            effort: entry.effort,
            experiments: entry.experiments.clone(),
            samples: entry.samples,
            bytes: entry.bytes,
        })
        .collect();
    let calibrations = store.list_calibrations().map_err(trouble)?;
    let (sound, broken) =
        if filtered { (vec![], vec![]) } else { (calibrations.sound, calibrations.damaged) };
    let damaged = if filtered { vec![] } else { damaged };
    let text = if arguments.form.json {
        let damaged = damaged
            .iter()
            .map(|damage| Element::Damaged { id: damage.name.clone(), damaged: damage.what.clone() });
        json(&listed.into_iter().map(Element::Run).chain(damaged).collect::<Vec<_>>())?
    } else {
        let mut lines: String = listed.iter().map(line).collect();
        if listed.is_empty() && damaged.is_empty() {
            lines = match total {
                0 => format!(
                    "There is no run in {} yet; `tenbin run` keeps what it measures.\n",
                    store.path().display()
                ),
                _ => format!("None of the {total} runs in {} is one of those.\n", store.path().display()),
            };
        }
        lines.extend(damaged.iter().map(broken_line));
        if !sound.is_empty() || !broken.is_empty() {
            lines.push_str("\nCalibrations, newest first:\n");
        }
        lines.extend(sound.iter().map(|(id, calibration)| {
            let started = to_seconds(&calibration.provenance.started);
            let pairs: usize = calibration.series.iter().map(|series| series.pairs.len()).sum();
            let noun = if pairs == 1 { "pair " } else { "pairs" };
            format!("{}  {started}  {pairs:>8} {noun}   {}\n", id.short(), calibration.machine.cpu_model)
        }));
        lines + &broken.iter().map(broken_line).collect::<String>()
    };
    let harmed = damaged.len() + broken.len();
    let remark = (harmed > 0).then(|| {
        format!(
            "{harmed} of what is in {} cannot be read; `tenbin export --intact -o FILE` saves the rest, `tenbin runs --rm ID` \
             removes it.",
            store.path().display()
        )
    });
    Ok(Answer { remark, ..Answer::text(text) })
}

fn line(run: &ListedRun) -> String {
    let labels = run.labels.iter().map(|label| format!(" [{label}]")).collect::<String>();
    let noun = if run.samples == 1 { "epoch " } else { "epochs" };
    format!(
        "{}  {}  {:>8} {noun}  {}  {}{labels}\n",
        &run.id[..12],
        to_seconds(&run.started),
        run.samples,
        run.cpu_model,
        run.experiments.join(" ")
    )
}

fn broken_line(damage: &Damage) -> String {
    format!("{}  damaged: {}\n", damage.name.get(..12).unwrap_or(&damage.name), damage.what)
}

/// An element of what `runs --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
pub enum Element {
    /// A run.
    Run(ListedRun),
    /// A run that cannot be read.
    Damaged {
        /// The name that it has in the file.
        id: String,
        /// What is wrong with it.
        damaged: String,
    },
}
