//! `tenbin blame`: libraries and programs of known faults, and whose fault each is said to be.

#![expect(clippy::disallowed_methods, reason = "children have deadlines")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::Value;

#[path = "blame/libraries.rs"]
mod libraries;
#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use libraries as c;
use place::{Place, ending, text};

/// Everything is allowed ample time but what is known to take for ever.
const AMPLE: &[&str] = &["--within", "120"];

/// Compiles `source` by the machine's compiler, or by the one named.
fn compiled(place: &Place, compiler: &str, name: &str, source: &str, options: &[&str]) -> PathBuf {
    let (path, page) = (place.path(name), place.path(&format!("{name}.c")));
    fs::write(&page, source).unwrap();
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-O1", "-fno-builtin", "-o"]).arg(&path).arg(&page).args(options);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
    path
}

fn library(place: &Place, name: &str, source: &str) {
    compiled(place, "cc", name, source, &["-shared", "-fPIC"]);
}

/// A place with a `sort` of this body as `lib.so`.
fn with_sort(body: &str) -> Place {
    let place = Place::new();
    library(&place, "lib.so", &c::sort(body));
    place
}

/// What `tenbin blame …` found, as its JSON, and its exit status.
fn blamed(place: &Place, arguments: &[&str]) -> (i32, Value) {
    let mut words = vec!["blame", "--json"];
    words.extend(arguments);
    if !arguments.contains(&"--within") && !arguments.contains(&"--") {
        words.extend(AMPLE);
    }
    let output = place.tenbin(&words);
    let (status, said) = ending(&output);
    let value = serde_json::from_slice(&output.stdout);
    (status, value.unwrap_or_else(|error| panic!("{arguments:?}: {error}: {said}")))
}

/// The findings of one attribution.
fn of<'a>(blame: &'a Value, attribution: &str) -> Vec<&'a Value> {
    let findings = blame["findings"].as_array().unwrap();
    findings.iter().filter(|finding| finding["attribution"] == attribution).collect()
}

fn string<'a>(finding: &'a Value, key: &str) -> &'a str {
    finding[key].as_str().unwrap_or_else(|| panic!("no {key}: {finding}"))
}

#[test]
fn six_libraries_are_attributed_with_the_smallest_input_of_each() {
    // What is expected of each: implementation errors (what it does, smallest input), and its stability.
    type Expected =
        (&'static str, &'static str, &'static str, Option<(&'static str, &'static str)>, &'static str);
    let expected: [Expected; 6] = [
        ("correct, stable", c::STABLE, "120", None, "stable"),
        ("correct, unstable", c::UNSTABLE, "120", None, "not stable"),
        ("descending", c::DESCENDING, "120", Some(("does not ascend", "ages [0, 1]")), ""),
        ("drops one", c::DROPS, "120", Some(("loses a person when len is odd", "ages [0]")), ""),
        (
            "crashes",
            c::CRASHES,
            "120",
            Some(("is ended by signal 6 (SIGABRT) when len is 0", "ages [], len 0")),
            "",
        ),
        ("sleeps", c::SLEEPS, "0.5", Some(("does not return within", "ages [], len 0")), ""),
    ];
    for (name, body, within, error, stability) in expected {
        let place = with_sort(body);
        let (status, blame) = blamed(&place, &["sort", "./lib.so", "--within", within]);
        let errors = of(&blame, "implementation_error");
        match error {
            None => {
                assert_eq!((status, errors.len()), (0, 0), "{name}: {blame}");
                let aspects = of(&blame, "implementation_defined");
                let aspect = aspects.iter().find(|aspect| aspect["aspect"] == "stability").unwrap();
                assert!(
                    string(aspect, "sentence").contains(&format!("stability of ./lib.so: {stability}")),
                    "{name}: {aspect}"
                );
                assert_eq!(blame["libraries"][0]["met"], blame["libraries"][0]["inputs"], "{name}");
            }
            Some((words, input)) => {
                assert_eq!((status, errors.len()), (4, 1), "{name}: {blame}");
                let sentence = string(errors[0], "sentence");
                assert!(
                    sentence.starts_with("Implementation error: sort() of ./lib.so breaks"),
                    "{sentence}"
                );
                assert!(sentence.contains(words), "{name}: {sentence}");
                assert_eq!(string(errors[0], "input"), input, "{name}: {sentence}");
                assert!(!string(errors[0], "expected").is_empty() && !string(errors[0], "got").is_empty());
            }
        }
        assert!(of(&blame, "specification_error").is_empty(), "{name}: {blame}");
        assert!(of(&blame, "usage_error").is_empty(), "{name}: {blame}");
    }
}

