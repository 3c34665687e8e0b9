//! `tenbin runs`: what the store holds; labels, and removal.

use clap::Args;
use tenbin_lab::survey::{named, names};
use tenbin_model::words::comma;
use tenbin_model::{ListedRun, Order, RunSummary};
use tenbin_store::{Damage, Error, Label, Listing, RunId, Store};

use super::{Form, Schema, Verb, Work, label};
use crate::output::{Answer, Trouble};
use crate::store::{open_existing, open_to_change, resolve, shorts, trouble};

/// List the runs in the store; label or remove some
///
/// RUN is the start of an id, `latest`, or a label, which means every run that bears it; several may
/// stand with commas between them.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("change").args(["rm", "keep", "unlabel"]))]
pub struct Runs {
    /// Only these; with --label, --unlabel and --rm, the ones that are meant
    #[arg(value_name = "RUN")]
    runs: Vec<String>,
    /// Give RUN this label; without RUN, list the runs that bear it
    #[arg(long, value_name = "NAME", value_parser = label, conflicts_with = "change")]
    label: Option<Label>,
    /// Take this label from RUN, or from all runs that bear it
    #[arg(long, value_name = "NAME", value_parser = label)]
    unlabel: Option<Label>,
    /// Remove RUN for good, samples and all; a calibration too, by its id
    #[arg(long, requires = "runs")]
    rm: bool,
    /// Remove all runs for good that bear no label, but for the newest N of them
    #[arg(long, value_name = "N", conflicts_with = "runs")]
    keep: Option<usize>,
    /// List the newest N
    #[arg(long, value_name = "N", conflicts_with = "change")]
    last: Option<usize>,
    /// List runs of this experiment
    #[arg(long, value_name = "NAME", conflicts_with = "change")]
    experiment: Option<String>,
    /// List runs of machines whose architecture or processor is called something with TEXT in it
    #[arg(long, value_name = "TEXT", conflicts_with = "change")]
    machine: Option<String>,
    #[command(flatten)]
    form: Form,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<Vec<Element>>("runs", "The runs of the store: `runs`")],
    words: &[("experiment", names)],
    ..Verb::of::<Runs>("runs")
};

impl Work for Runs {
    fn run(self) -> Result<Answer, Trouble> {
        let changes = self.rm
            || self.keep.is_some()
            || self.unlabel.is_some()
            || (self.label.is_some() && !self.runs.is_empty());
        let lists =
            self.last.is_some() || self.experiment.is_some() || self.machine.is_some() || self.form.json;
        if changes && lists {
            return Err(Trouble::usage(
                "--last, --experiment, --machine and --json are for lists; name the runs that are to be changed",
            ));
        }
        let remark = if self.rm {
            remove(&self.runs)?
        } else if let Some(newest) = self.keep {
            let mut store = open_to_change()?;
            let gone = store.remove_all_but(newest).map_err(trouble)?;
            match gone.as_slice() {
                [] => "Nothing to remove.".into(),
                gone => format!("Removed {}.", shorts(gone)),
            }
        } else if let Some(label) = &self.unlabel {
            let mut store = open_to_change()?;
            let words = if self.runs.is_empty() { vec![label.to_string()] } else { self.runs.clone() };
            let ids = resolve_all(&store, &words)?;
            store.unlabel(label, &ids).map_err(trouble)?;
            format!("Took the label {label} from {}.", shorts(&ids))
        } else if let (Some(label), false) = (&self.label, self.runs.is_empty()) {
            let mut store = open_to_change()?;
            let ids = resolve_all(&store, &self.runs)?;
            store.label(label, &ids).map_err(trouble)?;
            format!("Gave the label {label} to {}.", shorts(&ids))
        } else {
            return list(&self);
        };
        Ok(Answer { remarks: vec![remark], ..Answer::default() })
    }
}

fn resolve_all(store: &Store, words: &[String]) -> Result<Vec<RunId>, Trouble> {
    let mut ids: Vec<RunId> = Vec::new();
    for word in words {
        ids.extend(resolve(store, word)?);
    }
    ids.order();
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
    ids.order();
    ids.dedup();
    calibrations.order();
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
    let filtered = !arguments.runs.is_empty()
        || arguments.label.is_some()
        || arguments.last.is_some()
        || arguments.experiment.is_some()
        || arguments.machine.is_some();
    if !arguments.runs.is_empty() {
        let meant = resolve_all(&store, &arguments.runs)?;
        entries.retain(|entry| meant.contains(&entry.id));
    }
    if let Some(label) = &arguments.label {
        entries.retain(|entry| of(&entry.id).contains(label));
    }
    if let Some(name) = &arguments.experiment {
        named(std::slice::from_ref(name))?;
        entries.retain(|entry| entry.summary.experiments.contains(name));
    }
    if let Some(machine) = &arguments.machine {
        let machine = machine.to_lowercase();
        entries.retain(|entry| {
            let RunSummary { architecture, cpu_model, .. } = &entry.summary;
            format!("{architecture} {cpu_model}").to_lowercase().contains(&machine)
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
            summary: entry.summary.clone(),
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
        super::json(&listed.into_iter().map(Element::Run).chain(damaged).collect::<Vec<_>>())?
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
            "{harmed} of the entries in {} cannot be read; `tenbin export --intact -o FILE` saves the rest, \
             `tenbin runs --rm ID` removes a damaged one.",
            store.path().display()
        )
    });
    Ok(Answer { remarks: Vec::from_iter(remark), ..Answer::text(text) })
}

fn line(run: &ListedRun) -> String {
    let labels = run.labels.iter().map(|label| format!(" [{label}]")).collect::<String>();
    let RunSummary { started, cpu_model, experiments, samples, .. } = &run.summary;
    let noun = if *samples == 1 { "epoch " } else { "epochs" };
    format!(
        "{}  {}  {samples:>8} {noun}  {cpu_model}  {}{labels}\n",
        &run.id[..12],
        to_seconds(started),
        experiments.join(" ")
    )
}

fn broken_line(damage: &Damage) -> String {
    format!("{}  damaged: {}\n", damage.name.get(..12).unwrap_or(&damage.name), damage.what)
}

/// An element of what `runs --json` prints.
#[derive(serde::Serialize, schemars::JsonSchema)]
#[serde(untagged)]
enum Element {
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
