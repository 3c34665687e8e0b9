//! What `tenbin boot litmus --json` says. What a user reads is in `transcripts`, what the models allow in
//! `crates/boot`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::Path;

use serde_json::Value;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, json};

/// The litmus tests whose verdicts are known.
const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/litmus");

/// A test that is refused: a word and a double word at one place.
const MIXED: &str = "RISCV mixed\n{ 0:x6=x; 1:x6=x; 0:x5=1; }\n P0 | P1 ;
 sw x5,0(x6) | ld x7,0(x6) ;\nexists (1:x7=1)\n";

/// The answer about a file or a folder, which ends with this status.
fn litmus(place: &Place, status: i32, path: &str) -> Value {
    let output = place.tenbin(&["boot", "litmus", path, "--json"]);
    assert_eq!(ending(&output).0, status, "{}", ending(&output).1);
    // Whatever has no answer is said on standard error, too.
    assert_eq!(ending(&output).1.is_empty(), status == 0);
    json(&output)
}

#[test]
fn no_known_verdict_is_contradicted() {
    let answer = litmus(&Place::new(), 0, KNOWN);
    let tests = answer["tests"].as_array().unwrap();
    let mut known = [0, 0];
    for test in tests {
        let text = fs::read_to_string(test["file"].as_str().unwrap()).unwrap();
        let decided = &test["settled"]["decided"];
        assert_eq!(decided["cut"], false, "{test}");
        let can = decided["having"].as_u64().unwrap() > 0;
        let verdict = if can { "\nVerdict=Allowed\n" } else { "\nVerdict=Forbidden\n" };
        assert!(text.contains(verdict), "{test}");
        known[usize::from(can)] += 1;
    }
    let files = fs::read_dir(KNOWN).unwrap().count();
    assert_eq!(known[0] + known[1], files);
    assert!(known[0] >= 30 && known[1] >= 30, "{known:?}");
    let names = tests.iter().map(|test| test["file"].as_str().unwrap()).collect::<Vec<_>>();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn answers_repeat_and_json_holds_what_has_no_answer_too() {
    let place = Place::new();
    for name in ["MP.litmus", "IRIW.litmus"] {
        fs::copy(Path::new(KNOWN).join(name), place.path(name)).unwrap();
    }
    fs::write(place.path("mixed.litmus"), MIXED).unwrap();
    fs::write(place.path("empty.litmus"), "").unwrap();
    let answer = litmus(&place, 2, ".");
    assert_eq!(litmus(&place, 2, "."), answer);
    let settled = |index: usize| &answer["tests"][index]["settled"];
    assert_eq!(settled(0)["decided"]["states"].as_array().unwrap().len(), 16);
    assert_eq!(settled(1)["decided"]["states"].as_array().unwrap().len(), 4);
    assert_eq!(settled(2)["unreadable"]["line"], 1);
    assert!(settled(3)["refused"]["why"].as_str().unwrap().contains("mixed size"));
    // Of one test as well.
    assert!(litmus(&place, 3, "mixed.litmus")["tests"][0]["settled"]["refused"].is_object());
}
