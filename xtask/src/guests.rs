//! Real guests of every architecture: they work, fail, hang and panic, and each is told from the others.

use crate::architecture::{ARCHITECTURES, Architecture};
use crate::command::{Command, status_in_words};
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::workspace::{Profile, Workspace};

/// The architecture whose tenbin is carried into a guest: no machine that builds this is one.
const FOREIGN: &str = "riscv64";

/// What fetching and booting needs.
pub(crate) fn needs() -> Vec<Requirement> {
    let mut needs = vec![
        Requirement::program("qemu-system-x86", "qemu-system-x86_64"),
        Requirement::program("qemu-system-arm", "qemu-system-aarch64"),
        Requirement::program("qemu-system-misc", "qemu-system-riscv64"),
        Requirement::program("util-linux", "setpriv"),
        Requirement::program("apt", "apt-get"),
        Requirement::program("dpkg", "dpkg-deb"),
        Requirement::file("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg"),
    ];
    needs.extend(ARCHITECTURES.iter().filter(|it| it.name == FOREIGN).flat_map(Architecture::to_build));
    needs
}

/// Boot guests through the crate that makes them, and one through the program.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    // One after the other: an emulator has a CPU to itself, and the output stays in order.
    Command::cargo(workspace)
        .arguments(["test", "--package", "tenbin-reach", "--test", "guests"])
        .arguments(["--", "--ignored", "--test-threads", "1"])
        .run()?;
    let foreign = Architecture::named(FOREIGN)?;
    workspace.build(foreign, Profile::Dev)?;
    let tenbin = workspace.build(Architecture::host()?, Profile::Dev)?;
    let script = "tenbin list && uname -m >&2 && exit 9";
    let output = Command::new(tenbin)
        .arguments(["guest", "run", "--arch", FOREIGN, "--seconds", "300", "--", "sh", "-c", script])
        .capture()?;
    print!("{}{}", output.text, output.diagnostics);
    let failure = |reason: String| {
        Err(Failure::new("run tenbin in a guest", reason, "run the command that is printed above"))
    };
    if output.code != Some(9) {
        return failure(format!("{} where 9 was expected", status_in_words(output.code)));
    }
    if !output.text.contains("null") || !output.diagnostics.contains(FOREIGN) {
        return failure("its output did not come through".to_owned());
    }
    Ok(())
}
