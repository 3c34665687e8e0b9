//! Other programs: each is printed before it starts, and none of them may read standard input.

use std::env;
use std::ffi::OsString;
use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{self, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::failure::Failure;
use crate::workspace::Workspace;

/// Longer than any single program should take whose output is wanted.
const PATIENCE: Duration = Duration::from_secs(600);

/// Longer than any program should take whose output is shown, all tests of the workspace and their build on a machine that
/// is busy with other things among them.
const LONG_PATIENCE: Duration = Duration::from_secs(2 * 3600);

/// What the guardian of a process group does: it reads until nobody has the other end of its standard input open, which
/// nobody ever writes to, and then kills the group, itself included. What a terminal sends it leaves to others.
const GUARDIAN: &str = "trap '' HUP INT QUIT TERM; read -r nothing; kill -s KILL 0";

/// Between two looks whether a program has ended: often enough for one whose time is of no interest.
const PAUSE: Duration = Duration::from_millis(5);

/// A program to be started, with what will be said about it.
pub(crate) struct Command {
    program: OsString,
    arguments: Vec<OsString>,
    variables: Vec<(String, OsString)>,
    directory: Option<OsString>,
    patience: Option<Duration>,
    pause: Duration,
    remedy: String,
}

/// A process group, which is killed when this is dropped or when xtask has ended, in whatever way.
struct Group(process::Child);

impl Group {
    fn new() -> std::io::Result<Self> {
        let mut command = process::Command::new("sh");
        command.args(["-c", GUARDIAN]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0).spawn().map(Self)
    }

    fn number(&self) -> i32 {
        self.0.id().cast_signed()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        drop(self.0.stdin.take());
        // That it was killed before is no error.
        let _ = self.0.wait();
    }
}

/// What a program left behind.
pub(crate) struct Output {
    /// Its exit status; `None` if a signal ended it.
    pub(crate) code: Option<i32>,
    /// What it wrote to standard output.
    pub(crate) text: String,
    /// What it wrote to standard error.
    pub(crate) diagnostics: String,
    /// How long it ran.
    pub(crate) time: Duration,
}

impl Command {
    pub(crate) fn new(program: impl Into<OsString>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            variables: Vec::new(),
            directory: None,
            patience: None,
            pause: PAUSE,
            remedy: "read what it printed above".into(),
        }
    }

    /// Cargo of the pinned toolchain, in the root of the workspace.
    pub(crate) fn cargo(workspace: &Workspace) -> Self {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Self::new(program).directory(workspace.root())
    }

    pub(crate) fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn arguments<I: IntoIterator<Item: Into<OsString>>>(mut self, arguments: I) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    pub(crate) fn variable(mut self, name: impl Into<String>, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }

    pub(crate) fn variables(mut self, variables: Vec<(String, String)>) -> Self {
        self.variables.extend(variables.into_iter().map(|(name, value)| (name, value.into())));
        self
    }

    pub(crate) fn directory(mut self, directory: &Path) -> Self {
        self.directory = Some(directory.into());
        self
    }

    /// How long it may run, if not [`PATIENCE`] or [`LONG_PATIENCE`].
    pub(crate) fn patience(mut self, patience: Duration) -> Self {
        self.patience = Some(patience);
        self
    }

    /// How long to wait between two looks whether it has ended: its time is too long by so much at the most.
    pub(crate) fn pause(mut self, pause: Duration) -> Self {
        self.pause = pause;
        self
    }

    /// What to do if it fails.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = remedy.into();
        self
    }

    /// Run it with its output shown. Anything but success is a failure, and so is not to end.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.announce();
        let started = Instant::now();
        let group = Group::new().map_err(|error| self.unstarted(&error))?;
        let mut child = self.prepare(&group).spawn().map_err(|error| self.unstarted(&error))?;
        let status = self.wait(&mut child, group, started, LONG_PATIENCE)?;
        if status.success() { Ok(()) } else { Err(self.failure(&status)) }
    }

    /// As [`Command::run`], for tests of cargo: the failure holds what each failed test printed, so that it is read where
    /// the failure is read, and not only in the midst of a long output.
    pub(crate) fn run_tests(self) -> Result<(), Failure> {
        self.announce();
        let started = Instant::now();
        let group = Group::new().map_err(|error| self.unstarted(&error))?;
        let mut child =
            self.prepare(&group).stdout(Stdio::piped()).spawn().map_err(|error| self.unstarted(&error))?;
        let reports = thread::Builder::new()
            .spawn({
                let output = child.stdout.take();
                move || output.map(|output| failed_tests(BufReader::new(output))).unwrap_or_default()
            })
            .map_err(|error| self.unstarted(&error))?;
        let status = self.wait(&mut child, group, started, LONG_PATIENCE)?;
        let reports = reports.join().unwrap_or_default();
        if status.success() { Ok(()) } else { Err(self.failure(&format!("{status}{reports}"))) }
    }

    /// Run it with its output kept. The exit status is for the caller to judge.
    pub(crate) fn capture(self) -> Result<Output, Failure> {
        self.announce();
        self.capture_quietly()
    }

    /// As [`Command::capture`], without a line on the terminal: for questions about the machine.
    pub(crate) fn capture_quietly(self) -> Result<Output, Failure> {
        let group = Group::new().map_err(|error| self.unstarted(&error))?;
        let started = Instant::now();
        let mut child = self
            .prepare(&group)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| self.unstarted(&error))?;
        let text = collect(child.stdout.take()).map_err(|error| self.unstarted(&error))?;
        let diagnostics = collect(child.stderr.take()).map_err(|error| self.unstarted(&error))?;
        let status = self.wait(&mut child, group, started, PATIENCE)?;
        let time = started.elapsed();
        Ok(Output { code: status.code(), text: join(text), diagnostics: join(diagnostics), time })
    }

    /// Run it with standard output kept, and insist on success.
    pub(crate) fn read(self) -> Result<String, Failure> {
        let described = self.describe();
        let remedy = self.remedy.clone();
        let output = self.capture_quietly()?;
        match output.code {
            Some(0) => Ok(output.text),
            code => Err(Failure::new(
                format!("run `{described}`"),
                format!("{}\n{}", status_in_words(code), output.diagnostics.trim_end()),
                remedy,
            )),
        }
    }

    /// Waits for its end, until its time is over; then what is left of its group is killed.
    fn wait(
        &self,
        child: &mut process::Child,
        group: Group,
        started: Instant,
        usual: Duration,
    ) -> Result<ExitStatus, Failure> {
        let patience = self.patience.unwrap_or(usual);
        let status = loop {
            if let Some(status) = child.try_wait().map_err(|error| self.failure(&error))? {
                break status;
            }
            if started.elapsed() > patience {
                drop(group);
                // It was killed with its group, unless it left that: then whether it can still be killed no longer matters.
                let _ = child.kill();
                let _ = child.wait();
                return Err(self.failure(&format!("still running after {} s", patience.as_secs())));
            }
            thread::sleep(self.pause);
        };
        drop(group);
        Ok(status)
    }

    fn prepare(&self, group: &Group) -> process::Command {
        let mut command = process::Command::new(&self.program);
        command.args(&self.arguments).stdin(Stdio::null()).process_group(group.number());
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
    pub(crate) fn describe(&self) -> String {
        let variables = self.variables.iter().map(|(name, value)| format!("{name}={}", quoted(value)));
        // Cargo's path is long, and of no use to a reader. Another program's path tells which one it is.
        let cargo = Path::new(&self.program).file_name().filter(|name| *name == "cargo");
        let program = cargo.unwrap_or(&self.program);
        let words = [program].into_iter().chain(self.arguments.iter().map(OsString::as_os_str));
        variables.chain(words.map(quoted)).collect::<Vec<_>>().join(" ")
    }

    /// Why it could not even be started, with what helps then, whatever helps when it fails.
    fn unstarted(&self, error: &std::io::Error) -> Failure {
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
pub(crate) fn status_in_words(code: Option<i32>) -> String {
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

/// Copies what tests print to standard output, and keeps what the test harness reports of those that failed.
fn failed_tests(output: impl BufRead) -> String {
    let mut reports = String::new();
    let mut failed = false;
    for line in output.split(b'\n').map_while(Result::ok) {
        let line = String::from_utf8_lossy(&line);
        println!("{line}");
        failed = (failed || line == "failures:") && !line.starts_with("test result:");
        if failed && !line.is_empty() && line != "failures:" {
            reports.push_str("\n    ");
            reports.push_str(&line);
        }
    }
    reports
}

type Collector = Option<thread::JoinHandle<Vec<u8>>>;

fn collect<R: Read + Send + 'static>(pipe: Option<R>) -> std::io::Result<Collector> {
    let collected = |mut pipe: R| {
        thread::Builder::new().spawn(move || {
            let mut bytes = Vec::new();
            // A pipe that breaks has given what it had.
            let _ = pipe.read_to_end(&mut bytes);
            bytes
        })
    };
    pipe.map(collected).transpose()
}

fn join(collector: Collector) -> String {
    let bytes = collector.and_then(|thread| thread.join().ok()).unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_and_status_are_kept() {
        let output = Command::new("sh").arguments(["-c", "echo out; echo err >&2; exit 3"]).capture_quietly();
        let output = output.expect("sh runs");
        assert_eq!(
            (output.code, output.text.as_str(), output.diagnostics.as_str()),
            (Some(3), "out\n", "err\n")
        );
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
    fn what_it_started_ends_with_it() {
        // The child holds the output open, and nobody would come to its end.
        let script = "tail -f /dev/null & echo $!; exec tail -f /dev/null";
        for patience in [Duration::ZERO, Duration::from_secs(600)] {
            let script = if patience.is_zero() { script } else { "tail -f /dev/null & echo $!" };
            let command = Command::new("sh").arguments(["-c", script]).patience(patience);
            match command.capture_quietly() {
                Ok(output) => {
                    let left = format!("/proc/{}/cmdline", output.text.trim());
                    // Killed is not gone yet; but nothing of it runs any more.
                    assert_eq!(std::fs::read(left).unwrap_or_default(), b"");
                }
                Err(failure) => assert!(failure.to_string().contains("still running"), "{failure}"),
            }
        }
        assert!(Command::new("sh").arguments(["-c", script]).patience(Duration::ZERO).run().is_err());
    }

    #[test]
    fn what_failed_tests_print_is_kept() {
        let harness = "running 2 tests\ntest well ... ok\ntest ill ... FAILED\n\nfailures:\n\n---- ill stdout ----\n\
            left: 1\n\nfailures:\n    ill\n\ntest result: FAILED. 1 passed\n\nrunning 1 test\ntest other ... ok\n";
        assert_eq!(failed_tests(harness.as_bytes()), "\n    ---- ill stdout ----\n    left: 1\n        ill");
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
