//! What the device tree of a board says of caches (Devicetree Specification v0.4, section 3.8).
//!
//! The node of a CPU describes its first level. From there `next-level-cache` leads from node to
//! node, each a level farther out; CPUs that reach the same node share that cache.

use std::collections::BTreeMap;

use tenbin_model::machine::{Cache, Witness};
use tenbin_model::{Cpu, order};

use super::super::device_tree::{DeviceTree, number};
use super::super::root::Root;
use super::amount;

/// Nodes of caches stand under `cpus`, under one CPU or on the bus: never deeper than this.
const DEPTH: u32 = 4;

/// Levels that are followed: a tree that leads in a circle must not hold us.
const LEVELS: u8 = 8;

/// The caches of every online CPU, as the tree has them.
pub(super) struct Tree {
    /// From the inside out. A CPU whose node is not known is absent.
    chains: BTreeMap<Cpu, Vec<Word>>,
    /// Whether every online CPU has a node, so that nobody who shares a cache is missing.
    whole: bool,
}

/// One cache in one CPU's chain.
struct Word {
    level: u8,
    kind: &'static str,
    size: Option<u64>,
    line: Option<u64>,
    place: String,
}

impl Tree {
    pub(super) fn read(root: &Root, online: &[Cpu]) -> Self {
        let Some(tree) = DeviceTree::read(root) else {
            return Self { chains: BTreeMap::new(), whole: false };
        };
        let mut handles = BTreeMap::new();
        find_handles(root, tree.base, DEPTH, &mut handles);
        let chain = |&cpu: &Cpu| Some((cpu, chain(root, tree.node_of(cpu)?, &handles)));
        let chains: BTreeMap<Cpu, Vec<Word>> = order::map(online.iter().filter_map(chain));
        Self { whole: online.iter().all(|cpu| chains.contains_key(cpu)), chains }
    }

    pub(super) fn caches(&self, cpu: Cpu) -> Vec<Cache> {
        let words = self.chains.get(&cpu).map_or(&[][..], Vec::as_slice);
        words
            .iter()
            .map(|word| Cache {
                level: word.level,
                kind: word.kind.into(),
                size: amount(word.size, Witness::DeviceTree, "size"),
                line: amount(word.line, Witness::DeviceTree, "line"),
                shared_by: self.sharers(word),
                witness: Witness::DeviceTree,
            })
            .collect()
    }

    fn sharers(&self, word: &Word) -> Vec<Cpu> {
        let same = |other: &Word| other.place == word.place;
        let near = self.chains.iter().filter(|(_, words)| self.whole && words.iter().any(same));
        near.map(|(&cpu, _)| cpu).collect()
    }
}

/// The nodes of caches by the number that others point to them with.
fn find_handles(root: &Root, node: &str, depth: u32, handles: &mut BTreeMap<u64, String>) {
    if ["cache-level", "cache-unified", "cache-size"]
        .iter()
        .any(|name| root.exists(&format!("{node}/{name}")))
    {
        let handle =
            ["phandle", "linux,phandle"].iter().find_map(|name| number(root, &format!("{node}/{name}")));
        handles.extend(handle.map(|handle| (handle, node.to_owned())));
    }
    if depth > 0 {
        for name in root.folders(node).unwrap_or_default() {
            find_handles(root, &format!("{node}/{name}"), depth - 1, handles);
        }
    }
}

/// The caches from the node of a CPU outward.
///
/// The first level is the CPU's own, as the kernel takes it (`drivers/base/cacheinfo.c`,
/// `cache_leaves_are_shared`).
fn chain(root: &Root, cpu: String, handles: &BTreeMap<u64, String>) -> Vec<Word> {
    let mut words = Vec::new();
    let (mut node, mut level) = (cpu, 1);
    while level <= LEVELS {
        describe(root, &node, level, &mut words);
        let next =
            ["next-level-cache", "l2-cache"].iter().find_map(|name| number(root, &format!("{node}/{name}")));
        let Some(next) = next.and_then(|handle| handles.get(&handle)) else { break };
        let stated = number(root, &format!("{next}/cache-level")).and_then(|level| u8::try_from(level).ok());
        // Outward only: whatever a tree says, the level rises.
        level = stated.filter(|&stated| stated > level).unwrap_or(level + 1);
        node = next.clone();
    }
    words
}

/// One cache for each of data and instructions, or one for both: that is what a node beyond the first
/// level is that says nothing of either.
fn describe(root: &Root, node: &str, level: u8, words: &mut Vec<Word>) {
    let value = |prefix: &str, name: &str| number(root, &format!("{node}/{prefix}{name}"));
    let word = |kind: &'static str, prefix: &str| {
        let line = value(prefix, "cache-line-size").or_else(|| value(prefix, "cache-block-size"));
        Word { level, kind, size: value(prefix, "cache-size"), line, place: node.to_owned() }
    };
    let split = [word("Data", "d-"), word("Instruction", "i-")];
    let says_something = |word: &Word| word.size.is_some() || word.line.is_some();
    if !root.exists(&format!("{node}/cache-unified")) && (level == 1 || split.iter().any(says_something)) {
        words.extend(split.into_iter().filter(says_something));
    } else {
        words.push(word("Unified", ""));
    }
}
