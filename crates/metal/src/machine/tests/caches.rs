//! Who is asked for caches, in which order, and what becomes of odd answers.

use tenbin_model::machine::{Cache, Machine, Observed, Witness, cpu_ranges};
use tenbin_model::{Bytes, Cpu};

use super::fixture::Fixture;

/// Two caches that the CPU's first level has, in the registers of CPUID: 48 KiB for one thread, and
/// an L2 of 1.25 MiB in lines of 64 bytes for two.
const LEAVES: [[u32; 4]; 2] = [[0x0000_0021, 0x02c0_003f, 0x3f, 0], [0x0000_4043, 0x04c0_003f, 0x3ff, 0]];

/// The same levels in the auxiliary vector with other amounts, and an L3.
const VECTOR: [(u64, u64); 6] = [
    (42, 16 << 10),
    (43, 4 << 16 | 32),
    (44, 3 << 20),
    (45, 8 << 16 | 32),
    (46, 9 << 20),
    (47, 8 << 16 | 32),
];

fn without_sysfs(name: &str) -> Fixture {
    let mut fixture = Fixture::named(name);
    let count = fixture.files.len();
    fixture.files.retain(|(path, _)| !path.contains("/cache/"));
    assert!(fixture.files.len() < count, "{name} has caches in sysfs");
    fixture
}

fn put(fixture: &mut Fixture, path: &str, content: &[u8]) {
    fixture.files.retain(|(known, _)| known != path);
    fixture.files.push((path.to_owned(), content.to_vec()));
}

fn cell(number: u32) -> [u8; 4] {
    number.to_be_bytes()
}

fn caches(machine: &Machine, cpu: u32) -> &[Cache] {
    let place = machine.cpus.iter().find(|place| place.cpu == Cpu(cpu)).unwrap();
    place.caches.known().map_or(&[], Vec::as_slice)
}

/// `L1 Data 48 KiB/64 B for 0 by CPUID`, with `?` for what is not known.
fn words(machine: &Machine, cpu: u32) -> Vec<String> {
    let amount = |value: &Observed<Bytes>| value.known().map_or_else(|| "?".to_owned(), Bytes::to_string);
    let word = |cache: &Cache| {
        let Cache { level, kind, size, line, shared_by, witness } = cache;
        let sharers = if shared_by.is_empty() { "?".to_owned() } else { cpu_ranges(shared_by) };
        format!("L{level} {kind} {}/{} for {sharers} by {witness}", amount(size), amount(line))
    };
    caches(machine, cpu).iter().map(word).collect()
}

/// A guest's `/proc/cpuinfo` has the interrupt numbers that sharing is computed from.
fn with_interrupt_numbers(fixture: &mut Fixture) {
    put(fixture, "/proc/cpuinfo", b"processor : 0\napicid : 6\n\nprocessor : 1\napicid : 7\n");
}

#[test]
fn sysfs_wins_over_all_others() {
    let mut fixture = Fixture::named("epyc-firecracker");
    let alone = fixture.observe();
    fixture.facts.cache_leaves = Observed::Known(LEAVES.to_vec());
    fixture.facts.cache_vector = Observed::Known(VECTOR.to_vec());
    assert_eq!(fixture.observe(), alone);
    assert!(caches(&alone, 0).iter().all(|cache| cache.witness == Witness::Sysfs));
}

#[test]
fn each_of_the_others_speaks_where_sysfs_is_silent() {
    let mut fixture = without_sysfs("epyc-firecracker");
    assert!(caches(&fixture.observe(), 0).is_empty());
    fixture.facts.cache_leaves = Observed::Known(LEAVES.to_vec());
    let cpuid = ["L1 Data 48 KiB/64 B for 1 by CPUID", "L2 Unified 1.25 MiB/64 B for ? by CPUID"];
    assert_eq!(words(&fixture.observe(), 1), cpuid);
    with_interrupt_numbers(&mut fixture);
    assert_eq!(words(&fixture.observe(), 1)[1], "L2 Unified 1.25 MiB/64 B for 0-1 by CPUID");

    let vector = words(&Fixture::named("hifive-unmatched").observe(), 3);
    assert_eq!(vector[0], "L1 Data 32 KiB/64 B for ? by the auxiliary vector");
    assert_eq!(vector[2], "L2 Unified 2 MiB/64 B for ? by the auxiliary vector");

    let tree = words(&Fixture::named("visionfive-2").observe(), 3);
    assert_eq!(tree[0], "L1 Data 32 KiB/64 B for 3 by the device tree");
    assert_eq!(tree[2], "L2 Unified 2 MiB/64 B for 0-3 by the device tree");
}

/// CPUID has no third level here; the auxiliary vector, asked second, adds it and changes nothing else.
#[test]
fn the_second_adds_only_what_the_first_leaves_out() {
    let mut fixture = without_sysfs("epyc-firecracker");
    with_interrupt_numbers(&mut fixture);
    fixture.facts.cache_leaves = Observed::Known(LEAVES.to_vec());
    fixture.facts.cache_vector = Observed::Known(VECTOR.to_vec());
    let all = [
        "L1 Data 48 KiB/64 B for 0 by CPUID",
        "L2 Unified 1.25 MiB/64 B for 0-1 by CPUID",
        "L3 Unified 9 MiB/32 B for ? by the auxiliary vector",
    ];
    assert_eq!(words(&fixture.observe(), 0), all);

    // Here the tree, asked last, adds the sharing that the vector cannot give.
    let mut fixture = Fixture::named("visionfive-2");
    fixture.facts.cache_vector = Observed::Known(VECTOR[..4].to_vec());
    let named = words(&fixture.observe(), 2);
    assert_eq!(named[0], "L1 Data 16 KiB/32 B for 2 by the device tree");
    assert_eq!(named[2], "L2 Unified 3 MiB/32 B for 0-3 by the device tree");
}

