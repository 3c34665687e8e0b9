//! What a call of the C library becomes: API, ABI, system call, seen by ptrace.
//!
//! A small program of ours (`trace/probe.c`) calls one function once. It is linked by the machine's own
//! compiler against the machine's own C library, so what is seen is what that library does here: which file
//! defines the function and in which version it is bound, the registers at its entry, and every system call
//! until it returns, in every process and thread that it makes. It works on x86-64, arm64 and riscv64; the
//! tables of all three are in every build.
//!
//! Reading order: [`findings`], then `trace/follow.rs`.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use tenbin_metal::calls::Watchers;
use tenbin_metal::child::End;
use tenbin_metal::tracee::{self, Tracee, Trouble};
use tenbin_metal::{Fault, terminal};
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{Architecture, Finding, Refusal};

use crate::compiled::{Kind, Workshop};
use crate::experiment::Unfit;
use crate::source::source;

mod api;
mod architecture;
mod follow;
mod image;
mod names;
mod place;
mod signature;
#[cfg(test)]
mod tests;
mod transcript;
mod words;

pub use api::{USUAL, known};

use api::{Api, Case};
use follow::Reached;
use image::Image;
use transcript::Transcript;

/// How the probe is compiled: every call must be one, of the function that is named.
const OPTIONS: &[&str] = &["-fno-builtin", "-fno-optimize-sibling-calls", "-pthread", "-ldl"];

/// How long a call may take. Each takes milliseconds.
const DEADLINE: Duration = Duration::from_secs(20);

/// How the probe ends when it does not know what it is told.
const UNKNOWN: i32 = 64;

/// A function of the C library that can be traced. It is parsed from its name.
#[derive(Clone, Copy, Debug)]
pub struct Function(&'static Api);

impl Function {
    /// Those to trace where none are named.
    pub fn usual() -> Vec<Self> {
        USUAL.iter().filter_map(|name| name.parse().ok()).collect()
    }
}

impl FromStr for Function {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        api::find(name).map(Self).ok_or_else(|| {
            let known = comma(known());
            format!("no function `{name}` can be traced; those that can: {known}")
        })
    }
}

impl PartialEq for Function {
    fn eq(&self, other: &Self) -> bool {
        self.0.name == other.0.name
    }
}

/// What is to be traced.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Name of the experiment that asks; findings carry it.
    pub experiment: String,
    /// The functions.
    pub functions: Vec<Function>,
    /// A probe that was compiled elsewhere. Without one it is compiled here.
    pub probe: Option<PathBuf>,
    /// Variables for the probe's environment, beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// How long one call may take.
    pub deadline: Duration,
}

impl Asked {
    /// `functions`, for `experiment`, with a probe that is compiled here.
    pub fn new(experiment: &str, functions: Vec<Function>) -> Self {
        Self {
            experiment: experiment.into(),
            functions,
            probe: None,
            environment: Vec::new(),
            deadline: DEADLINE,
        }
    }
}

/// What the calls of `asked` become here: a finding for each way to call each function, in the order of the
/// request. Where one cannot be traced and another can, its finding says why.
///
/// # Errors
/// Where nothing could be traced, why the first could not. A usage error for a probe that cannot be one or
/// does not make the call. What is missing where there is no compiler and no probe. A refusal where the
/// kernel does not let this process trace, is too old to tell, or where the probe does not end.
pub fn findings(asked: &Asked) -> Result<Vec<Finding>, Unfit> {
    // Lives as long as the program in it is used.
    let mut workshop = None;
    let path = match &asked.probe {
        Some(path) => path.clone(),
        None => {
            let opened = Workshop::open(
                "a trace runs a small program that is linked against this machine's C library",
            )?;
            workshop.insert(opened).compile("probe", &source!("probe.c"), Kind::Program, OPTIONS)?
        }
    };
    let (path, image) = probe(&path)?;
    let (mut findings, mut failure, mut traced) = (Vec::new(), None, false);
    for Function(api) in &asked.functions {
        for case in api.cases {
            match finding(asked, &path, &image, api, case) {
                Ok(finding) => {
                    findings.push(finding);
                    traced = true;
                }
                // What keeps every call from being traced need not be waited for as often.
                Err(Untraced { why, of_all: true }) if !traced => return Err(why),
                Err(Untraced { why, .. }) => {
                    findings.push(untraced(&asked.experiment, api, case, &why));
                    failure.get_or_insert(why);
                }
            }
        }
    }
    match failure {
        Some(why) if !traced => Err(why),
        _ => Ok(findings),
    }
}

/// Why one call was not traced.
#[derive(Debug)]
struct Untraced {
    why: Unfit,
    /// Whether no other call of the same probe can be traced either.
    of_all: bool,
}

impl From<Unfit> for Untraced {
    fn from(why: Unfit) -> Self {
        Self { why, of_all: false }
    }
}

