//! The release: one static file for each architecture.

use std::path::Path;

use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Object, ObjectKind, elf};

use crate::architecture::{Architecture, Target};
use crate::disassembly;
use crate::failure::Failure;
use crate::requirement;
use crate::workspace::{Profile, Workspace};

/// Build all of them into `release-binaries` in the target folder, and check each.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let needs = Architecture::ALL.into_iter().flat_map(disassembly::needs).collect::<Vec<_>>();
    requirement::insist(&needs)?;
    let folder = workspace.target().join("release-binaries");
    std::fs::create_dir_all(&folder).map_err(|error| cannot("create", &folder, &error))?;
    let mut lines = Vec::new();
    for architecture in Architecture::ALL {
        let built = workspace.build(architecture, Profile::Dist)?;
        let bytes = std::fs::read(&built).map_err(|error| cannot("read", &built, &error))?;
        inspect(&bytes, architecture).map_err(|reason| {
            let remedy = "keep `crt-static` in .cargo/config.toml, and set no RUSTFLAGS that replace it";
            Failure::new(format!("approve {}", built.display()), reason, remedy)
        })?;
        // Optimisation across crates must not have changed what is timed.
        disassembly::examine(architecture, &built)?;
        let version = architecture.command(&built).argument("--version").read()?;
        let binary = folder.join(format!("tenbin-{}", architecture.name()));
        place(&built, &binary)?;
        let size = bytes.len() as f64 / 1e6;
        lines.push(format!(
            "{:<8} {size:>6.2} MB  static  {}  {}",
            architecture.name(),
            version.trim(),
            binary.display()
        ));
    }
    println!("\nThe release binaries:");
    for line in lines {
        println!("  {line}");
    }
    Ok(())
}

/// Put `built` at `binary`, whole or not at all.
fn place(built: &Path, binary: &Path) -> Result<(), Failure> {
    let partial = binary.with_extension("partial");
    std::fs::copy(built, &partial).map_err(|error| cannot("copy to", &partial, &error))?;
    std::fs::rename(&partial, binary).map_err(|error| cannot("create", binary, &error))
}

fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(format!("{verb} {}", path.display()), error, "make room there, and make it writable")
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
