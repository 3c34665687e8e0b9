//! Where the time of real commands goes, observed here or read from what was written.
//!
//! Observing by programs in the kernel needs rights that who runs these tests may not have. Then tenbin has
//! to say so, and snapshots stand in (`profile_otherwise.rs`); a guest of the step `guests` has them.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use tenbin_model::profile::{Event, Kind, Observer};
use tenbin_model::stacks::State;
use tenbin_model::{Picoseconds, Profile, Stacks};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, joined, text};

/// A profile of these words by programs in the kernel; none where it needs rights that are not there, which
/// has to be said.
fn profile(place: &Place, words: &[&str]) -> Option<(Profile, i32)> {
    let output = place.tenbin(&[&["profile", "--json", "-o", "profile.json", "--"], words].concat());
    let (status, stderr) = ending(&output);
    let text = fs::read(place.path("profile.json")).unwrap_or_else(|error| panic!("{error}: {stderr}"));
    let profile: Profile = serde_json::from_slice(&text).unwrap();
    if profile.observer != Observer::Kernel {
        assert!(
            profile.unseen[0].contains("(BPF)") && profile.unseen[0].contains("--from LOG"),
            "{profile:?}"
        );
        eprintln!("not tested: {}", profile.unseen[0]);
        return None;
    }
    Some((profile, status))
}

/// Whether two times differ by no more than 0.2 % of the first.
fn are_equal(one: Picoseconds, other: Picoseconds) -> bool {
    one.0.abs_diff(other.0) <= one.0 / 500
}

/// The parts of each thread's time are all of it.
fn insist_on_whole_threads(profile: &Profile) {
    for it in &profile.threads {
        let parts = [it.user, it.kernel, it.faults, it.interrupts, it.queued, it.blocked];
        assert!(are_equal(it.wall, parts.into_iter().sum()), "{it:?}");
    }
}

/// A place of somebody who may have programs in the kernel observe.
fn with_rights() -> Option<Place> {
    let place = Place::new();
    profile(&place, &["true"]).map(|_| place)
}

/// Events of many CPUs are many files; what is observed may have as many open as it might have had.
#[test]
fn a_command_keeps_its_limit_of_open_files() {
    let script = "ulimit -Sn 100; exec \"$@\"";
    let words = [env!("CARGO_BIN_EXE_tenbin"), "profile", "--", "sh", "-c", "ulimit -Sn"];
    let output = Command::new("sh").args(["-c", script, "sh"]).args(words).output().unwrap();
    assert!(text(&output.stdout).starts_with("100\n"), "{output:?}");
}

#[test]
fn parts_sum_to_the_whole_and_calls_are_counted() {
    let place = Place::new();
    let script = "for number in 1 2 3; do true | cat; done; dd if=/dev/zero of=/dev/null bs=1 count=1000";
    let Some((profile, status)) = profile(&place, &["sh", "-c", script]) else { return };
    assert_eq!((status, profile.exit_status), (0, Some(0)));
    let course = profile.course.as_ref().unwrap();
    let stood: Picoseconds = course.blocked.iter().map(|by| by.time).sum();
    let running: Picoseconds = course.running.iter().copied().sum();
    assert!(are_equal(profile.wall.unwrap(), running + course.queued + stood));
    assert!(profile.threads.len() >= 8 && profile.more_threads == 0, "{}", profile.threads.len());
    insist_on_whole_threads(&profile);
    let of = |name: &str| profile.activities.iter().find(|activity| activity.name == name).unwrap();
    // dd reads and writes a byte at a time; the others read and write a little.
    assert!((1000..1100).contains(&of("read").count), "{:?}", of("read"));
    assert!((1000..1100).contains(&of("write").count), "{:?}", of("write"));
    // A shell looks for its commands in one folder after the other.
    assert_eq!(of("execve").count - of("execve").errors, 5);
    assert_eq!(of("wait4").kind, Kind::Wait);
    let sum = |kinds: &[Kind]| -> u64 {
        profile
            .activities
            .iter()
            .filter(|it| kinds.contains(&it.kind))
            .map(|it| it.histogram.iter().sum::<u64>())
            .sum()
    };
    let counts: u64 = profile.activities.iter().map(|activity| activity.count).sum();
    assert_eq!(sum(&[Kind::Call, Kind::Wait, Kind::Fault, Kind::Interrupt]), counts);
    assert!(profile.overhead.unwrap().total > Picoseconds::ZERO);
}

