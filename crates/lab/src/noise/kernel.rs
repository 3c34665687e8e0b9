//! What the kernel does by itself, and what it is set to.

use tenbin_metal::machine::{CPUS, Reading, cpu_list, integer};
use tenbin_model::Cpu;
use tenbin_model::machine::{Observed, cpu_ranges, cpus_in_words};
use tenbin_model::words::and;

use super::{Sight, Source, Symptom, known};
use crate::experiment::Aspect;

pub(super) const SOURCES: &[Source] = &[
    Source::new(
        "isolation",
        "the kernel puts other tasks, its timers and its deferred work on the same CPUs",
        isolation,
    ),
    Source::new(
        "deadline server",
        "CPUs that were to have no tick are interrupted a thousand times a second (Linux 6.8 and later)",
        deadline_server,
    ),
    Source::new(
        "clock source",
        "each reading of the clock is a system call and takes a microsecond or more",
        clock_source,
    ),
    Source::new("timer slack", "sleeps and time-outs end later than they were asked to", timer_slack)
        .that_disturbs(&[Aspect::Wakes]),
    Source::new("watchdogs", "a hardware counter is taken, and its interrupt comes in between", watchdogs),
    Source::new("tracing", "probes run within system calls, interrupts and switches", tracing),
    Source::new("seccomp filter", "a filter runs before each system call", seccomp)
        .that_disturbs(&[Aspect::Calls]),
    Source::new(
        "mitigations",
        "calls, switches and page faults are cheaper than where the kernel's defaults hold",
        mitigations,
    )
    .that_disturbs(&[Aspect::Calls, Aspect::Wakes, Aspect::Memory]),
    Source::new(
        "hardware counters",
        "a difference cannot be explained by instructions, caches or branches",
        counters,
    ),
];

/// `Documentation/admin-guide/kernel-parameters.txt`: `isolcpus`, `nohz_full`, `rcu_nocbs`.
fn isolation(sight: &Sight<'_>) -> Reading<Symptom> {
    let isolated = sight.root.parsed(&format!("{CPUS}/isolated"), cpu_list)?;
    let without_tick = without_tick(sight)?;
    let lacking =
        |of: &[Cpu]| -> Vec<Cpu> { sight.cpus.iter().copied().filter(|cpu| !of.contains(cpu)).collect() };
    let remedy =
        format!("start the kernel with isolcpus={0} nohz_full={0} rcu_nocbs={0}", cpu_ranges(sight.cpus));
    let (open, ticking) = (lacking(&isolated), lacking(&without_tick));
    Ok(if open.is_empty() && ticking.is_empty() {
        Symptom::quiet(format!("no other tasks and no tick on {}", cpus_in_words(sight.cpus)))
    } else if open.is_empty() {
        Symptom::possible(format!("{}: isolated, and with a tick", cpus_in_words(&ticking)), remedy)
    } else if isolated.is_empty() {
        Symptom::possible(format!("{}: open to everything", cpus_in_words(&open)), remedy)
    } else {
        let isolated_in_words = cpus_in_words(&isolated);
        Symptom::possible(
            format!("{}: open to everything; isolated: {isolated_in_words}", cpus_in_words(&open)),
            format!("taskset -c {0} tenbin … --cpus {0}", cpu_ranges(&isolated)),
        )
    })
}

/// The CPUs that are to have no tick. A kernel that cannot do without one lacks the file, or says `(null)` in
/// it.
fn without_tick(sight: &Sight<'_>) -> Reading<Vec<Cpu>> {
    match sight.root.text(&format!("{CPUS}/nohz_full")) {
        Ok(text) => Ok(cpu_list(&text).unwrap_or_default()),
        Err(_) if sight.root.exists(&format!("{CPUS}/isolated")) => Ok(Vec::new()),
        Err(why) => Err(why),
    }
}

/// `fair_server` in `kernel/sched/debug.c`: each CPU has a runtime, 0 is off.
fn deadline_server(sight: &Sight<'_>) -> Reading<Symptom> {
    const FOLDER: &str = "/sys/kernel/debug/sched/fair_server";
    let without_tick = without_tick(sight)?;
    let concerned: Vec<Cpu> = sight.cpus.iter().copied().filter(|cpu| without_tick.contains(cpu)).collect();
    let Some(one) = concerned.first() else {
        return Ok(Symptom::quiet("none of these CPUs is to have no tick"));
    };
    let release = sight.root.word("/proc/sys/kernel/osrelease")?;
    let mut numbers = release.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    if (numbers.next(), numbers.next()) < (Some(6), Some(8)) {
        return Ok(Symptom::quiet(format!("Linux {release} has none")));
    }
    let path = format!("{FOLDER}/cpu{}/runtime", one.0);
    Ok(match sight.root.parsed(&path, integer::<u64>)? {
        0 => Symptom::quiet("off"),
        _ => Symptom::possible(
            format!("on for {}", cpus_in_words(&concerned)),
            format!("echo 0 > {path}, and so for others"),
        ),
    })
}

/// The sources that are read without a system call (`VDSO_CLOCKMODE` in `arch/*/`).
const READ_WITHOUT_CALL: [&str; 5] =
    ["tsc", "kvm-clock", "arch_sys_counter", "riscv_clocksource", "hyperv_clocksource_tsc_page"];