/// A list in sysfs is whole: amounts may be missing there, caches may not.
#[test]
fn a_blank_in_sysfs_is_filled_and_nothing_is_added_to_its_list() {
    let mut fixture = Fixture::named("lichee-pi-4a");
    fixture.facts.cache_vector = Observed::Known(VECTOR.to_vec());
    let filled = [
        "L1 Data 16 KiB/32 B for 1 by the auxiliary vector",
        "L1 Instruction ?/? for 1 by sysfs",
        "L2 Unified 3 MiB/32 B for 0-3 by the auxiliary vector",
    ];
    assert_eq!(words(&fixture.observe(), 1), filled);
}

/// CPUID and the vector speak for one CPU: where cores differ, nobody knows for which.
#[test]
fn a_word_for_one_core_is_not_taken_for_all_where_cores_differ() {
    let mut fixture = without_sysfs("rk3399");
    fixture.facts.cache_vector = Observed::Known(VECTOR.to_vec());
    fixture.facts.cache_leaves = Observed::Known(LEAVES.to_vec());
    let why = fixture.observe().cpus[0].to_owned();
    let Observed::NotObservable(why) = why.caches else { panic!("{why:?}") };
    assert!(why.contains("/cache: no such file") && why.contains("device tree"), "{why}");
}

/// Two clusters, found by the kernel's links from CPUs to nodes, as arm64's kernels have them.
fn clusters() -> Fixture {
    let mut fixture = without_sysfs("rk3399");
    for cpu in 0..6 {
        let node = format!("/sys/devices/system/cpu/cpu{cpu}/of_node");
        let (first, second) = if cpu < 4 { (32 << 10, 1) } else { (48 << 10, 2) };
        put(&mut fixture, &format!("{node}/d-cache-size"), &cell(first));
        put(&mut fixture, &format!("{node}/d-cache-line-size"), &cell(64));
        put(&mut fixture, &format!("{node}/next-level-cache"), &cell(second));
    }
    for (handle, size) in [(1, 512 << 10), (2, 1 << 20)] {
        let node = format!("/proc/device-tree/cpus/l2-cache{handle}");
        put(&mut fixture, &format!("{node}/phandle"), &cell(handle));
        put(&mut fixture, &format!("{node}/cache-size"), &cell(size));
        put(&mut fixture, &format!("{node}/next-level-cache"), &cell(9));
    }
    let outer = "/proc/device-tree/soc/bus@0/cache-controller@0";
    put(&mut fixture, &format!("{outer}/phandle"), &cell(9));
    put(&mut fixture, &format!("{outer}/cache-unified"), &[]);
    fixture
}

#[test]
fn the_device_tree_is_followed_from_level_to_level() {
    let machine = clusters().observe();
    let strong = [
        "L1 Data 48 KiB/64 B for 5 by the device tree",
        "L2 Unified 1 MiB/? for 4-5 by the device tree",
        "L3 Unified ?/? for 0-5 by the device tree",
    ];
    assert_eq!(words(&machine, 5), strong);
    assert_eq!(words(&machine, 0)[1], "L2 Unified 512 KiB/? for 0-3 by the device tree");
}

/// A CPU whose node is not found might share: so nobody is said to.
#[test]
fn sharing_is_unknown_while_the_node_of_one_cpu_is() {
    let mut fixture = clusters();
    fixture.files.retain(|(path, _)| !path.contains("/cpu5/of_node/"));
    let machine = fixture.observe();
    assert_eq!(words(&machine, 0)[1], "L2 Unified 512 KiB/? for ? by the device tree");
    assert!(words(&machine, 5).is_empty());
}

#[test]
fn a_tree_that_leads_in_a_circle_ends() {
    let mut fixture = clusters();
    put(&mut fixture, "/proc/device-tree/soc/bus@0/cache-controller@0/next-level-cache", &cell(1));
    put(&mut fixture, "/proc/device-tree/soc/bus@0/cache-controller@0/cache-level", &cell(u32::MAX));
    let levels: Vec<u8> = caches(&fixture.observe(), 0).iter().map(|cache| cache.level).collect();
    assert!(levels.len() <= 8 && levels.is_sorted(), "{levels:?}");
}

#[test]
fn odd_answers_are_passed_over_and_never_panic() {
    let odd: [&[u8]; 6] = [b"", b"\0", b"\0\0\0", b"-1\n", &[0xff; 8], b"999999999999999999999"];
    for content in odd {
        for name in ["visionfive-2", "rk3399", "epyc-firecracker"] {
            let mut fixture = if name == "rk3399" { clusters() } else { Fixture::named(name) };
            let cached =
                |path: &str| path.contains("cache") || path.ends_with("/reg") || path.ends_with("phandle");
            let odd = fixture.files.iter_mut().filter(|(path, _)| cached(path) && !path.ends_with('/'));
            odd.for_each(|(_, old)| *old = content.to_vec());
            fixture.facts.cache_leaves = Observed::Known(vec![[u32::MAX; 4], [0; 4]]);
            fixture.facts.cache_vector = Observed::Known(vec![(42, 0), (43, u64::MAX), (99, 1)]);
            let machine = fixture.observe();
            assert!(!machine.cpus.is_empty());
            let absurd = |cache: &Cache| cache.size.known() == Some(&Bytes(0));
            assert!(!machine.cpus.iter().any(|place| caches(&machine, place.cpu.0).iter().any(absurd)));
        }
    }
}
