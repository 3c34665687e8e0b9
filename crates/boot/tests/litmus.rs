//! The litmus tests of `fixtures/litmus` against their published verdicts, and both models held together.
//!
//! Each file says in its header what is published for RVWMO, `Verdict=Allowed` or `Verdict=Forbidden`, and
//! `Source=` where, or how it is known.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::path::Path;

use tenbin_boot::axiomatic::{Limits, Model, outcomes};
use tenbin_boot::litmus::Test;
use tenbin_boot::operational;

fn texts() -> Vec<(String, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/litmus");
    let mut paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "litmus"));
    paths.sort();
    let name = |path: &std::path::PathBuf| path.file_stem().unwrap().to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), std::fs::read_to_string(path).unwrap())).collect()
}

fn tests() -> Vec<(String, Test)> {
    let read = |text: &str| Test::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    texts().into_iter().map(|(name, text)| (name, read(&text))).collect()
}

fn allowed(test: &Test, model: Model) -> bool {
    let limits = Limits { steps: 2_000_000, ..Limits::default() };
    let all = outcomes(test, model, limits).unwrap_or_else(|error| panic!("{}: {error}", test.name));
    all.having(test) > 0
}

#[test]
fn every_published_verdict_is_met() {
    let tests = tests();
    assert!(tests.len() >= 60, "{} tests", tests.len());
    let mut wrong = Vec::new();
    for ((name, test), (_, text)) in tests.iter().zip(&texts()) {
        assert_eq!(name, &test.name);
        let information = |key: &str| text.lines().find_map(|line| line.strip_prefix(key));
        assert!(information("Source=").is_some(), "{name} says where its verdict is published");
        let published = information("Verdict=").unwrap();
        let ours = if allowed(test, Model::Rvwmo) { "Allowed" } else { "Forbidden" };
        if published != ours {
            wrong.push(format!("{name}: {ours}, and {published} is published"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_stronger_model_has_no_outcome_that_a_weaker_one_lacks() {
    let mut narrower = [0, 0];
    for (name, test) in &tests() {
        let [sc, tso, weak] = [Model::Sc, Model::Tso, Model::Rvwmo]
            .map(|model| outcomes(test, model, Limits::default()).unwrap().states);
        assert!(sc.is_subset(&tso) && tso.is_subset(&weak), "{name}");
        assert!(!sc.is_empty(), "{name}");
        narrower[0] += usize::from(sc != tso);
        narrower[1] += usize::from(tso != weak);
    }
    assert!(narrower[0] >= 5 && narrower[1] >= 20, "{narrower:?}");
}

#[test]
fn what_sequential_consistency_and_total_store_order_forbid() {
    let verdicts = |name: &str| {
        let tests = tests();
        let (_, test) = tests.iter().find(|(each, _)| each == name).unwrap();
        [Model::Sc, Model::Tso, Model::Rvwmo].map(|model| allowed(test, model))
    };
    assert_eq!(verdicts("SB"), [false, true, true]);
    assert_eq!(verdicts("R"), [false, true, true]);
    for name in ["MP", "LB", "S", "2+2W", "WRC", "IRIW", "ISA2"] {
        assert_eq!(verdicts(name), [false, false, true], "{name}");
    }
    assert_eq!(verdicts("CoRR"), [false, false, false]);
}

#[test]
fn both_models_have_the_same_outcomes() {
    let mut wrong = Vec::new();
    let mut compared = 0;
    for (name, test) in tests() {
        for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
            let axioms = outcomes(&test, model, Limits::default()).unwrap();
            let steps = operational::outcomes(&test, model, 16, Limits::default()).unwrap();
            compared += 1;
            if axioms.states != steps.states {
                let show = |states: &BTreeSet<Vec<u64>>| {
                    states.iter().map(|state| test.outcome(state)).collect::<Vec<_>>().join(" | ")
                };
                wrong.push(format!(
                    "{name} {model} (cut {} {}): axioms {}, steps {}",
                    axioms.cut,
                    steps.cut,
                    show(&(&axioms.states - &steps.states)),
                    show(&(&steps.states - &axioms.states))
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{} of {compared}:\n{}", wrong.len(), wrong.join("\n"));
    assert!(compared >= 180, "{compared}");
}