#[test]
fn the_smallest_input_that_shows_instability_has_a_third_person() {
    let place = with_sort(c::UNSTABLE);
    let (status, blame) = blamed(&place, &["sort", "./lib.so"]);
    assert_eq!(status, 0);
    let aspect = of(&blame, "implementation_defined")[0];
    assert_eq!(string(aspect, "input"), "ages [1, 1, 0]", "{aspect}");
}

#[test]
fn other_ways_of_being_wrong_are_told_apart() {
    let table = [
        (c::SCRIBBLES, "touches memory just behind a[]", "ages [0, 0]"),
        (c::SCRIBBLES_IN_FRONT, "touches memory just in front of a[]", "ages [0]"),
        (c::REJUVENATES, "alters a person", "ages [0, 0, 1]"),
        (c::EXITS, "ends the process with status 0", "ages [0, 0]"),
        (c::KILLS, "is ended by signal 9 (SIGKILL)", "ages [0, 0]"),
        (c::CLOSES, "changes memory or files of its caller", "ages [0, 0]"),
        (c::WRONG_STATUS, "does not report success", "ages [0, 0]"),
    ];
    for (body, words, input) in table {
        let place = with_sort(body);
        let (status, blame) = blamed(&place, &["sort", "./lib.so"]);
        let errors = of(&blame, "implementation_error");
        let found = errors.iter().find(|error| string(error, "sentence").contains(words));
        let found = found.unwrap_or_else(|| panic!("{words}: {blame}"));
        assert_eq!((status, string(found, "input")), (4, input), "{found}");
    }
}

#[test]
fn what_a_library_prints_disturbs_nothing_and_is_told() {
    let place = with_sort(c::PRINTS);
    let output = place.tenbin(&["blame", "sort", "./lib.so"]);
    let (status, said) = ending(&output);
    assert_eq!((status, said.as_str()), (0, ""), "{}", text(&output.stdout));
    let shown = text(&output.stdout);
    assert!(!shown.contains("sorting "), "{shown}");
    assert!(shown.contains("writes to standard output"), "{shown}");
}

#[test]
fn a_fault_that_needs_an_earlier_call_is_found_and_said_to() {
    let place = with_sort(c::REMEMBERS);
    let (status, blame) = blamed(&place, &["sort", "./lib.so"]);
    let errors = of(&blame, "implementation_error");
    assert_eq!((status, errors.len()), (4, 1), "{blame}");
    assert!(string(errors[0], "sentence").contains("only after other calls"), "{blame}");
}

#[test]
fn what_only_large_inputs_show_is_shrunk_to_the_smallest_of_them() {
    let place = with_sort(c::EIGHT);
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "--cases", "200"]);
    assert_eq!(status, 4, "{blame}");
    let input = string(of(&blame, "implementation_error")[0], "input");
    let ages: Vec<i64> = serde_json::from_str(input.trim_start_matches("ages ")).unwrap();
    assert_eq!(ages.len(), 9, "{input}");
    assert_eq!(ages.iter().sum::<i64>(), 1, "one person is a year older than the last one: {input}");
}

#[test]
fn the_same_seed_says_the_same_words() {
    let place = with_sort(c::EIGHT);
    let arguments = ["blame", "sort", "./lib.so", "--seed", "7", "--cases", "100", "--within", "120"];
    let (first, second) = (place.tenbin(&arguments), place.tenbin(&arguments));
    assert_eq!(ending(&first).0, 4);
    assert_eq!(text(&first.stdout), text(&second.stdout));
}

