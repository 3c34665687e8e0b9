//! The files in `kmod`.

use std::fs;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// Every C file and header below `folder`, as paths from there, in order, but for what kbuild wrote.
pub(super) fn sources(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    Ok(files(folder)?.into_iter().filter(|path| is_source(path)).collect())
}

fn is_source(path: &Path) -> bool {
    let name = path.to_string_lossy();
    (name.ends_with(".c") && !name.ends_with(".mod.c")) || name.ends_with(".h")
}

/// What kbuild reads beside sources.
fn is_for_kbuild(path: &Path) -> bool {
    path.ends_with("Kbuild") || path.ends_with("Makefile")
}

/// Every file below `folder`, as paths from there, in order.
fn files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let failure = |path: &Path, error: std::io::Error| {
        Failure::new(format!("read the folder {}", path.display()), error, "run it in the repository")
    };
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_path_buf()]);
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(&next).map_err(|error| failure(&next, error))? {
            let path = entry.map_err(|error| failure(&next, error))?.path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path.strip_prefix(folder).unwrap_or(&path).to_path_buf());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Copies what kbuild reads of `from` to `to`.
pub(super) fn copy(from: &Path, to: &Path) -> Result<(), Failure> {
    for path in files(from)?.into_iter().filter(|path| is_source(path) || is_for_kbuild(path)) {
        let there = to.join(&path);
        let folder = there.parent().map_or(Ok(()), fs::create_dir_all);
        folder.and_then(|()| fs::copy(from.join(&path), &there)).map_err(|error| {
            Failure::new(format!("copy {} to {}", path.display(), there.display()), error, "make room there")
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_kbuild_wrote_is_no_source() {
        for (name, source, kbuild) in [
            ("a/b/x.h", true, false),
            ("a/x.c", true, false),
            ("a/x.mod.c", false, false),
            ("a/x.ko", false, false),
            ("a/Kbuild", false, true),
            ("Makefile", false, true),
            ("a/notKbuild", false, false),
        ] {
            let path = Path::new(name);
            assert_eq!((is_source(path), is_for_kbuild(path)), (source, kbuild), "{name}");
        }
    }
}
