//! Whether Debian's archive can be asked for what a guest needs.

use std::io::Write;

use tenbin_model::Architecture;
use tenbin_reach::{Cache, Error, Suite};

/// Whether a kernel is here or can be had. Where the archive contradicts itself it cannot, and no test is to
/// blame: that is said past the capture of a test's output. Whatever else is wrong is left to the test.
pub(crate) fn serves(architecture: Architecture, suite: Suite) -> bool {
    match Cache::usual().and_then(|cache| cache.kernel(architecture, suite)) {
        Err(error @ Error::Unsynced { .. }) => {
            let _ = writeln!(std::io::stderr(), "\nskipped: Linux of {suite} on {architecture}: {error}");
            false
        }
        _ => true,
    }
}
