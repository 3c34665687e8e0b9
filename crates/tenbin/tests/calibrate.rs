//! What a user meets who asks how often this instrument errs.
//!
//! Nothing here depends on what the pairs came to.

#![allow(clippy::unwrap_used)]

use std::fs;

use serde_json::Value;

#[allow(dead_code, reason = "the other file of tests uses the rest")]
mod place;

use place::{Place, ending, text};

/// A function that adds.
const SUM: &str = r#"
#include "tenbin.h"
uint64_t tenbin_run(void *state, uint64_t n)
{
    volatile uint64_t sum = 0;
    (void)state;
    for (uint64_t i = 0; i < n; i++)
        sum += i;
    return sum;
}
"#;

/// A calibration of three pairs in some milliseconds.
const SHORT: &[&str] =
    &["calibrate", "--works", "alu,truth", "--effects", "0,1", "--pairs", "1", "--seconds", "0.1"];

fn calibrated(place: &Place, more: &[&str]) -> Value {
    parsed(&place.answered(&[SHORT, &["--json"], more].concat()))
}

fn parsed(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}

#[test]
fn every_pair_is_told_with_its_truth() {
    let report = calibrated(&Place::new(), &["--no-store", "--load", "1", "--seed", "7"]);
    assert_eq!(report["schema"], "tenbin-calibration-1");
    assert_eq!(report["id"], Value::Null);
    let calibration = &report["calibration"];
    assert_eq!(calibration["provenance"]["seed"], 7);
    assert!(calibration["load"]["threads"].as_u64().unwrap() >= 1);
    let series = calibration["series"].as_array().unwrap();
    let alu: Vec<&Value> = series.iter().filter(|series| series["work"] == "alu").collect();
    assert_eq!(alu.len(), 2);
    for (series, effect) in alu.iter().zip([0.0, 0.01]) {
        let pairs = series["pairs"].as_array().unwrap();
        assert_eq!((series["effect"].as_f64(), pairs.len()), (Some(effect), 1));
        let operations = pairs[0]["operations"].as_u64().unwrap();
        assert!(operations as f64 * effect >= 2.0 || effect == 0.0, "less than two operations more");
        let more = (operations as f64 * effect).round();
        assert_eq!(pairs[0]["truth"].as_f64().unwrap(), (operations as f64 + more) / operations as f64);
    }
    let truths = series.iter().filter(|series| series["purpose"] == "truth");
    assert_eq!(truths.count(), 2);
    assert_eq!(report["rates"]["alarms"]["of"], 1);
}

#[test]
fn a_calibration_is_kept_and_shown_beside_every_later_verdict() {
    let place = Place::new();
    let before = place.tenbin(&["run", "null", "--quick"]);
    assert!(text(&before.stdout).contains("`tenbin calibrate`"), "{}", text(&before.stdout));

    let report = calibrated(&place, &[]);
    let id = report["id"].as_str().unwrap();
    for which in ["calibration", &id[..12]] {
        assert_eq!(parsed(&place.answered(&["show", which, "--json"])), report);
    }
    let shown = place.tenbin(&["show", "calibration"]);
    assert!(text(&shown.stdout).contains("pair of equals"), "{}", text(&shown.stdout));

    let after = place.tenbin(&["run", "null", "--quick"]);
    assert!(text(&after.stdout).contains("pair of equals"), "{}", text(&after.stdout));
    let json = parsed(&place.answered(&["show", "latest", "--json"]));
    assert!(json["instrument"].as_str().unwrap().contains("pair of equals"), "{json}");
}

#[test]
fn commands_have_error_rates_of_their_own() {
    let place = Place::new();
    let weigh = || place.tenbin(&["weigh", "--runs", "4", "true", "true", "--label", "pair"]);
    calibrated(&place, &[]);
    let before = text(&weigh().stdout);
    assert!(
        before.contains("How often tenbin errs on the machine of this run is not known yet"),
        "of loops nothing is known of it: {before}"
    );
    let words = ["calibrate", "--works", "commands", "--effects", "0,5", "--pairs", "1", "--seconds", "0.02"];
    let report = parsed(&place.answered(&[&words[..], &["--json"]].concat()));
    let series = report["calibration"]["series"].as_array().unwrap();
    assert_eq!(series.len(), 6);
    for series in series {
        assert_eq!((series["purpose"].as_str(), series["margin"].as_f64()), (Some("command"), Some(0.01)));
        let pairs = series["pairs"].as_array().unwrap();
        let truth = pairs[0]["truth"].as_f64().unwrap();
        let effect = series["effect"].as_f64().unwrap();
        assert!(pairs.len() == 1 && (truth - 1.0 - effect).abs() < 0.001, "{series}");
    }
    assert_eq!(report["rates"]["commands"]["works"].as_array().unwrap().len(), 3);
    let shown = text(&place.tenbin(&["show", "pair"]).stdout);
    assert!(shown.contains("of whole commands"), "{shown}");
    // Other questions keep what is known of them.
    let other = text(&place.tenbin(&["run", "null", "--quick"]).stdout);
    assert!(other.contains("on one CPU"), "{other}");
}

