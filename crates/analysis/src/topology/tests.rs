use proptest::prelude::*;

use super::*;

fn known<T>(value: Option<T>) -> Observed<T> {
    value.map_or_else(|| Observed::NotObservable("the table leaves it out".into()), Observed::Known)
}

fn cpus(numbers: impl IntoIterator<Item = u32>) -> Vec<Cpu> {
    numbers.into_iter().map(Cpu).collect()
}

fn cache(level: u8, kib: Option<u64>, line: Option<u64>, sharers: Vec<Cpu>, witness: Witness) -> Cache {
    Cache {
        level,
        kind: if level == 1 { "Data" } else { "Unified" }.into(),
        size: known(kib.map(Bytes::from_kib)),
        line: known(line.map(Bytes)),
        shared_by: sharers,
        witness,
    }
}

/// `count` CPUs, each a core with an L1 of its own, in one package and one node.
fn machine(count: u32) -> Machine {
    let mut machine = Machine::unobserved("a table");
    machine.cpus = (0..count)
        .map(|cpu| CpuPlace {
            cpu: Cpu(cpu),
            package: Observed::Known(0),
            core: Observed::Known(cpu),
            siblings: Observed::Known(cpus([cpu])),
            node: Observed::Known(0),
            kind: Observed::Known(CoreKind::Uniform),
            caches: Observed::Known(vec![cache(1, Some(32), Some(64), cpus([cpu]), Witness::Sysfs)]),
        })
        .collect();
    machine.nodes = Observed::Known(vec![Node { node: 0, cpus: cpus(0..count), distances: vec![10] }]);
    machine
}

fn add(machine: &mut Machine, cache: impl Fn(u32) -> Cache) {
    for place in &mut machine.cpus {
        let Observed::Known(caches) = &mut place.caches else { panic!("{place:?}") };
        caches.push(cache(place.cpu.0));
    }
}

#[test]
fn one_cpu_is_told_in_the_singular() {
    let expected = [
        "There is one CPU, 0, on a core of its own in one package.",
        "Sysfs shows an L1 for data of 32 KiB for CPU 0; all lines have 64 B.",
        "The firmware has one memory node for all.",
        "One CPU makes no pair.",
    ];
    assert_eq!(sentences(&machine(1)), expected);
    assert_eq!(sentences(&machine(0)), ["No CPU is known."]);
}

#[test]
fn one_core_of_a_kind_is_told_in_the_singular() {
    let mut machine = machine(3);
    for (cpu, place) in machine.cpus.iter_mut().enumerate() {
        place.kind = Observed::Known(if cpu == 2 { CoreKind::Efficiency } else { CoreKind::Performance });
    }
    let end = "CPUs 0-1 are on performance cores and CPU 2 is on an efficiency core.";
    assert!(sentences(&machine)[0].ends_with(end), "{:?}", sentences(&machine));
    machine.cpus[0].kind = known(None);
    assert!(sentences(&machine)[0].ends_with("whether the cores are alike is unknown."));
}

#[test]
fn each_witness_has_a_sentence_of_its_own() {
    let mut machine = machine(2);
    add(&mut machine, |_| cache(2, Some(512), Some(64), Vec::new(), Witness::Cpuid));
    add(&mut machine, |_| cache(3, None, None, cpus(0..2), Witness::DeviceTree));
    machine.virtualisation = Virtualisation::Hypervisor("KVM".into());
    let all = sentences(&machine);
    let hedge = "this is the hypervisor's word, not the hardware's.";
    let expected = [
        format!("Sysfs shows an L1 for data of 32 KiB for each core; all lines have 64 B; {hedge}"),
        format!("CPUID shows an L2 of 512 KiB with unknown sharing; all lines have 64 B; {hedge}"),
    ];
    assert_eq!(all[1..3], expected);
    let third = "The device tree shows an L3 of unknown size for all CPUs together; all lines";
    assert!(all[3].starts_with(third) && all.len() == 6, "{all:?}");
}

#[test]
fn lines_that_differ_are_told_by_level() {
    let mut machine = machine(2);
    add(&mut machine, |_| cache(2, Some(512), Some(64), cpus(0..2), Witness::Sysfs));
    add(&mut machine, |_| cache(3, Some(8192), Some(128), cpus(0..2), Witness::Sysfs));
    add(&mut machine, |_| cache(4, Some(9000), None, cpus(0..2), Witness::Sysfs));
    let end = "; lines have 64 B in L1 and L2, 128 B in L3 and an unknown length in L4.";
    assert!(sentences(&machine)[1].ends_with(end), "{:?}", sentences(&machine));
}