/// A library that does what a contradictory specification makes impossible to do is not blamed for it.
#[test]
fn the_blame_for_a_wrong_specification_is_not_the_librarys() {
    let place = with_sort(c::STABLE);
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "--specification", "strict"]);
    assert_eq!(status, 4);
    assert_eq!(of(&blame, "specification_error").len(), 1, "{blame}");
    assert!(of(&blame, "implementation_error").is_empty(), "{blame}");
    let (_, blame) = blamed(&place, &["sort", "./lib.so", "--specification", "descending"]);
    let errors = of(&blame, "implementation_error");
    assert_eq!(string(errors[0], "input"), "ages [0, 1]", "it was to descend: {blame}");
}

#[test]
fn from_stable_to_unstable_is_a_change_of_what_was_the_implementations_to_choose() {
    let place = with_sort(c::STABLE);
    library(&place, "next.so", &c::sort(c::UNSTABLE));
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "./next.so"]);
    assert_eq!(status, 0, "{blame}");
    let changes = of(&blame, "implementation_defined");
    let change = changes
        .iter()
        .find(|change| {
            string(change, "subject").contains("./next.so and")
                || string(change, "sentence").contains("changed")
        })
        .unwrap();
    let sentence = string(change, "sentence");
    assert!(sentence.contains("stability changed from stable to not stable"), "{sentence}");
    assert_eq!((&change["aspect"], string(change, "input")), (&Value::from("stability"), "ages [1, 1, 0]"));
    let (_, blame) = blamed(&place, &["sort", "./lib.so", "./lib.so"]);
    assert!(!blame.to_string().contains("changed"), "{blame}");
}

#[test]
fn a_copy_in_another_order_is_a_change_that_only_overlapping_regions_show() {
    let place = Place::new();
    library(&place, "forward.so", &c::memcpy(c::FORWARD));
    library(&place, "backward.so", &c::memcpy(c::BACKWARD));
    library(&place, "words.so", &c::memcpy(c::WORDS));
    let (status, blame) = blamed(&place, &["memcpy", "forward.so", "backward.so"]);
    assert_eq!(status, 0, "{blame}");
    let change = of(&blame, "implementation_defined");
    let change = change.iter().find(|found| string(found, "sentence").contains("changed")).unwrap();
    assert_eq!(change["aspect"], "overlapping regions");
    let (status, blame) = blamed(&place, &["memcpy", "words.so"]);
    let errors = of(&blame, "implementation_error");
    assert_eq!((status, string(errors[0], "input")), (4, "bytes [0]"), "{blame}");
    assert!(string(errors[0], "sentence").contains("when n is odd"), "{blame}");
}

#[test]
fn a_caller_that_passes_an_age_below_zero_makes_a_usage_error() {
    let place = Place::new();
    library(&place, "libsort.so", &c::sort(c::STABLE));
    let here = format!("-Wl,-rpath,{}", place.folder.path().display());
    let folder = format!("-L{}", place.folder.path().display());
    compiled(&place, "cc", "caller", c::CALLER, &[&folder, "-lsort", &here]);
    let output = place.tenbin(&[
        "blame",
        "sort",
        "./libsort.so",
        "--json",
        "-o",
        "blame.json",
        "--",
        "./caller",
        "-10",
    ]);
    let (status, said) = ending(&output);
    assert_eq!(status, 4, "{said}");
    assert_eq!(text(&output.stdout), "./caller says 0 1 0\n", "the program's own words pass through");
    let blame: Value = serde_json::from_slice(&fs::read(place.path("blame.json")).unwrap()).unwrap();
    let errors = of(&blame, "usage_error");
    assert_eq!((errors.len(), blame["findings"].as_array().unwrap().len()), (1, 1), "{blame}");
    let sentence = string(errors[0], "sentence");
    assert!(
        sentence.starts_with("Usage error: ./caller") && sentence.contains("every age is 0 or more"),
        "{sentence}"
    );
    assert_eq!(string(errors[0], "input"), "ages [3, -10, 1]", "{sentence}");
    assert_eq!(
        (&blame["program"]["calls"], &blame["program"]["outside"]),
        (&Value::from(3), &Value::from(1))
    );
    assert_eq!(string(&blame["program"], "ended"), "exited with status 7");

    let output = place.tenbin(&["blame", "sort", "./libsort.so", "--", "./caller"]);
    assert_eq!(ending(&output).0, 0, "{}", text(&output.stdout));
    assert!(text(&output.stdout).starts_with("./caller says 0 0 0\n"));
    assert!(text(&output.stdout).contains("3 calls"), "{}", text(&output.stdout));

    // The same call through a library that is wrong: then it is the library's fault and not the caller's.
    library(&place, "descending.so", &c::sort(c::DESCENDING));
    let output = place.tenbin(&["blame", "sort", "./descending.so", "--", "./caller"]);
    assert_eq!(ending(&output).0, 4);
    let said = text(&output.stdout);
    assert!(
        said.contains("Implementation error: sort() of ./descending.so") && !said.contains("Usage error"),
        "{said}"
    );
}

