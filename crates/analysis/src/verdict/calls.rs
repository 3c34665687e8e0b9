//! Which time of epochs that were done in several calls is weighed: that of the middle call, or of all.
//!
//! A neighbour on the same core disturbs a call now and then, and most calls not at all: so the middle one of
//! an epoch is the same from epoch to epoch where the whole of it is not. But it is blind to what a variant
//! does seldom itself (it grows a table, it collects garbage). That is in the whole epoch. What disturbs both
//! variants adds the same to both, so where whole epochs and middle calls give the same ratio, middle calls
//! are weighed, and where they give two, whole epochs are. How well it is known that they do is part of the
//! answer.

use tenbin_model::{Cell, Comparison, Descriptor, Interval, Sample};
use tenbin_stats::order::Ordered;
use tenbin_stats::{LEVEL, sign};

use super::decide::{Time, paired, whole_epoch};

/// The probability of seeing in equals that one does something seldom. Whole epochs are weighed then, and are
/// likely to differ as well: it comes to the level of an answer, at each look.
const SELDOM: f64 = LEVEL / 10.0;

/// The time that the ratios of a cell are of.
pub fn time(cell: &Cell) -> Time {
    let mut seldom =
        cell.arrangement.comparisons.iter().filter_map(|comparison| Seldom::of(cell, comparison));
    if !are_divided(cell) || seldom.any(|seldom| seldom.is_there) { whole_epoch } else { middle_call }
}

/// Whether what the variants of a cell do seldom is known well enough: it can neither make a difference that
/// is as large as the margin, nor undo one.
pub fn are_known(descriptor: &Descriptor, cell: &Cell) -> bool {
    let is_known = |comparison| {
        Seldom::of(cell, comparison)
            .is_some_and(|seldom| seldom.is_there || seldom.is_known(descriptor.margin))
    };
    !are_divided(cell) || cell.arrangement.comparisons.iter().all(is_known)
}

fn are_divided(cell: &Cell) -> bool {
    cell.samples.iter().any(|sample| sample.middle_call.is_some())
}

/// What two variants do in few of their calls.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seldom {
    /// The logarithm of how many times as large the ratio by whole epochs is as that by middle calls: the
    /// median over blocks.
    pub median: f64,
    /// The sign-test interval of that, at 1 %.
    pub interval: Interval,
    /// Whether one of the two does more than the other: an interval at a tenth of that level excludes 0.
    pub is_there: bool,
    /// The logarithm of the ratio by middle calls: its median.
    middle: f64,
}

impl Seldom {
    /// Of two variants whose epochs were divided. None of too few blocks.
    pub fn of(cell: &Cell, comparison: &Comparison) -> Option<Self> {
        if !are_divided(cell) {
            return None;
        }
        let [whole, middle] =
            [whole_epoch as Time, middle_call].map(|time| paired(time, &cell.samples, comparison).values);
        let beyond = whole.iter().zip(&middle).map(|(whole, middle)| whole - middle);
        let (beyond, middle) = (Ordered::new(beyond.collect())?, Ordered::new(middle)?.median());
        let interval = |level| sign::interval(&beyond, level).map(|quantile| quantile.interval);
        let is_there = interval(SELDOM).is_some_and(|it| it.low > 0.0 || it.high < 0.0);
        Some(Self { median: beyond.median(), interval: interval(LEVEL)?, is_there, middle })
    }

    /// Whether it is less than this margin, or than what the two differ by.
    pub fn is_known(&self, margin: f64) -> bool {
        let most = margin.ln_1p().max(self.middle.abs());
        self.interval.low >= -most && self.interval.high <= most
    }
}

/// The middle call's, or the whole epoch's where it was not divided.
fn middle_call(sample: &Sample) -> f64 {
    sample.middle_call.unwrap_or(sample.elapsed).0 as f64 / sample.iterations as f64
}

#[cfg(test)]
mod tests {
    use tenbin_model::{Ended, Picoseconds};

    use super::*;
    use crate::specimen;
    use crate::verdict::evidence;

    /// Blocks of two equals whose whole epochs are disturbed, by up to a tenth, and whose middle calls are
    /// not; beside that the second one is dearer by so much, in few of its calls.
    fn cell(seldom: f64, seed: u64) -> Cell {
        let mut cell = specimen::cell(64, 1.0, 0.1, Ended::Budget, seed);
        for sample in &mut cell.samples {
            sample.middle_call = Some(Picoseconds(100_000_000 + u64::from(sample.order % 7)));
            if sample.variant == cell.arrangement.comparisons[0].right {
                sample.elapsed.0 = (sample.elapsed.0 as f64 * (1.0 + seldom)) as u64;
            }
        }
        cell
    }

    fn width(cell: &Cell) -> f64 {
        let descriptor = specimen::descriptor(tenbin_model::Quantity::NanosecondsPerOperation);
        let evidence = evidence(time(cell), &descriptor, 1, cell, &cell.arrangement.comparisons[0]).unwrap();
        evidence.interval.high - evidence.interval.low
    }

    #[test]
    fn middle_calls_are_weighed_where_whole_epochs_agree() {
        assert!(width(&cell(0.0, 1)) < 1e-6);
        let mut undivided = cell(0.0, 1);
        undivided.samples.iter_mut().for_each(|sample| sample.middle_call = None);
        assert!(width(&undivided) > 0.01);
    }

    #[test]
    fn what_is_done_seldom_is_weighed_with_the_rest() {
        let cell = cell(0.2, 1);
        assert!(width(&cell) > 0.01);
        let seldom = Seldom::of(&cell, &cell.arrangement.comparisons[0]).unwrap();
        assert!((1.15..1.25).contains(&seldom.median.exp()), "{seldom:?}");
    }

    #[test]
    fn what_is_done_seldom_is_known_once_it_can_make_no_difference() {
        let known = |margin: f64, cell: &Cell| {
            let quantity = tenbin_model::Quantity::NanosecondsPerOperation;
            are_known(&tenbin_model::Descriptor { margin, ..specimen::descriptor(quantity) }, cell)
        };
        let equals = cell(0.0, 1);
        assert!(known(0.1, &equals) && !known(0.001, &equals));
        // It is, and so whole epochs are weighed.
        assert!(known(0.001, &cell(0.2, 1)));
        // A difference of half cannot be undone by it.
        let mut different = cell(0.0, 1);
        let left = different.arrangement.comparisons[0].left;
        for sample in different.samples.iter_mut().filter(|sample| sample.variant == left) {
            (sample.elapsed.0, sample.middle_call) = (sample.elapsed.0 / 2, Some(Picoseconds(50_000_000)));
        }
        assert!(known(0.001, &different));
    }

    #[test]
    fn equals_seldom_seem_to_differ_in_a_few_calls() {
        let differ = (0..1_000).filter(|&seed| {
            let cell = cell(0.0, seed);
            Seldom::of(&cell, &cell.arrangement.comparisons[0]).unwrap().is_there
        });
        // One is expected, and more than seven once in 100 000 such tests.
        assert!(differ.count() <= 7);
    }
}
