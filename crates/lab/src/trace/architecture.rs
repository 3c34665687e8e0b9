//! What the three architectures call their registers and system calls.

use syscalls::{aarch64, riscv64, x86_64};
use tenbin_model::Architecture;

/// How programs of an architecture call functions and the kernel.
pub(super) trait Convention: Copy {
    /// The document that says how its functions are called.
    fn convention(self) -> &'static str;

    /// The registers of a function's arguments, in order. What does not fit goes to the stack.
    fn function_arguments(self) -> &'static [&'static str];

    /// The registers of a system call's arguments, in order (syscall(2)).
    fn call_arguments(self) -> [&'static str; 6];

    /// The register of a system call's number.
    fn call_number(self) -> &'static str;

    /// The register of a result, a function's and a system call's.
    fn result(self) -> &'static str;

    /// The instruction that enters the kernel.
    fn instruction(self) -> &'static str;

    /// The name of the system call `number`, if the table has it.
    fn call_name(self, number: u64) -> Option<&'static str>;
}

impl Convention for Architecture {
    fn convention(self) -> &'static str {
        match self {
            Self::X86_64 => "System V AMD64 ABI",
            Self::Aarch64 => "AAPCS64",
            Self::Riscv64 => "RISC-V ELF psABI",
        }
    }

    fn function_arguments(self) -> &'static [&'static str] {
        match self {
            Self::X86_64 => &["rdi", "rsi", "rdx", "rcx", "r8", "r9"],
            Self::Aarch64 => &["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"],
            Self::Riscv64 => &["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"],
        }
    }

    fn call_arguments(self) -> [&'static str; 6] {
        match self {
            // The instruction itself overwrites rcx.
            Self::X86_64 => ["rdi", "rsi", "rdx", "r10", "r8", "r9"],
            Self::Aarch64 => ["x0", "x1", "x2", "x3", "x4", "x5"],
            Self::Riscv64 => ["a0", "a1", "a2", "a3", "a4", "a5"],
        }
    }

    fn call_number(self) -> &'static str {
        match self {
            Self::X86_64 => "rax",
            Self::Aarch64 => "x8",
            Self::Riscv64 => "a7",
        }
    }

    fn result(self) -> &'static str {
        match self {
            Self::X86_64 => "rax",
            Self::Aarch64 => "x0",
            Self::Riscv64 => "a0",
        }
    }

    fn instruction(self) -> &'static str {
        match self {
            Self::X86_64 => "syscall",
            Self::Aarch64 => "svc #0",
            Self::Riscv64 => "ecall",
        }
    }

    fn call_name(self, number: u64) -> Option<&'static str> {
        let number = usize::try_from(number).ok()?;
        let name = match self {
            Self::X86_64 => x86_64::Sysno::new(number).map(|call| call.name()),
            Self::Aarch64 => aarch64::Sysno::new(number).map(|call| call.name()),
            Self::Riscv64 => riscv64::Sysno::new(number).map(|call| call.name()),
        }?;
        // One number of the generic table has two names, for 32 and 64 bits: `__NR3264_fstatat` of
        // asm-generic/unistd.h.
        Some(if name == "fstatat" { "newfstatat" } else { name })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_have_the_numbers_that_each_architecture_gives_them() {
        // asm/unistd_64.h of x86, asm-generic/unistd.h of the two others.
        let table = [
            ("clone", Some(56), Some(220)),
            ("clone3", Some(435), Some(435)),
            ("fork", Some(57), None),
            ("vfork", Some(58), None),
            ("write", Some(1), Some(64)),
            ("mmap", Some(9), Some(222)),
            ("openat", Some(257), Some(56)),
            ("execve", Some(59), Some(221)),
            ("exit_group", Some(231), Some(94)),
            ("clock_nanosleep", Some(230), Some(115)),
            ("newfstatat", Some(262), Some(79)),
            ("futex", Some(202), Some(98)),
        ];
        for (name, x86, others) in table {
            for architecture in Architecture::ALL {
                let number = if architecture == Architecture::X86_64 { x86 } else { others };
                let named = |number| architecture.call_name(number);
                match number {
                    Some(number) => assert_eq!(named(number), Some(name), "{architecture:?}"),
                    None => assert!((0..600).all(|number| named(number) != Some(name)), "{architecture:?}"),
                }
            }
        }
        assert!(Architecture::ALL.iter().all(|here| here.call_name(1 << 40).is_none()));
        assert!(Architecture::ALL.iter().all(|here| here.call_name(9_999).is_none()));
    }

    #[test]
    fn registers_are_those_of_the_conventions() {
        let row = |architecture: Architecture| {
            let function = architecture.function_arguments().join(" ");
            let call = architecture.call_arguments().join(" ");
            format!("{function} | {} {call} | {}", architecture.call_number(), architecture.result())
        };
        assert_eq!(row(Architecture::X86_64), "rdi rsi rdx rcx r8 r9 | rax rdi rsi rdx r10 r8 r9 | rax");
        assert_eq!(row(Architecture::Aarch64), "x0 x1 x2 x3 x4 x5 x6 x7 | x8 x0 x1 x2 x3 x4 x5 | x0");
        assert_eq!(row(Architecture::Riscv64), "a0 a1 a2 a3 a4 a5 a6 a7 | a7 a0 a1 a2 a3 a4 a5 | a0");
    }

    #[test]
    fn as_many_registers_are_named_as_are_read() {
        use tenbin_metal::tracee::Layout;
        for (architecture, layout) in
            Architecture::ALL.into_iter().zip([Layout::X86_64, Layout::AARCH64, Layout::RISCV64])
        {
            assert_eq!(architecture.function_arguments().len(), layout.arguments.len());
        }
    }
}
