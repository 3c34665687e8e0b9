//! The architectures that tenbin is built for and that a guest can have, with the names that everybody has
//! for them.

use crate::words::comma;
use std::fmt;
use std::str::FromStr;

/// An architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Architecture {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// 64-bit RISC-V.
    Riscv64,
}

/// What an architecture is called, and by whom.
#[derive(Debug)]
pub struct Names {
    /// In Rust, in QEMU, on our command line, and what `uname -m` says there.
    pub name: &'static str,
    /// In a sentence.
    pub sentence: &'static str,
    /// The target triple of rustc.
    pub target: &'static str,
    /// The number in the header of an ELF file (`e_machine`).
    pub elf: u16,
    /// The architecture of Debian.
    pub debian: &'static str,
    /// What the names of Debian's cross tools begin with, and the folder of the C library for them.
    pub tools: &'static str,
    /// The emulator of whole machines, and the package of Debian that brings it.
    pub emulator: (&'static str, &'static str),
    /// File name of the C library's dynamic linker.
    pub loader: &'static str,
}

/// In the order of [`Architecture`].
const NAMES: &[Names; 3] = &[
    Names {
        name: "x86_64",
        sentence: "x86-64",
        target: "x86_64-unknown-linux-gnu",
        elf: 62,
        debian: "amd64",
        tools: "x86_64-linux-gnu",
        emulator: ("qemu-system-x86_64", "qemu-system-x86"),
        loader: "ld-linux-x86-64.so.2",
    },
    Names {
        name: "aarch64",
        sentence: "arm64",
        target: "aarch64-unknown-linux-gnu",
        elf: 183,
        debian: "arm64",
        tools: "aarch64-linux-gnu",
        emulator: ("qemu-system-aarch64", "qemu-system-arm"),
        loader: "ld-linux-aarch64.so.1",
    },
    Names {
        name: "riscv64",
        sentence: "riscv64",
        target: "riscv64gc-unknown-linux-gnu",
        elf: 243,
        debian: "riscv64",
        tools: "riscv64-linux-gnu",
        emulator: ("qemu-system-riscv64", "qemu-system-misc"),
        loader: "ld-linux-riscv64-lp64d.so.1",
    },
];

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Riscv64];

    /// That of the machine that this was built for.
    pub const HERE: Self = if cfg!(target_arch = "x86_64") {
        Self::X86_64
    } else if cfg!(target_arch = "aarch64") {
        Self::Aarch64
    } else {
        Self::Riscv64
    };

    /// What it is called.
    pub const fn names(self) -> &'static Names {
        &NAMES[self as usize]
    }

    /// Its name in Rust and in QEMU.
    pub const fn name(self) -> &'static str {
        self.names().name
    }

    /// The one that this program was built for, if it is one of them.
    pub fn host() -> Option<Self> {
        std::env::consts::ARCH.parse().ok()
    }

    /// That of an ELF file whose header holds `machine` (`e_machine`), if it is one of them.
    pub fn of_elf(machine: u16) -> Option<Self> {
        Self::ALL.into_iter().find(|architecture| architecture.names().elf == machine)
    }

    /// The emulator of programs, from Debian's package `qemu-user-static`.
    pub fn program_emulator(self) -> String {
        format!("qemu-{}-static", self.name())
    }

    /// The C compiler that runs elsewhere, and the package of Debian that brings it.
    pub fn cross_compiler(self) -> (String, String) {
        let tools = self.names().tools;
        (format!("{tools}-gcc"), format!("gcc-{}", tools.replace('_', "-")))
    }

    /// The C library for the cross compiler, and the package of Debian that brings it.
    pub fn cross_library(self) -> (String, String) {
        let Names { tools, debian, .. } = self.names();
        (format!("/usr/{tools}/lib/libc.a"), format!("libc6-dev-{debian}-cross"))
    }
}

/// A word that names no architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnArchitecture(String);

impl fmt::Display for NotAnArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = comma(Architecture::ALL.map(Architecture::name));
        write!(f, "{} is not a guest architecture: use one of {known}", self.0)
    }
}

impl std::error::Error for NotAnArchitecture {}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Architecture {
    type Err = NotAnArchitecture;

    fn from_str(word: &str) -> Result<Self, NotAnArchitecture> {
        let named = Self::ALL.into_iter().find(|architecture| architecture.name() == word);
        named.ok_or_else(|| NotAnArchitecture(word.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_leads_back_and_unknown_ones_are_answered() {
        for architecture in Architecture::ALL {
            assert_eq!(architecture.to_string().parse(), Ok(architecture));
            assert_eq!(Architecture::of_elf(architecture.names().elf), Some(architecture));
        }
        // EM_S390.
        assert_eq!(Architecture::of_elf(22), None);
        let error = "vax".parse::<Architecture>().expect_err("no guest is a VAX");
        assert!(error.to_string().contains("x86_64, aarch64, riscv64"), "{error}");
    }

    #[test]
    fn debian_s_names_are_those_of_its_packages() {
        let packages = Architecture::ALL.map(|it| (it.cross_compiler().1, it.cross_library().1));
        let expected = [
            ("gcc-x86-64-linux-gnu", "libc6-dev-amd64-cross"),
            ("gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"),
            ("gcc-riscv64-linux-gnu", "libc6-dev-riscv64-cross"),
        ];
        assert_eq!(packages, expected.map(|(compiler, library)| (compiler.into(), library.into())));
    }
}
