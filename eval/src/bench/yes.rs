//! How fast lines go through a pipe: `tenbin yes` beside GNU's, uutils' and the three programs of the diary
//! Kognosuke (2023-11-06), through four readers.
//!
//! Writer and reader are pinned to one CPU each, as the author had them. In every round every pair of them
//! carries as many bytes as take it about a third of a second, in a random order; a ratio is one of a single
//! round, so that what the machine does meanwhile is in both of its sides. What each writer hands to each
//! reader is compared first, byte for byte; where a reader gives on what it takes (pv, head), behind it.

mod cell;
mod table;

use std::fs;
use std::path::{Path, PathBuf};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

use self::cell::Cell;
use self::table::Speeds;
use super::{Stand, c2c, compile};
use xtask::failure::Failure;
use xtask::requirement::{self, Requirement};

/// The newest that crates.io had when this was written.
const UUTILS: &str = "0.12.0";

/// The published programs were compiled with -O3.
const OPTIONS: [&str; 2] = ["-std=gnu11", "-O3"];

/// The seed of the orders: the same every time, as the rounds themselves are not.
const SEED: u64 = 0x0079_6573;

/// What one carrying of a pair should take.
const SECONDS: f64 = 0.3;

/// What a pair carries to find out how fast it is, and what is verified of it.
const FIRST: u64 = 64 << 20;

/// What the benchmark may be told beside its rounds and CPUs, which it shares with another.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// For yes: keep the table in this file, as Markdown.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Program {
    name: &'static str,
    words: Vec<String>,
}

impl Program {
    fn new(name: &'static str, path: &Path, words: &[&str]) -> Self {
        let path = path.display().to_string();
        Self { name, words: [path].into_iter().chain(words.iter().map(|&word| word.into())).collect() }
    }
}

/// Build the peers, verify every pair, carry in rounds, and print the table.
pub(super) fn run(stand: &Stand<'_>, rounds: &c2c::Arguments, arguments: &Arguments) -> Result<(), Failure> {
    requirement::insist(&[
        Requirement::program("gcc", "cc"),
        Requirement::program("util-linux", "taskset"),
        Requirement::program("pv", "pv"),
        Requirement::file("coreutils", "/usr/bin/yes"),
    ])?;
    let cpus = rounds.cpus.map_or_else(c2c::first_two, Ok)?;
    let folder = stand.workspace.scratch("bench-yes")?;
    let (writers, readers) = (writers(stand, &folder)?, readers(stand, &folder)?);
    println!("writer on CPU {}, reader on CPU {}", cpus.0, cpus.1);
    let mut cells = Vec::new();
    for (reader, program) in readers.iter().enumerate() {
        for (writer, source) in writers.iter().enumerate() {
            let cell = Cell { writer, reader, source, program, cpus };
            cell.verify(FIRST)?;
            let first = cell.carry(FIRST)?;
            // At the least what was carried to find it out, whatever the start of two programs took of that.
            cells.push((cell, FIRST.max((FIRST as f64 / first * SECONDS) as u64)));
        }
    }
    println!("every writer wrote {} MiB without a wrong byte; so did pv and head of each", FIRST >> 20);
    let mut speeds = Speeds::new(&writers, &readers);
    let mut random = Pcg64::seed_from_u64(SEED);
    for round in 1..=rounds.rounds {
        cells.shuffle(&mut random);
        for (cell, bytes) in &mut cells {
            let seconds = cell.carry(*bytes)?;
            speeds.add(cell.writer, cell.reader, *bytes as f64 / seconds);
            // A pair that was found out slowly gets its third of a second from the next round on.
            *bytes = FIRST.max((*bytes as f64 * SECONDS / seconds) as u64);
        }
        println!("round {round} of {}", rounds.rounds);
    }
    println!("\n{}", speeds.text());
    if let Some(path) = &arguments.markdown {
        fs::write(path, speeds.markdown()).map_err(|error| {
            Failure::new(
                format!("keep the table in {}", path.display()),
                error,
                "name a file that can be written",
            )
        })?;
    }
    Ok(())
}

/// tenbin first, then its peers.
fn writers(stand: &Stand<'_>, folder: &Path) -> Result<Vec<Program>, Failure> {
    let mut writers = vec![
        Program::new("tenbin", stand.binary, &["yes"]),
        Program::new("GNU", Path::new("/usr/bin/yes"), &[]),
        Program::new("uutils", &uutils(stand)?, &[]),
    ];
    for name in ["printf", "write", "vmsplice"] {
        writers.push(Program::new(
            name,
            &compile(stand.workspace, &OPTIONS, &format!("yes/{name}.c"), folder)?,
            &[],
        ));
    }
    Ok(writers)
}

/// Readers that take a number of bytes; where it stands in their words is `BYTES`.
fn readers(stand: &Stand<'_>, folder: &Path) -> Result<Vec<Program>, Failure> {
    let own = compile(stand.workspace, &OPTIONS, "yes/reader.c", folder)?;
    Ok(vec![
        Program::new("splice", &own, &["splice", cell::BYTES]),
        Program::new("read", &own, &["read", cell::BYTES]),
        Program::new("pv", Path::new("pv"), &["-q", "-S", "-s", cell::BYTES]),
        Program::new("head -c", Path::new("head"), &["-c", cell::BYTES]),
    ])
}

/// uutils' `yes` from crates.io; built once, and kept beside what cargo builds.
fn uutils(stand: &Stand<'_>) -> Result<PathBuf, Failure> {
    let root = stand.workspace.target().join("peers").join(format!("uu_yes-{UUTILS}"));
    let program = root.join("bin/yes");
    if !program.is_file() {
        let command = stand.workspace.cargo().arguments(["install", "--locked", "--version", UUTILS]);
        let command = command.argument("--root").argument(&root).argument("--target-dir");
        command.argument(root.join("build")).argument("uu_yes").remedy("read what cargo says").run()?;
    }
    Ok(program)
}
