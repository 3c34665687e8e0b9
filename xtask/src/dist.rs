//! What is shipped: a static binary and a package of Debian for each architecture, the crates, what is inside
//! with its licences, and the sums of all files.

mod binary;
mod materials;
mod package;

use std::fs;
use std::path::Path;

use crate::architecture;
use crate::command::Command;
use crate::disassembly;
use crate::failure::Failure;
use crate::files::{cannot, read, write};
use crate::requirement::{self, Requirement};
use crate::workspace::{Profile, Workspace};

/// Builds it all below the target folder, for one architecture or for every one; checked, tried, and with
/// `twice` compared with what another checkout builds.
pub(crate) fn run(workspace: &Workspace, architecture: Option<&str>, twice: bool) -> Result<(), Failure> {
    let architectures = architecture::chosen(architecture)?;
    let mut needs = architectures.iter().flat_map(|&it| disassembly::needs(it)).collect::<Vec<_>>();
    needs.push(Requirement::program("dpkg", "dpkg-deb"));
    needs.push(Requirement::file("base-files", materials::LGPL));
    requirement::insist(&needs)?;
    let folder = workspace.scratch("dist")?;
    let mut lines = Vec::new();
    let materials = materials::of(workspace, &architectures)?;
    write(&folder.join("LICENSES.txt"), &materials.licences()?)?;
    workspace.build_all(&architectures, Profile::Dist)?;
    for &architecture in &architectures {
        let (binary, size) = binary::build(workspace, architecture, &folder)?;
        let package = package::debian(workspace, architecture, &binary, &folder)?;
        let (name, size) = (architecture.name(), size as f64 / 1e6);
        lines.push(format!("{name:<8} {size:>6.2} MB  {}", package.display()));
    }
    write(&folder.join("tenbin.cdx.json"), &materials.bill())?;
    package::crates(workspace, &folder)?;
    sums(&folder)?;
    if twice {
        again(workspace, architecture, &folder)?;
    }
    println!("\nIn {}:", folder.display());
    lines.iter().for_each(|line| println!("  {line}"));
    Ok(())
}

/// SHA256SUMS of all that is there.
fn sums(folder: &Path) -> Result<(), Failure> {
    let mut names = fs::read_dir(folder)
        .and_then(|entries| {
            entries.map(|entry| entry.map(|it| it.file_name())).collect::<Result<Vec<_>, _>>()
        })
        .map_err(|error| cannot("read", folder, &error))?;
    names.sort();
    let text = Command::new("sha256sum").directory(folder).argument("--").arguments(names).read()?;
    write(&folder.join(SUMS), &text)
}

const SUMS: &str = "SHA256SUMS";

/// Builds what is committed once more, in another folder and from nothing, and compares the sums.
fn again(workspace: &Workspace, architecture: Option<&str>, folder: &Path) -> Result<(), Failure> {
    let place = workspace.scratch("dist-again")?;
    let checkout = place.join("checkout");
    let clone = Command::new("git").arguments(["clone", "--quiet"]).argument(workspace.root());
    clone.argument(&checkout).run()?;
    let target = place.join("target");
    workspace
        .cargo()
        .directory(&checkout)
        .arguments(["run", "--quiet", "--package", "xtask", "--", "dist"])
        .arguments(architecture)
        .variable("CARGO_TARGET_DIR", &target)
        .run()?;
    let other = target.join("xtask/dist").join(SUMS);
    let (one, other) = (read(&folder.join(SUMS))?, read(&other)?);
    let unlike = one.lines().filter(|line| !other.contains(line)).collect::<Vec<_>>();
    if one.lines().count() == other.lines().count() && unlike.is_empty() {
        println!("built twice, from two folders: the same {} files", one.lines().count());
        return Ok(());
    }
    Err(Failure::new(
        "build the same twice",
        format!("these differ, or are there once:\n{}\n{other}", unlike.join("\n")),
        "commit what was changed, then look for what depends on the folder or on the time",
    ))
}
