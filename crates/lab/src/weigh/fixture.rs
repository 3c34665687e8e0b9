//! Checks commands, and times one run after another.

use tenbin_metal::launcher::ProcessEnd;
use tenbin_metal::team::Command;
use tenbin_metal::{Fault, Lap};
use tenbin_model::{Finding, Gauge, Reading, VariantIndex};

use super::analysis::LEAST_PEAK;
use super::workshop::Workshop;
use crate::experiment::{Apparatus, Failure, Seen};
use crate::workload::command::{lap, seen};

impl Apparatus for Workshop {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        seen(self.checked(variant))
    }

    fn epoch(&mut self, variant: VariantIndex, _iterations: u64) -> Result<Lap, Failure> {
        let place = variant.place();
        let number = self.runs[place];
        let launched = self.run(place, Some(&number.to_string()), &mut |_, _| {})?;
        if let Some(failure) = self.failure(&launched, "") {
            return Err(Failure::Wrong(format!("{failure} in run {}", number + 1)));
        }
        self.runs[place] += 1;
        let exit_status = match launched.end {
            ProcessEnd::Exited(status) => u64::from(status.unsigned_abs()),
            ProcessEnd::Signalled(signal) | ProcessEnd::Stopped(signal) => {
                256 + u64::from(signal.unsigned_abs())
            }
            ProcessEnd::OutOfTime | ProcessEnd::Cancelled => 256,
        };
        Ok(Lap {
            command: Some(Command { peak_memory: launched.peak_memory, exit_status }),
            counts: launched.counts,
            ..lap(&launched)
        })
    }

    fn shift(&mut self, layout: u32) {
        self.layout = layout;
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        let reading = Reading::Count(self.least_peak()?);
        Ok(vec![Gauge { variant, name: LEAST_PEAK.into(), reading }])
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        self.starts()
    }

    fn remarks(&mut self) -> Vec<Finding> {
        self.noticed()
    }
}
