//! What a step needs beside the source: Debian packages, and parts of the Rust toolchain.
//!
//! A requirement is met if its evidence is there, however it came. So a machine without Debian's
//! package manager, but with the programs, passes too.

use std::env;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::command::Command;
use crate::failure::Failure;
use tenbin_model::words::comma;

/// The Python that Debian's packages install for; another one may come first in the path.
pub const PYTHON: &str = "/usr/bin/python3";

/// Something that must be installed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Requirement {
    source: Source,
    name: String,
    evidence: Evidence,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Source {
    /// A package of Debian.
    Package,
    /// `rustup target add`.
    Target,
    /// `rustup component add`.
    Component,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Evidence {
    /// A program in the path.
    Program(String),
    /// A file or a folder.
    File(PathBuf),
    /// A module that [`PYTHON`] can import.
    PythonModule(String),
    /// A file or a folder below the toolchain's root.
    Toolchain(String),
}

impl Requirement {
    /// The Debian package `package`, which brings `program`.
    pub fn program(package: &str, program: &str) -> Self {
        Self::package(package, Evidence::Program(program.into()))
    }

    /// The Debian package `package`, which brings `file`.
    pub fn file(package: &str, file: &str) -> Self {
        Self::package(package, Evidence::File(file.into()))
    }

    /// The Debian package `package`, which brings the Python module `module`.
    pub fn python(package: &str, module: &str) -> Self {
        Self::package(package, Evidence::PythonModule(module.into()))
    }

    fn package(name: &str, evidence: Evidence) -> Self {
        Self { source: Source::Package, name: name.into(), evidence }
    }

    /// The standard library for the target `triple`.
    pub fn target(triple: &str) -> Self {
        let evidence = Evidence::Toolchain(format!("lib/rustlib/{triple}/lib"));
        Self { source: Source::Target, name: triple.into(), evidence }
    }

    fn component(name: &str, file: String) -> Self {
        Self { source: Source::Component, name: name.into(), evidence: Evidence::Toolchain(file) }
    }

    fn met(&self) -> bool {
        match &self.evidence {
            Evidence::Program(program) => in_path(program),
            Evidence::File(file) => file.exists(),
            Evidence::PythonModule(module) => {
                let import = format!("import {module}");
                let output = Command::new(PYTHON).arguments(["-c", &import]).capture_quietly();
                seen(output).is_some_and(|output| output.code == Some(0))
            }
            Evidence::Toolchain(path) => seen(toolchain_root()).is_some_and(|root| root.join(path).exists()),
        }
    }

    /// The command that a person would type to install it.
    fn remedy(&self) -> String {
        match self.source {
            Source::Package => format!("apt-get install {}", self.name),
            Source::Target => format!("rustup target add {}", self.name),
            Source::Component => format!("rustup component add {}", self.name),
        }
    }
}

/// What was looked at. That it could not be is said: what is there would be called missing without a reason.
fn seen<T>(result: Result<T, Failure>) -> Option<T> {
    result.inspect_err(|failure| println!("{failure}")).ok()
}

/// The formatter.
pub fn rustfmt() -> Requirement {
    Requirement::component("rustfmt", "bin/cargo-fmt".into())
}

/// The linter.
pub fn clippy() -> Requirement {
    Requirement::component("clippy", "bin/cargo-clippy".into())
}

/// The toolchain's disassembler.
pub fn disassembler() -> Requirement {
    Requirement::component("llvm-tools", disassembler_below_root())
}

/// What builds the firmware.
pub fn firmware() -> Vec<Requirement> {
    programs(&[("make", "make"), ("gcc-riscv64-linux-gnu", "riscv64-linux-gnu-gcc")])
}

/// What builds the firmware, and the machine that it runs on.
pub fn firmware_in_qemu() -> Vec<Requirement> {
    [firmware(), programs(&[("qemu-system-misc", "qemu-system-riscv64")])].concat()
}

/// SPIN and its compiler, and the firmware's.
pub fn spin() -> Vec<Requirement> {
    [programs(&[("spin", "spin"), ("gcc", "cc")]), firmware()].concat()
}

/// The programs that the questions about work have do it.
pub fn work() -> Vec<Requirement> {
    programs(&[
        ("git", "git"),
        ("universal-ctags", "ctags"),
        ("cscope", "cscope"),
        ("make", "make"),
        ("gcc", "cc"),
    ])
}

/// Chromium, and what drives it.
pub fn browser() -> Vec<Requirement> {
    programs(&[("chromium", "chromium"), ("nodejs", "node"), ("npm", "npm")])
}

/// Debian packages, and the program that each brings.
fn programs(names: &[(&str, &str)]) -> Vec<Requirement> {
    names.iter().map(|(package, program)| Requirement::program(package, program)).collect()
}

/// Where the toolchain's disassembler is.
pub fn disassembler_path() -> Result<PathBuf, Failure> {
    Ok(toolchain_root()?.join(disassembler_below_root()))
}

/// Install what is missing of `needs`, as far as that is possible, and give what is still missing.
pub fn provide(needs: &[Requirement]) -> Vec<Requirement> {
    let missing = missing(needs);
    install(&missing);
    self::missing(&missing)
}

/// Install what is missing of `needs`, and fail if anything still is.
pub fn insist(needs: &[Requirement]) -> Result<(), Failure> {
    let missing = provide(needs);
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::new("begin", in_words(&missing), format!("run: {}", remedies(&missing))))
}

