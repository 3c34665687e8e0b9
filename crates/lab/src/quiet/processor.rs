//! What the processor does of its own accord: frequencies and idle states.

use tenbin_metal::attributes::Attribute;
use tenbin_metal::machine::{CPUS, Reading};

use super::{Kind, Place, Planned};

pub(super) const KINDS: &[Kind] = &[
    Kind::usual("idle-states", "no CPU sleeps so deeply that it takes time to wake", idle),
    // Of some drivers it can only be set while the governor leaves it a choice: before that one, and back
    // after it.
    Kind::usual("energy-preference", "the processor prefers speed to saving energy", preference),
    Kind::usual("governor", "cores run at their highest frequency", governor),
    Kind::usual("turbo", "no core is faster than all of them can be", turbo),
];

const FREQUENCY: &str = "/sys/devices/system/cpu/cpufreq";
const PERFORMANCE: &str = "performance";

/// `Documentation/power/pm_qos_interface.rst`: a bound on the time to wake, for as long as a file is open.
fn idle(_: &Place<'_>) -> Reading<Planned> {
    Ok(Planned::attribute(Attribute::NoIdleStates, "none that takes time to leave"))
}

/// `Documentation/admin-guide/pm/intel_pstate.rst`, `amd-pstate.rst`.
fn preference(place: &Place<'_>) -> Reading<Planned> {
    all(place, "energy_performance_preference", PERFORMANCE)
}

/// `Documentation/admin-guide/pm/cpufreq.rst`.
fn governor(place: &Place<'_>) -> Reading<Planned> {
    all(place, "scaling_governor", PERFORMANCE)
}

/// `Documentation/admin-guide/pm/intel_pstate.rst`, `cpufreq.rst`; a driver may have a switch a policy.
fn turbo(place: &Place<'_>) -> Reading<Planned> {
    let intel = format!("{CPUS}/intel_pstate/no_turbo");
    let global = format!("{FREQUENCY}/boost");
    if place.root.exists(&intel) {
        Planned::settings(place, vec![(intel, "1".into())])
    } else if place.root.exists(&global) {
        Planned::settings(place, vec![(global, "0".into())])
    } else {
        all(place, "boost", "0")
    }
}

/// A file of every frequency policy.
fn all(place: &Place<'_>, file: &str, value: &str) -> Reading<Planned> {
    let files = place.files(FREQUENCY, "policy", file)?;
    Planned::settings(place, files.into_iter().map(|path| (path, value.into())).collect())
}