/// One call, traced, in words.
fn finding(
    asked: &Asked,
    path: &Path,
    image: &Image,
    api: &'static Api,
    case: &'static Case,
) -> Result<Finding, Untraced> {
    if image.import(api.name).is_none() {
        return Err(absent(path, api).into());
    }
    let seen = trace(asked, path, image, api, case)?;
    match seen.bound.as_ref().filter(|_| seen.called) {
        Some(bound) => Ok(words::finding(&asked.experiment, api, case, &seen, bound, Architecture::HERE)),
        None => Err(uncalled(asked, path, api, &seen).into()),
    }
}

/// That one call was not traced, beside others that were.
fn untraced(experiment: &str, api: &Api, case: &Case, why: &Unfit) -> Finding {
    let (why, evidence) = match why {
        Unfit::Usage(why) => (why.clone(), "The same probe made other calls".into()),
        Unfit::Refused(refusal) => {
            (refusal.reached.clone(), format!("It needs {}; {}", refusal.needs, refusal.remedy))
        }
        Unfit::Missing(missing) => (missing.to_string(), "Others were traced".into()),
        Unfit::Fault(fault) => (fault.to_string(), "Others were traced".into()),
        Unfit::Stopped => ("tenbin was interrupted".into(), "Others were traced".into()),
    };
    Finding {
        experiment: experiment.into(),
        sentence: format!("{}(){} was not traced: {why}.", api.name, case.suffix),
        evidence,
        confidence: "it was tried".into(),
    }
}

/// Looks at a probe that was compiled elsewhere before anything runs: whether it is there, a dynamic program
/// of this architecture, and takes any of the functions from a library.
///
/// # Errors
/// The usage errors of [`findings`], but for a probe that does not know how to make a call that is in it.
pub fn check(asked: &Asked) -> Result<(), Unfit> {
    let Some(path) = &asked.probe else { return Ok(()) };
    let (path, image) = probe(path)?;
    let calls = |Function(api): &Function| image.import(api.name).is_some();
    match asked.functions.first() {
        Some(Function(first)) if !asked.functions.iter().any(calls) => Err(absent(&path, first)),
        _ => Ok(()),
    }
}

/// The probe takes no such function from a library.
fn absent(path: &Path, api: &Api) -> Unfit {
    Unfit::Usage(format!(
        "the probe {} does not call {}: the C library that it was compiled against has none, or it is another program",
        path.display(),
        api.name
    ))
}

/// Reads a probe, and whether it can be one.
fn probe(path: &Path) -> Result<(PathBuf, Image), Unfit> {
    let shown = path.display();
    let usage = |why: String| Unfit::Usage(format!("the probe {shown} {why}"));
    let path = path.canonicalize().map_err(|error| usage(format!("cannot be found: {error}")))?;
    let bytes = image::bytes(&path).map_err(usage)?;
    let image = Image::parse(&bytes).map_err(usage)?;
    match image.architecture {
        Some(Architecture::HERE) => {}
        Some(other) => {
            let [theirs, here] = [other, Architecture::HERE].map(|it| it.names().sentence);
            return Err(usage(format!("is for {theirs}, and this machine is {here}")));
        }
        None => return Err(usage("is for an architecture that is not known here".into())),
    }
    if !image.interpreted {
        let why = "is static: it takes no function from a library, so there is no library to be seen";
        return Err(usage(why.into()));
    }
    Ok((path, image))
}

fn trace(
    asked: &Asked,
    path: &Path,
    image: &Image,
    api: &'static Api,
    case: &'static Case,
) -> Result<Transcript, Untraced> {
    let mut command = Command::new(path);
    command.arg(case.argument).stdin(Stdio::null());
    command.envs(asked.environment.iter().map(|(name, value)| (name, value)));
    // Every function is bound before the program begins, and the word that holds its address can be read.
    command.env("LD_BIND_NOW", "1");
    let pipe = || std::io::pipe().map_err(|error| Unfit::from(Fault::system("make a pipe", error)));
    // The other end stays open as long as the probe writes; what little it writes is not read.
    let _reader = if case.terminal {
        let (outside, inside) = terminal::pair().map_err(Unfit::from)?;
        command.stdout(inside);
        outside
    } else {
        let (reader, writer) = pipe()?;
        command.stdout(writer);
        reader.into()
    };
    let (errors, writer) = pipe()?;
    command.stderr(writer);
    let mut reached = Reached::Nothing;
    let (answer, complaint) = thread::scope(|scope| {
        // Ends when the last process that holds the other end has ended, which is when the trace has.
        let listener = match thread::Builder::new().spawn_scoped(scope, || complaint(errors)) {
            Ok(listener) => listener,
            Err(error) => {
                let fault = Fault::system("start a thread that reads what a probe writes", error);
                return (Err(tracee::Trouble::Fault(fault)), String::new());
            }
        };
        let follow = |tracee: &mut Tracee<'_>| follow::follow(tracee, api, case, image, &mut reached);
        let answer = tracee::traced(command, asked.deadline, follow);
        (answer, listener.join().unwrap_or_default())
    });
    match answer {
        Ok(seen) => Ok(Transcript { complaint, ..seen }),
        Err(trouble) => {
            let given = asked.probe.is_some().then_some(path);
            let tracer = Watchers::of_this_process().ok().and_then(|seen| seen.tracer);
            Err(unfit(trouble, api, Standing { reached, given, tracer, complaint: &complaint }))
        }
    }
}

