//! What a tool's verdicts amount to.

use super::record::Row;
use super::tool::Answer;
use crate::tally::median;

/// How often something happened, of how many times it could have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Count {
    pub(super) count: usize,
    pub(super) of: usize,
}

/// The figures of one tool. A verdict that failed counts nowhere but under `failed`; a refusal is an
/// answer that is neither an alarm nor a find.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tally {
    /// Equals that were called different.
    pub(super) alarms: Count,
    /// For each effect but 0: pairs called different with the right side as the slower one.
    pub(super) named: Vec<(f64, Count)>,
    /// Pairs that differ and were called different the wrong way round.
    pub(super) wrong_signs: Count,
    /// Half of the ratios are no farther from the truth, as a part of it.
    pub(super) error: Option<f64>,
    /// Half of the verdicts took no longer, failures left out.
    pub(super) seconds: Option<f64>,
    pub(super) refused: usize,
    pub(super) failed: usize,
}

/// The tally of `rows`, which are one tool's, for `effects`.
pub(super) fn tally<'a>(rows: impl Iterator<Item = &'a Row>, effects: &[f64]) -> Tally {
    let (failed, answered): (Vec<_>, Vec<_>) = rows.partition(|row| row.answer == Answer::Failed);
    let with = |effect: f64| answered.iter().copied().filter(move |row: &&Row| row.effect == effect);
    let differ = || answered.iter().copied().filter(|row: &&Row| row.effect != 0.0);
    let called = |row: &&Row| row.answer == Answer::Different;
    let planted = effects.iter().filter(|effect| **effect != 0.0);
    let errors = answered.iter().filter_map(|row| Some((row.ratio? / row.truth? - 1.0).abs()));
    Tally {
        alarms: Count { count: with(0.0).filter(called).count(), of: with(0.0).count() },
        named: planted
            .map(|&effect| {
                let named = with(effect).filter(called).filter(|row| right_way_round(row)).count();
                (effect, Count { count: named, of: with(effect).count() })
            })
            .collect(),
        wrong_signs: Count {
            count: differ().filter(called).filter(|row| !right_way_round(row)).count(),
            of: differ().count(),
        },
        error: median(errors.collect()),
        seconds: median(answered.iter().map(|row| row.seconds).collect()),
        refused: answered.iter().filter(|row| row.answer == Answer::Refused).count(),
        failed: failed.len(),
    }
}

/// Whether the side with more operations was found the slower one. Effects are positive.
fn right_way_round(row: &Row) -> bool {
    row.ratio.is_some_and(|ratio| ratio > 1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arena::record::tests::row;

    fn count(count: usize, of: usize) -> Count {
        Count { count, of }
    }

    #[test]
    fn alarms_finds_and_wrong_signs_are_told_apart() {
        let rows = [
            row(0.0, Some(1.02), Answer::Different, 1.0),
            row(0.0, Some(1.0), Answer::Same, 2.0),
            row(0.0, None, Answer::Refused, 3.0),
            row(0.01, Some(1.01), Answer::Different, 4.0),
            row(0.01, Some(0.99), Answer::Different, 5.0),
            row(0.01, Some(1.01), Answer::Same, 6.0),
            row(0.02, Some(1.02), Answer::Different, 7.0),
            row(0.01, None, Answer::Failed, 99.0),
        ];
        let tally = tally(rows.iter(), &[0.0, 0.01, 0.02]);
        assert_eq!(tally.alarms, count(1, 3));
        assert_eq!(tally.named, [(0.01, count(1, 3)), (0.02, count(1, 1))]);
        assert_eq!(tally.wrong_signs, count(1, 4));
        assert_eq!((tally.refused, tally.failed), (1, 1));
        assert_eq!(tally.seconds, Some(4.0));
    }

    #[test]
    fn the_error_is_that_of_the_ratio_against_the_truth() {
        let rows = [
            row(0.0, Some(1.001), Answer::Same, 1.0),
            row(0.0, Some(0.99), Answer::Same, 1.0),
            row(0.01, Some(1.01), Answer::Same, 1.0),
        ];
        let error = tally(rows.iter(), &[0.0, 0.01]).error.expect("there are ratios");
        assert!((error - 0.001).abs() < 1e-12, "{error}");
    }

    #[test]
    fn nothing_has_no_figures() {
        let tally = tally([].iter(), &[0.0, 0.01]);
        assert_eq!(tally, Tally { named: vec![(0.01, count(0, 0))], ..Tally::default() });
    }
}