#[test]
fn a_caller_whose_call_never_returns_is_told_by_what_it_passed() {
    let place = Place::new();
    library(&place, "libsort.so", &c::sort(c::STABLE));
    let here = format!("-Wl,-rpath,{}", place.folder.path().display());
    let folder = format!("-L{}", place.folder.path().display());
    compiled(&place, "cc", "nobody", c::NOBODY, &[&folder, "-lsort", &here]);
    // Through a shell: children are watched too.
    let (status, blame) = blamed(&place, &["sort", "--", "sh", "-c", "exec ./nobody"]);
    assert_eq!((status, blame["findings"].as_array().unwrap().len()), (4, 1), "{blame}");
    let error = of(&blame, "usage_error")[0];
    assert!(string(error, "sentence").contains("a[] holds len persons"), "{error}");
    assert_eq!(string(error, "input"), "ages [3], len 2");
    assert_eq!(string(&blame["program"], "ended"), "was ended by signal 11 (SIGSEGV)");

    // The same with a proper call is the library's fault.
    library(
        &place,
        "crashes.so",
        &c::sort("(void)insertion; (void)wrong; if (len == 2) abort(); return a == NULL;"),
    );
    compiled(&place, "cc", "caller", c::CALLER, &[&folder, "-lsort", &here]);
    let (status, blame) = blamed(&place, &["sort", "crashes.so", "--", "./caller"]);
    let errors = of(&blame, "implementation_error");
    assert_eq!((status, errors.len()), (4, 1), "{blame}");
    assert!(string(errors[0], "sentence").contains("is ended by signal 6 (SIGABRT)"), "{blame}");
}

#[test]
fn a_copy_between_overlapping_regions_is_the_callers_fault() {
    let place = Place::new();
    compiled(&place, "cc", "overlaps", c::OVERLAPS, &[]);
    let (status, blame) = blamed(&place, &["memcpy", "--", "./overlaps"]);
    let errors = of(&blame, "usage_error");
    assert_eq!((status, errors.len()), (4, 1), "{blame}");
    assert_eq!(string(errors[0], "input"), "n 5, to = from + 1");
    assert_eq!(blame["program"]["outside"], 1, "{blame}");
}

/// A library may start what leaves its group and its session.
#[test]
fn what_a_library_starts_is_gone_when_it_was_examined() {
    let place = with_sort(c::DAEMON);
    let library = place.path("lib.so");
    let (status, blame) = blamed(&place, &["sort", library.to_str().unwrap(), "--cases", "0"]);
    assert_eq!(status, 0, "{blame}");
    for entry in fs::read_dir("/proc").unwrap() {
        let words = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        assert!(!text(&words).contains(library.to_str().unwrap()), "{}", text(&words));
    }
}

