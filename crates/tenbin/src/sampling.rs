//! `tenbin profile --sample`: its arguments, and the files for other tools.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use serde::Deserialize;
use tenbin_analysis::stacks::export::Kind;
use tenbin_lab::profile::kernel::Unprofiled;
use tenbin_lab::profile::stacks;
use tenbin_model::schema::Shape;
use tenbin_model::{Machine, Stacks};

use crate::measurement::date;
use crate::output::{self, Trouble};

/// Samples a second where nobody says how many: a prime, so that they fall in step with nothing.
const FREQUENCY: u32 = 997;

/// What there is to sample, and where to write it.
#[derive(Args)]
pub struct Sampling {
    /// Say in which functions its threads were instead: on a CPU by samples, off it by every switch
    #[arg(long, conflicts_with = "from")]
    pub sample: bool,
    /// Samples a second of each CPU [default: 997]
    #[arg(long, value_name = "HZ", requires = "sample", value_parser = clap::value_parser!(u32).range(1..=20_000))]
    frequency: Option<u32>,
    /// Write the stacks for another tool too: folded, speedscope, pprof, firefox or perfetto; may be given
    /// several times
    #[arg(long, value_name = "KIND=FILE")]
    export: Vec<Export>,
}

/// A file for another tool.
#[derive(Clone)]
struct Export {
    kind: Kind,
    path: PathBuf,
}

impl FromStr for Export {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (kind, path) = text.split_once('=').unwrap_or((text, ""));
        let kind = kind.parse()?;
        if path.is_empty() {
            return Err(format!("it names no file; write {text}=FILE").replace("==", "="));
        }
        Ok(Self { kind, path: path.into() })
    }
}

/// What a file says that it is.
#[derive(Deserialize)]
struct Titled {
    schema: String,
}

/// A file that begins as an object in JSON does; empty where it begins otherwise.
fn json(path: &Path) -> io::Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let mut bytes = vec![0];
    file.read_exact(&mut bytes)?;
    if bytes != b"{" {
        return Ok(Vec::new());
    }
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

impl Sampling {
    /// Whether the files can be written, asked before there is anything to write.
    ///
    /// # Errors
    /// A usage error: what is wrong with which.
    pub fn can_be_written(&self, has_file: bool) -> Result<(), Trouble> {
        if !self.export.is_empty() && !self.sample && !has_file {
            return Err(Trouble::usage("--export writes stacks, which only --sample takes; add --sample"));
        }
        output::each_elsewhere(self.export.iter().map(|export| export.path.as_path()))?;
        self.export.iter().try_for_each(|export| output::can_be_written(&export.path))
    }

    /// The stacks in a file, and which files they were exported to; none where it holds something else and
    /// nothing is to be exported.
    ///
    /// # Errors
    /// A usage error: why it cannot be read.
    pub fn read(&self, from: &Path) -> Result<Option<(Stacks, Vec<String>)>, Trouble> {
        let name = from.display();
        // Standard input can be read only once, and is for whoever reads profiles.
        let is_file = fs::metadata(from).is_ok_and(|metadata| metadata.is_file());
        // A log of strace may be longer than memory, and is no JSON.
        let bytes = if is_file { json(from).unwrap_or_default() } else { Vec::new() };
        let titled = serde_json::from_slice::<Titled>(&bytes).ok();
        if titled.is_none_or(|titled| titled.schema != Stacks::SCHEMA) {
            if self.export.is_empty() {
                return Ok(None);
            }
            return Err(Trouble::usage(format!(
                "read {name}: it holds no stacks to export; take some with `tenbin profile --sample -o FILE.json -- \
                 COMMAND`"
            )));
        }
        let wrong = |why: String| Trouble::usage(format!("read {name} as stacks in JSON: {why}"));
        let stacks: Stacks = serde_json::from_slice(&bytes).map_err(|error| wrong(error.to_string()))?;
        stacks.check().map_err(wrong)?;
        let written = self.export(&stacks)?;
        Ok(Some((stacks, written)))
    }

    /// Runs the command, and says where it was.
    ///
    /// # Errors
    /// What is lacking.
    pub fn take(
        &self,
        command: Command,
        words: Vec<String>,
        deadline: Duration,
        machine: Machine,
    ) -> Result<Stacks, Unprofiled> {
        let frequency = self.frequency.unwrap_or(FREQUENCY);
        stacks::sample(command, words, deadline, frequency, Some(machine), date())
    }

    /// Writes the files for other tools, and says which.
    ///
    /// # Errors
    /// Why one cannot be written.
    pub fn export(&self, stacks: &Stacks) -> Result<Vec<String>, Trouble> {
        let written = self.export.iter().map(|Export { kind, path }| {
            output::write_whole(path, |file| file.write_all(&kind.written(stacks)))?;
            Ok(format!("Wrote {}.", path.display()))
        });
        written.collect()
    }
}
