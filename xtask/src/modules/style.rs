//! The kernel's style, by the kernel's own `checkpatch.pl`, which comes with Debian's sources of Linux.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::FOLDER;
use super::sources::{copy, sources};
use crate::command::{Command, Output};
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::workspace::Workspace;

/// Debian's sources of Linux: 130 MB, packed.
const ARCHIVE: &str = "/usr/src/linux-source-6.1.tar.xz";

/// What is taken out of them.
const SCRIPTS: &[&str] = &["checkpatch.pl", "spelling.txt", "const_structs.checkpatch"];

/// Not examined: a stub is the header that defines what checkpatch says one should use instead.
const STUBS: &str = "compat/stubs";

/// What checkpatch says of every question for the kernel's version. It is right in a kernel's own tree, where
/// a file meets one version. Here a file meets several.
const OF_VERSIONS: &str = "LINUX_VERSION_CODE,CONSTANT_COMPARISON";

/// Indented by blanks, and with one where the style wants none.
const PLANTED: &str = "// SPDX-License-Identifier: GPL-2.0\nint planted( int n)\n{\n  return n;\n}\n";

/// What it needs.
pub(crate) fn needs() -> Vec<Requirement> {
    vec![
        Requirement::file("linux-source-6.1", ARCHIVE),
        Requirement::program("perl", "perl"),
        Requirement::program("xz-utils", "xz"),
    ]
}

/// Have checkpatch read every source of the modules, and a fault that it must find.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let checker = Checker { scripts: unpacked(workspace)? };
    // It leaves a file of names in mixed case where it is called, so it is called beside a copy.
    let folder = workspace.scratch("style")?;
    copy(&workspace.root().join(FOLDER), &folder)?;
    let mut faults = Vec::new();
    let mut read = 0;
    for path in sources(&folder)?.into_iter().filter(|path| !path.starts_with(STUBS)) {
        let text = fs::read_to_string(folder.join(&path)).unwrap_or_default();
        let output = checker.examine(&folder, &path, text.contains("LINUX_VERSION_CODE"))?;
        read += 1;
        if !clean(&output) {
            print!("{}{}", output.text, output.diagnostics);
            faults.push(format!("checkpatch.pl finds something in {FOLDER}/{}", path.display()));
        }
    }
    println!("style: {read} files read; not read: {FOLDER}/{STUBS}, which are no kernel code");
    if read == 0 {
        faults.push(format!("there is no source in {FOLDER}"));
    }
    let scratch = workspace.scratch("planted-style")?;
    fs::write(scratch.join("planted.c"), PLANTED)
        .map_err(|error| Failure::new(format!("write to {}", scratch.display()), error, "make room there"))?;
    if clean(&checker.examine(&scratch, Path::new("planted.c"), false)?) {
        faults.push("a planted fault is not found".into());
    }
    Failure::judge("approve the style of the modules", &faults, "see what checkpatch.pl printed above")
}

struct Checker {
    scripts: PathBuf,
}

impl Checker {
    fn examine(&self, folder: &Path, file: &Path, asks_for_version: bool) -> Result<Output, Failure> {
        let mut command = Command::new("perl")
            .argument(self.scripts.join(SCRIPTS[0]))
            .arguments(["--strict", "--no-tree", "--show-types", "--max-line-length=100"])
            .argument(format!("--root={}", self.scripts.display()));
        if asks_for_version {
            command = command.arguments(["--ignore", OF_VERSIONS]);
        }
        command.arguments(["--file".as_ref(), file.as_os_str()]).directory(folder).capture_quietly()
    }
}

/// Whether checkpatch read the file and had nothing to say.
fn clean(output: &Output) -> bool {
    output.code == Some(0) && output.text.starts_with("total: 0 errors, 0 warnings, 0 checks, ")
}

/// The scripts, unpacked once for each version of the package.
fn unpacked(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let failure = |error| {
        Failure::new(format!("unpack {ARCHIVE}"), error, "apt-get install --reinstall linux-source-6.1")
    };
    let about = fs::metadata(ARCHIVE).map_err(failure)?;
    let name = format!("checkpatch-{}-{}", about.len(), about.mtime());
    let folder = workspace.target().join("xtask").join(&name);
    if SCRIPTS.iter().all(|script| folder.join(script).is_file()) {
        return Ok(folder);
    }
    let folder = workspace.scratch(&name)?;
    // With one occurrence of each, tar stops where it has them all, and does not unpack a gigabyte more.
    Command::new("tar")
        .arguments(["--extract", "--xz", "--occurrence=1", "--strip-components=2", "--file", ARCHIVE])
        .argument("--directory")
        .argument(&folder)
        .arguments(SCRIPTS.iter().map(|script| format!("linux-source-6.1/scripts/{script}")))
        .remedy("apt-get install --reinstall linux-source-6.1")
        .run()?;
    // It looks here for names in mixed case, and complains if there is no such folder.
    fs::create_dir(folder.join("include")).map_err(failure)?;
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn silence_is_not_clean() {
        let output = |code, text: &str| Output { code, text: text.into(), ..Output::default() };
        assert!(clean(&output(Some(0), "total: 0 errors, 0 warnings, 0 checks, 6 lines checked\n")));
        for (code, text) in [
            (Some(0), ""),
            (Some(1), "total: 0 errors, 0 warnings, 0 checks, 6 lines checked\n"),
            (Some(0), "x.c:1: CHECK: y\ntotal: 0 errors, 0 warnings, 1 checks, 6 lines checked\n"),
            (None, ""),
        ] {
            assert!(!clean(&output(code, text)), "{code:?} {text}");
        }
    }
}