/// What was started for a library is gone when tenbin is, however that ends.
#[test]
fn nothing_outlives_tenbin() {
    let place = with_sort(c::SLEEPS);
    let library = place.path("lib.so");
    let mut tenbin = Command::new(env!("CARGO_BIN_EXE_tenbin"))
        .args(["blame", "sort", "--within", "10000"])
        .arg(&library)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    // The supervisor and the worker have the library's path behind their own; so does tenbin.
    let own = tenbin.id();
    let holding = || {
        let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
            let process: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
            let words = fs::read(format!("/proc/{process}/cmdline")).ok()?;
            let held = text(&words).contains(library.to_str()?);
            (held && u32::try_from(process) != Ok(own)).then_some(process)
        });
        processes.collect::<Vec<i32>>()
    };
    let own_end = pidfd(tenbin.id());
    let mut processes = holding();
    let begun = Instant::now();
    while processes.len() < 2 {
        // Its end would be the end of all hope for them.
        assert!(!ends_within(&own_end, Duration::from_millis(10)), "tenbin ended by itself");
        assert!(begun.elapsed() < PATIENCE, "nothing was started");
        processes = holding();
    }
    let ends: Vec<OwnedFd> = processes.iter().map(|&process| pidfd(process.cast_unsigned())).collect();
    tenbin.kill().unwrap();
    tenbin.wait().unwrap();
    // Killed is not gone yet.
    for end in &ends {
        assert!(ends_within(end, PATIENCE), "a process outlives tenbin");
    }
}

/// Longer than anything here takes on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

fn pidfd(process: u32) -> OwnedFd {
    let process = Pid::from_raw(process.cast_signed()).unwrap();
    pidfd_open(process, PidfdFlags::empty()).unwrap()
}

fn ends_within(end: &OwnedFd, time: Duration) -> bool {
    let time = Timespec::try_from(time).unwrap();
    poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&time)).unwrap() > 0
}

/// A place with a `sort` of this body as `libsort.so` and a program that is linked with it.
fn with_program(body: &str, source: &str) -> Place {
    let place = Place::new();
    library(&place, "libsort.so", &c::sort(body));
    let here = format!("-Wl,-rpath,{}", place.folder.path().display());
    let folder = format!("-L{}", place.folder.path().display());
    compiled(&place, "cc", "program", source, &[&folder, "-lsort", "-pthread", &here]);
    place
}

#[test]
fn a_proper_call_that_cannot_be_looked_at_whole_is_held_against_nobody() {
    let place = with_program(&c::at_most(0), c::MANY);
    let (status, blame) = blamed(&place, &["sort", "--", "./program", "200000"]);
    assert_eq!((status, &blame["program"]["calls"]), (0, &Value::from(1)), "{blame}");
    assert!(blame["findings"].as_array().unwrap().is_empty(), "{blame}");
    let place = with_program(&c::at_most(9), c::SECLUDED);
    let (status, blame) = blamed(&place, &["sort", "--", "./program"]);
    assert_eq!(string(&blame["program"], "ended"), "exited with status 0", "{blame}");
    assert_eq!((status, &blame["program"]["calls"]), (0, &Value::from(1)), "{blame}");
}

#[test]
fn what_a_library_calls_itself_is_not_the_programs_call() {
    let place = with_program(c::RECURSIVE, c::CALLER);
    let output = place.tenbin(&["blame", "sort", "--", "./program"]);
    let said = text(&output.stdout);
    assert_eq!(ending(&output).0, 0, "{said}");
    assert!(said.contains("3 calls, 0 of which broke"), "{said}");
}

#[test]
fn what_ends_a_program_is_not_the_call_that_happens_to_be_open() {
    let place = with_program(c::STAYS, c::DISTURBED);
    for (what, ended) in
        [("n", "was ended by signal 11 (SIGSEGV)"), ("t", "was ended by signal 15 (SIGTERM)")]
    {
        let (status, blame) = blamed(&place, &["sort", "--", "./program", what]);
        assert_eq!(string(&blame["program"], "ended"), ended, "{blame}");
        assert_eq!((status, &blame["program"]["calls"]), (0, &Value::from(1)), "{blame}");
    }
    // The same call, left alone for all its time.
    let output = place.tenbin(&["blame", "sort", "--within", "0.2", "--", "./program"]);
    assert_eq!(ending(&output).0, 4, "{}", text(&output.stdout));
    assert!(text(&output.stdout).contains("does not return within 0.2 s"), "{}", text(&output.stdout));
}

