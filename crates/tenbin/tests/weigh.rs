//! Commands of a user's, weighed: what is run when, what is left behind, and what a bisection is told.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::{Child, Output};

use rustix::process::{Pid, Signal, kill_process};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, joined, json as report, text};

/// Weighs in the place's folder, without a store.
fn weigh(place: &Place, arguments: &[&str]) -> Output {
    place.tenbin(&[&["weigh", "--no-store"], arguments].concat())
}

#[test]
fn a_shorter_sleep_is_faster_and_the_answer_comes_first() {
    let place = Place::new();
    let output = weigh(&place, &["sleep 0.01", "sleep 0.1"]);
    assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("`sleep 0.01` is ") && shown.contains("x faster than `sleep 0.1`"), "{shown}");
}

#[test]
fn what_a_start_up_needs_is_subtracted_where_it_is_named() {
    let place = Place::new();
    let output = weigh(&place, &["-r", "20", "--above", "sleep 0.1", "sleep 0.15", "sleep 0.4", "--json"]);
    let report = report(&output);
    let answer = &report["answers"][0];
    let sentence = answer["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Above `sleep 0.1`, `sleep 0.15` is "), "{sentence}");
    // 2.7 times the time, and six times above it; a machine that is busy adds to both.
    assert!(answer["evidence"]["ratio"].as_f64().unwrap() > 3.0, "{answer}");
}

#[test]
fn each_metric_has_a_verdict_of_its_own() {
    let place = Place::new();
    // A line that does not end is held whole: 16 MiB and 64 MiB.
    let [small, large] =
        ["16777216", "67108864"].map(|bytes| format!("head -c {bytes} /dev/zero | tail -n 1 >/dev/null"));
    let output = weigh(&place, &["--json", "--metric", "memory,wall", "-r", "20", &small, &large]);
    let report = report(&output);
    let answers = report["answers"].as_array().unwrap();
    assert_eq!(answers.len(), 2);
    assert_eq!(answers[0]["verdict"], "different", "{answers:?}");
    assert!(answers[0]["sentence"].as_str().unwrap().contains("peak memory"), "{answers:?}");
    assert_eq!((&answers[1]["cell"], &answers[1]["headline"]), (&"time".into(), &false.into()));
}

/// What is run around the commands leaves a line each.
#[test]
fn hooks_are_run_once_or_around_each_run_as_hyperfine_has_it() {
    let place = Place::new();
    let once = ["-s", "echo setup {n} >> log", "-c", "echo cleanup {n} >> log", "-L", "n", "1,2"];
    let around = ["-p", "echo prepare {n} >> log", "-C", "echo conclude {n} >> log"];
    let run = ["-r", "3", "-w", "2", "echo run {n} $HYPERFINE_ITERATION >> log"];
    let output = weigh(&place, &[&once[..], &around, &run].concat());
    assert_eq!(ending(&output).0, 3, "3 runs are too few for the level: {}", ending(&output).1);
    let log = fs::read_to_string(place.path("log")).unwrap();
    let count = |line: &str| log.lines().filter(|it| *it == line).count();
    for n in ["1", "2"] {
        assert_eq!((count(&format!("setup {n}")), count(&format!("cleanup {n}"))), (1, 1), "{log}");
        // Two to warm up, one that is checked, three that count.
        assert_eq!((count(&format!("prepare {n}")), count(&format!("conclude {n}"))), (6, 6), "{log}");
        let iterations = ["warmup-0", "warmup-1", "0", "1", "2"].map(|it| count(&format!("run {n} {it}")));
        assert_eq!(iterations, [1; 5], "{log}");
    }
    let lines: Vec<&str> = log.lines().collect();
    assert!(lines[0].starts_with("setup") && lines[1].starts_with("setup"), "{log}");
    assert!(lines[lines.len() - 1].starts_with("cleanup"), "{log}");
    let around = lines.windows(3).filter(|part| part[1].starts_with("run"));
    assert!(
        around.clone().count() == 12 && around.clone().all(|part| part[0].starts_with("prepare")),
        "{log}"
    );
}

#[test]
fn a_seed_is_the_same_for_all_commands_of_a_block() {
    let place = Place::new();
    weigh(&place, &["-r", "8", "-N", "sh -c 'echo {seed} >> a'", "sh -c 'echo {seed} >> b'"]);
    let seeds = |name: &str| {
        let text = fs::read_to_string(place.path(name)).unwrap();
        let mut seeds: Vec<u64> = text.lines().map(|line| line.parse().unwrap()).collect();
        seeds.sort_unstable();
        seeds
    };
    assert_eq!(seeds("a"), seeds("b"));
    let mut distinct = seeds("a");
    distinct.dedup();
    // Eight blocks and the pass that is checked.
    assert_eq!((seeds("a").len(), distinct.len()), (9, 9));
}

