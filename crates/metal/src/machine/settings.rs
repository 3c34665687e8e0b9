//! Settings of the kernel that change what is measured.

use tenbin_model::Cpu;
use tenbin_model::machine::cpu_ranges;
use tenbin_model::words::comma;

use super::formats::{bracketed, integer};
use super::root::{CPUS, Reading, Root};

/// `Documentation/ABI/testing/sysfs-devices-system-cpu` has the folder of the clock source.
pub(super) fn clock_source(root: &Root) -> Reading<String> {
    root.word("/sys/devices/system/clocksource/clocksource0/current_clocksource")
}

/// The governor of every CPU: one word where all agree, else each with its CPUs
/// (`Documentation/admin-guide/pm/cpufreq.rst`). Most virtual machines have none.
pub(super) fn governor(root: &Root, cpus: &[Cpu]) -> Reading<String> {
    let mut groups: Vec<(String, Vec<Cpu>)> = Vec::new();
    for &cpu in cpus {
        let governor = root.word(&format!("{CPUS}/cpu{}/cpufreq/scaling_governor", cpu.0))?;
        match groups.iter_mut().find(|(known, _)| *known == governor) {
            Some((_, members)) => members.push(cpu),
            None => groups.push((governor, vec![cpu])),
        }
    }
    match groups.as_slice() {
        [] => Err(format!("{CPUS}: no CPU is known to be online")),
        [(governor, _)] => Ok(governor.clone()),
        _ => {
            let group =
                |(governor, cpus): &(String, Vec<Cpu>)| format!("{governor} on CPUs {}", cpu_ranges(cpus));
            Ok(comma(groups.iter().map(group)))
        }
    }
}

/// Whether frequencies above the nominal one are allowed: `intel_pstate/no_turbo` says it upside
/// down, `cpufreq/boost` upright (`Documentation/admin-guide/pm/intel_pstate.rst`, `cpufreq.rst`).
pub(super) fn turbo(root: &Root) -> Reading<bool> {
    let intel = root.parsed(&format!("{CPUS}/intel_pstate/no_turbo"), switch).map(|off| !off);
    intel.or_else(|first| {
        let boost = root.parsed(&format!("{CPUS}/cpufreq/boost"), switch);
        boost.map_err(|second| format!("{first}; {second}"))
    })
}

fn switch(text: &str) -> Reading<bool> {
    match text {
        "0" => Ok(false),
        "1" => Ok(true),
        other => Err(format!("`{other}` is neither 0 nor 1")),
    }
}

/// `smt/control` in the kernel's words (`on`, `off`, `forceoff`, `notsupported`, `notimplemented`);
/// kernels before 4.19 lack it. `smt/active` tells only whether two CPUs share a core now.
pub(super) fn smt(root: &Root) -> Reading<String> {
    root.word(&format!("{CPUS}/smt/control")).or_else(|first| {
        let active = root.parsed(&format!("{CPUS}/smt/active"), switch);
        let active = active.map_err(|second| format!("{first}; {second}"))?;
        Ok(if active { "active" } else { "not active" }.into())
    })
}

/// `Documentation/admin-guide/mm/transhuge.rst`.
pub(super) fn transparent_huge_pages(root: &Root) -> Reading<String> {
    root.parsed("/sys/kernel/mm/transparent_hugepage/enabled", bracketed)
}

/// `Documentation/admin-guide/sysctl/kernel.rst`: 0 is off, 1 balances, 2 moves cold pages to
/// slower memory; both of the latter move pages.
pub(super) fn numa_balancing(root: &Root) -> Reading<bool> {
    root.parsed("/proc/sys/kernel/numa_balancing", integer::<u32>).map(|mode| mode != 0)
}

/// `Documentation/admin-guide/sysctl/kernel.rst`.
pub(super) fn address_randomisation(root: &Root) -> Reading<u8> {
    root.parsed("/proc/sys/kernel/randomize_va_space", integer)
}

/// What the kernel says of each flaw, by the name of the flaw
/// (`Documentation/admin-guide/hw-vuln/index.rst`).
pub(super) fn mitigations(root: &Root) -> Reading<Vec<(String, String)>> {
    let folder = format!("{CPUS}/vulnerabilities");
    let flaws = root.names(&folder)?;
    let mitigation = |flaw: String| Ok((flaw.clone(), root.word(&format!("{folder}/{flaw}"))?));
    flaws.into_iter().map(mitigation).collect()
}
