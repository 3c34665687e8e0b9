//! Other programs: each is printed before it starts, and none of them may read standard input.

use std::env;
use std::ffi::OsString;
use std::fs::File;
use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{self, Stdio};
use std::time::{Duration, Instant};

use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds, End, Finished, Running};

use crate::failure::Failure;
use crate::files::cannot;

/// Longer than any single program should take whose output is wanted.
const PATIENCE: Duration = Duration::from_secs(600);

/// Longer than any program should take whose output is shown, all tests of the workspace and their build on a
/// machine that is busy with other things among them.
const LONG_PATIENCE: Duration = Duration::from_secs(2 * 3600);

/// A program to be started, with what will be said about it.
pub struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(String, OsString)>,
    directory: Option<OsString>,
    patience: Option<Duration>,
    remedy: String,
}

/// What a program left behind.
#[derive(Default)]
pub struct Output {
    /// Its exit status; `None` if a signal ended it.
    pub code: Option<i32>,
    /// What it wrote to standard output.
    pub text: String,
    /// What it wrote to standard error.
    pub diagnostics: String,
    /// How long it ran.
    pub time: Duration,
}

/// What tenbin ends with where the one thing asked was refused. What it was to report is there all the same.
pub const REFUSED: i32 = 3;

impl Output {
    /// Whether it is an answer of tenbin, which may be a refusal.
    pub fn is_answer(&self) -> bool {
        matches!(self.code, Some(0 | REFUSED))
    }

    /// How the program ended, and what it complained of.
    pub fn ending(&self) -> String {
        format!("{}\n{}", status_in_words(self.code), self.diagnostics.trim_end())
    }
}

impl Command {
    pub fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            directory: None,
            patience: None,
            remedy: "read what it printed above".into(),
        }
    }

    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub fn arguments<I: IntoIterator<Item: Into<OsString>>>(mut self, arguments: I) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub fn variable(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub fn variables(mut self, variables: Vec<(String, String)>) -> Self {
        self.variables.extend(variables.into_iter().map(|(name, value)| (name, value.into())));
        self
    }

    pub fn directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// How long it may run, if not ten minutes with its output kept and two hours with it shown.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// What to do if it fails.
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Run it with its output shown. Anything but success is a failure, and so is not to end.
    pub fn run(self) -> Result<(), Failure> {
        self.announce();
        let end = child::start(self.prepare(), self.bounds(LONG_PATIENCE)).and_then(Running::wait);
        self.judge(end.map_err(|fault| self.unstarted(&fault))?, "")
    }

    /// As [`Command::run`], for tests of cargo: the failure holds what each failed test printed, so that it
    /// is read where the failure is read, and not only in the midst of a long output.
    pub fn run_tests(self) -> Result<(), Failure> {
        self.announce();
        let mut reports = Reports::default();
        let mut each = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            println!("{line}");
            reports.take(&line);
        };
        let end = child::feed(self.prepare(), self.bounds(LONG_PATIENCE), &mut each);
        self.judge(end.map_err(|fault| self.unstarted(&fault))?, &reports.text)
    }

    /// As [`Command::capture`], with each line of its output given to `each` as it comes. Its complaints are
    /// shown.
    pub fn follow(self, each: &mut dyn FnMut(&str)) -> Result<Output, Failure> {
        self.announce();
        let (begin, mut text) = (Instant::now(), String::new());
        let mut line = |line: &[u8]| {
            let line = String::from_utf8_lossy(line);
            each(&line);
            text.push_str(&line);
            text.push('\n');
        };
        let end = child::feed(self.prepare(), self.bounds(PATIENCE), &mut line);
        let code = self.code(end.map_err(|fault| self.unstarted(&fault))?)?;
        Ok(Output { code, text, diagnostics: String::new(), time: begin.elapsed() })
    }

    /// Starts it with its output in the file `printed`, and lets it run.
    pub(crate) fn start(self, printed: &Path) -> Result<Running, Failure> {
        self.announce();
        let file = File::create(printed).and_then(|file| Ok((file.try_clone()?, file)));
        let (stdout, stderr) = file.map_err(|error| cannot("write", printed, &error))?;
        let mut command = self.prepare();
        command.stdout(stdout).stderr(stderr);
        child::start(command, self.bounds(LONG_PATIENCE)).map_err(|fault| self.unstarted(&fault))
    }

    fn judge(&self, end: End, reports: &str) -> Result<(), Failure> {
        match end {
            End::Exited(0) => Ok(()),
            End::OutOfTime => Err(self.late(LONG_PATIENCE)),
            end => Err(self.failure(&format!("{end}{reports}"))),
        }
    }

    /// Run it with its output kept. The exit status is for the caller to judge.
    pub fn capture(self) -> Result<Output, Failure> {
        self.announce();
        self.capture_quietly()
    }

    /// As [`Command::capture`], without a line on the terminal: for questions about the machine.
    pub fn capture_quietly(self) -> Result<Output, Failure> {
        let finished = child::run(self.prepare(), self.bounds(PATIENCE));
        let Finished { end, stdout, stderr, time } = finished.map_err(|fault| self.unstarted(&fault))?;
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Ok(Output { code: self.code(end)?, text: text(stdout), diagnostics: text(stderr), time })
    }

    fn code(&self, end: End) -> Result<Option<i32>, Failure> {
        match end {
            End::Exited(code) => Ok(Some(code)),
            End::Signalled(_) => Ok(None),
            End::OutOfTime => Err(self.late(PATIENCE)),
        }
    }

    /// Run it with standard output kept, and insist on success.
    pub fn read(self) -> Result<String, Failure> {
        let described = self.describe();
        let remedy = self.remedy.clone();
        let output = self.capture_quietly()?;
        match output.code {
            Some(0) => Ok(output.text),
            _ => Err(Failure::new(format!("run `{described}`"), output.ending(), remedy)),
        }
    }

    fn bounds(&self, usual: Duration) -> Bounds {
        Bounds { output: usize::MAX, ..Bounds::within(self.patience.unwrap_or(usual)) }
    }

    /// It did not end in time.
    fn late(&self, usual: Duration) -> Failure {
        self.failure(&format!("still running after {} s", self.patience.unwrap_or(usual).as_secs()))
    }

    fn prepare(&self) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null());
        // `cargo run` leaves a description of xtask in the environment. It is not the child's.
        for (name, _) in env::vars_os() {
            if name.to_str().is_some_and(describes_this_package) {
                command.env_remove(name);
            }
        }
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        if let Some(directory) = &self.directory {
            command.current_dir(directory);
        }
        command
    }

    fn announce(&self) {
        println!("$ {}", self.describe());
        // The child writes to the same terminal without asking our buffer.
        let _ = std::io::stdout().flush();
    }

    /// As one would type it.
    pub fn describe(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        // Cargo's path is long, and of no use to a reader. Another program's path tells which one it is.
        let cargo = Path::new(&self.program).file_name().filter(|name| *name == "cargo");
        let program = cargo.unwrap_or(&self.program);
        let words = [program].into_iter().chain(self.arguments.iter().map(OsString::as_os_str));
        variables.chain(words.map(quoted)).collect::<Vec<_>>().join(" ")
    }

    /// Why it could not even be started, with what helps then, whatever helps when it fails.
    fn unstarted(&self, fault: &Fault) -> Failure {
        let Fault::System { error, .. } = fault else { return self.failure(fault) };
        let failure = self.failure(error);
        match error.kind() {
            ErrorKind::NotFound | ErrorKind::PermissionDenied => {
                let program = Path::new(&self.program).file_name().unwrap_or(&self.program).to_string_lossy();
                failure.beside(&format!("install `{program}` where this user may run it"))
            }
            ErrorKind::WouldBlock | ErrorKind::OutOfMemory => failure.beside(
                "raise the limit on processes (ulimit -u, pids.max) or on memory, or end other processes",
            ),
            _ => failure,
        }
    }

    fn failure(&self, reason: &dyn std::fmt::Display) -> Failure {
        Failure::new(format!("run `{}`", self.describe()), reason, self.remedy.clone())
    }
}

