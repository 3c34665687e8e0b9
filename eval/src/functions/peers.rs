//! The tools that are given pairs of functions, and how each is asked.
//!
//! The tools of others get a program with both functions, which is built for the pair: a layout of its own,
//! as tenbin gives each block one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::SeedableRng;
use rand_pcg::Pcg64;
use tenbin_model::Report;
use xtask::architecture::{Architecture, Target};
use xtask::command::Command;
use xtask::failure::Failure;

use super::{Pair, Stand};
use crate::arena::stage::{self, Operations};
use crate::arena::tool::{Answer, Finding as Reading, unreadable};
use crate::arena::{nanobench, tango, zenbench};
use crate::files::write;
use crate::tally::Finding;

/// By how much a tool may take longer than it was given before it is ended.
const GRACE: Duration = Duration::from_secs(120);

/// The medians of divan by which its users tell two functions apart, as a part: it has no rule of its own.
const EYE: f64 = 0.01;

/// What to do where a file cannot be written.
const ROOM: &str = "make room there";

pub(super) struct Peer {
    /// What it is called on the command line and in the table.
    pub(super) name: &'static str,
    /// When it says that two functions differ.
    pub(super) rule: &'static str,
    pub(super) ask: fn(&Stand<'_>, &Pair) -> Result<Finding, Failure>,
}

/// All of them, in the order of the table.
pub(super) const ALL: &[Peer] = &[
    Peer {
        name: "tenbin",
        rule: "`tenbin weigh left.rs right.rs`, a verdict over layouts",
        ask: |stand, pair| tenbin(stand, pair, None),
    },
    Peer {
        name: "tenbin-one-layout",
        rule: "the same with --one-layout, drawn for each pair: a verdict about that layout, as those of the others are",
        ask: |stand, pair| tenbin(stand, pair, Some(pair.layout)),
    },
    Peer {
        name: "tango",
        rule: "two programs at once; it prints its star",
        ask: |stand, pair| tango(stand, pair, "1"),
    },
    Peer {
        name: "tango-no-threshold",
        rule: "as tango, with a noise threshold of 0 for 1 %",
        ask: |stand, pair| tango(stand, pair, "0"),
    },
    Peer {
        name: "zenbench",
        rule: "a group of two; its analysis says significant",
        ask: |stand, pair| zenbench(stand, pair, "1"),
    },
    Peer {
        name: "zenbench-no-threshold",
        rule: "as zenbench, with a noise threshold of 0 for 1 %",
        ask: |stand, pair| zenbench(stand, pair, "0"),
    },
    Peer {
        name: "divan",
        rule: "one function after the other; it has no rule, so medians that are 1 % apart",
        ask: divan,
    },
    Peer {
        name: "nanobench",
        rule: "eleven epochs of each in turns; medians farther apart than the sum of both err%",
        ask: nanobench,
    },
];

fn tenbin(stand: &Stand<'_>, pair: &Pair, layout: Option<u32>) -> Result<Finding, Failure> {
    for (name, effect) in ["left.rs", "right.rs"].into_iter().zip(pair.effects()) {
        write(&stand.folder.join(name), &pair.work.file(effect), ROOM)?;
    }
    let arguments = stand.arguments;
    let command = Architecture::HERE.command(&stand.binary).directory(&stand.folder);
    let command = command.arguments(["weigh", "--json", "--no-store", "left.rs", "right.rs"]);
    let command = command.arguments(["--within", &format!("{}s", arguments.within)]);
    let command = command
        .arguments(["--margin", &arguments.margin.to_string()])
        .arguments(["--seed", &pair.seed.to_string()])
        .arguments(layout.map(|layout| format!("--one-layout={layout}")));
    let output = command.patience(stand.within() + GRACE).capture_quietly()?;
    let known = output.is_answer().then(|| reported(&output.text)).flatten();
    known.ok_or_else(|| Failure::new("ask tenbin to weigh", output.diagnostics, "ask tenbin by hand"))
}

/// What a report of `tenbin weigh` says of its first pair.
fn reported(text: &str) -> Option<Finding> {
    let report: Report = serde_json::from_str(text).ok()?;
    let answer = report.answers.first()?;
    Finding::of(answer.verdict, answer.evidence.as_ref())
}

fn tango(stand: &Stand<'_>, pair: &Pair, threshold: &str) -> Result<Finding, Failure> {
    const PROGRAM: &str = "tango";
    let baseline = stand.folder.join("baseline");
    let built = build(stand, pair, PROGRAM, 0)?;
    std::fs::copy(&built, &baseline)
        .map_err(|error| Failure::new(format!("write {}", baseline.display()), error, ROOM))?;
    // Not held on one CPU: its two processes wait for each other.
    let output = Command::new(build(stand, pair, PROGRAM, 1)?)
        .arguments(["--color", "never", "compare"])
        .argument(&baseline)
        .arguments(["--time", &stand.arguments.within.to_string(), "--noise-threshold", threshold])
        .arguments(["--strip-baseline", "left/*", "--strip-candidate", "right/*"])
        .patience(stand.within() + GRACE)
        .capture_quietly()?;
    read("tango", tango::judge(&output.text, ALIKE), &output.diagnostics)
}

fn zenbench(stand: &Stand<'_>, pair: &Pair, threshold: &str) -> Result<Finding, Failure> {
    let text = stage::pinned(&build(stand, pair, "zenbench", 0)?)?
        .directory(&stand.folder)
        .variable("ZENBENCH_NO_SAVE", "1")
        .variable("ARENA_MILLISECONDS", (stand.arguments.within * 1000).to_string())
        .variable("ARENA_THRESHOLD_PERCENT", threshold)
        .patience(stand.within() + GRACE)
        .read()?;
    read("zenbench", zenbench::judge(&text, ALIKE), "")
}

fn divan(stand: &Stand<'_>, pair: &Pair) -> Result<Finding, Failure> {
    let half = (stand.arguments.within as f64 / 2.0).to_string();
    let text = stage::pinned(&build(stand, pair, "divan", 0)?)?
        .arguments(["--bench", "--color", "never", "--min-time", &half, "--max-time", &half])
        .patience(stand.within() + GRACE)
        .read()?;
    let medians = [median(&text, "left"), median(&text, "right")];
    let [Some(left), Some(right)] = medians else { return Err(unreadable("what divan prints", text)) };
    let differ = (right / left).ln().abs() >= EYE.ln_1p();
    Ok(if differ { Finding::Slower(usize::from(right > left)) } else { Finding::Same })
}

/// The median of a benchmark in the table that divan prints, in nanoseconds.
fn median(table: &str, name: &str) -> Option<f64> {
    let line = table.lines().find(|line| line.split_whitespace().any(|word| word == name))?;
    let (number, unit) = line.split('│').nth(2)?.trim().split_once(' ')?;
    let nanoseconds = match unit {
        "ns" => 1.0,
        "µs" => 1e3,
        "ms" => 1e6,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * nanoseconds)
}

fn nanobench(stand: &Stand<'_>, pair: &Pair) -> Result<Finding, Failure> {
    let Some(header) = &stand.arguments.nanobench else {
        let reason = "no Debian package ships its header";
        return Err(Failure::new("ask nanobench", reason, "name a nanobench.h with --nanobench"));
    };
    let header = stage::header(header)?;
    let folder = header.parent().unwrap_or(Path::new("/"));
    let [harness, source, functions, program] =
        ["nanobench.o", "pair.rs", "pair.o", "nanobench"].map(|name| stand.folder.join(name));
    if !harness.is_file() {
        let source = stand.workspace.root().join("arena/peers/nanobench.cc");
        let command = Command::new("g++").arguments(["-O2", "-std=c++17", "-isystem"]).argument(folder);
        command.argument("-c").argument(source).argument("-o").argument(&harness).read()?;
    }
    // The harness knows one function, of a work and how much of it: here that is which side.
    let text = format!(
        "{}\n#[unsafe(no_mangle)]\npub extern \"C\" fn tenbin_work(_: u32, side: u64) -> u64 {{\n    \
             match side {{\n        1 => left(OPERATIONS),\n        2 => right(OPERATIONS),\n        _ => 0,\n    }}\n\
         }}\n",
        pair.program(0)
    );
    write(&source, &text, ROOM)?;
    let rustc = Command::new("rustc").directory(stand.workspace.root());
    let rustc = rustc.arguments(["--crate-type", "lib", "--emit", "obj", "-O", "-C", "panic=abort"]);
    rustc.arguments(["-C", "codegen-units=1", "-o"]).argument(&functions).argument(&source).read()?;
    Command::new("g++").argument(&harness).argument(&functions).argument("-o").argument(&program).read()?;
    let text = stage::pinned(&program)?
        .arguments(["0", "1", "2", &stand.arguments.within.to_string()])
        .patience(stand.within() + GRACE)
        .read()?;
    read("nanobench", nanobench::judge(&text, ALIKE), "")
}

/// Both sides are called as often; what differs is what a call does.
const ALIKE: Operations = Operations { left: 1, right: 1 };

fn read(tool: &str, reading: Result<Reading, String>, diagnostics: &str) -> Result<Finding, Failure> {
    let reading = reading.map_err(|reason| {
        unreadable(&format!("what {tool} says"), format!("{reason}\n{}", diagnostics.trim_end()))
    })?;
    Ok(match (reading.answer, reading.ratio) {
        (Answer::Different, Some(ratio)) => Finding::Slower(usize::from(ratio > 1.0)),
        (Answer::Refused, _) => Finding::Refused,
        _ => Finding::Same,
    })
}

/// A program of the arena with the functions of a pair, in the layout with this number.
fn build(stand: &Stand<'_>, pair: &Pair, program: &str, layout: u64) -> Result<PathBuf, Failure> {
    let source = stand.folder.join("program.rs");
    write(&source, &pair.program(layout), ROOM)?;
    stage::cargo(stand.workspace)
        .variable("ARENA_PAIR", &source)
        .arguments(["build", "--quiet", "--locked", "--profile", "functions"])
        .arguments(["--package", "arena-functions", "--example", program])
        .read()?;
    Ok(stage::binaries(stand.workspace, "functions").join("examples").join(program))
}

impl Pair {
    /// The source of a program with both functions, in the layout with this number.
    fn program(&self, layout: u64) -> String {
        let mut random = Pcg64::seed_from_u64((u64::from(self.layout) << 8) | layout);
        self.work.pair(self.effects(), &mut random)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_divan_is_its_third_column() {
        let table = "divan    fastest       │ slowest       │ median        │ mean\n\
                     ├─ left  20.06 µs      │ 30.1 µs       │ 20.25 µs      │ 20.3 µs\n\
                     ╰─ right 950.5 ns      │ 2.1 ms        │ 951.5 ns      │ 1 µs\n";
        assert_eq!(median(table, "left"), Some(20_250.0));
        assert_eq!(median(table, "right"), Some(951.5));
        assert_eq!(median(table, "middle"), None);
    }
}
