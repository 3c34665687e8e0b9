//! Whose word the memory nodes are, and what becomes of odd trees.

use tenbin_model::Cpu;
use tenbin_model::machine::{Node, Observed, cpu_ranges};

use super::fixture::Fixture;

const CPUS: &str = "/proc/device-tree/cpus";

/// A board of four harts, 1 to 4, whose tree names no node; what `change` adds to it; and the nodes that are
/// seen.
fn seen(change: impl FnOnce(&mut Fixture)) -> Observed<Vec<Node>> {
    let mut fixture = Fixture::named("visionfive-2");
    change(&mut fixture);
    fixture.observe().nodes
}

fn put(fixture: &mut Fixture, path: &str, cells: &[u32]) {
    fixture.files.push((path.to_owned(), cells.iter().flat_map(|cell| cell.to_be_bytes()).collect()));
}

/// Gives the CPU at `hart` its node.
fn place(fixture: &mut Fixture, hart: u32, node: u32) {
    put(fixture, &format!("{CPUS}/cpu@{hart}/numa-node-id"), &[node]);
}

fn distances(fixture: &mut Fixture, compatible: &str, cells: &[u32]) {
    let map = "/proc/device-tree/distance-map";
    fixture.files.push((format!("{map}/compatible"), format!("{compatible}\0").into_bytes()));
    put(fixture, &format!("{map}/distance-matrix"), cells);
}

/// `1: CPUs 0-3, distances [10]`, a node each.
fn words(nodes: &Observed<Vec<Node>>) -> Vec<String> {
    let nodes = nodes.known().unwrap_or_else(|| panic!("{}", why(nodes)));
    let word = |node: &Node| {
        format!("{}: CPUs {}, distances {:?}", node.node, cpu_ranges(&node.cpus), node.distances)
    };
    nodes.iter().map(word).collect()
}

fn why(nodes: &Observed<Vec<Node>>) -> String {
    match nodes {
        Observed::Known(nodes) => panic!("{nodes:?} are known"),
        Observed::NotObservable(why) => why.clone(),
    }
}

#[test]
fn a_tree_that_names_no_node_says_so_and_no_tree_says_nothing() {
    assert_eq!(seen(|_| ()), Observed::Known(vec![]));
    let nowhere = seen(|fixture| fixture.files.retain(|(path, _)| !path.starts_with(CPUS)));
    assert_eq!(
        why(&nowhere),
        "/sys/devices/system/node/online: no such file; no device tree describes the CPUs either"
    );
    let machine = Fixture::named("visionfive-2").observe();
    assert_eq!(machine.cpus[0].node.to_string(), "not observable (the firmware names no nodes)");
}

#[test]
fn a_device_tree_places_cpus_memory_and_distances() {
    let machine = Fixture::named("hisilicon-d05").observe();
    assert_eq!(
        words(&machine.nodes)[..2],
        ["0: CPUs 0-15, distances [10, 15, 20, 25]", "1: CPUs 16-31, distances [15, 10, 25, 30]",]
    );
    assert_eq!(machine.cpus.last().map(|place| (place.cpu, place.node.known())), Some((Cpu(63), Some(&3))));

    // Harts are not CPUs, and a node may hold memory alone.
    let nodes = seen(|fixture| {
        [(1, 7), (2, 7), (3, 5), (4, 5)].into_iter().for_each(|(hart, node)| place(fixture, hart, node));
        put(fixture, "/proc/device-tree/memory@0/numa-node-id", &[9]);
        distances(fixture, "vendor,map\0numa-distance-map-v1", &[5, 7, 20, 5, 9, 30, 7, 9, 40, 9, 7, 44]);
    });
    assert_eq!(
        words(&nodes),
        [
            "5: CPUs 2-3, distances [10, 20, 30]",
            "7: CPUs 0-1, distances [20, 10, 40]",
            "9: CPUs , distances [30, 44, 10]",
        ]
    );
}

#[test]
fn distances_that_are_not_whole_are_not_made_up() {
    let maps: [(&str, &[u32]); 4] = [
        ("numa-distance-map-v2", &[0, 1, 20]),
        ("numa-distance-map-v1", &[]),
        ("numa-distance-map-v1", &[0, 1]),
        ("numa-distance-map-v1", &[0, 0, 10, 1, 1, 10]),
    ];
    for (compatible, cells) in maps {
        let nodes = seen(|fixture| {
            (1..=4).for_each(|hart| place(fixture, hart, hart % 2));
            distances(fixture, compatible, cells);
        });
        assert_eq!(
            words(&nodes),
            ["0: CPUs 1,3, distances []", "1: CPUs 0,2, distances []"],
            "{compatible} {cells:?}"
        );
    }
}

#[test]
fn odd_trees_are_refused_with_the_path() {
    let short = seen(|fixture| put(fixture, &format!("{CPUS}/cpu@2/numa-node-id"), &[0, 1]));
    assert_eq!(why(&short), format!("{CPUS}/cpu@2/numa-node-id: 8 bytes, not 4"));
    let lost = seen(|fixture| {
        place(fixture, 1, 0);
        fixture.files.retain(|(path, _)| path != "/proc/cpuinfo");
    });
    assert_eq!(why(&lost), format!("{CPUS}: it is not known which of its nodes is CPU 0"));
    // A CPU that names none while others do is on none.
    let some = seen(|fixture| (1..=3).for_each(|hart| place(fixture, hart, 0)));
    assert_eq!(words(&some), ["0: CPUs 0-2, distances []"]);
}

#[test]
fn the_kernels_word_comes_first() {
    let nodes = seen(|fixture| {
        (1..=4).for_each(|hart| place(fixture, hart, hart % 2));
        for (name, content) in [("online", "0"), ("node0/cpulist", "0-3"), ("node0/distance", "10")] {
            fixture.files.push((format!("/sys/devices/system/node/{name}"), content.into()));
        }
    });
    assert_eq!(words(&nodes), ["0: CPUs 0-3, distances [10]"]);
    let damaged = seen(|fixture| fixture.files.push(("/sys/devices/system/node/".into(), Vec::new())));
    assert_eq!(why(&damaged), "/sys/devices/system/node/online: no such file");
}
