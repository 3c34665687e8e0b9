//! Sessions of a user at a shell, written down: each file of `transcripts` is played, and what comes is
//! compared with what it says.
//!
//! A line that begins with `$ ` is a command for sh(1), and lines behind it that begin with `> ` belong to
//! it. Then comes what it writes: standard output; behind `! ` the lines of standard error that hold a word;
//! behind `? ` the status, if that is not 0. `[..]` stands for any words within a line, a line `...` for any
//! lines, and `[ONE]` to `[FOUR]` and `[KNOWN]` for the ids of [`RUNS`] and of the calibration beside them.
//! `# ` begins a remark.
//!
//! What stands on a page of this project's documentation is played by the same player: see [`pages`].

#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use snapbox::{Assert, Data, Redactions};
use specimens::{calibration, small_run};
use tempfile::TempDir;
use tenbin_store::Store;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;
mod pages;
#[path = "../../store/tests/specimens/mod.rs"]
mod specimens;

use place::{deadline, text};

/// The runs of the store that a transcript may begin with, the oldest first, by the labels that they have
/// there.
const RUNS: [&str; 4] = ["one", "two", "three", "four"];

/// What every session has, beside a folder of its own, where the store will be `store.db`.
struct Desk {
    /// tenbin, and `runs.db`: a store with [`RUNS`], of which the last is of `fib`, and a calibration.
    shared: TempDir,
    /// The names of what is in it.
    names: Redactions,
}

impl Desk {
    fn new() -> Self {
        let shared = tempfile::tempdir().unwrap();
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenbin"), shared.path().join("tenbin")).unwrap();
        let mut store = Store::open(&shared.path().join("runs.db")).unwrap();
        let mut names = Redactions::new();
        let mut name = |mark: &'static str, id: String| {
            names.insert(mark, id[..12].to_owned()).unwrap();
            names.insert(mark, id).unwrap();
        };
        let marks = ["[ONE]", "[TWO]", "[THREE]", "[FOUR]"];
        for (number, (label, mark)) in (1..).zip(RUNS.into_iter().zip(marks)) {
            let mut run = small_run(10_000 * number);
            if label == "four" {
                run.trials[0].descriptor.name = "fib".into();
            }
            name(mark, store.keep_as(&run, Some(&label.parse().unwrap())).unwrap().to_string());
        }
        name("[KNOWN]", store.keep_calibration(&calibration(1)).unwrap().to_string());
        Self { shared, names }
    }

    /// Plays a transcript: the same commands, and what `written` says that they write now.
    fn play(transcript: &str, written: impl Fn(&str) -> String) -> String {
        let mut played = String::new();
        let mut lines = transcript.lines().peekable();
        while let Some(line) = lines.next() {
            played.push_str(&format!("{line}\n"));
            let Some(command) = line.strip_prefix("$ ") else { continue };
            let mut command = command.to_owned();
            while let Some(more) = lines.next_if(|line| line.starts_with("> ")) {
                command.push_str(&format!("\n{}", &more[2..]));
                played.push_str(&format!("{more}\n"));
            }
            let begins = |line: &&str| line.starts_with("$ ") || line.starts_with("# ");
            let mut between = 0;
            while let Some(old) = lines.next_if(|line| !begins(line)) {
                between = if old.is_empty() { between + 1 } else { 0 };
            }
            played.push_str(&written(&command));
            played.push_str(&"\n".repeat(between));
        }
        played
    }

    /// Runs a command in a folder with this store.
    fn run(&self, folder: &Path, store: &Path, command: &str) -> Output {
        let path = format!("{}:{}", self.shared.path().display(), std::env::var("PATH").unwrap_or_default());
        Command::new("sh")
            .args(["-c", command])
            .envs([("PATH", path.as_str()), ("LC_ALL", "C")])
            .env("FIXTURES", root().join("fixtures"))
            .env("SHARED", self.shared.path())
            .env("HOME", folder)
            .env("TENBIN_STORE", store)
            .env_remove("XDG_DATA_HOME")
            .env_remove("XDG_STATE_HOME")
            .current_dir(folder)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }
}

/// The root of the repository.
fn root() -> PathBuf {
    fs::canonicalize(concat!(env!("CARGO_MANIFEST_DIR"), "/../..")).unwrap()
}

/// The lines of what was written, without white space at their ends, behind a mark.
fn lines(bytes: &[u8], mark: &str) -> String {
    text(bytes).trim_end().lines().map(|line| format!("{mark}{}\n", line.trim_end())).collect()
}

/// What a command wrote, as a transcript has it.
fn written(output: &Output) -> String {
    let status = match output.status.code() {
        Some(0) => String::new(),
        Some(status) => format!("? {status}\n"),
        None => format!("? {}\n", output.status),
    };
    lines(&output.stdout, "") + &lines(&output.stderr, "! ").replace("! \n", "") + &status
}

/// `SNAPSHOTS=overwrite` writes down what came; read the difference before you keep it.
#[test]
fn what_comes_is_what_is_written_down() {
    deadline();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transcripts");
    let mut files = fs::read_dir(folder).unwrap().map(|it| it.unwrap().path()).collect::<Vec<_>>();
    files.sort();
    let only = std::env::var("TRANSCRIPT").unwrap_or_default();
    let desk = &Desk::new();
    std::thread::scope(|scope| {
        for file in files.iter().filter(|file| file.to_string_lossy().contains(&only)) {
            scope.spawn(move || {
                let folder = tempfile::tempdir().unwrap();
                let run = |command: &str| written(&desk.run(folder.path(), Path::new("store.db"), command));
                let played = Desk::play(&fs::read_to_string(file).unwrap(), run);
                let assert = Assert::new()
                    .action_env("SNAPSHOTS")
                    .normalize_paths(false)
                    .redact_with(desk.names.clone());
                assert.eq(played, Data::read_from(file, None));
            });
        }
    });
}
