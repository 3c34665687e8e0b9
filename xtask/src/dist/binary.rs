//! The static binary: built small, its kernels read, stripped, and tried.

use std::fs;
use std::path::{Path, PathBuf};

use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Object, ObjectKind, ObjectSection, SectionFlags, elf};

use crate::architecture::{Architecture, Target};
use crate::command::Command;
use crate::disassembly;
use crate::failure::Failure;
use crate::files::cannot;
use crate::workspace::{Profile, Workspace};

/// What a binary may have at most, in bytes.
const LIMIT: u64 = 8_000_000;

/// Leaves `tenbin-ARCHITECTURE` in `folder`; gives its path and its size in bytes.
pub(super) fn build(
    workspace: &Workspace,
    architecture: Architecture,
    folder: &Path,
) -> Result<(PathBuf, u64), Failure> {
    let built = workspace.build(architecture, Profile::Dist)?;
    let disapproved =
        |reason: String, remedy: &str| Failure::new(format!("approve {}", built.display()), reason, remedy);
    let bytes = fs::read(&built).map_err(|error| cannot("read", &built, &error))?;
    inspect(&bytes, architecture).map_err(|reason| {
        disapproved(reason, "keep `crt-static` in .cargo/config.toml, and set no RUSTFLAGS that replace it")
    })?;
    // Optimisation across crates must not have changed what is timed.
    disassembly::examine(architecture, &built)?;
    let binary = folder.join(format!("tenbin-{}", architecture.name()));
    // LLVM's (22) refuses what GNU ld makes for arm64.
    let strip =
        Command::new(format!("{}-strip", architecture.names().tools)).arguments(["--strip-all", "-o"]);
    strip.argument(&binary).argument(&built).run()?;
    let stripped = fs::read(&binary).map_err(|error| cannot("read", &binary, &error))?;
    if loaded(&bytes) != loaded(&stripped) {
        let reason = "what is loaded of it is not what was before it was stripped";
        return Err(disapproved(reason.into(), "see what strip changed, by `readelf --sections` of both"));
    }
    let size = stripped.len() as u64;
    if size > LIMIT {
        let reason = format!("it has {size} bytes, and may have {LIMIT}");
        return Err(disapproved(reason, "see with `nm --size-sort` what grew"));
    }
    let store = workspace.scratch("dist-tried")?.join("store.db");
    for (words, answer) in TRIED {
        let command = architecture.command(&binary).directory(workspace.root());
        let text = command.variable("TENBIN_STORE", &store).arguments(words.iter().copied()).read()?;
        if !text.contains(answer) {
            let reason = format!("`tenbin {}` does not print `{answer}`, but {text}", words.join(" "));
            return Err(disapproved(reason, "try the same with a build for development"));
        }
    }
    Ok((binary, size))
}

/// What each binary is asked, and what its answer holds: what needs its numbers, its database and packed
/// samples, its analysis and its boot checker.
const TRIED: [(&[&str], &str); 5] = [
    (&["--version"], concat!("tenbin ", env!("CARGO_PKG_VERSION"))),
    (&["fib", "100"], "354224848179261915075"),
    (&["import", "fixtures/wire/format_2.db"], "1 new"),
    (&["run", "--from", "published"], "24 cores reach one buffer within 1.9 %"),
    (&["boot", "litmus", "fixtures/litmus"], "the condition was observed in 45, and not in 52"),
];

/// What is loaded of an ELF file, by address: the headers name what a stripped file has no more.
fn loaded(bytes: &[u8]) -> Option<Vec<(u64, &[u8])>> {
    let file = object::File::parse(bytes).ok()?;
    let is_loaded = |section: &object::Section<'_, '_>| match section.flags() {
        SectionFlags::Elf { sh_flags, .. } => sh_flags.0 & elf::SHF_ALLOC.0 != 0,
        _ => false,
    };
    let sections = file.sections().filter(is_loaded);
    sections.map(|section| Some((section.address(), section.data().ok()?))).collect()
}

/// Whether an ELF file is for `architecture` and needs nothing of the machine that it runs on.
fn inspect(bytes: &[u8], architecture: Architecture) -> Result<(), String> {
    let file = object::File::parse(bytes).map_err(|error| error.to_string())?;
    if !matches!(file.kind(), ObjectKind::Executable | ObjectKind::Dynamic) {
        return Err(format!("it is no program, but {:?}", file.kind()));
    }
    let header = elf::FileHeader64::<object::Endianness>::parse(bytes).map_err(|error| error.to_string())?;
    let endian = header.endian().map_err(|error| error.to_string())?;
    if header.e_machine(endian).0 != architecture.names().elf {
        return Err(format!("it is for {:?}", file.architecture()));
    }
    let segments = header.program_headers(endian, bytes).map_err(|error| error.to_string())?;
    for segment in segments {
        if segment.p_type(endian) == elf::PT_INTERP {
            return Err("it asks for a dynamic loader (PT_INTERP)".into());
        }
        let dynamic = segment.dynamic(endian, bytes).map_err(|error| error.to_string())?;
        let needed = |entry: &elf::Dyn64<object::Endianness>| entry.tag(endian) == elf::DT_NEEDED;
        if dynamic.is_some_and(|entries| entries.iter().any(needed)) {
            return Err("it asks for a shared library (DT_NEEDED)".into());
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_static_binary_is_for_this_architecture_alone() {
        let own = std::env::current_exe().and_then(std::fs::read).expect("a test can read itself");
        let host = Architecture::HERE;
        assert_eq!(inspect(&own, host), Ok(()));
        for other in crate::architecture::foreign() {
            assert!(inspect(&own, other).expect_err("another architecture").starts_with("it is for"));
        }
    }

    #[test]
    fn a_dynamic_program_and_what_is_no_program_are_found() {
        let host = Architecture::HERE;
        let shell = std::fs::read("/bin/sh").expect("there is a shell");
        assert!(inspect(&shell, host).expect_err("a shell is dynamic").contains("PT_INTERP"));
        assert!(inspect(b"#!/bin/sh\n", host).is_err());
    }
}