#[test]
fn an_interrupt_from_the_terminal_is_the_programs_and_the_answer_is_still_given() {
    let place = with_program(c::STABLE, c::INTERRUPTS);
    let mut blame = Value::Null;
    // A shell that starts a command in the background has it ignore the signal; the program does not.
    for disposition in ["--default-signal=INT", "--ignore-signal=INT"] {
        let mut command = Command::new("env");
        command.args([
            disposition,
            env!("CARGO_BIN_EXE_tenbin"),
            "blame",
            "sort",
            "--json",
            "--",
            "./program",
        ]);
        command.current_dir(place.folder.path());
        let output = command.process_group(0).stdin(Stdio::null()).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{:?} {}", output.status, text(&output.stderr));
        blame = serde_json::from_slice(&output.stdout).unwrap();
        assert_eq!(string(&blame["program"], "ended"), "was ended by signal 2 (SIGINT)", "{disposition}");
    }
    let sentence = string(of(&blame, "usage_error")[0], "sentence");
    assert!(
        sentence.contains("breaks what its caller must see to: every age is 0 or more. 1 of 1"),
        "{sentence}"
    );
}

#[test]
fn a_library_that_writes_much_is_not_late() {
    let place = with_sort(c::VERBOSE);
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "--cases", "0"]);
    assert_eq!(status, 0, "{blame}");
    let defined = of(&blame, "implementation_defined");
    let output = defined.iter().find(|found| found["aspect"] == "output").unwrap();
    assert_eq!((string(output, "got"), string(output, "input")), ("160000 bytes", "ages [0, 0]"));
}

#[test]
fn a_signal_that_is_sent_is_no_less_than_a_fault_and_a_copy_of_the_process_is_heard_of_by_nobody() {
    let place = with_sort(c::RAISES);
    let (_, blame) = blamed(&place, &["sort", "./lib.so", "--cases", "0"]);
    let error = of(&blame, "implementation_error")[0];
    assert!(string(error, "sentence").contains("is ended by signal 11 (SIGSEGV)"), "{error}");
    let place = with_sort(c::FORKS);
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "--cases", "0"]);
    assert_eq!(status, 0, "{blame}");
    assert_eq!(blame["libraries"][0]["met"], blame["libraries"][0]["inputs"], "{blame}");
}

#[test]
fn what_comes_of_addresses_comes_again_and_what_comes_once_is_not_blamed_on_earlier_calls() {
    let place = with_sort(c::SWAPPED);
    let arguments = ["blame", "sort", "./lib.so", "--cases", "50", "--within", "120"];
    let (first, second) = (place.tenbin(&arguments), place.tenbin(&arguments));
    assert_eq!((ending(&first).0, text(&first.stdout)), (4, text(&second.stdout)));
    assert!(!text(&first.stdout).contains("other calls"), "{}", text(&first.stdout));
    let place = Place::new();
    let mark = place.path("mark");
    library(&place, "lib.so", &c::sort(&c::once(mark.to_str().unwrap())));
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "--cases", "0"]);
    let error = of(&blame, "implementation_error")[0];
    assert_eq!(status, 4, "{blame}");
    assert!(string(error, "sentence").contains("seen once, and not again"), "{error}");
}

#[test]
fn what_is_left_by_a_library_that_ends_its_watcher_is_gone_too() {
    let place = with_sort(c::PARRICIDE);
    let library = place.path("lib.so");
    let (status, blame) = blamed(&place, &["sort", library.to_str().unwrap(), "--cases", "0"]);
    assert_eq!(status, 4, "{blame}");
    assert!(blame["libraries"][0]["uncalled"].as_u64().unwrap() > 0, "{blame}");
    assert!(string(&blame["libraries"][0], "cut").contains("was ended"), "{blame}");
    for entry in fs::read_dir("/proc").unwrap() {
        let words = fs::read(entry.unwrap().path().join("cmdline")).unwrap_or_default();
        assert!(!text(&words).contains(library.to_str().unwrap()), "{}", text(&words));
    }
}

