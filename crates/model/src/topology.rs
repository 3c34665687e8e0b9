//! How near two CPUs are, and which caches they have in common: pure functions of a [`Machine`].
//!
//! What is unknown is passed over and never guessed. So two CPUs may in truth be nearer to each
//! other than is said here, but never farther apart.

use crate::order::{self, Order};
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::{Cache, CpuPlace, Machine, Observed};
use crate::unit::{Bytes, Cpu};

/// The nearest thing that two different CPUs have in common. The nearer, the smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Shared {
    /// One core's execution units.
    Core,
    /// A cache that holds data, by its level.
    Cache(u8),
    /// A memory node of a package that holds several.
    NodeOfPackage,
    /// A package.
    Package,
    /// A memory node.
    Node,
    /// Nothing nearer than the machine is known.
    Machine,
}

/// What follows "they share": `one core`, `one L3`, `one package`, `one memory node`,
/// `the machine alone`.
impl fmt::Display for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Core => f.write_str("one core"),
            Self::Cache(level) => write!(f, "one L{level}"),
            Self::NodeOfPackage => f.write_str("one of their package's memory nodes"),
            Self::Package => f.write_str("one package"),
            Self::Node => f.write_str("one memory node"),
            Self::Machine => f.write_str("the machine alone"),
        }
    }
}

/// The nearest thing that the CPUs `a` and `b` have in common: a core by the list of its CPUs, else the
/// innermost cache for data, else a memory node of a package that holds several, else the package, else the
/// memory node, else the machine.
///
/// Numbers of cores are not consulted, since they repeat in each package or cluster.
pub fn shared(machine: &Machine, a: Cpu, b: Cpu) -> Shared {
    match (place(machine, a), place(machine, b)) {
        (Some(a), Some(b)) => between(machine, a, b),
        _ => Shared::Machine,
    }
}

/// Every pair of usable CPUs, in the order of the machine's list, with what the two share.
pub fn pairs(machine: &Machine) -> Vec<(Cpu, Cpu, Shared)> {
    let rest = |at: usize| machine.cpus.iter().skip(at + 1);
    let firsts = machine.cpus.iter().enumerate();
    firsts.flat_map(|(at, a)| rest(at).map(move |b| (a.cpu, b.cpu, between(machine, a, b)))).collect()
}

/// The caches of `cpu` that hold data, innermost first. Empty where they are not known.
pub fn data_caches(machine: &Machine, cpu: Cpu) -> Vec<&Cache> {
    place(machine, cpu).map(of_data).unwrap_or_default()
}

/// The line of the innermost cache for data of `cpu` whose line is known.
pub fn line(machine: &Machine, cpu: Cpu) -> Option<Bytes> {
    data_caches(machine, cpu).into_iter().find_map(|cache| cache.line.known().copied())
}

/// The line where the machine does not say: that of x86-64 and of most arm64 and riscv64.
pub const USUAL_LINE: Bytes = Bytes(64);

/// The [`line()`] of `cpu`, or the usual one where the machine does not say.
pub fn line_or_usual(machine: &Machine, cpu: Cpu) -> Bytes {
    line(machine, cpu).unwrap_or(USUAL_LINE)
}

/// The usable CPUs by the cache for data of `level` that they share, in the order of the machine's
/// list. A CPU of which no such cache or nothing of its sharing is known is in no group.
pub fn groups(machine: &Machine, level: u8) -> Vec<Vec<Cpu>> {
    let sharers = machine.cpus.iter().filter_map(|place| {
        let mut caches = of_data(place).into_iter();
        let cache = caches.find(|cache| cache.level == level && !cache.shared_by.is_empty())?;
        Some((&cache.shared_by, place.cpu))
    });
    order::grouped(sharers).into_iter().map(|(_, group)| group).collect()
}

fn place(machine: &Machine, cpu: Cpu) -> Option<&CpuPlace> {
    machine.cpus.iter().find(|place| place.cpu == cpu)
}

fn of_data(place: &CpuPlace) -> Vec<&Cache> {
    let caches = place.caches.known().map_or(&[][..], Vec::as_slice);
    let mut caches: Vec<&Cache> = caches.iter().filter(|cache| cache.holds_data()).collect();
    caches.order_by_key(|cache| cache.level);
    caches
}

