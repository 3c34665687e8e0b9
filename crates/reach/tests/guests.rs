//! Real guests, one for each architecture, and guests that go wrong.
//!
//! They need the emulators, and the network for kernels that are not in the user's cache yet. So they are
//! ignored unless `cargo xtask test guests` asks for them. None depends on how fast the machine is: a deadline
//! is long where an answer is expected, and where none is, the guest never gives one.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::time::Duration;

use tempfile::TempDir;
use tenbin_reach::{
    Architecture, Cache, Cargo, Channel, Error, File, Guest, Kernel, Outcome, Silence, Suite,
};

/// What an answer may take on a machine that is busy with something else.
const LONG: Duration = Duration::from_secs(300);

fn kernel(architecture: Architecture) -> Kernel {
    let cache = Cache::usual().expect("the environment names a folder");
    cache.kernel(architecture, Suite::usual(architecture)).expect("the kernel is here, or Debian is reached")
}

fn guest(architecture: Architecture, command: &[&str]) -> Guest {
    let kernel = kernel(architecture);
    let mut guest = Guest::new(architecture, kernel, command);
    guest.deadline = LONG;
    guest
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).expect("it is text")
}

/// A folder with a program and a link to it below `tree`, and with `content` in the file `bytes`.
fn luggage(content: &[u8]) -> io::Result<TempDir> {
    let here = tempfile::tempdir()?;
    let folder = here.path().join("tree/opt/folder");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join("program"), "#!/bin/sh\necho \"$0: $1\" >&2\nuname -m\n")?;
    fs::set_permissions(folder.join("program"), fs::Permissions::from_mode(0o750))?;
    symlink("folder/program", here.path().join("tree/opt/link"))?;
    fs::write(here.path().join("bytes"), content)?;
    Ok(here)
}

/// Says which architecture it is on, hands a file and a folder back, and fails.
fn work(architecture: Architecture) {
    // As many bytes as no buffer on the way holds, and every value of a byte.
    let bytes = (0..300_000_u32).map(|index| (index.wrapping_mul(2_654_435_761) >> 24) as u8);
    let content = bytes.collect::<Vec<_>>();
    let here = luggage(&content).expect("there is room for some files");
    let script = "/opt/link \"it's\" && cp /opt/bytes /tmp/bytes && chmod 640 /tmp/bytes && exit 7";
    let mut guest = guest(architecture, &["sh", "-c", script]);
    guest.cargo = vec![
        Cargo::Tree(here.path().join("tree")),
        Cargo::File { from: here.path().join("bytes"), to: "/opt/bytes".into(), mode: None },
    ];
    guest.bring = ["/tmp/bytes", "/opt/folder", "/nothing"].map(str::to_owned).to_vec();
    let outcome = guest.run().expect("the guest answers");
    let Outcome { status, stdout, stderr, files, absent, channel, .. } = outcome;
    assert_eq!((status, text(&stdout)), (7, &*format!("{architecture}\n")), "{}", text(&stderr));
    assert_eq!(text(&stderr), "/opt/link: it's\n");
    assert_eq!(channel, Channel::Virtio);
    assert_eq!(absent, ["/nothing"]);
    assert_eq!(files.len(), 2);
    assert!(
        files[0] == File { path: "tmp/bytes".into(), mode: 0o640, content },
        "{}",
        files[0].path.display()
    );
    assert_eq!((files[1].path.as_path(), files[1].mode), (Path::new("opt/folder/program"), 0o750));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_works_on_x86_64() {
    work(Architecture::X86_64);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_works_on_aarch64() {
    work(Architecture::Aarch64);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_works_on_riscv64() {
    work(Architecture::Riscv64);
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn without_virtio_modules_the_answer_comes_over_the_serial_line() {
    let mut guest = guest(Architecture::Aarch64, &["tenbin-no-such-program"]);
    assert!(!guest.kernel.modules.is_empty());
    guest.kernel.modules.clear();
    let outcome = guest.run().unwrap();
    assert_eq!((outcome.status, outcome.channel), (127, Channel::Serial));
    assert!(text(&outcome.stderr).contains("tenbin-no-such-program"), "{}", text(&outcome.stderr));
}

/// The silence of a guest that gave no answer, and its console.
fn silence(guest: &Guest) -> (Silence, String) {
    match guest.run() {
        Err(Error::Silent { silence, console }) => (silence, console),
        other => panic!("{other:?}"),
    }
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_hangs_is_ended() {
    let mut guest = guest(Architecture::Riscv64, &["sh", "-c", "echo here >/dev/console; tail -f /dev/null"]);
    // Long enough to be in the command on most machines; where it is not, the end is the same.
    guest.deadline = Duration::from_secs(8);
    assert_eq!(silence(&guest).0, Silence::Deadline(guest.deadline));
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_panics_shows_the_end_of_its_console() {
    let (silence, console) =
        silence(&guest(Architecture::Riscv64, &["sh", "-c", "echo c >/proc/sysrq-trigger"]));
    assert_eq!(silence, Silence::Panic);
    assert!(console.contains("sysrq triggered crash"), "{console}");
}

#[test]
#[ignore = "boots a guest: `cargo xtask test guests`"]
fn a_guest_that_is_switched_off_under_the_command_is_silent() {
    let (silence, _) = silence(&guest(Architecture::Riscv64, &["poweroff", "-f"]));
    assert!(matches!(&silence, Silence::Ended(why) if why == "it sent nothing"), "{silence:?}");
}