#[test]
fn what_was_not_judged_or_not_called_is_counted_apart() {
    let place = with_sort(c::STABLE);
    let (_, blame) = blamed(&place, &["sort", "./lib.so", "--specification", "strict"]);
    let called = &blame["libraries"][0];
    let of = |key: &str| called[key].as_u64().unwrap();
    assert!(of("unjudged") > 400 && of("met") > 0 && of("met") + of("unjudged") == of("inputs"), "{called}");
    assert_eq!(string(called, "largest"), "300 persons");
    let place = with_sort(c::SLEEPS);
    let output = place.tenbin(&["blame", "sort", "./lib.so", "--within", "0.2"]);
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(said.contains("for 0 of 2 inputs"), "{said}");
    assert!(said.contains("more were not called, because 3 calls did not return"), "{said}");
}

#[test]
fn what_only_hundreds_of_persons_or_thousands_of_bytes_show_is_found() {
    let place = with_sort(&c::at_most(150));
    let (status, blame) = blamed(&place, &["sort", "./lib.so", "--cases", "0"]);
    let error = of(&blame, "implementation_error")[0];
    assert_eq!(status, 4, "{blame}");
    assert!(string(error, "input").contains("… and 139 more"), "{error}");
    assert!(string(error, "sentence").contains("512 MiB of address space"), "{error}");
    library(&place, "memcpy.so", &c::memcpy("for (size_t i = 0; i < n && i < 65000; i++) t[i] = f[i];"));
    let (status, blame) = blamed(&place, &["memcpy", "./memcpy.so", "--cases", "0"]);
    let error = of(&blame, "implementation_error")[0];
    assert_eq!(status, 4, "{blame}");
    assert!(string(error, "input").contains("and 64989 more"), "{error}");
}

#[test]
fn a_fortified_copy_is_seen_too() {
    let place = Place::new();
    compiled(
        &place,
        "cc",
        "overlaps",
        c::OVERLAPS,
        &["-fbuiltin", "-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"],
    );
    let words = fs::read(place.path("overlaps")).unwrap();
    assert!(text(&words).contains("__memcpy_chk"), "the compiler was to leave the check to the library");
    let (status, blame) = blamed(&place, &["memcpy", "--", "./overlaps"]);
    assert_eq!((status, &blame["program"]["outside"]), (4, &Value::from(1)), "{blame}");
}

#[test]
fn a_library_for_another_architecture_is_named() {
    if Command::new("riscv64-linux-gnu-gcc").arg("--version").output().is_err()
        || cfg!(target_arch = "riscv64")
    {
        eprintln!("skipped: a real library for another architecture, for want of riscv64-linux-gnu-gcc");
        return;
    }
    let place = Place::new();
    compiled(&place, "riscv64-linux-gnu-gcc", "riscv.so", &c::sort(c::STABLE), &["-shared", "-fPIC"]);
    let (status, said) = ending(&place.tenbin(&["blame", "sort", "riscv.so"]));
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("riscv.so") && said.contains("another architecture, Riscv64"), "{said}");
}

#[test]
fn a_library_that_may_not_be_read_is_named() {
    let place = with_sort(c::STABLE);
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    allow(place.folder.path(), 0o755);
    allow(&place.path("lib.so"), 0o000);
    // Root may read anything, so root becomes nobody first; nobody may not enter root's folders, so the
    // binary goes along.
    let binary = place.path("tenbin");
    fs::copy(env!("CARGO_BIN_EXE_tenbin"), &binary).unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary);
        command
    } else {
        Command::new(&binary)
    };
    command.args(["blame", "sort", "./lib.so"]).current_dir(place.folder.path()).stdin(Stdio::null());
    let (status, said) = ending(&command.output().unwrap());
    assert_eq!(status, 2, "{said}");
    assert!(said.contains("./lib.so") && said.contains("denied"), "{said}");
}

