//! The root that a guest finds: made here, in memory, without root's rights.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use tenbin_model::Order;

use crate::archive::{Archive, Kind};
use crate::cargo::Cargo;
use crate::error::Error;
use crate::kernel::Kernel;

const INIT: &[u8] = include_bytes!("init.sh");

/// Where `INIT` is there.
pub(crate) const INIT_PATH: &str = "/tenbin/init";

struct Root<W> {
    archive: Archive<W>,
    folders: BTreeSet<PathBuf>,
}

/// Packs the root for `command` into `out`.
///
/// # Errors
/// [`Error::Request`] where a place in the guest is none, or a word holds a zero byte; [`Error::File`]
/// where something cannot be read or written.
pub(crate) fn pack<W: Write>(
    out: W,
    kernel: &Kernel,
    cargo: &[Cargo],
    command: &[OsString],
    bring: &[String],
) -> Result<W, Error> {
    let mut root = Root { archive: Archive::new(out), folders: BTreeSet::new() };
    // The kernel opens it for the first process before anybody can mount the file system of devices.
    root.add(Path::new("dev/console"), Kind::Device { major: 5, minor: 1 }, 0o600, b"")?;
    root.file(&kernel.busybox, "tenbin/busybox".as_ref(), Some(0o755))?;
    root.add(INIT_PATH.as_ref(), Kind::File, 0o755, INIT)?;
    root.add("tenbin/command".as_ref(), Kind::File, 0o644, &script(command)?)?;
    root.add("tenbin/bring".as_ref(), Kind::File, 0o644, &bringing(bring)?)?;
    let mut order = Vec::new();
    for module in &kernel.modules {
        let name = module.file_name().unwrap_or_default();
        root.file(module, &Path::new("tenbin/modules").join(name), Some(0o644))?;
        order.extend_from_slice(name.as_bytes());
        order.push(b'\n');
    }
    root.add("tenbin/modules/order".as_ref(), Kind::File, 0o644, &order)?;
    for item in cargo {
        match item {
            Cargo::File { from, to, mode } => root.file(from, to, *mode)?,
            Cargo::Bytes { to, mode, content } => root.add(to, Kind::File, *mode, content)?,
            Cargo::Tree(folder) => root.tree(folder, Path::new(""))?,
        }
    }
    root.archive.finish().map_err(Error::file("write", "the guest's root".as_ref()))
}

impl<W: Write> Root<W> {
    /// Adds an entry, and the folders that it stands in.
    fn add(&mut self, to: &Path, kind: Kind, mode: u32, content: &[u8]) -> Result<(), Error> {
        let place = place(to)?;
        for folder in place.ancestors().skip(1).collect::<Vec<_>>().into_iter().rev() {
            self.folder(folder, 0o755)?;
        }
        self.write(&place, kind, mode, content)
    }

    fn folder(&mut self, place: &Path, mode: u32) -> Result<(), Error> {
        if place.as_os_str().is_empty() || !self.folders.insert(place.to_path_buf()) {
            return Ok(());
        }
        self.write(place, Kind::Folder, mode, b"")
    }

    fn write(&mut self, place: &Path, kind: Kind, mode: u32, content: &[u8]) -> Result<(), Error> {
        let written = self.archive.add(place.as_os_str().as_bytes(), kind, mode, content);
        written.map_err(Error::file("pack", place))
    }

    fn file(&mut self, from: &Path, to: &Path, mode: Option<u32>) -> Result<(), Error> {
        let content = fs::read(from).map_err(Error::file("read", from))?;
        let mode = match mode {
            Some(mode) => mode,
            None => fs::metadata(from).map_err(Error::file("read", from))?.permissions().mode(),
        };
        self.add(to, Kind::File, mode, &content)
    }

    /// Adds what is in the folder `from` below `to`, in the order of names.
    fn tree(&mut self, from: &Path, to: &Path) -> Result<(), Error> {
        let failure = || Error::file("read", from);
        let entries = fs::read_dir(from).map_err(failure())?;
        let mut entries = entries.collect::<Result<Vec<_>, _>>().map_err(failure())?;
        entries.order_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let (here, there) = (entry.path(), to.join(entry.file_name()));
            let metadata = fs::symlink_metadata(&here).map_err(Error::file("read", &here))?;
            let kind = metadata.file_type();
            if kind.is_dir() {
                self.folder(&there, metadata.permissions().mode())?;
                self.tree(&here, &there)?;
            } else if kind.is_symlink() {
                let target = fs::read_link(&here).map_err(Error::file("read", &here))?;
                self.add(&there, Kind::Link, 0o777, target.as_os_str().as_bytes())?;
            } else if kind.is_file() {
                self.file(&here, &there, None)?;
            } else {
                let why = format!("carry {}: it is neither a file nor a folder nor a link", here.display());
                return Err(Error::Request(why));
            }
        }
        Ok(())
    }
}

/// Whether this names a place for a file in a guest: a path from its root, with no way up.
///
/// # Errors
/// [`Error::Request`] where it does not.
pub fn insist_place(to: &Path) -> Result<(), Error> {
    place(to).map(drop)
}

