//! Workers that a user has: a command each.

use std::process::Command;
use std::time::Duration;

use tenbin_model::Cpu;

use super::members::Source;
use super::worker::Worker;
use crate::experiment::Failure;

/// What starts a user's workers.
pub(super) struct Commands {
    /// The words of each, its program first.
    pub(super) words: Vec<Vec<String>>,
    pub(super) cpu: Cpu,
    pub(super) within: Duration,
    /// Whether they are started once.
    pub(super) kept: bool,
}

impl Source for Commands {
    fn start(&mut self, place: usize, _layout: u32) -> Result<Worker, Failure> {
        let words = &self.words[place];
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        Ok(Worker::start(command, Some(self.cpu), self.within)?)
    }

    fn is_laid_anew(&self) -> bool {
        !self.kept
    }
}
