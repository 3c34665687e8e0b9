//! Heat maps as a user sees them.

use super::heat as drawn;
use crate::Heat;

fn heat(labels: &[String], times: &[Vec<Option<f64>>], width: usize) -> String {
    drawn(&Heat { labels: labels.to_vec(), times: times.to_vec() }, width)
}

fn labels(count: usize) -> Vec<String> {
    (0..count).map(|cpu| cpu.to_string()).collect()
}

/// Pairs of siblings, groups of eight behind one cache, halves of the machine.
fn machine(count: usize) -> Vec<Vec<Option<f64>>> {
    let time = |one: usize, other: usize| {
        (one != other).then(|| {
            let jitter = 1.0 + ((one * 31 + other * 17) % 7) as f64 / 100.0;
            let base = match (one, other) {
                _ if one / 2 == other / 2 => 12.0,
                _ if one / 8 == other / 8 => 38.0,
                _ if one / (count / 2).max(1) == other / (count / 2).max(1) => 110.0,
                _ => 240.0,
            };
            base * jitter
        })
    };
    (0..count).map(|one| (0..count).map(|other| time(one, other)).collect()).collect()
}

fn shown(count: usize, width: usize) -> String {
    let text = heat(&labels(count), &machine(count), width);
    let widest = text.lines().map(|line| line.chars().count()).max().unwrap_or(0);
    assert!(widest <= width, "{widest} columns:\n{text}");
    text
}

#[test]
fn two_cpus_are_two_figures() {
    insta::assert_snapshot!(shown(2, 80));
}

#[test]
fn eight_cpus_are_figures_with_their_shades() {
    insta::assert_snapshot!(shown(8, 80));
}

#[test]
fn many_cpus_are_a_shade_a_pair() {
    insta::assert_snapshot!(shown(64, 100));
}

#[test]
fn figures_give_way_to_shades_where_they_do_not_fit() {
    let figures = |text: &str| text.lines().nth(1).is_some_and(|row| row.contains('.'));
    assert!(figures(&shown(24, 160)) && !figures(&shown(24, 100)));
    assert!(!figures(&shown(25, 200)));
}

#[test]
fn more_cpus_than_columns_are_taken_together_and_it_is_said() {
    insta::assert_snapshot!(shown(128, 100));
}

#[test]
fn what_was_not_measured_is_no_time_and_the_sides_may_differ() {
    let mut times = machine(4);
    times[1][3] = None;
    times[3][1] = Some(500.0);
    times[2][2] = Some(9.0);
    insta::assert_snapshot!(heat(&labels(4), &times, 80));
}

#[test]
fn each_class_has_its_shade() {
    // Edges of four classes from 1 to 16: 2, 4, 8.
    let row = [None, Some(1.0), Some(1.9), Some(2.1), Some(3.9), Some(4.1), Some(7.9), Some(8.1), Some(16.0)];
    let mut times = vec![vec![None; 9]; 9];
    times[0] = row.to_vec();
    let text = heat(&labels(9), &times, 16);
    assert!(text.lines().nth(1).unwrap().ends_with(" ░░▒▒▓▓██"), "{text}");
}

#[test]
fn equal_times_are_one_class_and_nothing_is_nothing() {
    let equal = vec![vec![None, Some(50.0)], vec![Some(50.0), None]];
    assert!(heat(&labels(2), &equal, 80).ends_with("  ░ 50.0 ns\n"));
    assert_eq!(heat(&labels(2), &[vec![None, None], vec![None, None]], 80), "");
    assert_eq!(heat(&[], &[], 80), "");
}
