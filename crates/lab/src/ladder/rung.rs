//! A rung: the same work on both sides, a known part more of it on the right.

use std::sync::Arc;

use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::VariantIndex;

use super::works::Labour;
use super::{RIGHT, SHORT, task};
use crate::experiment::{Apparatus, Failure, Seen};

/// Operations that the check does: enough for one more or less to be seen, few enough to cost nothing.
const CHECKED: u64 = 64;

pub(super) struct Rung<'a> {
    team: &'a mut Team,
    labour: Arc<dyn Labour>,
    task: Task,
    effect: f64,
}

impl<'a> Rung<'a> {
    pub(super) fn new(team: &'a mut Team, labour: Arc<dyn Labour>, effect: f64) -> Self {
        let task = task(&labour);
        Self { team, labour, task, effect }
    }
}

/// What the right side does where the left does `operations`: whole operations, so that the ratio is known.
fn right_side(operations: u64, effect: f64) -> u64 {
    operations + (operations as f64 * effect).round() as u64
}

/// The ratio of what both sides do; 1 and the effect if nothing was done.
pub(super) fn truth(operations: u64, effect: f64) -> f64 {
    if operations == 0 {
        return 1.0 + effect;
    }
    right_side(operations, effect) as f64 / operations as f64
}

impl Apparatus for Rung<'_> {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let asked = match variant {
            RIGHT => right_side(CHECKED, self.effect),
            _ => CHECKED,
        };
        let done = self.labour.counted(if variant == SHORT { asked - 1 } else { asked });
        let seen = format!("{done} operations of {asked}");
        Ok(if done == asked { Seen::Met(seen) } else { Seen::Broken(seen) })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let operations = if variant == RIGHT { right_side(iterations, self.effect) } else { iterations };
        let lap = self.team.lap(&self.task, operations)?;
        match lap.shares.first() {
            Some(share) if share.failures > 0 => {
                Err(Failure::Wrong(format!("{} operations of {operations} were not done", share.failures)))
            }
            _ => Ok(lap),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

#[cfg(test)]
mod tests {
    use super::super::LEFT;
    use super::*;

    /// Work that does one operation less than asked for once that is many.
    struct Lazy;

    impl Labour for Lazy {
        fn work(&self, operations: u64) -> u64 {
            operations.min(CHECKED)
        }
    }

    #[test]
    fn work_that_is_not_done_fails_the_check() {
        let cpu = tenbin_metal::allowed_cpus().unwrap()[0];
        let mut team = Team::gather(tenbin_metal::Clock::kernel(), &[cpu]).unwrap();
        let mut rung = Rung::new(&mut team, Arc::new(Lazy), 0.05);
        assert!(matches!(rung.check(LEFT).unwrap(), Seen::Met(_)));
        assert_eq!(rung.check(RIGHT).unwrap(), Seen::Broken("64 operations of 67".into()));
        assert!(matches!(rung.check(SHORT).unwrap(), Seen::Broken(_)), "the planted fault is seen");
        // While it is timed as well.
        assert!(rung.epoch(LEFT, CHECKED).is_ok());
        let epoch = rung.epoch(RIGHT, CHECKED);
        let Err(Failure::Wrong(seen)) = epoch else { panic!("{epoch:?}") };
        assert_eq!(seen, "3 operations of 67 were not done");
    }

    #[test]
    fn the_truth_is_the_ratio_of_whole_operations() {
        assert_eq!(right_side(2_000, 0.001), 2_002);
        assert_eq!(truth(2_000, 0.001), 1.001);
        // Rounding moves the truth, and not what is held to be true.
        assert_eq!(right_side(1_234, 0.01), 1_246);
        assert_eq!(truth(1_234, 0.01), 1_246.0 / 1_234.0);
        assert_eq!(truth(5, 0.0), 1.0);
        assert_eq!(truth(0, 0.05), 1.05);
    }
}
