//! multitime (Tratt), which runs the commands of a file so many times each in random orders, and prints mean
//! and deviation with three decimals. Its manual compares those by eye; Welch's test does so here.

use super::welch::{self, Moments};
use crate::tally::Finding;

/// What hyperfine gives each command: so many runs at least, and as many as take so many milliseconds.
const LEAST_RUNS: u32 = 10;
const MILLISECONDS: u32 = 3_000;

/// Runs of each of two commands that take about so many milliseconds.
pub(super) fn runs(time: u32) -> u32 {
    LEAST_RUNS.max(MILLISECONDS / time)
}

/// What it printed of two commands with so many runs each.
pub(super) fn reported(text: &str, runs: u32) -> Option<Finding> {
    let mut moments = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let number = |word: Option<&str>| word?.parse::<f64>().ok();
        (words.next() == Some("real")).then_some(())?;
        let (mean, deviation) = (number(words.next())?, number(words.next())?);
        Some(Moments { mean, variance: deviation.powi(2), count: f64::from(runs) })
    });
    let (left, right) = (moments.next()?, moments.next()?);
    let slower = usize::from(right.mean > left.mean);
    Some(match welch::probability_of(&left, &right) {
        Some(probability) if probability < super::WELCH => Finding::Slower(slower),
        // Deviations that were rounded to nothing.
        None if left.mean != right.mean => Finding::Slower(slower),
        _ => Finding::Same,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(left: &str, right: &str) -> String {
        format!(
            "===> multitime results\n1: ./spin 1\n            Mean        Std.Dev.    Min\n\
             real        {left}       0.011\nuser        0.001       0.000       0.001\n\n2: ./spin 2\n\
             real        {right}       0.013\nuser        0.001       0.000       0.001\n"
        )
    }

    #[test]
    fn means_are_told_apart_by_their_deviations() {
        let reported = |left, right| reported(&printed(left, right), 20);
        assert_eq!(reported("0.014       0.002", "0.016       0.001"), Some(Finding::Slower(1)));
        assert_eq!(reported("0.016       0.001", "0.014       0.002"), Some(Finding::Slower(0)));
        assert_eq!(reported("0.014       0.010", "0.016       0.010"), Some(Finding::Same));
        assert_eq!(reported("0.001       0.000", "0.001       0.000"), Some(Finding::Same));
        assert_eq!(reported("0.001       0.000", "0.002       0.000"), Some(Finding::Slower(1)));
        assert_eq!(super::reported("real 0.014 0.002\n", 20), None);
    }

    #[test]
    fn a_slow_command_is_run_ten_times() {
        assert_eq!([1, 10, 100, 1000].map(runs), [3000, 300, 30, 10]);
    }
}