fn clock_source(sight: &Sight<'_>) -> Reading<Symptom> {
    const FOLDER: &str = "/sys/devices/system/clocksource/clocksource0";
    let source = known(&sight.machine.clock_source)?;
    if READ_WITHOUT_CALL.contains(&source.as_str()) {
        return Ok(Symptom::quiet(source.as_str()));
    }
    let available = sight.root.text(&format!("{FOLDER}/available_clocksource")).unwrap_or_default();
    let better = available.split(' ').find(|name| READ_WITHOUT_CALL.contains(name));
    let remedy = better.map_or_else(
        || "the kernel offers no other one here; dmesg says why it gave up the processor's".into(),
        |better| format!("echo {better} > {FOLDER}/current_clocksource"),
    );
    Ok(Symptom::active(source.as_str(), remedy))
}

/// In nanoseconds: what each program begins with (`PR_SET_TIMERSLACK(2const)`).
const USUAL_SLACK: u64 = 50_000;

fn timer_slack(sight: &Sight<'_>) -> Reading<Symptom> {
    let slack = sight.root.parsed("/proc/self/timerslack_ns", integer::<u64>)?;
    let seen = format!("{} µs", slack / 1000);
    Ok(if slack > USUAL_SLACK {
        Symptom::active(seen, "start it without what set this (prctl(PR_SET_TIMERSLACK))")
    } else {
        Symptom::quiet(seen)
    })
}

/// `Documentation/admin-guide/lockup-watchdogs.rst`.
fn watchdogs(sight: &Sight<'_>) -> Reading<Symptom> {
    Ok(match sight.root.parsed("/proc/sys/kernel/nmi_watchdog", integer::<u32>)? {
        0 => Symptom::quiet("the one for hard lockups is off"),
        _ => Symptom::possible("the one for hard lockups is on", "sysctl kernel.nmi_watchdog=0"),
    })
}

/// `Documentation/trace/ftrace.rst`, `Documentation/admin-guide/sysctl/kernel.rst`.
fn tracing(sight: &Sight<'_>) -> Reading<Symptom> {
    const FOLDER: &str = "/sys/kernel/tracing";
    if sight.root.text("/proc/sys/kernel/bpf_stats_enabled").is_ok_and(|text| text == "1") {
        let seen = "every BPF program is timed (kernel.bpf_stats_enabled)";
        return Ok(Symptom::active(seen, "sysctl kernel.bpf_stats_enabled=0"));
    }
    let tracer = sight.root.word(&format!("{FOLDER}/current_tracer"))?;
    let events = sight.root.text(&format!("{FOLDER}/set_event"))?;
    let is_on = sight.root.text(&format!("{FOLDER}/tracing_on"))? == "1";
    let mut seen = Vec::new();
    if tracer != "nop" {
        seen.push(format!("the tracer {tracer} is on"));
    }
    if is_on && !events.is_empty() {
        seen.push("events are recorded".into());
    }
    Ok(if seen.is_empty() {
        Symptom::quiet("no tracer, no events")
    } else {
        Symptom::active(and(&seen), format!("echo nop > {FOLDER}/current_tracer; echo > {FOLDER}/set_event"))
    })
}

/// `proc_pid_status(5)`: 2 is a filter.
fn seccomp(sight: &Sight<'_>) -> Reading<Symptom> {
    let status = sight.root.text("/proc/self/status")?;
    let mode = status.lines().find_map(|line| line.strip_prefix("Seccomp:"));
    Ok(match mode.ok_or("/proc/self/status: no line `Seccomp`")?.trim() {
        "2" => {
            let remedy = "start it outside the container, or with --security-opt seccomp=unconfined";
            Symptom::active("there is one", remedy)
        }
        _ => Symptom::quiet("none"),
    })
}

/// Words of the kernel's command line that switch mitigations off
/// (`Documentation/admin-guide/kernel-parameters.txt`).
const OFF: [&str; 6] =
    ["mitigations=off", "nopti", "pti=off", "nospectre_v1", "nospectre_v2", "spectre_v2=off"];

/// `Documentation/admin-guide/hw-vuln/index.rst`.
fn mitigations(sight: &Sight<'_>) -> Reading<Symptom> {
    known(&sight.machine.mitigations)?;
    let command_line = known(&sight.machine.command_line)?;
    let remedy = "start the kernel without that, or compare only with machines that have it too";
    Ok(match command_line.split(' ').find(|word| OFF.contains(word)) {
        Some(word) => Symptom::possible(format!("switched off ({word})"), remedy),
        None => Symptom::quiet("as the kernel chose"),
    })
}

/// `perf_event_open(2)`.
fn counters(sight: &Sight<'_>) -> Reading<Symptom> {
    match &sight.machine.counters {
        Observed::Known(_) => Ok(Symptom::quiet("readable")),
        Observed::NotObservable(why) if why.contains("not permitted") => {
            Ok(Symptom::possible(why.as_str(), "sysctl kernel.perf_event_paranoid=1"))
        }
        Observed::NotObservable(why) => Err(why.clone()),
    }
}
