//! The headers of a kernel of Debian, and the tools that build modules with them.
//!
//! Headers are of the kernel's architecture and of the very version of its image: a kernel refuses modules
//! that were built for another one. Tools (`linux-kbuild`) are programs of this machine. They are taken from
//! bookworm, its security updates and its backports, which have them for every kernel here: what was linked
//! with an older C library runs with a newer one too, and not the other way round. For a machine of RISC-V,
//! which bookworm was not made for, they are trixie's.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use tenbin_model::Architecture;

use crate::apt::{Apt, dependency};
use crate::error::Error;
use crate::folder::listed;
use crate::kernel::Suite;

const TOOLS: &str = "linux-kbuild-";

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Image {
    /// The kernel's name for itself: what `uname -r` says.
    pub(crate) release: String,
    pub(crate) version: String,
}

impl Image {
    /// The one in a list of packages' files: `NAME_VERSION_ARCHITECTURE.deb`, one a line.
    pub(crate) fn among(files: &str) -> Option<Self> {
        files.lines().find_map(|file| {
            let mut parts = file.strip_prefix("linux-image-")?.split('_');
            let (release, version) = (parts.next()?, parts.next()?);
            let release = release.strip_suffix("-unsigned").unwrap_or(release);
            Some(Self { release: release.to_owned(), version: version.to_owned() })
        })
    }

    /// The package of its headers, as apt wants it to be named.
    pub(crate) fn headers(&self) -> String {
        format!("linux-headers-{}={}", self.release, self.version)
    }
}

/// Fetches the headers of `image` into the folder `into`, which is made, and the tools with them.
///
/// # Errors
/// [`Error::Fetch`] where the archive does not have them, [`Error::Request`] where Debian has no tools for
/// this machine; and as [`Apt::prepare`].
pub(crate) fn fetch(apt: &mut Apt, image: &Image, scratch: &Path, into: &Path) -> Result<(), Error> {
    let package = image.headers();
    let record = apt.record(&package)?;
    let needed = |beginning| {
        let cause = || format!("it does not depend on any {beginning}*");
        let name = dependency(&record, beginning);
        name.ok_or_else(|| Error::Fetch { what: package.clone(), cause: cause() })
    };
    let (common, kbuild) = (needed("linux-headers-")?, needed(TOOLS)?);
    let mut files = apt.unpack(&[&package, &format!("{common}={}", image.version)], into)?;
    let (host, suite) = tools_of(Architecture::host())?;
    let mut tools = Apt::prepare(&scratch.join("tools"), host, suite)?;
    let known = tools.names(TOOLS)?;
    let name = closest(known.iter().map(String::as_str), kbuild).ok_or_else(|| {
        let cause = format!("Debian's {suite} has neither it nor one for the same Linux for {host}");
        tools.reason(Error::Fetch { what: kbuild.to_owned(), cause })
    })?;
    files.extend(tools.unpack(&[name], into)?);
    let link = into.join("usr/lib").join(kbuild);
    if name != kbuild {
        symlink(name, &link).map_err(Error::file("write", &link))?;
    }
    let origin = into.join("origin");
    fs::write(&origin, files.join("\n") + "\n").map_err(Error::file("write", &origin))?;
    make_movable(&folder(into)?)
}

fn tools_of(host: Option<Architecture>) -> Result<(Architecture, Suite), Error> {
    match host {
        Some(host @ (Architecture::X86_64 | Architecture::Aarch64)) => Ok((host, Suite::Backports)),
        // Bookworm was not made for it.
        Some(host @ Architecture::Riscv64) => Ok((host, Suite::Trixie)),
        None => Err(Error::Request(
            "no modules can be built here: Debian's tools are taken for x86_64, aarch64 and riscv64"
                .to_owned(),
        )),
    }
}

/// The package of tools that is `wanted`, else the one for the same Linux, else the newest one for the same
/// branch of it (the same first two numbers): within a branch, what modules are built with changes by
/// corrections only.
fn closest<'a>(known: impl Iterator<Item = &'a str>, wanted: &str) -> Option<&'a str> {
    let asked = numbers(wanted);
    let branch = asked.get(..2)?;
    let fitting = known.filter(|name| numbers(name).starts_with(branch));
    fitting.max_by_key(|name| (*name == wanted, numbers(name) == asked, numbers(name)))
}

