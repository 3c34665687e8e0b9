//! Benchmarks of tenbin itself, by name.

mod boot;
mod c2c;
mod fib;
mod firmware;
mod middle;
mod stop;
mod yes;

use std::path::{Path, PathBuf};

use tenbin_model::words::comma;
use xtask::architecture::{Architecture, Target};
use xtask::command::{Command, status_in_words};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

/// What `cargo xtask bench` may be told.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Name of the benchmark; all of them if left out.
    name: Option<String>,
    #[command(flatten)]
    boot: boot::Arguments,
    #[command(flatten)]
    c2c: c2c::Arguments,
    #[command(flatten)]
    firmware: firmware::Arguments,
    #[command(flatten)]
    yes: yes::Arguments,
}

struct Benchmark {
    name: &'static str,
    what: &'static str,
    kind: Kind,
}

enum Kind {
    /// A command line of tenbin: its answer, or its time, tells.
    Command(&'static [&'static str]),
    /// More than one program.
    Peers(fn(&Stand<'_>) -> Result<(), Failure>),
    /// Nothing of tenbin's binary.
    Alone(fn(&Workspace, &Arguments) -> Result<(), Failure>),
}

/// What a benchmark of several programs is given.
struct Stand<'a> {
    workspace: &'a Workspace,
    host: Architecture,
    binary: &'a Path,
    arguments: &'a Arguments,
}

/// All of them. Adding one is a line.
const BENCHMARKS: &[Benchmark] = &[
    Benchmark {
        name: "overhead",
        what: "what the engine itself costs",
        kind: Kind::Command(&["run", "null", "--thorough"]),
    },
    Benchmark { name: "survey", what: "how long the default command takes", kind: Kind::Command(&[]) },
    Benchmark {
        name: "boot",
        what: "how soon `tenbin boot check` and SPIN know what is wrong with a handshake",
        kind: Kind::Peers(|stand| boot::run(stand, &stand.arguments.c2c, &stand.arguments.boot)),
    },
    Benchmark {
        name: "c2c",
        what: "whether a line moves as fast as a program finds that measures nothing else",
        kind: Kind::Peers(|stand| c2c::run(stand, &stand.arguments.c2c)),
    },
    Benchmark {
        name: "fib",
        what: "what a Fibonacci number takes in a kernel, in instructions, and eight readers of it at once",
        kind: Kind::Peers(fib::run),
    },
    Benchmark {
        name: "firmware",
        what: "how often a boot handshake goes wrong in QEMU by chance",
        kind: Kind::Alone(|workspace, arguments| firmware::run(workspace, &arguments.firmware)),
    },
    Benchmark {
        name: "stop",
        what: "how exactly a guest stands still that its module stops",
        kind: Kind::Peers(stop::run),
    },
    Benchmark {
        name: "yes",
        what: "how fast lines go through a pipe, beside the peers of `tenbin yes`",
        kind: Kind::Peers(|stand| yes::run(stand, &stand.arguments.c2c, &stand.arguments.yes)),
    },
];

/// Run the benchmark of that name, or all of them, on the release binary.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    let chosen = choose(arguments.name.as_deref())?;
    let mut others = Vec::new();
    for benchmark in chosen {
        let Kind::Alone(run) = benchmark.kind else {
            others.push(benchmark);
            continue;
        };
        println!("\n{}: {}", benchmark.name, benchmark.what);
        run(workspace, arguments)?;
    }
    if others.is_empty() {
        return Ok(());
    }
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dist)?;
    let stand = Stand { workspace, host, binary: &binary, arguments };
    let store = workspace.scratch("bench")?.join("store.db");
    for benchmark in others {
        println!("\n{}: {}", benchmark.name, benchmark.what);
        match benchmark.kind {
            Kind::Command(words) => command(&stand, benchmark.name, words, &store)?,
            Kind::Peers(run) => run(&stand)?,
            Kind::Alone(_) => {}
        }
    }
    Ok(())
}

/// Show what tenbin answers to `words`, and how long that took.
fn command(stand: &Stand<'_>, name: &str, words: &[&str], store: &Path) -> Result<(), Failure> {
    let command = stand.host.command(stand.binary).arguments(words.iter().copied());
    let output = command.variable("TENBIN_STORE", store).capture()?;
    print!("{}{}", output.text, output.diagnostics);
    let status = status_in_words(output.code);
    println!("{name}: {:.2} s, {status}", output.time.as_secs_f64());
    if output.code == Some(0) {
        return Ok(());
    }
    Err(Failure::new(format!("run the benchmark {name}"), status, "read what it printed"))
}

/// Compiles a C program below `eval/src/bench` into `folder`, by these options.
fn compile(workspace: &Workspace, options: &[&str], source: &str, folder: &Path) -> Result<PathBuf, Failure> {
    let source = workspace.root().join("eval/src/bench").join(source);
    let program = folder.join(source.file_stem().unwrap_or_default());
    let command = Command::new("cc").arguments(options).arguments(["-Wall", "-Wextra", "-o"]);
    command.argument(&program).argument(source).remedy("correct what the compiler names").read()?;
    Ok(program)
}

fn choose(name: Option<&str>) -> Result<Vec<&'static Benchmark>, Failure> {
    let chosen = BENCHMARKS.iter().filter(|benchmark| name.is_none_or(|name| name == benchmark.name));
    let chosen = chosen.collect::<Vec<_>>();
    if chosen.is_empty() {
        let known = comma(BENCHMARKS.iter().map(|benchmark| benchmark.name));
        let tried = format!("find the benchmark {}", name.unwrap_or_default());
        return Err(Failure::new(tried, "there is no such name", format!("use one of {known}")));
    }
    Ok(chosen)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_chooses_one_none_chooses_all_and_an_unknown_one_fails() {
        assert_eq!(choose(Some("survey")).expect("it exists").len(), 1);
        assert_eq!(choose(None).expect("all exist").len(), BENCHMARKS.len());
        assert!(choose(Some("speed")).is_err());
    }
}
