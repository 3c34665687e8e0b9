//! What a call of the C library becomes: API, ABI, system call, seen by ptrace.
//!
//! A small program of ours (`trace/probe.c`) calls one function once. It is linked by the machine's own compiler against
//! the machine's own C library, so what is seen is what that library does here: which file defines the function and in
//! which version it is bound, the registers at its entry, and every system call until it returns, in every process and
//! thread that it makes. It works on x86-64, arm64 and riscv64; the tables of all three are in every build.
//!
//! Reading order: [`findings`], then `trace/follow.rs`.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tenbin_metal::child::End;
use tenbin_metal::tracee::{self, Trouble};
use tenbin_metal::{Fault, terminal};
use tenbin_model::{Finding, Refusal};

use crate::compiled::{Kind, Workshop};
use crate::experiment::Unfit;

mod api;
mod architecture;
mod follow;
mod image;
mod names;
mod place;
mod seen;
mod signature;
#[cfg(test)]
mod tests;
mod words;

pub use api::{USUAL, known};
pub use architecture::Architecture;

use api::{Api, Case};
use image::Image;
use seen::Seen;

/// The source of the probe, for those who compile it elsewhere (`cc -fno-builtin -fno-optimize-sibling-calls -pthread`).
pub const PROBE: &str = include_str!("trace/probe.c");

/// How the probe is compiled: every call must be one, of the function that is named.
const OPTIONS: &[&str] = &["-fno-builtin", "-fno-optimize-sibling-calls", "-pthread", "-ldl"];

/// How long a call may take. Each takes milliseconds.
const DEADLINE: Duration = Duration::from_secs(20);

/// How the probe ends when it does not know what it is told.
const UNKNOWN: i32 = 64;

/// What is to be traced.
#[derive(Clone, Debug)]
pub struct Asked {
    /// Name of the experiment that asks; findings carry it.
    pub experiment: String,
    /// The functions, by name: see [`known`].
    pub functions: Vec<String>,
    /// A probe that was compiled elsewhere. Without one it is compiled here.
    pub probe: Option<PathBuf>,
    /// Variables for the probe's environment, beside those of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// How long one call may take.
    pub deadline: Duration,
}

impl Asked {
    /// The functions named `functions`, for `experiment`, with a probe that is compiled here.
    pub fn new(experiment: &str, functions: &[&str]) -> Self {
        Self {
            experiment: experiment.into(),
            functions: functions.iter().map(|&name| name.into()).collect(),
            probe: None,
            environment: Vec::new(),
            deadline: DEADLINE,
        }
    }
}

/// What the calls of `asked` become here: a finding for each way to call each function, in the order of the request.
///
/// # Errors
/// A usage error for a function that is not known (it lists those that are), and for a probe that cannot be one.
/// What is missing where there is no compiler and no probe. A refusal where the kernel does not let this process
/// trace, is too old to tell, or where the probe does not end.
pub fn findings(asked: &Asked) -> Result<Vec<Finding>, Unfit> {
    let apis = apis(asked)?;
    // Lives as long as the program in it is used.
    let mut workshop = None;
    let path = match &asked.probe {
        Some(path) => path.clone(),
        None => {
            let opened = Workshop::open(
                "a trace runs a small program that is linked against this machine's C library",
            )?;
            workshop.insert(opened).compile("probe", PROBE, Kind::Program, OPTIONS)?
        }
    };
    let (path, image) = probe(&path)?;
    let mut findings = Vec::new();
    for api in apis {
        calls(&path, &image, api)?;
        for case in api.cases {
            let seen = trace(asked, &path, &image, api, case)?;
            let bound =
                seen.bound.as_ref().filter(|_| seen.called).ok_or_else(|| uncalled(&path, api, &seen))?;
            findings.push(words::finding(&asked.experiment, api, case, &seen, bound, Architecture::HERE));
        }
    }
    Ok(findings)
}

/// Looks at what of `asked` can be wrong before anything runs: the names of the functions, and the probe that was
/// compiled elsewhere (whether it is there, a dynamic program of this architecture, and calls them all).
///
/// # Errors
/// The usage errors of [`findings`], but for a probe that does not know how to make a call that is in it.
pub fn check(asked: &Asked) -> Result<(), Unfit> {
    let apis = apis(asked)?;
    let Some(path) = &asked.probe else { return Ok(()) };
    let (path, image) = probe(path)?;
    apis.into_iter().try_for_each(|api| calls(&path, &image, api))
}

