//! Which crates the build for people optimizes. rustc has a crate at a low level take generic code that one
//! below it has made already (`-Zshare-generics`), as slow as it is there; from level 2 on it makes its own.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::items;
use super::tree::{Tree, Violation, violation};

const MANIFEST: &str = "Cargo.toml";

/// The table of crates at another level than the rest, which is at 1.
const TABLE: &str = "[profile.release.package]";

/// Whether a crate at this level, as a manifest has it, is optimized and takes what others made.
fn takes(level: &str) -> bool {
    ["1", "\"s\"", "\"z\""].contains(&level)
}

/// A violation for each crate that is not optimized and that one builds on which is, and takes its code.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let levels = tree.lines(MANIFEST).skip_while(|(_, line)| line.text != TABLE).skip(1);
    let levels = levels.take_while(|(_, line)| !line.text.starts_with('['));
    let levels: BTreeMap<&str, (usize, &str)> = levels
        .filter_map(|(number, line)| {
            let (name, level) = line.text.split_once(".opt-level = ")?;
            Some((name.trim_matches('"'), (number, level)))
        })
        .collect();
    let crates = Crates::of(&tree.metadata);
    let level = |id: &str| {
        let (name, version) = crates.names.get(id).copied().unwrap_or_default();
        levels.get(name).or_else(|| levels.get(format!("{name}@{version}").as_str()))
    };
    let shipped = crates.names.iter().find(|(_, (name, _))| *name == "tenbin");
    let shipped = shipped.map(|(id, _)| *id).into_iter().flat_map(|id| crates.below(id));
    let taken = shipped.filter(|id| takes(level(id).map_or("1", |(_, level)| level)));
    let mut violations = BTreeMap::new();
    for id in taken {
        let slow = crates.below(id).into_iter().filter_map(level).filter(|(_, level)| *level == "0");
        for (number, _) in slow {
            let user = crates.names[id].0;
            violations.entry(*number).or_insert_with(|| {
                violation(MANIFEST, *number, format!("{user} is optimized and builds on it"))
            });
        }
    }
    violations.into_values().collect()
}

/// Crates by their ids, as cargo has them.
struct Crates<'a> {
    /// The name and the version of each.
    names: BTreeMap<&'a str, (&'a str, &'a str)>,
    /// What each links.
    links: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Crates<'a> {
    fn of(metadata: &'a Value) -> Self {
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let is_macro = |package: &Value| {
            items(&package["targets"]).any(|target| items(&target["kind"]).any(|kind| kind == "proc-macro"))
        };
        let packages = items(&metadata["packages"]).filter(|package| !is_macro(package));
        let names = packages
            .map(|package| (text(&package["id"]), (text(&package["name"]), text(&package["version"]))))
            .collect();
        let is_linked = |edge: &&Value| items(&edge["dep_kinds"]).any(|kind| kind["kind"].is_null());
        let links = items(&metadata["resolve"]["nodes"]).map(|node| {
            let linked = items(&node["deps"]).filter(is_linked).map(|edge| text(&edge["pkg"]));
            (text(&node["id"]), linked.collect())
        });
        Self { names, links: links.collect() }
    }

    /// All that the crate `id` is built on, and itself.
    fn below(&self, id: &'a str) -> BTreeSet<&'a str> {
        let (mut below, mut left) = (BTreeSet::new(), vec![id]);
        while let Some(id) = left.pop() {
            if self.names.contains_key(id) && below.insert(id) {
                left.extend(self.links.get(id).into_iter().flatten());
            }
        }
        below
    }
}
