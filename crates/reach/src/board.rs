//! The board that a guest has, by architecture.

use tenbin_model::Architecture;

/// What the emulator is told of board and CPU, where the CPU is emulated.
///
/// `pauth-impdef` replaces the cipher that signs pointers by a cheap one: an emulator computes the real
/// one in software at every call and return (QEMU's documentation of Arm CPU features).
pub(crate) fn emulated(architecture: Architecture) -> [&'static str; 4] {
    match architecture {
        Architecture::X86_64 => ["-machine", "q35", "-cpu", "max"],
        Architecture::Aarch64 => ["-machine", "virt", "-cpu", "max,pauth-impdef=on"],
        Architecture::Riscv64 => ["-machine", "virt", "-cpu", "rv64"],
    }
}

/// As [`emulated`], where instructions are counted.
///
/// QEMU counts each repetition of a string instruction. A CPU of x86 that says that `rep stosb` and
/// `rep movsb` are fast (ERMS, FSRM) has its kernel clear and copy byte by byte, and the count would be one
/// of bytes. Without them the kernel takes `rep stosq` and `rep movsq`, so a repetition is a word, as it is
/// in a plain loop (`arch/x86/lib/memset_64.S`, `copy_user_64.S`).
pub(crate) fn counted(architecture: Architecture) -> [&'static str; 4] {
    match architecture {
        Architecture::X86_64 => ["-machine", "q35", "-cpu", "max,-erms,-fsrm"],
        Architecture::Aarch64 | Architecture::Riscv64 => emulated(architecture),
    }
}

/// What it is told of them where the CPU is that of this machine, which KVM passes on as it is. The
/// interrupt controller of an Arm board must then be of the kind that KVM has.
pub(crate) fn own(architecture: Architecture) -> [&'static str; 4] {
    match architecture {
        Architecture::X86_64 => ["-machine", "q35", "-cpu", "host"],
        Architecture::Aarch64 => ["-machine", "virt,gic-version=host", "-cpu", "host"],
        Architecture::Riscv64 => ["-machine", "virt", "-cpu", "host"],
    }
}

/// The kernel's name for the board's serial line.
pub(crate) fn console(architecture: Architecture) -> &'static str {
    match architecture {
        Architecture::X86_64 | Architecture::Riscv64 => "ttyS0",
        Architecture::Aarch64 => "ttyAMA0",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Else what a kernel clears and copies there would be counted in bytes.
    #[test]
    fn where_instructions_are_counted_no_string_of_bytes_is_fast() {
        for architecture in Architecture::ALL {
            let (usual, counted) = (emulated(architecture), counted(architecture));
            assert_eq!(counted[..3], usual[..3]);
            let without = if architecture == Architecture::X86_64 { ",-erms,-fsrm" } else { "" };
            assert_eq!(counted[3], format!("{}{without}", usual[3]));
        }
    }
}
