//! Where the tools meet: the kernels, built once for all of them, the CPU, and the time they have.

use std::path::{Path, PathBuf};
use std::time::Instant;

use super::Arguments;
use crate::cpus;
use tenbin_model::words::comma;
use xtask::architecture::Architecture;
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::requirement::Requirement;
use xtask::workspace::Workspace;

/// Below the root: the workspace that links the kernels into the peers.
const FOLDER: &str = "arena";

/// The program that does a number of operations of one work.
pub(super) const WORK: &str = "work";

/// The kernels, for programs in other languages.
pub(super) const LIBRARY: &str = "libarena_work.so";

pub(super) struct Stage<'a> {
    /// Where the repository is, and how tenbin is built.
    pub(super) workspace: &'a Workspace,
    pub(super) sources: PathBuf,
    /// What was installed and fetched for the arena; kept from one arena to the next.
    pub(super) tools: PathBuf,
    /// Where a tool may leave files; emptied when an arena begins.
    pub(super) scratch: PathBuf,
    /// The nanobench.h to use; one is fetched if there is none.
    pub(super) nanobench: Option<PathBuf>,
    binaries: PathBuf,
    /// The CPU that every tool is held on.
    pub(super) cpu: usize,
    pub(super) seconds: f64,
    /// Operations come in multiples of this, so that every effect is a whole number of them.
    pub(super) grain: u64,
    pub(super) works: Vec<Work>,
}

/// A kernel, by the number that the shared library knows it by.
pub(super) struct Work {
    pub(super) index: u32,
    pub(super) name: String,
    /// What one operation takes here, roughly: to choose how many make an epoch.
    pub(super) nanoseconds: f64,
    /// What a process takes that does no operation at all, in seconds.
    pub(super) fixed: f64,
}

/// Operations of the left and of the right side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operations {
    pub(crate) left: u64,
    pub(crate) right: u64,
}

/// The sources of the arena.
fn sources(workspace: &Workspace) -> PathBuf {
    workspace.root().join(FOLDER)
}

/// Cargo in the arena's own workspace, to test it: it takes what it can of what is built for tenbin, and
/// leaves out the library that other programs load, for which everything would be compiled once more.
pub(super) fn testing(workspace: &Workspace) -> Command {
    let sources = sources(workspace);
    workspace
        .cargo()
        .directory(&sources)
        .variable("CARGO_TARGET_DIR", workspace.target())
        // The functions of a program for one pair of them; another one is named where that is built.
        .variable("ARENA_PAIR", sources.join("functions/src/pair.rs"))
        .remedy("correct what the compiler names above")
}

/// As that, to build what meets its peers.
pub(crate) fn cargo(workspace: &Workspace) -> Command {
    // The house links statically, and a library that other programs load cannot.
    testing(workspace).variable("RUSTFLAGS", "-C target-feature=-crt-static")
}

/// Where cargo leaves programs that are built with this profile.
pub(crate) fn binaries(workspace: &Workspace, profile: &str) -> PathBuf {
    workspace.target().join(Architecture::HERE.names().target).join(profile)
}

/// `program`, held on the first CPU that this process may use.
pub(crate) fn pinned(program: &Path) -> Result<Command, Failure> {
    Ok(pinned_to(first_cpu()?, program))
}

fn pinned_to(cpu: usize, program: &Path) -> Command {
    Command::new("taskset").arguments(["--cpu-list", &cpu.to_string()]).argument(program)
}

/// What no tool can do without.
pub(super) fn needs() -> Vec<Requirement> {
    vec![Requirement::program("util-linux", "taskset"), Requirement::program("g++", "g++")]
}

impl<'a> Stage<'a> {
    pub(super) fn set_up(workspace: &'a Workspace, arguments: &Arguments) -> Result<Self, Failure> {
        let grain = grain(&arguments.effects)?;
        let seconds = arguments.seconds;
        let nanobench = arguments.nanobench.as_deref().map(header).transpose()?;
        let sources = sources(workspace);
        cargo(workspace).arguments(["build", "--release", "--workspace", "--locked"]).run()?;
        let binaries = binaries(workspace, "release");
        let tools = workspace.target().join("xtask/arena-tools");
        let scratch = workspace.scratch("arena")?;
        let cpu = first_cpu()?;
        let works = Vec::new();
        let mut stage =
            Self { workspace, sources, tools, scratch, nanobench, binaries, cpu, seconds, grain, works };
        stage.works = stage.look_at_works(&arguments.works)?;
        Ok(stage)
    }

