//! How exactly a guest stands still: the module `stop_machine`, timed by this machine's clock.
//!
//! The guest's kernel writes a line before a stop and one after it. When they come out of its serial line is
//! told by this machine, whose clock nobody stops. Beside that stands what the module says of itself, and the
//! loop as published, which prints the date every second.

use std::collections::BTreeMap;

use super::Stand;
use xtask::architecture::Target;
use xtask::command::status_in_words;
use xtask::failure::Failure;
use xtask::guests;
use xtask::requirement;

/// How long the machine is asked to stand still, in milliseconds.
const LENGTHS: [u32; 3] = [500, 2_000, 5_000];

const ROUNDS: usize = 5;

/// The guests. Of those that boot here, arm64 has the kernel of the first and the emulated board of the
/// second.
const ARCHITECTURES: [&str; 2] = ["x86_64", "riscv64"];

/// What the kernel's lines say before and after a stop.
const BEFORE: &str = "stop_machine: stopping CPUs";
const AFTER: &str = "stop_machine: asked for ";

/// What a table says of a median that is off by more than allowed.
const MISSED: &str = ", MISSED";

/// One stop, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Stop {
    asked: u32,
    /// By this machine's clock.
    outside: f64,
    /// By the module's.
    inside: f64,
}

/// Boot, stop, and print what came of it.
pub(super) fn run(stand: &Stand<'_>) -> Result<(), Failure> {
    requirement::insist(&guests::needs())?;
    let mut missed = Vec::new();
    for architecture in ARCHITECTURES {
        let console = console(stand, architecture)?;
        let stops = stops(&console).map_err(|reason| {
            let tried = format!("read the console of the {architecture} guest");
            Failure::new(tried, reason, "read what is printed above")
        })?;
        println!("\n{architecture}, 2 CPUs; the published loop around one of the longest stops:");
        around(&console).iter().for_each(|line| println!("  {line}"));
        let table = table(&stops);
        print!("{table}");
        missed.extend(
            table.lines().filter(|line| line.contains(MISSED)).map(|line| format!("{architecture}: {line}")),
        );
    }
    let remedy = "ask again on a machine with nothing else to do, and then look into kmod/stop_machine";
    Failure::judge("stop guests for as long as asked for", &missed, remedy)
}

/// What a guest's console shows while it is stopped again and again.
fn console(stand: &Stand<'_>, architecture: &str) -> Result<String, Failure> {
    let stops = LENGTHS.map(|length| format!("echo {length} >/dev/stop_machine;")).join(" ");
    let rounds = ["x"; ROUNDS].join(" ");
    let script = format!(
        "insmod /modules/stop_machine.ko && (while sleep 1; do date; done) >/dev/console & sleep 3; \
         for round in {rounds}; do {stops} sleep 2; done"
    );
    let command = stand.host.command(stand.binary).arguments(["guest", "run", "--arch", architecture]);
    let command =
        command.arguments(["--cpus", "2", "--seconds", "300", "--append", "loglevel=7", "--console"]);
    let output = command.arguments(["--module", "stop_machine", "--", "sh", "-c", &script]).capture()?;
    if output.code == Some(0) {
        return Ok(output.diagnostics);
    }
    print!("{}{}", output.text, output.diagnostics);
    let tried = format!("stop a guest of {architecture}");
    Err(Failure::new(tried, status_in_words(output.code), "read what it printed"))
}

/// A line of the console: when it came, in milliseconds, and what it says.
fn line(text: &str) -> Option<(f64, &str)> {
    let (time, rest) = text.strip_prefix('[')?.split_once(']')?;
    Some((time.trim().parse::<f64>().ok()? * 1e3, rest.trim_start()))
}

/// The stops of a console. As many as were asked for, or why not.
fn stops(console: &str) -> Result<Vec<Stop>, String> {
    let mut stops = Vec::new();
    let mut begun = None;
    for (time, text) in console.lines().filter_map(line) {
        if text.contains(BEFORE) {
            begun = Some(time);
        } else if let Some((_, times)) = text.split_once(AFTER) {
            let begun = begun.take().ok_or("a stop ended that had not begun")?;
            let asked = times.split_once(" ms").and_then(|(number, _)| number.parse().ok());
            let inside = times.split_once("still for ").and_then(|(_, rest)| rest.strip_suffix(" ms"));
            let (Some(asked), Some(Ok(inside))) = (asked, inside.map(str::parse)) else {
                return Err(format!("it says `{text}`"));
            };
            stops.push(Stop { asked, outside: time - begun, inside });
        }
    }
    match stops.len() {
        count if count == LENGTHS.len() * ROUNDS => Ok(stops),
        count => Err(format!("{count} stops where {} were asked for", LENGTHS.len() * ROUNDS)),
    }
}

