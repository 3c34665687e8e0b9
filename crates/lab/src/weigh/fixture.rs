//! Checks commands, and times one run after another.

use std::cell::RefCell;
use std::rc::Rc;

use tenbin_metal::launcher::ProcessEnd;
use tenbin_metal::team::Command;
use tenbin_metal::{Fault, Lap};
use tenbin_model::{Finding, Gauge, Reading, VariantIndex};

use super::analysis::LEAST_PEAK;
use super::workshop::Workshop;
use crate::experiment::{Apparatus, Failure, Seen};
use crate::workload::command::seen;

/// One stretch of a cell of commands.
pub(super) struct Fixture {
    workshop: Rc<RefCell<Workshop>>,
    layout: u32,
}

impl Fixture {
    pub(super) fn new(workshop: Rc<RefCell<Workshop>>) -> Self {
        Self { workshop, layout: 0 }
    }
}

impl Apparatus for Fixture {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        seen(self.workshop.borrow_mut().check(variant, self.layout))
    }

    fn epoch(&mut self, variant: VariantIndex, _iterations: u64) -> Result<Lap, Failure> {
        let place = variant.place();
        let mut workshop = self.workshop.borrow_mut();
        let number = workshop.runs[place];
        let launched = workshop.run(place, self.layout, Some(&number.to_string()), &mut |_, _| {})?;
        if let Some(failure) = workshop.failure(&launched, "") {
            return Err(Failure::Wrong(format!("{failure} in run {}", number + 1)));
        }
        workshop.runs[place] += 1;
        let exit_status = match launched.end {
            ProcessEnd::Exited(status) => u64::from(status.unsigned_abs()),
            ProcessEnd::Signalled(signal) | ProcessEnd::Stopped(signal) => {
                256 + u64::from(signal.unsigned_abs())
            }
            ProcessEnd::OutOfTime | ProcessEnd::Cancelled => 256,
        };
        Ok(Lap {
            elapsed: launched.elapsed,
            cpu: launched.cpu,
            usage: launched.usage,
            command: Some(Command { peak_memory: launched.peak_memory, exit_status }),
            counts: launched.counts,
            ..Lap::default()
        })
    }

    fn shift(&mut self, layout: u32) {
        self.layout = layout;
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        let reading = Reading::Count(self.workshop.borrow_mut().least_peak()?);
        Ok(vec![Gauge { variant, name: LEAST_PEAK.into(), reading }])
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        self.workshop.borrow_mut().starts()
    }

    fn remarks(&mut self) -> Vec<Finding> {
        self.workshop.borrow_mut().remarks()
    }
}
