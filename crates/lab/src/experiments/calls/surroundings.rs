//! What decides the figures besides the code that is called: clock source, mitigations, filters, tracers,
//! hypervisor.

use tenbin_metal::calls::{Seccomp, Watchers};
use tenbin_metal::vdso::{NoVdso, Vdso};
use tenbin_model::machine::{Observed, Virtualisation, Wsl};
use tenbin_model::words::{capitalised, comma, semicolon};
use tenbin_model::{Finding, Machine, Order, order};

use super::rungs::Absent;

/// Clock sources that a vDSO can read without the kernel: `VDSO_ARCH_CLOCKMODES` and `vdso_clock_mode` in the
/// kernel's arch/x86, drivers/clocksource/arm_arch_timer.c and timer-riscv.c, with what the paravirtual ones
/// need.
const READ_IN_THE_VDSO: [(&str, Option<&str>); 5] = [
    ("tsc", None),
    ("kvm-clock", Some("if the hypervisor keeps it steady")),
    ("hyperv_clocksource_tsc_page", None),
    ("arch_sys_counter", None),
    ("riscv_clocksource", None),
];

/// Flaws whose mitigation does something at each entry to the kernel or return from it, and what it does.
const AT_EACH_SYSTEM_CALL: [(&str, &str); 11] = [
    ("meltdown", "page tables are switched"),
    ("spectre_v1", "fences on the way in"),
    ("spectre_v2", "indirect branches are fenced in or predicted anew"),
    ("retbleed", "returns are made safe on the way in"),
    ("spec_rstack_overflow", "returns are made safe"),
    ("indirect_target_selection", "indirect branches are moved"),
    ("mds", "buffers are cleared on the way out"),
    ("tsx_async_abort", "buffers are cleared on the way out"),
    ("mmio_stale_data", "buffers are cleared on the way out"),
    ("reg_file_data_sampling", "buffers are cleared on the way out"),
    ("tsa", "buffers are cleared on the way out"),
];

/// Everything that can be said here; `absent` are the rungs that are not there, with the reason.
pub(super) fn findings(
    machine: &Machine,
    vdso: &Result<Vdso, NoVdso>,
    absent: &[(&str, &Absent)],
    watchers: &Result<Watchers, String>,
) -> Vec<Finding> {
    let mut findings = vec![offered(vdso)];
    findings.extend(left_out(absent));
    // What an emulator's kernel does is no property of the CPU that is emulated.
    if machine.virtualisation.timing_can_be_trusted() {
        findings.push(clock_source(&machine.clock_source, vdso.is_ok()));
        findings.push(mitigations(&machine.mitigations));
        findings.push(watched(watchers));
        findings.extend(below(machine));
    }
    findings
}

fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "calls".into(), sentence, evidence, confidence: confidence.into() }
}

fn offered(vdso: &Result<Vdso, NoVdso>) -> Finding {
    match vdso {
        Ok(vdso) => {
            let own = vdso.functions().iter().filter(|symbol| symbol.name.starts_with("__"));
            let mut names: Vec<String> = own
                .map(|symbol| match &symbol.version {
                    Some(version) => format!("{}@@{version}", symbol.name),
                    None => symbol.name.clone(),
                })
                .collect();
            names.order();
            finding(
                format!("The vDSO of this kernel offers {} functions.", names.len()),
                names.join(" "),
                "its own table of symbols",
            )
        }
        Err(why) => finding(
            "There is no vDSO here: every question about the time is a system call.".into(),
            why.to_string(),
            "the kernel's word",
        ),
    }
}

fn left_out(absent: &[(&str, &Absent)]) -> Option<Finding> {
    let sentence = match absent.len() {
        0 => return None,
        1 => "One rung is missing here and was left out.".to_owned(),
        count => format!("{count} rungs are missing here and were left out."),
    };
    // Several rungs for one reason: it is said once.
    let reasons = order::grouped(absent.iter().map(|(name, why)| (why.to_string(), name)));
    let each = reasons.iter().map(|(why, names)| format!("{}: {why}", comma(names)));
    Some(finding(sentence, semicolon(each), "looked for in this process"))
}

