//! One cell of `faults`, set up: how a variant is checked and timed, and what is to be seen beside that.

use tenbin_metal::touch::{self, page};
use tenbin_metal::{Fault, Lap, Usage};
use tenbin_model::words::semicolon;
use tenbin_model::{Bytes, Finding, Gauge, Reading, VariantIndex};

use super::touching::Touching;
use super::{Act, HUGE_IN_ORDER, POPULATED, WAYS, Way, counted, finding, here, sampled, span, system_share};
use crate::experiment::{Apparatus, Failure, Seen};
use crate::repeated::every_time;

/// Iterations of the pass that is checked, and of each of the passes that are counted.
const CHECKED: u64 = 2;
pub(super) const COUNTED: u64 = 4;
const COUNTED_LAPS: usize = 12;

/// Ten times the bytes in huge pages from which on pages count as huge: nine tenths of what is asked for
/// where huge ones are, and a single one where they are not.
fn least_huge(huge: bool, asked: usize) -> u64 {
    if huge { (asked * page()) as u64 * 9 } else { 1 }
}

impl Touching {
    fn checked(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let Way { huge, act, .. } = WAYS[variant];
        let workers = self.team.size();
        let asked = CHECKED as usize * span() * workers;
        let (lap, (inside, all, kept)) = self.lap(variant, CHECKED, |sight| {
            Ok((sight.present()?, sight.present_anywhere()?, sight.huge_bytes()))
        })?;
        let (faults, kept) = (lap.usage.minor_faults, kept.map(Bytes));
        let there = format!("{inside} of {asked} pages are there");
        let emulated = !self.machine.virtualisation.timing_can_be_trusted();
        let is_huge = kept.is_some_and(|kept| kept.0 * 10 >= least_huge(huge, asked));
        Ok(if inside != asked || all != inside {
            Seen::Broken(format!("{there}, and {} that were not asked for", all.saturating_sub(inside)))
        } else if huge && !is_huge {
            return Err(Fault::NoHugePages { asked: Bytes((asked * page()) as u64), granted: kept });
        } else if let (false, true, Some(kept)) = (huge, is_huge, kept) {
            Seen::Broken(format!("{there}, which should be base pages: {kept} of them lies in huge ones"))
        } else if !huge && !emulated && act != Act::Again && faults < asked as u64 {
            Seen::Broken(format!("{there} after {faults} faults: some were there before"))
        } else {
            Seen::Met(format!("{there} after {faults} faults"))
        })
    }
}

impl Apparatus for Touching {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        // Pages may be taken back, or put together, while they are counted.
        every_time(|| self.checked(variant))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let workers = self.team.size();
        let mut last = None;
        // A lap whose pages were taken back before they were counted is void, and made again.
        let seen = every_time(|| {
            let (lap, (present, asked)) =
                self.lap(variant, iterations, |sight| Ok((sight.present()?, sight.asked(workers))))?;
            last = Some(lap);
            let seen = format!("{present} of {asked} pages are there");
            Ok(if present == asked { Seen::Met(seen) } else { Seen::Broken(seen) })
        })?;
        match (seen, last) {
            (Seen::Met(_), Some(lap)) => Ok(lap),
            (Seen::Met(seen) | Seen::Broken(seen), _) => Err(Failure::Wrong(seen)),
        }
    }

    fn shift(&mut self, layout: u32) {
        Touching::shift(self, layout);
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        let mut usage = Usage::default();
        for _ in 0..COUNTED_LAPS {
            let (lap, ()) = self.lap(variant, COUNTED, |_| Ok(()))?;
            usage = usage.plus(&lap.usage);
        }
        let pages = COUNTED_LAPS as u64 * COUNTED * (span() * self.team.size()) as u64;
        let gauge = |name: &str, count| Gauge { variant, name: name.into(), reading: Reading::Count(count) };
        let mut gauges = vec![gauge("faults/page", usage.minor_faults as f64 / pages as f64)];
        gauges.extend(system_share(&usage).map(|share| gauge("system share", share)));
        Ok(gauges)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let mut findings = counted::look(&mut self.team, &self.machine, self.effort, self.seed)?;
        findings.push(sampled::look(self)?);
        let variants = here().unwrap_or_default();
        let mut missing = vec![
            (HUGE_IN_ORDER, "huge pages: this kernel grants none, or they are too large for an epoch"),
            (POPULATED, "one call: this kernel has no MADV_POPULATE_WRITE, which came with Linux 5.14"),
        ];
        missing.retain(|(variant, _)| !variants.contains(variant));
        if touch::host::takes_free_pages() == Some(true) {
            findings.push(finding(
                "The host takes back free memory of this guest and must provide it again: the first touch \
                 of a page that has been free for some time costs more than is shown here."
                    .into(),
                "virtio's balloon has free page reporting; what was timed was touched and given back just before".into(),
                "the device's word; how much more was not measured",
            ));
        }
        if !missing.is_empty() {
            findings.push(finding(
                "Not every way of touching was tested here.".into(),
                semicolon(missing.iter().map(|(_, why)| why)),
                "asked of the kernel and seen",
            ));
        }
        Ok(findings)
    }
}
