//! `tenbin import`: the runs of a file.

use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_model::words::comma;
use tenbin_store::Merge;

use super::{Verb, Work};
use crate::output::{Answer, Exit, Trouble};
use crate::store::{open, trouble};

/// Take the runs of a file into the store; what is there already stays as it is
#[derive(Args)]
pub struct Import {
    /// A file that `tenbin export` wrote, or another machine's store
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
        match store.import(file) {
            Ok(merge) => answer.text.push_str(&imported(file, &merge)),
            Err(error) => {
                let trouble = trouble(error);
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

fn imported(file: &Path, merge: &Merge) -> String {
    let (added, present) = (merge.added.len(), merge.present.len());
    let mut line = format!("{}: {added} new, {present} already there", file.display());
    let (added, present) = (merge.calibrations_added.len(), merge.calibrations_present.len());
    if added + present > 0 {
        line.push_str(&format!("; calibrations: {added} new, {present} already there"));
    }
    if merge.labels_added > 0 {
        line.push_str(&format!("; labels: {} new", merge.labels_added));
    }
    line + "\n"
}
