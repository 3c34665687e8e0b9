//! Our kernel modules, built for real kernels of Debian and loaded into guests.
//!
//! Building needs make, compilers, and the network for headers that are not in the user's cache yet. So these
//! are ignored unless `cargo xtask test guests` asks for them. Nothing is loaded on this machine.

mod archive;

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use tenbin_model::Architecture;
use tenbin_reach::{Cache, Module, Suite};

/// Builds all modules for a kernel, and looks whether they say that they are for it.
fn built(architecture: Architecture, suite: Suite) -> Vec<PathBuf> {
    let cache = Cache::usual().expect("the environment names a folder");
    let paths =
        cache.modules(architecture, suite, &Module::ALL).expect("they are built, or Debian is reached");
    let linux = match suite {
        Suite::Bookworm => "6.1.",
        Suite::Backports | Suite::Trixie => "6.12.",
    };
    assert_eq!(paths.len(), Module::ALL.len());
    for (module, path) in Module::ALL.into_iter().zip(&paths) {
        assert!(path.ends_with(module.file()), "{}", path.display());
        let content = fs::read(path).expect("it is kept");
        assert_eq!(content[18..20], architecture.names().elf.to_le_bytes(), "{}", path.display());
        for wanted in [format!("\0vermagic={linux}"), format!("\0name={module}\0")] {
            let present = content.windows(wanted.len()).any(|part| part == wanted.as_bytes());
            assert!(present, "{wanted:?} in {}", path.display());
        }
    }
    paths
}

/// Loads all modules into a guest and removes them again.
fn load(architecture: Architecture, suite: Suite) {
    built(architecture, suite);
    let script = "cd /modules && for file in stop_machine.ko oneshot_timer.ko fibdrv.ko; do
            name=${file%.ko}
            insmod $file && grep -q \"^$name \" /proc/modules && rmmod $name && echo $name
        done
        dmesg | grep -E 'BUG|WARNING|Oops'; ! grep -E 'stop_machine|oneshot_timer|fibdrv' /proc/modules";
    let guest = archive::guest(architecture, suite, &Module::ALL, ["sh", "-c", script]);
    let outcome = guest.run().expect("the guest answers");
    let stdout = String::from_utf8_lossy(&outcome.stdout);
    assert_eq!(
        (outcome.status, &*stdout),
        (0, "stop_machine\noneshot_timer\nfibdrv\n"),
        "{}",
        String::from_utf8_lossy(&outcome.stderr)
    );
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn modules_load_into_linux_6_1_on_x86_64() {
    load(Architecture::X86_64, Suite::Bookworm);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn modules_load_into_linux_6_12_on_riscv64() {
    let Some((riscv64, trixie)) = archive::riscv64() else { return };
    load(riscv64, trixie);
}

#[test]
#[ignore = "builds for kernels of Debian: `cargo xtask test guests`"]
fn modules_build_for_aarch64_and_for_the_backports() {
    let old = built(Architecture::Aarch64, Suite::Bookworm);
    let new = built(Architecture::X86_64, Suite::Backports);
    assert!(old.iter().all(|path| !new.contains(path)));
}

#[test]
#[ignore = "builds for kernels of Debian: `cargo xtask test guests`"]
fn what_was_built_is_not_built_again() {
    let node = |path: &PathBuf| fs::metadata(path).expect("it is kept").ino();
    let nodes = || built(Architecture::X86_64, Suite::Bookworm).iter().map(node).collect::<Vec<_>>();
    assert_eq!(nodes(), nodes());
}
