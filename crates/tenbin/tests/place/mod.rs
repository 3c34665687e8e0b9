//! Where a test of the program runs it, and how it reads what the program said.

#![expect(clippy::disallowed_methods, reason = "a test has a deadline")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use tempfile::TempDir;

/// A folder of its own for each test, with a store in it.
pub struct Place {
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Self {
        deadline();
        Self { folder: tempfile::tempdir().unwrap() }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn tenbin(&self, arguments: &[&str]) -> Output {
        self.with_store(&self.path("store.db"), arguments)
    }

    pub fn with_store(&self, store: &Path, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_tenbin"))
            .args(arguments)
            .env("TENBIN_STORE", store)
            .env_remove("XDG_DATA_HOME")
            .current_dir(self.folder.path())
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Measures `null` once and returns the id of the run.
    pub fn measured(&self) -> String {
        let output = self.tenbin(&["run", "null", "--quick", "--json"]);
        let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        report["run"].as_str().unwrap().to_owned()
    }
}

/// Longer than all tests of one file take, on a machine that is busy with other things.
const DEADLINE: Duration = Duration::from_secs(3600);

/// Ends these tests when they take too long: one of them waits for a process that never ends. The harness has
/// no bound of its own, and says of each test whether it has ended.
pub fn deadline() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        std::thread::spawn(|| {
            let started = Instant::now();
            while started.elapsed() < DEADLINE {
                std::thread::park_timeout(DEADLINE);
            }
            eprintln!("still running after {DEADLINE:?}: a test that has not ended waits for ever");
            std::process::abort();
        });
    });
}

pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The exit status and standard error.
pub fn ending(output: &Output) -> (i32, String) {
    (output.status.code().unwrap_or(-1), text(&output.stderr))
}
