//! What must hold before anything is timed. Each refusal names the number, the threshold, the remedy.

use tenbin_model::machine::Virtualisation;
use tenbin_model::{Arrangement, Check, Machine, Order, Picoseconds, Refusal};

/// The clock's resolution may be at most this part of an epoch: a tenth of the smallest usual margin.
const RESOLUTION_PER_EPOCH: f64 = 0.0005;

/// An epoch may be made at most this many times as long for the clock's sake.
const LONGEST_STRETCH: u64 = 20;

/// The epoch, made longer where the clock is too coarse for it: a 4 MHz timer needs 500 µs where a
/// time stamp counter needs 20.
pub(crate) fn long_enough(machine: &Machine, epoch: Picoseconds) -> Picoseconds {
    // What is run once for a sample takes as long as it takes.
    if epoch.0 == 0 {
        return epoch;
    }
    let Some(clock) = machine.clock.known() else { return epoch };
    let needed = (clock.resolution_ps / RESOLUTION_PER_EPOCH).ceil();
    let longest = epoch.0.saturating_mul(LONGEST_STRETCH);
    if needed <= longest as f64 { epoch.max(Picoseconds(needed as u64)) } else { epoch }
}

/// The reason why this cell may not be timed on this machine, if there is one.
pub(crate) fn refusal(machine: &Machine, arrangement: &Arrangement, checks: &[Check]) -> Option<Refusal> {
    emulated(machine, checks)
        .or_else(|| throttled(machine, arrangement))
        .or_else(|| coarse(machine, arrangement))
}

fn emulated(machine: &Machine, checks: &[Check]) -> Option<Refusal> {
    let Virtualisation::Emulated(how) = &machine.virtualisation else { return None };
    let checked = checks.iter().filter(|check| !check.sabotage).count();
    Some(Refusal {
        reached: format!("this CPU is emulated ({how}); {checked} variants met the specification"),
        needs: "instructions that hardware executes: an emulator's timing says nothing about a CPU".into(),
        remedy: "run tenbin on the hardware itself or in a hardware-assisted virtual machine".into(),
    })
}

/// A quota below the CPUs in use stops the workers in the middle of an epoch, again and again.
fn throttled(machine: &Machine, arrangement: &Arrangement) -> Option<Refusal> {
    let quota = (*machine.cpu_quota.known()?)?;
    let mut cpus = arrangement.cpus.clone();
    cpus.order();
    cpus.dedup();
    let busy = arrangement.at_once.map_or(cpus.len(), |workers| cpus.len().min(workers as usize));
    (quota < busy as f64).then(|| Refusal {
        reached: format!("the control group allows {quota} CPUs' worth of time"),
        needs: format!("{busy}, as many as there are CPUs in use at once"),
        remedy: "raise cpu.max of the control group, or name fewer CPUs with --cpus".into(),
    })
}

fn coarse(machine: &Machine, arrangement: &Arrangement) -> Option<Refusal> {
    let clock = machine.clock.known().filter(|_| arrangement.epoch.0 > 0)?;
    let finest = arrangement.epoch.0 as f64 * RESOLUTION_PER_EPOCH;
    (clock.resolution_ps > finest).then(|| Refusal {
        reached: format!("the clock {} steps by {} ns", clock.name, clock.resolution_ps / 1e3),
        needs: format!("steps of at most {} ns for epochs of {}", finest / 1e3, arrangement.epoch),
        remedy: "a finer clock: see available_clocksource under /sys/devices/system/clocksource".into(),
    })
}

#[cfg(test)]
mod tests {
    use tenbin_model::Cpu;
    use tenbin_model::machine::Observed;

    use super::*;
    use crate::rehearsal::machine_with_clock;

    fn arrangement() -> Arrangement {
        Arrangement {
            cpus: vec![Cpu(0), Cpu(1), Cpu(0)],
            epoch: Picoseconds::from_micros(100),
            ..Arrangement::default()
        }
    }

    #[test]
    fn a_quota_below_the_cpus_in_use_is_refused() {
        let with = |quota| Machine { cpu_quota: Observed::Known(quota), ..Machine::unobserved("a test") };
        let why = refusal(&with(Some(1.5)), &arrangement(), &[]).unwrap();
        assert!(why.reached.contains("1.5") && why.needs.starts_with('2'), "{why:?}");
        assert_eq!(refusal(&with(Some(2.0)), &arrangement(), &[]), None);
        assert_eq!(refusal(&with(None), &arrangement(), &[]), None);
        assert_eq!(refusal(&Machine::unobserved("a test"), &arrangement(), &[]), None);
        // Against the CPUs that work at once.
        let of = |cpus: u32, at_once| Arrangement {
            cpus: (0..cpus).map(Cpu).collect(),
            at_once,
            ..Arrangement::default()
        };
        let refused =
            |quota, arrangement: &Arrangement| refusal(&with(Some(quota)), arrangement, &[]).is_some();
        assert!(refused(4.0, &of(64, None)) && !refused(4.0, &of(64, Some(1))));
        assert!(refused(0.5, &of(64, Some(1))) && refused(4.0, &of(64, Some(5))));
        assert!(!refused(4.0, &of(4, Some(64))), "there are no more than 4 CPUs");
    }

    #[test]
    fn epochs_grow_with_the_clock_s_step_until_that_is_absurd() {
        let micros = |machine: &Machine| long_enough(machine, Picoseconds::from_micros(100)).0 / 1_000_000;
        assert_eq!(micros(&machine_with_clock(10_000.0)), 100);
        assert_eq!(micros(&machine_with_clock(250_000.0)), 500);
        assert_eq!(micros(&machine_with_clock(4e9)), 100);
    }

    #[test]
    fn a_clock_too_coarse_for_an_epoch_is_refused() {
        let why = refusal(&machine_with_clock(4e9), &arrangement(), &[]).unwrap();
        assert!(why.reached.contains("a timer") && why.needs.contains("50 ns"), "{why:?}");
        assert_eq!(refusal(&machine_with_clock(10_000.0), &arrangement(), &[]), None);
    }
}
