//! What machine this is, as a program without privileges can see it.
//!
//! Two sources are kept apart. What the kernel writes into `/proc` and `/sys` is read under a root
//! folder, so that the tree of another machine can be read as well (`fixtures/machines`). What
//! needs an instruction or a system call of this very machine is a value, [`Facts`], so that a
//! test can say it. Nothing is guessed: what cannot be read carries the path and the reason.
//!
//! Reading order: `root`, `formats`, then one file for each part of the machine.

mod caches;
mod device_tree;
mod facts;
mod formats;
mod interpreter;
mod limits;
mod nodes;
mod places;
mod processor;
mod root;
mod settings;
#[cfg(test)]
mod tests;
mod virtualisation;

use std::path::Path;

use tenbin_model::Machine;
use tenbin_model::machine::Observed;

pub use facts::Facts;
pub use formats::{cpu_list, cpus_in_order, integer, meminfo};
pub use limits::control_groups;
pub use root::{CPUS, Reading, Root};
pub(crate) use virtualisation::is_translated;

use root::observed;

/// Everything in [`Machine`] that can be read under `root`, with `facts` for the rest.
///
/// `root` is `/` for this machine, or a folder that holds the `/proc` and `/sys` of another one.
/// `clock` is left not observable: the caller measures it.
pub fn observe(root: &Path, facts: &Facts) -> Machine {
    let root = Root::new(root);
    let online = places::online(&root);
    let allowed = facts.allowed.known().or(online.as_ref().ok()).cloned().unwrap_or_default();
    let everywhere = online.as_ref().unwrap_or(&allowed);
    let nodes = nodes::nodes(&root, everywhere);
    Machine {
        architecture: facts.architecture.clone(),
        cpu_model: observed(processor::model(&root, &facts.architecture)),
        microcode: observed(processor::microcode(&root)),
        cpus: places::places(&root, facts, &allowed, everywhere, &nodes),
        governor: observed(settings::governor(&root, everywhere)),
        online: observed(online),
        nodes: observed(nodes),
        kernel: observed(root.text("/proc/version")),
        command_line: observed(root.text("/proc/cmdline")),
        clock_source: observed(settings::clock_source(&root)),
        clock: Observed::NotObservable("not measured".into()),
        turbo: observed(settings::turbo(&root)),
        smt: observed(settings::smt(&root)),
        transparent_huge_pages: observed(settings::transparent_huge_pages(&root)),
        numa_balancing: observed(settings::numa_balancing(&root)),
        address_randomisation: observed(settings::address_randomisation(&root)),
        mitigations: observed(settings::mitigations(&root)),
        virtualisation: virtualisation::virtualisation(&root, facts),
        wsl: observed(virtualisation::wsl(&root)),
        cpu_quota: observed(limits::cpu_quota(&root)),
        memory: observed(limits::total(&root)),
        memory_available: observed(limits::available(&root)),
        memory_limit: observed(limits::memory(&root)),
        page_size: facts.page_size,
        huge_page_sizes: observed(limits::huge_page_sizes(&root)),
        load: observed(limits::load(&root)),
        counters: facts.counters.clone(),
    }
}

/// The machine that this process runs on. Reads files and executes a few harmless system calls;
/// changes nothing.
pub fn observe_this() -> Machine {
    observe(Path::new("/"), &Facts::of_this_process())
}