/// Of what comes often a sample is timed: it is all counted, and what waits among it is seen to.
#[test]
fn a_sample_stands_for_what_comes_often() {
    let place = Place::new();
    let Some((profile, status)) = profile(&place, &[&place.compiled("sampled")]) else { return };
    // 77 where there is no userfaultfd(2), by which it waits in page faults.
    assert!([0, 77].contains(&status), "{status}");
    let of = |name: &str| profile.activities.iter().find(|activity| activity.name == name).unwrap();
    let blocked = |name: &str| of(name).split.unwrap().blocked.as_seconds();
    let parts = &profile.overhead.as_ref().unwrap().parts;
    let count = |event| parts.iter().find(|part| part.event == event).map_or(0, |part| part.count);
    // The dynamic linker reads a few times, too.
    assert!((100_040..100_060).contains(&of("read").count), "{:?}", of("read"));
    let untimed = count(Event::UntimedCall) + count(Event::UnseenCall);
    assert!(untimed > 50_000, "{parts:?}");
    assert!(blocked("read") > 0.19, "{:?}", of("read"));
    let calls = profile.activities.iter().filter(|it| matches!(it.kind, Kind::Call | Kind::Wait));
    let calls: u64 = calls.map(|activity| activity.count).sum();
    assert_eq!(count(Event::Call) + untimed, calls);
    let faults = of("page fault");
    assert!((100_000..101_000).contains(&faults.count), "{faults:?}");
    assert_eq!(count(Event::Fault) + count(Event::UntimedFault), faults.count);
    // Where no tracepoint says that one begins, each is timed.
    assert!(cfg!(not(target_arch = "x86_64")) || count(Event::UntimedFault) > 0, "{parts:?}");
    assert!(status == 77 || blocked("page fault") > 0.19, "{faults:?}");
    insist_on_whole_threads(&profile);
    assert_eq!(of("read").histogram.iter().sum::<u64>(), of("read").count);
}

/// While calls come fast, only the end of most of them is seen: each is counted, and what waits is seen to.
#[test]
fn calls_that_come_fast_are_counted_at_their_end() {
    let place = Place::new();
    let Some((profile, status)) = profile(&place, &[&place.compiled("fast")]) else { return };
    assert_eq!(status, 0);
    let of = |name: &str| profile.activities.iter().find(|activity| activity.name == name).unwrap();
    assert_eq!((of("getppid").count, of("getppid").errors), (3_000_000, 0));
    assert_eq!((of("fsync").count, of("fsync").errors), (900, 900));
    // The dynamic linker reads its header.
    assert!((300..310).contains(&of("pread64").count), "{:?}", of("pread64"));
    let sleeps = of("clock_nanosleep");
    assert_eq!(sleeps.count, 300);
    assert!(sleeps.split.unwrap().blocked.as_seconds() > 0.29, "{sleeps:?}");
    let parts = &profile.overhead.as_ref().unwrap().parts;
    let count = |event| parts.iter().find(|part| part.event == event).map_or(0, |part| part.count);
    // Elsewhere, a tracepoint does not say which call ends.
    assert!(cfg!(not(target_arch = "x86_64")) || count(Event::UnseenCall) > 0, "{parts:?}");
    for activity in &profile.activities {
        let counted = if activity.kind == Kind::User { 0 } else { activity.count };
        assert_eq!(activity.histogram.iter().sum::<u64>(), counted, "{activity:?}");
    }
    insist_on_whole_threads(&profile);
    let parts = |of: fn(&tenbin_model::profile::Split) -> Picoseconds| -> Picoseconds {
        profile.activities.iter().filter_map(|it| it.split.as_ref()).map(of).sum()
    };
    let threads: Picoseconds = profile.threads.iter().map(|it| it.wall).sum();
    let rows = parts(|split| split.on_cpu) + parts(|split| split.queued) + parts(|split| split.blocked);
    assert!(are_equal(threads, rows), "{threads} {rows}");
}

/// Faults while execve(2) copies its arguments come before the command is there, and are part of that call;
/// what was done to measure the costs of observing is no part of the command.
#[test]
fn a_command_of_a_moment_has_all_of_its_time_and_no_more() {
    let place = Place::new();
    let long = "x".repeat(100_000);
    let mut missing = u64::MAX;
    for _ in 0..5 {
        let Some((profile, _)) = profile(&place, &["true", &long]) else { return };
        let [it] = profile.threads.as_slice() else { panic!("{:?}", profile.threads) };
        let parts = [it.user, it.kernel, it.faults, it.interrupts, it.queued, it.blocked];
        missing =
            missing.min(it.wall.0.abs_diff(parts.into_iter().sum::<Picoseconds>().0) * 1000 / it.wall.0);
        let parts = profile.overhead.unwrap().parts;
        let switches = parts.iter().find(|part| part.event == Event::Switch).map_or(0, |part| part.count);
        assert!(switches < 100, "{parts:?}");
    }
    assert!(missing <= 2, "{missing} thousandths of its time");
}

