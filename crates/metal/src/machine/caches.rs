//! The caches of each CPU, and whose word they are.
//!
//! sysfs is asked first: it has the kernel's own view, with sharing. Where it has no folder for
//! caches, or leaves a size or a line out, others are asked in this order: CPUID, the auxiliary
//! vector, the device tree. Each fills only what those before it left open, and what it filled
//! carries its name ([`Witness`]).

mod cpuid;
mod device_tree;
mod vector;

use std::cell::OnceCell;

use tenbin_model::machine::{Cache, Observed, Witness};
use tenbin_model::{Bytes, Cpu, Order};

use super::facts::Facts;
use super::formats::{cpu_list, integer, size};
use super::root::{CPUS, Reading, Root, observed};
use device_tree::Tree;

pub(super) struct Caches<'a> {
    root: &'a Root<'a>,
    facts: &'a Facts,
    online: &'a [Cpu],
    /// Whether all cores are alike, so that what one CPU was told holds for every other.
    alike: bool,
    /// The device tree, read when it is first needed.
    tree: OnceCell<Tree>,
}

impl<'a> Caches<'a> {
    pub(super) fn new(root: &'a Root<'a>, facts: &'a Facts, online: &'a [Cpu], alike: bool) -> Self {
        Self { root, facts, online, alike, tree: OnceCell::new() }
    }

    /// The caches of `cpu`, innermost first.
    pub(super) fn of(&self, cpu: Cpu) -> Reading<Vec<Cache>> {
        let (mut caches, silence) = match sysfs(self.root, cpu) {
            Ok(caches) => (caches, None),
            Err(why) => (Vec::new(), Some(why)),
        };
        let listed = silence.is_none();
        for ask in [Self::cpuid, Self::vector, Self::device_tree] {
            // What sysfs lists is all there is, so that nothing can be missing but an amount.
            if listed && caches.iter().all(is_whole) {
                break;
            }
            for word in ask(self, cpu) {
                add(&mut caches, word, listed);
            }
        }
        caches.order_by_key(|cache| cache.level);
        match silence {
            Some(why) if caches.is_empty() => {
                Err(format!("{why}; CPUID, the auxiliary vector and the device tree list none either"))
            }
            _ => Ok(caches),
        }
    }

    fn cpuid(&self, cpu: Cpu) -> Vec<Cache> {
        let leaves = self.facts.cache_leaves.known().filter(|_| self.alike);
        leaves.map_or_else(Vec::new, |leaves| cpuid::caches(self.root, leaves, cpu, self.online))
    }

    fn vector(&self, _cpu: Cpu) -> Vec<Cache> {
        let entries = self.facts.cache_vector.known().filter(|_| self.alike);
        entries.map_or_else(Vec::new, |entries| vector::caches(entries))
    }

    fn device_tree(&self, cpu: Cpu) -> Vec<Cache> {
        self.tree.get_or_init(|| Tree::read(self.root, self.online)).caches(cpu)
    }
}

fn is_whole(cache: &Cache) -> bool {
    cache.size.known().is_some() && cache.line.known().is_some()
}

/// Fills what `caches` leaves open with what `word` says of the same cache; a cache that nobody
/// knew yet joins them, unless the list is closed.
fn add(caches: &mut Vec<Cache>, word: Cache, closed: bool) {
    let level = word.level;
    if let Some(cache) = caches.iter_mut().find(|cache| (cache.level, &cache.kind) == (level, &word.kind)) {
        let size = fill(&mut cache.size, word.size);
        let line = fill(&mut cache.line, word.line);
        let sharing = cache.shared_by.is_empty() && !word.shared_by.is_empty();
        if sharing {
            cache.shared_by = word.shared_by;
        }
        if size || line || sharing {
            cache.witness = word.witness;
        }
        return;
    }
    // Two witnesses may disagree on whether a level is split: then the first one has it.
    let split = |kind: &str| kind != "Unified";
    let contradicted = |cache: &Cache| cache.level == level && split(&cache.kind) != split(&word.kind);
    if !closed && !caches.iter().any(contradicted) {
        caches.push(word);
    }
}

/// Whether `open` was unknown and now is known.
fn fill(open: &mut Observed<Bytes>, word: Observed<Bytes>) -> bool {
    let new = open.known().is_none() && word.known().is_some();
    if new {
        *open = word;
    }
    new
}

/// An amount that a witness may leave out; 0 counts as left out.
fn amount(value: Option<u64>, witness: Witness, name: &str) -> Observed<Bytes> {
    match value {
        Some(bytes) if bytes != 0 => Observed::Known(Bytes(bytes)),
        _ => Observed::NotObservable(format!("{witness} gives no {name}")),
    }
}

/// The caches of a CPU in the order of their index, which the kernel fills from the inside out.
fn sysfs(root: &Root, cpu: Cpu) -> Reading<Vec<Cache>> {
    let folder = format!("{CPUS}/cpu{}/cache", cpu.0);
    let mut indexes: Vec<u32> =
        root.names(&folder)?.iter().filter_map(|name| name.strip_prefix("index")?.parse().ok()).collect();
    indexes.order();
    if indexes.is_empty() {
        return Err(format!("{folder}: no cache is listed"));
    }
    indexes.into_iter().map(|index| sysfs_cache(root, &format!("{folder}/index{index}"))).collect()
}

/// A board's firmware may leave the size and the line out; level, type and sharing are the kernel's.
fn sysfs_cache(root: &Root, folder: &str) -> Reading<Cache> {
    let amount = |name: &str| -> Observed<Bytes> {
        observed(root.parsed(&format!("{folder}/{name}"), |text| match size(text)? {
            Bytes(0) => Err("0, which no cache has".into()),
            size => Ok(size),
        }))
    };
    Ok(Cache {
        level: root.parsed(&format!("{folder}/level"), integer)?,
        kind: root.word(&format!("{folder}/type"))?,
        size: amount("size"),
        line: amount("coherency_line_size"),
        shared_by: root.parsed(&format!("{folder}/shared_cpu_list"), cpu_list)?,
        witness: Witness::Sysfs,
    })
}
