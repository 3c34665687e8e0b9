//! Who else uses the CPUs: processes, the host, limits on this process.

use tenbin_metal::machine::{CPUS, Reading, control_groups, cpu_list, integer};
use tenbin_model::machine::{Virtualisation, cpus_in_words};
use tenbin_model::words::{and, comma, counted, first, percent};
use tenbin_model::{Cpu, Order};

use super::moment::Spent;
use super::{Sight, Source, Symptom, known};

pub(super) const SOURCES: &[Source] = &[
    Source::new("emulation", "instructions take as long as their emulation, so times say nothing", emulation),
    Source::new(
        "virtualisation",
        "the host moves the CPUs, lends their cores and caches to others, and says nothing of it",
        virtualisation,
    ),
    Source::new("steal", "the host runs somebody else while this machine's clock goes on", steal),
    Source::new(
        "other work",
        "what runs on the same CPUs takes their time, their caches and their turbo",
        other_work,
    ),
    Source::new("runnable tasks", "tasks queue for CPUs, and the scheduler moves them", runnable),
    Source::new("another tenbin", "two measurements disturb each other", another),
    Source::new(
        "SMT siblings",
        "two CPUs share one core: each is slower while the other one works",
        siblings,
    ),
    Source::new("pressure", "tasks wait for a CPU, for memory that is being freed, or for a disk", pressure),
    Source::new(
        "CPU quota",
        "the control group is stopped for the rest of a period once its time is used up",
        quota,
    ),
    Source::new("CPU mask", "programs that count the CPUs online start more threads than can run", mask),
    Source::new("priority", "others of the usual priority are preferred", priority),
];

/// What a quiet machine does by itself, as a part of the time.
const SOME: f64 = 0.02;

/// For how long some task of a quiet machine waits: all CPUs and tasks count, those of no interest too.
const WAITED: f64 = 0.05;

/// What a host takes of a guest's time that has CPUs of its own.
const SOME_STOLEN: f64 = 0.002;

fn share(part: u64, whole: u64) -> String {
    percent(if whole == 0 { 0.0 } else { part as f64 / whole as f64 })
}

/// Whether CPUs worked. One tick is the least that can be seen, and met whom it met.
fn is_busy(spent: Spent) -> bool {
    spent.busy > 1 && spent.busy as f64 > spent.all as f64 * SOME
}

fn emulation(sight: &Sight<'_>) -> Reading<Symptom> {
    Ok(match &sight.machine.virtualisation {
        Virtualisation::Emulated(by) => Symptom::active(by.as_str(), "measure on a CPU that is not emulated"),
        _ => Symptom::quiet("none seen"),
    })
}

fn virtualisation(sight: &Sight<'_>) -> Reading<Symptom> {
    let remedy = "measure on the host, or on a guest with CPUs and memory of its own";
    Ok(match &sight.machine.virtualisation {
        Virtualisation::Hypervisor(who) => Symptom::possible(who.as_str(), remedy),
        _ => Symptom::quiet("no hypervisor seen"),
    })
}

fn steal(sight: &Sight<'_>) -> Reading<Symptom> {
    let (passed, since_start) = (sight.passed(sight.cpus)?, sight.after.spent(sight.cpus)?);
    let remedy = "ask the host for CPUs of its own, or measure when its other guests are idle";
    let always = format!("{} of the CPUs' time since the start", share(since_start.stolen, since_start.all));
    Ok(if passed.stolen > 0 {
        let now = share(passed.stolen, passed.all);
        Symptom::active(format!("{now} of the CPUs' time while watched"), remedy)
    } else if since_start.stolen as f64 > since_start.all as f64 * SOME_STOLEN {
        Symptom::possible(format!("{always}, none while watched"), remedy)
    } else {
        Symptom::quiet(always)
    })
}

/// The processes that used CPU time while watched, those first that used most.
fn busiest(sight: &Sight<'_>, cpus: &[Cpu]) -> String {
    const NAMED: usize = 3;
    let Ok(used) = sight.after.used(sight.before) else { return String::new() };
    let there = used.iter().filter(|(process, _)| cpus.contains(&process.cpu));
    let named: Vec<String> =
        there.map(|(process, _)| format!("{} ({})", process.name, process.pid)).collect();
    if named.is_empty() { String::new() } else { format!(", most by {}", first(&named, NAMED)) }
}

fn other_work(sight: &Sight<'_>) -> Reading<Symptom> {
    let passed = sight.passed(sight.cpus)?;
    let seen = format!("{} of the time of {}", share(passed.busy, passed.all), cpus_in_words(sight.cpus));
    Ok(if is_busy(passed) {
        let by = busiest(sight, sight.cpus);
        Symptom::active(
            format!("{seen}{by}"),
            "end it, move it by taskset, or measure on other CPUs (--cpus)",
        )
    } else {
        Symptom::quiet(seen)
    })
}

fn runnable(sight: &Sight<'_>) -> Reading<Symptom> {
    // One of them is this process, which reads.
    let others = sight.before.runnable()?.min(sight.after.runnable()?).saturating_sub(1) as usize;
    let online = known(&sight.machine.online)?.len();
    let seen = format!("{} on {}", counted(others, "task"), counted(online, "CPU"));
    Ok(match others {
        0 => Symptom::quiet(seen),
        _ if others < online => Symptom::possible(seen, "end them, or measure on CPUs of their own (--cpus)"),
        _ => Symptom::active(seen, "end them: there is no CPU left to measure on"),
    })
}