    /// `program`, held on the CPU of the arena.
    pub(super) fn pinned(&self, program: &Path) -> Command {
        pinned_to(self.cpu, program)
    }

    /// The version of the crate `name` in the arena's lock file.
    pub(super) fn locked(&self, name: &str) -> Result<String, Failure> {
        let path = self.sources.join("Cargo.lock");
        let lock = std::fs::read_to_string(&path).map_err(|error| error.to_string());
        lock.and_then(|lock| version(&lock, name)).map_err(|reason| {
            Failure::new(format!("find {name} in {}", path.display()), reason, "run cargo in that folder")
        })
    }

    /// A program, or the library of kernels, that cargo built of the arena's own workspace.
    pub(super) fn built(&self, name: &str) -> PathBuf {
        self.binaries.join(name)
    }

    /// A source of ours below `peers`.
    pub(super) fn peer(&self, name: &str) -> PathBuf {
        self.sources.join("peers").join(name)
    }

    /// Compile the C++ source `name` against the kernels, and give the program's path.
    pub(super) fn compile(&self, name: &str, arguments: &[&str]) -> Result<PathBuf, Failure> {
        let program = self.scratch.join(name).with_extension("program");
        Command::new("g++")
            .arguments(["-O2", "-std=c++17", "-Wall", "-Wextra", "-o"])
            .argument(&program)
            .argument(self.peer(name))
            .argument(self.built(LIBRARY))
            .argument(format!("-Wl,-rpath,{}", self.binaries.display()))
            .arguments(arguments.iter().copied())
            .remedy("correct what the compiler names")
            .read()?;
        Ok(program)
    }

    fn look_at_works(&self, names: &[String]) -> Result<Vec<Work>, Failure> {
        let listing = self.pinned(&self.built(WORK)).read()?;
        let listed = listed(&listing).map_err(|reason| {
            let tried = "read the list of works";
            Failure::new(tried, reason, "make arena/src/main.rs and eval/src/arena/stage.rs agree")
        })?;
        if let Some(name) = names.iter().find(|name| !listed.iter().any(|work| work.name == **name)) {
            let known = comma(listed.iter().map(|work| &work.name));
            let tried = format!("find the work {name}");
            return Err(Failure::new(tried, "there is no such name", format!("use some of {known}")));
        }
        let chosen = |work: &Work| names.is_empty() || names.contains(&work.name);
        let mut works = listed.into_iter().filter(chosen).collect::<Vec<_>>();
        for work in &mut works {
            work.fixed = self.fixed(work)?;
        }
        Ok(works)
    }

    /// What a process costs that prepares the work and does nothing: the median of a few.
    fn fixed(&self, work: &Work) -> Result<f64, Failure> {
        let mut times = Vec::new();
        for _ in 0..5 {
            let started = Instant::now();
            self.pinned(&self.built(WORK)).arguments([work.name.as_str(), "0"]).read()?;
            times.push(started.elapsed().as_secs_f64());
        }
        times.sort_by(f64::total_cmp);
        Ok(times[times.len() / 2])
    }
}

impl Work {
    /// How many operations take about `nanoseconds`, in whole grains, and as many and `effect` more.
    pub(super) fn operations(&self, nanoseconds: f64, effect: f64, grain: u64) -> Operations {
        let grains = nanoseconds / self.nanoseconds / grain as f64;
        // At least one, and no more than a float can count.
        let left = (grains.round().clamp(1.0, 1e12) as u64) * grain;
        Operations { left, right: left + (left as f64 * effect).round() as u64 }
    }
}

/// The works in what the program says of them: name and nanoseconds on a line each.
fn listed(text: &str) -> Result<Vec<Work>, String> {
    let line = |(line, index): (&str, u32)| {
        let (name, nanoseconds) = line.split_once(' ').ok_or_else(|| format!("no space in `{line}`"))?;
        let nanoseconds = nanoseconds.parse::<f64>().map_err(|error| format!("`{line}`: {error}"))?;
        if nanoseconds > 0.0 && nanoseconds.is_finite() {
            Ok(Work { index, name: name.into(), nanoseconds, fixed: 0.0 })
        } else {
            Err(format!("`{line}`: an operation takes some time"))
        }
    };
    text.lines().zip(0..).map(line).collect()
}

