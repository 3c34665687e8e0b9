//! Building our modules by the kernel's own build system.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_metal::child::{End, Finished};
use tenbin_model::Architecture;

use crate::error::Error;
use crate::folder::copied;
use crate::module::{Module, write_sources};
use crate::process::{Program, in_path, lacking};

const PATIENCE: Duration = Duration::from_secs(600);

const LINES: usize = 12;

/// The variables that make gets of this process's environment. make takes every other one for a setting
/// (`KCFLAGS`, `LLVM`, `ARCH`, `KBUILD_OUTPUT`, `MAKEFILES`), and what is built is kept under a name that
/// knows nothing of it.
const INHERITED: &[&str] = &["PATH", "HOME", "TMPDIR"];

const ALWAYS: [&str; 1] = [
    // Types for BPF would be made by pahole from the kernel's own, and no module of ours needs them.
    "CONFIG_DEBUG_INFO_BTF_MODULES=",
];

/// A build: with which headers, and by which compiler.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Build {
    /// What make is told beside the place of the sources.
    words: Vec<String>,
    headers: PathBuf,
}

impl Build {
    /// For a kernel of Debian with the headers in `headers`.
    ///
    /// The kernel's own compiler may be newer than those that are here; which one it was is not checked by
    /// Debian's headers (`DEBIAN_KERNEL_NO_CC_VERSION_CHECK`).
    ///
    /// # Errors
    /// [`Error::Missing`] without make or a compiler for `architecture`.
    pub(crate) fn of_debian(architecture: Architecture, headers: PathBuf) -> Result<Self, Error> {
        find_make()?;
        let (prefix, compiler) = compiler(architecture, Architecture::host())?;
        let mut build = Self::plain(headers);
        build.words.extend([
            format!("CC={compiler}"),
            format!("CROSS_COMPILE={prefix}"),
            // The kernel notes that its compiler could align all functions by one flag, which is newer than
            // this compiler may be. Without the note it uses the flag that every compiler has.
            "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=".to_owned(),
            // Nothing is to be warned of with the headers that the modules are tried with. With others it may
            // be, and is no error: the modules do not ask for that themselves.
            "KCFLAGS=-Werror".to_owned(),
        ]);
        Ok(build)
    }

    /// For a kernel of the user's own, whose headers know their compiler, unless it is of another
    /// architecture.
    ///
    /// # Errors
    /// As [`Build::of_debian`].
    pub(crate) fn of_own(architecture: Architecture, headers: PathBuf) -> Result<Self, Error> {
        if Architecture::host() != Some(architecture) {
            return Self::of_debian(architecture, headers);
        }
        find_make()?;
        compiler(architecture, Architecture::host())?;
        Ok(Self::plain(headers))
    }

    /// With the compiler that the headers know.
    pub(crate) fn plain(headers: PathBuf) -> Self {
        Self { words: ALWAYS.map(str::to_owned).to_vec(), headers }
    }

    /// What makes this build another one than others.
    pub(crate) fn parts(&self) -> impl Iterator<Item = &[u8]> {
        self.words.iter().map(String::as_bytes)
    }

    /// Builds all modules in the folder `scratch`, a path from the root, which is made, and puts them into
    /// the folder `into`, which is made.
    ///
    /// # Errors
    /// [`Error::Build`] where they do not build, [`Error::Missing`] where the tools need a library that is
    /// not here, [`Error::File`] where a folder cannot be written.
    pub(crate) fn run(&self, scratch: &Path, into: &Path) -> Result<(), Error> {
        write_sources(scratch)?;
        let jobs = std::thread::available_parallelism().map_or(1, usize::from);
        let make = Program::new("make", "make")
            .words(["-C".as_ref(), self.headers.as_os_str()])
            .words([format!("M={}", scratch.display()), format!("-j{jobs}"), "modules".to_owned()])
            .words(&self.words)
            .inherits(INHERITED);
        let Finished { end, stderr, .. } = make.capture(PATIENCE)?;
        if !end.success() {
            let stderr = String::from_utf8_lossy(&stderr).into_owned();
            return Err(self.failure(end, &stderr.replace(&format!("{}/", scratch.display()), "")));
        }
        fs::create_dir(into).map_err(Error::file("write", into))?;
        for module in Module::ALL {
            let (from, to) = (scratch.join(module.product()), into.join(module.file()));
            copied(&from, &to)?;
        }
        Ok(())
    }

