//! The architectures that a guest can have, with the names that everybody has for them.

use std::fmt;
use std::str::FromStr;

/// An architecture of a guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Architecture {
    /// x86-64.
    X86_64,
    /// 64-bit Arm.
    Aarch64,
    /// 64-bit RISC-V.
    Riscv64,
}

/// A word that names no architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAnArchitecture(String);

impl fmt::Display for NotAnArchitecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = Architecture::ALL.map(Architecture::name).join(", ");
        write!(f, "{} is no architecture of a guest: use one of {known}", self.0)
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
        let found = Self::ALL.into_iter().find(|architecture| architecture.name() == word);
        found.ok_or_else(|| NotAnArchitecture(word.to_owned()))
    }
}

impl Architecture {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::X86_64, Self::Aarch64, Self::Riscv64];

    /// Its name in Rust, in QEMU, and what `uname -m` says there.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Riscv64 => "riscv64",
        }
    }

    /// The one that this program was built for, if a guest can have it.
    pub fn host() -> Option<Self> {
        std::env::consts::ARCH.parse().ok()
    }

    /// Debian's name for it.
    pub(crate) fn debian(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
            Self::Riscv64 => "riscv64",
        }
    }

    /// The emulator, and the package of Debian that brings it.
    pub(crate) fn emulator(self) -> (&'static str, &'static str) {
        match self {
            Self::X86_64 => ("qemu-system-x86_64", "qemu-system-x86"),
            Self::Aarch64 => ("qemu-system-aarch64", "qemu-system-arm"),
            Self::Riscv64 => ("qemu-system-riscv64", "qemu-system-misc"),
        }
    }

    /// What the emulator is told of board and CPU, where the CPU is emulated.
    ///
    /// `pauth-impdef` replaces the cipher that signs pointers by a cheap one: an emulator computes the real
    /// one in software at every call and return (QEMU's documentation of Arm CPU features).
    pub(crate) fn board(self) -> [&'static str; 4] {
        match self {
            Self::X86_64 => ["-machine", "q35", "-cpu", "max"],
            Self::Aarch64 => ["-machine", "virt", "-cpu", "max,pauth-impdef=on"],
            Self::Riscv64 => ["-machine", "virt", "-cpu", "rv64"],
        }
    }

    /// As [`Architecture::board`], where instructions are counted.
    ///
    /// QEMU counts each repetition of a string instruction. A CPU of x86 that says that `rep stosb` and `rep movsb`
    /// are fast (ERMS, FSRM) has its kernel clear and copy byte by byte, and the count would be one of bytes. Without
    /// them the kernel takes `rep stosq` and `rep movsq`, so a repetition is a word, as it is in a plain loop
    /// (`arch/x86/lib/memset_64.S`, `copy_user_64.S`).
    pub(crate) fn counted_board(self) -> [&'static str; 4] {
        match self {
            Self::X86_64 => ["-machine", "q35", "-cpu", "max,-erms,-fsrm"],
            Self::Aarch64 | Self::Riscv64 => self.board(),
        }
    }

    /// What it is told of them where the CPU is that of this machine, which KVM passes on as it is. The
    /// interrupt controller of an Arm board must then be of the kind that KVM has.
    pub(crate) fn own_board(self) -> [&'static str; 4] {
        match self {
            Self::X86_64 => ["-machine", "q35", "-cpu", "host"],
            Self::Aarch64 => ["-machine", "virt,gic-version=host", "-cpu", "host"],
            Self::Riscv64 => ["-machine", "virt", "-cpu", "host"],
        }
    }

    /// The kernel's name for the board's serial line.
    pub(crate) fn console(self) -> &'static str {
        match self {
            Self::X86_64 | Self::Riscv64 => "ttyS0",
            Self::Aarch64 => "ttyAMA0",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else what a kernel clears and copies there would be counted in bytes.
    #[test]
    fn where_instructions_are_counted_no_string_of_bytes_is_fast() {
        for architecture in Architecture::ALL {
            let (usual, counted) = (architecture.board(), architecture.counted_board());
            assert_eq!(counted[..3], usual[..3]);
            let without = if architecture == Architecture::X86_64 { ",-erms,-fsrm" } else { "" };
            assert_eq!(counted[3], format!("{}{without}", usual[3]));
        }
    }

    #[test]
    fn every_name_leads_back_and_another_one_is_answered_with_the_known_ones() {
        for architecture in Architecture::ALL {
            assert_eq!(architecture.to_string().parse(), Ok(architecture));
        }
        let error = "vax".parse::<Architecture>().expect_err("no guest is a VAX");
        assert!(error.to_string().contains("x86_64, aarch64, riscv64"), "{error}");
    }
}
