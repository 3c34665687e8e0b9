//! What a call becomes, as a user asks for it.

#![allow(clippy::unwrap_used)]

use std::process::Command;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, text};

#[test]
fn a_trace_is_an_answer_without_a_measurement() {
    let place = Place::new();
    let report = place.answered(&["run", "calls", "--set", "trace=getpid,printf", "--json"]);
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!(report["answers"].as_array().unwrap().len(), 0);
    let findings = report["findings"].as_array().unwrap().iter();
    let sentences: Vec<&str> = findings.map(|finding| finding["sentence"].as_str().unwrap()).collect();
    let [getpid, to_a_pipe, to_a_terminal] = sentences.as_slice() else { panic!("{sentences:?}") };
    assert!(getpid.contains("getpid() issues getpid"), "{getpid}");
    let (until, after) = to_a_pipe.split_once("after it has returned").unwrap();
    assert!(!until.contains("write") && after.contains("write"), "{to_a_pipe}");
    let (until, after) = to_a_terminal.split_once("after it has returned").unwrap();
    assert!(until.contains("write") && !after.contains("write"), "{to_a_terminal}");

    // It is kept, and shown again without being traced again.
    let shown = text(&place.tenbin(&["show", "latest"]).stdout);
    assert!(shown.contains("getpid() issues getpid") && !shown.contains("Also observed"), "{shown}");
}

#[test]
fn without_a_compiler_the_command_that_installs_one_is_named() {
    let place = Place::new();
    let mut command = place.command(&["run", "calls", "--set", "trace=fork", "--no-store"]);
    let output = command.env("CC", "no-such-compiler").output().unwrap();
    let (status, stderr) = ending(&output);
    assert_eq!((status, text(&output.stdout)), (5, String::new()));
    assert!(stderr.contains("`no-such-compiler`") && stderr.contains("apt install gcc"), "{stderr}");
}

#[test]
fn what_cannot_be_traced_is_a_usage_error() {
    let place = Place::new();
    for (setting, named) in [
        ("trace=frok", "fork, vfork, posix_spawn"),
        ("trace=fork,fork", "twice"),
        ("trace=fork --set probe=/etc/passwd", "/etc/passwd"),
        ("probe=/nowhere/probe", "/nowhere/probe cannot be found"),
        ("probe=/etc/passwd --quick", "with --quick nothing is traced"),
    ] {
        let words = ["run", "calls", "--set"].into_iter().chain(setting.split(' ')).collect::<Vec<_>>();
        let (status, stderr) = ending(&place.tenbin(&words));
        assert_eq!(status, 2, "{stderr}");
        assert!(stderr.starts_with("tenbin: usage error: ") && stderr.contains(named), "{stderr}");
        // The store is made before anything is measured: where there is none, nothing was.
        assert!(!place.path("store.db").exists(), "{setting} has begun");
    }
}

/// `env --ignore-signal` of GNU hands the disposition on, as a shell's `trap '' CHLD` or a careless
/// supervisor does.
#[test]
fn a_parent_that_ignores_its_children_takes_no_answer_away() {
    const IGNORING: &str = "--ignore-signal=CHLD";
    if !Command::new("env").args([IGNORING, "true"]).status().is_ok_and(|status| status.success()) {
        eprintln!("skipped: `env` knows no --ignore-signal");
        return;
    }
    let words = ["run", "calls", "--set", "trace=getpid", "--no-store"];
    let output = Place::new().disposed(IGNORING, &words).output().unwrap();
    let (status, stderr) = ending(&output);
    assert_eq!(status, 0, "{stderr}");
    assert!(text(&output.stdout).contains("getpid() issues getpid"), "{}", text(&output.stdout));
}