#[test]
fn many_groups_are_counted_and_few_are_listed() {
    let sentence = |size: u32| {
        let mut machine = machine(16);
        add(&mut machine, |cpu| {
            let first = cpu / size * size;
            cache(2, Some(1024), Some(64), cpus(first..first + size), Witness::Sysfs)
        });
        sentences(&machine)[1].clone()
    };
    assert!(sentence(2).contains("an L2 of 1 MiB for each of 8 groups of 2 CPUs;"), "{}", sentence(2));
    assert!(sentence(8).contains("an L2 of 1 MiB for CPUs 0-7 and for CPUs 8-15;"), "{}", sentence(8));
}

#[test]
fn a_cpu_of_which_nothing_is_known_is_named() {
    let mut machine = machine(3);
    machine.cpus[2].caches = known(None);
    let all = sentences(&machine);
    assert_eq!(all[2], "No data cache of CPU 2 is known (the table leaves it out).");
    assert_eq!(all[4], "All 3 pairs of CPUs share one package.");
    for place in &mut machine.cpus {
        place.package = known(None);
        place.node = known(None);
    }
    assert_eq!(sentences(&machine)[4], "All 3 pairs of CPUs share nothing known but the machine.");
}

#[test]
fn nodes_and_distances_as_the_firmware_has_them() {
    let sentence = |rows: &[&[u32]]| {
        let node = |(at, row): (usize, &&[u32])| Node {
            node: at as u32,
            cpus: if at == 2 { Vec::new() } else { cpus([at as u32]) },
            distances: row.to_vec(),
        };
        nodes(&Observed::Known(rows.iter().enumerate().map(node).collect()))
    };
    let cases: [(&[&[u32]], &str); 7] = [
        (&[], "The firmware lists no memory node."),
        (&[&[10, 21], &[21, 10]], "1 with CPU 1; the distance is 10 at home and 21 to the other."),
        (
            &[&[10, 20, 20], &[20, 10, 20], &[20, 20, 10]],
            "1 with CPU 1 and 2 without CPUs; the distance is 10 at home and 20 to every other.",
        ),
        (
            &[&[10, 20, 30], &[20, 10, 30], &[30, 30, 10]],
            "the distance is 10 at home, 20 between 0 and 1, and 30 between all others.",
        ),
        // Not the same there and back: which is which is left to the table of the nodes.
        (
            &[&[10, 20, 30], &[21, 10, 30], &[30, 30, 10]],
            "the distance is 10 at home and 20 to 30 to every other.",
        ),
        (&[&[10, 20], &[20]], "their distances are incomplete."),
        (&[&[], &[]], "1 with CPU 1; it gives no distances."),
    ];
    for (rows, end) in cases {
        assert!(sentence(rows).ends_with(end), "{}", sentence(rows));
    }
}

proptest! {
    /// Whatever is unknown, every sentence is one, and the pairs add up.
    #[test]
    fn sentences_hold_for_any_mixture_of_known_and_unknown(
        count in 1u32..9,
        flags in proptest::collection::vec(any::<[bool; 6]>(), 9),
        groups in proptest::collection::vec(0u32..3, 9),
    ) {
        let mut machine = machine(count);
        for (at, place) in machine.cpus.iter_mut().enumerate() {
            let [package, siblings, node, kind, caches, sharing] = flags[at];
            let group = cpus((0..count).filter(|&other| groups[other as usize] == groups[at]));
            let sharers = if sharing { group.clone() } else { Vec::new() };
            place.package = known(package.then_some(groups[at]));
            place.siblings = known(siblings.then_some(group));
            place.node = known(node.then_some(groups[at] % 2));
            place.kind = known(kind.then_some(CoreKind::Uniform));
            let second = || vec![cache(2, sharing.then_some(64), None, sharers, Witness::Sysfs)];
            place.caches = known(caches.then(second));
        }
        let all = sentences(&machine);
        prop_assert!((4..=5).contains(&all.len()), "{all:?}");
        prop_assert!(all.iter().all(|sentence| sentence.ends_with('.') && !sentence.contains("  ")), "{all:?}");
        let pairs: usize = all[all.len() - 1]
            .split(|c: char| !c.is_ascii_alphanumeric())
            .collect::<Vec<_>>()
            .windows(2)
            .filter(|pair| pair[1].starts_with("share"))
            .filter_map(|pair| pair[0].parse::<usize>().ok())
            .sum();
        let total = (count * (count - 1) / 2) as usize;
        prop_assert!(pairs == total || all[all.len() - 1].starts_with("All") || total < 2, "{all:?}");
    }
}
