//! The architectures that tenbin is built for, and what building and running for them needs.

use std::env;
use std::fs;
use std::path::Path;

use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::Requirement;

/// An architecture, with the names that the various tools have for it.
#[derive(Debug)]
pub(crate) struct Architecture {
    /// Its name in Rust, in QEMU and on our command line.
    pub(crate) name: &'static str,
    /// The target triple of rustc.
    pub(crate) target: &'static str,
    /// Name in an ELF header.
    pub(crate) machine: object::Architecture,
    /// What the disassembler must be told to know every instruction that a kernel may use.
    pub(crate) features: &'static str,
    /// Debian's prefix of the cross tools, and the folder of the C library for them.
    tools: &'static str,
    compiler_package: &'static str,
    library_package: &'static str,
    /// File name of the dynamic linker.
    loader: &'static str,
}

/// All of them. Adding one is a block here.
pub(crate) const ARCHITECTURES: &[Architecture] = &[
    Architecture {
        name: "x86_64",
        target: "x86_64-unknown-linux-gnu",
        machine: object::Architecture::X86_64,
        features: "",
        tools: "x86_64-linux-gnu",
        compiler_package: "gcc-x86-64-linux-gnu",
        library_package: "libc6-dev-amd64-cross",
        loader: "ld-linux-x86-64.so.2",
    },
    Architecture {
        name: "aarch64",
        target: "aarch64-unknown-linux-gnu",
        machine: object::Architecture::Aarch64,
        features: "+all",
        tools: "aarch64-linux-gnu",
        compiler_package: "gcc-aarch64-linux-gnu",
        library_package: "libc6-dev-arm64-cross",
        loader: "ld-linux-aarch64.so.1",
    },
    Architecture {
        name: "riscv64",
        target: "riscv64gc-unknown-linux-gnu",
        machine: object::Architecture::Riscv64,
        features: "+zacas,+zawrs,+zihintpause,+zihintntl,+zicbom,+zicboz,+zicbop,+zba,+zbb,+zbs",
        tools: "riscv64-linux-gnu",
        compiler_package: "gcc-riscv64-linux-gnu",
        library_package: "libc6-dev-riscv64-cross",
        loader: "ld-linux-riscv64-lp64d.so.1",
    },
];

impl Architecture {
    /// The architecture called `name`.
    pub(crate) fn named(name: &str) -> Result<&'static Self, Failure> {
        ARCHITECTURES.iter().find(|architecture| architecture.name == name).ok_or_else(|| {
            let known =
                ARCHITECTURES.iter().map(|architecture| architecture.name).collect::<Vec<_>>().join(", ");
            Failure::new(
                format!("find the architecture {name}"),
                "there is no such name",
                format!("use one of {known}"),
            )
        })
    }

    /// The one that xtask runs on.
    pub(crate) fn host() -> Result<&'static Self, Failure> {
        Self::named(env::consts::ARCH)
    }

    /// Whether it is another one than this machine's.
    pub(crate) fn foreign(&self) -> bool {
        self.name != env::consts::ARCH
    }

    /// What building for it needs.
    pub(crate) fn to_build(&self) -> Vec<Requirement> {
        let mut needs = vec![Requirement::target(self.target)];
        if self.foreign() {
            let library = format!("/usr/{}/lib/libc.a", self.tools);
            needs.push(Requirement::program(self.compiler_package, &self.linker()));
            needs.push(Requirement::file(self.library_package, &library));
        }
        needs
    }

    /// What building for it and running the result needs.
    pub(crate) fn to_run(&self) -> Vec<Requirement> {
        let mut needs = self.to_build();
        if self.foreign() {
            needs.push(Requirement::program("qemu-user-static", &self.emulator()));
        }
        needs
    }

    /// The variables that make cargo link and run for it.
    pub(crate) fn cargo_variables(&self) -> Vec<(String, String)> {
        if !self.foreign() {
            return Vec::new();
        }
        let prefix = format!("CARGO_TARGET_{}", self.target.to_uppercase().replace('-', "_"));
        vec![(format!("{prefix}_LINKER"), self.linker()), (format!("{prefix}_RUNNER"), self.emulator())]
    }

    /// `binary`, run here: by the emulator if need be.
    pub(crate) fn command(&self, binary: &Path) -> Command {
        if self.foreign() { Command::new(self.emulator()).argument(binary) } else { Command::new(binary) }
    }

    /// Compiles the C file `source` into a dynamic program `to`, and lays what it needs to run into `tree/lib`.
    pub(crate) fn compile_dynamic(&self, source: &Path, to: &Path, tree: &Path) -> Result<(), Failure> {
        let here = format!("lay the C library for {} into {}", self.name, tree.display());
        let failure =
            |error: std::io::Error| Failure::new(here.clone(), error.to_string(), "see the path above");
        let libraries = tree.join("lib");
        fs::create_dir_all(&libraries).map_err(failure)?;
        for file in [self.loader, "libc.so.6"] {
            fs::copy(format!("/usr/{}/lib/{file}", self.tools), libraries.join(file)).map_err(failure)?;
        }
        Command::new(self.linker())
            .arguments(["-O2", "-fno-builtin", "-fno-optimize-sibling-calls", "-pthread", "-o"])
            .arguments([to, source])
            .run()
    }

    fn linker(&self) -> String {
        format!("{}-gcc", self.tools)
    }

    fn emulator(&self) -> String {
        format!("qemu-{}-static", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_needs_no_emulator_and_the_others_do() {
        for architecture in ARCHITECTURES {
            let emulated = architecture.to_run().len() > architecture.to_build().len();
            assert_eq!(emulated, architecture.foreign(), "{}", architecture.name);
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let failure = Architecture::named("vax").expect_err("no such architecture");
        assert!(failure.to_string().contains("x86_64, aarch64, riscv64"), "{failure}");
    }
}
