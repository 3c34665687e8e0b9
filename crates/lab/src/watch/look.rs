//! What is looked at many times a second: clocks, and what says why this process or a CPU stood still.

use std::path::Path;

use tenbin_metal::machine::{Root, control_groups};
use tenbin_metal::watch::{Changes, Clocks, continuations};
use tenbin_model::Cpu;

use super::cause::Facts;
use super::vmclock::{Disruption, Marks};

/// A tick of `/proc/stat` in nanoseconds (`USER_HZ`).
const TICK: u64 = 10_000_000;

pub(super) struct Sources<'a> {
    root: Root<'a>,
    cpus: &'a [Cpu],
    /// The folders of this process's control groups.
    groups: Vec<String>,
    changes: Option<Changes>,
}

/// What there was at a moment. All but `frozen` is since some moment in the past.
#[derive(Clone, Debug, Default)]
pub(super) struct Look {
    pub(super) clocks: Clocks,
    continued: u64,
    /// Whether the control group was frozen or thawed since the look before it.
    frozen: bool,
    throttled: u64,
    stolen: Vec<(Cpu, u64)>,
    pub(super) marks: Option<Marks>,
}

impl<'a> Sources<'a> {
    /// Opens them, and says of which there is none and why.
    pub(super) fn open(root: Root<'a>, cpus: &'a [Cpu]) -> (Self, Vec<String>) {
        let mut unobserved = Vec::new();
        let groups = control_groups(&root, "cpu").unwrap_or_else(|why| {
            unobserved.push(format!("whether a control group was throttled: {why}"));
            Vec::new()
        });
        let changes = groups.first().map(|own| Changes::of(&Path::new(own).join("cgroup.events")));
        let changes = changes.and_then(|changes| {
            let frozen = |why| unobserved.push(format!("whether a control group was frozen: {why}"));
            changes.map_err(frozen).ok()
        });
        (Self { root, cpus, groups, changes }, unobserved)
    }

    /// The folder of this process's own control group.
    pub(super) fn group(&self) -> Option<&Path> {
        self.groups.first().map(Path::new)
    }

    pub(super) fn look(&self) -> Look {
        let throttled = |folder: &String| {
            let text = self.root.text(&format!("{folder}/cpu.stat")).ok()?;
            text.lines().find_map(|line| line.strip_prefix("throttled_usec ")?.parse::<u64>().ok())
        };
        let stat = self.root.text("/proc/stat").unwrap_or_default();
        let stolen = |cpu: &Cpu| {
            let name = format!("cpu{} ", cpu.0);
            let line = stat.lines().find_map(|line| line.strip_prefix(&name))?;
            let ticks: u64 = line.split_ascii_whitespace().nth(7)?.parse().ok()?;
            Some((*cpu, ticks * TICK))
        };
        Look {
            throttled: self.groups.iter().filter_map(throttled).sum::<u64>() * 1000,
            stolen: self.cpus.iter().filter_map(stolen).collect(),
            marks: Marks::read(&self.root),
            frozen: self.changes.as_ref().is_some_and(Changes::any),
            continued: continuations(),
            clocks: Clocks::now(),
        }
    }
}

/// What happened from the last of these looks before `began` to the first one after `ended`.
pub(super) fn facts(looks: &[Look], began: u64, ended: u64) -> Facts {
    let begin = looks.partition_point(|look| look.clocks.monotonic <= began);
    let end = looks.partition_point(|look| look.clocks.monotonic < ended);
    let (Some(earlier), Some(last)) = (looks.get(begin.saturating_sub(1)), looks.get(end).or(looks.last()))
    else {
        return Facts::default();
    };
    // The kernel accounts for what was stolen at its next tick.
    let next = looks.get(end + 1).unwrap_or(last);
    let since = |(cpu, stolen): &(Cpu, u64)| {
        let before = earlier.stolen.iter().find(|(of, _)| of == cpu).map_or(*stolen, |(_, stolen)| *stolen);
        (*cpu, stolen.saturating_sub(before))
    };
    Facts {
        continued: last.continued > earlier.continued,
        frozen: looks.iter().take(end + 1).skip(begin).any(|look| look.frozen),
        throttled: last.throttled.saturating_sub(earlier.throttled),
        stolen: next.stolen.iter().map(since).collect(),
        disruption: Disruption::between(earlier.marks, last.marks),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_happened_about_a_gap_says_something_of_it() {
        let at = |seconds: u64, continued, frozen, throttled, stolen| Look {
            clocks: Clocks { monotonic: seconds * 1_000_000_000, ..Clocks::default() },
            continued,
            frozen,
            throttled,
            stolen: vec![(Cpu(0), stolen)],
            marks: None,
        };
        let looks =
            [at(1, 0, false, 0, 0), at(2, 0, false, 5, 10), at(3, 1, true, 5, 10), at(4, 1, false, 9, 30)];
        for (began, ended, continued, frozen, throttled, stolen) in [
            (1_100, 1_200, false, false, 5, 10),
            (2_100, 2_900, true, true, 0, 20),
            (1_500, 2_500, true, true, 5, 30),
            (3_100, 3_200, false, false, 4, 20),
            (500, 600, false, false, 0, 10),
        ] {
            let seen = facts(&looks, began * 1_000_000, ended * 1_000_000);
            let stolen = vec![(Cpu(0), stolen)];
            let disruption = Disruption::Unknown;
            assert_eq!(
                seen,
                Facts { continued, frozen, throttled, stolen, disruption },
                "{began} to {ended}"
            );
        }
    }
}