/// The place in the guest without the slash in front.
fn place(to: &Path) -> Result<PathBuf, Error> {
    let bare = to.strip_prefix("/").unwrap_or(to);
    let plain = bare.components().all(|part| matches!(part, Component::Normal(_)));
    if plain && !bare.as_os_str().is_empty() && !bare.as_os_str().as_bytes().contains(&0) {
        return Ok(bare.components().collect());
    }
    Err(Error::Request(format!("{} is not a place for a file in a guest", to.display())))
}

/// A shell's script that becomes `command`.
fn script(command: &[OsString]) -> Result<Vec<u8>, Error> {
    if command.is_empty() {
        return Err(Error::Request("a guest needs a command to run".to_owned()));
    }
    words(b"exec", command.iter().map(OsString::as_os_str))
}

/// A shell's script whose positional parameters are the members that bring `paths`.
fn bringing(paths: &[String]) -> Result<Vec<u8>, Error> {
    let members =
        paths.iter().map(|path| Ok(Path::new("files").join(place(path.as_ref())?).into_os_string()));
    let members = members.collect::<Result<Vec<_>, Error>>()?;
    words(b"set --", members.iter().map(OsString::as_os_str))
}

/// `first` and the words, each in quotes that a shell leaves alone.
fn words<'a>(first: &[u8], words: impl Iterator<Item = &'a OsStr>) -> Result<Vec<u8>, Error> {
    let mut line = first.to_vec();
    for word in words {
        if word.as_bytes().contains(&0) {
            let why = format!("the word {} holds a zero byte", word.display());
            return Err(Error::Request(why));
        }
        line.extend_from_slice(b" '");
        for &byte in word.as_bytes() {
            match byte {
                b'\'' => line.extend_from_slice(br"'\''"),
                _ => line.push(byte),
            }
        }
        line.push(b'\'');
    }
    line.push(b'\n');
    Ok(line)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStringExt;
    use std::os::unix::fs::symlink;

    use super::*;
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        /// The judge is a real shell, which prints its words with a zero byte behind each.
        #[test]
        fn a_shell_reads_the_words_that_were_meant(
            given in prop::collection::vec(prop::collection::vec(1_u8.., 0..12), 1..5)
        ) {
            let command = given.iter().cloned().map(OsString::from_vec);
            let command = [OsString::from("printf"), "%s\\0".into()].into_iter().chain(command).collect::<Vec<_>>();
            let scratch = tempfile::tempdir().unwrap();
            let path = scratch.path().join("command");
            fs::write(&path, script(&command).unwrap()).unwrap();
            let stdout = std::process::Command::new("sh").arg(&path).output().unwrap().stdout;
            let expected = given.iter().flat_map(|word| word.iter().copied().chain([0])).collect::<Vec<_>>();
            prop_assert_eq!(stdout, expected);
        }
    }

    #[test]
    fn a_place_is_a_path_from_the_root() {
        for (given, expected) in [("/a/b", "a/b"), ("a", "a"), ("a//b/", "a/b"), ("a/./b", "a/b")] {
            assert_eq!(place(given.as_ref()).unwrap(), Path::new(expected), "{given}");
        }
        for wrong in ["", "/", "..", "a/../b", "a\0b"] {
            assert!(matches!(place(wrong.as_ref()), Err(Error::Request(_))), "{wrong:?}");
        }
    }

    #[test]
    fn what_cannot_be_said_to_a_shell_is_a_wrong_request() {
        assert!(matches!(script(&[]), Err(Error::Request(_))));
        assert!(matches!(script(&["a\0".into()]), Err(Error::Request(_))));
        assert!(matches!(bringing(&["../x".into()]), Err(Error::Request(_))));
        assert_eq!(bringing(&["/tmp/a b".into()]).unwrap(), b"set -- 'files/tmp/a b'\n");
    }

    #[test]
    fn a_tree_is_laid_over_the_root_with_its_links_and_modes() {
        let scratch = tempfile::tempdir().unwrap();
        let tree = scratch.path().join("tree");
        fs::create_dir_all(tree.join("lib")).unwrap();
        fs::write(tree.join("lib/program"), "program").unwrap();
        fs::set_permissions(tree.join("lib/program"), fs::Permissions::from_mode(0o750)).unwrap();
        symlink("program", tree.join("lib/link")).unwrap();
        let mut root = Root { archive: Archive::new(Vec::new()), folders: BTreeSet::new() };
        root.tree(&tree, Path::new("")).unwrap();
        let bytes = root.archive.finish().unwrap();
        // What an entry says: its type and permissions, and its name or what follows the name.
        for expected in [&b"000081e8"[..], b"0000a1ff", b"lib/program\0", b"lib/link\0"] {
            assert!(bytes.windows(expected.len()).any(|part| part == expected), "{expected:?}");
        }
        let folders = bytes.windows(5).filter(|part| part == b"0lib\0").count();
        assert_eq!(folders, 1);
    }

    #[test]
    fn what_no_archive_can_hold_is_a_wrong_request() {
        let scratch = tempfile::tempdir().unwrap();
        let pipe = scratch.path().join("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        let mut root = Root { archive: Archive::new(Vec::new()), folders: BTreeSet::new() };
        let error = root.tree(scratch.path(), Path::new("")).unwrap_err();
        assert!(matches!(&error, Error::Request(why) if why.contains("pipe")), "{error}");
    }
}
