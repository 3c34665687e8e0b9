//! Files that commands name, and which of them their runs change: a command that changes what it reads does
//! other work in every run.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::hash::hashed;

/// So much of a file is looked at, beside its length.
const LOOKED_AT: u64 = 1 << 20;

/// So many files are looked at.
const MOST: usize = 64;

/// Files as they were before the first run.
#[derive(Debug, Default)]
pub(super) struct Inputs(Vec<(PathBuf, Content)>);

#[derive(Debug, PartialEq, Eq)]
struct Content {
    length: u64,
    hash: u64,
}

impl Content {
    /// None where it is no regular file, or may not be read.
    fn of(path: &Path) -> Option<Self> {
        let length = path.metadata().ok().filter(std::fs::Metadata::is_file)?.len();
        let mut bytes = Vec::new();
        File::open(path).ok()?.take(LOOKED_AT).read_to_end(&mut bytes).ok()?;
        Some(Self { length, hash: hashed(None, bytes) })
    }
}

impl Inputs {
    /// Remembers the files that these words name, seen from `folder`.
    pub(super) fn remember(&mut self, folder: Option<&Path>, words: impl IntoIterator<Item = String>) {
        for word in words {
            let path = folder.unwrap_or(Path::new("")).join(word);
            let known = self.0.iter().any(|(known, _)| *known == path);
            if !known && self.0.len() < MOST {
                self.0.extend(Content::of(&path).map(|content| (path, content)));
            }
        }
    }

    /// Those that are not what they were, or are gone.
    pub(super) fn changed(&self) -> impl Iterator<Item = &Path> {
        let changed = self.0.iter().filter(|(path, before)| Content::of(path).as_ref() != Some(before));
        changed.map(|(path, _)| path.as_path())
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn what_is_changed_is_named_and_not_what_is_written_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["sorted", "again", "longer", "gone"] {
            fs::write(path(name), "b\na\n").unwrap();
        }
        let mut inputs = Inputs::default();
        let words = ["sorted", "sorted", "-k1", "again", "longer", "gone", "nowhere", "."].map(String::from);
        inputs.remember(Some(folder.path()), words);
        assert_eq!((inputs.0.len(), inputs.changed().count()), (4, 0));
        fs::write(path("sorted"), "a\nb\n").unwrap();
        fs::write(path("again"), "b\na\n").unwrap();
        fs::write(path("longer"), "b\na\nc\n").unwrap();
        fs::remove_file(path("gone")).unwrap();
        fs::write(path("nowhere"), "new").unwrap();
        let changed: Vec<_> = inputs.changed().map(Path::to_path_buf).collect();
        assert_eq!(changed, ["sorted", "longer", "gone"].map(path));
    }
}
