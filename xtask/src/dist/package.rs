//! The packages of Debian, and the crates.

use std::fmt::Write;
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

/// Packages every crate for crates.io, leaves them in `folder`, and has each compile by itself, of what is in
/// its package.
pub(super) fn crates(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let packaged = workspace.scratch("packages")?;
    let package = workspace.cargo().arguments(["package", "--workspace", "--exclude", "xtask"]);
    let package = package.arguments(["--allow-dirty", "--no-verify", "--target-dir"]).argument(&packaged);
    package.run()?;
    let packages = packaged.join("package");
    let mut names = Vec::new();
    for entry in fs::read_dir(&packages).map_err(|error| cannot("read", &packages, &error))? {
        let from = entry.map_err(|error| cannot("read", &packages, &error))?.path();
        let name = from.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let Some(name) = name.strip_suffix(".crate") else { continue };
        let to = folder.join(name).with_added_extension("crate");
        fs::copy(&from, &to).map_err(|error| cannot("copy to", &to, &error))?;
        let name = name.strip_suffix(concat!("-", env!("CARGO_PKG_VERSION"))).unwrap_or(name);
        names.push(name.to_owned());
    }
    compile(workspace, &packages, &names)
}

/// Has cargo check each crate that was packaged, in a workspace of what the packages hold, where one is found
/// in place of that of crates.io. What they depend on was checked for this workspace, and is not once more.
fn compile(workspace: &Workspace, packages: &Path, names: &[String]) -> Result<(), Failure> {
    let version = env!("CARGO_PKG_VERSION");
    let mut manifest = "[workspace]\nresolver = \"3\"\nmembers = [\"*-{version}\"]\n\
                        [profile.dev]\ndebug = \"line-tables-only\"\n\
                        [profile.dev.package.\"*\"]\ndebug = false\n\
                        [profile.dev.package.sha2]\nopt-level = 3\n\
                        [patch.crates-io]\n"
        .replace("{version}", version);
    for name in names {
        let _ = writeln!(manifest, "{name}.path = \"{name}-{version}\"");
        // With the time of now, by which cargo knows what it has not compiled.
        let unpack = Command::new("tar").directory(packages).arguments(["--touch", "-xzf"]);
        unpack.argument(format!("{name}-{version}.crate")).read()?;
    }
    write(&packages.join("Cargo.toml"), &manifest)?;
    let (from, to) = (workspace.root().join("Cargo.lock"), packages.join("Cargo.lock"));
    fs::copy(&from, &to).map_err(|error| cannot("copy to", &to, &error))?;
    for name in names {
        let command = workspace.cargo().directory(packages).argument("--config");
        let command = command.argument(workspace.root().join(".cargo/config.toml"));
        let command = command.arguments(["check", "--package", name, "--target-dir"]);
        command.argument(workspace.target()).run()?;
    }
    Ok(())
}
