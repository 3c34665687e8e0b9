//! Files that hyperfine would have written beside its answer.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_model::Run;
use tenbin_model::words::comma;
use tenbin_store::neighbours::hyperfine::Results;

use crate::output::Trouble;
use crate::output::{Answer, Exit, can_be_written, each_elsewhere, write_whole};

const WRITTEN: &str = "What is written";

/// Where to write what runs came to.
#[derive(Args)]
pub struct Exports {
    /// Write the time of every run to a file, as JSON of hyperfine 1.20; - is standard output. Times are in
    /// seconds
    #[arg(long, value_name = "FILE", help_heading = WRITTEN)]
    export_json: Option<PathBuf>,
    /// Write mean and deviation of each command as CSV. Times are in seconds
    #[arg(long, value_name = "FILE", help_heading = WRITTEN)]
    export_csv: Option<PathBuf>,
    /// Write them as a table in Markdown, in the unit of --time-unit and the order of --sort
    #[arg(long, value_name = "FILE", help_heading = WRITTEN)]
    export_markdown: Option<PathBuf>,
    /// Write them as a table in AsciiDoc
    #[arg(long, value_name = "FILE", help_heading = WRITTEN)]
    export_asciidoc: Option<PathBuf>,
    /// Write them as a table in Emacs' org-mode
    #[arg(long, value_name = "FILE", help_heading = WRITTEN)]
    export_orgmode: Option<PathBuf>,
}

type Write = fn(&Results<'_>, &mut dyn io::Write) -> io::Result<()>;

impl Exports {
    /// Every file with what goes there.
    fn all(&self) -> impl Iterator<Item = (&Path, Write)> {
        let all: [(&Option<PathBuf>, Write); 5] = [
            (&self.export_json, |results, mut out| results.json(&mut out)),
            (&self.export_csv, |results, mut out| results.csv(&mut out)),
            (&self.export_markdown, |results, mut out| results.markdown(&mut out)),
            (&self.export_asciidoc, |results, mut out| results.asciidoc(&mut out)),
            (&self.export_orgmode, |results, mut out| results.orgmode(&mut out)),
        ];
        all.into_iter().filter_map(|(path, write)| Some((path.as_deref()?, write)))
    }

    /// That none is to be written, for the reason `why`.
    ///
    /// # Errors
    /// A usage error that names the first.
    pub fn is_not_asked_for(&self, why: &str) -> Result<(), Trouble> {
        match self.all().next() {
            None => Ok(()),
            Some((path, _)) => Err(Trouble::usage(format!("{}: {why}", path.display()))),
        }
    }

    /// Whether all of them can be written, asked before anything is measured.
    ///
    /// # Errors
    /// Names the path and the system's reason, or a path that is given twice.
    pub fn can_be_written(&self, answer: Option<&Path>) -> Result<(), Trouble> {
        each_elsewhere(self.all().map(|(path, _)| path).chain(answer))?;
        self.all().try_for_each(|(path, _)| can_be_written(path))
    }

    /// Writes all of them. What cannot be written is said beside the answer, which is there all the same.
    pub fn write(&self, run: &Run, answer: &mut Answer) {
        if self.all().next().is_none() {
            return;
        }
        let results = match Results::of(run) {
            Ok(results) => results,
            Err(why) => {
                let paths = comma(self.all().map(|(path, _)| path.display()));
                answer.remarks.push(format!("tenbin: not written: {paths}: {why}"));
                return;
            }
        };
        for (path, write) in self.all() {
            if let Err(trouble) = write_whole(path, |out| write(&results, out)) {
                answer.remarks.push(trouble.to_string());
                if matches!(answer.exit, Exit::Answered | Exit::Refused) {
                    answer.exit = trouble.exit;
                }
            }
        }
    }
}
