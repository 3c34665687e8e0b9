//! The module `fibdrv` in guests: numbers, errors, readers at the same time, signals, and nothing left
//! behind.
//!
//! They need the emulators, a compiler for each architecture, and the network for what is not in the user's
//! cache yet, so they are ignored unless `cargo xtask test guests` asks for them. A time is shown and never
//! judged.

mod archive;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use tenbin_model::Architecture;
use tenbin_reach::{Cargo, Module, Suite};

/// What the guest runs. Everything that the kernel says after the first line must be harmless.
const SCRIPT: &str = r#"
dmesg -c >/dev/null
# The kernel was told to check its objects: that it understood is seen here.
for check in red_zone poison sanity_checks; do
    test "$(cat /sys/kernel/slab/kmalloc-64/$check)" = 1 || exit 74
done
module=/modules/fibdrv.ko
for wrong in max_n=10000001 karatsuba=3 karatsuba=1025 max_n=-1; do
    insmod $module $wrong 2>/dev/null && echo "loaded with $wrong"
done
for section in numbers errors readers signals leaks; do
    insmod $module max_n=10000000 || exit 70
    client $section || exit 71
    rmmod fibdrv || exit 72
done
insmod $module max_n=100000 karatsuba=4 || exit 70
client numbers || exit 71
rmmod fibdrv || exit 72
test ! -e /dev/fibonacci || exit 73
dmesg
"#;

/// Words of a kernel that something is wrong.
const ALARMS: [&str; 7] = ["BUG", "WARNING", "Oops", "stall", "lockup", "Call Trace", "blocked for more"];

/// The client, compiled as a static program for `architecture`.
fn client(architecture: Architecture, folder: &Path) -> PathBuf {
    let compiler = match architecture {
        _ if Architecture::host() == Some(architecture) => "cc".to_owned(),
        other => format!("{other}-linux-gnu-gcc"),
    };
    let (source, program) = (folder.join("client.c"), folder.join("client"));
    std::fs::write(&source, include_str!("fibdrv.c")).expect("there is room for a file");
    let status = Command::new(&compiler)
        .args(["-std=gnu11", "-O2", "-static", "-Wall", "-Wextra", "-Werror", "-o"])
        .args([&program, &source])
        .status();
    let status = status.unwrap_or_else(|error| panic!("{compiler} must be here: {error}"));
    assert!(status.success(), "{compiler} ended with {status}");
    program
}

/// What the guest said, once all of it was checked.
fn work(architecture: Architecture, suite: Suite) -> String {
    let scratch = tempfile::tempdir().expect("there is room for a folder");
    let mut guest = archive::guest(architecture, suite, &[Module::Fibdrv], ["sh", "-c", SCRIPT]);
    guest.cpus = 2;
    // Checks, red zones and poison for every object: what is written past an end or after a free is told of.
    guest.parameters = vec!["slub_debug=FZP".to_owned()];
    guest.deadline = Duration::from_secs(400);
    let client = client(architecture, scratch.path());
    guest.cargo.push(Cargo::File { from: client, to: "/bin/client".into(), mode: Some(0o755) });
    let outcome = guest.run().expect("the guest answers");
    let stdout = String::from_utf8_lossy(&outcome.stdout).into_owned();
    assert_eq!(outcome.status, 0, "{stdout}{}", String::from_utf8_lossy(&outcome.stderr));
    for section in ["numbers", "errors", "readers", "signals", "leaks"] {
        assert!(
            stdout.contains(&format!("\n{section}: ")) || stdout.starts_with(section),
            "{section}: {stdout}"
        );
    }
    assert!(!stdout.contains("loaded with"), "{stdout}");
    assert!(stdout.contains("karatsuba=1025 is not within 4 to 1024"), "{stdout}");
    assert!(stdout.contains("max_n=10000001 is above 10000000"), "{stdout}");
    for alarm in ALARMS {
        assert!(!stdout.contains(alarm), "{alarm}: {stdout}");
    }
    stdout
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn fibdrv_keeps_its_word_on_x86_64_and_linux_6_1() {
    println!("{}", work(Architecture::X86_64, Suite::Bookworm));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn fibdrv_keeps_its_word_on_riscv64_and_linux_6_12() {
    let Some((riscv64, trixie)) = archive::riscv64() else { return };
    println!("{}", work(riscv64, trixie));
}