/// The smallest power of ten of which every effect is a whole number of operations.
fn grain(effects: &[f64]) -> Result<u64, Failure> {
    let failure = |effect: f64, reason: &str| {
        let remedy = "give effects of at least 0 and below 1, with six decimals at most";
        Failure::new(format!("plant an effect of {effect}"), reason, remedy)
    };
    if let Some(effect) = effects.iter().find(|effect| !(0.0..1.0).contains(*effect)) {
        return Err(failure(*effect, "it is out of range"));
    }
    let whole = |value: f64| (value - value.round()).abs() < 1e-9;
    let fits = |grain: &u64| effects.iter().all(|effect| whole(effect * *grain as f64));
    let grain = (0..=6).map(|power| 10_u64.pow(power)).find(fits);
    grain.ok_or_else(|| failure(effects.iter().copied().fold(0.0, f64::max), "one of them is too fine"))
}

/// The whole path of a header, which a compiler will look for by its name.
pub(crate) fn header(path: &Path) -> Result<PathBuf, Failure> {
    let tried = || format!("use {} as nanobench.h", path.display());
    if path.file_name().is_none_or(|name| name != "nanobench.h") {
        return Err(Failure::new(tried(), "it has another name", "name a file nanobench.h"));
    }
    path.canonicalize().map_err(|error| Failure::new(tried(), error, "name a file that is there"))
}

/// The version of the crate `name` in a lock file.
fn version(lock: &str, name: &str) -> Result<String, String> {
    let wanted = format!("name = \"{name}\"");
    let mut lines = lock.lines().skip_while(|line| *line != wanted);
    let line = lines.nth(1).and_then(|line| line.strip_prefix("version = \""));
    line.map(|line| line.trim_end_matches('"').to_owned()).ok_or_else(|| "it is not listed".into())
}

/// The first CPU that this process may use.
fn first_cpu() -> Result<usize, Failure> {
    let first = cpus::allowed().first().copied();
    first.ok_or_else(|| Failure::new("find a CPU to run on", "the kernel names none", "report it"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn works_are_read_in_order_and_nonsense_is_not() {
        let works = listed("alu 0.2668\nchase 50.0000\n").expect("two lines");
        let read = works.iter().map(|work| (work.index, work.name.as_str(), work.nanoseconds));
        assert_eq!(read.collect::<Vec<_>>(), [(0, "alu", 0.2668), (1, "chase", 50.0)]);
        for text in ["alu", "alu fast", "alu 0", "alu inf"] {
            assert!(listed(text).is_err(), "{text}");
        }
    }

    #[test]
    fn operations_are_whole_grains_so_that_the_truth_is_exact() {
        let work = Work { index: 0, name: "alu".into(), nanoseconds: 3.0, fixed: 0.0 };
        let operations = work.operations(1e6, 0.01, 100);
        assert_eq!(operations, Operations { left: 333_300, right: 336_633 });
        assert_eq!(operations.truth(), 1.01);
        assert_eq!(work.operations(1.0, 0.01, 100), Operations { left: 100, right: 101 });
    }

    #[test]
    fn the_grain_makes_every_effect_whole() {
        for (effects, expected) in [
            (&[0.0][..], 1),
            (&[0.0, 0.01], 100),
            (&[0.5], 10),
            (&[0.002, 0.01], 1_000),
            (&[0.000_001], 1_000_000),
        ] {
            assert_eq!(grain(effects).expect("it fits"), expected, "{effects:?}");
        }
        for effects in [&[-0.01][..], &[1.0], &[f64::NAN], &[1.0 / 3.0]] {
            assert!(grain(effects).is_err(), "{effects:?}");
        }
    }

    #[test]
    fn the_version_is_that_of_the_lock_file() {
        let lock = "[[package]]\nname = \"criterion-plot\"\nversion = \"0.9.9\"\n\n[[package]]\nname = \"criterion\"\nversion = \"0.8.2\"\n";
        assert_eq!(version(lock, "criterion"), Ok("0.8.2".into()));
        assert!(version("", "criterion").is_err());
    }
}
