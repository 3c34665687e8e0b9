//! What the methods promise about error and power, counted over seeded runs of simulated noise.
//!
//! Run with `--nocapture` to see the rates. The seeds are fixed, so an outcome never changes by chance.
//! The rule is the one that tenbin uses: a log ratio a block, the exact sign-test interval,
//! the level shared by a family and by all looks. Where a rate is held against a level, the upper end of
//! its Clopper–Pearson interval is: what is claimed is shown, and not merely not refuted.
//!
//! Reading order: [`noise`], [`stopping`], [`families`], [`clusters`], [`skipped`], [`single`],
//! [`coverage`], [`power`].

// Each is marked, so that `cargo xtask tidy` knows it for a test.
#[cfg(test)]
mod clusters;
#[cfg(test)]
mod coverage;
#[cfg(test)]
mod families;
#[cfg(test)]
mod noise;
#[cfg(test)]
mod power;
#[cfg(test)]
mod single;
#[cfg(test)]
mod skipped;
#[cfg(test)]
mod stopping;

use std::fmt;

use tenbin_model::Interval;

use super::proportion::clopper_pearson;
use super::sequential::Plan;
use super::sign::Signs;

/// The level of the product, and one five times as high, at which an error of the plan would show sooner.
const LEVELS: [f64; 2] = [crate::LEVEL, 0.05];

#[derive(Clone, Copy, Default)]
struct Frequency {
    hits: u64,
    runs: u64,
}

impl Frequency {
    fn count(&mut self, hit: bool) {
        self.hits += u64::from(hit);
        self.runs += 1;
    }

    fn of(outcomes: impl IntoIterator<Item = bool>) -> Self {
        let mut observed = Self::default();
        outcomes.into_iter().for_each(|hit| observed.count(hit));
        observed
    }

    fn with(self, other: Self) -> Self {
        Self { hits: self.hits + other.hits, runs: self.runs + other.runs }
    }

    /// Where the true rate lies, at 99 % confidence.
    fn bound(self) -> Interval {
        clopper_pearson(self.hits, self.runs, 0.01).unwrap()
    }

    fn is_at_most(self, level: f64) -> bool {
        self.bound().high <= level
    }

    fn is_above(self, level: f64) -> bool {
        self.bound().low > level
    }
}

impl fmt::Display for Frequency {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (rate, bound) = (self.hits as f64 / self.runs as f64, self.bound());
        write!(out, "{} of {}, {rate:.4} ({:.4} to {:.4})", self.hits, self.runs, bound.low, bound.high)
    }
}

/// Counts the sign of one more log ratio.
fn tally(signs: &mut Signs, log_ratio: f64) {
    match log_ratio {
        ratio if ratio > 0.0 => signs.positive += 1,
        ratio if ratio < 0.0 => signs.negative += 1,
        _ => signs.zero += 1,
    }
}

/// Somebody who calls two variants different as soon as one planned look lets him.
///
/// It is followed to the end of the time also where it would have stopped, as in the argument of
/// [`super::sequential`].
#[derive(Clone, Copy)]
struct Stopper {
    plan: Plan,
    alarmed: bool,
}

impl Stopper {
    fn new(level: f64, family: usize) -> Self {
        Self { plan: Plan::new(level, family).unwrap(), alarmed: false }
    }

    /// After each block: `blocks` were measured. Looks only where a look is planned.
    fn look(&mut self, blocks: usize, signs: &Signs) {
        let level = self.plan.is_look(blocks).and_then(|look| self.plan.level_at(look));
        // By duality this is the same as: the interval at that level excludes zero.
        self.alarmed |= level.is_some_and(|level| signs.p_value() <= level);
    }

    /// When the time is spent. Whether there was an alarm at any look.
    fn end(&self, signs: &Signs) -> bool {
        self.alarmed || signs.p_value() <= self.plan.final_level()
    }
}

/// The alarm of a [`Stopper`] over log ratios whose number is known beforehand.
fn alarm(level: f64, log_ratios: impl IntoIterator<Item = f64>) -> bool {
    let (mut stopper, mut signs) = (Stopper::new(level, 1), Signs::default());
    for (index, log_ratio) in log_ratios.into_iter().enumerate() {
        tally(&mut signs, log_ratio);
        stopper.look(index + 1, &signs);
    }
    stopper.end(&signs)
}