    fn failure(&self, end: End, stderr: &str) -> Error {
        if let Some((library, package)) = absent_library(stderr) {
            return lacking(library, "the kernel's tools need it to build modules", package);
        }
        let ending = match end {
            End::OutOfTime => format!("make was still running after {} s", PATIENCE.as_secs()),
            end => format!("make ended with {end}"),
        };
        Error::Build {
            what: format!("with {}", self.headers.display()),
            cause: format!("{ending}:\n{}", complaints(stderr)),
        }
    }
}

fn find_make() -> Result<(), Error> {
    let lacks = || lacking("the program make".to_owned(), "the kernel's modules are built with it", "make");
    in_path("make").map(|_| ()).ok_or_else(lacks)
}

/// Insists that the kernel's build system can work in `folder`, or below it; else says what to do: `remedy`.
///
/// # Errors
/// [`Error::Request`] where a path holds what make, a shell or a compiler's flags would take for something
/// else.
pub(crate) fn insist_plain(folder: &Path, remedy: &str) -> Result<(), Error> {
    let absolute = std::path::absolute(folder).map_err(Error::file("read", folder))?;
    // make follows links.
    let real = fs::canonicalize(&absolute).unwrap_or_else(|_| absolute.clone());
    let plain = |letter: char| letter.is_alphanumeric() || "/._-+@~".contains(letter);
    for path in [absolute, real] {
        if !path.to_str().is_some_and(|path| path.chars().all(plain)) {
            let why = format!(
                "kernel modules cannot be built in {}: make takes spaces, colons and the like in a path for something \
                 else; {remedy}",
                path.display()
            );
            return Err(Error::Request(why));
        }
    }
    Ok(())
}

/// The prefix of the programs that build for `architecture`, and the compiler among them: of the version that
/// all modules were tried with, else the usual one.
fn compiler(architecture: Architecture, host: Option<Architecture>) -> Result<(String, String), Error> {
    let (prefix, package) = if host == Some(architecture) {
        (String::new(), "gcc".to_owned())
    } else {
        (format!("{}-", architecture.names().tools), architecture.cross_compiler().1)
    };
    let names = ["gcc-12", "gcc"].map(|name| format!("{prefix}{name}"));
    let program = names.iter().find(|name| in_path(name).is_some()).cloned();
    let lacks = || {
        let what = format!("the program {prefix}gcc");
        lacking(what, "the kernel's modules are compiled with it", &package)
    };
    Ok((prefix.clone(), program.ok_or_else(lacks)?))
}

/// The library that a tool did not find, and its package.
fn absent_library(stderr: &str) -> Option<(String, &'static str)> {
    let line = stderr.lines().find(|line| line.contains("error while loading shared libraries"))?;
    let library = line.split([':', ' ']).find(|word| word.starts_with("lib") && word.contains(".so"))?;
    let package = match library {
        "libelf.so.1" => "libelf1",
        "libcrypto.so.3" | "libssl.so.3" => "libssl3",
        "libz.so.1" => "zlib1g",
        _ => return None,
    };
    Some((format!("the library {library}"), package))
}