fn another(sight: &Sight<'_>) -> Reading<Symptom> {
    // One that this process runs under waits for it (`tenbin quiet`).
    let mut others = sight.after.named("tenbin")?;
    others.retain(|other| !sight.after.descends_from(other));
    let numbers = comma(others.iter().map(|process| process.pid));
    Ok(match others.len() {
        0 => Symptom::quiet("none runs"),
        _ => Symptom::active(format!("process {numbers}"), "wait for its end"),
    })
}

/// `Documentation/ABI/testing/sysfs-devices-system-cpu`, `thread_siblings_list`.
fn siblings(sight: &Sight<'_>) -> Reading<Symptom> {
    let mut shared: Vec<Cpu> = Vec::new();
    for cpu in sight.cpus {
        let path = format!("{CPUS}/cpu{}/topology/thread_siblings_list", cpu.0);
        shared.extend(sight.root.parsed(&path, cpu_list)?.into_iter().filter(|other| other != cpu));
    }
    if shared.is_empty() {
        return Ok(Symptom::quiet("no CPU shares its core"));
    }
    shared.order();
    shared.dedup();
    let passed = sight.passed(&shared)?;
    let seen = format!("the cores have {} too", cpus_in_words(&shared));
    let remedy = format!("measure on one CPU of each core (--cpus), or echo off > {CPUS}/smt/control");
    Ok(if is_busy(passed) {
        let work = share(passed.busy, passed.all);
        Symptom::active(format!("{seen}, busy for {work} of the time{}", busiest(sight, &shared)), remedy)
    } else {
        Symptom::possible(format!("{seen}, idle while watched"), remedy)
    })
}

/// `Documentation/accounting/psi.rst`: time in which at least one task waited.
fn pressure(sight: &Sight<'_>) -> Reading<Symptom> {
    let (before, after) = (sight.before.pressures()?, sight.after.pressures()?);
    let window = super::WATCHED.as_micros() as u64;
    let mut much = Vec::new();
    for ((name, before), (_, after)) in before.iter().zip(&after) {
        let waited = after.saturating_sub(*before).min(window);
        if waited as f64 > window as f64 * WAITED {
            much.push(format!("{} of the time for {name}", share(waited, window)));
        }
    }
    Ok(if much.is_empty() {
        Symptom::quiet("no task waited for CPU, memory or disk for 5 % of the time")
    } else {
        let seen = format!("some task waited {}", and(&much));
        Symptom::active(seen, "end what uses it, or wait until that is done")
    })
}

/// `Documentation/scheduler/sched-bwc.rst`, `cpu.stat`.
fn quota(sight: &Sight<'_>) -> Reading<Symptom> {
    let Some(quota) = known(&sight.machine.cpu_quota)? else { return Ok(Symptom::quiet("none")) };
    let throttled = sight.after.of_group("nr_throttled")?;
    let now = throttled.saturating_sub(sight.before.of_group("nr_throttled")?);
    let own = control_groups(&sight.root, "cpu")?.into_iter().next().unwrap_or_default();
    let remedy = format!("echo max > {own}/cpu.max, or in the group above that sets it");
    let seen = format!("the time of {quota} CPUs; stopped {} so far", counted(throttled as usize, "time"));
    Ok(match now {
        0 => Symptom::possible(seen, remedy),
        _ => Symptom::active(format!("{seen}, also while watched"), remedy),
    })
}

/// `proc_pid_status(5)`, `Cpus_allowed_list`.
fn mask(sight: &Sight<'_>) -> Reading<Symptom> {
    let allowed = sight.root.parsed("/proc/self/status", |text| {
        let line = text.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
        cpu_list(line.ok_or("no line `Cpus_allowed_list`")?)
    })?;
    let online = known(&sight.machine.online)?;
    let present = sight.root.parsed(&format!("{CPUS}/present"), cpu_list)?;
    let without = |all: &[Cpu], some: &[Cpu]| -> Vec<Cpu> {
        all.iter().copied().filter(|cpu| !some.contains(cpu)).collect()
    };
    let mut seen = Vec::new();
    for (lacking, what) in [
        (without(online, &allowed), "online and not allowed to this process"),
        (without(&present, online), "there and not online"),
    ] {
        if !lacking.is_empty() {
            seen.push(format!("{}: {what}", cpus_in_words(&lacking)));
        }
    }
    Ok(if seen.is_empty() {
        Symptom::quiet("all CPUs are online and allowed")
    } else {
        Symptom::possible(
            and(&seen),
            "see taskset -p, the control group's cpuset, and isolcpus of the kernel",
        )
    })
}

/// `proc_pid_stat(5)`: the 19th field is the niceness, the 41st the policy.
fn priority(sight: &Sight<'_>) -> Reading<Symptom> {
    let stat = sight.root.text("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit_once(") ").map_or("", |(_, rest)| rest).split(' ').collect();
    let field = |number: usize| fields.get(number - 3).copied().ok_or("/proc/self/stat: too short");
    let nice: i32 = field(19)?.parse().map_err(|_| "/proc/self/stat: no niceness")?;
    let policy: u32 = integer(field(41)?)?;
    let group = control_groups(&sight.root, "cpu").ok().and_then(|own| own.into_iter().next());
    let idle = group.map(|group| format!("{group}/cpu.idle"));
    Ok(match (idle, nice, policy) {
        (Some(path), ..) if sight.root.text(&path).is_ok_and(|text| text == "1") => {
            Symptom::possible("the control group runs where nobody else does", format!("echo 0 > {path}"))
        }
        (_, 1.., _) => Symptom::possible(format!("niceness {nice}"), "start it without nice"),
        (_, _, 3) => Symptom::possible("batch scheduling", "start it without chrt --batch"),
        (_, _, 5) => Symptom::possible("idle scheduling", "start it without chrt --idle"),
        _ => Symptom::quiet(format!("niceness {nice}")),
    })
}