/// "missing: a, b".
pub fn in_words(missing: &[Requirement]) -> String {
    let names = missing.iter().map(|requirement| requirement.name.as_str()).collect::<Vec<_>>();
    format!("missing: {}", comma(names))
}

/// The commands that would install them, for a person to type.
pub fn remedies(missing: &[Requirement]) -> String {
    missing.iter().map(Requirement::remedy).collect::<Vec<_>>().join(" && ")
}

fn missing(needs: &[Requirement]) -> Vec<Requirement> {
    let mut missing = needs.iter().filter(|requirement| !requirement.met()).cloned().collect::<Vec<_>>();
    missing.sort();
    missing.dedup();
    missing
}

/// Try to install. What came of it is read from the evidence afterwards, so no status is kept.
fn install(missing: &[Requirement]) {
    let names = |source| missing.iter().filter(move |it| it.source == source).map(|it| it.name.clone());
    let packages = names(Source::Package).collect::<Vec<_>>();
    if !packages.is_empty() {
        match privilege() {
            Some(prefix) => {
                seen(apt(&prefix).argument("update").run());
                let install = ["install", "--yes", "--no-install-recommends"];
                seen(apt(&prefix).arguments(install).arguments(packages).run());
            }
            None => println!("neither root nor sudo without a password: no package is installed"),
        }
    }
    for (source, word) in [(Source::Target, "target"), (Source::Component, "component")] {
        let names = names(source).collect::<Vec<_>>();
        if !names.is_empty() {
            seen(Command::new("rustup").arguments([word, "add"]).arguments(names).run());
        }
    }
}

/// The words that must stand before a command that installs; `None` if that is not allowed.
fn privilege() -> Option<Vec<&'static str>> {
    if !in_path("apt-get") {
        return None;
    }
    if std::fs::metadata("/proc/self").is_ok_and(|metadata| metadata.uid() == 0) {
        return Some(Vec::new());
    }
    let allowed = Command::new("sudo").arguments(["--non-interactive", "true"]).capture_quietly();
    allowed.is_ok_and(|output| output.code == Some(0)).then(|| vec!["sudo", "--non-interactive"])
}

fn apt(prefix: &[&'static str]) -> Command {
    let words = prefix.iter().copied().chain(["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]);
    let mut words = words.collect::<Vec<_>>();
    let program = words.remove(0);
    Command::new(program).arguments(words).remedy("install the packages by hand")
}

fn in_path(program: &str) -> bool {
    let path = env::var_os("PATH").unwrap_or_default();
    env::split_paths(&path).any(|folder| folder.join(program).is_file())
}

fn toolchain_root() -> Result<PathBuf, Failure> {
    let root = Command::new("rustc")
        .arguments(["--print", "sysroot"])
        .remedy("install the toolchain that rust-toolchain.toml names")
        .read()?;
    Ok(Path::new(root.trim()).to_path_buf())
}

fn disassembler_below_root() -> String {
    format!("lib/rustlib/{}-unknown-linux-gnu/bin/llvm-objdump", env::consts::ARCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_there_is_met_and_what_is_not_is_missing() {
        let there = Requirement::program("dash", "sh");
        let absent = Requirement::file("tenbin-no-such-package", "/nonexistent/file");
        assert_eq!(missing(&[there, absent.clone(), absent.clone()]), [absent]);
    }

    #[test]
    fn the_remedy_can_be_typed() {
        let missing = [
            Requirement::program("qemu-user-static", "qemu-vax-static"),
            Requirement::target("vax-unknown-none"),
        ];
        assert_eq!(
            remedies(&missing),
            "apt-get install qemu-user-static && rustup target add vax-unknown-none"
        );
        assert_eq!(in_words(&missing), "missing: qemu-user-static, vax-unknown-none");
    }
}
