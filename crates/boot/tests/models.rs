//! The operational model against the axiomatic one, on every litmus test of `fixtures/litmus`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::Path;

use tenbin_boot::axiomatic::{self, Limits, Model};
use tenbin_boot::litmus::Test;
use tenbin_boot::operational;

#[test]
fn both_models_have_the_same_outcomes() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/litmus");
    let mut wrong = Vec::new();
    let mut compared = 0;
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    for path in paths {
        if path.extension().is_none_or(|extension| extension != "litmus") {
            continue;
        }
        let test = Test::read(&std::fs::read_to_string(&path).unwrap()).unwrap();
        for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
            let axioms = axiomatic::outcomes(&test, model, Limits::default()).unwrap();
            let steps = operational::outcomes(&test, model, 16, Limits::default()).unwrap();
            compared += 1;
            if axioms.states != steps.states {
                let show = |states: &std::collections::BTreeSet<Vec<u64>>| {
                    states.iter().map(|state| test.outcome(state)).collect::<Vec<_>>().join(" | ")
                };
                wrong.push(format!(
                    "{} {model} (cut {} {}): axioms {}, steps {}",
                    test.name,
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
