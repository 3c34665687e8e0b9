//! A build script: makes the sources of the kernel modules small.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=kmod");
    let mut sources = Vec::new();
    walk(Path::new("kmod"), &mut sources)?;
    sources.sort_unstable();
    let mut archive = tar::Builder::new(Vec::new());
    // Neither who owns a file nor when it was written is part of it.
    archive.mode(tar::HeaderMode::Deterministic);
    for path in sources {
        archive.append_path_with_name(&path, path.strip_prefix("kmod")?)?;
    }
    let packed = miniz_oxide::deflate::compress_to_vec(&archive.into_inner()?, 10);
    Ok(fs::write(Path::new(&std::env::var("OUT_DIR")?).join("kmod.tar.deflate"), packed)?)
}

/// What a build of a module reads: C, and the files of the kernel's build system. What a build leaves is not,
/// and stubs of other kernels' headers are for checks.
fn walk(folder: &Path, sources: &mut Vec<PathBuf>) -> Result<(), Box<dyn Error>> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let is_c = [".c", ".h", ".S"].iter().any(|ending| name.ends_with(ending));
        if path.is_dir() {
            if !path.ends_with("compat/stubs") {
                walk(&path, sources)?;
            }
        } else if name == "Kbuild" || is_c && !name.ends_with(".mod.c") && !name.starts_with('.') {
            sources.push(path);
        }
    }
    Ok(())
}