#[test]
fn calls_are_told_apart_by_the_file_that_they_are_about() {
    let place = Place::new();
    fs::write(place.path("read"), [0; 1000]).unwrap();
    let script = "dd if=read of=/dev/null bs=1 2>/dev/null | cat; ls none-such";
    let output =
        place.tenbin(&["profile", "--files", "--json", "-o", "profile.json", "--", "sh", "-c", script]);
    let profile: Profile = serde_json::from_slice(&fs::read(place.path("profile.json")).unwrap()).unwrap();
    if profile.observer != Observer::Kernel {
        assert!(profile.unseen.iter().any(|why| why.starts_with("Which files")), "{profile:?}");
        return;
    }
    assert_eq!(ending(&output).0, 2);
    let of = |file: &str, activity: &str| {
        let mut uses = profile.files.iter().filter(|it| it.file == file && it.activity == activity);
        uses.next().unwrap_or_else(|| panic!("{file} {activity}"))
    };
    let read = of(fs::canonicalize(place.path("read")).unwrap().to_str().unwrap(), "read");
    assert_eq!((read.count, read.errors), (1001, 0));
    assert!(read.split.on_cpu > Picoseconds::ZERO);
    assert!((1000..1010).contains(&of("/dev/null", "write").count));
    assert!(profile.files.iter().any(|it| it.file == "none-such" && it.errors == it.count));
    assert!(of("a pipe", "read").count > 0);
    // Each is one of the calls that are counted without regard to files.
    let all = profile.activities.iter().find(|activity| activity.name == "read").unwrap();
    let reads: u64 = profile.files.iter().filter(|it| it.activity == "read").map(|it| it.count).sum();
    assert_eq!(reads, all.count);
    let shown = place.tenbin(&["profile", "--from", "profile.json"]);
    assert!(text(&shown.stdout).contains("1001 read"), "{}", text(&shown.stdout));
}

#[test]
fn it_ends_as_the_command_does_and_leaves_its_streams_alone() {
    let place = Place::new();
    let Some((observed, status)) = profile(&place, &["sh", "-c", "exit 7"]) else { return };
    assert_eq!((status, observed.exit_status), (7, Some(7)));
    let (observed, status) = profile(&place, &["sh", "-c", "kill -TERM $$"]).unwrap();
    assert_eq!((status, observed.exit_status), (128 + 15, Some(256 + 15)));
    let output = place.tenbin(&["profile", "--", "echo", "on standard output"]);
    assert_eq!(text(&output.stdout), "on standard output\n");
    let answer = text(&output.stderr);
    assert!(answer.starts_with("`echo on standard output` took "), "{answer}");
    assert!(answer.contains("As time(1) has it: real "), "{answer}");
    let missing = place.tenbin(&["profile", "--", "no-such-command"]);
    assert_eq!(ending(&missing).0, 2);
    assert!(text(&missing.stderr).contains("no-such-command"));
}

#[test]
fn a_command_that_does_not_end_is_killed_at_its_deadline() {
    let Some(place) = with_rights() else { return };
    let output = place.tenbin(&["profile", "--deadline", "1", "--", "sleep", "600"]);
    assert_eq!(ending(&output).0, 1);
    assert!(text(&output.stderr).contains("It had not ended after 1 s, and was killed."));
}

#[test]
fn more_calls_are_why_a_command_takes_longer() {
    let Some(place) = with_rights() else { return };
    let dd = |count: u32| format!("dd if=/dev/zero of=/dev/null bs=1 count={count}");
    let output = place.tenbin(&["weigh", "--why", "--runs", "5", &dd(100), &dd(100_000)]);
    let answer = text(&output.stdout) + &text(&output.stderr);
    let (_, why) = answer.split_once("why ").unwrap_or_else(|| panic!("{answer}"));
    let why = joined(why);
    assert!(why.starts_with("Profiled, `dd ") || why.starts_with("Nothing to explain: "), "{answer}");
    // Where other processes made times so uneven that nothing is known, nothing is named.
    let calls = why.match_indices(" calls of ").map(|(place, words)| &why[place + words.len()..]);
    for call in calls {
        assert!(call.starts_with("read") || call.starts_with("write"), "{answer}");
    }
}

