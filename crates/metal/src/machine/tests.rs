//! Machines of `fixtures/machines`: each folder is one, and adding one is adding a folder.

#![allow(clippy::unwrap_used)]

mod caches;
mod fixture;
mod nodes;
mod written;

use std::fs;

use tenbin_model::machine::{CoreKind, Machine, Observed, Virtualisation, Wsl};
use tenbin_model::{Bytes, Cpu};

use super::{Facts, cpus_in_order, observe, observe_this};
use fixture::Fixture;

/// Every folder is unpacked, observed and compared with its `observed.txt`. With `TENBIN_BLESS=1`
/// the file is written instead; read the difference before you keep it.
#[test]
fn each_fixture_is_observed_as_written() {
    let mut wrong = Vec::new();
    let all = fixture::all();
    assert!(all.len() >= 15, "only {} fixtures", all.len());
    for fixture in all {
        let seen = written::machine(&fixture.observe());
        let path = fixture.folder.join("observed.txt");
        if std::env::var_os("TENBIN_BLESS").is_some() {
            fs::write(&path, &seen).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if let Some(line) = first_difference(&expected, &seen) {
            wrong.push(format!("{}: {line}", path.display()));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

fn first_difference(expected: &str, seen: &str) -> Option<String> {
    if expected == seen {
        return None;
    }
    let mut pairs = expected.lines().zip(seen.lines());
    let pair = pairs.find(|(left, right)| left != right);
    Some(match pair {
        Some((left, right)) => format!("expected `{left}`, observed `{right}`"),
        None => format!("expected {} lines, observed {}", expected.lines().count(), seen.lines().count()),
    })
}

/// Each fixture says in one line where its facts come from.
#[test]
fn each_fixture_names_its_source() {
    for fixture in fixture::all() {
        let text = fs::read_to_string(fixture.folder.join("README.md")).unwrap();
        assert!(text.contains("Source:"), "{}", fixture.folder.display());
    }
}

fn observed(name: &str) -> Machine {
    Fixture::named(name).observe()
}

#[test]
fn a_firecracker_guest_is_a_hypervisor_whose_time_counts() {
    let machine = observed("epyc-firecracker");
    let Virtualisation::Hypervisor(who) = &machine.virtualisation else { panic!("{machine:?}") };
    assert!(who.contains("KVM") && who.contains("Firecracker"), "{who}");
    assert!(machine.virtualisation.timing_can_be_trusted());
    assert_eq!(machine.nodes.known().unwrap().len(), 1);
    assert_eq!(machine.cpu_quota, Observed::Known(None));
}

#[test]
fn two_sockets_have_two_nodes_and_shared_cores() {
    let machine = observed("xeon-two-sockets");
    let nodes = machine.nodes.known().unwrap();
    assert_eq!(nodes.iter().map(|node| node.distances.clone()).collect::<Vec<_>>(), [[10, 21], [21, 10]]);
    let first = &machine.cpus[0];
    assert_eq!(first.siblings.known().unwrap(), &[Cpu(0), Cpu(32)]);
    let last = machine.cpus.last().unwrap();
    assert_eq!((last.package.known(), last.node.known()), (Some(&1), Some(&1)));
    // The fixture's process is confined to a few CPUs; the machine is not.
    assert_eq!((machine.cpus.len(), machine.online.known().unwrap().len()), (8, 64));
    assert_eq!(machine.turbo, Observed::Known(true));
    assert_eq!(machine.cpu_quota, Observed::Known(Some(2.5)));
    assert_eq!(machine.memory_limit, Observed::Known(Some(Bytes(16 << 30))));
    assert_eq!(machine.memory_available, Observed::Known(Bytes(16 << 30)));
}

#[test]
fn mixed_cores_are_told_apart() {
    let kinds = |name: &str| -> Vec<CoreKind> {
        observed(name).cpus.iter().map(|place| *place.kind.known().unwrap()).collect()
    };
    use CoreKind::{Efficiency as E, Performance as P};
    assert_eq!(kinds("core-i7-12700h"), [[P; 12].as_slice(), &[E; 8]].concat());
    assert_eq!(kinds("rk3399"), [E, E, E, E, P, P]);
}

#[test]
fn a_board_without_cache_sizes_says_so() {
    let machine = observed("lichee-pi-4a");
    let caches = machine.cpus[0].caches.known().unwrap();
    assert!(caches.iter().all(|cache| cache.size.known().is_none()), "{caches:?}");
    assert!(machine.cpus[0].package.to_string().contains("-1"));
    assert_eq!(machine.virtualisation, Virtualisation::None);
}

#[test]
fn the_subsystems_for_windows_are_told_apart() {
    assert_eq!(observed("wsl1").wsl, Observed::Known(Wsl::One));
    assert_eq!(observed("wsl2").wsl, Observed::Known(Wsl::Two));
    assert_eq!(observed("epyc-firecracker").wsl, Observed::Known(Wsl::No));
}

#[test]
fn emulated_processors_are_refused_for_timing() {
    for name in ["qemu-riscv64-virt", "qemu-arm64-virt"] {
        assert!(!observed(name).virtualisation.timing_can_be_trusted(), "{name}");
    }
}

/// Variants of one fixture: what one more sign does to the answer.
#[test]
fn one_sign_more_changes_the_answer() {
    let with = |name: &str, change: &dyn Fn(&mut Facts)| {
        let mut fixture = Fixture::named(name);
        change(&mut fixture.facts);
        fixture.observe().virtualisation
    };
    let translator = with("epyc-firecracker", &|facts| {
        facts.hypervisor_vendors = Observed::Known(vec!["TCGTCGTCGTCG".into()]);
    });
    assert!(matches!(translator, Virtualisation::Emulated(why) if why.contains("TCG")));
    let user = with("rk3399", &|facts| {
        facts.interpreter =
            Observed::Known(Some("/usr/bin/qemu-aarch64-static executes this program".into()));
    });
    assert!(matches!(user, Virtualisation::Emulated(why) if why.contains("qemu-aarch64-static")));
    let imitated = with("qemu-arm64-virt", &|facts| facts.counter_frequency = Observed::Known(25_000_000));
    assert!(matches!(imitated, Virtualisation::Hypervisor(why) if why.contains("tells them apart")));
    let hidden = with("xeon-two-sockets", &|facts| facts.hypervisor_vendors = Observed::Known(vec![]));
    assert_eq!(hidden, Virtualisation::None);
}

/// A machine with nothing to read is described all the same.
#[test]
fn an_empty_root_names_the_files_that_are_missing() {
    let empty = tempfile::tempdir().unwrap();
    let machine = observe(empty.path(), &Fixture::named("rk3399").facts);
    let kernel = machine.kernel.to_string();
    assert_eq!(kernel, "not observable (/proc/version: no such file)");
    assert!(!written::machine(&machine).contains(&*empty.path().to_string_lossy()));
    assert!(machine.cpus.iter().all(|place| place.caches.known().is_none() && place.kind.known().is_none()));
}

/// Files that hold something else than they should are refused, each with its path.
#[test]
fn odd_content_is_refused_and_never_panics() {
    for odd in ["", "\0", "-1", "9999999999999999999999", "cpu\nmax: :", "€[", "0-4294967295"] {
        let root = tempfile::tempdir().unwrap();
        let mut fixture = Fixture::named("epyc-firecracker");
        for (_, content) in &mut fixture.files {
            *content = odd.as_bytes().to_vec();
        }
        fixture.unpack(root.path());
        let machine = observe(root.path(), &fixture.facts);
        assert!(machine.memory.known().is_none() && machine.address_randomisation.known().is_none());
    }
}

#[test]
fn this_machine_can_be_observed() {
    let machine = observe_this();
    assert!(!machine.cpus.is_empty());
    assert!(machine.kernel.known().is_some_and(|kernel| kernel.contains("Linux")));
    assert!(machine.memory.known().unwrap().0 > 1 << 20);
    assert_eq!(machine.clock, Observed::NotObservable("not measured".into()));
}
