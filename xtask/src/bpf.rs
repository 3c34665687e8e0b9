//! The programs for the kernel in `bpf`: the object that is kept is what this compiler makes of the source.

use std::fs;

use tenbin_model::Architecture;

use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::workspace::Workspace;

/// The compiler whose object is kept: Debian 12's. Another one may make another object of the same source.
const CLANG: &str = "clang-14";

const OBJECT: &str = "bpf/profile.bpf.o";

pub(crate) fn needs() -> Vec<Requirement> {
    vec![
        Requirement::program(CLANG, CLANG),
        Requirement::program("llvm-14", "llvm-strip-14"),
        Requirement::file("libbpf-dev", "/usr/include/bpf/bpf_helpers.h"),
    ]
}

/// Compiles the programs, and compares the object with the one that is kept; or writes that one.
pub(crate) fn check(workspace: &Workspace, writes: bool) -> Result<(), Failure> {
    let folder = workspace.scratch("bpf")?;
    let made = folder.join("profile.bpf.o");
    // The headers of a C library that belong to the architecture are found where its compiler would look.
    let headers = format!("-I/usr/include/{}", Architecture::HERE.names().tools);
    Command::new(CLANG)
        .directory(workspace.root())
        .arguments(["-g", "-O2", "-Wall", "-Werror", "-target", "bpf", "-D__TARGET_ARCH_x86", &headers])
        .arguments(["-fdebug-compilation-dir=.", "-c", "bpf/profile.bpf.c", "-o"])
        .argument(&made)
        .run()?;
    Command::new("llvm-strip-14").argument("-g").argument(&made).run()?;
    let kept = workspace.root().join(OBJECT);
    let read = |path| fs::read(path).map_err(|error| Failure::new(format!("read {OBJECT}"), error, REMEDY));
    let bytes = read(&made)?;
    if writes {
        return fs::write(&kept, bytes)
            .map_err(|error| Failure::new(format!("write {OBJECT}"), error, "make the file writable"));
    }
    if bytes != read(&kept)? {
        let reason = "its source makes another one";
        return Err(Failure::new(format!("compare {OBJECT} with what {CLANG} makes"), reason, REMEDY));
    }
    println!("{OBJECT}: {} bytes, as {CLANG} makes it", bytes.len());
    Ok(())
}

const REMEDY: &str = "`cargo xtask bpf` makes the object of the source";
