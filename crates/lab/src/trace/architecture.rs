//! What the three architectures call their registers and system calls.

use syscalls::{aarch64, riscv64, x86_64};
use tenbin_model::Architecture;

/// How programs of an architecture call functions and the kernel.
pub(super) struct Convention {
    /// The document that says how its functions are called.
    pub(super) document: &'static str,
    /// The registers of a function's arguments, in order. What does not fit goes to the stack.
    pub(super) function_arguments: &'static [&'static str],
    /// The registers of a system call's arguments, in order (syscall(2)).
    pub(super) call_arguments: [&'static str; 6],
    /// The register of a system call's number.
    pub(super) call_number: &'static str,
    /// The register of a result, a function's and a system call's.
    pub(super) result: &'static str,
    pub(super) instruction: &'static str,
    call_names: fn(usize) -> Option<&'static str>,
}

static X86_64: Convention = Convention {
    document: "System V AMD64 ABI",
    function_arguments: &["rdi", "rsi", "rdx", "rcx", "r8", "r9"],
    // The instruction itself overwrites rcx.
    call_arguments: ["rdi", "rsi", "rdx", "r10", "r8", "r9"],
    call_number: "rax",
    result: "rax",
    instruction: "syscall",
    call_names: |number| x86_64::Sysno::new(number).map(|call| call.name()),
};
static AARCH64: Convention = Convention {
    document: "AAPCS64",
    function_arguments: &["x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7"],
    call_arguments: ["x0", "x1", "x2", "x3", "x4", "x5"],
    call_number: "x8",
    result: "x0",
    instruction: "svc #0",
    call_names: |number| aarch64::Sysno::new(number).map(|call| call.name()),
};
static RISCV64: Convention = Convention {
    document: "RISC-V ELF psABI",
    function_arguments: &["a0", "a1", "a2", "a3", "a4", "a5", "a6", "a7"],
    call_arguments: ["a0", "a1", "a2", "a3", "a4", "a5"],
    call_number: "a7",
    result: "a0",
    instruction: "ecall",
    call_names: |number| riscv64::Sysno::new(number).map(|call| call.name()),
};

impl Convention {
    pub(super) fn of(architecture: Architecture) -> &'static Self {
        match architecture {
            Architecture::X86_64 => &X86_64,
            Architecture::Aarch64 => &AARCH64,
            Architecture::Riscv64 => &RISCV64,
        }
    }

    /// The name of the system call `number`, if the table has it.
    pub(super) fn call_name(&self, number: u64) -> Option<&'static str> {
        let name = (self.call_names)(usize::try_from(number).ok()?)?;
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
                let named = |number| Convention::of(architecture).call_name(number);
                match number {
                    Some(number) => assert_eq!(named(number), Some(name), "{architecture:?}"),
                    None => assert!((0..600).all(|number| named(number) != Some(name)), "{architecture:?}"),
                }
            }
        }
        for convention in Architecture::ALL.map(Convention::of) {
            assert_eq!((convention.call_name(1 << 40), convention.call_name(9_999)), (None, None));
        }
    }

    #[test]
    fn registers_are_those_of_the_conventions() {
        let row = |architecture: Architecture| {
            let it = Convention::of(architecture);
            let (function, call) = (it.function_arguments.join(" "), it.call_arguments.join(" "));
            format!("{function} | {} {call} | {}", it.call_number, it.result)
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
            assert_eq!(Convention::of(architecture).function_arguments.len(), layout.arguments.len());
        }
    }
}
