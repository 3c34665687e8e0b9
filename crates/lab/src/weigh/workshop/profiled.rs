//! A run of a command under observation.

use std::fs::File;
use std::process::{Command, Stdio};
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::launcher::ProcessEnd;
use tenbin_metal::profiler::Profiler;
use tenbin_model::Profile;

use super::super::Output;
use super::{Prepared, Workshop, command_name, ended, wrong};
use crate::experiment::{Failure, Unfit};
use crate::profile::Observed;
use crate::profile::kernel::{self, Unprofiled};

impl Workshop {
    /// Runs a command once under observation, with what belongs before and after it.
    pub(in crate::weigh) fn profile(&mut self, place: usize) -> Result<Profile, Unprofiled> {
        let Prepared { prepare, conclude, .. } = self.commands[place].clone();
        let hooked = |unfit: Unfit| match wrong(unfit) {
            Failure::Wrong(words) => Unprofiled::Failed(words),
            Failure::Machine(fault) => Unprofiled::Failed(fault.to_string()),
        };
        self.open().map_err(hooked)?;
        if let Some(prepare) = prepare {
            self.hook(place, "preparation", &prepare, true).map_err(hooked)?;
        }
        let own = &self.commands[place];
        let words: Vec<String> = own.words.iter().map(|word| word.replace("{seed}", "0")).collect();
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]);
        if let Some(folder) = &own.folder {
            command.current_dir(folder);
        }
        let fault = |what: String, error| Unprofiled::Failed(Fault::system(what, error).to_string());
        command.stdin(match &self.input {
            None => Stdio::null(),
            Some(path) => {
                File::open(path).map_err(|error| fault(format!("read {}", path.display()), error))?.into()
            }
        });
        match &own.output {
            Output::Inherit => {}
            Output::File(path) => {
                let file = File::create(path);
                command.stdout(file.map_err(|error| fault(format!("write {}", path.display()), error))?);
                command.stderr(Stdio::null());
            }
            Output::Null | Output::Pipe => {
                command.stdout(Stdio::null()).stderr(Stdio::null());
            }
        }
        let deadline = Duration::from_nanos(self.longest.0 / 1_000);
        let profiler = Profiler::attach(false).map_err(Unprofiled::Unattached)?;
        let (machine, started, files) = (None, String::new(), false);
        let observed = Observed { command, words, deadline, machine, started, files };
        let profile = kernel::profile_by(profiler, observed)?;
        if let Some(conclude) = conclude {
            self.hook(place, "conclusion", &conclude, true).map_err(hooked)?;
        }
        let end = match profile.exit_status.and_then(|status| i32::try_from(status).ok()) {
            None => ProcessEnd::OutOfTime,
            Some(signal) if signal >= 256 => ProcessEnd::Signalled(signal - 256),
            Some(status) => ProcessEnd::Exited(status),
        };
        if self.is_fine(end) {
            return Ok(profile);
        }
        let line = command_name(&self.commands[place].line);
        Err(Unprofiled::Failed(format!("{line} {} when it was profiled", ended(end))))
    }
}