/// Bytes of the probe's standard error that are kept.
const COMPLAINT: u64 = 2000;

/// What the probe writes to standard error: the beginning, in one line. The rest is read, so that nobody
/// waits for room, and dropped.
fn complaint(mut errors: impl Read) -> String {
    let mut kept = Vec::new();
    // What cannot be read is not quoted.
    let _ = errors.by_ref().take(COMPLAINT).read_to_end(&mut kept);
    let _ = std::io::copy(&mut errors, &mut std::io::sink());
    let text = String::from_utf8_lossy(&kept);
    let lines = text.lines().map(|line| line.replace(char::is_control, " ").trim().to_owned());
    semicolon(lines.filter(|line| !line.is_empty()).take(3))
}

fn quoted(complaint: &str) -> String {
    if complaint.is_empty() { String::new() } else { format!("; it wrote: {complaint}") }
}

/// How things stood when a trace broke off.
#[derive(Clone, Copy)]
struct Standing<'a> {
    reached: Reached,
    /// The probe, if it was compiled elsewhere.
    given: Option<&'a Path>,
    /// Who traces this process: 0 if nobody does, none where that is not known.
    tracer: Option<u64>,
    complaint: &'a str,
}

/// Why there is no trace, as what the user is told.
fn unfit(trouble: Trouble, api: &Api, standing: Standing<'_>) -> Untraced {
    let Standing { reached, given, tracer, complaint } = standing;
    let refused = |needs: &str, remedy: &str| {
        let reached = format!("{trouble}{}", quoted(complaint));
        Unfit::Refused(Refusal { reached, needs: needs.into(), remedy: remedy.into() })
    };
    let (why, of_all) = match (&trouble, given) {
        (Trouble::Forbidden(_), _) => {
            let remedy = match tracer {
                Some(tracer @ 1..) => format!(
                    "tenbin itself is traced, by process {tracer}, and a process has one tracer: run it without strace, \
                     gdb or whatever that is"
                ),
                _ => "allow it: as root, or `sysctl kernel.yama.ptrace_scope=1`; in a container, run it with a seccomp \
                      profile that allows ptrace"
                    .into(),
            };
            (refused("ptrace(2), to stop the probe at every system call", &remedy), true)
        }
        (Trouble::Unsupported, _) => (refused("PTRACE_GET_SYSCALL_INFO", "run on Linux 5.3 or later"), true),
        (Trouble::OutOfTime(_), _) if reached == Reached::Call => {
            let needs = format!("the probe's call of {}() to come to an end", api.name);
            (refused(&needs, "run again; if it happens again, that call hangs here"), false)
        }
        (Trouble::OutOfTime(deadline), Some(path)) => {
            let path = path.display();
            let why = format!(
                "the probe {path} was still running after {deadline:?} and had not called {}(){}; {WHAT_IS_ONE}",
                api.name,
                quoted(complaint)
            );
            (Unfit::Usage(why), true)
        }
        (Trouble::OutOfTime(_), None) => {
            let needs = format!("the probe to reach its call of {}()", api.name);
            (refused(&needs, "run again on a quieter machine"), true)
        }
        (Trouble::Fault(Fault::System { error, .. }), Some(path))
            if reached == Reached::Nothing && not_started(error) =>
        {
            let path = path.display();
            let why =
                format!("the probe {path} cannot be started, or the dynamic linker that it names: {error}");
            (Unfit::Usage(why), true)
        }
        _ => {
            let fault = match trouble {
                Trouble::Fault(fault) => fault,
                other => Fault::system("trace the probe", std::io::Error::other(other.to_string())),
            };
            (Unfit::Fault(fault), false)
        }
    };
    Untraced { why, of_all }
}

/// Whether execve(2) says so of the file and not of the machine.
fn not_started(error: &std::io::Error) -> bool {
    const ENOENT: i32 = 2;
    const ENOEXEC: i32 = 8;
    const EACCES: i32 = 13;
    matches!(error.raw_os_error(), Some(ENOENT | ENOEXEC | EACCES))
}

/// What to give instead of what is no probe.
const WHAT_IS_ONE: &str = "a probe is compiled from `crates/lab/src/trace/probe.c`";

/// The probe has ended and not made the call.
fn uncalled(asked: &Asked, path: &Path, api: &Api, seen: &Transcript) -> Unfit {
    let path = path.display();
    if seen.ended == Some(End::Exited(UNKNOWN)) {
        return Unfit::Usage(format!("the probe {path} does not know how to call {}", api.name));
    }
    let ended = seen.ended.map_or_else(|| "ended unseen".into(), words::ended);
    let quoted = quoted(&seen.complaint);
    if asked.probe.is_some() {
        let name = api.name;
        Unfit::Usage(format!("the probe {path} {ended} before it called {name}(){quoted}; {WHAT_IS_ONE}"))
    } else {
        Unfit::Fault(Fault::system(
            format!("trace {}()", api.name),
            std::io::Error::other(format!("the probe {ended} before it made the call{quoted}")),
        ))
    }
}
