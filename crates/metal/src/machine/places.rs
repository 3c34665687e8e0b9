//! Where each CPU stands: package, core, node and kind.

use std::collections::BTreeMap;

use tenbin_model::machine::{CoreKind, CpuPlace, Node, Observed};
use tenbin_model::{Cpu, order};

use super::caches::Caches;
use super::facts::Facts;
use super::formats::{cpu_list, fields, integer};
use super::root::{CPUS, Reading, Root, observed};

/// CPUs that are online (`Documentation/ABI/testing/sysfs-devices-system-cpu`).
pub(super) fn online(root: &Root) -> Reading<Vec<Cpu>> {
    root.parsed(&format!("{CPUS}/online"), cpu_list)
}

/// The places of `allowed`, told apart within all of `online`.
pub(super) fn places(
    root: &Root,
    facts: &Facts,
    allowed: &[Cpu],
    online: &[Cpu],
    nodes: &Reading<Vec<Node>>,
) -> Vec<CpuPlace> {
    let kinds = kinds(root, &facts.architecture, online);
    let caches = Caches::new(root, facts, online, matches!(kinds, Kinds::Uniform));
    allowed
        .iter()
        .map(|&cpu| CpuPlace {
            cpu,
            package: observed(number(root, cpu, "physical_package_id")),
            core: observed(number(root, cpu, "core_id")),
            siblings: observed(siblings(root, cpu)),
            node: observed(node_of(cpu, nodes)),
            kind: kinds.of(cpu),
            caches: observed(caches.of(cpu)),
        })
        .collect()
}

/// A number of `topology/`; -1 is the kernel's word for unknown.
fn number(root: &Root, cpu: Cpu, name: &str) -> Reading<u32> {
    root.parsed(&format!("{CPUS}/cpu{}/topology/{name}", cpu.0), |text| match text {
        "-1" => Err("-1, which is the kernel's word for unknown".into()),
        text => integer(text),
    })
}

/// `core_cpus_list` is the name since Linux 5.3, `thread_siblings_list` the older one.
fn siblings(root: &Root, cpu: Cpu) -> Reading<Vec<Cpu>> {
    let list = |name| root.parsed(&format!("{CPUS}/cpu{}/topology/{name}", cpu.0), cpu_list);
    list("core_cpus_list").or_else(|_| list("thread_siblings_list"))
}

fn node_of(cpu: Cpu, nodes: &Reading<Vec<Node>>) -> Reading<u32> {
    let nodes = nodes.as_ref().map_err(Clone::clone)?;
    if nodes.is_empty() {
        return Err("the firmware names no nodes".into());
    }
    let home = nodes.iter().find(|node| node.cpus.contains(&cpu));
    home.map(|node| node.node).ok_or_else(|| format!("no memory node lists {cpu}"))
}

enum Kinds {
    Uniform,
    Mixed(BTreeMap<Cpu, CoreKind>),
    Unknown(String),
}

impl Kinds {
    fn of(&self, cpu: Cpu) -> Observed<CoreKind> {
        match self {
            Self::Uniform => Observed::Known(CoreKind::Uniform),
            Self::Mixed(kinds) => match kinds.get(&cpu) {
                Some(&kind) => Observed::Known(kind),
                None => Observed::NotObservable(format!("the machine mixes cores and lists {cpu} nowhere")),
            },
            Self::Unknown(why) => Observed::NotObservable(why.clone()),
        }
    }
}

/// Intel's kernels name the kinds by the folders of their counters; others give each CPU a capacity,
/// 1024 for the strongest. Where the kernel tells no kinds apart, the cores are taken as alike
/// unless their own numbers differ.
fn kinds(root: &Root, architecture: &str, online: &[Cpu]) -> Kinds {
    intel_kinds(root)
        .or_else(|| capacities(root, online))
        .unwrap_or_else(|| numbers_alike(root, architecture))
}

/// `/sys/devices/cpu_core` and its sisters exist on hybrid processors only
/// (`Documentation/ABI/testing/sysfs-bus-event_source-devices-format` and `tools/perf`).
fn intel_kinds(root: &Root) -> Option<Kinds> {
    let list = |name: &str| root.parsed(&format!("/sys/devices/{name}/cpus"), cpu_list).ok();
    let strong = list("cpu_core")?;
    let weak = ["cpu_atom", "cpu_lowpower"].into_iter().filter_map(list).flatten();
    let kinds = strong.into_iter().map(|cpu| (cpu, CoreKind::Performance));
    Some(Kinds::Mixed(order::map(kinds.chain(weak.map(|cpu| (cpu, CoreKind::Efficiency))))))
}

/// `cpu_capacity` of every online CPU; nothing where one is missing.
fn capacities(root: &Root, online: &[Cpu]) -> Option<Kinds> {
    let capacity = |cpu: &Cpu| {
        let capacity: u32 = root.parsed(&format!("{CPUS}/cpu{}/cpu_capacity", cpu.0), integer).ok()?;
        Some((*cpu, capacity))
    };
    let capacities: Vec<(Cpu, u32)> = online.iter().map(capacity).collect::<Option<_>>()?;
    let strongest = capacities.iter().map(|&(_, capacity)| capacity).max()?;
    if capacities.iter().all(|&(_, capacity)| capacity == strongest) {
        return Some(Kinds::Uniform);
    }
    let kind = |capacity| if capacity == strongest { CoreKind::Performance } else { CoreKind::Efficiency };
    Some(Kinds::Mixed(order::map(capacities.into_iter().map(|(cpu, capacity)| (cpu, kind(capacity))))))
}

fn numbers_alike(root: &Root, architecture: &str) -> Kinds {
    let keys: &[&str] = match architecture {
        "aarch64" => &["CPU implementer", "CPU part"],
        "riscv64" => &["uarch", "marchid"],
        _ => &[],
    };
    let text = match root.text("/proc/cpuinfo") {
        Ok(text) => text,
        Err(why) => return Kinds::Unknown(why),
    };
    let alike = |key: &&str| fields(&text, key).windows(2).all(|pair| pair[0] == pair[1]);
    match keys.iter().find(|key| !alike(key)) {
        Some(key) => Kinds::Unknown(format!(
            "/proc/cpuinfo: `{key}` differs between CPUs, and no cpu_capacity says which is stronger"
        )),
        None => Kinds::Uniform,
    }
}
