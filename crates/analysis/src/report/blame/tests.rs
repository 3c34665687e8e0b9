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
        (1, 0, "./a made 1 call, within the specification, and ended with status 0."),
        (1, 1, "./a made 1 call, outside of the specification, and ended with status 0."),
        (2, 1, "./a made 2 calls, 1 of them outside of the specification, and ended with status 0."),
        (9, 0, "./a made 9 calls, 0 of them outside of the specification, and ended with status 0."),
    ];
    for (calls, outside, said) in table {
        assert_eq!(watched(calls, outside), said);
    }
    assert!(watched(0, 0).starts_with("./a made no call of memcpy()"));
}

#[test]
fn a_search_counts_outcomes_of_inputs() {
    let searched = Searched { inputs: 102, outcomes: 171_000 };
    assert_eq!(
        searched_in_words(searched, false),
        "No fault of the specification was found among 171000 outcomes of 102 small inputs."
    );
    assert_eq!(
        searched_in_words(searched, true),
        "The specification was searched through 171000 outcomes of 102 small inputs."
    );
}
