//! The tree in which the firmware of a board describes it, as the kernel shows it: a folder a node, a file a
//! property.

use std::collections::BTreeMap;

use tenbin_model::{Cpu, order};

use super::formats::by_processor;
use super::root::{CPUS, Root};

/// Where the kernel shows the tree: the first is a link to the second.
const BASES: [&str; 2] = ["/proc/device-tree", "/sys/firmware/devicetree/base"];

/// A tree that describes CPUs. A tree without them is what the kernel shows where it started by ACPI and made
/// up an empty one, and it says nothing.
pub(super) struct DeviceTree<'a> {
    root: &'a Root<'a>,
    pub(super) base: &'static str,
    harts: BTreeMap<Cpu, u64>,
}

impl<'a> DeviceTree<'a> {
    pub(super) fn read(root: &'a Root<'a>) -> Option<Self> {
        let base = BASES.into_iter().find(|base| root.exists(&format!("{base}/cpus")))?;
        let harts = by_processor(&root.text("/proc/cpuinfo").unwrap_or_default(), "hart");
        Some(Self { root, base, harts: order::map(harts) })
    }

    /// The folders of all CPUs of the tree, whether the kernel uses them or not.
    pub(super) fn cpus(&self) -> Vec<String> {
        self.children("cpus", "cpu@")
    }

    /// The folders directly under `parent` whose names begin with `name`; `parent` is a path inside the tree.
    pub(super) fn children(&self, parent: &str, name: &str) -> Vec<String> {
        let parent = format!("{}/{parent}", self.base);
        let parent = parent.trim_end_matches('/');
        let names = self.root.folders(parent).unwrap_or_default();
        names.into_iter().filter(|own| own.starts_with(name)).map(|own| format!("{parent}/{own}")).collect()
    }

    /// The folder of a CPU: the kernel's link to it, or the one whose `reg` is the CPU's hart. The order of
    /// the folders is not consulted: the CPU that starts the kernel comes first, wherever it stands.
    pub(super) fn node_of(&self, cpu: Cpu) -> Option<String> {
        let link = format!("{CPUS}/cpu{}/of_node", cpu.0);
        if self.root.exists(&link) {
            return Some(link);
        }
        let hart = *self.harts.get(&cpu)?;
        self.cpus().into_iter().find(|node| number(self.root, &format!("{node}/reg")) == Some(hart))
    }
}

/// A number of one or two cells, each four bytes with the highest first.
pub(super) fn number(root: &Root, path: &str) -> Option<u64> {
    let bytes = root.bytes(path).ok()?;
    matches!(bytes.len(), 4 | 8).then(|| bytes.iter().fold(0, |number, &byte| number << 8 | u64::from(byte)))
}
