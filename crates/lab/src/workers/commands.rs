//! Workers that a user has: a command each.

use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use tenbin_model::Cpu;

use super::members::Source;
use super::worker::Worker;
use crate::experiment::Failure;

/// What starts a user's workers.
pub(super) struct Commands {
    pub(super) words: Vec<Vec<String>>,
    /// The program of each, as it is seen from anywhere.
    pub(super) programs: Vec<PathBuf>,
    /// Where they run; the current folder if none is given.
    pub(super) folder: Option<PathBuf>,
    pub(super) cpu: Cpu,
    pub(super) within: Duration,
    pub(super) kept: bool,
}

impl Source for Commands {
    fn start(&mut self, place: usize, _layout: u32) -> Result<Worker, Failure> {
        let words = &self.words[place];
        let mut command = Command::new(&self.programs[place]);
        command.arg0(&words[0]).args(&words[1..]);
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        Ok(Worker::start(command, Some(self.cpu), self.within)?)
    }

    fn is_laid_anew(&self) -> bool {
        !self.kept
    }

    fn is_runner(&self) -> bool {
        false
    }
}
