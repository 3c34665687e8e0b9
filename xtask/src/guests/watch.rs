//! What stands still in a guest, of causes that are planted one after the other, and what `tenbin watch` says
//! of it.

use std::path::Path;

use tenbin_model::WatchLine;
use tenbin_model::words::comma;

use super::{answered, guest, unless_panicked};
use crate::architecture::Architecture;
use crate::command::Command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// What a guest does.
const SCRIPT: &str = concat!(include_str!("watch.sh"), include_str!("watch_end.sh"));

/// What keeps a CPU in it.
const HOG: &str = "xtask/src/guests/hog.c";

/// What is planted, how its cause begins in words, and among how many it may stand.
const PLANTED: [(&str, &str, usize); 9] = [
    ("timer", "timer perf_swevent_hrtimer", 1),
    ("timers", "timer perf_swevent_hrtimer", 1),
    ("stop_machine", "stop_machine", 1),
    ("stopped", "stopped by a signal", 1),
    ("frozen", "its control group was frozen", 1),
    ("task", "hog (", 1),
    ("throttled", "its control group was throttled", 1),
    // Nothing in a guest says which of these it was.
    ("pause", "virtual machine paused", 3),
    ("restore", "virtual machine restored", 6),
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
        guest(tenbin, Architecture::HERE, "300")
            .arguments(["--kernel", "trixie", "--cpus", "2", "--module", "stop_machine", "--carry"])
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
            let Ok(WatchLine::Gap(gap)) = serde_json::from_str(line) else { return false };
            // Which it measures by its own clock, and a stop takes an emulator a while.
            let is_long = gap.length.0 as f64 / 1e9 > length * 0.5;
            let is_it = |(_, words, most): &(&str, &str, usize)| {
                let mut causes = gap.causes.iter().map(ToString::to_string);
                gap.causes.len() <= *most && causes.any(|cause| cause.starts_with(words))
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
    use tenbin_model::{Cpu, Gap, GapCause, Picoseconds};

    use super::*;

    #[test]
    fn a_plant_is_named_right_by_its_cause_and_its_length() {
        let gap = |cause: GapCause, milliseconds: u64| {
            let length = Picoseconds::from_millis(milliseconds);
            let (cpus, causes) = (vec![Cpu(0)], vec![cause]);
            let gap = Gap { began_ns: 0, length, uncertainty: length, cpus, causes, evidence: String::new() };
            serde_json::to_string(&WatchLine::Gap(gap)).expect("it is JSON")
        };
        let task = || GapCause::Task { name: Some("hog (7)".into()) };
        for (planted, line, wrong) in [
            ("task 100", gap(task(), 99), 0),
            ("task 100", gap(task(), 9), 1),
            ("task 100", gap(GapCause::Stopped, 99), 1),
            ("stopped 100", gap(GapCause::Stopped, 99), 0),
            ("unknown 100", gap(GapCause::Stopped, 99), 1),
            ("stopped 100", "no line".into(), 1),
            ("nothing 100", gap(GapCause::Stopped, 9), 0),
            ("nothing 100", gap(GapCause::Stopped, 99), 1),
        ] {
            let (count, seen) = judged(&format!("planted {planted}\n{line}\nat the end\n"));
            assert_eq!((count, seen.len()), (1, wrong), "{planted}: {line}");
        }
    }
}
