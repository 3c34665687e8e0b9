//! What the kernel does beside the command, and where and how it runs that.

use std::num::NonZero;

use tenbin_metal::attributes::Attribute;
use tenbin_metal::knobs::{Switch, Value};
use tenbin_metal::machine::{Reading, control_groups, cpu_list};
use tenbin_model::Cpu;
use tenbin_model::machine::{cpu_ranges, cpus_in_words};

use super::{Action, Kind, Place, Planned};

pub(super) const KINDS: &[Kind] = &[
    Kind::usual("numa-balancing", "the kernel does not move pages between memory nodes", balancing),
    Kind::usual("page-merging", "the kernel does not look for pages that are alike", merging),
    Kind::named(
        "huge-pages",
        "no page is huge unless a program reserves it: that changes what is measured",
        huge,
    ),
    Kind::usual("watchdogs", "no counter or timer looks for lockups", watchdogs),
    Kind::usual("statistics", "the kernel does not fold each CPU's memory counters every second", statistics),
    Kind::usual("deadline-server", "no timer watches CPUs that are to have no tick", server),
    Kind::usual("timer-slack", "the command's sleeps end when asked", slack),
    Kind::named("layout", "addresses are the same in every run: luck that stays", layout),
    Kind::usual("priority", "the command runs before others", priority),
    // While there is a partition, the kernel's other masks leave its CPUs out: after those, and back before.
    Kind::usual("partition", "nobody else is put on the command's CPUs", partition),
    Kind::usual("cpus", "the command keeps to its CPUs", cpus),
];

/// As the kernel's own sleeps: 0 would have it be that of the parent.
const SLACK: NonZero<u64> = NonZero::<u64>::MIN;

/// The highest of an ordinary process.
const NICENESS: i32 = -20;

/// Seconds, longer than what is measured.
const HOUR: &str = "3600";

const GROUP: &str = "tenbin-quiet";

fn one(place: &Place<'_>, path: &str, value: &str) -> Reading<Planned> {
    Planned::settings(place, vec![(path.into(), value.into())])
}

/// `Documentation/admin-guide/sysctl/kernel.rst`.
fn balancing(place: &Place<'_>) -> Reading<Planned> {
    one(place, "/proc/sys/kernel/numa_balancing", "0")
}

/// `Documentation/admin-guide/mm/ksm.rst`: what is merged stays.
fn merging(place: &Place<'_>) -> Reading<Planned> {
    one(place, "/sys/kernel/mm/ksm/run", "0")
}

/// `Documentation/admin-guide/mm/transhuge.rst`.
fn huge(place: &Place<'_>) -> Reading<Planned> {
    one(place, "/sys/kernel/mm/transparent_hugepage/enabled", "never")
}

/// `Documentation/admin-guide/lockup-watchdogs.rst`.
fn watchdogs(place: &Place<'_>) -> Reading<Planned> {
    let paths = ["/proc/sys/kernel/nmi_watchdog", "/proc/sys/kernel/soft_watchdog"];
    let there: Vec<&str> = paths.into_iter().filter(|path| place.root.exists(path)).collect();
    if there.is_empty() {
        return Err(format!("{}: no such file", paths[0]));
    }
    Planned::settings(place, there.into_iter().map(|path| (path.into(), "0".into())).collect())
}

/// `Documentation/admin-guide/sysctl/vm.rst`.
fn statistics(place: &Place<'_>) -> Reading<Planned> {
    one(place, "/proc/sys/vm/stat_interval", HOUR)
}

/// `kernel/sched/deadline.c`: it lets ordinary tasks run where real-time ones would not, and its timer ends
/// the quiet of a CPU without a tick.
fn server(place: &Place<'_>) -> Reading<Planned> {
    let full = place.root.parsed("/sys/devices/system/cpu/nohz_full", cpu_list).unwrap_or_default();
    let cpus = place.cpus()?;
    let concerned = full.iter().filter(|cpu| cpus.contains(cpu));
    let file = |Cpu(number): &Cpu| format!("/sys/kernel/debug/sched/fair_server/cpu{number}/runtime");
    let settings: Vec<(String, String)> = concerned.map(|cpu| (file(cpu), "0".into())).collect();
    if settings.is_empty() {
        return Ok(Planned::already("none of these CPUs is to have no tick"));
    }
    Planned::settings(place, settings)
}

fn slack(_: &Place<'_>) -> Reading<Planned> {
    Ok(Planned::attribute(Attribute::TimerSlack(SLACK), "1 ns"))
}

/// The method says why it is not usual (docs/method.md).
fn layout(_: &Place<'_>) -> Reading<Planned> {
    Ok(Planned::attribute(Attribute::FixedLayout, "fixed"))
}

fn priority(_: &Place<'_>) -> Reading<Planned> {
    Ok(Planned::attribute(Attribute::Niceness(NICENESS), format!("niceness {NICENESS}")))
}

fn cpus(place: &Place<'_>) -> Reading<Planned> {
    let cpus = place.cpus()?;
    Ok(Planned::attribute(Attribute::Cpus(cpus.into()), cpus_in_words(cpus)))
}

/// `Documentation/admin-guide/cgroup-v2.rst`, "Cpuset Interface Files": a group next to the root whose CPUs
/// are taken out of the scheduler's domains.
fn partition(place: &Place<'_>) -> Reading<Planned> {
    const CONTROLLER: &str = "cpuset";
    let (cpus, _) = (place.cpus()?, place.others()?);
    let groups = control_groups(&place.root, CONTROLLER)?;
    let (Some(own), Some(top)) = (groups.first(), groups.last()) else {
        return Err("this process is in no control group that can be seen".into());
    };
    let has = |file: &str| {
        let names = place.root.text(&format!("{top}/{file}"));
        names.map(|names| (names.split_whitespace().any(|name| name == CONTROLLER), names))
    };
    if !has("cgroup.controllers")?.0 {
        return Err(format!("{top}/cgroup.controllers: there is no {CONTROLLER}"));
    }
    if place.root.exists(&format!("{top}/{GROUP}")) {
        return Err(format!("{top}/{GROUP}: there is such a group already"));
    }
    let (is_given, names) = has("cgroup.subtree_control")?;
    let path = |file: &str| place.root.path(&format!("{top}/{file}"));
    let mut actions = Vec::new();
    if !is_given {
        let write = format!("+{CONTROLLER}");
        // The kernel lists it first.
        let reads = format!("{CONTROLLER} {names}").trim().to_owned();
        let values = vec![Value { write: write.clone(), reads }];
        let back = Some(format!("-{CONTROLLER}"));
        actions.push(Action::Switch(
            Switch::Setting { path: path("cgroup.subtree_control"), values, back },
            write,
        ));
    }
    let back = place.root.path(&format!("{own}/cgroup.procs"));
    actions.push(Action::Switch(Switch::Group { path: path(GROUP), back }, String::new()));
    let inside = |file: &str, value: &str| Action::Inside {
        path: path(&format!("{GROUP}/{file}")),
        value: value.into(),
        reads: value.into(),
    };
    actions.push(inside("cpuset.cpus", &cpu_ranges(cpus)));
    actions.push(inside("cpuset.cpus.partition", "isolated"));
    actions.push(Action::Attribute(Attribute::Group(path(&format!("{GROUP}/cgroup.procs")))));
    Ok(Planned { actions, words: format!("{} for the command alone", cpus_in_words(cpus)) })
}
