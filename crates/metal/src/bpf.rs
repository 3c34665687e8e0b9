//! Programs in the kernel (BPF): how they are loaded and attached, and what is lacking where they cannot be.

use std::fmt::Write;
use std::{io, panic, thread};

use aya::maps::{Map, MapData, RingBuf};
use aya::programs::{Program, ProgramError};
use aya::{Ebpf, EbpfLoader};
use rustix::process::chroot;
use rustix::thread::{UnshareFlags, unshare_unsafe};

mod types;

pub(crate) use types::Types;

/// Why no program could be attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lacking {
    /// The rights to load and attach programs: `CAP_BPF` and `CAP_PERFMON`, or root.
    Rights,
    /// What the kernel says of its own types (`/sys/kernel/btf/vmlinux`).
    Types,
    /// Something else: it is too old, or was built without it.
    Kernel,
}

/// What was tried, and why it failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unattached {
    /// What is lacking.
    pub lacking: Lacking,
    /// What was tried and what the kernel said.
    pub why: String,
}

/// The kernel's types, and what loads programs by them.
pub(crate) fn kernel_types() -> (Result<Types, Unattached>, EbpfLoader<'static>) {
    let (types, loader) = thread::scope(|scope| {
        let loader = scope.spawn(loader);
        (Types::read(), loader.join())
    });
    let types = types.map_err(|why| Unattached { lacking: Lacking::Types, why });
    let loader = loader.unwrap_or_else(|panic| panic::resume_unwind(panic));
    (types, loader)
}

/// A loader that has not read the kernel's types, to be called by a thread that does nothing else after it.
///
/// Aya's reads all of them when it is made, though it is given those that are needed before it loads
/// anything. They took 45 ms, which is a third of the time before a command starts. Where `/` is a folder
/// that has none it does not. That needs `CAP_SYS_CHROOT`, and without it they are read.
fn loader() -> EbpfLoader<'static> {
    // SAFETY: only `FILES` can harm other threads; `FS` gives this one a root and a working directory of its
    // own.
    if unsafe { unshare_unsafe(UnshareFlags::FS) }.is_ok() {
        let _ = chroot("/proc");
    }
    EbpfLoader::new()
}

/// What could not be done, and why.
pub(crate) fn unattached(what: &str, error: &(dyn std::error::Error + 'static)) -> Unattached {
    Unattached {
        lacking: if is_denied(error) { Lacking::Rights } else { Lacking::Kernel },
        why: format!("{what}: {}", chain(error)),
    }
}

/// A map of an object that is loaded.
pub(crate) fn map<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut Map, Unattached> {
    loaded
        .map_mut(name)
        .ok_or_else(|| Unattached { lacking: Lacking::Kernel, why: format!("the object has no map {name}") })
}

/// Hands a program to the kernel, for a tracepoint if it is for one, unless that has it.
pub(crate) fn load(program: &mut Program, at: &str, types: Option<&Types>) -> Result<(), ProgramError> {
    if program.fd().is_ok() {
        return Ok(());
    }
    match (program, types) {
        (Program::BtfTracePoint(program), Some(types)) => program.load(at, &types.tracepoints),
        (Program::RawTracePoint(program), _) => program.load(),
        (Program::TracePoint(program), _) => program.load(),
        (Program::PerfEvent(program), _) => program.load(),
        _ => Ok(()),
    }
}

/// Attaches a program that the kernel took. One that is handed records has a category before its
/// tracepoint: `sched/sched_switch`.
pub(crate) fn attach(loaded: &mut Ebpf, name: &str, at: &str) -> Result<(), ProgramError> {
    match loaded.program_mut(name) {
        Some(Program::BtfTracePoint(program)) => program.attach().map(drop),
        Some(Program::RawTracePoint(program)) => program.attach(at).map(drop),
        Some(Program::TracePoint(program)) => {
            let (category, event) = at.split_once('/').unwrap_or_default();
            program.attach(category, event).map(drop)
        }
        _ => Ok(()),
    }
}

/// Loads and attaches a program of a tracepoint.
pub(crate) fn attach_tracepoint(
    loaded: &mut Ebpf,
    program: &str,
    at: &str,
    types: Option<&Types>,
) -> Result<(), ProgramError> {
    if let Some(program) = loaded.program_mut(program) {
        load(program, at, types)?;
    }
    attach(loaded, program, at)
}

/// Programs attached to tracepoints, each with its tracepoint and whether every kernel has that, and the ring
/// `events` to which they write. `packed` is their object, as the build script packed it.
pub(crate) fn attach_ring<'a>(
    mut loader: EbpfLoader<'a>,
    packed: &[u8],
    tracepoints: &[(&str, &str, bool)],
    types: &'a Types,
) -> Result<(Ebpf, RingBuf<MapData>), Unattached> {
    loader.btf(Some(&types.members));
    // What the build script packed can be unpacked.
    let object = miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default();
    let mut loaded =
        loader.load(&object).map_err(|error| unattached("create what BPF programs write to", &error))?;
    let ring = loaded
        .take_map("events")
        .ok_or_else(|| Unattached { lacking: Lacking::Kernel, why: "the object has no map events".into() })?;
    let ring = RingBuf::try_from(ring).map_err(|error| unattached("map a BPF ring", &error))?;
    for (program, tracepoint, is_everywhere) in tracepoints {
        let attached = attach_tracepoint(&mut loaded, program, tracepoint, Some(types));
        if let (Err(error), true) = (attached, is_everywhere) {
            return Err(unattached(&format!("attach a BPF program to {tracepoint}"), &error));
        }
    }
    Ok((loaded, ring))
}

/// An error with all that caused it. Of the log of the kernel's verifier there is the last line that says
/// what is wrong: those before it are how it got there, and those after it what that took.
pub(crate) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    if let Some(ProgramError::LoadError { io_error, verifier_log }) = error.downcast_ref() {
        let is_sum = |line: &str| {
            ["processed ", "verification time", "stack depth"].iter().any(|sum| line.starts_with(sum))
        };
        let log = verifier_log.to_string();
        let wrong = log.lines().rfind(|line| !line.trim().is_empty() && !is_sum(line));
        return wrong.map_or_else(|| io_error.to_string(), |wrong| format!("{io_error}: {wrong}"));
    }
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        // Some name their cause themselves.
        let words = error.to_string();
        if !text.contains(&words) {
            let _ = write!(text, ": {words}");
        }
        cause = error.source();
    }
    text
}

/// Whether it comes of rights that are lacking.
fn is_denied(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<io::Error>() {
            return error.kind() == io::ErrorKind::PermissionDenied;
        }
        cause = error.source();
    }
    false
}