#[test]
fn functions_that_are_linked_anew_have_error_rates_of_their_own() {
    let place = Place::new();
    let words =
        ["calibrate", "--works", "functions", "--effects", "0,0.5,5", "--pairs", "1", "--seconds", "0.05"];
    let report = parsed(&place.answered(&[&words[..], &["--json"]].concat()));
    let series = report["calibration"]["series"].as_array().unwrap();
    assert!(series.iter().all(|series| series["purpose"] == "function"), "{report}");
    let truths: Vec<_> = series.iter().map(|series| series["pairs"][0]["truth"].as_f64()).collect();
    assert_eq!(truths, [Some(1.0), None, Some(1.05)], "0.5 % is less than the margin");
    let source = place.path("sum.c");
    fs::write(&source, SUM).unwrap();
    let source = source.to_str().unwrap();
    let weighed = text(&place.tenbin(&["weigh", "--runs", "20", source, source]).stdout);
    assert!(weighed.contains("of functions over layouts"), "{weighed}");
}

#[test]
fn an_exported_run_takes_its_machine_s_calibration_along() {
    let place = Place::new();
    calibrated(&place, &[]);
    let run = place.measured();
    let file = place.path("run.db");
    place.answered(&["export", &run, "--output", file.to_str().unwrap()]);
    // A format that has no place for it holds the run alone.
    for format in ["json", "csv", "go", "google-benchmark"] {
        place.answered(&["export", &run, "--format", format, "-o", "-"]);
    }

    let other = Place::new();
    let imported = other.tenbin(&["import", file.to_str().unwrap()]);
    assert!(text(&imported.stdout).contains("calibrations: 1 new"), "{}", text(&imported.stdout));
    assert!(text(&other.tenbin(&["show", &run]).stdout).contains("pair of equals"));
}

#[test]
fn a_run_that_is_not_kept_is_told_of_the_calibration_too() {
    let place = Place::new();
    calibrated(&place, &[]);
    let run = place.tenbin(&["run", "null", "--quick", "--no-store"]);
    assert!(text(&run.stdout).contains("pair of equals"), "{}", text(&run.stdout));
}

#[test]
fn processes_share_a_calibration_and_their_distance_is_told() {
    let place = Place::new();
    let report = calibrated(&place, &["--processes", "3", "--seed", "7"]);
    assert_eq!(report["calibration"]["provenance"]["seed"], 7);
    let series = report["calibration"]["series"].as_array().unwrap();
    for series in series.iter().filter(|series| series["work"] == "alu") {
        let pairs = series["pairs"].as_array().unwrap();
        let processes: Vec<u64> = pairs.iter().map(|pair| pair["process"].as_u64().unwrap()).collect();
        assert_eq!(processes, [0, 1, 2]);
    }
    let between = report["rates"]["between"].as_array().unwrap();
    assert!(between.iter().all(|one| one["apart"].as_f64().unwrap() >= 1.0));
    // Kept as one.
    place.answered(&["show", "calibration"]);
    let list = text(&place.tenbin(&["runs"]).stdout);
    assert_eq!(list.lines().filter(|line| line.contains(" pairs ")).count(), 1, "{list}");
}

#[test]
fn a_damaged_calibration_keeps_no_answer_back() {
    let place = Place::new();
    let id = calibrated(&place, &[])["id"].as_str().unwrap().to_owned();
    let store = rusqlite::Connection::open(place.path("store.db")).unwrap();
    store.execute("UPDATE calibration SET document = x'00'", []).unwrap();
    drop(store);

    let run = place.tenbin(&["run", "null", "--quick"]);
    // On a busy machine the answer may be a refusal.
    assert!([0, 3].contains(&ending(&run).0), "{}", text(&run.stderr));
    assert!(text(&run.stdout).contains("`tenbin calibrate`"), "{}", text(&run.stdout));
    place.answered(&["show", "latest"]);
    // Whoever asks for it by name is told.
    let (code, stderr) = ending(&place.tenbin(&["show", &id]));
    assert_eq!(code, 1);
    assert!(stderr.contains("damaged") && stderr.contains(&id[..12]), "{stderr}");
}

#[test]
fn the_store_s_list_names_calibrations_too() {
    let place = Place::new();
    let id = calibrated(&place, &[])["id"].as_str().unwrap().to_owned();
    let list = text(&place.tenbin(&["runs"]).stdout);
    assert!(list.contains(&id[..12]) && list.contains("Calibrations"), "{list}");
    let (code, stderr) = ending(&place.tenbin(&["compare", &id[..12], &id[..12]]));
    assert_eq!(code, 2);
    assert!(stderr.contains("is calibration"), "{stderr}");
}
