//! What was examined, in words.

use tenbin_model::{Searched, Watched};

use super::*;

fn watched(calls: u64, outside: u64) -> String {
    let watched =
        Watched { program: "./a".into(), calls, outside, cut: false, ended: "ended with status 0".into() };
    watched_in_words(&watched, "memcpy")
}

#[test]
fn one_call_is_one_call() {
    let table = [
        (1, 0, "./a made 1 call, which met the caller's obligations, and ended with status 0."),
        (1, 1, "./a made 1 call, which broke the caller's obligations, and ended with status 0."),
        (2, 1, "./a made 2 calls, 1 of which broke the caller's obligations, and ended with status 0."),
        (9, 0, "./a made 9 calls, 0 of which broke the caller's obligations, and ended with status 0."),
    ];
    for (calls, outside, expected) in table {
        assert_eq!(watched(calls, outside), expected);
    }
    assert!(watched(0, 0).starts_with("./a made no call to memcpy()"));
}

#[test]
fn a_search_counts_outcomes_of_inputs() {
    let searched = Searched { inputs: 102, outcomes: 171_000 };
    for (is_wrong, expected) in [
        (false, "No fault in the specification was found among 171000 outcomes of 102 small inputs."),
        (true, "The specification was searched through 171000 outcomes of 102 small inputs."),
    ] {
        assert_eq!(searched_in_words(searched, is_wrong), expected);
    }
}

fn blame() -> Blame {
    let contract = Contracted {
        name: "sort".into(),
        prototype: "int sort()".into(),
        requirement: "order".into(),
        specification: "ascending".into(),
        clauses: Vec::new(),
        specifications: Vec::new(),
        precondition: Vec::new(),
    };
    Blame {
        schema: Blame::SCHEMA.into(),
        contract,
        seed: 1,
        searched: None,
        libraries: Vec::new(),
        program: None,
        findings: Vec::new(),
    }
}

#[test]
fn what_was_not_judged_or_called_is_said_and_not_counted() {
    let whole = Called {
        library: "./lib.so".into(),
        inputs: 10,
        met: 10,
        unjudged: 0,
        uncalled: 0,
        cut: None,
        largest: "300 persons".into(),
    };
    let text = called_in_words(&blame(), &whole);
    assert_eq!(
        text,
        "No fault in ./lib.so was found with 10 inputs, each with guard pages after and before what it \
         may touch (the largest of 300 persons; seed 1)."
    );
    let part =
        Called { met: 6, unjudged: 4, uncalled: 5, cut: Some("3 calls did not return".into()), ..whole };
    let text = called_in_words(&blame(), &part);
    assert!(text.contains("found with 6 inputs") && text.contains("4 more were not judged"), "{text}");
    assert!(text.ends_with("; 5 more were not called, because 3 calls did not return."), "{text}");
}
