//! Which kernel a guest boots, and what comes with it.

use std::fmt;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use tenbin_model::Architecture;
use tenbin_model::words::comma;

use crate::error::Error;

/// The modules that a virtio port needs, in an order in which they can usually be loaded. A kernel that has
/// one of them built in has no file for it.
const MODULES: [&str; 6] = [
    "virtio_ring",
    "virtio",
    "virtio_pci_legacy_dev",
    "virtio_pci_modern_dev",
    "virtio_pci",
    "virtio_console",
];

/// Where those modules are, below the folder of a kernel's modules.
const MODULE_FOLDERS: [&str; 2] = ["kernel/drivers/virtio", "kernel/drivers/char"];

/// A release of Debian that kernels are taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Suite {
    /// Debian 12, with Linux 6.1. It was not made for RISC-V.
    Bookworm,
    /// Debian 12 with the kernel of its backports, Linux 6.12. Not for RISC-V either.
    Backports,
    /// Debian 13, with Linux 6.12.
    Trixie,
}

/// A word that names no suite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0} is not a Debian release that kernels are taken from: use one of {known}",
    known = comma(Suite::ALL)
)]
pub struct NotASuite(String);

impl fmt::Display for Suite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Bookworm => "bookworm",
            Self::Backports => "backports",
            Self::Trixie => "trixie",
        })
    }
}

impl FromStr for Suite {
    type Err = NotASuite;

    fn from_str(word: &str) -> Result<Self, NotASuite> {
        let suite = Self::ALL.into_iter().find(|suite| suite.to_string() == word);
        suite.ok_or_else(|| NotASuite(word.to_owned()))
    }
}

impl Suite {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Bookworm, Self::Backports, Self::Trixie];

    /// The release of Debian that all but the kernel is taken from.
    pub(crate) fn release(self) -> &'static str {
        match self {
            Self::Bookworm | Self::Backports => "bookworm",
            Self::Trixie => "trixie",
        }
    }

    /// The one that is taken if nobody says otherwise: the oldest that has `architecture`.
    pub fn usual(architecture: Architecture) -> Self {
        match architecture {
            Architecture::X86_64 | Architecture::Aarch64 => Self::Bookworm,
            Architecture::Riscv64 => Self::Trixie,
        }
    }

    /// # Errors
    /// [`Error::Request`] where the suite was not made for `architecture`.
    pub(crate) fn insist(self, architecture: Architecture) -> Result<(), Error> {
        match (self.release(), architecture) {
            ("bookworm", Architecture::Riscv64) => {
                let why = format!("Debian's {self} was not made for riscv64: use trixie");
                Err(Error::Request(why))
            }
            _ => Ok(()),
        }
    }
}

/// A kernel, and what a guest needs beside it. All paths are of files on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernel {
    /// The kernel's image.
    pub image: PathBuf,
    /// A static busybox of the guest's architecture.
    pub busybox: PathBuf,
    /// The modules that a virtio port needs and that are files, in the order in which they can be loaded.
    /// Without them the slower channel is taken.
    pub modules: Vec<PathBuf>,
}