#[test]
fn a_parameter_shows_between_which_values_two_commands_cross() {
    let place = Place::new();
    let second = "case {n} in 4|5) ;; *) sleep 0.15;; esac";
    let output = weigh(&place, &["-P", "n", "3", "6", "-r", "32", "sleep 0.04; true", second]);
    assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
    let shown = joined(&text(&output.stdout));
    for crossing in [
        "They cross between n = 3 and n = 4: `sleep 0.04; true` is faster up to n = 3, `case {n} in",
        "esac` is faster up to n = 5, `sleep 0.04; true` from n = 6 on.",
    ] {
        assert!(shown.contains(crossing), "{shown}");
    }
    assert_eq!(shown.matches("They cross").count(), 2, "{shown}");
    // And a curve of each.
    assert!(shown.contains(" n sleep 0.04; true case {n} in 4|5) ;; *) sleep 0."), "{shown}");
}

/// The numbers that commands wrote into a file, once there are so many.
fn numbers(path: &Path, count: usize, child: &mut Child) -> Vec<u32> {
    loop {
        let text = fs::read_to_string(path).unwrap_or_default();
        let whole: Vec<u32> =
            text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n')?.parse().ok()).collect();
        if whole.len() >= count {
            return whole;
        }
        assert!(child.try_wait().unwrap().is_none(), "it ended before that");
        std::thread::yield_now();
    }
}

#[test]
fn an_interrupt_is_answered_with_what_is_known_by_then() {
    let place = Place::new();
    let log = place.path("log");
    let mut child = place.started(&["weigh", "-m", "100000", "echo $$ >> log", "echo $$ >> log; sleep 0.02"]);
    // The first look is after 16 blocks of four runs.
    numbers(&log, 100, &mut child);
    kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    let (status, errors) = ending(&output);
    assert_eq!(status, 130, "{errors}");
    let shown = text(&output.stdout);
    assert!(shown.starts_with("`echo $$ >> log` is ") && shown.contains("x faster"), "{shown}");
    assert!(errors.contains("Kept as run "), "{errors}");
}

#[test]
fn whatever_ends_it_no_command_goes_on() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let place = Place::new();
        let log = place.path("log");
        let command = "setsid sleep 1000 & echo $! >> log; echo $$ >> log; exec sleep 1000";
        // What is set up goes on meanwhile: once for each of the two.
        let setup = "setsid sleep 1000 & echo $! >> log";
        let mut child = place.started(&["weigh", "--no-store", "--setup", setup, command, "true"]);
        let commands = numbers(&log, 4, &mut child);
        kill_process(Pid::from_child(&child), signal).unwrap();
        child.wait().unwrap();
        for pid in commands {
            // A process that was killed is a zombie until somebody has waited for it.
            let runs = || {
                let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
                stat.rsplit(')')
                    .next()
                    .is_some_and(|rest| !rest.trim().is_empty() && !rest.trim().starts_with('Z'))
            };
            while runs() {
                std::thread::yield_now();
            }
        }
    }
}

fn git(place: &Place, words: &[&str]) -> String {
    let output = place.git("repository", words);
    text(&output.stdout) + &text(&output.stderr)
}

/// A repository of so many commits, each of which the one before it leads to; from `slow` on its program
/// takes longer, and at `broken` it does not build.
fn repository(place: &Place, commits: u32, slow: u32, broken: u32) {
    fs::create_dir(place.path("repository")).unwrap();
    git(place, &["init", "-q"]);
    for number in 1..=commits {
        let time = if number < slow { "0.01" } else { "0.08" };
        let build = if number == broken { "exit 1" } else { "cp source bench; chmod +x bench" };
        fs::write(place.path("repository/source"), format!("#!/bin/sh\nexec sleep {time}\n# {number}\n"))
            .unwrap();
        fs::write(place.path("repository/build"), format!("{build}\n")).unwrap();
        git(place, &["add", "-A"]);
        git(place, &["commit", "-q", "-m", &format!("commit {number}")]);
    }
}

/// Weighs revisions from a folder of the place, each of which is built.
fn weigh_revisions(place: &Place, folder: &str, words: &[&str]) -> Output {
    let mut command = place.command(&[&["weigh", "--no-store", "--build", "sh build"], words].concat());
    command.env("XDG_CACHE_HOME", place.path("cache")).current_dir(place.path(folder)).output().unwrap()
}