/// "exit status 3", or that a signal ended it.
pub fn status_in_words(code: Option<i32>) -> String {
    code.map_or_else(|| "ended by a signal".into(), |code| format!("exit status {code}"))
}

fn describes_this_package(name: &str) -> bool {
    name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") || name == "CARGO_BIN_NAME"
}

fn quoted(word: &std::ffi::OsStr) -> String {
    let word = word.to_string_lossy();
    if word.is_empty()
        || word.contains(|letter: char| letter.is_whitespace() || "'\"$&|;<>()*".contains(letter))
    {
        format!("'{}'", word.replace('\'', r"'\''"))
    } else {
        word.into_owned()
    }
}

/// What the test harness reports of the tests that failed, a line each.
#[derive(Default)]
struct Reports {
    text: String,
    failed: bool,
}

impl Reports {
    /// Takes a line of what tests print.
    fn take(&mut self, line: &str) {
        self.failed = (self.failed || line == "failures:") && !line.starts_with("test result:");
        if self.failed && !line.is_empty() && line != "failures:" {
            self.text.push_str("\n    ");
            self.text.push_str(line);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_status_are_kept() {
        let output = Command::new("sh").arguments(["-c", "echo out; echo err >&2; exit 3"]).capture_quietly();
        let output = output.expect("sh runs");
        assert_eq!((output.code, &*output.text, &*output.diagnostics), (Some(3), "out\n", "err\n"));
    }

    #[test]
    fn a_missing_program_is_a_failure_with_its_name() {
        let failure =
            Command::new("tenbin-no-such-program").argument("x y").run().expect_err("it cannot run");
        assert!(failure.to_string().contains("`tenbin-no-such-program 'x y'`"), "{failure}");
        assert!(failure.to_string().contains("install `tenbin-no-such-program`"), "{failure}");
    }

    #[test]
    fn who_runs_longer_than_allowed_is_ended() {
        // It would wait for ever: nobody writes to the pipe that it reads.
        let forever = Command::new("sh").arguments(["-c", "exec tail -f /dev/null"]);
        let failure = forever.patience(Duration::ZERO).capture_quietly().err().expect("it never ends");
        assert!(failure.to_string().contains("still running after 0 s"), "{failure}");
    }

    #[test]
    fn what_failed_tests_print_is_kept() {
        let harness = "running 2 tests\ntest well ... ok\ntest ill ... FAILED\n\nfailures:\n\n---- ill stdout ----\n\
            left: 1\n\nfailures:\n    ill\n\ntest result: FAILED. 1 passed\n\nrunning 1 test\ntest other ... ok\n";
        let mut reports = Reports::default();
        harness.lines().for_each(|line| reports.take(line));
        assert_eq!(reports.text, "\n    ---- ill stdout ----\n    left: 1\n        ill");
    }

    #[test]
    fn standard_input_is_closed() {
        assert_eq!(Command::new("cat").read().expect("cat ends at once"), "");
    }

    #[test]
    fn a_failing_program_is_a_failure_with_its_diagnostics() {
        let failure =
            Command::new("sh").arguments(["-c", "echo why >&2; exit 9"]).read().expect_err("exit 9");
        let text = failure.to_string();
        assert!(text.contains("exit status 9") && text.contains("why"), "{text}");
    }
}