/// The image of the kernel that runs here, where Debian has it: `/boot/vmlinuz-VERSION`.
///
/// # Errors
/// [`Error::Request`] where there is none that can be read, or `architecture` is not this machine's.
pub fn host_image(architecture: Architecture) -> Result<PathBuf, Error> {
    if Architecture::host() != Some(architecture) {
        return Err(Error::Request(format!("the kernel that runs here is not for {architecture}")));
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let path = PathBuf::from(format!("/boot/vmlinuz-{release}"));
    match fs::File::open(&path) {
        Ok(_) => Ok(path),
        Err(error) => {
            let why = format!(
                "the kernel that runs here: read {}: {error}; name a file or a suite",
                path.display()
            );
            Err(Error::Request(why))
        }
    }
}

/// An image that exists, without links; and, if its name is `vmlinuz-VERSION` or `vmlinux-VERSION`, that
/// version and the folder of its modules, `lib/modules/VERSION` beside the image's own folder. Neither need
/// be there.
///
/// # Errors
/// [`Error::Request`] where `image` is no file.
pub(crate) fn own_release(image: &Path) -> Result<(PathBuf, Option<(String, PathBuf)>), Error> {
    if !image.is_file() {
        let why = format!("{} is not a kernel: there is no such file", image.display());
        return Err(Error::Request(why));
    }
    let image = fs::canonicalize(image).map_err(Error::file("read", image))?;
    let name = image.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let version = name.strip_prefix("vmlinuz-").or_else(|| name.strip_prefix("vmlinux-"));
    let root = image.parent().and_then(Path::parent);
    let own =
        version.zip(root).map(|(version, root)| (version.to_owned(), root.join("lib/modules").join(version)));
    Ok((image, own))
}

/// What the beginning of a kernel's image holds, and where: the setup header of x86
/// (Documentation/arch/x86/boot.rst in Linux), the headers of arm64 (Documentation/arch/arm64/booting.rst)
/// and RISC-V (Documentation/arch/riscv/boot-image-header.rst), and what QEMU takes of every architecture:
/// ELF, gzip, and a compressed image with an EFI stub.
const MAGIC: [(usize, &[u8], Option<Architecture>); 6] = [
    (0x202, b"HdrS", Some(Architecture::X86_64)),
    (0x38, b"ARM\x64", Some(Architecture::Aarch64)),
    (0x38, b"RSC\x05", Some(Architecture::Riscv64)),
    (0, b"\x7fELF", None),
    (0, b"\x1f\x8b", None),
    (4, b"zimg", None),
];

/// Whether `image` begins as an image does that the emulator of `architecture` may boot: looked at before
/// anything is fetched for it.
///
/// # Errors
/// [`Error::Request`] where it does not, or cannot be read.
pub(crate) fn insist_image(image: &Path, architecture: Architecture) -> Result<(), Error> {
    let mut begin = Vec::new();
    fs::File::open(image)
        .and_then(|file| file.take(0x210).read_to_end(&mut begin))
        .map_err(|error| Error::Request(format!("read {}: {error}", image.display())))?;
    let holds = |&&(at, magic, _): &&(usize, &[u8], Option<Architecture>)| {
        begin.get(at..at + magic.len()).is_some_and(|bytes| bytes == magic)
    };
    let why = match MAGIC.iter().find(holds) {
        Some((_, _, None)) => return Ok(()),
        Some((_, _, Some(other))) if *other == architecture => return Ok(()),
        Some((_, _, Some(other))) => {
            format!("is a kernel's image for {other}, and the guest is {architecture}")
        }
        None => "is not a kernel: it does not begin like a Linux image".to_owned(),
    };
    Err(Error::Request(format!("{} {why}", image.display())))
}

/// The files of [`MODULES`] in `folders`, each after those that it says it depends on. Kernels differ in
/// that: `virtio_ring` once needed `virtio`, and later the other way round. What a compressed file says is
/// not read: it stays where [`MODULES`] has it.
///
/// # Errors
/// [`Error::File`] where a module cannot be read.
pub(crate) fn modules_in(folders: &[PathBuf]) -> Result<Vec<PathBuf>, Error> {
    let find = |module: &str| {
        let names = ["ko", "ko.xz", "ko.zst"].map(|ending| format!("{module}.{ending}"));
        folders
            .iter()
            .flat_map(|folder| names.iter().map(|name| folder.join(name)))
            .find(|path| path.is_file())
    };
    let mut left = Vec::new();
    for (name, path) in MODULES.into_iter().filter_map(|name| Some((name, find(name)?))) {
        let content = fs::read(&path).map_err(Error::file("read", &path))?;
        left.push((name, path, depends(&content)));
    }
    let mut ordered = Vec::new();
    while !left.is_empty() {
        let waits = |needed: &String| left.iter().any(|(name, ..)| name == needed);
        // In a circle, which no kernel has, the first one goes first.
        let next = left.iter().position(|(.., needs)| !needs.iter().any(waits)).unwrap_or(0);
        ordered.push(left.remove(next).1);
    }
    Ok(ordered)
}

/// The modules that a module says it depends on: `depends=a,b` among the strings, each with a zero byte
/// behind it, of its section `.modinfo` (the kernel's `scripts/mod/modpost.c`).
fn depends(module: &[u8]) -> Vec<String> {
    let strings = module.split(|&byte| byte == 0);
    let list = strings.filter_map(|string| string.strip_prefix(b"depends=")).next().unwrap_or_default();
    let names = list.split(|&byte| byte == b',').filter(|name| !name.is_empty());
    names.map(|name| String::from_utf8_lossy(name).into_owned()).collect()
}

/// The folders of `modules_in` below the folder of a kernel's modules.
pub(crate) fn module_folders(modules: &Path) -> Vec<PathBuf> {
    MODULE_FOLDERS.iter().map(|folder| modules.join(folder)).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn every_suite_leads_back_and_every_architecture_has_one() {
        for suite in Suite::ALL {
            assert_eq!(suite.to_string().parse(), Ok(suite));
        }
        assert!("sid".parse::<Suite>().unwrap_err().to_string().contains("bookworm, backports, trixie"));
        for architecture in Architecture::ALL {
            assert!(Suite::usual(architecture).insist(architecture).is_ok());
        }
        for suite in [Suite::Bookworm, Suite::Backports] {
            let error = suite.insist(Architecture::Riscv64).unwrap_err();
            assert!(error.to_string().contains("use trixie"), "{error}");
        }
    }

    #[test]
    fn only_the_host_s_architecture_is_the_host_s_kernel() {
        for architecture in Architecture::ALL {
            match host_image(architecture) {
                Ok(path) => {
                    assert_eq!(Architecture::host(), Some(architecture));
                    assert!(path.is_file());
                }
                Err(error) => assert!(matches!(error, Error::Request(_)), "{error}"),
            }
        }
    }

    #[test]
    fn modules_come_after_those_that_they_depend_on() {
        let cases =
            [(("virtio_ring", ""), ("virtio", "virtio_ring")), (("virtio", ""), ("virtio_ring", "virtio"))];
        for ((first, none), (second, needed)) in cases {
            let scratch = tempfile::tempdir().unwrap();
            let folders = module_folders(scratch.path());
            folders.iter().for_each(|folder| fs::create_dir_all(folder).unwrap());
            let write = |folder: usize, name: &str, needs: &str| {
                let path = folders[folder].join(name);
                fs::write(&path, format!("\u{7f}ELF\0license=GPL\0depends={needs}\0name=x\0")).unwrap();
                path
            };
            let console = write(1, "virtio_console.ko", "virtio,virtio_ring");
            let pci = write(0, "virtio_pci.ko", "virtio,other,virtio_ring");
            write(0, "virtio_gpu.ko", "");
            let second = write(0, &format!("{second}.ko"), needed);
            let first = write(0, &format!("{first}.ko"), none);
            assert_eq!(modules_in(&folders).unwrap(), [first, second, pci, console]);
        }
    }

    #[test]
    fn compressed_modules_and_circles_keep_the_usual_order() {
        let cases = [
            [("virtio.ko", "\0depends=virtio_ring\0"), ("virtio_ring.ko", "\0depends=virtio\0")],
            [("virtio.ko.xz", "compressed"), ("virtio_ring.ko.zst", "compressed")],
        ];
        for files in cases {
            let scratch = tempfile::tempdir().unwrap();
            files.iter().for_each(|(name, content)| fs::write(scratch.path().join(name), content).unwrap());
            let expected = [files[1].0, files[0].0].map(|name| scratch.path().join(name));
            assert_eq!(modules_in(&[scratch.path().to_owned()]).unwrap(), expected);
        }
    }
}