/// The functions that are asked for.
fn apis(asked: &Asked) -> Result<Vec<&'static Api>, Unfit> {
    let find = |name: &String| {
        api::find(name).ok_or_else(|| {
            let known = known().collect::<Vec<_>>().join(", ");
            Unfit::Usage(format!("no function `{name}` can be traced; those that can: {known}"))
        })
    };
    asked.functions.iter().map(find).collect()
}

/// Whether the probe at `path` takes the function from a library.
fn calls(path: &Path, image: &Image, api: &Api) -> Result<(), Unfit> {
    if image.import(api.name).is_some() {
        return Ok(());
    }
    Err(Unfit::Usage(format!(
        "the probe {} does not call {}: the C library that it was compiled against has none, or it is another program",
        path.display(),
        api.name
    )))
}

/// Reads a probe, and whether it can be one.
fn probe(path: &Path) -> Result<(PathBuf, Image), Unfit> {
    let shown = path.display();
    let usage = |why: String| Unfit::Usage(format!("the probe {shown} {why}"));
    let path = path.canonicalize().map_err(|error| usage(format!("cannot be found: {error}")))?;
    if path.is_dir() {
        return Err(usage("is a folder".into()));
    }
    let bytes = fs::read(&path).map_err(|error| usage(format!("cannot be read: {error}")))?;
    let image = Image::parse(&bytes).map_err(usage)?;
    match image.architecture {
        Some(Architecture::HERE) => {}
        Some(other) => {
            let here = Architecture::HERE.name();
            return Err(usage(format!("is for {}, and this machine is {here}", other.name())));
        }
        None => return Err(usage("is for an architecture that is not known here".into())),
    }
    if !image.interpreted {
        let why = "is static: it takes no function from a library, so there is no library to be seen";
        return Err(usage(why.into()));
    }
    Ok((path, image))
}

/// One call, traced.
fn trace(
    asked: &Asked,
    path: &Path,
    image: &Image,
    api: &'static Api,
    case: &'static Case,
) -> Result<Seen, Unfit> {
    let mut command = Command::new(path);
    command.arg(case.told).stdin(Stdio::null()).stderr(Stdio::null());
    command.envs(asked.environment.iter().map(|(name, value)| (name, value)));
    // Every function is bound before the program begins, and the word that holds its address can be read.
    command.env("LD_BIND_NOW", "1");
    // The other end stays open as long as the probe writes; what little it writes is not read.
    let _reader = if case.terminal {
        let (outside, inside) = terminal::pair()?;
        command.stdout(inside);
        outside
    } else {
        let (reader, writer) = std::io::pipe().map_err(|error| Fault::system("make a pipe", error))?;
        command.stdout(writer);
        reader.into()
    };
    tracee::traced(command, asked.deadline, |tracee| follow::follow(tracee, api, case, image))
        .map_err(|trouble| unfit(trouble, api))
}

/// Why there is no trace, as what the user is told.
fn unfit(trouble: Trouble, api: &Api) -> Unfit {
    let refused = |needs: &str, remedy: &str| {
        Unfit::Refused(Refusal { reached: trouble.to_string(), needs: needs.into(), remedy: remedy.into() })
    };
    match &trouble {
        Trouble::Forbidden(_) => refused(
            "ptrace(2), to stop the probe at every system call",
            "allow it: as root, or `sysctl kernel.yama.ptrace_scope=1`; in a container, run it with a seccomp profile \
             that allows ptrace",
        ),
        Trouble::Unsupported => refused("PTRACE_GET_SYSCALL_INFO", "run on Linux 5.3 or later"),
        Trouble::OutOfTime(_) => refused(
            &format!("the probe's call of {}() to come to an end", api.name),
            "run again; if it happens again, that call hangs here",
        ),
        Trouble::Gone(_) => {
            Unfit::Fault(Fault::system("trace the probe", std::io::Error::other(trouble.to_string())))
        }
        Trouble::Fault(_) => match trouble {
            Trouble::Fault(fault) => Unfit::Fault(fault),
            other => Unfit::Usage(other.to_string()),
        },
    }
}

/// The probe has ended and not made the call.
fn uncalled(path: &Path, api: &Api, seen: &Seen) -> Unfit {
    let path = path.display();
    match seen.ended {
        Some(End::Exited(UNKNOWN)) => {
            Unfit::Usage(format!("the probe {path} does not know how to call {}", api.name))
        }
        Some(end) => Unfit::Fault(Fault::system(
            format!("trace {}() in {path}", api.name),
            std::io::Error::other(format!("the probe ended before it made the call: {end:?}")),
        )),
        None => Unfit::Fault(Fault::system(
            format!("trace {}() in {path}", api.name),
            std::io::Error::other("the probe's end was not seen"),
        )),
    }
}
