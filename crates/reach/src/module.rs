//! The kernel modules that are ours, and their sources.

use std::fmt;
use std::fs;
use std::path::Path;
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

/// Files of the folder `kmod`, with their paths below it.
macro_rules! embedded {
    ($($path:literal),* $(,)?) => {
        &[$(($path, include_bytes!(concat!("../kmod/", $path)))),*]
    };
}

/// All that the modules are built from, a file a line. A test compares it with the folder.
const SOURCES: &[(&str, &[u8])] = embedded![
    "Kbuild",
    "compat/hrtimer.h",
    "compat/timer.h",
    "fibdrv/Kbuild",
    "fibdrv/decimal.c",
    "fibdrv/decimal.h",
    "fibdrv/environment.h",
    "fibdrv/fibonacci.c",
    "fibdrv/fibonacci.h",
    "fibdrv/main.c",
    "fibdrv/natural.c",
    "fibdrv/natural.h",
    "fibdrv/user.c",
    "oneshot_timer/Kbuild",
    "oneshot_timer/oneshot_timer.c",
    "stop_machine/Kbuild",
    "stop_machine/stall.h",
    "stop_machine/stop_machine.c",
];

/// Writes the sources below `folder`, which is made.
///
/// # Errors
/// [`Error::File`] where that cannot be written.
pub(crate) fn write_sources(folder: &Path) -> Result<(), Error> {
    for (path, content) in SOURCES {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::file("write", parent))?;
        }
        fs::write(&path, content).map_err(Error::file("write", &path))?;
    }
    Ok(())
}

/// A name for what the sources and `others` become: another one if any of them differs by a byte.
pub(crate) fn key(others: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    let sources = SOURCES.iter().flat_map(|(path, content)| [path.as_bytes(), *content]);
    for part in sources.chain(others.iter().copied()) {
        // With its length, so that no two lists of parts give the same bytes.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize().iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;
    use crate::folder::listed;

    #[test]
    fn every_name_leads_back_and_unknown_ones_are_answered() {
        for module in Module::ALL {
            assert_eq!(module.to_string().parse(), Ok(module));
            let source = format!("{module}/{module}.c");
            assert!(SOURCES.iter().any(|(path, _)| path.starts_with(&format!("{module}/"))), "{source}");
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
    fn the_list_of_sources_equals_the_folder() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kmod");
        let mut sources = Vec::new();
        walk(&folder, &mut sources);
        let sources = sources.iter().map(|path| path.strip_prefix(&folder).unwrap());
        // Stubs of other kernels' headers: no module is built with them.
        let sources = sources.filter(|path| !path.starts_with("compat/stubs"));
        let mut sources = sources.map(|path| path.to_str().unwrap()).collect::<Vec<_>>();
        let mut listed = SOURCES.iter().map(|(path, _)| *path).collect::<Vec<_>>();
        sources.sort_unstable();
        listed.sort_unstable();
        assert_eq!(listed, sources, "SOURCES (left) must name what kmod holds (right)");
    }

    #[test]
    fn what_is_written_is_what_was_embedded() {
        let scratch = tempfile::tempdir().unwrap();
        write_sources(scratch.path()).unwrap();
        let mut sources = Vec::new();
        walk(scratch.path(), &mut sources);
        assert_eq!(sources.len(), SOURCES.len());
        for (path, content) in SOURCES {
            assert_eq!(fs::read(scratch.path().join(path)).unwrap(), *content, "{path}");
        }
    }

    #[test]
    fn a_key_tells_apart_what_differs() {
        let keys = [key(&[]), key(&[b""]), key(&[b"ab"]), key(&[b"a", b"b"]), key(&[b"ba"])];
        for (index, one) in keys.iter().enumerate() {
            assert_eq!(one.len(), 16);
            assert!(keys[..index].iter().all(|other| other != one), "{keys:?}");
        }
        assert_eq!(key(&[b"ab"]), keys[2]);
    }
}