#[test]
fn why_is_said_in_json_too() {
    let Some(place) = with_rights() else { return };
    let dd = |count: u32| format!("dd if=/dev/zero of=/dev/null bs=1 count={count}");
    let output = place.tenbin(&["weigh", "--why", "--json", "--runs", "5", &dd(100), &dd(20_000)]);
    let answer: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(answer["report"]["answers"].as_array().unwrap().len(), 1);
    assert!(answer["why"]["sentence"].is_string(), "{answer}");
}

#[test]
fn a_verdict_stands_where_why_cannot_be_answered() {
    let Some(place) = with_rights() else { return };
    // The first runs end well, and those that are profiled do not.
    let fails = "sh -c 'echo >>runs; test $(wc -l <runs) -lt 12'";
    let output = place.tenbin(&["weigh", "--why", "--runs", "8", fails, "true"]);
    assert_eq!(ending(&output).0, 4);
    assert!(text(&output.stdout).contains("Commands: each is started directly"), "{}", text(&output.stdout));
    let remark = text(&output.stderr);
    assert!(remark.contains("ended with status 1 when it was profiled"), "{remark}");
}

/// The same without a kernel that would have to permit it.
#[test]
fn profiles_and_logs_are_read_and_compared() {
    let place = Place::new();
    let log = "1 1000.000000 execve(\"/bin/a\", [\"a\"], 0x1 /* 1 var */) = 0 <0.000100>\n\
               1 1000.001000 read(3, \"\", 1) = 0 <0.002000>\n\
               1 1000.004000 +++ exited with 0 +++\n";
    fs::write(place.path("one.log"), log).unwrap();
    let longer = log.replace("<0.002000>", "<0.052000>").replace("1000.004", "1000.054");
    fs::write(place.path("other.log"), longer).unwrap();
    let compared = place.tenbin(&["compare", "one.log", "other.log"]);
    let answer = joined(&text(&compared.stdout));
    assert!(answer.contains("other.log takes 50.0 ms longer than one.log"), "{answer}");
    assert!(answer.contains("100 % of that is longer calls of read"), "{answer}");
    // Through JSON and back.
    place.answered(&["profile", "--from", "one.log", "--json", "-o", "one.json"]);
    let shown = ["one.log", "one.json"].map(|file| place.answered(&["profile", "--from", file]));
    assert_eq!(shown[0], shown[1]);
    for (arguments, words) in [
        (&["compare", "one.log", "none.log"][..], "read none.log: No such file"),
        (&["profile", "--from", "."], "read .: Is a directory"),
        (&["profile", "--from", "one.log", "--", "true"], "cannot be used with"),
    ] {
        let output = place.tenbin(arguments);
        assert_eq!(ending(&output).0, 2);
        assert!(text(&output.stderr).contains(words), "{}", text(&output.stderr));
    }
    fs::write(place.path("wrong.json"), "{\"schema\": \"tenbin-run-2\"}").unwrap();
    let wrong = place.tenbin(&["profile", "--from", "wrong.json"]);
    assert_eq!(ending(&wrong).0, 2);
    assert!(text(&wrong.stderr).contains("tenbin-profile-1"), "{}", text(&wrong.stderr));
}

/// Programs are attached by descriptors of tenbin alone, and the command ends with it.
#[test]
fn nothing_is_left_when_tenbin_is_killed() {
    let Some(place) = with_rights() else { return };
    let mut command = place.command(&["profile", "--", "sh", "-c", "echo; exec sleep 600"]);
    let mut tenbin = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = tenbin.stdout.take().unwrap();
    // What it writes says that it runs.
    output.read_exact(&mut [0]).unwrap();
    let descriptors = fs::read_dir(format!("/proc/{}/fd", tenbin.id())).unwrap();
    let kinds = descriptors.filter_map(|entry| fs::read_link(entry.unwrap().path()).ok());
    assert!(kinds.filter(|kind| kind.to_string_lossy().contains("bpf")).count() > 8);
    tenbin.kill().unwrap();
    tenbin.wait().unwrap();
    // The end of what it writes is that of the last one who could.
    assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
}

#[test]
fn what_stops_a_command_is_not_its_own_code() {
    let Some(place) = with_rights() else { return };
    let file = place.path("profile.json");
    let words = ["profile", "--json", "-o", "profile.json", "--", "sh", "-c", "echo $$; kill -STOP $$"];
    let mut command = place.command(&words);
    let mut tenbin = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut number = String::new();
    BufReader::new(tenbin.stdout.take().unwrap()).read_line(&mut number).unwrap();
    let number = number.trim();
    // It is let run on as soon as it is stopped, so the end of the test does not depend on time.
    let is_stopped = || fs::read_to_string(format!("/proc/{number}/stat")).unwrap().contains(") T ");
    while !is_stopped() {
        std::thread::yield_now();
    }
    assert!(Command::new("kill").args(["-CONT", number]).status().unwrap().success());
    assert!(tenbin.wait().unwrap().success());
    let profile: Profile = serde_json::from_slice(&fs::read(file).unwrap()).unwrap();
    let blocked = profile.course.unwrap().blocked;
    assert!(blocked.iter().any(|by| by.activity == "stop"), "{blocked:?}");
    assert!(blocked.iter().all(|by| by.activity != "user code"), "{blocked:?}");
}

