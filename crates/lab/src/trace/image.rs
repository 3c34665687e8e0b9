//! What an ELF file says of itself: what it defines and needs, in which versions, and where it is mapped.

use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

use tenbin_model::Architecture;
use tenbin_model::elf::{self, Elf, Malformed, numbers};

/// The most bytes of a file that are read, 64 MiB. A C library has a few.
const MOST: u64 = 64 << 20;

/// The bytes of the file at `path`, whole. Opens nothing but files: a pipe without a writer never answers,
/// and a device may not end.
///
/// # Errors
/// Why they are not read, as the rest of a sentence that begins with its name.
pub(super) fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    let unreadable = |error| format!("cannot be read: {error}");
    let metadata = fs::metadata(path).map_err(unreadable)?;
    if metadata.is_dir() {
        return Err("is a folder".into());
    }
    if !metadata.is_file() {
        return Err("is neither a file nor a link to one".into());
    }
    let mut bytes = Vec::new();
    if metadata.len() <= MOST {
        // It may have grown meanwhile, and what the kernel makes up has no length.
        let file = File::open(path).map_err(unreadable)?;
        file.take(MOST + 1).read_to_end(&mut bytes).map_err(unreadable)?;
    }
    if metadata.len().max(bytes.len() as u64) > MOST {
        return Err(format!("has more than {} MiB, which no probe needs", MOST >> 20));
    }
    Ok(bytes)
}

/// A function or object that a file defines for others.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Symbol {
    pub(super) name: String,
    /// Its address in the file's own numbering.
    pub(super) address: u64,
    pub(super) size: u64,
    pub(super) version: Option<String>,
    /// Whether a program that names no version gets this one.
    pub(super) default: bool,
    /// Whether it only chooses the function that is then called (`STT_GNU_IFUNC`).
    pub(super) indirect: bool,
}

impl Symbol {
    fn of(symbol: &elf::Symbol<'_>) -> Self {
        let version = symbol.version.as_ref();
        Self {
            name: symbol.name.clone().into_owned(),
            address: symbol.address,
            size: symbol.size,
            version: version.map(|version| version.name.clone().into_owned()),
            default: version.is_none_or(|version| !version.hidden),
            indirect: symbol.kind == numbers::STT_GNU_IFUNC,
        }
    }

    /// Its name and version as the linker writes them: `fork@@GLIBC_2.2.5`.
    pub(super) fn versioned(&self) -> String {
        let at = if self.default { "@@" } else { "@" };
        self.version
            .as_ref()
            .map_or_else(|| self.name.clone(), |version| format!("{}{at}{version}", self.name))
    }
}

/// A function that a file takes from another one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Import {
    /// Which version was asked for when the file was linked.
    pub(super) version: Option<String>,
    /// The address, in the file's own numbering, of the word into which the dynamic linker puts the
    /// function's.
    pub(super) slot: u64,
}

/// A C library, by what it says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Library {
    pub(super) family: &'static str,
    pub(super) version: Option<String>,
}

/// An ELF file of 64 bits, read whole.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) architecture: Option<Architecture>,
    /// Whether a dynamic linker loads it.
    pub(super) interpreted: bool,
    pub(super) entry: u64,
    pub(super) defined: Vec<Symbol>,
    pub(super) library: Option<Library>,
    imported: Vec<(String, Import)>,
    /// What is mapped: offset in the file, address, bytes.
    segments: Vec<(u64, u64, u64)>,
}

impl Image {
    /// Reads `bytes`, a whole file.
    ///
    /// # Errors
    /// Why it is none, as the rest of a sentence that begins with its name.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, String> {
        let damaged = |why| format!("is a damaged ELF file: {why}");
        let file = Elf::parse(bytes).map_err(|why| match why {
            Malformed::NotElf => "is not a program: it is not an ELF file".into(),
            Malformed::Class(_) => "is not a 64-bit program".into(),
            Malformed::Damaged(how) => damaged(how),
        })?;
        let dynamic = file.dynamic().map_err(|why| damaged(why.to_string()))?;
        let (mut defined, mut imported) = (Vec::new(), Vec::new());
        if let Some(dynamic) = &dynamic {
            // Indirect functions too. A thread's own data has no address.
            let ours = |it: &&elf::Symbol<'_>| !it.is_undefined() && it.kind != numbers::STT_TLS;
            defined = dynamic.symbols.iter().filter(ours).map(Symbol::of).collect();
            for &(slot, symbol) in &dynamic.relocations {
                if let Some(symbol) = dynamic.symbols.get(symbol).filter(|symbol| symbol.is_undefined()) {
                    let version = symbol.version.as_ref().map(|version| version.name.clone().into_owned());
                    imported.push((symbol.name.clone().into_owned(), Import { version, slot }));
                }
            }
        }
        Ok(Self {
            architecture: Architecture::of_elf(file.identity.machine),
            interpreted: file.is_interpreted(),
            entry: file.identity.entry,
            defined,
            library: library(bytes),
            imported,
            segments: file.loaded().map(|it| (it.offset, it.address, it.length)).collect(),
        })
    }

    /// The function `name` that it takes from elsewhere.
    pub(super) fn import(&self, name: &str) -> Option<&Import> {
        self.imported.iter().find(|(imported, _)| imported == name).map(|(_, import)| import)
    }

    /// What it defines as `name` at `address`. A file may define one function in several versions at one
    /// address: `version` is preferred, which a caller was linked against, and else the default.
    pub(super) fn definition(&self, name: &str, address: u64, version: Option<&str>) -> Option<&Symbol> {
        let here = self.defined.iter().filter(|symbol| symbol.name == name && symbol.address == address);
        here.max_by_key(|symbol| (version.is_some() && symbol.version.as_deref() == version, symbol.default))
    }

    /// The address, in the file's own numbering, of what lies at `offset` in the file.
    pub(super) fn address(&self, offset: u64) -> Option<u64> {
        // A mapping begins and ends with pages, and a segment anywhere.
        const PAGE: u64 = 1 << 16;
        let inside = |&&(start, _, size): &&(u64, u64, u64)| (start..start + size).contains(&offset);
        let near = |&&(start, _, size): &&(u64, u64, u64)| {
            (start.saturating_sub(PAGE)..start + size + PAGE).contains(&offset)
        };
        let segment = self.segments.iter().find(inside).or_else(|| self.segments.iter().find(near))?;
        Some(offset.wrapping_sub(segment.0).wrapping_add(segment.1))
    }

    /// The function for others that `address` lies in.
    pub(super) fn containing(&self, address: u64) -> Option<&Symbol> {
        let within = |symbol: &&Symbol| (symbol.address..symbol.address + symbol.size).contains(&address);
        self.defined.iter().find(within)
    }
}

