//! Interrupts that reach the CPUs.

use tenbin_metal::machine::{Reading, cpu_list};
use tenbin_model::Cpu;
use tenbin_model::machine::cpu_ranges;
use tenbin_model::words::{counted, first};

use super::moment::Interrupt;
use super::{Sight, Source, Symptom, known};

pub(super) const SOURCES: &[Source] = &[
    Source::new("device interrupts", "a handler runs in between, and its deferred work after it", devices),
    Source::new("interrupt balancing", "interrupts move to other CPUs while these are timed", balancing),
    Source::new(
        "interrupts between CPUs",
        "other CPUs stop these to flush their translations or to run something",
        between,
    ),
];

/// Devices and interrupts that are named in a sentence.
const NAMED: usize = 3;

/// More than this many while watched are more than what comes of watching.
const FEW: u64 = 10;

/// Every interrupt, and how often it reached these CPUs while they were watched. One that was taken away and
/// given anew counts from 0.
fn arrived(sight: &Sight<'_>) -> Reading<Vec<(Interrupt, u64)>> {
    let before = sight.before.interrupts()?;
    let counted = |interrupt: Interrupt| {
        let earlier = before.iter().find(|earlier| earlier.name == interrupt.name);
        let earlier = earlier.map_or(0, |earlier| earlier.on(sight.cpus));
        let count = interrupt.on(sight.cpus).saturating_sub(earlier);
        (interrupt, count)
    };
    Ok(sight.after.interrupts()?.into_iter().map(counted).collect())
}

/// `Documentation/core-api/irq/irq-affinity.rst`.
fn devices(sight: &Sight<'_>) -> Reading<Symptom> {
    let mut now = Vec::new();
    let mut sent = Vec::new();
    for (interrupt, arrived) in arrived(sight)? {
        let Ok(number) = interrupt.name.parse::<u32>() else { continue };
        let name = format!("{number} ({})", interrupt.device);
        if arrived > 0 {
            now.push(format!("{name} {}", counted(arrived as usize, "time")));
        }
        let path = format!("/proc/irq/{number}/effective_affinity_list");
        let goes_to = sight.root.parsed(&path, cpu_list).unwrap_or_default();
        if interrupt.total() > 0 && goes_to.iter().any(|cpu| sight.cpus.contains(cpu)) {
            sent.push(name);
        }
    }
    let online = known(&sight.machine.online)?;
    let others: Vec<Cpu> = online.iter().copied().filter(|cpu| !sight.cpus.contains(cpu)).collect();
    let remedy = if others.is_empty() {
        "measure on some of the CPUs only (--cpus), and send interrupts to the others".into()
    } else {
        format!("echo {} > /proc/irq/NUMBER/smp_affinity_list", cpu_ranges(&others))
    };
    Ok(match (now.as_slice(), sent.as_slice()) {
        ([], []) => Symptom::quiet("no device interrupts these CPUs"),
        ([], sent) => {
            Symptom::possible(format!("{}: sent here, none while watched", first(sent, NAMED)), remedy)
        }
        (now, _) => Symptom::active(format!("{} while watched", first(now, NAMED)), remedy),
    })
}

fn balancing(sight: &Sight<'_>) -> Reading<Symptom> {
    let daemons = sight.after.named("irqbalance")?;
    Ok(match daemons.first() {
        Some(daemon) => Symptom::possible(
            format!("irqbalance runs (process {})", daemon.pid),
            "systemctl stop irqbalance, for as long as is measured",
        ),
        None => Symptom::quiet("irqbalance does not run"),
    })
}

/// The kernel's names for those that a CPU sends to others (`arch/*/kernel/irq.c`, `arch/*/kernel/smp.c`).
fn between(sight: &Sight<'_>) -> Reading<Symptom> {
    let is_sent = |name: &str| matches!(name, "CAL" | "TLB") || name.starts_with("IPI");
    let all = arrived(sight)?;
    let arrived: u64 =
        all.iter().filter(|(interrupt, _)| is_sent(&interrupt.name)).map(|(_, count)| count).sum();
    let seen = format!("{arrived} while watched");
    Ok(if arrived > FEW * sight.cpus.len() as u64 {
        Symptom::active(seen, "end what maps and unmaps memory on several CPUs at once")
    } else {
        Symptom::quiet(seen)
    })
}
