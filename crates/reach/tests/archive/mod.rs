//! Guests with Debian's kernels, and whether its archive can be asked for what they need.

use std::ffi::OsString;
use std::io::Write;
use std::path::Path;
use std::time::Duration;

use tenbin_model::Architecture;
use tenbin_reach::{Cache, Cargo, Error, Guest, Module, Suite};

/// What an answer may take on a machine that is busy with something else.
const LONG: Duration = Duration::from_secs(300);

/// RISC-V and the suite that its kernels are of, where such a kernel is here or can be had. Where the archive
/// contradicts itself it cannot, and no test is to blame: that is said past the capture of a test's output.
/// Whatever else is wrong is left to the test.
pub(crate) fn riscv64() -> Option<(Architecture, Suite)> {
    let (architecture, suite) = (Architecture::Riscv64, Suite::Trixie);
    match Cache::usual().and_then(|cache| cache.kernel(architecture, suite)) {
        Err(error @ Error::Unsynced { .. }) => {
            let _ = writeln!(std::io::stderr(), "\nskipped: Linux of {suite} on {architecture}: {error}");
            None
        }
        _ => Some((architecture, suite)),
    }
}

/// A guest that runs `command`, with these modules of ours below `/modules`.
pub(crate) fn guest<W: Into<OsString>>(
    architecture: Architecture,
    suite: Suite,
    modules: &[Module],
    command: impl IntoIterator<Item = W>,
) -> Guest {
    let cache = Cache::usual().expect("the environment names a folder");
    let kernel = cache.kernel(architecture, suite).expect("the kernel is here, or Debian is reached");
    let built = cache.modules(architecture, suite, modules).expect("they are built, or Debian is reached");
    let mut guest = Guest::new(architecture, kernel, command);
    guest.deadline = LONG;
    let files = modules.iter().zip(built).map(|(module, from)| Cargo::File {
        from,
        to: Path::new("/modules").join(module.file()),
        mode: None,
    });
    guest.cargo = files.collect();
    guest
}
