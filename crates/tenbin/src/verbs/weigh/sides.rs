//! Functions and workers that `tenbin weigh` was given in the place of commands.

use std::path::{Path, PathBuf};

use tenbin_lab::survey::cpus;
use tenbin_lab::weigh::Place;
use tenbin_lab::workers::{Adopted, Functions, Instructions, Question, Sides};
use tenbin_model::Quantity;

use super::Weigh;
use crate::output::Trouble;

impl Weigh {
    /// Workers or functions, where it is those and no commands that were given.
    pub(super) fn sides(&self) -> Result<Option<Sides>, Trouble> {
        if !self.worker.is_empty() {
            let lines = self.worker.clone();
            return Ok(Some(Sides::Workers { lines, kept: self.keep_workers, folder: None }));
        }
        if self.asm {
            let (lines, init) = (self.commands.clone(), self.init.clone());
            return Ok(Some(Sides::Instructions(Instructions { lines, init })));
        }
        let named = |word: &String| Functions::files_in(word, self.adopt.is_some());
        let missing = |files: Option<Vec<PathBuf>>| files?.into_iter().find(|file| !file.is_file());
        let is_there = |files: &Vec<PathBuf>| {
            !self.rev.is_empty() || self.bisect || files.iter().all(|file| file.is_file())
        };
        let files: Vec<_> = self.commands.iter().map(|word| named(word).filter(is_there)).collect();
        let of = |wanted: bool| {
            let place = files.iter().position(|files| files.is_some() == wanted)?;
            Some(self.commands[place].as_str())
        };
        let Some(function) = of(true) else {
            let given = [
                (!self.call.is_empty(), "--call"),
                (!self.cflags.is_empty(), "--cflags"),
                (self.one_layout.is_some(), "--one-layout"),
                (self.adopt.is_some(), "--adopt"),
                (self.threads.is_some(), "--threads"),
            ];
            return match given.iter().find(|(given, _)| *given) {
                None => Ok(None),
                Some(_) if let Some(missing) = missing(named(&self.commands[0])) => Err(absent(&missing)),
                Some((_, option)) => Err(Trouble::usage(format!(
                    "{option} is for files of functions (.c, .S, .rs, .o, .so), and `{}` is none",
                    self.commands[0]
                ))),
            };
        };
        if let Some(command) = of(false) {
            if let Some(missing) = missing(Functions::files_in(command, false)) {
                return Err(absent(&missing));
            }
            return Err(Trouble::usage(format!(
                "`{function}` is a file of functions and `{command}` is not: give functions, or commands (`./{function}` is one)"
            )));
        }
        let is_absolute = |files: &Vec<PathBuf>| files.iter().all(|file| file.is_absolute());
        // Only options can make it another one.
        let is_weighed_at_revisions = (!self.rev.is_empty() || self.bisect) && self.cflags.is_empty();
        if let (true, Some(files)) =
            (is_weighed_at_revisions, files.iter().flatten().find(|files| is_absolute(files)))
        {
            return Err(Trouble::usage(format!(
                "{}: that is the same file in each revision; name it as it is seen from here",
                files[0].display()
            )));
        }
        Ok(Some(Sides::Functions(Functions {
            sides: files.into_iter().flatten().collect(),
            folders: Vec::new(),
            callers: self.call.clone(),
            flags: self.cflags.clone(),
            layout: self.one_layout,
            adopted: Adopted::NAMES
                .iter()
                .find(|(name, _)| Some(*name) == self.adopt.as_deref())
                .map(|it| it.1),
            threads: self.threads,
        })))
    }

    /// That nothing was asked for which only commands have.
    pub(super) fn not_for_commands(&self) -> Result<(), Trouble> {
        let given = [
            (self.warmup > 0, "--warmup"),
            (self.metric != [Quantity::WallTime], "--metric"),
            (self.same_output, "--same-output"),
            (self.check.is_some(), "--check"),
            (self.ignore_failure.is_some(), "--ignore-failure"),
            (self.reference.is_some(), "--reference"),
            (self.above.is_some(), "--above"),
            (!self.parameter_list.is_empty(), "--parameter-list"),
            (self.parameter_scan.is_some(), "--parameter-scan"),
            (self.setup.is_some(), "--setup"),
            (!self.prepare.is_empty(), "--prepare"),
            (!self.conclude.is_empty(), "--conclude"),
            (self.cleanup.is_some(), "--cleanup"),
            (self.shell.is_some() || self.no_shell, "--shell"),
            (self.input.is_some(), "--input"),
            (!self.output.is_empty() || self.show_output, "--output"),
            (self.time_unit.is_some(), "--time-unit"),
            (self.sort != "auto", "--sort"),
            (self.asm && !self.command_name.is_empty(), "--command-name"),
        ];
        let what = "is for commands, and functions or workers are weighed here";
        match given.iter().find(|(given, _)| *given) {
            None => self.exports.is_not_asked_for("hyperfine's files hold runs of commands, not functions"),
            Some((_, option)) => Err(Trouble::usage(format!("{option} {what}"))),
        }
    }

    /// What is asked of functions or workers; of functions in these places, if there are any.
    pub(super) fn question_of(&self, sides: Sides, placed: &[(String, Place)]) -> Result<Question, Trouble> {
        let cpus = self.cpus.as_deref().map_or(Ok(Vec::new()), |list| cpus(Some(list)))?;
        let mut names = self.command_name.clone();
        // Each function at one revision against another.
        let together = (!placed.is_empty()).then(|| placed.len() / self.commands.len().max(1));
        let sides = match sides {
            Sides::Functions(functions) if !placed.is_empty() => {
                names.extend(placed.iter().skip(names.len()).map(|(_, place)| place.name.clone()));
                let files = |(word, place): &(String, Place)| {
                    let files = Functions::files_in(word, self.adopt.is_some()).unwrap_or_default();
                    files.into_iter().map(|file| place.folder.join(file)).collect()
                };
                Sides::Functions(Functions {
                    sides: placed.iter().map(files).collect(),
                    folders: placed.iter().map(|(_, place)| place.folder.clone()).collect(),
                    ..functions
                })
            }
            sides => sides,
        };
        Ok(Question {
            sides,
            names,
            together,
            within: self.within,
            margin: self.margin,
            level: self.level,
            least_runs: self.runs.or(self.min_runs),
            most_runs: self.runs.or(self.max_runs),
            cpus,
            claims: None,
        })
    }
}

/// A file that is not there. Libraries are looked for by their paths, and not as the loader does.
fn absent(file: &Path) -> Trouble {
    let name = file.display().to_string();
    let where_libraries_are = if name.contains(".so") && !name.contains('/') {
        "; `ldconfig -p` says where libraries are"
    } else {
        ""
    };
    Trouble::usage(format!("{name}: there is no such file{where_libraries_are}"))
}