/// The numbers of a version behind the name of a package of tools, up to what is no number.
fn numbers(name: &str) -> Vec<u32> {
    let version = name.strip_prefix(TOOLS).unwrap_or_default();
    let end = version.find(|letter: char| letter != '.' && !letter.is_ascii_digit()).unwrap_or(version.len());
    version[..end].split('.').map_while(|number| number.parse().ok()).collect()
}

/// The folder that modules are built with, below the folder that headers were unpacked into.
///
/// # Errors
/// [`Error::Fetch`] where there is none.
pub(crate) fn folder(unpacked: &Path) -> Result<PathBuf, Error> {
    let sources = unpacked.join("usr/src");
    let headers = listed(&sources)?.into_iter().find(|path| path.join("Module.symvers").is_file());
    headers.ok_or_else(|| Error::Fetch {
        what: sources.display().to_string(),
        cause: "no package of headers is in it: remove it, to have it fetched again".to_owned(),
    })
}

/// Debian's headers name the part that all architectures share by a path from the root. As a path from their
/// own folder, where make is started, it holds wherever they are.
fn make_movable(folder: &Path) -> Result<(), Error> {
    let path = folder.join("Makefile");
    let text = fs::read_to_string(&path).map_err(Error::file("read", &path))?;
    fs::write(&path, text.replace("/usr/src/", "../")).map_err(Error::file("write", &path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_s_file_tells_the_kernel_and_its_version() {
        let image = |release: &str, version: &str| {
            Some(Image { release: release.to_owned(), version: version.to_owned() })
        };
        let files = "busybox-static_1%3a1.37.0-6+b9_riscv64.deb\nlinux-image-6.12.107+deb13-riscv64_6.12.107-1_riscv64.deb\n";
        assert_eq!(Image::among(files), image("6.12.107+deb13-riscv64", "6.12.107-1"));
        let files = "linux-image-6.12.1-amd64-unsigned_6.12.1-1~bpo12+1_amd64.deb";
        let image = Image::among(files).unwrap();
        assert_eq!(image.headers(), "linux-headers-6.12.1-amd64=6.12.1-1~bpo12+1");
        for wrong in ["", "busybox-static_1_amd64.deb", "linux-image-x"] {
            assert_eq!(Image::among(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn the_closest_tools_are_taken() {
        let known = ["6.1", "6.12.95+deb12", "6.12.107+deb12", "6.12.117+deb12", "6.13.1+deb12"];
        let cases = [
            ("6.1", Some("6.1")),
            ("6.12.95+deb12", Some("6.12.95+deb12")),
            ("6.12.107+deb13", Some("6.12.107+deb12")),
            ("6.12.110+deb13", Some("6.12.117+deb12")),
            ("6.14.1", None),
            ("6", None),
            ("", None),
        ];
        let known = known.map(|version| format!("{TOOLS}{version}"));
        for (wanted, expected) in cases {
            let wanted = format!("{TOOLS}{wanted}");
            let chosen = closest(known.iter().map(String::as_str), &wanted);
            assert_eq!(chosen, expected.map(|version| format!("{TOOLS}{version}")).as_deref(), "{wanted}");
        }
    }

    #[test]
    fn tools_are_programs_of_this_machine() {
        for host in Architecture::ALL {
            let (architecture, suite) = tools_of(Some(host)).unwrap();
            assert_eq!(architecture, host);
            assert!(suite.insist(host).is_ok());
        }
        assert!(matches!(tools_of(None), Err(Error::Request(_))));
    }

    #[test]
    fn headers_hold_wherever_they_are() {
        let scratch = tempfile::tempdir().unwrap();
        for name in ["linux-headers-1-common", "linux-headers-1-x"] {
            fs::create_dir_all(scratch.path().join("usr/src").join(name)).unwrap();
        }
        assert!(matches!(folder(scratch.path()), Err(Error::Fetch { .. })));
        let expected = scratch.path().join("usr/src/linux-headers-1-x");
        fs::write(expected.join("Module.symvers"), "").unwrap();
        fs::write(expected.join("Makefile"), "include /usr/src/linux-headers-1-common/Makefile\n").unwrap();
        assert_eq!(folder(scratch.path()).unwrap(), expected);
        make_movable(&expected).unwrap();
        let text = fs::read_to_string(expected.join("Makefile")).unwrap();
        assert_eq!(text, "include ../linux-headers-1-common/Makefile\n");
    }
}
