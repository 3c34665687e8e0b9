//! The packages of Debian, and the crates.

use std::fs;
use std::path::{Path, PathBuf};

use crate::architecture::{Architecture, Target};
use crate::command::Command;
use crate::failure::Failure;
use crate::files::{cannot, write};
use crate::workspace::Workspace;

/// cargo-deb's version; docs/dependencies.md has its licence and why it is used.
const VERSION: &str = "3.6.3";

/// Completions by the name of the shell, and the files that crates/tenbin/Cargo.toml names.
const COMPLETIONS: [(&str, &str); 3] = [("bash", "tenbin.bash"), ("zsh", "_tenbin"), ("fish", "tenbin.fish")];

/// Makes the package for `architecture` in `folder`, of `binary` and what it says of itself; gives its path.
pub(super) fn debian(
    workspace: &Workspace,
    architecture: Architecture,
    binary: &Path,
    folder: &Path,
) -> Result<PathBuf, Failure> {
    let target = architecture.names().target;
    // Beside what cargo builds, which is where cargo-deb looks for the files that the manifest names.
    let files = workspace.target().join(target).join("dist/package");
    if files.exists() {
        fs::remove_dir_all(&files).map_err(|error| cannot("empty", &files, &error))?;
    }
    let pages = files.join("man");
    fs::create_dir_all(&pages).map_err(|error| cannot("create", &pages, &error))?;
    for (from, name) in [(binary, "tenbin"), (&folder.join("LICENSES.txt"), "LICENSES.txt")] {
        let to = files.join(name);
        fs::copy(from, &to).map_err(|error| cannot("copy to", &to, &error))?;
    }
    architecture.command(binary).arguments(["man", "--into"]).argument(&pages).run()?;
    Command::new("gzip").arguments(["--best", "--no-name", "--recursive"]).argument(&pages).run()?;
    for (shell, name) in COMPLETIONS {
        write(&files.join(name), &architecture.command(binary).arguments(["completions", shell]).read()?)?;
    }
    let printed = Command::new(workspace.tool("cargo-deb", VERSION, &[])?)
        .directory(workspace.root())
        .arguments(["--package", "tenbin", "--no-build", "--no-strip", "--no-dbgsym", "--profile", "dist"])
        .arguments(["--target", target, "--deb-revision", "", "--output"])
        .argument(folder)
        .variable("SOURCE_DATE_EPOCH", date(workspace)?)
        .read()?;
    Ok(PathBuf::from(printed.trim()))
}

/// When what is checked out was committed, in seconds since 1970: the time of every file in a package.
fn date(workspace: &Workspace) -> Result<String, Failure> {
    let log = Command::new("git").directory(workspace.root()).arguments(["log", "-1", "--format=%ct"]);
    log.read().map(|text| text.trim().to_owned())
}

/// Packages every crate for crates.io, builds each from its package, and leaves them in `folder`.
///
/// cargo takes a crate of a registry for unchanged while its version is, be it unpacked or compiled; those of
/// an earlier call are removed, so that what is built is what was packaged.
pub(super) fn crates(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let target = workspace.target().join("xtask/packages");
    if target.exists() {
        fs::remove_dir_all(&target).map_err(|error| cannot("empty", &target, &error))?;
    }
    forget_unpacked()?;
    let words = ["package", "--workspace", "--exclude", "xtask", "--allow-dirty", "--target-dir"];
    // Nothing of these is debugged.
    let package = workspace.cargo().arguments(words).argument(&target);
    package.variable("CARGO_PROFILE_DEV_DEBUG", "0").run()?;
    let packages = target.join("package");
    for entry in fs::read_dir(&packages).map_err(|error| cannot("read", &packages, &error))? {
        let from = entry.map_err(|error| cannot("read", &packages, &error))?.path();
        if from.extension().is_some_and(|extension| extension == "crate") {
            let to = folder.join(from.file_name().unwrap_or_default());
            fs::copy(&from, &to).map_err(|error| cannot("copy to", &to, &error))?;
        }
    }
    Ok(())
}

/// Removes what cargo unpacked of our crates for an earlier call. Its folders of registries without a host
/// are those of such calls.
fn forget_unpacked() -> Result<(), Failure> {
    let sources = crate::workspace::cargo_home().join("registry/src");
    let below =
        |folder: &Path| fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let begins = |path: &Path, with: &str| {
        path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(with))
    };
    for registry in below(&sources).filter(|path| begins(path, "-")) {
        for folder in below(&registry).filter(|path| begins(path, "tenbin")) {
            fs::remove_dir_all(&folder).map_err(|error| cannot("remove", &folder, &error))?;
        }
    }
    Ok(())
}
