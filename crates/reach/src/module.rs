//! The kernel modules that are ours, and their sources.

use std::fmt;
use std::fs;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use sha2::{Digest, Sha256};

use crate::error::Error;
use tenbin_model::words::comma;

/// A kernel module of ours. Its source is in this program, and is built for the kernel that shall load it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Module {
    /// Stops all work on some or all CPUs for a time.
    StopMachine,
    /// Fires one timer and says how late it was.
    OneshotTimer,
    /// The device `/dev/fibonacci`.
    Fibdrv,
}

/// A word that names no module of ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not a kernel module of tenbin's: use one of {known}",
    known = comma(Module::ALL)
)]
pub struct NotAModule(String);

impl fmt::Display for Module {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Module {
    type Err = NotAModule;

    fn from_str(word: &str) -> Result<Self, NotAModule> {
        let module = Self::ALL.into_iter().find(|module| module.name() == word);
        module.ok_or_else(|| NotAModule(word.to_owned()))
    }
}

impl Module {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::StopMachine, Self::OneshotTimer, Self::Fibdrv];

    /// Its name, as the kernel has it.
    pub fn name(self) -> &'static str {
        match self {
            Self::StopMachine => "stop_machine",
            Self::OneshotTimer => "oneshot_timer",
            Self::Fibdrv => "fibdrv",
        }
    }

    /// The name of its file.
    pub fn file(self) -> String {
        format!("{self}.ko")
    }

    /// Where it is in the folder that all modules were built in.
    pub(crate) fn product(self) -> String {
        format!("{self}/{self}.ko")
    }
}

/// All that the modules are built from, with paths below the folder `kmod`.
///
/// # Errors
/// [`Error::File`] where what the build script packed cannot be unpacked, which a test excludes.
fn sources() -> Result<Vec<(PathBuf, Vec<u8>)>, Error> {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/kmod.tar.deflate"));
    let unread = Error::file("unpack", Path::new("kmod"));
    let read = || {
        let archive = miniz_oxide::inflate::decompress_to_vec(packed)
            .map_err(|error| io::Error::other(error.to_string()))?;
        let mut sources = Vec::new();
        for entry in tar::Archive::new(&*archive).entries()? {
            let mut entry = entry?;
            let mut content = Vec::new();
            entry.read_to_end(&mut content)?;
            sources.push((entry.path()?.into_owned(), content));
        }
        Ok(sources)
    };
    read().map_err(unread)
}

/// Writes the sources below `folder`, which is made.
///
/// # Errors
/// [`Error::File`] where that cannot be written.
pub(crate) fn write_sources(folder: &Path) -> Result<(), Error> {
    for (path, content) in sources()? {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::file("write", parent))?;
        }
        fs::write(&path, content).map_err(Error::file("write", &path))?;
    }
    Ok(())
}

/// A name for what the sources and `others` become: another one if any of them differs by a byte.
///
/// # Errors
/// As [`write_sources`].
pub(crate) fn key(others: &[&[u8]]) -> Result<String, Error> {
    let mut hash = Sha256::new();
    let sources = sources()?;
    let sources = sources.iter().flat_map(|(path, content)| [path.as_os_str().as_bytes(), content]);
    for part in sources.chain(others.iter().copied()) {
        // With its length, so that no two lists of parts give the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    Ok(hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::folder::listed;

    #[test]
    fn every_name_leads_back_and_unknown_ones_are_answered() {
        for module in Module::ALL {
            assert_eq!(module.to_string().parse(), Ok(module));
            let source = format!("{module}/{module}.c");
            assert!(
                sources().unwrap().iter().any(|(path, _)| path.starts_with(module.to_string())),
                "{source}"
            );
        }
        let error = "ext4".parse::<Module>().unwrap_err().to_string();
        assert!(error.contains("stop_machine, oneshot_timer, fibdrv"), "{error}");
    }

    /// What a build reads: C, assembler, and the files of the kernel's build system. What a build leaves is
    /// not.
    fn is_source(path: &Path) -> bool {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let written = [".c", ".h", ".S"].iter().any(|ending| name.ends_with(ending));
        name == "Kbuild" || written && !name.ends_with(".mod.c") && !name.starts_with('.')
    }

    fn walk(folder: &Path, sources: &mut Vec<PathBuf>) {
        for path in listed(folder).unwrap() {
            if path.is_dir() {
                walk(&path, sources);
            } else if is_source(&path) {
                sources.push(path);
            }
        }
    }

    #[test]
    fn what_is_embedded_is_the_folder_and_what_is_written() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod");
        let scratch = tempfile::tempdir().unwrap();
        write_sources(scratch.path()).unwrap();
        let embedded = sources().unwrap();
        let names: BTreeSet<&Path> = embedded.iter().map(|(path, _)| path.as_path()).collect();
        for folder in [folder.as_path(), scratch.path()] {
            let mut there = Vec::new();
            walk(folder, &mut there);
            let there = there.iter().map(|path| path.strip_prefix(folder).unwrap());
            // Stubs of other kernels' headers: no module is built with them.
            assert_eq!(
                there.filter(|path| !path.starts_with("compat/stubs")).collect::<BTreeSet<_>>(),
                names
            );
            for (path, content) in &embedded {
                assert_eq!(fs::read(folder.join(path)).unwrap(), *content, "{path:?}");
            }
        }
    }

    #[test]
    fn a_key_tells_apart_what_differs() {
        let key = |others: &[&[u8]]| key(others).unwrap();
        let keys = [key(&[]), key(&[b""]), key(&[b"ab"]), key(&[b"a", b"b"]), key(&[b"ba"])];
        for (index, one) in keys.iter().enumerate() {
            assert_eq!(one.len(), 16);
            assert!(keys[..index].iter().all(|other| other != one), "{keys:?}");
        }
        assert_eq!(key(&[b"ab"]), keys[2]);
    }
}
