//! What others published, judged by the code that judges a measurement.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, text};

#[test]
fn the_seeds_columns_of_the_sc2a11_are_not_numa() {
    let output = Place::new().tenbin(&["run", "numa", "--from", "published"]);
    assert_eq!(ending(&output).0, 0);
    insta::assert_snapshot!(text(&output.stdout));
}

#[test]
fn the_seeds_grid_of_the_ryzen_thrashes_where_its_author_saw_it() {
    let output = Place::new().tenbin(&["run", "thrash", "--from", "published"]);
    assert_eq!(ending(&output).0, 0);
    insta::assert_snapshot!(text(&output.stdout));
}

/// Figures without samples are shown as they were published, with what in the seed's own text does not hold.
#[test]
fn figures_that_no_judge_can_judge_are_shown_as_published() {
    let table = [
        ("pipe", "x44.0 with them, for its own writes of 8 KiB, which took 11.095 s (46.1x)"),
        ("atomics", "Sophgo SG2038"),
        ("faults", "1626092 page faults for 257769 pages"),
        ("fib", "2274 of 19000 references, which is 12.0 %; the seed takes them for 59.19 %"),
    ];
    for (experiment, said) in table {
        let output = Place::new().tenbin(&["run", experiment, "--from", "published"]);
        assert_eq!(ending(&output).0, 0, "{experiment}");
        let words = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(words.contains(said), "{experiment}: {words}");
    }
}

#[test]
fn what_nobody_published_or_several_names_are_usage_errors() {
    for arguments in [
        ["run", "null", "--from", "published"].as_slice(),
        &["run", "--from", "published"],
        &["run", "numa", "thrash", "--from", "published"],
        &["run", "numa", "--from", "published", "--seed", "1"],
        &["run", "numa", "--from", "elsewhere"],
    ] {
        let output = Place::new().tenbin(arguments);
        let (status, said) = ending(&output);
        assert_eq!(status, 2, "{arguments:?}: {said}");
        assert!(said.contains("published") || said.contains("--from"), "{said}");
    }
}

#[test]
fn what_is_only_judged_is_not_kept() {
    let place = Place::new();
    let id = place.measured();
    assert_eq!(ending(&place.tenbin(&["run", "numa", "--from", "published", "--json"])).0, 0);
    let runs = text(&place.tenbin(&["runs", "--json"]).stdout);
    assert_eq!(runs.matches("\"id\"").count(), 1, "{runs}");
    assert!(runs.contains(&id));
}