/// Which C library a file is, if it is one: glibc's banner, or the words with which musl's linker introduces
/// itself.
fn library(bytes: &[u8]) -> Option<Library> {
    const BANNER: &[u8] = b"GNU C Library (";
    const VERSION: &[u8] = b"release version ";
    if let Some(at) = find(bytes, BANNER) {
        let rest = &bytes[at..bytes.len().min(at + 200)];
        let version = find(rest, VERSION).map(|at| {
            let digits = rest[at + VERSION.len()..].iter();
            let digits = digits.take_while(|&&byte| byte.is_ascii_digit() || byte == b'.');
            digits.map(|&byte| char::from(byte)).collect::<String>().trim_end_matches('.').to_owned()
        });
        return Some(Library { family: "glibc", version });
    }
    find(bytes, b"musl libc (").map(|_| Library { family: "musl", version: None })
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    let first = *part.first()?;
    let mut from = 0;
    while let Some(at) = bytes.get(from..)?.iter().position(|&byte| byte == first) {
        if bytes[from + at..].starts_with(part) {
            return Some(from + at);
        }
        from += at + 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn libraries_are_known_by_their_own_words() {
        let glibc = b"\0GNU C Library (Debian GLIBC 2.36-9+deb12u14) stable release version 2.36.\nCopyright";
        assert_eq!(library(glibc), Some(Library { family: "glibc", version: Some("2.36".into()) }));
        assert_eq!(library(b"GNU C Library (cut"), Some(Library { family: "glibc", version: None }));
        assert_eq!(
            library(b"..musl libc (x86_64)\nVersion %s"),
            Some(Library { family: "musl", version: None })
        );
        assert_eq!(library(b"GNU C Librarian"), None);
    }

    #[test]
    fn what_is_no_elf_file_of_64_bits_is_said_to_be_none() {
        assert!(Image::parse(b"#!/bin/sh\nexit 0\n").unwrap_err().contains("not an ELF file"));
        assert!(Image::parse(b"").unwrap_err().contains("not an ELF file"));
        assert!(Image::parse(b"\x7fELF\x01\x01\x01").unwrap_err().contains("64-bit"));
        assert!(Image::parse(b"\x7fELF\x02\x01\x01").unwrap_err().contains("damaged"));
    }

    #[test]
    fn of_several_versions_at_one_address_the_wanted_one_is_it() {
        let symbol = |address, version: &str, default| Symbol {
            name: "dlopen".into(),
            address,
            size: 1,
            version: Some(version.into()),
            default,
            indirect: false,
        };
        // In the order of the C library's own table: the old version first, or last.
        for defined in [
            vec![symbol(16, "OLD", false), symbol(16, "NEW", true), symbol(32, "OTHER", true)],
            vec![symbol(32, "OTHER", true), symbol(16, "NEW", true), symbol(16, "OLD", false)],
        ] {
            let image = Image {
                architecture: None,
                interpreted: true,
                entry: 0,
                defined,
                library: None,
                imported: Vec::new(),
                segments: Vec::new(),
            };
            let definition =
                |address, version| image.definition("dlopen", address, version)?.version.as_deref();
            assert_eq!(definition(16, Some("NEW")), Some("NEW"));
            assert_eq!(definition(16, Some("OLD")), Some("OLD"));
            assert_eq!(definition(16, Some("NEVER")), Some("NEW"));
            assert_eq!(definition(16, None), Some("NEW"));
            assert_eq!(definition(32, Some("OLD")), Some("OTHER"));
            assert_eq!(definition(48, Some("OLD")), None);
            assert!(image.definition("dlclose", 16, None).is_none());
        }
    }

    #[test]
    fn what_does_not_end_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let large = folder.path().join("large");
        // A hole: it takes no room.
        File::create(&large).unwrap().set_len(MOST + 1).unwrap();
        let pipe = folder.path().join("pipe");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        for (path, reason) in [
            (large.as_path(), "more than 64 MiB"),
            (Path::new("/dev/zero"), "neither a file"),
            (&pipe, "neither a file"),
            (folder.path(), "is a folder"),
            (&folder.path().join("nowhere"), "cannot be read"),
        ] {
            let why = bytes(path).unwrap_err();
            assert!(why.contains(reason), "{reason}: {why}");
        }
        let small = folder.path().join("small");
        fs::write(&small, b"tenbin").unwrap();
        assert_eq!(bytes(&small).unwrap(), b"tenbin");
    }

    proptest! {
        #[test]
        fn bytes_that_only_begin_as_elf_files_do_are_read_without_harm(
            mut bytes in prop::collection::vec(any::<u8>(), 0..600),
        ) {
            let mut whole = b"\x7fELF\x02\x01\x01".to_vec();
            whole.append(&mut bytes);
            let _ = Image::parse(&whole);
        }
    }
}
