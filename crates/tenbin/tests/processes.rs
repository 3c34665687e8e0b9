//! One question in several processes of tenbin.

#![allow(clippy::unwrap_used)]

use std::fs;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, json, text};

#[test]
fn each_process_is_a_run_and_the_answer_is_over_them() {
    let place = Place::new();
    let output = place.tenbin(&["run", "null", "--processes", "2", "--json"]);
    // Two are too few for the level.
    assert_eq!(ending(&output).0, 3, "{}", ending(&output).1);
    assert!(ending(&output).1.starts_with("Kept as runs "), "{}", ending(&output).1);
    let over = json(&output);
    assert_eq!((&over["schema"], &over["processes"]), (&"tenbin-processes-1".into(), &2.into()));
    assert_eq!(over["answers"][0]["verdict"], "refused");
    assert!(over["answers"][0]["sentence"].as_str().unwrap().contains("at least 8"));
    let runs = json(&place.tenbin(&["runs", "--json"]));
    let kept: Vec<_> = runs.as_array().unwrap().iter().map(|run| &run["id"]).collect();
    assert_eq!(kept.len(), 2);
    let named: Vec<&str> = over["runs"].as_array().unwrap().iter().map(|id| id.as_str().unwrap()).collect();
    assert!(named.iter().all(|id| kept.contains(&&serde_json::Value::from(*id))));
    let compared = place.tenbin(&["compare", &named.join(","), &place.measured()]);
    assert!(text(&compared.stdout).starts_with("Of 1 comparison, "), "{}", text(&compared.stdout));
}

#[test]
fn a_parent_that_is_killed_takes_its_process_with_it() {
    for signal in [Signal::INT, Signal::TERM, Signal::KILL] {
        let place = Place::new();
        let mut parent = place.started(&["run", "atomics", "--thorough", "--processes", "100"]);
        let listed = format!("/proc/{0}/task/{0}/children", parent.id());
        let child = loop {
            assert!(parent.try_wait().unwrap().is_none(), "it ended before it could be killed");
            let children = fs::read_to_string(&listed).unwrap();
            if let Some(child) = children.split_whitespace().next() {
                break Pid::from_raw(child.parse().unwrap()).unwrap();
            }
            std::thread::yield_now();
        };
        let watched = pidfd_open(child, PidfdFlags::empty()).unwrap();
        kill_process(Pid::from_child(&parent), signal).unwrap();
        parent.wait().unwrap();
        let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
        let ended = poll(&mut [PollFd::new(&watched, PollFlags::IN)], Some(&patience)).unwrap();
        assert_eq!(ended, 1, "{signal:?} left {child:?} behind");
    }
}
