//! What disturbed a cell while it was measured, as far as its samples and the probes between its blocks show.

use tenbin_model::unit::three_digits;
use tenbin_model::words::percent;
use tenbin_model::{Arrangement, Cell, Descriptor, Picoseconds};
use tenbin_stats::order::Ordered;

use super::regimes::stolen;

/// The part of the time from which on a host that takes CPUs is named.
const STOLEN: f64 = 0.01;

/// By how much a fixed loop may take longer at one time than at another. A tenth of the probes are below what
/// is compared, and a tenth above it.
const UNSTEADY: f64 = 1.1;

/// Forced switches a second from which on others ran: a scheduler's slice is some milliseconds.
const FORCED: f64 = 20.0;

/// The part of a CPU's time from which on others are named who used it while a command ran.
const USED: f64 = 0.05;

/// The most that is named.
const MOST: usize = 2;

/// What there was, in words: those first that take most.
pub(super) fn disturbances(descriptor: &Descriptor, cell: &Cell) -> Vec<String> {
    let mut seen = Vec::new();
    if let Some((taken, time)) = stolen(&cell.probes, |_| true)
        && taken > time * STOLEN
    {
        seen.push(format!("the host took {} of a CPU's time", percent(taken / time)));
    }
    let slowest = cell.probes.iter().filter_map(|probe| probe.spins.iter().max());
    let slowest: Vec<f64> = slowest.map(|spin| spin.0 as f64).collect();
    if let Some(spins) = Ordered::new(slowest)
        && let (Some(short), Some(long)) = (spins.quantile(0.1), spins.quantile(0.9))
        && long > short * UNSTEADY
    {
        let (short, long) = (Picoseconds(short as u64), Picoseconds(long as u64));
        seen.push(format!("a fixed loop took from {short} to {long}, so the core's speed changed"));
    }
    // What the processes of a command do to each other, or workers that share a CPU, is no disturbance.
    let Arrangement { cpus, epoch, .. } = &cell.arrangement;
    let alone = cpus.iter().enumerate().all(|(place, cpu)| !cpus[..place].contains(cpu));
    if alone && epoch.0 > 0 && !descriptor.is_of_user() {
        let seconds: f64 = cell.samples.iter().map(|sample| sample.elapsed.as_seconds()).sum();
        let forced: f64 = cell.samples.iter().map(|sample| f64::from(sample.involuntary_switches)).sum();
        if forced > seconds * FORCED {
            seen.push(format!("others took the CPUs {} times a second", three_digits(forced / seconds)));
        }
    }
    // A command's processes are on any CPU, and so are others'.
    if descriptor.is_of_user()
        && let Some((used, time)) = used(cell)
        && used > time * USED
    {
        seen.push(format!("others used {} of a CPU's time", percent(used / time)));
    }
    seen.truncate(MOST);
    seen
}

/// The time that others used between the first probe and the last one, and how long that was, in seconds.
fn used(cell: &Cell) -> Option<(f64, f64)> {
    let (first, last) = (cell.probes.first()?, cell.probes.last()?);
    let used = last.others?.as_seconds() - first.others?.as_seconds();
    let time = last.since.as_seconds() - first.since.as_seconds();
    (time > 0.0).then_some((used, time))
}

#[cfg(test)]
mod tests {
    use tenbin_model::{Cpu, Ended, Probe, Quantity};

    use super::*;
    use crate::specimen::{cell, descriptor};

    /// A cell with a probe before each of 20 blocks, of which one second passes.
    fn probed(probe: impl Fn(u32) -> Probe) -> Cell {
        let mut cell = cell(20, 1.0, 0.5, Ended::Budget, 1);
        let since = |block: u32| Picoseconds::from_millis(1000 * u64::from(block));
        let at = |block| Probe { block, since: since(block), ..probe(block) };
        cell.probes = (0..20).map(at).collect();
        cell
    }

    #[test]
    fn what_took_time_is_named_and_nothing_else() {
        let cost = descriptor(Quantity::NanosecondsPerOperation);
        let steady = |_| Probe { spins: vec![Picoseconds(10_000_000)], ..Probe::default() };
        assert!(disturbances(&cost, &probed(steady)).is_empty());
        let taken = |block: u32| Some(Picoseconds::from_millis(40 * u64::from(block)));
        let stolen = |block| Probe { stolen: taken(block), ..Probe::default() };
        assert_eq!(disturbances(&cost, &probed(stolen)), ["the host took 4 % of a CPU's time"]);
        let spin = |block: u32| if block.is_multiple_of(3) { 13_000_000 } else { 10_000_000 };
        let unsteady = |block| Probe { spins: vec![Picoseconds(spin(block))], ..Probe::default() };
        let expected = ["a fixed loop took from 10.0 µs to 13.0 µs, so the core's speed changed"];
        assert_eq!(disturbances(&cost, &probed(unsteady)), expected);
    }

    fn of_user(descriptor: &Descriptor) -> Descriptor {
        Descriptor { subject: String::new(), ..descriptor.clone() }
    }

    #[test]
    fn others_are_named_where_a_command_is_weighed() {
        let cost = descriptor(Quantity::NanosecondsPerOperation);
        let others = |a_second: u64| {
            let used = move |block: u32| Picoseconds::from_millis(500_000 + a_second * u64::from(block));
            move |block| Probe { others: Some(used(block)), ..Probe::default() }
        };
        let busy = probed(others(300));
        assert_eq!(disturbances(&of_user(&cost), &busy), ["others used 30 % of a CPU's time"]);
        assert!(disturbances(&cost, &busy).is_empty());
        assert!(disturbances(&of_user(&cost), &probed(others(40))).is_empty());
    }

    #[test]
    fn forced_switches_disturb_only_workers_that_are_alone() {
        let mut cell = cell(20, 1.0, 0.5, Ended::Budget, 1);
        cell.samples[0].involuntary_switches = 100;
        let cost = descriptor(Quantity::NanosecondsPerOperation);
        let [named] = &disturbances(&cost, &cell)[..] else { panic!("one is expected") };
        assert!(named.starts_with("others took the CPUs "), "{named}");
        assert!(disturbances(&of_user(&cost), &cell).is_empty());
        cell.arrangement.cpus = vec![Cpu(0), Cpu(0)];
        assert!(disturbances(&cost, &cell).is_empty());
    }
}
