//! `tenbin import`: the runs of a file.

use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_model::Run;
use tenbin_model::words::comma;
use tenbin_store::neighbours::reading::{self, Unread};
use tenbin_store::{Merge, Store};

use super::{Verb, Work};
use crate::output::{Answer, Exit, Trouble};
use crate::store::{open, trouble};

/// Take the runs of a file into the store; what is there already stays as it is
#[derive(Args)]
pub struct Import {
    /// A file that `tenbin export` wrote, another machine's store, or what another tool measured: JSON of
    /// hyperfine, Google Benchmark, pyperf or criterion, Go's benchmark text, or CSV
    file: PathBuf,
}

pub const VERB: Verb = Verb::of::<Import>("import");

impl Work for Import {
    fn run(self) -> Result<Answer, Trouble> {
        import(&[self.file])
    }
}

/// Takes in what is in the files: all or nothing of each. Of several files one that cannot be taken in does
/// not keep the others out, and what was taken in is said before it is named.
pub fn import(files: &[PathBuf]) -> Result<Answer, Trouble> {
    let mut store = open()?;
    let mut answer = Answer::text(String::new());
    for (place, file) in files.iter().enumerate() {
        let taken = match reading::read(std::slice::from_ref(file)) {
            Ok(run) => foreign(&mut store, file, &run),
            Err(Unread::Unknown(_) | Unread::Io { .. }) => store.import(file).map_err(trouble),
            Err(wrong) => Err(Trouble::usage(wrong.to_string())),
        };
        match taken {
            Ok(merge) => answer.text.push_str(&imported(file, &merge)),
            Err(trouble) => {
                answer.remarks.push(trouble.to_string());
                answer.exit = trouble.exit;
                // It is not the file's fault: the next one would meet the same.
                if trouble.exit == Exit::Internal {
                    let rest = files[place + 1..].iter().map(|file| file.display().to_string());
                    let rest: Vec<String> = rest.collect();
                    if !rest.is_empty() {
                        answer.remarks.push(format!("tenbin: not tried: {}", comma(&rest)));
                    }
                    break;
                }
            }
        }
    }
    Ok(answer)
}

/// Keeps what another tool measured.
fn foreign(store: &mut Store, file: &Path, run: &Run) -> Result<Merge, Trouble> {
    if run.trials.iter().all(|trial| trial.cells.is_empty()) {
        return Err(Trouble::usage(format!(
            "{}: it holds means and no samples, so there is nothing to keep; `tenbin weigh --from {}` shows them",
            file.display(),
            file.display()
        )));
    }
    let before = store.list().map_err(trouble)?.runs;
    let id = store.keep_as(run, None).map_err(trouble)?;
    let is_known = before.iter().any(|entry| entry.id == id);
    let (added, present) = if is_known { (Vec::new(), vec![id]) } else { (vec![id], Vec::new()) };
    Ok(Merge { added, present, ..Merge::default() })
}

fn imported(file: &Path, merge: &Merge) -> String {
    let (added, present) = (merge.added.len(), merge.present.len());
    let mut line = format!("{}: {added} new, {present} already there", file.display());
    // By what it may be asked for.
    if let [id] = [&merge.added[..], &merge.present[..]].concat()[..] {
        line.push_str(&format!("; run {}", id.short()));
    }
    let (added, present) = (merge.calibrations_added.len(), merge.calibrations_present.len());
    if added + present > 0 {
        line.push_str(&format!("; calibrations: {added} new, {present} already there"));
    }
    if merge.labels_added > 0 {
        line.push_str(&format!("; labels: {} new", merge.labels_added));
    }
    line + "\n"
}