/// The lines that say what is wrong, from the first one on; else the last lines.
fn complaints(stderr: &str) -> String {
    let lines = stderr.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>();
    let wrong =
        |line: &&str| ["error:", "ERROR:", "warning:", "not found"].iter().any(|word| line.contains(word));
    let first = lines.iter().position(wrong).unwrap_or(lines.len().saturating_sub(LINES));
    lines[first..].iter().take(LINES).copied().collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn build() -> Build {
        Build { words: vec!["CC=x".to_owned()], headers: "/h".into() }
    }

    fn failure(stderr: &str) -> Error {
        build().failure(End::Exited(2), stderr)
    }

    #[test]
    fn a_failed_build_shows_the_compiler_s_first_words() {
        let rest = (0..100).map(|number| format!("note {number}\n")).collect::<String>();
        let stderr = format!("In file included from x\nfibdrv/fibdrv.c:3:1: error: expected ';'\n{rest}");
        let Error::Build { what, cause } = failure(&stderr) else { panic!("it failed") };
        assert_eq!(what, "with /h");
        assert!(
            cause.starts_with("make ended with exit status: 2:\nfibdrv/fibdrv.c:3:1: error: expected"),
            "{cause}"
        );
        assert!(cause.ends_with("note 10"), "{cause}");
        assert!(complaints(&rest).starts_with("note 88\n"));
        assert_eq!(complaints(""), "");
    }

    #[test]
    fn warnings_are_errors_with_headers_of_debian_only() {
        let asks = |build: &Build| build.words.contains(&"KCFLAGS=-Werror".to_owned());
        assert!(!asks(&Build::plain("/h".into())));
        // Without make or a compiler nothing is built, and so nothing is warned of.
        if let Some(host) = Architecture::host()
            && let Ok(build) = Build::of_debian(host, "/h".into())
        {
            assert!(asks(&build));
        }
    }

    #[test]
    fn a_library_that_tools_lack_is_named_with_its_package() {
        let stderr = "tools/objtool/objtool: error while loading shared libraries: libelf.so.1: cannot open shared \
                    object file: No such file or directory\nmake[1]: *** [x] Error 127\n";
        let Error::Missing(missing) = failure(stderr) else { panic!("it is missing") };
        assert_eq!(
            (&*missing.what, &*missing.install),
            ("the library libelf.so.1", "apt-get install libelf1")
        );
        let stderr = stderr.replace("libelf.so.1", "libstrange.so.1");
        assert!(matches!(failure(&stderr), Error::Build { .. }));
    }

    #[test]
    fn make_cannot_work_everywhere() {
        for good in ["/jörg/.cache/tenbin/guest", "cache", "/a_b/c-1.2+x@y~z"] {
            assert!(insist_plain(good.as_ref(), "").is_ok(), "{good}");
        }
        for wrong in ["/my cache", "/a:b", "/a\tb", "/a$b", "/a#b", "/a%b", "/a=b", "/a'b", "/a,b"] {
            let error = insist_plain(wrong.as_ref(), "go away").unwrap_err();
            let Error::Request(why) = &error else { panic!("{error}") };
            assert!(why.contains(wrong) && why.contains("; go away"), "{why}");
        }
    }

    #[test]
    fn another_architecture_needs_another_compiler() {
        // A machine without any compiler names the package; one with it names the program.
        for (architecture, host, prefix) in [
            (Architecture::X86_64, Some(Architecture::X86_64), ""),
            (Architecture::Aarch64, Some(Architecture::X86_64), "aarch64-linux-gnu-"),
            (Architecture::X86_64, Some(Architecture::Aarch64), "x86_64-linux-gnu-"),
            (Architecture::Riscv64, None, "riscv64-linux-gnu-"),
        ] {
            match compiler(architecture, host) {
                Ok((chosen, compiler)) => {
                    assert_eq!(chosen, prefix);
                    assert!(
                        [format!("{prefix}gcc-12"), format!("{prefix}gcc")].contains(&compiler),
                        "{compiler}"
                    );
                }
                Err(Error::Missing(missing)) => {
                    assert!(missing.what.contains(&format!("{prefix}gcc")), "{missing}");
                    assert!(missing.install.starts_with("apt-get install gcc"), "{missing}");
                }
                Err(other) => panic!("{other}"),
            }
        }
    }
}