/// Stacks of a shell that sleeps, and how they are exported.
#[test]
fn stacks_of_a_command_say_where_it_waited() {
    let place = Place::new();
    let words = ["profile", "--sample", "--json", "-o", "stacks.json", "--export", "folded=folded.txt", "--"];
    let script = "sleep 0.2; number=0; while [ $number -lt 20000 ]; do number=$((number + 1)); done; exit 3";
    let output = place.tenbin(&[&words[..], &["sh", "-c", script]].concat());
    let (status, stderr) = ending(&output);
    if status == 5 {
        assert!(stderr.contains("(BPF)"), "{stderr}");
        return;
    }
    assert_eq!(status, 3, "{stderr}");
    let stacks: Stacks = serde_json::from_slice(&fs::read(place.path("stacks.json")).unwrap()).unwrap();
    assert_eq!((stacks.exit_status, stacks.check()), (Some(3), Ok(())));
    // Each sample in a function that has a name is one of an instruction of it.
    let is_named = |it: &&tenbin_model::stacks::Sample| {
        let innermost =
            stacks.frames_of(it.stack).next().map(|frame| &stacks.frames[frame as usize].function);
        innermost.is_some_and(|function| !function.contains("+0x") && !function.starts_with("0x"))
    };
    let on_cpu = stacks.samples.iter().filter(|it| it.state == State::OnCpu);
    let named: u64 = on_cpu.filter(is_named).map(|it| it.count).sum();
    assert_eq!(stacks.instructions.iter().map(|it| it.count).sum::<u64>(), named);
    let has = |stack, part: &str| {
        stacks.frames_of(stack).any(|frame| stacks.frames[frame as usize].function.contains(part))
    };
    let sleep = stacks.samples.iter().find(|it| it.state == State::Blocked && has(it.stack, "nanosleep"));
    let sleep = sleep.expect("sleep sleeps, and the kernel has names for those who may observe");
    assert!(sleep.time >= Picoseconds::from_millis(190), "{sleep:?}");
    assert_eq!(stacks.threads[sleep.thread as usize].name, "sleep");
    let folded = fs::read_to_string(place.path("folded.txt")).unwrap();
    let line =
        |line: &str| line.starts_with("sleep;") && line.contains("nanosleep") && line.contains(";[blocked] ");
    assert!(folded.lines().any(line), "{folded}");
}

/// A stack takes no other one's place, as it does in the kernel's map of stacks.
#[test]
fn every_stack_of_two_thousand_is_kept() {
    let place = Place::new();
    let words = ["profile", "--sample", "--json", "-o", "stacks.json", "--", &place.compiled("paths")];
    let (status, stderr) = ending(&place.tenbin(&words));
    if status == 5 {
        assert!(stderr.contains("(BPF)"), "{stderr}");
        return;
    }
    let stacks: Stacks = serde_json::from_slice(&fs::read(place.path("stacks.json")).unwrap()).unwrap();
    assert!(stacks.unseen.iter().all(|it| !it.contains("stacks were not kept")), "{:?}", stacks.unseen);
    // In a container functions of user space have no names; how deep they are is known there, too.
    let is_sleep = |it: &&tenbin_model::stacks::Sample| {
        it.state == State::Blocked && stacks.frames_of(it.stack).count() > 12
    };
    let sleeps: u64 = stacks.samples.iter().filter(is_sleep).map(|it| it.count).sum();
    // One that is over before its thread has left the CPU is no sleep.
    assert!(sleeps > 1000, "{sleeps}");
}

#[test]
fn an_export_without_stacks_is_a_usage_error() {
    let place = Place::new();
    for words in [
        &["profile", "--export", "pprof=a.pb", "--", "true"][..],
        &["profile", "--sample", "--export", "svg=a.svg", "--", "true"],
        &["profile", "--sample", "--export", "pprof", "--", "true"],
        &["profile", "--sample", "--export", "pprof=a", "--export", "folded=a", "--", "true"],
        &["profile", "--frequency", "10", "--", "true"],
    ] {
        let (status, stderr) = ending(&place.tenbin(words));
        assert_eq!(status, 2, "{words:?}: {stderr}");
    }
}
