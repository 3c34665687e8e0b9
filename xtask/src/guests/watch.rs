//! What stands still in a guest, of causes that are planted one after the other, and what `tenbin watch` says
//! of it.

use std::path::Path;

use serde_json::Value;
use tenbin_model::words::comma;

use super::{answered, unless_panicked};
use crate::architecture::Architecture;
use crate::command::Command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// What a guest does.
const SCRIPT: &str = concat!(include_str!("watch.sh"), include_str!("watch_end.sh"));

/// What keeps a CPU in it.
const HOG: &str = "xtask/src/guests/hog.c";

/// What is planted, the kind of cause that it is, what its name begins with, and among how many it may stand.
const PLANTED: [(&str, &str, &str, usize); 9] = [
    ("timer", "interrupt", "timer perf_swevent_hrtimer", 1),
    ("timers", "interrupt", "timer perf_swevent_hrtimer", 1),
    ("stop_machine", "stop_machine", "", 1),
    ("stopped", "stopped", "", 1),
    ("frozen", "frozen", "", 1),
    ("task", "task", "hog (", 1),
    ("throttled", "throttled", "", 1),
    // Nothing in a guest says which of these it was.
    ("pause", "paused", "", 3),
    ("restore", "restored", "", 6),
];

/// What is planted where no gap of that length may be seen.
const NOTHING: &str = "nothing";

/// How many are planted by each clock.
const EACH: usize = 13;

/// What of all that was planted must be named right, in percent: an emulator stops its CPUs by itself too.
const RIGHT: usize = 85;

pub(super) fn check(workspace: &Workspace, tenbin: &Path) -> Result<(), Failure> {
    let hog = workspace.scratch("guests")?.join("hog");
    Command::new("gcc")
        .directory(workspace.root())
        .arguments(["-O1", "-static", "-o"])
        .argument(&hog)
        .arguments([HOG])
        .run()?;
    let output = unless_panicked(|| {
        Command::new(tenbin)
            .arguments(["guest", "run", "--arch", Architecture::HERE.name(), "--kernel", "trixie"])
            .arguments(["--seconds", "300", "--cpus", "2", "--module", "stop_machine", "--carry"])
            .argument(&hog)
            .arguments(["--", "sh", "-c", SCRIPT])
            .capture()
    })?;
    answered(&output, "watch a guest", 0, &["at the end", "\"summary\"", "Wrote /tmp/gaps.pftrace."])?;
    let clocks = output.text.matches("by the clock ").count();
    insist_named(&output.text, clocks.max(1) * EACH)
}

/// Fails unless so many gaps were planted and almost all of them named right.
pub(super) fn insist_named(text: &str, count: usize) -> Result<(), Failure> {
    let (planted, wrong) = judged(text);
    let right = planted - wrong.len();
    println!("{planted} gaps were planted: {right} named right, {} not: {}", wrong.len(), comma(&wrong));
    // A gap of seconds that was none has no excuse.
    let is_invented = wrong.iter().any(|plant| plant.starts_with(NOTHING));
    if planted == count && right * 100 >= planted * RIGHT && !is_invented {
        return Ok(());
    }
    let reason = format!("{planted} of {count} gaps were planted, and these named wrong: {}", comma(&wrong));
    Err(Failure::new("say why a guest stood still", reason, "run the command that is printed above"))
}

/// How many gaps were planted, and which of them nothing was said of that is true.
fn judged(text: &str) -> (usize, Vec<String>) {
    let plants: Vec<&str> = text.split("planted ").skip(1).collect();
    let is_wrong = |plant: &&&str| {
        let mut lines = plant.lines();
        let mut words = lines.next().unwrap_or_default().split(' ');
        let (planted, length) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let length: f64 = length.parse().unwrap_or(f64::INFINITY);
        let known = PLANTED.iter().find(|(name, ..)| *name == planted);
        // An emulator's own pauses are gaps too, so others may stand beside it.
        let is_seen = lines.any(|line| {
            let line: Value = serde_json::from_str(line).unwrap_or_default();
            let gap = &line["gap"];
            // Which it measures by its own clock, and a stop takes an emulator a while.
            let is_long = gap["length"].as_f64().unwrap_or(0.0) / 1e9 > length * 0.5;
            let is_it = |(_, kind, name, most): &(&str, &str, &str, usize)| {
                let is_that = |cause: &Value| {
                    cause["kind"] == *kind && cause["name"].as_str().unwrap_or_default().starts_with(name)
                };
                gap["causes"]
                    .as_array()
                    .is_some_and(|causes| causes.len() <= *most && causes.iter().any(is_that))
            };
            is_long && (planted == NOTHING || known.is_some_and(is_it))
        });
        is_seen == (planted == NOTHING)
    };
    let wrong =
        plants.iter().filter(is_wrong).map(|plant| plant.lines().next().unwrap_or_default().to_owned());
    (plants.len(), wrong.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plant_is_named_right_by_its_cause_and_its_length() {
        let gap = |kind: &str, length: u64| {
            format!(r#"{{"gap":{{"length":{length},"causes":[{{"kind":"{kind}","name":"hog (7)"}}]}}}}"#)
        };
        for (planted, line, wrong) in [
            ("task 100", gap("task", 99_000_000_000), 0),
            ("task 100", gap("task", 9_000_000_000), 1),
            ("task 100", gap("stopped", 99_000_000_000), 1),
            ("stopped 100", gap("stopped", 99_000_000_000), 0),
            ("unknown 100", gap("stopped", 99_000_000_000), 1),
            ("stopped 100", "no line".into(), 1),
            ("nothing 100", gap("stopped", 9_000_000_000), 0),
            ("nothing 100", gap("stopped", 99_000_000_000), 1),
        ] {
            let (count, seen) = judged(&format!("planted {planted}\n{line}\nat the end\n"));
            assert_eq!((count, seen.len()), (1, wrong), "{planted}: {line}");
        }
    }
}
