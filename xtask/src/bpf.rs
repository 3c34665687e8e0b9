//! The programs for the kernel in `bpf`: the object that is kept is what this compiler makes of the source.

use std::fs;

use tenbin_model::Architecture;

use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::workspace::Workspace;

/// The compiler whose object is kept: Debian 12's. Another one may make another object of the same source.
const CLANG: &str = "clang-14";

/// The programs: `bpf/NAME.bpf.c`, and the object beside it.
const NAMES: [&str; 5] = ["profile", "records", "sample", "stall", "watch"];

pub(crate) fn needs() -> Vec<Requirement> {
    vec![
        Requirement::program(CLANG, CLANG),
        Requirement::program("llvm-14", "llvm-strip-14"),
        Requirement::file("libbpf-dev", "/usr/include/bpf/bpf_helpers.h"),
    ]
}

/// Compiles the programs, and compares the objects with those that are kept; or writes those.
pub(crate) fn check(workspace: &Workspace, writes: bool) -> Result<(), Failure> {
    let folder = workspace.scratch("bpf")?;
    // The headers of a C library that belong to the architecture are found where its compiler would look.
    let headers = format!("-I/usr/include/{}", Architecture::HERE.names().tools);
    for name in NAMES {
        let (source, object) = (format!("bpf/{name}.bpf.c"), format!("bpf/{name}.bpf.o"));
        let made = folder.join(format!("{name}.bpf.o"));
        Command::new(CLANG)
            .directory(workspace.root())
            .arguments(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-D__TARGET_ARCH_x86", &headers])
            .arguments(["-fdebug-compilation-dir=.", "-c", &source, "-o"])
            .argument(&made)
            .run()?;
        // The relocations of BTF are a linker's; a loader has no use for them.
        Command::new("llvm-strip-14")
            .arguments(["-g", "--remove-section=.rel.BTF", "--remove-section=.rel.BTF.ext"])
            .argument(&made)
            .run()?;
        let kept = workspace.root().join(&object);
        let read =
            |path| fs::read(path).map_err(|error| Failure::new(format!("read {object}"), error, REMEDY));
        let bytes = read(&made)?;
        if writes {
            fs::write(&kept, bytes)
                .map_err(|error| Failure::new(format!("write {object}"), error, "make the file writable"))?;
            continue;
        }
        if bytes != read(&kept)? {
            let reason = "its source makes another one";
            return Err(Failure::new(format!("compare {object} with what {CLANG} makes"), reason, REMEDY));
        }
        println!("{object}: {} bytes, as {CLANG} makes it", bytes.len());
    }
    Ok(())
}

const REMEDY: &str = "`cargo xtask bpf` makes the objects of the sources";
