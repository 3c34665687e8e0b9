//! The memory nodes, by the firmware's word.
//!
//! The kernel passes the word on in sysfs. A kernel built without NUMA has no such folder, whatever the
//! firmware says: then the device tree itself is asked (Linux, `Documentation/devicetree/bindings/numa.txt`),
//! as in "Socionext SC0FQAA-B: NUMA or not", 2018.

use std::collections::BTreeMap;

use tenbin_model::Cpu;
use tenbin_model::machine::Node;

use super::device_tree::DeviceTree;
use super::formats::{cpu_list, integer};
use super::root::{Reading, Root};

const NODES: &str = "/sys/devices/system/node";

/// The property by which a CPU or a piece of memory names its node, and the folder's of distances.
const ID: &str = "numa-node-id";
const MAP: &str = "distance-map";

/// The distance of a node to itself, by the binding.
const HOME: u32 = 10;

/// The nodes, in ascending order. None where the firmware describes the machine and names no node.
pub(super) fn nodes(root: &Root, online: &[Cpu]) -> Reading<Vec<Node>> {
    sysfs(root).or_else(|why| match DeviceTree::read(root) {
        // Where there is a folder it is the kernel's own word, damaged or not.
        Some(tree) if !root.exists(NODES) => device_tree(root, &tree, online),
        Some(_) => Err(why),
        None => Err(format!("{why}; no device tree describes the CPUs either")),
    })
}

/// `Documentation/ABI/stable/sysfs-devices-node`.
fn sysfs(root: &Root) -> Reading<Vec<Node>> {
    let online = root.parsed(&format!("{NODES}/online"), cpu_list)?;
    online
        .into_iter()
        .map(|Cpu(node)| {
            let folder = format!("{NODES}/node{node}");
            let distances = |text: &str| text.split_whitespace().map(integer).collect();
            Ok(Node {
                node,
                cpus: root.parsed(&format!("{folder}/cpulist"), cpu_list)?,
                distances: root.parsed(&format!("{folder}/distance"), distances)?,
            })
        })
        .collect()
}

fn device_tree(root: &Root, tree: &DeviceTree, online: &[Cpu]) -> Reading<Vec<Node>> {
    let mut nodes: BTreeMap<u32, Vec<Cpu>> = BTreeMap::new();
    for folder in tree.cpus().into_iter().chain(tree.children("", "memory")) {
        nodes.extend(id(root, &folder)?.map(|id| (id, Vec::new())));
    }
    if nodes.is_empty() {
        return Ok(Vec::new());
    }
    for &cpu in online {
        let folder = tree.node_of(cpu);
        let folder = folder
            .ok_or_else(|| format!("{}/cpus: it is not known which of its nodes is {cpu}", tree.base))?;
        if let Some(id) = id(root, &folder)? {
            nodes.entry(id).or_default().push(cpu);
        }
    }
    let distances = Distances::read(root, tree);
    let numbers: Vec<u32> = nodes.keys().copied().collect();
    let distances = |from: u32| distances.of(from, &numbers);
    Ok(nodes.into_iter().map(|(node, cpus)| Node { node, cpus, distances: distances(node) }).collect())
}

fn id(root: &Root, folder: &str) -> Reading<Option<u32>> {
    let path = format!("{folder}/{ID}");
    if !root.exists(&path) {
        return Ok(None);
    }
    let bytes = root.bytes(&path)?;
    let cell = bytes.as_slice().try_into().map_err(|_| format!("{path}: {} bytes, not 4", bytes.len()))?;
    Ok(Some(u32::from_be_bytes(cell)))
}

/// Distances between pairs of nodes, as far as the tree has them.
struct Distances(BTreeMap<(u32, u32), u32>);

impl Distances {
    /// Triplets of two nodes and their distance. It is the same in both directions, and what a later triplet
    /// says of the other direction counts.
    fn read(root: &Root, tree: &DeviceTree) -> Self {
        let mut known = BTreeMap::new();
        let folder = format!("{}/{MAP}", tree.base);
        let compatible = root.text(&format!("{folder}/compatible")).unwrap_or_default();
        let matrix = match compatible.split(", ").any(|kind| kind == "numa-distance-map-v1") {
            true => root.bytes(&format!("{folder}/distance-matrix")).unwrap_or_default(),
            false => Vec::new(),
        };
        let cells: Vec<u32> = matrix
            .chunks_exact(4)
            .map(|cell| cell.iter().fold(0, |number, &byte| number << 8 | u32::from(byte)))
            .collect();
        for triplet in cells.chunks_exact(3) {
            let (from, to, distance) = (triplet[0], triplet[1], triplet[2]);
            known.insert((from, to), distance);
            if to > from {
                known.insert((to, from), distance);
            }
        }
        Self(known)
    }

    /// From one node to each of `nodes`; empty where one is missing, for the kernel would put a figure of its
    /// own there.
    fn of(&self, from: u32, nodes: &[u32]) -> Vec<u32> {
        let known = |to: &u32| {
            let stated = self.0.get(&(from, *to)).copied();
            stated.or((from == *to && !self.0.is_empty()).then_some(HOME))
        };
        nodes.iter().map(known).collect::<Option<_>>().unwrap_or_default()
    }
}
