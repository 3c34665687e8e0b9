//! The commands whose truth is known: additions, as many as they are asked for.

use std::path::{Path, PathBuf};

use xtask::command::Command;
use xtask::failure::Failure;
use xtask::workspace::Workspace;

/// Runs of each command by which the machine is looked at.
const RUNS: usize = 40;

/// Additions by which it is looked at.
const ADDITIONS: f64 = 2e7;

/// Two programs of ours, compiled into a folder in which every command is run.
pub(super) struct Spinner {
    pub(super) folder: PathBuf,
    /// The least time of a run without additions, in nanoseconds.
    start: f64,
    /// What an addition takes.
    addition: f64,
}

impl Spinner {
    /// Compiles, and looks how fast this machine adds.
    pub(super) fn set_up(workspace: &Workspace) -> Result<Self, Failure> {
        let folder = workspace.scratch("commands")?;
        compile(workspace, &folder)?;
        let mut spinner = Self { folder, start: 0.0, addition: 0.0 };
        // Whatever else runs makes runs longer and none shorter.
        let least = |additions| Ok(spinner.times(RUNS, additions)?.into_iter().fold(f64::INFINITY, f64::min));
        let (start, longer) = (least(0)?, least(ADDITIONS as u64)?);
        (spinner.start, spinner.addition) = (start, (longer - start) / ADDITIONS);
        if spinner.addition > 0.0 {
            return Ok(spinner);
        }
        let reason = format!("runs without them took {start} ns, and with them {longer} ns");
        Err(Failure::new("measure what additions take", reason, "ask again on a machine with less to do"))
    }

    /// The additions of a run that takes so many milliseconds, and of one that is slower by so many per cent.
    /// What starting takes is part of both runs, so it is part of what `effect` is a part of.
    pub(super) fn additions(&self, time: u32, effect: f64) -> [u64; 2] {
        // Where starting takes most of it, the run gets longer: it has to be mostly additions.
        let spun = (f64::from(time) * 1e6 - self.start).max(self.start);
        let slower = spun + (self.start + spun) * effect / 100.0;
        [spun, slower].map(|spun| (spun / self.addition).round() as u64)
    }

    /// A run with so many additions, as tools are told to run it in the folder.
    pub(super) fn command(additions: u64) -> String {
        format!("./spin {additions}")
    }

    /// What so many runs take, by the launcher, in nanoseconds.
    pub(super) fn times(&self, runs: usize, additions: u64) -> Result<Vec<f64>, Failure> {
        let words = ["times", &runs.to_string(), "./spin", &additions.to_string()].map(String::from);
        let text = self.launch().arguments(words).read()?;
        let times: Result<Vec<f64>, _> = text.lines().map(str::parse).collect();
        times.ok().filter(|times| times.len() == runs).ok_or_else(|| {
            Failure::new("read the times of the launcher", text, "look into eval/src/commands/launch.c")
        })
    }

    pub(super) fn launch(&self) -> Command {
        Command::new(self.folder.join("launch")).directory(&self.folder)
    }

    /// What a reader needs to know of the commands.
    pub(super) fn in_words(&self, times: &[u32]) -> String {
        let mut text = format!(
            "- starting a command takes {:.2} ms at least, an addition {:.3} ns\n",
            self.start / 1e6,
            self.addition
        );
        for &time in times {
            let [additions, _] = self.additions(time, 0.0);
            let planned = (self.start + additions as f64 * self.addition) / 1e6;
            text.push_str(&format!(
                "- a run of {time} ms: {additions} additions, {planned:.2} ms on an idle machine\n"
            ));
        }
        text
    }
}

fn compile(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    for name in ["spin", "launch"] {
        let source = workspace.root().join("eval/src/commands").join(format!("{name}.c"));
        let command = Command::new("cc").arguments(["-std=gnu11", "-O1", "-Wall", "-Wextra", "-o"]);
        let command = command.argument(folder.join(name)).argument(source);
        command.remedy("install a C compiler, or correct what it names").read()?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_effect_is_a_part_of_the_whole_run() {
        let spinner = Spinner { folder: PathBuf::new(), start: 400_000.0, addition: 0.5 };
        assert_eq!(spinner.additions(1, 0.0), [1_200_000; 2]);
        assert_eq!(spinner.additions(1, 5.0), [1_200_000, 1_300_000]);
        let slow = Spinner { start: 3e6, ..spinner };
        assert_eq!(slow.additions(1, 1.0), [6_000_000, 6_120_000]);
    }

    #[test]
    fn the_programs_do_what_they_say_and_refuse_the_rest() {
        let workspace = Workspace::find().expect("the test runs in the repository");
        let folder = workspace.scratch("commands-test").expect("there is room");
        compile(&workspace, &folder).expect("the linker of rustc compiles C too");
        let spinner = Spinner { folder: folder.clone(), start: 0.0, addition: 0.0 };
        assert_eq!(spinner.times(3, 10).expect("it adds").len(), 3);
        for wrong in [&["spin"][..], &["spin", "x"], &["spin", "1", "2"], &["spin", ""]] {
            let command = Command::new(folder.join(wrong[0])).arguments(wrong[1..].iter().copied());
            assert_eq!(command.capture_quietly().expect("it runs").code, Some(2), "{wrong:?}");
        }
        for (words, status) in [
            (&["peak", "true"][..], 0),
            (&["peak", "false"], 1),
            (&["times", "2", "false"], 1),
            (&["times", "0", "true"], 125),
            (&["peak", "./tenbin-no-such-program"], 125),
        ] {
            let output = spinner.launch().arguments(words.iter().copied()).capture_quietly();
            assert_eq!(output.expect("it runs").code, Some(status), "{words:?}");
        }
    }
}