/// The lines around the first of the longest stops: two before and three after.
fn around(console: &str) -> Vec<&str> {
    let lines: Vec<&str> = console.lines().filter(|text| line(text).is_some()).collect();
    let longest = format!("{AFTER}{} ", LENGTHS[LENGTHS.len() - 1]);
    let place = lines.iter().position(|text| text.contains(&longest)).unwrap_or_default();
    lines[place.saturating_sub(3)..lines.len().min(place + 4)].to_vec()
}

/// Medians, with what they may be off by: a hundredth, or 10 ms if that is more.
fn table(stops: &[Stop]) -> String {
    let mut by_length: BTreeMap<u32, Vec<Stop>> = BTreeMap::new();
    stops.iter().for_each(|stop| by_length.entry(stop.asked).or_default().push(*stop));
    let mut text = String::from(
        "| asked for, ms | by this machine's clock | off by | allowed | by the guest's |\n|---|---|---|---|---|\n",
    );
    for (asked, stops) in by_length {
        let outside = sorted(stops.iter().map(|stop| stop.outside));
        let inside = sorted(stops.iter().map(|stop| stop.inside));
        let (median, last) = (outside[outside.len() / 2], outside.len() - 1);
        let allowed = (f64::from(asked) / 100.0).max(10.0);
        let off = median - f64::from(asked);
        let mark = if off.abs() <= allowed { "" } else { MISSED };
        text.push_str(&format!(
            "| {asked} | {median:.0} ({:.0} to {:.0}) | {off:+.0} ms{mark} | {allowed:.0} ms | {:.3} |\n",
            outside[0],
            outside[last],
            inside[inside.len() / 2]
        ));
    }
    text
}

fn sorted(values: impl Iterator<Item = f64>) -> Vec<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A console on which every stop of every round is `late` milliseconds late, with other lines between.
    fn spoken(late: f64) -> String {
        let mut time = 3.0;
        let mut text = String::from("[   0.100] Linux version 6.1\n");
        for _ in 0..ROUNDS {
            for length in LENGTHS {
                text.push_str(&format!("[ {time:7.3}] [    1.5] {BEFORE} 0-1 for {length} ms\n"));
                time += (f64::from(length) + late) / 1e3;
                text.push_str(&format!(
                    "[ {time:7.3}] [    2.5] {AFTER}{length} ms, CPUs 0-1 stood still for {length}.001 ms\n"
                ));
                time += 1.0;
                text.push_str(&format!("[ {time:7.3}] Sat May  4 09:44:49 UTC 2019\n"));
            }
        }
        text
    }

    #[test]
    fn a_stop_is_as_long_as_this_machine_says() {
        let stops = stops(&spoken(4.0)).expect("all are there");
        assert_eq!(stops.iter().map(|stop| stop.asked).collect::<Vec<_>>(), LENGTHS.repeat(ROUNDS));
        assert!(stops.iter().all(|stop| (stop.outside - f64::from(stop.asked) - 4.0).abs() < 0.01));
        assert!(stops.iter().all(|stop| stop.inside == f64::from(stop.asked) + 0.001));
        let text = table(&stops);
        assert!(text.contains("| 500 | 504 (504 to 504) | +4 ms | 10 ms | 500.001 |"), "{text}");
        assert!(!text.contains("MISSED"), "{text}");
    }

    #[test]
    fn who_is_too_late_is_told_so_by_length() {
        let text = table(&stops(&spoken(15.0)).expect("all are there"));
        assert!(text.contains("+15 ms, MISSED | 10 ms") && text.contains("+15 ms | 20 ms"), "{text}");
    }

    #[test]
    fn stops_that_are_missing_or_begin_nowhere_are_no_table() {
        let whole = spoken(0.0);
        let (_, shorter) = whole.split_once(AFTER).expect("one is there");
        assert!(stops(shorter).expect_err("one is missing").contains("14 stops"));
        assert!(stops(&format!("[ 1.0] {AFTER}500 ms\n")).is_err());
    }

    #[test]
    fn the_loop_of_the_seed_is_shown_around_a_long_stop() {
        let whole = spoken(0.0);
        let shown = around(&whole);
        assert!(shown.len() == 7 && shown[2].contains("stopping CPUs 0-1 for 5000"), "{shown:?}");
        assert!(shown[4].contains("2019"), "{shown:?}");
    }
}
