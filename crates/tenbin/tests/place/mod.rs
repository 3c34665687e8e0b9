//! Where a test of the program runs it, and how it reads what the program said.

#![expect(clippy::disallowed_methods, reason = "a test has a deadline")]

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::Once;
use std::time::{Duration, Instant};

use serde_json::Value;
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
        self.command(arguments).output().unwrap()
    }

    pub fn with_store(&self, store: &Path, arguments: &[&str]) -> Output {
        self.command(arguments).env("TENBIN_STORE", store).output().unwrap()
    }

    /// tenbin with these words, in the folder and with the store.
    pub fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenbin"));
        command.args(arguments).env("TENBIN_STORE", self.path("store.db")).env_remove("XDG_DATA_HOME");
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// What stands on standard output, where the status is 0.
    pub fn answered(&self, arguments: &[&str]) -> String {
        let output = self.tenbin(arguments);
        assert_eq!(ending(&output).0, 0, "{arguments:?}: {}", ending(&output).1);
        text(&output.stdout)
    }

    /// tenbin as a user who may do nothing: as nobody, where the tests run as root; behind these words.
    /// Nobody may not enter root's folders, so the binary goes along.
    pub fn unprivileged(&self, before: &[&str]) -> Command {
        let binary = self.path("tenbin");
        if !binary.exists() {
            std::fs::copy(env!("CARGO_BIN_EXE_tenbin"), &binary).unwrap();
        }
        let nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
        let is_root = rustix::process::geteuid().is_root();
        let mut command = Command::new("env");
        command.args(is_root.then_some(nobody).into_iter().flatten()).args(before).arg(binary);
        command.current_dir(self.folder.path()).stdin(Stdio::null());
        command
    }

    /// Starts tenbin with these words, which ignores no signal, whatever those do who run the tests.
    pub fn started(&self, arguments: &[&str]) -> Child {
        let mut command = self.disposed("--default-signal=INT,TERM", arguments);
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    /// tenbin with these words, which is given its signals as this option of env(1) says; that becomes
    /// tenbin, under the same number.
    pub fn disposed(&self, signals: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new("env");
        command.args([signals, env!("CARGO_BIN_EXE_tenbin")]).args(arguments);
        command
            .env("TENBIN_STORE", self.path("store.db"))
            .current_dir(self.folder.path())
            .stdin(Stdio::null());
        command
    }

    /// The program of this name in `fixtures/profile`, with frame pointers, in a folder that everybody may
    /// enter and write to.
    pub fn compiled(&self, name: &str) -> String {
        std::fs::set_permissions(self.folder.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
        let source = format!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/profile/{}.c"), name);
        let (program, words) = (self.path(name), ["-O1", "-fno-omit-frame-pointer", "-pthread"]);
        let output = Command::new("cc").args(words).arg(source).arg("-o").arg(&program).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        program.into_os_string().into_string().unwrap()
    }

    /// Runs git in a folder here, as somebody who has no settings, and gives what it printed.
    pub fn git(&self, folder: &str, words: &[&str]) -> Output {
        Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"])
            .args(words)
            .env("XDG_CACHE_HOME", self.path("cache"))
            .env("TENBIN_STORE", self.path("store.db"))
            .current_dir(self.path(folder))
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// Measures `null` once and returns the id of the run.
    pub fn measured(&self) -> String {
        let report = json(&self.tenbin(&["run", "null", "--quick", "--json"]));
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

/// Standard output as JSON.
pub fn json(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", ending(output).1))
}

/// The text in one line: where a line ends is the width's business.
pub fn joined(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