#[test]
fn the_schema_of_blame_is_published() {
    let output = Place::new().tenbin(&["schema", "blame"]);
    let schema: Value = serde_json::from_slice(&output.stdout).unwrap();
    for property in ["schema", "contract", "searched", "libraries", "program", "findings"] {
        assert!(schema["properties"][property].is_object(), "{property}");
    }
}

/// Of overlapping regions the specification says nothing, so a difference there is nobody's fault; nor does
/// it clear a library that copies nothing.
#[test]
fn a_difference_clears_no_library_that_breaks_the_specification() {
    let place = Place::new();
    library(&place, "forward.so", &c::memcpy(c::FORWARD));
    library(&place, "lazy.so", &c::memcpy("(void)f; (void)t; (void)n;"));
    let (status, blame) = blamed(&place, &["memcpy", "forward.so", "lazy.so", "--cases", "0"]);
    assert_eq!((status, of(&blame, "implementation_error").len()), (4, 1), "{blame}");
    let changes = of(&blame, "implementation_defined");
    let change = changes.iter().find(|it| string(it, "sentence").contains("changed")).unwrap();
    let sentence = string(change, "sentence");
    assert!(!sentence.contains("both keep"), "{sentence}");
    assert!(sentence.contains("Elsewhere lazy.so breaks the specification"), "{sentence}");
    assert!(!sentence.contains("Elsewhere forward.so"), "{sentence}");
}

#[test]
fn json_about_a_program_that_writes_is_json_alone() {
    let place = Place::new();
    library(&place, "libsort.so", &c::sort(c::STABLE));
    let here = format!("-Wl,-rpath,{}", place.folder.path().display());
    let folder = format!("-L{}", place.folder.path().display());
    compiled(&place, "cc", "caller", c::CALLER, &[&folder, "-lsort", &here]);
    let output = place.tenbin(&["blame", "sort", "--json", "--", "./caller"]);
    let (status, said) = ending(&output);
    assert_eq!((status, said.as_str()), (0, "./caller says 0 0 0\n"));
    let blame: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(blame["program"]["calls"], 3, "{blame}");
}

/// However tenbin ends: the guardian of the folder has its standard error, so the end of that is the
/// guardian's.
#[test]
fn a_signal_leaves_no_folder_of_what_was_compiled() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        // The library opens a pipe that has a name, which lasts until somebody reads it: so this test knows
        // when it is called.
        let place = Place::new();
        let pipe = place.path("called");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let body =
            format!("(void)wrong; (void)insertion; fopen(\"{}\", \"w\"); for (;;) pause();", pipe.display());
        library(&place, "lib.so", &c::sort(&body));
        let temporary = place.path("temporary");
        fs::create_dir(&temporary).unwrap();
        // Whoever started the tests may have had them ignore some of these; env(1) becomes tenbin, under the
        // same number.
        let mut tenbin = Command::new("env")
            .args(["--default-signal=INT,TERM,HUP", env!("CARGO_BIN_EXE_tenbin")])
            .args(["blame", "sort", "./lib.so", "--within", "10000"])
            .env("TMPDIR", &temporary)
            .current_dir(place.folder.path())
            .process_group(0)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        drop(fs::File::open(&pipe).unwrap());
        let entries =
            || fs::read_dir(&temporary).unwrap().map(|it| it.unwrap().file_name()).collect::<Vec<_>>();
        let there = entries();
        let prefix = format!("tenbin-{}-", tenbin.id());
        assert!(there.len() == 1 && there[0].to_str().unwrap().starts_with(&prefix), "{there:?}");
        // As a terminal does it, to the whole group.
        let group = Pid::from_raw(i32::try_from(tenbin.id()).unwrap()).unwrap();
        rustix::process::kill_process_group(group, signal).unwrap();
        let mut said = String::new();
        tenbin.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        tenbin.wait().unwrap();
        assert_eq!(entries(), Vec::<std::ffi::OsString>::new(), "{signal:?}: {said}");
    }
}