fn between(machine: &Machine, a: &CpuPlace, b: &CpuPlace) -> Shared {
    let lists = |list: &Observed<Vec<Cpu>>, cpu| list.known().is_some_and(|cpus| cpus.contains(&cpu));
    if lists(&a.siblings, b.cpu) || lists(&b.siblings, a.cpu) {
        return Shared::Core;
    }
    let both = |cache: &&Cache| cache.shared_by.contains(&a.cpu) && cache.shared_by.contains(&b.cpu);
    // Either side may be the one of which the caches are known.
    let caches = [a, b].into_iter().flat_map(of_data);
    if let Some(level) = caches.filter(both).map(|cache| cache.level).min() {
        return Shared::Cache(level);
    }
    let both_known = |a: &Observed<u32>, b: &Observed<u32>| Some((*a.known()?, *b.known()?));
    let alike = |a: &Observed<u32>, b: &Observed<u32>| both_known(a, b).is_some_and(|(a, b)| a == b);
    let apart = |a: &Observed<u32>, b: &Observed<u32>| both_known(a, b).is_some_and(|(a, b)| a != b);
    // As a package has when it is told to show its memory controllers as nodes (NPS4, sub-NUMA clusters).
    let several =
        || machine.cpus.iter().any(|other| alike(&other.package, &a.package) && apart(&other.node, &a.node));
    if alike(&a.package, &b.package) && alike(&a.node, &b.node) && several() {
        Shared::NodeOfPackage
    } else if alike(&a.package, &b.package) {
        Shared::Package
    } else if alike(&a.node, &b.node) {
        Shared::Node
    } else {
        Shared::Machine
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::{CoreKind, Witness};

    fn unknown<T>() -> Observed<T> {
        Observed::NotObservable("the table leaves it out".into())
    }

    fn cache(level: u8, kind: &str, sharers: &[u32]) -> Cache {
        Cache {
            level,
            kind: kind.into(),
            size: unknown(),
            line: if level == 2 { Observed::Known(Bytes(128)) } else { unknown() },
            shared_by: sharers.iter().copied().map(Cpu).collect(),
            witness: Witness::Sysfs,
        }
    }

    /// Two clusters of two CPUs each, with numbers of cores that repeat. CPU 4 is alone and unknown.
    fn clusters() -> Machine {
        let cluster = |cpu: u32| if cpu < 2 { [0, 1] } else { [2, 3] };
        let mut machine = Machine::unobserved("a table");
        machine.cpus = (0..5)
            .map(|cpu| CpuPlace {
                cpu: Cpu(cpu),
                package: Observed::Known(0),
                core: Observed::Known(cpu % 2),
                siblings: Observed::Known(vec![Cpu(cpu)]),
                node: unknown(),
                kind: Observed::Known(CoreKind::Uniform),
                // Outermost first: the order is this module's business.
                caches: Observed::Known(vec![
                    cache(2, "Unified", &cluster(cpu)),
                    cache(1, "Instruction", &[0, 1, 2, 3]),
                    cache(1, "Data", &[cpu]),
                ]),
            })
            .collect();
        let last = &mut machine.cpus[4];
        (last.package, last.core, last.siblings, last.caches) = (unknown(), unknown(), unknown(), unknown());
        machine
    }

    #[test]
    fn the_nearest_common_thing_is_named() {
        let mut machine = clusters();
        assert_eq!(shared(&machine, Cpu(0), Cpu(1)), Shared::Cache(2));
        // Equal numbers of cores in two clusters, and one cache for instructions, do not count.
        assert_eq!(shared(&machine, Cpu(0), Cpu(2)), Shared::Package);
        assert_eq!(shared(&machine, Cpu(0), Cpu(4)), Shared::Machine);
        assert_eq!(shared(&machine, Cpu(0), Cpu(9)), Shared::Machine);
        machine.cpus[0].node = Observed::Known(3);
        machine.cpus[4].node = Observed::Known(3);
        assert_eq!(shared(&machine, Cpu(0), Cpu(4)), Shared::Node);
        machine.cpus[1].siblings = Observed::Known(vec![Cpu(0), Cpu(1)]);
        assert_eq!(shared(&machine, Cpu(0), Cpu(1)), Shared::Core);
    }

    #[test]
    fn order_does_not_matter_and_every_pair_comes_once() {
        let machine = clusters();
        let pairs = pairs(&machine);
        assert_eq!(pairs.len(), 10);
        for (a, b, what) in pairs {
            assert!(a < b);
            assert_eq!((shared(&machine, a, b), shared(&machine, b, a)), (what, what));
        }
    }

    #[test]
    fn caches_for_data_come_innermost_first() {
        let machine = clusters();
        let levels: Vec<u8> = data_caches(&machine, Cpu(0)).iter().map(|cache| cache.level).collect();
        assert_eq!(levels, [1, 2]);
        // The first level does not say its line, the second does.
        assert_eq!(line(&machine, Cpu(0)), Some(Bytes(128)));
        assert_eq!((data_caches(&machine, Cpu(4)).len(), line(&machine, Cpu(4))), (0, None));
        assert_eq!([0, 4].map(|cpu| line_or_usual(&machine, Cpu(cpu))), [Bytes(128), USUAL_LINE]);
    }

    #[test]
    fn groups_leave_out_what_is_not_known() {
        let machine = clusters();
        assert_eq!(groups(&machine, 2), [[Cpu(0), Cpu(1)], [Cpu(2), Cpu(3)]]);
        assert_eq!(groups(&machine, 1).len(), 4);
        assert!(groups(&machine, 3).is_empty());
    }

    #[test]
    fn the_nearer_is_the_smaller() {
        use Shared::{Cache, Core, Machine, Node, Package};
        let order = [Core, Cache(1), Cache(3), Package, Node, Machine];
        assert!(order.is_sorted());
        assert_eq!(order.map(|shared| shared.to_string())[2], "one L3");
    }

    #[test]
    fn a_package_of_several_nodes_has_nearer_pairs_and_farther_ones() {
        let mut machine = clusters();
        for (place, node) in machine.cpus.iter_mut().zip([0, 0, 0, 1, 1]) {
            place.node = Observed::Known(node);
            place.caches = unknown();
            place.siblings = unknown();
            place.package = Observed::Known(0);
        }
        assert_eq!(shared(&machine, Cpu(0), Cpu(2)), Shared::NodeOfPackage);
        assert_eq!(shared(&machine, Cpu(0), Cpu(3)), Shared::Package);
        assert!(Shared::NodeOfPackage < Shared::Package);
        for place in &mut machine.cpus {
            place.node = Observed::Known(0);
        }
        assert_eq!(shared(&machine, Cpu(0), Cpu(2)), Shared::Package, "one node is the package's own");
    }
}