#[test]
fn a_bisection_finds_the_commit_and_skips_what_does_not_build() {
    let place = Place::new();
    repository(&place, 12, 8, 6);
    git(&place, &["bisect", "start", "HEAD", "HEAD~11"]);
    let tenbin = env!("CARGO_BIN_EXE_tenbin");
    let margin = ["--margin", "50%", "--build", "sh build", "./bench"];
    let words = [&["bisect", "run", tenbin, "weigh", "--bisect", "--no-store"], &margin[..]].concat();
    let shown = git(&place, &words);
    assert!(shown.contains("is the first bad commit") && shown.contains("commit 8\n"), "{shown}");
    git(&place, &["bisect", "reset"]);
    assert_eq!(git(&place, &["status", "--short"]), "");
    assert_eq!(git(&place, &["worktree", "list"]).lines().count(), 1);
    assert_eq!(fs::read_dir(place.path("cache/tenbin/weigh")).unwrap().count(), 0);
    // One of several that is worse is enough.
    let several = ["--bisect", "--rev", "HEAD~5", "--margin", "50%", "./bench", "sh bench"];
    assert_eq!(ending(&weigh_revisions(&place, "repository", &several)).0, 1);
    let several = ["--bisect", "--rev", "HEAD~5", "--margin", "50%", "true", "sh bench"];
    assert_eq!(ending(&weigh_revisions(&place, "repository", &several)).0, 1);
    // Whatever is wrong with the request ends a bisection, and is no bad revision.
    let status = |words: &[&str]| {
        let output = place.tenbin(&[&["weigh", "--bisect"], words].concat());
        output.status.code().unwrap()
    };
    assert_eq!((status(&["--no-such-option", "true"]), status(&["true"])), (255, 255));
}

#[test]
fn revisions_are_weighed_and_what_is_not_committed_is_one() {
    let place = Place::new();
    repository(&place, 2, 3, 0);
    fs::write(place.path("repository/source"), "#!/bin/sh\nexec sleep 0.2\n").unwrap();
    fs::create_dir(place.path("repository/new")).unwrap();
    fs::write(place.path("repository/new/file"), "not added").unwrap();
    let weigh = |words: &[&str]| weigh_revisions(&place, "repository", words);
    let output =
        weigh(&["--rev", "HEAD", "--rev", ".", "-r", "24", "./bench; cat new/file 2>/dev/null || true"]);
    let shown = text(&output.stdout);
    assert!(shown.starts_with("`HEAD (") && shown.contains("and what is not committed"), "{shown}");
    assert!(shown.contains("x faster than `. ("), "{shown}");
    // What was built was built elsewhere.
    assert!(!place.path("repository/bench").exists());
    let (status, errors) = ending(&weigh(&["--rev", "HEAD", "--rev", "nowhere", "./bench"]));
    assert!(status == 2 && errors.contains("--rev nowhere: there is no such revision"), "{errors}");
    let (status, errors) =
        ending(&weigh(&["--rev", "HEAD", "--rev", "HEAD~1", "--build", "exit 3", "./bench"]));
    assert!(status == 2 && errors.contains("--build"), "{errors}");
    assert_eq!(git(&place, &["status", "--short"]).lines().count(), 2);
}

#[test]
fn a_shallow_clone_says_what_it_lacks_and_weighs_what_it_has() {
    let place = Place::new();
    repository(&place, 3, 4, 0);
    let origin = format!("file://{}", place.path("repository").display());
    git(&place, &["clone", "-q", "--depth", "1", &origin, place.path("shallow").to_str().unwrap()]);
    let weigh = |words: &[&str]| weigh_revisions(&place, "shallow", &[&["-r", "4"], words].concat());
    let (status, errors) = ending(&weigh(&["--rev", "HEAD", "--rev", "HEAD~1", "./bench"]));
    assert!(status == 2 && errors.contains("this clone is shallow: `git fetch --unshallow`"), "{errors}");
    fs::write(place.path("shallow/source"), "#!/bin/sh\nexec sleep 0.02\n").unwrap();
    let (status, errors) = ending(&weigh(&["--rev", "HEAD", "--rev", ".", "./bench"]));
    // Four runs are too few for an answer.
    assert_eq!(status, 3, "{errors}");
    assert_eq!(fs::read_dir(place.path("cache/tenbin/weigh")).unwrap().count(), 0);
}
