//! The ways to F(n), as a user asks for them.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use std::path::Path;

use place::{Place, ending, json, text};

#[test]
fn without_the_driver_the_commands_that_load_it_are_named() {
    if Path::new("/dev/fibonacci").exists() {
        eprintln!("skipped: the driver is loaded here");
        return;
    }
    let place = Place::new();
    for setting in ["n=99", "readers=8", "traced=yes"] {
        let output = place.tenbin(&["run", "fib", "--no-store", "--set", "where=kernel", "--set", setting]);
        let (status, stderr) = ending(&output);
        assert_eq!((status, text(&output.stdout)), (5, String::new()), "{setting}");
        for words in [
            "/dev/fibonacci is missing",
            "insmod kmod/fibdrv/fibdrv.ko",
            "tenbin guest run --module fibdrv --",
        ] {
            assert!(stderr.contains(words), "{setting}: {stderr}");
        }
    }
}

#[test]
fn a_small_number_weighs_the_branch_and_a_large_one_the_digits() {
    let place = Place::new();
    let report = json(&place.tenbin(&["run", "fib", "--quick", "--json", "--set", "n=92,99"]));
    let checks = report["checks"].as_array().unwrap();
    // Seven ways (ours finds F(92) in a table, which is no way) and a planted fault; then four, and the fault
    // again.
    assert_eq!(checks.len(), 7 + 1 + 4 + 1, "{checks:?}");
    assert!(checks.iter().all(|it| it["check"]["met"] != it["check"]["sabotage"]), "{checks:?}");
    let labels: Vec<&str> =
        report["answers"].as_array().unwrap().iter().map(|it| it["cell"].as_str().unwrap()).collect();
    assert!(labels.contains(&"for F(92)") && labels.contains(&"for F(99)"), "{labels:?}");
}
