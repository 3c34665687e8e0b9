//! `tenbin report`: a run as a page.

use std::path::PathBuf;

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::analyses;
use tenbin_store::{Label, RunId};

use super::{Verb, Work, compare, show};
use crate::output::{Answer, Trouble, can_be_written};
use crate::store::{open_existing, resolve, trouble};

/// Write a run as one file for a browser: answers, pictures, tables
///
/// The file needs nothing else: it loads nothing, and can be read from a disk, by mail or as an artifact of a
/// build. The same run makes the same file. Several runs stand side by side in it, with how far each of their
/// ratios moved.
#[derive(Args)]
pub struct Report {
    /// The start of a run's id, `latest`, or a label, which means every run that bears it; several are set
    /// side by side
    #[arg(default_value = "latest", value_name = "RUN")]
    runs: Vec<String>,
    /// The file to write, replacing it; - is standard output
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,
    /// Add every sample, and a program that draws them when they are unfolded
    #[arg(long, conflicts_with = "markdown")]
    samples: bool,
    /// Write Markdown for a pull request: the answers in at most 40 lines, with all else folded below them,
    /// the machine and its kernel's command line among it
    #[arg(long)]
    markdown: bool,
}

pub const VERB: Verb = Verb::of::<Report>("report");

impl Work for Report {
    fn run(self) -> Result<Answer, Trouble> {
        can_be_written(&self.output)?;
        let store = open_existing()?;
        let mut ids = Vec::new();
        for id in
            self.runs.iter().map(|which| resolve(&store, which)).collect::<Result<Vec<_>, _>>()?.concat()
        {
            // The same run by another of its names.
            if !ids.contains(&id) {
                ids.push(id);
            }
        }
        if self.samples && ids.len() > 1 {
            let why = format!("--samples is for one run, and these are {}: name one", ids.len());
            return Err(Trouble::usage(why));
        }
        let load = |id: &RunId| show::load(&store, &id.to_string());
        let runs: Vec<_> = ids.iter().map(load).collect::<Result<_, _>>()?;
        let labels = store.labels().map_err(trouble)?;
        let label = |id: &RunId| labels.get(id).and_then(|labels| labels.first()).map(Label::to_string);
        let labels: Vec<_> = ids.iter().map(label).collect();
        let page = match &runs[..] {
            [(run, reported)] => report::as_page(&analyses(), run, reported, self.samples),
            [_, _] => {
                let across = compare::sides(&store, &ids[..1], &ids[1..])?;
                report::as_page_of_several(&analyses(), &runs, &labels, Some(&across))
            }
            several => report::as_page_of_several(&analyses(), several, &labels, None),
        };
        let text = if self.markdown { page.markdown() } else { page.html() };
        Ok(Answer { to: Some(self.output), ..Answer::text(text) })
    }
}
