//! Every option of hyperfine, given to it and to `tenbin weigh`: what can be seen of both from outside.
//!
//! Times are not compared: what hooks and commands leave in files, how many runs the JSON has, which
//! commands, parameters and keys, and whether it was measured at all. Where the two differ on purpose, the
//! table says why.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use tenbin_model::words::{comma, semicolon};
use xtask::architecture::{Architecture, Target};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

mod cases;

use cases::{CASES, Case};

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A hyperfine 1.20 of your own.
    #[arg(long, value_name = "PROGRAM")]
    hyperfine: PathBuf,
    /// Write the table to a file as well.
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
}

const REMEDY: &str = "give both the words of that row by hand, and compare what they do";

/// Ask both about every case, and print a table.
///
/// # Errors
/// A program cannot be started, or they differ where nothing says why.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("hyperfine")?;
    let mut table = String::from("| option | hyperfine | tenbin weigh | |\n|---|---|---|---|\n");
    let mut unexplained = Vec::new();
    for (number, case) in CASES.iter().enumerate() {
        let place = |name: &str| -> Result<PathBuf, Failure> {
            let place = folder.join(format!("{number}-{name}"));
            let failure = |error| Failure::new("prepare a folder", error, "make room there");
            fs::create_dir_all(&place).map_err(failure)?;
            fs::write(place.join("input"), "from the input\n").map_err(failure)?;
            Ok(place)
        };
        let theirs =
            Seen::of(Command::new(&arguments.hyperfine), case, &["--style=none"], &place("hyperfine")?)?;
        let ours =
            Seen::of(host.command(&binary).argument("weigh"), case, &["--no-store"], &place("tenbin")?)?;
        let verdict = match (theirs == ours, case.why) {
            (true, _) => "same".to_owned(),
            (false, "") => {
                unexplained.push(case.words.join(" "));
                "**differs**".into()
            }
            (false, why) => why.into(),
        };
        let (theirs, ours) = theirs.beside(&ours);
        let words = case.words.join(" ").replace('|', "\\|");
        table.push_str(&format!("| `{words}` | {theirs} | {ours} | {verdict} |\n"));
    }
    print!("{table}");
    if let Some(path) = &arguments.markdown {
        fs::write(path, &table)
            .map_err(|error| Failure::new("write the table", error, "name another file"))?;
    }
    if unexplained.is_empty() {
        return Ok(());
    }
    let reason = format!("they differ: {}", semicolon(unexplained));
    Err(Failure::new("hold tenbin against hyperfine", reason, REMEDY))
}

/// What can be seen of a program's run from outside, by name.
#[derive(PartialEq, Eq)]
struct Seen(BTreeMap<String, String>);

impl Seen {
    fn of(program: Command, case: &Case, own: &[&str], folder: &Path) -> Result<Self, Failure> {
        let own = if case.has_style() { &own[..0] } else { own };
        let mut command = program.arguments(own.iter().copied()).arguments(case.words.iter().copied());
        if !case.words.contains(&"--export-json") {
            command = command.arguments(["--export-json", "out.json"]);
        }
        let output =
            command.directory(folder).variable("TENBIN_STORE", folder.join("store.db")).capture_quietly()?;
        let mut seen = BTreeMap::new();
        // Refused is measured, too: what hyperfine would have shown is there.
        let is_measured = matches!(output.code, Some(0 | 3));
        seen.insert("ends".to_owned(), if is_measured { "measured" } else { "failed" }.to_owned());
        let shown = output.text.lines().filter(|line| line.starts_with("shown"));
        seen.insert("shows".into(), distinct(shown));
        for file in fs::read_dir(folder).into_iter().flatten().flatten() {
            let name = file.file_name().to_string_lossy().into_owned();
            let text = fs::read_to_string(file.path()).unwrap_or_default();
            if name == "out.json" && is_measured {
                seen.extend(of_json(&text));
            } else if name.starts_with("table") {
                // Figures differ; what stands around them does not.
                let first = text.lines().next().unwrap_or_default();
                let is_figure = |letter: char| letter.is_ascii_digit() || letter == '.';
                seen.insert(name, first.replace(is_figure, ""));
            } else if name != "input" && name != "out.json" && !name.starts_with("store.db") {
                seen.insert(name, distinct(text.lines()));
            }
        }
        Ok(Self(seen))
    }

    /// What differs of both, or what was seen of both where nothing does.
    fn beside(&self, other: &Self) -> (String, String) {
        let names = self.0.keys().chain(other.0.keys());
        let differing: BTreeSet<&String> =
            names.filter(|name| self.0.get(*name) != other.0.get(*name)).collect();
        if differing.is_empty() {
            return (self.to_string(), other.to_string());
        }
        let only = |seen: &Self| {
            let values = differing.iter().map(|name| (name, seen.0.get(*name)));
            let words = values.map(|(name, value)| format!("{name}: {}", value.map_or("–", |value| value)));
            semicolon(words).replace('|', "\\|")
        };
        (only(self), only(other))
    }
}

impl fmt::Display for Seen {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let filled = self.0.iter().filter(|(name, value)| !value.is_empty() && *name != "keys");
        let words = filled.map(|(name, value)| format!("{name}: {value}"));
        formatter.write_str(&semicolon(words).replace('|', "\\|"))
    }
}

/// The lines that differ from each other, in order: how often a hook runs, the two need not agree on.
fn distinct<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    comma(lines.collect::<BTreeSet<_>>())
}

/// What hyperfine's JSON says, but for times.
fn of_json(text: &str) -> Vec<(String, String)> {
    let summary: Value = serde_json::from_str(text).unwrap_or_default();
    let results = summary["results"].as_array().cloned().unwrap_or_default();
    let each = |read: &dyn Fn(&Value) -> String| comma(results.iter().map(read));
    let count = |list: &Value| list.as_array().map_or(0, Vec::len).to_string();
    let statuses = |result: &Value| {
        let mut all: Vec<String> =
            result["exit_codes"].as_array().into_iter().flatten().map(Value::to_string).collect();
        all.dedup();
        all.join(" ")
    };
    let keys = |result: &Value| result.as_object().map_or_else(String::new, |it| comma(it.keys()));
    vec![
        ("commands".into(), each(&|result| result["command"].to_string())),
        ("runs".into(), each(&|result| count(&result["times"]))),
        (
            "parameters".into(),
            each(&|result| {
                result["parameters"].as_object().map_or_else(String::new, |all| {
                    semicolon(all.iter().map(|(name, value)| format!("{name} {value}")))
                })
            }),
        ),
        ("exit codes".into(), each(&statuses)),
        ("keys".into(), each(&keys)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_compared_has_no_times() {
        let seen = |time: f64| {
            let text = format!(
                r#"{{"results": [{{"command": "a", "mean": {time}, "times": [{time}, 1], "exit_codes": [0, 3], "parameters": {{"n": "1"}}}}]}}"#
            );
            of_json(&text)
        };
        assert_eq!(seen(0.5), seen(0.75));
        let values: Vec<String> = seen(0.5).into_iter().map(|(_, value)| value).collect();
        assert_eq!(values, ["\"a\"", "2", "n \"1\"", "0 3", "command, mean, times, exit_codes, parameters"]);
    }

    #[test]
    fn lines_count_once() {
        assert_eq!(distinct("b\na\nb".lines()), "a, b");
    }
}
