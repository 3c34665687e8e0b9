//! Interrupts and the kernel's deferred work, sent to other CPUs.

use tenbin_metal::machine::{Reading, cpu_list};
use tenbin_model::Cpu;
use tenbin_model::machine::{cpu_ranges, cpus_in_words};
use tenbin_model::words::counted;

use super::{Kind, Place, Planned, mask};

pub(super) const KINDS: &[Kind] = &[
    Kind::usual("interrupts", "devices interrupt other CPUs", interrupts),
    Kind::usual("workqueues", "the kernel does its deferred work on other CPUs", workqueues),
];

const INTERRUPTS: &str = "/proc/irq";
/// For devices that are there later.
const LATER: &str = "/proc/irq/default_smp_affinity";
const WORKQUEUES: &str = "/sys/devices/virtual/workqueue/cpumask";

/// `Documentation/core-api/irq/irq-affinity.rst`.
fn interrupts(place: &Place<'_>) -> Reading<Planned> {
    let (cpus, others) = (place.cpus()?, place.others()?);
    let mut settings = masked(place, LATER, &others)?;
    for path in place.files(INTERRUPTS, "", "smp_affinity_list")? {
        let now = place.root.parsed(&path, cpu_list)?;
        if !now.iter().any(|cpu| cpus.contains(cpu)) {
            continue;
        }
        let left: Vec<Cpu> = now.into_iter().filter(|cpu| others.contains(cpu)).collect();
        settings.push((path, cpu_ranges(if left.is_empty() { &others } else { &left })));
    }
    let count = settings.len();
    let words = format!("{} to {}", counted(count, "mask"), cpus_in_words(&others));
    Ok(Planned { words, ..Planned::settings(place, settings)? })
}

/// `Documentation/core-api/workqueue.rst`: those that are bound to no CPU.
fn workqueues(place: &Place<'_>) -> Reading<Planned> {
    let others = place.others()?;
    let words = format!("to {}", cpus_in_words(&others));
    Ok(Planned { words, ..Planned::settings(place, masked(place, WORKQUEUES, &others)?)? })
}

/// The file, and the mask of these CPUs in the shape that it has.
fn masked(place: &Place<'_>, path: &str, cpus: &[Cpu]) -> Reading<Vec<(String, String)>> {
    let shape = place.root.word(path)?;
    Ok(vec![(path.into(), mask(cpus, &shape))])
}
