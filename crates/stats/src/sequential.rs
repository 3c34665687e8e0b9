//! When to stop, with a known error.
//!
//! Looking at an interval again and again, and stopping once it excludes zero, finds a difference
//! sooner or later even where there is none. Here the looks are planned and share the level between
//! them (alpha spending), so an observer who stops at the first look that suits him still raises a
//! false alarm with probability at most the level.
//!
//! # The looks
//!
//! Interim looks are taken at block counts fixed beforehand: the first at 16 (or at the least count
//! for which its level can be reached), each next one at twice as many. Interim look k may err with
//! probability 0.2 · level · 2⁻ᵏ, together at most a fifth of the level. One final look is taken when
//! the time is spent, at whatever count that is. It keeps four fifths, because the close questions are
//! decided there: its interval is about 5 % wider than one at the whole level of 0.05, and a plain
//! difference can still end the measurement at 16 blocks.
//!
//! # Why the error holds
//!
//! Take two variants that are the same thing under two names, and which of them comes first drawn anew
//! for each block. Their epochs can then be exchanged within a block. So given everything about it that
//! does not depend on the names (the times, without saying whose they are), the sign of its log ratio
//! is a fair coin, independent of the other blocks.
//!
//! - At an *interim look* the count is a constant. The number of positive signs is binomial, and the
//!   interval at that look excludes zero with probability at most its level.
//! - At the *final look* the count is decided by elapsed time. Elapsed time is a sum over epochs and
//!   does not change if the names are exchanged. So the count is a function of what does not depend on
//!   the names, and given that count the signs are still independent fair coins. The same bound holds.
//! - Imagine every measurement continued to its final look, also where it stopped before. A false alarm
//!   at all is then a false alarm at one of the looks, and its probability is at most the sum of their
//!   levels. This union needs no independence between looks, and no assumption on why somebody stopped.
//!
//! What the argument does not cover: the final count must not be decided by anything that knows which
//! variant is ahead, and blocks may be skipped only for reasons that do not know it either. For two
//! variants that *do* differ in the shape of their noise while their median ratio is 1, time and sign
//! can be related; the planned looks still hold exactly and the final one up to that relation, which
//! vanishes as the last block becomes a small part of the whole. A test has such a pair.
//!
//! Source: K. K. G. Lan and D. L. DeMets, "Discrete Sequential Boundaries for Clinical Trials" (1983),
//! for spending; the union bound in place of their recursion, because the final count is not known.

use tenbin_model::Ended;

use super::multiple::bonferroni;
use super::sign::least_pairs;

/// Part of the level that the interim looks share.
const INTERIM: f64 = 0.2;

/// Part of the level that the final look keeps. The two parts add up to the whole.
const FINAL: f64 = 1.0 - INTERIM;

/// No interim look before this many blocks.
const FIRST_LOOK: usize = 16;

/// When to look, and at which level, for each comparison of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// The level of one comparison, over all its looks.
    share: f64,
    first_look: usize,
}

impl Plan {
    /// The plan for a `family` of comparisons that may raise any false alarm with probability at most
    /// `level`. The family is what was planned, not what came to be answered.
    ///
    /// None if the family is empty or `level` is no level.
    pub fn new(level: f64, family: usize) -> Option<Self> {
        let share = bonferroni(level, family)?;
        let least = least_pairs(interim_level(share, 1))?;
        Some(Self { share, first_look: least.max(FIRST_LOOK) })
    }

    /// Whether `blocks` is one of the planned interim counts, and the number of that look, from 1.
    pub fn is_look(&self, blocks: usize) -> Option<u32> {
        let times = blocks / self.first_look;
        (blocks.is_multiple_of(self.first_look) && times.is_power_of_two())
            .then(|| times.trailing_zeros() + 1)
    }

    /// The level of the interval at interim look number `look`, from 1. None for look 0.
    pub fn level_at(&self, look: u32) -> Option<f64> {
        (look > 0).then(|| interim_level(self.share, look))
    }

    /// The level of the interval at the final look.
    pub fn final_level(&self) -> f64 {
        FINAL * self.share
    }

    /// The level of the interval for a measurement that ended after `blocks` blocks for the reason
    /// `ended`: what an analysis of a stored run has to use. None if it claims to have ended at a
    /// planned look and `blocks` is not one.
    ///
    /// `blocks` counts what was measured, with the blocks that the comparison then had to skip.
    pub fn level_after(&self, ended: Ended, blocks: usize) -> Option<f64> {
        match ended {
            Ended::Precision => self.level_at(self.is_look(blocks)?),
            Ended::Budget => Some(self.final_level()),
        }
    }

    /// The least number of complete blocks for which the final interval exists.
    pub fn least_blocks(&self) -> Option<usize> {
        least_pairs(self.final_level())
    }
}

fn interim_level(share: f64, look: u32) -> f64 {
    // Beyond a thousand looks the power is zero in any case.
    INTERIM * share * 0.5_f64.powi(look.min(2_000) as i32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_double_from_sixteen() {
        let plan = Plan::new(0.05, 1).unwrap();
        let looks: Vec<_> = (0..=300).filter_map(|blocks| Some((blocks, plan.is_look(blocks)?))).collect();
        assert_eq!(looks, [(16, 1), (32, 2), (64, 3), (128, 4), (256, 5)]);
    }

    #[test]
    fn a_large_family_looks_later_and_its_first_look_can_answer() {
        let plan = Plan::new(0.05, 10_000).unwrap();
        assert_eq!(plan.first_look, 22);
        assert_eq!(plan.is_look(16), None);
        assert_eq!(plan.is_look(44), Some(2));
        for look in 1..30 {
            let least = least_pairs(plan.level_at(look).unwrap()).unwrap();
            assert!(least <= plan.first_look << (look - 1));
        }
    }

    #[test]
    fn all_looks_together_spend_no_more_than_the_level() {
        for (level, family) in [(0.05, 1), (0.01, 3), (0.5, 1000)] {
            let plan = Plan::new(level, family).unwrap();
            let interim: f64 = (1..1_000).filter_map(|look| plan.level_at(look)).sum();
            let spent = (interim + plan.final_level()) * family as f64;
            assert!(spent <= level * (1.0 + 1e-12), "{spent}");
            assert!(spent > 0.999 * level);
            assert_eq!(plan.share, level / family as f64);
        }
    }

    #[test]
    fn a_stored_run_finds_the_level_that_it_was_stopped_at() {
        let plan = Plan::new(0.05, 2).unwrap();
        assert_eq!(plan.level_after(Ended::Precision, 32), plan.level_at(2));
        assert_eq!(plan.level_after(Ended::Precision, 33), None);
        assert_eq!(plan.level_after(Ended::Budget, 33), Some(plan.final_level()));
        // The budget may end exactly at a planned count; the final look is still the final look.
        assert_eq!(plan.level_after(Ended::Budget, 32), Some(plan.final_level()));
        assert_eq!(plan.least_blocks(), Some(7));
    }

    #[test]
    fn a_plan_without_level_or_family_is_none() {
        assert_eq!(Plan::new(0.05, 0), None);
        assert_eq!(Plan::new(0.0, 1), None);
        assert_eq!(Plan::new(1.0, 1), None);
    }
}