/// What the kernel keeps time by, and whether the vDSO, if there is one, can do without the kernel.
fn clock_source(source: &Observed<String>, has_vdso: bool) -> Finding {
    let name = match source {
        Observed::Known(name) => name.trim(),
        Observed::NotObservable(why) => {
            let sentence = "What the kernel keeps time by cannot be seen; if the clock in the vDSO costs \
                            what the system call costs, the vDSO cannot read it.";
            return finding(sentence.into(), why.clone(), "none");
        }
    };
    let reads = match READ_IN_THE_VDSO.iter().find(|(known, _)| *known == name) {
        _ if !has_vdso => String::new(),
        Some((_, None)) => ", which the vDSO reads itself".into(),
        Some((_, Some(condition))) => format!(", which the vDSO reads itself {condition}"),
        None => {
            ", which no vDSO is known to read: expect clocks in the vDSO to cost a system call and a little \
                 more"
                .into()
        }
    };
    let confidence = "the kernel's word; the comparison with the system call shows it";
    let sentence = format!("The kernel keeps time by `{name}`{reads}.");
    finding(sentence, format!("current_clocksource is {name}"), confidence)
}

fn mitigations(flaws: &Observed<Vec<(String, String)>>) -> Finding {
    let flaws = match flaws {
        Observed::Known(flaws) => flaws,
        Observed::NotObservable(why) => {
            return finding(
                "Whether mitigations make system calls dearer here cannot be seen.".into(),
                why.clone(),
                "none",
            );
        }
    };
    let at_work = |(name, does): &(&str, &str)| {
        let (_, state) = flaws.iter().find(|(flaw, _)| flaw == name)?;
        let state = state.trim();
        state.contains("Mitigation").then(|| format!("{name}: {does} ({state})"))
    };
    let at_work: Vec<String> = AT_EACH_SYSTEM_CALL.iter().filter_map(at_work).collect();
    let sentence = match at_work.len() {
        0 => "No mitigation that works at each system call is on.".to_owned(),
        1 => "One mitigation works at each system call, and is in its price.".to_owned(),
        count => format!("{count} mitigations work at each system call, and are in its price."),
    };
    let evidence = match at_work.len() {
        0 => format!("{} flaws checked in /sys/devices/system/cpu/vulnerabilities", flaws.len()),
        _ => semicolon(&at_work),
    };
    finding(sentence, evidence, "the kernel's word")
}

fn watched(watchers: &Result<Watchers, String>) -> Finding {
    let seen = match watchers {
        Ok(seen) => seen,
        Err(why) => {
            return finding("Who looks at system calls here cannot be seen.".into(), why.clone(), "none");
        }
    };
    let several = "seccomp filters look at each system call, and are in its price";
    let (mode, filters) = match seen.seccomp {
        None => ("not said", "the kernel does not say whether seccomp filters system calls".to_owned()),
        Some(Seccomp::Off) => ("0", "no seccomp filter looks at system calls".into()),
        Some(Seccomp::Filters(None)) => ("2", several.into()),
        Some(Seccomp::Filters(Some(1))) => {
            ("2", "a seccomp filter looks at each system call, and is in its price".into())
        }
        Some(Seccomp::Filters(Some(count))) => ("2", format!("{count} {several}")),
    };
    let tracer = match seen.tracer {
        None => "the kernel does not say whether this process is traced".to_owned(),
        Some(0) => "nobody traces this process".into(),
        Some(process) => format!(
            "process {process} traces this one: if it stops it at system calls, those say nothing about the kernel"
        ),
    };
    let sentence = capitalised(&format!("{filters}; {tracer}."));
    let process = seen.tracer.map_or("not said".into(), |process| process.to_string());
    finding(
        sentence,
        format!("Seccomp {mode}, TracerPid {process}"),
        "the kernel's word, in /proc/self/status",
    )
}

fn below(machine: &Machine) -> Option<Finding> {
    if machine.wsl.known() == Some(&Wsl::One) {
        return Some(finding(
            "Windows answers these system calls: their prices are not Linux's.".into(),
            machine.wsl.to_string(),
            "the kernel's word",
        ));
    }
    match &machine.virtualisation {
        Virtualisation::Hypervisor(who) => Some(finding(
            "This kernel is a guest: a system call ends in it and does not reach the host, unless the clock \
             that it reads is one that the host has to read for it."
                .into(),
            who.clone(),
            "what the machine says of itself",
        )),
        Virtualisation::None | Virtualisation::Emulated(_) => None,
    }
}

#[cfg(test)]
mod tests;
