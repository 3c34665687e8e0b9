//! What two groups differ by, and how sure that is.

use super::groups::Division;
use super::middle::{median, variance};
use super::polish::Table;
use super::{DEVIATIONS, MAD};
use tenbin_stats::detectable::{POWER, normal_quantile};

/// Two groups, compared by what each loses at the other's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Contrast {
    /// Far over near, in logarithms: the mean of both directions.
    pub(super) gap: f64,
    /// What the standard error of `gap` is multiples of: the standard deviation of one cell.
    pub(super) errors: f64,
    /// Whether each group reaches its own memory sooner than the other's, as measured, buffers' own speed
    /// included.
    pub(super) changes_sign: bool,
}

/// The contrast of the groups `one` and `two` of `division`.
///
/// For each reader, the middle time at the other's homes less that at its own: the reader's speed
/// cancels. Half the sum over both groups, each by the median of its readers: the buffers' speed
/// cancels too. The two directions cannot be told apart, as a slow buffer looks the same as one that
/// is far for everybody; so the gap is their mean.
pub(super) fn between(
    table: &Table,
    interaction: &Table,
    division: &Division,
    one: usize,
    two: usize,
) -> Contrast {
    let rows = [division.rows(one), division.rows(two)];
    let columns = [division.columns(one), division.columns(two)];
    let advantage = |of: &Table, side: usize| {
        let at = |row: usize, columns: &[usize]| median(columns.iter().map(|&column| of.at(row, column)));
        median(rows[side].iter().map(|&row| at(row, &columns[1 - side]) - at(row, &columns[side])))
    };
    Contrast {
        gap: 0.5 * (advantage(interaction, 0) + advantage(interaction, 1)),
        errors: errors([rows[0].len(), rows[1].len()], [columns[0].len(), columns[1].len()]),
        changes_sign: advantage(table, 0) > 0.0 && advantage(table, 1) > 0.0,
    }
}

/// The standard error of the gap between two groups of so many `readers` and `homes`, in standard
/// deviations of one cell.
pub(super) fn errors(readers: [usize; 2], homes: [usize; 2]) -> f64 {
    let both = |counts: [usize; 2]| variance(counts[0]) + variance(counts[1]);
    0.5 * (both(readers) * both(homes)).sqrt()
}

/// How many standard errors a gap must reach when the groups were sought in the same data.
///
/// `readers` can be dealt to `groups` in groups^readers ways and each of them has groups·(groups−1)/2 pairs.
/// Each gets an equal share of [`tenbin_stats::LEVEL`] (Bonferroni), so that the best of them is above with
/// that probability at most. The tail of the normal distribution is at most exp(−z²/2)/2, which gives z in
/// closed form, for any number of readers.
pub(super) fn critical(readers: usize, groups: usize) -> f64 {
    let ways = readers as f64 * (groups as f64).ln()
        + ((groups * groups.saturating_sub(1)).max(2) as f64 / 2.0).ln();
    (2.0 * (ways - (2.0 * tenbin_stats::LEVEL).ln())).sqrt()
}

/// What a gap must reach with so large a `deviation` within groups, of so many standard `errors` of a cell.
pub(super) fn needed(deviation: f64, errors: f64, critical: f64) -> f64 {
    (DEVIATIONS * deviation).max(critical * errors * deviation / MAD)
}

/// The smallest gap that is found nine times of ten, in logarithms.
///
/// It lies above [`needed`] by what chance takes nine times of ten at most: from the gap, and from the
/// deviation within groups, whose own standard error over n free normal cells is 0.784 standard deviations of
/// a cell over √n (P. J. Rousseeuw & C. Croux 1993: the efficiency of the median absolute deviation is 37 %).
pub(super) fn detectable(deviation: f64, errors: f64, critical: f64, free: usize) -> f64 {
    const OF_DEVIATION: f64 = 0.784;
    /// The deviation of few cells is skewed upwards: its tail of one in ten lies where a normal one has one
    /// in twenty.
    const FEW_CELLS: f64 = 0.95;
    let cell = deviation / MAD;
    let limit = DEVIATIONS * OF_DEVIATION * cell / (free.max(1) as f64).sqrt();
    let (of_gap, of_limit) = (normal_quantile(POWER) * errors * cell, normal_quantile(FEW_CELLS) * limit);
    needed(deviation, errors, critical) + of_gap.hypot(of_limit)
}
